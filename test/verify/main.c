/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-verify: proves the schedules of all registered algorithms, or that it would see a mistake.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/verify/draw.h"
#include "test/verify/mixed.h"
#include "test/verify/mutate.h"
#include "test/verify/sweep.h"

#define EXIT_USAGE    64
#define PROCESSES_MAX 64
#define SIZES_MAX     (1 << 16)
#define SAMPLED_P     64 /* a sample leaves no size out up to here */

struct options {
    struct sweep sweep;
    unsigned processes;
    bool mutations, nodes, chosen;
    unsigned random, mixed, large, sample;
    uint64_t seed;
};

enum {
    KEY_MAX_P = 256,
    KEY_MIN_P,
    KEY_RADIX,
    KEY_ALGORITHM,
    KEY_COLLECTIVE,
    KEY_MUTATIONS,
    KEY_MIXED,
    KEY_LARGE,
    KEY_SAMPLE,
    KEY_NODES,
    KEY_CHOSEN,
    KEY_SEED
};

static const struct argp_option argp_options[] = {
    {"max-p", KEY_MAX_P, "P", 0, "sizes up to P (300)", 0},
    {"min-p", KEY_MIN_P, "P", 0, "sizes from P on (1)", 0},
    {"radix", KEY_RADIX, "N", 0,
     "one radix or list only (1..8, to P = 64 1..16, above one of 9..16 in turn; lists at random)",
     0},
    {"algorithm", KEY_ALGORITHM, "NAME", 0, "one algorithm only (all)", 0},
    {"collective", KEY_COLLECTIVE, "NAME", 0, "one collective only (all)", 0},
    {"jobs", 'j', "J", 0, "processes (1)", 0},
    {"mutations", KEY_MUTATIONS, 0, 0,
     "plant each kind of mistake instead, and N more at random; each has to be caught", 0},
    {"mixed", KEY_MIXED, "N", 0,
     "run N random sequences of calls instead, with credits and advertisements, of seeds S, S + 1, "
     "..",
     0},
    {"nodes", KEY_NODES, 0, 0,
     "what needs to know of nodes instead, for ranks on 1..6 nodes of 1..6 ranks; with --sample, "
     "N of the ways to have more than 8 ranks, and some larger ones",
     0},
    {"chosen", KEY_CHOSEN, 0, 0,
     "what is chosen by default for 1,024, 4,097 and 5,000 ranks instead; with --sample, in one "
     "such "
     "job, where one schedule has all that takes long",
     0},
    {"sample", KEY_SAMPLE, "N", 0, "of the sizes above 64 only N, drawn at random (0: all of them)",
     0},
    {"large", KEY_LARGE, "N", 0, "and N random sizes above that, up to 5000 (0)", 0},
    {"seed", KEY_SEED, "S", 0, "of what is random (from the clock)", 0},
    {0},
};

static uint64_t number(const struct argp_state *state, const char *what, const char *text,
                       uint64_t min, uint64_t max)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max)
        argp_error(state, "%s '%s': not a number from %" PRIu64 " to %" PRIu64, what, text, min,
                   max);
    return value;
}

/* COLLECTIVES if there is none of this name. */
static enum collective collective_find(const char *name)
{
    enum collective c = COLL_BARRIER;

    while (c < COLLECTIVES && strcmp(collective_name(c), name) != 0)
        c++;
    return c;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case KEY_MAX_P:
        o->sweep.max_p = (unsigned)number(state, "size", arg, 1, SIZES_MAX);
        return 0;
    case KEY_MIN_P:
        o->sweep.min_p = (unsigned)number(state, "size", arg, 1, SIZES_MAX);
        return 0;
    case KEY_RADIX:
        o->sweep.radix = ncoll__radix_parse(arg);
        if (o->sweep.radix == 0)
            argp_error(state, "radix '%s': neither a number from 1 to %u nor a list", arg,
                       RADIX_MAX);
        return 0;
    case KEY_ALGORITHM:
        o->sweep.only = ncoll__algorithm_find(arg);
        if (o->sweep.only == NULL)
            argp_error(state, "algorithm '%s' is unknown", arg);
        return 0;
    case KEY_COLLECTIVE:
        o->sweep.collective = collective_find(arg);
        if (o->sweep.collective == COLLECTIVES)
            argp_error(state, "collective '%s' is unknown", arg);
        return 0;
    case 'j':
        o->processes = (unsigned)number(state, "jobs", arg, 1, PROCESSES_MAX);
        return 0;
    case KEY_MUTATIONS:
        o->mutations = true;
        return 0;
    case KEY_MIXED:
        o->mixed = (unsigned)number(state, "sequences", arg, 1, 1000000000);
        return 0;
    case KEY_LARGE:
        o->large = (unsigned)number(state, "sizes", arg, 0, 1000000);
        return 0;
    case KEY_SAMPLE:
        o->sample = (unsigned)number(state, "sizes", arg, 0, SIZES_MAX);
        o->sweep.sampled = o->sample > 0;
        return 0;
    case KEY_NODES:
        o->nodes = true;
        return 0;
    case KEY_CHOSEN:
        o->chosen = true;
        return 0;
    case ARGP_KEY_ARG:
        if (!o->mutations || state->arg_num > 0)
            argp_error(state, "'%s' is too much", arg);
        o->random = (unsigned)number(state, "mutations", arg, 0, 1000000000);
        return 0;
    case KEY_SEED:
        o->seed = number(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_large(unsigned P)
{
    return P > SAMPLED_P;
}

/* Numbers of ranks to be checked, the largest first, so that all processes end at about the same
 * time. Every process draws the same. Returns how many there are. */
static unsigned choose_sizes(const struct options *o, unsigned sizes[])
{
    struct sample sample = {.seed = o->seed};
    unsigned n = 0;

    for (unsigned P = o->sweep.min_p; P <= o->sweep.max_p; P++)
        sample.left += is_large(P);
    sample.wanted = o->sample > 0 ? o->sample : sample.left;
    for (unsigned P = o->sweep.max_p; P >= o->sweep.min_p && P > 0; P--)
        if (!is_large(P) || sample_takes(&sample))
            sizes[n++] = P;
    return n;
}

static void sweep_sizes(const struct options *o, unsigned j, struct checker *checker)
{
    static unsigned sizes[SIZES_MAX];
    unsigned n = choose_sizes(o, sizes);
    uint64_t seed = o->seed + j;

    for (unsigned i = j; i < n; i += o->processes)
        sweep_size(&o->sweep, sizes[i], o->seed, checker);
    for (unsigned i = j; i < o->large; i += o->processes)
        sweep_large(&o->sweep, &seed, checker);
}

/* Process j of J. */
static void sweep_share(const struct options *o, unsigned j, struct tally *tally)
{
    struct checker checker = {.tally = tally};

    if (o->chosen)
        sweep_chosen(&o->sweep, j, o->processes, o->sample == 0, o->seed, &checker);
    else if (o->nodes)
        sweep_splits(&o->sweep, j, o->processes, o->sample, o->seed, &checker);
    else
        sweep_sizes(o, j, &checker);
    tally->steps = checker.model.steps;
    tally->edges = checker.model.edges;
    tally->lane_runs = checker.lanes.runs;
    tally->lane_edges = checker.lanes.edges;
    tally->lane_credits = checker.lanes.sent;
    tally->placed = checker.model.n_placed;
    checker_free(&checker);
}

static bool sweep_forked(const struct options *o, struct tally *tallies)
{
    bool right = true;

    fflush(stdout);
    for (unsigned j = 0; j < o->processes; j++) {
        pid_t child = fork();
        if (child == 0) {
            sweep_share(o, j, &tallies[j]);
            exit(0);
        }
        right &= child > 0;
    }
    for (int status; wait(&status) > 0;)
        right &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return right;
}

static void print_sizes(const struct options *o, uint64_t schedules)
{
    printf("%" PRIu64 " schedules for ", schedules);
    if (o->sample > 0)
        printf("%u sizes drawn of ", o->sample);
    printf("P = %u..%u", o->sweep.min_p, o->sweep.max_p);
    if (o->sample > 0 && o->sweep.min_p <= SAMPLED_P)
        printf(" (and all up to %u)", SAMPLED_P);
    printf(" and %u random sizes", o->large);
}

static bool sweep_all(const struct options *o)
{
    struct tally *tallies = mmap(NULL, PROCESSES_MAX * sizeof *tallies, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct tally all = {0};
    bool right = tallies != MAP_FAILED && sweep_forked(o, tallies);

    for (unsigned j = 0; right && j < o->processes; j++) {
        all.schedules += tallies[j].schedules;
        all.alike += tallies[j].alike;
        all.with_list += tallies[j].with_list;
        all.steps += tallies[j].steps;
        all.edges += tallies[j].edges;
        all.in_lanes += tallies[j].in_lanes;
        all.lanes_alike += tallies[j].lanes_alike;
        all.lane_runs += tallies[j].lane_runs;
        all.lane_edges += tallies[j].lane_edges;
        all.lane_credits += tallies[j].lane_credits;
        all.placed += tallies[j].placed;
        all.placements += tallies[j].placements;
        all.unwritten += tallies[j].unwritten;
        all.left_out += tallies[j].left_out;
        all.wrong += tallies[j].wrong;
    }
    if (o->nodes)
        printf("%" PRIu64 " schedules for %" PRIu64 " placements on nodes", all.schedules,
               all.placements);
    else if (o->chosen)
        printf("%" PRIu64 " schedules chosen for large jobs, %" PRIu64
               " of them run without being written out, %" PRIu64 " such left out of the sample",
               all.schedules, all.unwritten, all.left_out);
    else
        print_sizes(o, all.schedules);
    printf(" (seed %" PRIu64 "): %" PRIu64 " wrong; %" PRIu64 " run, %" PRIu64
           " step by step like one of them; %" PRIu64 " of a list of radices, and their variants\n"
           "%" PRIu64 " steps, %" PRIu64 " put-wait edges, %" PRIu64 " messages placed in OUT\n",
           o->seed, all.wrong, all.schedules - all.alike, all.alike, all.with_list, all.steps,
           all.edges, all.placed);
    printf("%" PRIu64 " schedules in 1..%u lanes, %u sets: %" PRIu64 " run, %" PRIu64
           " with the outline of one of them; %" PRIu64 " runs, %" PRIu64
           " put-wait edges, %" PRIu64 " credits\n",
           all.in_lanes, LANES_MAX, CREDIT_SETS, all.in_lanes - all.lanes_alike, all.lanes_alike,
           all.lane_runs, all.lane_edges, all.lane_credits);
    if (!right)
        printf("a process of the sweep failed\n");
    return right && all.schedules > 0 && all.wrong == 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        argp_options,
        parse_one,
        NULL,
        "Runs the schedules of all registered algorithms on all ranks symbolically and checks the "
        "rules of algos/schedule.h.",
        NULL,
        NULL,
        NULL};
    struct options o = {
        .sweep = {.min_p = 1, .max_p = 300}, .processes = 1, .seed = (uint64_t)time(NULL)};

    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    bool right = o.mutations   ? mutations_run(o.random, o.seed)
                 : o.mixed > 0 ? mixed_runs(o.mixed, o.seed, o.sweep.only)
                               : sweep_all(&o);
    return right ? 0 : 1;
}
