/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that end as soon as they may: a rank that has NCOLL_OK from its last call destroys its
 * context at once, and ends or lives on, while others may not have begun with that call. Each job
 * is a few calls, the last of which do not wait for all ranks, and may be the first of their kind:
 * so peers are still being connected when some ranks are already gone. Every rank has to get the
 * right results, whatever the others do after theirs.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/names.h"
#include "test/support/accused.h"
#include "test/support/blackboard.h"
#include "test/support/crew.h"
#include "test/support/exercise.h"
#include "test/support/hang.h"
#include "test/support/late.h"
#include "test/support/options.h"
#include "test/support/port.h"
#ifdef NCOLL_SOFT_DEVICE
#include "test/support/soft_device.h"
#endif

static const char usage[] =
    "usage: ncoll-leave [-t TRANSPORT] [-P LIST] [--jobs N] [--seed S] [--only I] [--tcp]\n"
    "                   [--threads]\n"
    "\n"
    "Runs jobs whose ranks leave as soon as they have the result of their last call.\n"
    "\n"
    "  -t TRANSPORT    shm, verbs, shm+verbs, or late: shm that sends as a device does\n"
    "  -P LIST         numbers of ranks, 1 to 16; default: 2-9,12,16\n"
    "  --jobs N        so many; default: 100\n"
    "  --seed S        repeats a run; default: NCOLL_TEST_SEED, else a new one\n"
    "  --only I        only job I\n"
    "  --tcp           the ranks meet over tcp\n"
    "  --threads       ranks are threads that meet over callbacks, not forked processes\n";

#define RANKS_MAX 16
#define CALLS_MAX 4u
#define BYTES_MAX ((size_t)1 << 20)
#define LIMIT_S   60
#define HANG_NS   INT64_C(30000000000)
#define MS        INT64_C(1000000)

struct options {
    struct jobs jobs;
    bool ranks[RANKS_MAX + 1];
    bool tcp, threads;
};

enum where_to { ON_WORLD, ON_DUP, ON_SPLIT, PLACES };
enum before { NOTHING, ALLREDUCES, SAME_KIND, BEFORES };
static const char *const place_names[] = {"the world", "a copy of it", "halves of it"};
static const char *const before_names[] = {"nothing", "allreduces", "calls of the same kind"};

/* A job, drawn from seed and number: all ranks know it alike. */
struct job {
    const struct options *options;
    uint64_t seed, number;
    int ranks;
    char root[32];
    bool late;
    struct random common;
    enum where_to place;
    enum before before;
    enum collective collective; /* of the first call that is not before */
    const char *nodes;
    unsigned calls;
};

struct member {
    const struct job *job;
    ncoll_context *ctx;
    ncoll_group *group;
    int rank, color; /* color: of the half */
    struct random own, common;
    struct repertoire repertoire;
};

/* ------------------------------------------------------------------ drawing ------------------ */

static const char *const pretended[] = {NULL, NULL, NULL, "0,0,1,1", "0,1", "0,0,1,2,1,1,0,3"};

static struct job draw(const struct options *o, uint64_t number)
{
    struct random random = random_stream(o->jobs.seed, number);
    struct job j = {.options = o, .seed = o->jobs.seed, .number = number};

    do
        j.ranks = 1 + (int)random_below(&random, RANKS_MAX);
    while (!o->ranks[j.ranks]);
    j.place =
        random_below(&random, 2) == 0 ? (enum where_to)random_below(&random, PLACES) : ON_WORLD;
    j.before =
        random_below(&random, 2) == 0 ? (enum before)random_below(&random, BEFORES) : NOTHING;
    j.collective = 1 + (enum collective)random_below(&random, COLLECTIVES - 1);
    j.nodes = pretended[random_below(&random, sizeof pretended / sizeof pretended[0])];
    j.calls = (unsigned)random_below(&random, 2) + (unsigned)random_below(&random, CALLS_MAX);
    j.common = random;
    return j;
}

static const char *text_of(const struct job *j, char *text, size_t size)
{
    snprintf(text, size, "job %" PRIu64 ", %d ranks, %s and %u calls from %s on %s%s%s", j->number,
             j->ranks, before_names[j->before], j->calls, ncoll__collective_name(j->collective),
             place_names[j->place], j->nodes != NULL ? ", nodes " : "",
             j->nodes != NULL ? j->nodes : "");
    return text;
}

/* ------------------------------------------------------------------ a rank ------------------- */

static int wrong(struct member *m, const char *what)
{
    char text[256];

    fprintf(stderr, "rank %d: %s\n    %s (--seed %" PRIu64 " --only %" PRIu64 ")\n", m->rank, what,
            text_of(m->job, text, sizeof text), m->job->seed, m->job->number);
    return 1;
}

/* Some ranks are late, now and then by much. */
static void dawdle(struct member *m)
{
    if (random_below(&m->own, 3) == 0)
        usleep((useconds_t)random_below(&m->own, random_below(&m->own, 8) == 0 ? 20000 : 500));
}

/* By a call with a time-out, which is taken up again, or a request that is waited for or tested. */
static int finish(struct member *m, struct exercise *x)
{
    enum exercise_form form = (enum exercise_form)random_below(&m->own, 3);
    uint64_t end_ns = crew_now_ns() + (uint64_t)HANG_NS;
    bool tests = random_below(&m->own, 2) == 0;
    ncoll_request *request = NULL;
    int rc;

    if (form != EXERCISE_CALL) {
        rc = exercise_call(x, m->group, form, 0, &request);
        if (rc == NCOLL_OK && form == EXERCISE_INIT)
            rc = ncoll_start(request);
        if (rc != NCOLL_OK)
            return rc;
        dawdle(m);
    }
    do {
        int64_t timeout_ns = tests ? (int64_t)random_below(&m->own, 2) * MS : HANG_NS;
        rc = form == EXERCISE_CALL ? exercise_call(x, m->group, form, timeout_ns, NULL)
                                   : ncoll_wait(&request, timeout_ns);
        if (rc == NCOLL_TIMEOUT && tests)
            dawdle(m);
    } while (rc == NCOLL_TIMEOUT && crew_now_ns() < end_ns);
    return rc;
}

static int call(struct member *m, enum collective collective)
{
    struct exercise_spec spec = {.collective = collective};
    struct exercise x;
    char text[256];

    spec.piece = &m->repertoire.pieces[random_below(&m->common, m->repertoire.n)];
    exercise_draw(&spec, &m->common, ncoll_group_size(m->group), BYTES_MAX);
    exercise_open(&x, &spec, m->job->seed, m->ctx, ncoll_group_rank(m->group),
                  ncoll_group_size(m->group));
    int rc = finish(m, &x);
    const char *what = rc == NCOLL_OK        ? exercise_wrong(&x, text, sizeof text)
                       : rc == NCOLL_TIMEOUT ? "hangs"
                                             : ncoll_last_error(m->ctx)->text;
    if (what != NULL) {
        wrong(m, what);
        fprintf(stderr, "    in %s\n", exercise_text(&x, text, sizeof text));
    }
    exercise_close(&x);
    return what != NULL;
}

static int find_place(struct member *m)
{
    ncoll_group *world = ncoll_world(m->ctx);
    int rc = NCOLL_OK;

    m->group = world;
    m->color = m->job->place == ON_SPLIT ? m->rank % 2 : 0;
    m->common = random_stream(m->job->common.state, (uint64_t)m->color);
    if (m->job->place == ON_DUP)
        rc = ncoll_group_dup(world, &m->group, HANG_NS);
    if (m->job->place == ON_SPLIT)
        rc = ncoll_group_split(world, m->color, m->rank, &m->group, HANG_NS);
    return rc == NCOLL_OK ? 0 : wrong(m, ncoll_last_error(m->ctx)->text);
}

/* One that does not wait for all ranks. */
static enum collective draw_loose(struct random *random)
{
    static const enum collective loose[] = {COLL_REDUCE,  COLL_BCAST, COLL_GATHER,
                                            COLL_SCATTER, COLL_SCAN,  COLL_EXSCAN};

    return loose[random_below(random, sizeof loose / sizeof loose[0])];
}

static int live(struct member *m)
{
    const struct job *j = m->job;
    enum collective first = j->before == ALLREDUCES ? COLL_ALLREDUCE : j->collective;
    int failed = find_place(m);

    for (unsigned i = 0; failed == 0 && j->before != NOTHING && i < 3; i++)
        failed = call(m, first);
    for (unsigned i = 0; failed == 0 && i < j->calls; i++) {
        dawdle(m);
        failed = call(m, i == 0 ? j->collective : draw_loose(&m->common));
    }
    return failed;
}

static int take_part(const ncoll_params *given, void *arg)
{
    const struct job *j = arg;
    struct member m = {.job = j, .rank = given->rank};
    ncoll_params params = *given;
    ncoll_error error;
    bool accused;

    accused_watch(&params, &accused);
    if (!j->options->threads)
        hang_after(LIMIT_S);
    m.own = random_stream(j->common.state, 100 + (uint64_t)m.rank);
    if (j->options->tcp) {
        params.bootstrap = NCOLL_BOOTSTRAP_TCP;
        params.root = j->root;
    }
    params.nodes = j->nodes;
    if (ncoll_context_create(&params, &m.ctx, &error) != NCOLL_OK)
        return wrong(&m, error.text);
    if (j->late)
        late_install(m.ctx, random_next(&m.own));
    int failed = repertoire_open(&m.repertoire, m.ctx) != NCOLL_OK || live(&m) != 0;
    ncoll_context_destroy(m.ctx);
    if (accused)
        failed = wrong(&m, "it is accused");
    if (random_below(&m.own, 4) == 0) /* without a context */
        usleep((useconds_t)random_below(&m.own, 50000));
    return failed;
}

/* ------------------------------------------------------------------ jobs --------------------- */

struct thread {
    pthread_t thread;
    ncoll_params params;
    struct job *job;
    int failed;
};

static void *thread_main(void *arg)
{
    struct thread *t = arg;

    t->failed = take_part(&t->params, t->job);
    return NULL;
}

static bool run_threads(struct job *j, const ncoll_params *base)
{
    struct blackboard *board = blackboard_create(j->ranks);
    struct thread threads[RANKS_MAX];
    int failed = 0;

    hang_after(LIMIT_S);
#ifdef NCOLL_SOFT_DEVICE
    soft_reset();
#endif
    for (int r = 0; r < j->ranks; r++) {
        threads[r] = (struct thread){.params = *base, .job = j};
        blackboard_join(board, r, &threads[r].params);
        if (pthread_create(&threads[r].thread, NULL, thread_main, &threads[r]) != 0)
            abort();
    }
    for (int r = 0; r < j->ranks; r++) {
        pthread_join(threads[r].thread, NULL);
        failed += threads[r].failed;
    }
    blackboard_destroy(board);
    return failed == 0;
}

static bool run(const struct options *o, uint64_t number)
{
    int codes[RANKS_MAX];
    bool late;
    char text[256];
    ncoll_params params = late_params(o->jobs.transport, &late);
    struct job j = draw(o, number);

    j.late = late;
    if (number % 2 == 0) { /* else messages of all lengths go all ways */
        params.zero_copy_bytes = (size_t)64 << 10;
        params.show_bytes = (size_t)32 << 10;
    }
    if (number % 3 == 0)
        params.single_copy_bytes = 1;
    if (o->tcp)
        snprintf(j.root, sizeof j.root, "127.0.0.1:%d", free_port());
    bool well = o->threads ? run_threads(&j, &params)
                           : ncoll_fork_ranks(j.ranks, &params, take_part, &j, codes) == NCOLL_OK;
    for (int r = 0; !well && !o->threads && r < j.ranks; r++)
        if (codes[r] > 1)
            fprintf(stderr, "rank %d ended with %d\n", r, codes[r]);
    if (!well)
        printf("FAILED: %s (--seed %" PRIu64 " --only %" PRIu64 ")\n",
               text_of(&j, text, sizeof text), o->jobs.seed, number);
    return well;
}

int main(int argc, char **argv)
{
    struct options o = {.jobs = {.transport = "shm", .list = "2-9,12,16", .count = 100}};
    const struct flag flags[] = {{"tcp", &o.tcp}, {"threads", &o.threads}, {NULL, NULL}};
    uint64_t failed = 0, jobs = 0, start_ns = crew_now_ns();

    if (!option_jobs(argc, argv, "jobs", flags, &o.jobs) ||
        !option_ranks(o.jobs.list, RANKS_MAX, o.ranks)) {
        fputs(usage, stderr);
        return 2;
    }
    uint64_t first = o.jobs.only != UINT64_MAX ? o.jobs.only : 0;
    uint64_t end = o.jobs.only != UINT64_MAX ? o.jobs.only + 1 : o.jobs.count;
    for (uint64_t i = first; i < end; i++, jobs++)
        failed += !run(&o, i);
    printf("%" PRIu64 " jobs, %" PRIu64 " failed, %.1f s (--seed %" PRIu64 ")\n", jobs, failed,
           (double)(crew_now_ns() - start_ns) / 1e9, o.jobs.seed);
    return jobs > 0 && failed == 0 ? 0 : 1;
}
