/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a rank at any moment of a short life: while contexts are created, in the first barrier, in
 * rooted calls that are the first of their kind, while an alltoall connects all ranks, in short and
 * long allreduces in memory of both kinds, while a group is made, used and freed, in the last call,
 * which is a barrier or a reduce, and while contexts are destroyed. The victim is killed, or exits
 * without destroying its context. At about that time some other ranks are stopped for a few
 * milliseconds, so that they also find ranks gone that gave up before them. Every survivor gets
 * through or has an error that names the victim, within 3 s of the kill; nobody gets through that
 * needs the victim, and nobody blames a victim that had left in order; and nothing is left then:
 * no process, file descriptor, mapping, file in /dev/shm; with --alone, on a machine where nothing
 * else goes on, no shared memory anywhere, either.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/accused.h"
#include "test/support/crew.h"
#include "test/support/hang.h"
#include "test/support/port.h"
#include "traces.h"

static const char usage[] =
    "usage: ncoll-anytime [-t TRANSPORT] [-n RANKS] [--kills N] [--only K] [--seed S] [--alone]\n"
    "                     [--tcp] [--phase PHASE] [--from PERMILLE]\n"
    "\n"
    "Kills one of 2 to RANKS (default 4) ranks N times (default 40); --only the K-th of them, from "
    "0.\n"
    "--alone: also looks for what is left of shared memory on the whole machine.\n"
    "--tcp: the ranks meet over tcp.\n"
    "--phase: kills only in this one (creation, barrier, ..); --from: and not at its beginning.\n";

#define LIMIT_MS  3000
#define ROOT_MS   2000 /* over tcp, for rank 0 to listen */
#define STALL_MS  20
#define WHOLE     1100 /* permille of a phase: also somewhat later */
#define MS        UINT64_C(1000000)
#define RANKS_MAX 16
#define LONG      ((size_t)4 << 20)

enum phase {
    CREATE,
    BARRIER,
    ROOTED,
    CONNECT,
    SHORT,
    LONG_OWN,
    LONG_ALLOCATED,
    SPLIT,
    IN_GROUP,
    FREE,
    LAST,
    DESTROY,
    PHASES
};
static const char *const phase_names[] = {"creation",
                                          "barrier",
                                          "rooted calls",
                                          "connecting",
                                          "short allreduces",
                                          "long allreduce",
                                          "the same in memory of ncoll_alloc()",
                                          "split",
                                          "call in a group",
                                          "end of a group",
                                          "last call",
                                          "destruction"};

/* In memory that all of them share. */
struct trial {
    int victim, ranks;
    enum phase phase;
    int root_rank;           /* of rooted calls */
    bool exits;              /* the victim; else it is killed */
    bool loose_end;          /* the last call is a reduce, not a barrier */
    uint64_t delay_permille; /* of the time that the phase takes */
    struct stall {           /* of a rank; 0 ns: none */
        uint64_t delay_permille, ns;
    } stalls[RANKS_MAX];
    bool tcp;
    char root[32];
    uint64_t takes_ns[PHASES];  /* without a kill */
    _Atomic uint64_t killed_ns; /* when it is to be; 0: not yet known */
    unsigned died;              /* victims that were not done before; the parent's */
    _Atomic int reached_last;   /* the victim has begun the last call, */
    _Atomic int left;           /* has left in order, */
    _Atomic int lived;          /* has come to the end of its life */
    _Atomic int complaints;     /* of survivors */
};

struct life {
    struct trial *trial;
    ncoll_context *ctx;
    ncoll_group *world, *group;
    int rank;
    unsigned char *own[2], *allocated[2];
    uint64_t began_ns;
};

/* ------------------------------------------------------------------ a rank ------------------- */

static void signal_in(uint64_t ns, int signal)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
    struct itimerspec at = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000) + 1}};
    timer_t timer;

    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &at, NULL) != 0)
        abort();
}

static void exit_at_once(int signal)
{
    (void)signal;
    _exit(0);
}

static void end_in(uint64_t ns, bool exits)
{
    const struct sigaction action = {.sa_handler = exit_at_once};

    if (exits && sigaction(SIGUSR2, &action, NULL) != 0)
        abort();
    signal_in(ns, exits ? SIGUSR2 : SIGKILL);
}

static uint64_t stall_ns;

static void stall(int signal)
{
    const struct timespec pause = {.tv_nsec = (long)stall_ns};

    (void)signal;
    nanosleep(&pause, NULL);
}

static void stall_in(uint64_t ns, uint64_t how_long_ns)
{
    const struct sigaction action = {.sa_handler = stall, .sa_flags = SA_RESTART};

    stall_ns = how_long_ns;
    if (sigaction(SIGUSR1, &action, NULL) != 0)
        abort();
    signal_in(ns, SIGUSR1);
}

static void enter(struct life *l, enum phase phase)
{
    struct trial *t = l->trial;
    uint64_t now_ns = crew_now_ns();

    if (phase > CREATE && t->victim < 0 && l->rank == 0)
        t->takes_ns[phase - 1] = now_ns - l->began_ns;
    l->began_ns = now_ns;
    if (l->rank == t->victim && phase == LAST)
        t->reached_last = 1;
    if (t->victim < 0 || phase != t->phase)
        return;
    const struct stall *stall = &t->stalls[l->rank];
    if (l->rank == t->victim) {
        uint64_t delay_ns = t->takes_ns[phase] * t->delay_permille / 1000;
        t->killed_ns = now_ns + delay_ns;
        end_in(delay_ns, t->exits);
    } else if (stall->ns > 0) {
        stall_in(t->takes_ns[phase] * stall->delay_permille / 1000, stall->ns);
    }
}

static int allreduce(struct life *l, unsigned char *const buffers[2], size_t bytes)
{
    return ncoll_allreduce(l->world, buffers[0], buffers[1], bytes / 8, NCOLL_INT64, NCOLL_SUM,
                           NCOLL_BLOCK);
}

/* Each is the first of its kind, so that peers are connected for it. */
static int rooted(struct life *l)
{
    int root = l->trial->root_rank;
    int rc =
        ncoll_reduce(l->world, l->own[0], l->own[1], 8, NCOLL_INT64, NCOLL_SUM, root, NCOLL_BLOCK);

    if (rc == NCOLL_OK)
        rc = ncoll_bcast(l->world, l->own[0], LONG / 64, NCOLL_INT64, root, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_gather(l->world, l->own[0], l->own[1], 8, NCOLL_INT64, root, NCOLL_BLOCK);
    return rc == NCOLL_OK
               ? ncoll_scan(l->world, l->own[0], l->own[1], 8, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK)
               : rc;
}

static int in_memory(struct life *l)
{
    int rc = NCOLL_OK;

    enter(l, SHORT);
    for (size_t bytes = 8; rc == NCOLL_OK && bytes <= 64u << 10; bytes *= 16)
        for (int i = 0; rc == NCOLL_OK && i < 5; i++)
            rc = allreduce(l, l->own, bytes);
    enter(l, LONG_OWN);
    if (rc == NCOLL_OK)
        rc = allreduce(l, l->own, LONG);
    enter(l, LONG_ALLOCATED);
    for (int i = 0; rc == NCOLL_OK && i < 2; i++)
        rc = ncoll_alloc(l->ctx, LONG, (void **)&l->allocated[i]);
    return rc == NCOLL_OK ? allreduce(l, l->allocated, LONG) : rc;
}

static int in_groups(struct life *l)
{
    enter(l, SPLIT);
    int rc = ncoll_group_split(l->world, l->rank / 2, l->rank, &l->group, NCOLL_BLOCK);
    enter(l, IN_GROUP);
    for (int i = 0; rc == NCOLL_OK && i < 50; i++)
        rc = ncoll_allreduce(l->group, l->own[0], l->own[1], 64, NCOLL_INT64, NCOLL_SUM,
                             NCOLL_BLOCK);
    enter(l, FREE);
    return rc == NCOLL_OK ? ncoll_group_free(&l->group, NCOLL_BLOCK) : rc;
}

static int last_call(struct life *l)
{
    if (!l->trial->loose_end)
        return ncoll_barrier(l->world, NCOLL_BLOCK);
    return ncoll_reduce(l->world, l->own[0], l->own[1], 1, NCOLL_INT64, NCOLL_PROD,
                        l->trial->root_rank, NCOLL_BLOCK);
}

static int live(struct life *l)
{
    enter(l, BARRIER);
    int rc = ncoll_barrier(l->world, NCOLL_BLOCK);
    enter(l, ROOTED);
    if (rc == NCOLL_OK)
        rc = rooted(l);
    enter(l, CONNECT);
    if (rc == NCOLL_OK)
        rc = ncoll_alltoall(l->world, l->own[0], l->own[1], 4, NCOLL_INT64, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = in_memory(l);
    if (rc == NCOLL_OK)
        rc = in_groups(l);
    enter(l, LAST);
    return rc == NCOLL_OK ? last_call(l) : rc;
}

/* Returns what is wrong with how a survivor's life ended, NULL if nothing is. */
static const char *judge(const struct life *l, int rc, const ncoll_error *error)
{
    const struct trial *t = l->trial;
    uint64_t now_ns = crew_now_ns();

    if (t->victim < 0)
        return rc == NCOLL_OK ? NULL : "failed with nobody killed";
    bool needs_victim = !t->loose_end || l->rank == t->root_rank;
    if (rc == NCOLL_OK)
        return t->reached_last || !needs_victim ? NULL : "got through without the victim";
    if (rc != NCOLL_ERR_PEER && !(rc == NCOLL_ERR_BOOTSTRAP && l->ctx == NULL))
        return "not NCOLL_ERR_PEER";
    if (error->peer != t->victim)
        return "does not name the victim";
    if (t->killed_ns == 0 || now_ns < t->killed_ns)
        return "failed before the kill";
    return now_ns - t->killed_ns > HANG_FACTOR * LIMIT_MS * MS ? "too late" : NULL;
}

static int take_part(const ncoll_params *given, void *arg)
{
    struct life l = {.trial = arg, .rank = given->rank};
    ncoll_params params = *given;
    ncoll_error error = {0};
    bool accused;

    accused_watch(&params, &accused);
    hang_after(120);
    if (l.trial->tcp) {
        params.bootstrap = NCOLL_BOOTSTRAP_TCP;
        params.root = l.trial->root;
        params.bootstrap_timeout_ns = (int64_t)(ROOT_MS * MS);
    }
    for (int i = 0; i < 2; i++)
        if ((l.own[i] = calloc(1, LONG)) == NULL)
            return 2;
    int held_before = traces_held("self", true);
    enter(&l, CREATE);
    int rc = ncoll_context_create(&params, &l.ctx, &error);
    if (rc == NCOLL_OK) {
        l.world = ncoll_world(l.ctx);
        rc = live(&l);
        if (rc != NCOLL_OK)
            error = *ncoll_last_error(l.ctx);
    }
    const char *wrong = judge(&l, rc, &error);
    l.trial->complaints += rc != NCOLL_OK;
    enter(&l, DESTROY);
    if (rc == NCOLL_OK && ncoll_free(l.ctx, l.allocated[0]) != NCOLL_OK)
        wrong = "memory cannot be freed";
    ncoll_context_destroy(l.ctx);
    if (accused)
        wrong = "it is accused";
    if (l.rank == l.trial->victim)
        l.trial->left = rc == NCOLL_OK;
    enter(&l, PHASES);
    if (wrong == NULL && l.trial->victim >= 0 && traces_held("self", true) > held_before)
        wrong = "something is still open";
    if (wrong != NULL)
        fprintf(stderr, "survivor %d: %s: %d, %s\n", l.rank, wrong, rc, error.text);
    free(l.own[0]);
    free(l.own[1]);
    if (l.rank == l.trial->victim)
        l.trial->lived = 1;
    return wrong == NULL ? 0 : 1;
}

/* ------------------------------------------------------------------ kills -------------------- */

struct options {
    const char *transport;
    int ranks;
    unsigned kills;
    long only;
    uint64_t seed, from_permille;
    int phase; /* -1: any */
    bool alone, tcp;
};

/* True if all went well. A victim that is faster than its killer is none. */
static bool live_and_die(const struct options *o, struct trial *t)
{
    int codes[RANKS_MAX], wrong = 0;
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.transport = o->transport;
    t->tcp = o->tcp;
    if (t->tcp)
        snprintf(t->root, sizeof t->root, "127.0.0.1:%d", free_port());
    t->killed_ns = 0;
    t->reached_last = t->left = t->lived = t->complaints = 0;
    ncoll_fork_ranks(t->ranks, &params, take_part, t, codes);
    for (int r = 0; r < t->ranks; r++)
        wrong += r == t->victim ? codes[r] != 128 + SIGKILL && codes[r] != 0 : codes[r] != 0;
    t->died += t->victim >= 0 && !t->lived;
    if (t->left && t->complaints > 0)
        fprintf(stderr, "%d survivors miss a victim that had left\n", t->complaints);
    return wrong == 0 && !(t->left && t->complaints > 0);
}

static void draw(const struct options *o, unsigned k, struct trial *t)
{
    struct random random = random_stream(o->seed, k);

    t->victim = (int)random_below(&random, (uint64_t)t->ranks);
    t->phase = (enum phase)random_below(&random, PHASES);
    if (o->phase >= 0)
        t->phase = (enum phase)o->phase;
    t->root_rank = (int)random_below(&random, (uint64_t)t->ranks);
    t->exits = random_below(&random, 4) == 0;
    t->loose_end = random_below(&random, 2) == 0;
    t->delay_permille = o->from_permille + random_below(&random, WHOLE - o->from_permille);
    for (int r = 0; r < t->ranks; r++) {
        bool stalls = random_below(&random, 2) == 0;
        t->stalls[r].delay_permille = random_below(&random, WHOLE);
        t->stalls[r].ns = stalls ? 1 + random_below(&random, STALL_MS * MS) : 0;
    }
}

static bool kill_one(const struct options *o, unsigned k, struct trial *t)
{
    struct traces before = traces_look(o->alone);
    const char *trace = NULL;

    draw(o, k, t);
    bool well = live_and_die(o, t);
    /* a device's and the kernel's own tidying may take a moment */
    for (uint64_t end = crew_now_ns() + HANG_FACTOR * LIMIT_MS * MS;
         (trace = traces_left(&before, o->alone)) != NULL;) {
        if (crew_now_ns() > end)
            break;
        usleep(10000);
    }
    if (!well || trace != NULL)
        printf("FAILED: kill %u, rank %d of %d, %s, at %" PRIu64 "/1000 of it%s%s (--seed %" PRIu64
               ")\n",
               k, t->victim, t->ranks, phase_names[t->phase], t->delay_permille,
               trace != NULL ? "; left: " : "", trace != NULL ? trace : "", o->seed);
    return well && trace == NULL;
}

static int kill_all(const struct options *o, struct trial *shared)
{
    unsigned failed = 0, kills = 0;

    for (int ranks = 2; ranks <= o->ranks; ranks++) {
        shared->ranks = ranks;
        shared->victim = -1;
        if (!live_and_die(o, shared)) {
            printf("FAILED: %d ranks, with nobody killed\n", ranks);
            return 1;
        }
        for (unsigned k = 0; k < o->kills; k++)
            if ((int)(k % (unsigned)(o->ranks - 1)) == ranks - 2 &&
                (o->only < 0 || o->only == (long)k)) {
                failed += !kill_one(o, k, shared);
                kills++;
            }
    }
    printf("%u of %u victims died in time, %u failed (--seed %" PRIu64 ")\n", shared->died, kills,
           failed, o->seed);
    return kills > 0 && failed == 0 && (o->only >= 0 || shared->died >= kills / 2) ? 0 : 1;
}

static int phase_named(const char *name)
{
    for (int p = 0; p < PHASES; p++)
        if (strcmp(phase_names[p], name) == 0)
            return p;
    return -1;
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"kills", required_argument, NULL, 'k'}, {"only", required_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 's'},  {"alone", no_argument, NULL, 'a'},
        {"tcp", no_argument, NULL, 'T'},         {"phase", required_argument, NULL, 'p'},
        {"from", required_argument, NULL, 'f'},  {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "n:t:", longs, NULL)) != -1) {
        if (c == 't')
            o->transport = optarg;
        else if (c == 'n')
            o->ranks = atoi(optarg);
        else if (c == 'k')
            o->kills = (unsigned)atoi(optarg);
        else if (c == 'o')
            o->only = atol(optarg);
        else if (c == 's')
            o->seed = strtoull(optarg, NULL, 0);
        else if (c == 'a')
            o->alone = true;
        else if (c == 'T')
            o->tcp = true;
        else if (c == 'p' && (o->phase = phase_named(optarg)) < 0)
            return false;
        else if (c == 'f')
            o->from_permille = strtoull(optarg, NULL, 0);
        else if (c == 'p')
            continue;
        else
            return false;
    }
    return optind == argc && o->ranks >= 2 && o->ranks <= RANKS_MAX && o->from_permille < WHOLE;
}

int main(int argc, char **argv)
{
    struct options o = {.transport = "shm", .ranks = 4, .kills = 40, .only = -1, .phase = -1};
    struct trial *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.seed == 0)
        o.seed = test_seed();
    /* what a rank leaves behind comes here */
    if (shared == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return 2;
    return kill_all(&o, shared);
}
