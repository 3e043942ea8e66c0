/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kills a rank and looks how the others take it: every survivor must get NCOLL_ERR_PEER that names
 * the victim, within 3 s, and the same again, at once, from every later call.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

static const char usage[] =
    "usage: ncoll-survive -n RANKS [OPTION...]     on ranks that it forks\n"
    "       prterun|srun ... ncoll-survive [OPTION...]\n"
    "\n"
    "  -t TRANSPORT             shm, verbs or shm+verbs; default: as the library chooses\n"
    "  --victim R               the rank that is killed\n"
    "  --collective barrier|allreduce|allgather\n"
    "  --when idle|mid|any      between two calls, in an unfinished one, at any moment\n"
    "         first             while the first call connects further peers\n"
    "  --late MS                others have waited that long by then; default 0\n"
    "  --unnoticed              a child keeps the victim's sockets, so that the launcher's PMIx\n"
    "                           server does not notice; Slurm's would end the job\n"
    "  --seed S                 repeats a run; default: NCOLL_TEST_SEED, else a new one\n"
    "\n"
    "With -n, a victim, collective or moment that is not given means all of them, one by one;\n"
    "else the last rank, barrier, mid. Each survivor prints a line.\n";

#define LIMIT_MS  3000 /* for the news to arrive */
#define AGAIN_MS  500  /* for two later calls to fail */
#define RANKS_MAX 64
#define CALLS_MAX 300u /* before the victim dies */
#define COUNT     500u
#define FILES_MAX 4096 /* open files of the victim */
#define MS        UINT64_C(1000000)

enum what { BARRIER, ALLREDUCE, ALLGATHER, WHATS };
enum when { IDLE, MID, ANY, FIRST, WHENS };
static const char *const what_names[] = {"barrier", "allreduce", "allgather"};
static const char *const when_names[] = {"idle", "mid", "any", "first"};

struct kill {
    int victim, what, when; /* -1: not given */
    unsigned late_ms;
    bool unnoticed;
    uint64_t seed;
};

struct options {
    const char *transport;
    int ranks; /* to fork; 0: none */
    struct kill kill;
};

/* ------------------------------------------------------------------ a rank ------------------- */

struct side {
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    struct kill kill;
    int64_t in[COUNT], out[COUNT];
};

static int collective(struct side *s, enum what what, int64_t timeout_ns)
{
    if (what == BARRIER)
        return ncoll_barrier(s->world, timeout_ns);
    if (what == ALLGATHER)
        return ncoll_allgather(s->world, s->in, s->out, COUNT / (size_t)s->ranks, NCOLL_INT64,
                               timeout_ns);
    return ncoll_allreduce(s->world, s->in, s->out, COUNT, NCOLL_INT64, NCOLL_SUM, timeout_ns);
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    nanosleep(&pause, NULL);
}

/* Has this process killed after a while, whatever it does then. */
static void arm(uint64_t ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec at = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};
    timer_t timer;

    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &at, NULL) != 0)
        abort();
}

/* Has a child hold the sockets of this process for half a minute. It holds nothing else, thanks to exec: queue pairs live
 * as long as a process maps memory of their device. */
static void leave_sockets(void)
{
    pid_t child = fork();
    struct stat file;

    if (child < 0)
        abort();
    if (child > 0)
        return;
    for (int fd = 0; fd < FILES_MAX; fd++)
        if (fd > STDERR_FILENO && fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode))
            fcntl(fd, F_SETFD, 0);
        else
            close(fd);
    execlp("sleep", "sleep", "30", NULL);
    _exit(1);
}

/* Returns only if a call failed before. */
static int be_killed(struct side *s)
{
    struct random random = random_stream(s->kill.seed, (uint64_t)s->rank);
    uint64_t calls = random_below(&random, 4) == 0 ? 0 : random_below(&random, CALLS_MAX);
    bool armed = s->kill.when == ANY || s->kill.when == FIRST;
    int rc = NCOLL_OK;

    if (s->kill.when == FIRST)
        calls = 0;
    printf("victim %d dies (%s, call %" PRIu64 ")\n", s->rank, when_names[s->kill.when], calls);
    fflush(stdout);
    if (s->kill.unnoticed)
        leave_sockets();
    for (; rc == NCOLL_OK && calls > 0; calls--)
        rc = collective(s, (enum what)s->kill.what, NCOLL_BLOCK);
    if (armed)
        arm(s->kill.late_ms * MS + 1 + random_below(&random, 5 * MS));
    while (rc == NCOLL_OK && s->kill.when != IDLE)
        rc = collective(s, (enum what)s->kill.what, s->kill.when == MID ? NCOLL_TEST : NCOLL_BLOCK);
    if (rc == NCOLL_OK || rc == NCOLL_TIMEOUT) {
        sleep_ns(s->kill.late_ms * MS);
        raise(SIGKILL);
    }
    fprintf(stderr, "%s\n", ncoll_last_error(s->ctx)->text);
    return 1;
}

static bool names_victim(const struct side *s, const ncoll_error *error)
{
    char who[32];

    snprintf(who, sizeof who, "rank %d ", s->kill.victim);
    return error->peer == s->kill.victim && strstr(error->cause, who) != NULL;
}

/* Returns what is wrong with the error that ended a call, NULL if nothing is. */
static const char *judge(struct side *s, int rc, uint64_t since_ns)
{
    const ncoll_error first = *ncoll_last_error(s->ctx);
    uint64_t start = crew_now_ns();

    if (rc != NCOLL_ERR_PEER)
        return "not NCOLL_ERR_PEER";
    if (!names_victim(s, &first))
        return "does not name the victim";
    if (start - since_ns > (HANG_FACTOR * LIMIT_MS + s->kill.late_ms) * MS)
        return "too late";
    for (enum what what = BARRIER; what < WHATS; what++)
        if (collective(s, what, NCOLL_BLOCK) != rc ||
            strcmp(ncoll_last_error(s->ctx)->text, first.text) != 0)
            return "a later call gave something else";
    if (crew_now_ns() - start > HANG_FACTOR * AGAIN_MS * MS)
        return "later calls took their time";
    return NULL;
}

static int survive(struct side *s)
{
    uint64_t start;
    int rc;

    do {
        start = crew_now_ns(); /* the victim is alive yet, or this call would not be the first */
        rc = collective(s, (enum what)s->kill.what, NCOLL_BLOCK);
    } while (rc == NCOLL_OK);
    uint64_t end = crew_now_ns();
    ncoll_error error = *ncoll_last_error(s->ctx);
    const char *wrong = judge(s, rc, start);
    printf("survivor %d: %s after %.0f ms: %s\n", s->rank, wrong != NULL ? wrong : "ok",
           (double)(end - start) / 1e6, error.text);
    return wrong == NULL ? 0 : 1;
}

static int take_part(const ncoll_params *params, void *arg)
{
    struct side s = {.kill = *(struct kill *)arg};
    ncoll_error error;
    int result = 2;

    hang_after(60 + s.kill.late_ms / 1000);
    int rc = ncoll_context_create(params, &s.ctx, &error);
    if (rc == NCOLL_ERR_PEER && names_victim(&s, &error)) { /* it was done with that sooner */
        printf("survivor %d: ok, without a context: %s\n", error.rank, error.text);
        return 0;
    }
    if (rc != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    s.world = ncoll_world(s.ctx);
    s.rank = ncoll_group_rank(s.world);
    s.ranks = ncoll_group_size(s.world);
    if (s.kill.victim < 0)
        s.kill.victim = s.ranks - 1;
    if (s.ranks < 2 || s.kill.victim >= s.ranks)
        fprintf(stderr, "no victim and survivor among %d ranks\n%s", s.ranks, usage);
    else
        result = s.rank == s.kill.victim ? be_killed(&s) : survive(&s);
    ncoll_context_destroy(s.ctx);
    return result;
}

/* ------------------------------------------------------------------ forked ranks ------------- */

/* True if the victim, and it alone, was killed and all others reported. */
static bool kill_one(const struct options *o, const struct kill *kill)
{
    int codes[RANKS_MAX], survivors = 0;
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.transport = o->transport;
    if (ncoll_fork_ranks(o->ranks, &params, take_part, (void *)(uintptr_t)kill, codes) !=
        NCOLL_ERR_PEER)
        return false;
    for (int r = 0; r < o->ranks; r++)
        survivors += r != kill->victim && codes[r] == 0;
    bool well = codes[kill->victim] == 128 + SIGKILL && survivors == o->ranks - 1;
    printf("%s %d of %d killed, %s, %s: %d survivors%s\n", well ? "ok:" : "FAILED:", kill->victim,
           o->ranks, what_names[kill->what], when_names[kill->when], survivors,
           well ? "" : " reported");
    return well;
}

static int kill_all(const struct options *o)
{
    unsigned kills = 0, failed = 0;
    struct kill kill = o->kill;

    for (kill.victim = 0; kill.victim < o->ranks; kill.victim++)
        for (kill.what = 0; kill.what < WHATS; kill.what++)
            for (kill.when = 0; kill.when < WHENS; kill.when++) {
                if ((o->kill.victim >= 0 && kill.victim != o->kill.victim) ||
                    (o->kill.what >= 0 && kill.what != o->kill.what) ||
                    (o->kill.when >= 0 && kill.when != o->kill.when))
                    continue;
                failed += !kill_one(o, &kill);
                kills++;
            }
    printf("%u kills, %u failed (--seed %" PRIu64 ")\n", kills, failed, o->kill.seed);
    return kills > 0 && failed == 0 ? 0 : 1;
}

/* ------------------------------------------------------------------ options ------------------ */

static int number_of(const char *name, const char *const *names, int n)
{
    int i = 0;

    while (i < n && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

static bool parse_number(const char *text, uint64_t limit, uint64_t *value)
{
    char *end;

    *value = strtoull(text, &end, 0);
    return end != text && *end == '\0' && *value < limit;
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"victim", required_argument, NULL, 'v'}, {"collective", required_argument, NULL, 'c'},
        {"when", required_argument, NULL, 'w'},   {"late", required_argument, NULL, 'l'},
        {"seed", required_argument, NULL, 's'},   {"unnoticed", no_argument, NULL, 'u'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    struct kill *kill = &o->kill;
    uint64_t value;
    int c;

    while ((c = getopt_long(argc, argv, "n:t:h", longs, NULL)) != -1) {
        if (c == 't')
            o->transport = optarg;
        else if (c == 'c' && (kill->what = number_of(optarg, what_names, WHATS)) < WHATS)
            continue;
        else if (c == 'w' && (kill->when = number_of(optarg, when_names, WHENS)) < WHENS)
            continue;
        else if (c == 'n' && parse_number(optarg, RANKS_MAX + 1, &value) && value >= 2)
            o->ranks = (int)value;
        else if (c == 'v' && parse_number(optarg, RANKS_MAX, &value))
            kill->victim = (int)value;
        else if (c == 'l' && parse_number(optarg, 60000, &value))
            kill->late_ms = (unsigned)value;
        else if (c == 's' && parse_number(optarg, UINT64_MAX, &value))
            kill->seed = value;
        else if (c == 'u')
            kill->unnoticed = true;
        else
            return false;
    }
    return optind == argc && (o->ranks == 0 || kill->victim < o->ranks);
}

int main(int argc, char **argv)
{
    struct options o = {.kill = {-1, -1, -1, .late_ms = 0}};
    ncoll_params params;

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.kill.seed == 0)
        o.kill.seed = test_seed();
    if (o.ranks > 0)
        return kill_all(&o);
    if (o.kill.what < 0)
        o.kill.what = BARRIER;
    if (o.kill.when < 0)
        o.kill.when = MID;
    ncoll_params_init(&params, sizeof params);
    params.transport = o.transport;
    return take_part(&params, &o.kill);
}
