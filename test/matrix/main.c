/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"
#include "test/support/crew.h"

static const char usage[] =
    "usage: ncoll-matrix [-t shm|verbs] [-P LIST] [--sample N] [--seed S] [-v]\n"
    "\n"
    "Runs every type x operation x ranks x radix 1..8 x counts {1, 2, 255, 256, 1000, 65537}\n"
    "by every algorithm, on forked ranks, and compares with a serial reference.\n"
    "\n"
    "  -t TRANSPORT    shm or verbs; default: as the library chooses\n"
    "  -P LIST         numbers of ranks, 1 to 9: 2,3,5 or 1-9 (default)\n"
    "  --sample N      only N combinations, drawn by the seed\n"
    "  --seed S        repeats a run; default: NCOLL_TEST_SEED, else a new one\n"
    "  -v              a line for each number of ranks\n";

struct options {
    const char *transport;
    bool ranks[RANKS_MAX + 1];
    unsigned long sample; /* 0: all */
    uint64_t seed;
    bool verbose;
};

/* ------------------------------------------------------------------ options ------------------ */

static bool parse_ranks(const char *list, bool ranks[RANKS_MAX + 1])
{
    char *end;

    memset(ranks, 0, sizeof *ranks * (RANKS_MAX + 1));
    for (;; list = end + 1) {
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (first < 1 || last > RANKS_MAX || first > last)
            return false;
        for (; first <= last; first++)
            ranks[first] = true;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
    }
}

static bool parse_number(const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0';
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {{"sample", required_argument, NULL, 's'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    parse_ranks("1-9", o->ranks);
    while ((c = getopt_long(argc, argv, "t:P:vh", longs, NULL)) != -1) {
        if (c == 't')
            o->transport = optarg;
        else if (c == 'v')
            o->verbose = true;
        else if (c == 'P'   ? !parse_ranks(optarg, o->ranks)
                 : c == 's' ? !parse_number(optarg, &o->sample) || o->sample == 0
                 : c == 'S' ? !parse_number(optarg, &o->seed)
                            : true)
            return false;
    }
    return optind == argc;
}

/* ------------------------------------------------------------------ running ------------------ */

static size_t n_combinations(const struct matrix *m)
{
    return matrix_index(m, RANKS_MAX + 1, 0, 0, 1);
}

/* Draws combinations among those with the wanted numbers of ranks. */
static unsigned char *draw_sample(const struct matrix *m, const struct options *o)
{
    size_t total = n_combinations(m), of_ranks = total / RANKS_MAX, wanted = 0;
    unsigned char *picked = calloc(total, 1);
    struct random random = random_stream(m->seed, total);

    if (picked == NULL)
        abort();
    for (int ranks = 1; ranks <= RANKS_MAX; ranks++)
        wanted += o->ranks[ranks] ? of_ranks : 0;
    for (size_t left = o->sample < wanted ? o->sample : wanted; left > 0;) {
        size_t i = random_below(&random, total);
        if (o->ranks[i / of_ranks + 1] && !picked[i]) {
            picked[i] = 1;
            left--;
        }
    }
    return picked;
}

/* Whether all ranks ended well. */
static bool run_ranks(struct matrix *m, const struct options *o, int ranks)
{
    uint64_t start = crew_now_ns(), runs = m->tally->runs, combinations = m->tally->combinations;
    int codes[RANKS_MAX] = {0};
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    if (o->transport != NULL)
        params.transport = o->transport;
    int rc = ncoll_fork_ranks(ranks, &params, matrix_rank, m, codes);
    for (int r = 0; r < ranks; r++)
        if (codes[r] != 0)
            fprintf(stderr, "rank %d of %d ended with %d\n", r, ranks, codes[r]);
    if (o->verbose)
        printf("P = %d: %" PRIu64 " combinations, %" PRIu64 " runs, %.1f s%s\n", ranks,
               m->tally->combinations - combinations, m->tally->runs - runs,
               (double)(crew_now_ns() - start) / 1e9, rc == NCOLL_OK ? "" : ": ended early");
    return rc == NCOLL_OK;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct matrix m = {.tally = crew_share(sizeof *m.tally)};
    uint64_t start = crew_now_ns();
    bool well = true;

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    m.n_builtin = reference_operations(m.operations, OPERATIONS_MAX - USER_OPS);
    m.n_operations = m.n_builtin + USER_OPS;
    memcpy(m.operations + m.n_builtin, user_ops, sizeof user_ops);
    m.seed = o.seed != 0 ? o.seed : test_seed();
    unsigned char *picked = o.sample > 0 ? draw_sample(&m, &o) : NULL;
    m.picked = picked;

    for (int ranks = 1; ranks <= RANKS_MAX; ranks++)
        if (o.ranks[ranks])
            well = run_ranks(&m, &o, ranks) && well;
    free(picked);
    well = well && m.tally->wrong == 0;
    printf("%" PRIu64 " combinations, %" PRIu64 " runs, %" PRIu64 " wrong, %.0f s (--seed %" PRIu64
           ")%s\n",
           m.tally->combinations, m.tally->runs, m.tally->wrong,
           (double)(crew_now_ns() - start) / 1e9, m.seed, well ? "" : ": FAILED");
    return well ? 0 : 1;
}
