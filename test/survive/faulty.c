/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a device at any moment of a short life, on a fabric in memory (test/fabric/faults.c):
 * each status of a completion, each event, each call that fails, losses, ports that go down, for
 * ever or for a moment, and addresses that change. One of the ranks has the fault. Each rank then
 * gets right results, or an error that says what happened to which rank; none hangs; and nothing is
 * left, neither a descriptor, nor memory, nor an object of verbs. Faults that cost only time must
 * be noticed by none.
 */
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "catalogue.h"
#include "states.h"
#include "test/support/crew.h"
#include "test/support/hang.h"
#include "traces.h"

static const char usage[] =
    "usage: ncoll-faulty [-n RANKS] [--faults N|--states N] [--fault FAULT] [--second CARD]\n"
    "                    [--seed S]\n"
    "\n"
    "Lets one of RANKS (default 4) ranks have each kind of fault, N times (default 2) at\n"
    "random moments; --fault: only this one, as test/fabric/faults.c writes it, but without\n"
    "its moment, once for each of N moments. --second: only faults of that card, the second\n"
    "one of each rank (NCOLL_RAILS=2), which no rank may notice but in its log. --states: each\n"
    "fault in each state of a rank in which it can happen, up to N times until it does; prints\n"
    "what was met. Runs on a fabric: see test/fabric/run.\n";

#define RANKS_MAX 8
#define LONG      ((size_t)1 << 17) /* elements */
#define LIMIT_S   20
/* Requests of a rank to its second card. */
#define SECOND_MOMENTS 40

/* ------------------------------------------------------------------ a rank ------------------- */

struct outcome {
    int status;
    bool wrong, leaks, loses_memory;
    int objects; /* verbs objects that are left */
    char text[sizeof((ncoll_error *)0)->text];
};

struct job {
    bool allocates; /* the vectors are in memory that the device knows */
    struct outcome outcomes[RANKS_MAX];
};

struct life {
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    int64_t *in, *out;
    bool wrong;
};

static int64_t value(int rank, size_t i)
{
    return rank * INT64_C(1000003) + (int64_t)i * 17;
}

static void fill(struct life *l, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        l->in[i] = value(l->rank, i);
        l->out[i] = -1;
    }
}

static int allreduce(struct life *l, ncoll_group *g, int members, int first, int step, size_t count)
{
    int64_t base = 0;

    fill(l, count);
    int rc = ncoll_allreduce(g, l->in, l->out, count, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    for (int m = 0; m < members; m++)
        base += value(first + m * step, 0);
    for (size_t i = 0; rc == NCOLL_OK && i < count; i++)
        l->wrong |= l->out[i] != base + members * (int64_t)i * 17;
    return rc;
}

static int bcast(struct life *l, int root, size_t count)
{
    fill(l, count);
    int rc = ncoll_bcast(l->world, l->in, count, NCOLL_INT64, root, NCOLL_BLOCK);
    for (size_t i = 0; rc == NCOLL_OK && i < count; i++)
        l->wrong |= l->in[i] != value(root, i);
    return rc;
}

static int alltoall(struct life *l, size_t count)
{
    size_t all = count * (size_t)l->ranks;

    fill(l, all);
    int rc = ncoll_alltoall(l->world, l->in, l->out, count, NCOLL_INT64, NCOLL_BLOCK);
    for (size_t i = 0; rc == NCOLL_OK && i < all; i++)
        l->wrong |= l->out[i] != value((int)(i / count), (size_t)l->rank * count + i % count);
    return rc;
}

static int in_group(struct life *l)
{
    ncoll_group *half = NULL;
    int color = l->rank % 2, members = (l->ranks - color + 1) / 2;
    int rc = ncoll_group_split(l->world, color, l->rank, &half, NCOLL_BLOCK);

    for (int i = 0; rc == NCOLL_OK && i < 10; i++)
        rc = allreduce(l, half, members, color, 2, 33);
    return rc == NCOLL_OK ? ncoll_group_free(&half, NCOLL_BLOCK) : rc;
}

static int live(struct life *l)
{
    int rc = ncoll_barrier(l->world, NCOLL_BLOCK);

    for (size_t count = 1; rc == NCOLL_OK && count <= LONG; count *= 32)
        for (int i = 0; rc == NCOLL_OK && i < 4; i++)
            rc = allreduce(l, l->world, l->ranks, 0, 1, count);
    for (int root = 0; rc == NCOLL_OK && root < l->ranks; root++)
        rc = bcast(l, root, root % 2 ? 8 : LONG / 8);
    if (rc == NCOLL_OK)
        rc = alltoall(l, 5);
    if (rc == NCOLL_OK)
        rc = alltoall(l, 1000);
    if (rc == NCOLL_OK)
        rc = in_group(l);
    return rc == NCOLL_OK ? ncoll_barrier(l->world, NCOLL_BLOCK) : rc;
}

/* The memory is given back with the context. */
static int allocate(struct life *l)
{
    void *memory;
    int rc = ncoll_alloc(l->ctx, 2 * LONG * sizeof *l->in, &memory);

    if (rc == NCOLL_OK) {
        l->in = memory;
        l->out = l->in + LONG;
    }
    return rc;
}

static int take_part(const ncoll_params *params, void *arg)
{
    struct outcome *o = &((struct job *)arg)->outcomes[params->rank];
    struct life l = {.rank = params->rank, .ranks = params->ranks};
    ncoll_error error = {0};
    int held = traces_held("self", true);
    int (*objects)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "fabric_objects");

    hang_after(LIMIT_S);
    states_begin();
    int64_t *vectors = malloc(2 * LONG * sizeof *vectors);
    if (vectors == NULL)
        return 2;
    l.in = vectors;
    l.out = vectors + LONG;
    int rc = ncoll_context_create(params, &l.ctx, &error);
    if (rc == NCOLL_OK) {
        l.world = ncoll_world(l.ctx);
        if (((struct job *)arg)->allocates)
            rc = allocate(&l);
        if (rc == NCOLL_OK)
            rc = live(&l);
        if (rc != NCOLL_OK)
            error = *ncoll_last_error(l.ctx);
        states_leave();
        ncoll_context_destroy(l.ctx);
    }
    o->status = rc;
    o->wrong = l.wrong;
    o->leaks = traces_held("self", true) > held;
    o->objects = objects != NULL ? objects() : 0;
    snprintf(o->text, sizeof o->text, "%s", error.text);
    free(vectors);
    /* of LeakSanitizer, which looks at the end of a program, but not of forked ranks */
    int (*lost)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "__lsan_do_recoverable_leak_check");
    o->loses_memory = lost != NULL && lost() != 0;
    return 0;
}

/* ------------------------------------------------------------------ jobs ---------------------- */

struct options {
    int ranks;
    unsigned moments;
    bool states; /* each fault in each state */
    const char *fault, *second;
    uint64_t seed;
};

struct counts {
    unsigned jobs, happened, well, failed;
};

/* How a rank may end. */
struct sentence {
    bool harmless; /* nothing was lost */
    bool keeps;    /* its device does not give back what it has */
    bool own;      /* it is the one with the fault: each error is its own */
};

/* Returns what is wrong with how a rank has ended; NULL: nothing. */
static const char *judge(const struct outcome *o, int code, struct sentence s)
{
    const char *cause = strstr(o->text, ": ");

    if (cause != NULL && strncmp(o->text, "ncoll: rank ", 12) == 0) /* who reports it */
        cause = strstr(cause + 2, ": ");
    if (code != 0)
        return code == 128 + SIGALRM ? "hangs" : "has crashed";
    if (o->wrong)
        return "has a wrong result";
    if (o->leaks && !s.keeps)
        return "has left something open";
    if (o->loses_memory && !s.keeps)
        return "has lost memory";
    if (o->objects != 0 && !s.keeps)
        return "has left an object on its device";
    if (o->status == NCOLL_OK)
        return NULL;
    if (s.harmless)
        return "fails where nothing is lost";
    if (o->status == NCOLL_ERR_MISMATCH || o->status == NCOLL_ERR_INTERNAL)
        return "blames the program, or itself";
    return !s.own && (cause == NULL || strstr(cause, "rank") == NULL) ? "names no rank" : NULL;
}

static bool has_happened(const char *log)
{
    bool any = access(log, F_OK) == 0;

    unlink(log);
    return any;
}

static bool run_job(const struct options *o, struct job *job, const char *fault, int victim,
                    bool harmless, const char *log, struct counts *counts)
{
    int codes[RANKS_MAX];
    char child[16];
    ncoll_params params;
    bool well = true, all = true;

    memset(job, 0, sizeof *job);
    job->allocates = counts->jobs % 2 == 1;
    snprintf(child, sizeof child, "%d/%d", victim, o->ranks);
    setenv("FABRIC_FAULTS", fault, 1);
    setenv("FABRIC_FAULTS_CHILD", child, 1);
    setenv("FABRIC_FAULTS_LOG", log, 1);
    ncoll_params_init(&params, sizeof params);
    ncoll_fork_ranks(o->ranks, &params, take_part, job, codes);
    unsetenv("FABRIC_FAULTS");
    bool happened = strncmp(fault, "loss", 4) == 0 || has_happened(log);
    for (int r = 0; r < o->ranks; r++) {
        const struct sentence s = {
            harmless || !happened,
            strstr(fault, "dereg_mr") != NULL || strstr(fault, "destroy_qp") != NULL, r == victim};
        const char *wrong = judge(&job->outcomes[r], codes[r], s);
        all &= job->outcomes[r].status == NCOLL_OK;
        well &= wrong == NULL;
        if (wrong != NULL)
            printf("FAILED: %s in rank %d of %d: rank %d %s: %d, %s\n", fault, victim, o->ranks, r,
                   wrong, job->outcomes[r].status, job->outcomes[r].text);
    }
    counts->jobs++;
    counts->happened += happened;
    counts->well += happened && well && all;
    counts->failed += !well;
    return well;
}

static void draw(const struct options *o, unsigned kind, unsigned k, char fault[64], int *victim)
{
    struct random random = random_stream(o->seed, kind * 1000 + k);
    unsigned moments = catalogue[kind].moments;

    if (o->second != NULL && moments > SECOND_MOMENTS)
        moments = SECOND_MOMENTS;
    *victim = (int)random_below(&random, (uint64_t)o->ranks);
    if (moments == 0)
        snprintf(fault, 64, "%s", catalogue[kind].text);
    else /* early moments, when peers are connected, as often as late ones */
        snprintf(fault, 64, "%s@%" PRIu64, catalogue[kind].text,
                 1 + random_below(&random, 1 + random_below(&random, moments)));
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"faults", required_argument, NULL, 'k'}, {"fault", required_argument, NULL, 'f'},
        {"second", required_argument, NULL, '2'}, {"states", required_argument, NULL, 'S'},
        {"seed", required_argument, NULL, 's'},   {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "n:t:", longs, NULL)) != -1) {
        if (c == 'n')
            o->ranks = atoi(optarg);
        else if (c == 'k' || c == 'S') {
            o->moments = (unsigned)atoi(optarg);
            o->states = c == 'S';
        } else if (c == 'f')
            o->fault = optarg;
        else if (c == '2')
            o->second = optarg;
        else if (c == 's')
            o->seed = strtoull(optarg, NULL, 0);
        else
            return false;
    }
    return optind == argc && o->ranks >= 2 && o->ranks <= RANKS_MAX && o->moments > 0;
}

/* True if a kind of fault is asked for. Those of calls and of receives do not tell cards apart. */
static bool is_asked_for(const struct options *o, const char *kind)
{
    if (o->second != NULL && (strncmp(kind, "call", 4) == 0 || strncmp(kind, "receive", 7) == 0))
        return false;
    return o->fault == NULL || strcmp(o->fault, kind) == 0;
}

/* Each kind of fault at random moments. */
static void at_random(const struct options *o, struct job *job, const char *log,
                      struct counts *counts)
{
    char fault[64];
    int victim;

    for (unsigned kind = 0; kind < n_fault_kinds; kind++)
        for (unsigned k = 0; k < o->moments; k++) {
            if (!is_asked_for(o, catalogue[kind].text))
                continue;
            draw(o, kind, k, fault, &victim);
            run_job(o, job, fault, victim, catalogue[kind].harmless || o->second != NULL, log,
                    counts);
        }
}

/* ------------------------------------------------------------------ every state --------------- */

/* Returns the kind of moment in which a fault happens, see states.h. */
static int moment_of(const char *fault)
{
    char name[32] = "post";

    if (strncmp(fault, "receive", 7) == 0)
        return moment_kind("receive");
    if (sscanf(fault, "call:%31[^:]", name) != 1)
        return moment_kind("post");
    return moment_kind(name);
}

/* Counts the moments of a job without a fault. */
static bool take_census(const struct options *o, struct job *job, struct census *census)
{
    ncoll_params params;
    int codes[RANKS_MAX];

    memset(census, 0, sizeof *census);
    states_count(census);
    setenv("FABRIC_FAULTS", "loss:0", 1);
    ncoll_params_init(&params, sizeof params);
    int rc = ncoll_fork_ranks(o->ranks, &params, take_part, job, codes);
    unsetenv("FABRIC_FAULTS");
    states_count(NULL);
    return rc == NCOLL_OK;
}

/* Lets a fault happen in a state. Returns true if it has, within so many jobs. */
static bool meet(const struct options *o, struct job *job, unsigned kind, enum state state,
                 unsigned long times, const char *log, struct counts *counts)
{
    struct random random = random_stream(o->seed, kind * N_STATES + (unsigned)state);
    unsigned happened = counts->happened;
    char fault[64];

    unsigned first = (unsigned)random_below(&random, (uint64_t)o->ranks);
    for (unsigned k = 0; k < o->moments && counts->happened == happened; k++) {
        int victim = (int)((first + k) % (unsigned)o->ranks);
        /* some things are done by one rank alone, and once */
        uint64_t at = k == 0 ? 1 + random_below(&random, times) : 1;
        snprintf(fault, sizeof fault, "%s@%" PRIu64 "/%d", catalogue[kind].text, at, (int)state);
        run_job(o, job, fault, victim, catalogue[kind].harmless || o->second != NULL, log, counts);
    }
    return counts->happened > happened;
}

/* Each fault in each state in which a job without faults has such moments: a request is posted, a message taken, the
 * function called. Prints how many there are, and how many faults have happened. */
static bool in_every_state(const struct options *o, struct job *job, const char *log,
                           struct counts *counts)
{
    struct census *census =
        mmap(NULL, sizeof *census, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned can = 0, met = 0;

    if (census == MAP_FAILED || !take_census(o, job, census))
        return false;
    printf("%-32s %10s %8s\n", "state of the rank", "faults can", "have met");
    for (int state = 0; state < N_STATES; state++) {
        unsigned here = 0, happened = 0;
        for (unsigned kind = 0; kind < n_fault_kinds; kind++) {
            int moment = moment_of(catalogue[kind].text);
            unsigned long times =
                moment >= 0 ? (census->seen[state][moment] + (unsigned long)o->ranks - 1) /
                                  (unsigned long)o->ranks
                            : 0;
            if (times == 0 || catalogue[kind].moments == 0 ||
                !is_asked_for(o, catalogue[kind].text))
                continue;
            here++;
            bool has = meet(o, job, kind, (enum state)state, times, log, counts);
            happened += has;
            if (!has)
                printf("    not met: %s (%lu moments)\n", catalogue[kind].text, times);
        }
        printf("%-32s %10u %8u\n", state_text((enum state)state), here, happened);
        fflush(stdout);
        can += here;
        met += happened;
    }
    printf("%-32s %10u %8u\n", "all", can, met);
    munmap(census, sizeof *census);
    return can > 0;
}

int main(int argc, char **argv)
{
    struct options o = {.ranks = 4, .moments = 2};
    struct counts counts = {0};
    char log[] = "/tmp/ncoll-faulty.XXXXXX";
    struct job *job =
        mmap(NULL, sizeof *job, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool whole = true;
    int fd = mkstemp(log);

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.seed == 0)
        o.seed = test_seed();
    if (job == MAP_FAILED || fd < 0)
        return 2;
    close(fd);
    unlink(log);
    if (o.second != NULL)
        setenv("FABRIC_FAULTS_DEVICE", o.second, 1);
    if (o.states)
        whole = in_every_state(&o, job, log, &counts);
    else
        at_random(&o, job, log, &counts);
    printf("%u jobs, in %u the fault has happened, and in %u of these no rank was hurt; %u failed "
           "(--seed %" PRIu64 ")\n",
           counts.jobs, counts.happened, counts.well, counts.failed, o.seed);
    return whole && counts.jobs > 0 && counts.failed == 0 ? 0 : 1;
}
