/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kills a rank at any moment of a short life: while contexts are created, in the first barrier,
 * while an alltoall connects all ranks, in short and long allreduces in memory of both kinds, while
 * a group is made, used and freed, and while contexts are destroyed. About then some of the others
 * are held up for a few milliseconds, wherever they are, so that they come to see the end of those
 * that gave up before them. Every survivor gets through or has an error that names the victim,
 * within 3 s of the kill; nobody gets through that needs the victim; and nothing is left then: no
 * process, file descriptor, mapping, file in /dev/shm; with --alone, on a machine where nothing
 * else goes on, no shared memory anywhere, either.
 */
#include <dirent.h>
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

#include "test/support/crew.h"
#include "test/support/port.h"

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
static const char *const phase_names[] = {"creation",       "barrier",
                                          "connecting",     "short allreduces",
                                          "long allreduce", "the same in memory of ncoll_alloc()",
                                          "split",          "call in a group",
                                          "end of a group", "last barrier",
                                          "destruction"};

/* In memory that all of them share. */
struct trial {
    int victim, ranks;
    enum phase phase;
    uint64_t delay_permille; /* of the time that the phase takes */
    struct stall {           /* of a rank; 0 ns: none */
        uint64_t delay_permille, ns;
    } stalls[RANKS_MAX];
    bool tcp;
    char root[32];
    uint64_t takes_ns[PHASES];  /* without a kill */
    _Atomic uint64_t killed_ns; /* when it is to be; 0: not yet known */
    unsigned died;              /* victims that were not done before; the parent's */
    _Atomic int reached_last;   /* the victim has begun the last barrier */
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
        signal_in(delay_ns, SIGKILL);
    } else if (stall->ns > 0) {
        stall_in(t->takes_ns[phase] * stall->delay_permille / 1000, stall->ns);
    }
}

static int allreduce(struct life *l, unsigned char *const buffers[2], size_t bytes)
{
    return ncoll_allreduce(l->world, buffers[0], buffers[1], bytes / 8, NCOLL_INT64, NCOLL_SUM,
                           NCOLL_BLOCK);
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

static int live(struct life *l)
{
    enter(l, BARRIER);
    int rc = ncoll_barrier(l->world, NCOLL_BLOCK);
    enter(l, CONNECT);
    if (rc == NCOLL_OK)
        rc = ncoll_alltoall(l->world, l->own[0], l->own[1], 4, NCOLL_INT64, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = in_memory(l);
    if (rc == NCOLL_OK)
        rc = in_groups(l);
    enter(l, LAST);
    return rc == NCOLL_OK ? ncoll_barrier(l->world, NCOLL_BLOCK) : rc;
}

/* Links of /proc/<pid>/fd and lines of /proc/<pid>/maps that name the library's memory, and pipes
 * and sockets besides the standard streams, so that a bell or a device's channel would count. */
static int held(const char *pid, bool everything)
{
    char path[64], line[512];
    int n = 0;

    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        n += strstr(line, "memfd:ncoll") != NULL;
    if (maps != NULL)
        fclose(maps);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *fds = opendir(path);
    for (struct dirent *e; fds != NULL && (e = readdir(fds)) != NULL;) {
        char link[320], to[64] = "";
        snprintf(link, sizeof link, "%s/%s", path, e->d_name);
        ssize_t length = readlink(link, to, sizeof to - 1);
        n += length > 0 && (everything || strncmp(to, "/memfd:ncoll", 12) == 0);
    }
    if (fds != NULL)
        closedir(fds);
    return n;
}

/* What is wrong with how a survivor's life ended, NULL if nothing is. */
static const char *judge(const struct life *l, int rc, const ncoll_error *error)
{
    const struct trial *t = l->trial;
    uint64_t now_ns = crew_now_ns();

    if (t->victim < 0)
        return rc == NCOLL_OK ? NULL : "failed with nobody killed";
    if (rc == NCOLL_OK)
        return t->reached_last ? NULL : "got through without the victim";
    if (rc != NCOLL_ERR_PEER && !(rc == NCOLL_ERR_BOOTSTRAP && l->ctx == NULL))
        return "not NCOLL_ERR_PEER";
    if (error->peer != t->victim)
        return "does not name the victim";
    if (t->killed_ns == 0 || now_ns < t->killed_ns)
        return "failed before the kill";
    return now_ns - t->killed_ns > LIMIT_MS * MS ? "too late" : NULL;
}

static int take_part(const ncoll_params *given, void *arg)
{
    struct life l = {.trial = arg, .rank = given->rank};
    ncoll_params params = *given;
    ncoll_error error = {0};

    alarm(120);
    if (l.trial->tcp) {
        params.bootstrap = NCOLL_BOOTSTRAP_TCP;
        params.root = l.trial->root;
        params.bootstrap_timeout_ns = (int64_t)(ROOT_MS * MS);
    }
    for (int i = 0; i < 2; i++)
        if ((l.own[i] = calloc(1, LONG)) == NULL)
            return 2;
    int held_before = held("self", true);
    enter(&l, CREATE);
    int rc = ncoll_context_create(&params, &l.ctx, &error);
    if (rc == NCOLL_OK) {
        l.world = ncoll_world(l.ctx);
        rc = live(&l);
        if (rc != NCOLL_OK)
            error = *ncoll_last_error(l.ctx);
    }
    const char *wrong = judge(&l, rc, &error);
    enter(&l, DESTROY);
    if (rc == NCOLL_OK && ncoll_free(l.ctx, l.allocated[0]) != NCOLL_OK)
        wrong = "memory cannot be freed";
    ncoll_context_destroy(l.ctx);
    enter(&l, PHASES);
    if (wrong == NULL && l.trial->victim >= 0 && held("self", true) > held_before)
        wrong = "something is still open";
    if (wrong != NULL)
        fprintf(stderr, "survivor %d: %s: %d, %s\n", l.rank, wrong, rc, error.text);
    free(l.own[0]);
    free(l.own[1]);
    return wrong == NULL ? 0 : 1;
}

/* ------------------------------------------------------------------ the machine -------------- */

struct traces {
    int files;       /* in /dev/shm */
    int held;        /* the library's memory, in this process or any */
    int sysv;        /* lines in /proc/sysvipc */
    long shared_kib; /* on the machine */
};

static int entries(const char *directory)
{
    DIR *d = opendir(directory);
    int n = 0;

    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

static long shared_kib(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long kib = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "Shmem: %ld", &kib);
    if (f != NULL)
        fclose(f);
    return kib;
}

static int lines_in(const char *path)
{
    FILE *f = fopen(path, "r");
    int c, n = 0;

    while (f != NULL && (c = fgetc(f)) != EOF)
        n += c == '\n';
    if (f != NULL)
        fclose(f);
    return n;
}

static struct traces look(bool alone)
{
    struct traces t = {.held = held("self", false)};

    if (!alone)
        return t;
    t.files = entries("/dev/shm");
    t.sysv = lines_in("/proc/sysvipc/shm") + lines_in("/proc/sysvipc/sem") +
             lines_in("/proc/sysvipc/msg");
    t.shared_kib = shared_kib();
    DIR *all = opendir("/proc");
    for (struct dirent *e; all != NULL && (e = readdir(all)) != NULL;)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            t.held += held(e->d_name, false);
    if (all != NULL)
        closedir(all);
    return t;
}

/* What is left that was not there before, NULL: nothing. */
static const char *left(const struct traces *before, bool alone)
{
    struct traces now = look(alone);

    if (waitpid(-1, NULL, WNOHANG) >= 0)
        return "a process";
    if (now.held > before->held)
        return "shared memory that somebody holds";
    if (now.files > before->files || now.sysv > before->sysv)
        return "a file in /dev/shm, or System V memory";
    return now.shared_kib > before->shared_kib + 1024 ? "shared memory" : NULL;
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

/* Whether all went well. A victim that is faster than its killer is none. */
static bool live_and_die(const struct options *o, struct trial *t)
{
    int codes[RANKS_MAX], wrong = 0;
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.transport = o->transport;
    params.log_level = 0;
    t->tcp = o->tcp;
    if (t->tcp)
        snprintf(t->root, sizeof t->root, "127.0.0.1:%d", free_port());
    t->killed_ns = 0;
    t->reached_last = 0;
    ncoll_fork_ranks(t->ranks, &params, take_part, t, codes);
    for (int r = 0; r < t->ranks; r++)
        wrong += r == t->victim ? codes[r] != 128 + SIGKILL && codes[r] != 0 : codes[r] != 0;
    t->died += t->victim >= 0 && codes[t->victim] == 128 + SIGKILL;
    return wrong == 0;
}

static void draw(const struct options *o, unsigned k, struct trial *t)
{
    struct random random = random_stream(o->seed, k);

    t->victim = (int)random_below(&random, (uint64_t)t->ranks);
    t->phase = (enum phase)random_below(&random, PHASES);
    if (o->phase >= 0)
        t->phase = (enum phase)o->phase;
    t->delay_permille = o->from_permille + random_below(&random, WHOLE - o->from_permille);
    for (int r = 0; r < t->ranks; r++) {
        bool stalls = random_below(&random, 2) == 0;
        t->stalls[r].delay_permille = random_below(&random, WHOLE);
        t->stalls[r].ns = stalls ? 1 + random_below(&random, STALL_MS * MS) : 0;
    }
}

static bool kill_one(const struct options *o, unsigned k, struct trial *t)
{
    struct traces before = look(o->alone);
    const char *trace = NULL;

    draw(o, k, t);
    bool well = live_and_die(o, t);
    /* a device's and the kernel's own tidying may take a moment */
    for (uint64_t end = crew_now_ns() + LIMIT_MS * MS; (trace = left(&before, o->alone)) != NULL;) {
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
