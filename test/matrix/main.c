/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/signature.h"
#include "matrix.h"
#include "test/support/crew.h"
#include "test/support/late.h"
#include "test/support/options.h"

static const char usage[] =
    "usage: ncoll-matrix [-t TRANSPORT] [-P LIST | --launched] [--sample N] [--every] [--seed S]\n"
    "                    [--only I] [--alone] [-v]\n"
    "\n"
    "Runs every collective by every algorithm, on forked ranks, with types, operations, radices,\n"
    "counts, roots and buffers drawn by a seed, and compares with a serial reference.\n"
    "\n"
    "  -t TRANSPORT    shm, verbs, shm+verbs, or late: shm that sends as a device does;\n"
    "                  default: as the library chooses\n"
    "  -P LIST         numbers of ranks, 1 to 17: 2,3,5 or 1-17 (default)\n"
    "  --launched      this is one rank of a job, of prterun, srun or NCOLL_ROOT: no forked ranks\n"
    "  --sample N      so many combinations of all numbers of ranks together, 0: all; default:\n"
    "                  30600, or all with --every\n"
    "  --every         every allreduce instead: type x operation x radix 1..8 x counts 1, 2, 255,\n"
    "                  256, 1000, 65537; of 1 to 9 ranks if -P does not say others\n"
    "  --seed S        repeats a run; default: NCOLL_TEST_SEED, else a new one\n"
    "  --alone         each combination is the only call of a context, which ends with it\n"
    "  --only I        only combination I of each number of ranks, as a report says\n"
    "  -v              a line for each number of ranks, and for each collective and algorithm\n";

#define SAMPLE 30600u

struct options {
    const char *transport;
    bool ranks[RANKS_MAX + 1];
    uint64_t sample, seed, only;
    bool every, launched, alone, verbose;
};

/* ------------------------------------------------------------------ options ------------------ */

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"sample", required_argument, NULL, 's'}, {"seed", required_argument, NULL, 'S'},
        {"only", required_argument, NULL, 'o'},   {"every", no_argument, NULL, 'e'},
        {"launched", no_argument, NULL, 'l'},     {"alone", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    const char *ranks = NULL;
    int c;

    *o = (struct options){.sample = UINT64_MAX, .only = UINT64_MAX};
    while ((c = getopt_long(argc, argv, "t:P:vh", longs, NULL)) != -1) {
        if (c == 't')
            o->transport = optarg;
        else if (c == 'v')
            o->verbose = true;
        else if (c == 'a')
            o->alone = true;
        else if (c == 'e')
            o->every = true;
        else if (c == 'l')
            o->launched = true;
        else if (c == 'P')
            ranks = optarg;
        else if (c == 's'   ? !option_number(optarg, &o->sample)
                 : c == 'o' ? !option_number(optarg, &o->only)
                 : c == 'S' ? !option_number(optarg, &o->seed)
                            : true)
            return false;
    }
    if (o->sample == UINT64_MAX)
        o->sample = o->every ? 0 : SAMPLE;
    if (ranks == NULL)
        ranks = o->every ? "1-9" : "1-17";
    return optind == argc && option_ranks(ranks, RANKS_MAX, o->ranks);
}

/* ------------------------------------------------------------------ running ------------------ */

static unsigned n_wanted(const struct options *o)
{
    unsigned n = 0;

    for (unsigned ranks = 1; ranks <= RANKS_MAX; ranks++)
        n += o->ranks[ranks];
    return n;
}

/* Each collective by the library's choice, and by the algorithms that say they serve it. */
static void list_pairs(struct matrix *m)
{
    for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++) {
        m->pairs[m->n_pairs++] = (struct pair){.collective = c};
        for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
            if (ncoll__algorithms[i]->collectives & 1u << c)
                m->pairs[m->n_pairs++] =
                    (struct pair){.collective = c, .algorithm = ncoll__algorithms[i]};
    }
    m->pairs[m->n_pairs++] = (struct pair){.collective = COLL_ALLREDUCE, .compressed = true};
    m->pairs[m->n_pairs++] = (struct pair){.collective = COLL_BCAST, .compressed = true};
    m->pairs[m->n_pairs++] = (struct pair){.collective = COLL_ALLREDUCE, .stale = true};
}

static void print_pairs(const struct matrix *m)
{
    for (unsigned i = 0; i < m->n_pairs; i++) {
        const struct pair *p = &m->pairs[i];
        if (p->algorithm == NULL)
            printf("%s%s%s: choice %" PRIu64, i > 0 ? "\n" : "",
                   p->compressed ? "compressed "
                   : p->stale    ? "stale "
                                 : "",
                   ncoll__collective_name(p->collective), m->tally->runs[i]);
        else
            printf(", %s %" PRIu64, p->algorithm->name, m->tally->runs[i]);
    }
    puts("");
}

/* True if all ranks ended well. */
static bool run_ranks(struct matrix *m, const struct options *o, int ranks)
{
    uint64_t start = crew_now_ns(), combinations = m->tally->combinations;
    int codes[RANKS_MAX] = {0};
    ncoll_params params = late_params(o->transport, &m->late);

    int rc = ncoll_fork_ranks(ranks, &params, matrix_rank, m, codes);
    for (int r = 0; r < ranks; r++)
        if (codes[r] != 0)
            fprintf(stderr, "rank %d of %d ended with %d\n", r, ranks, codes[r]);
    if (o->verbose)
        printf("P = %d: %" PRIu64 " combinations, %.1f s%s\n", ranks,
               m->tally->combinations - combinations, (double)(crew_now_ns() - start) / 1e9,
               rc == NCOLL_OK ? "" : ": ended early");
    return rc == NCOLL_OK;
}

/* With each number of ranks, or in the job that this process is a rank of. */
static bool run_all(struct matrix *m, const struct options *o, int *rank)
{
    ncoll_params params = late_params(o->transport, &m->late);
    bool well = true;

    *rank = 0;
    if (o->launched)
        return matrix_launched_rank(&params, m, rank) == 0;
    m->sample = (o->sample + n_wanted(o) - 1) / n_wanted(o);
    for (int ranks = 1; ranks <= RANKS_MAX; ranks++)
        if (o->ranks[ranks])
            well = run_ranks(m, o, ranks) && well;
    return well;
}

int main(int argc, char **argv)
{
    struct options o;
    struct matrix m = {.tally = crew_share(sizeof *m.tally)};
    uint64_t start = crew_now_ns();
    int rank;

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    m.seed = o.seed != 0 ? o.seed : test_seed();
    m.only = o.only;
    m.every = o.every;
    m.alone = o.alone;
    m.sample = o.sample;
    list_pairs(&m);
    for (unsigned i = 0; m.every && !o.launched && i < 2; i++)
        m.boards[i] = crew_share(matrix_board_bytes());
    bool well = run_all(&m, &o, &rank) && m.tally->wrong == 0;
    if (rank != 0)
        return well ? 0 : 1;
    if (o.verbose)
        print_pairs(&m);
    printf("%" PRIu64 " combinations, %" PRIu64 " refused, %" PRIu64
           " wrong, %.0f s (--seed %" PRIu64 ")%s\n",
           m.tally->combinations, m.tally->refused, m.tally->wrong,
           (double)(crew_now_ns() - start) / 1e9, m.seed, well ? "" : ": FAILED");
    return well ? 0 : 1;
}
