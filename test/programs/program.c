/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

/* ------------------------------------------------------------------ saying what is wrong ----- */

static bool wrong(const struct program *p, const struct pending *call, const char *what)
{
    const struct actor *a = p->actor;
    char text[160];

    atomic_fetch_add(&a->tally->wrong, 1);
    fprintf(
        stderr,
        "rank %d of %d, program %llu, step %u, rank %d of %d in the group: %s: %s, mode %u: %s\n"
        "    repeat:%s -P %d --seed %llu --only %llu\n",
        a->rank, a->ranks, (unsigned long long)p->number, call->step, call->exercise.rank,
        call->exercise.ranks, exercise_text(&call->exercise, text, sizeof text),
        call->request != NULL ? "request" : "call", call->sync, what,
        a->job->leaves ? " --leave" : "", a->ranks, (unsigned long long)a->job->seed,
        (unsigned long long)p->number);
    return false;
}

static bool failed(const struct program *p, const struct pending *call, int rc)
{
    const ncoll_error *error = ncoll_last_error(p->actor->ctx);

    if (rc != NCOLL_TIMEOUT && programs_excused(p->actor->job, error))
        return false;
    return wrong(p, call, rc == NCOLL_TIMEOUT ? "hangs" : error->text);
}

bool program_say(const struct program *p, const char *what, int rc)
{
    const ncoll_error *error = ncoll_last_error(p->actor->ctx);

    if (rc < NCOLL_OK && programs_excused(p->actor->job, error))
        return false;
    fprintf(stderr,
            "rank %d of %d, program %llu, step %u: %s: %s\n    repeat:%s -P %d --seed %llu --only "
            "%llu\n",
            p->actor->rank, p->actor->ranks, (unsigned long long)p->number, p->step, what,
            rc == NCOLL_TIMEOUT ? "hangs" : error->text, p->actor->job->leaves ? " --leave" : "",
            p->actor->ranks, (unsigned long long)p->actor->job->seed,
            (unsigned long long)p->number);
    atomic_fetch_add(&p->actor->tally->wrong, 1);
    return false;
}

/* ------------------------------------------------------------------ ends of calls ------------ */

static void close_call(struct pending *call)
{
    exercise_close(&call->exercise);
    free(call);
}

/* The call has ended well: so has to be what came out. */
static bool end_call(struct program *p, struct pending *call)
{
    struct actor *a = p->actor;
    const struct exercise_spec *s = &call->exercise.spec;
    bool same_bits = s->collective == COLL_ALLREDUCE && !a->any_order;
    char text[128];

    const char *what = exercise_wrong(&call->exercise, text, sizeof text);
    if (what != NULL)
        return wrong(p, call, what);
    a->tally->hashes[p->number % 2][call->step][a->rank] =
        same_bits ? exercise_hash(&call->exercise) : 0;
    if (a->rank == 0)
        atomic_fetch_add(&a->tally->calls, 1);
    call->open = false;
    if (!call->persistent)
        close_call(call);
    return true;
}

/* ------------------------------------------------------------------ requests ----------------- */

/* The request of a call has ended, and is this now. */
static bool over(struct program *p, struct pending *call, ncoll_request *request)
{
    unsigned i = 0;

    call->request = request;
    if ((request != NULL) != call->persistent)
        return wrong(p, call, "has ended, but is still there, or is not any more");
    while (p->open[i] != call)
        i++;
    p->open[i] = p->open[--p->n_open];
    return end_call(p, call);
}

/* Asks for one of the open requests; it is over if it has ended. */
static bool ask(struct program *p, unsigned i, int64_t timeout_ns)
{
    struct pending *call = p->open[i];

    int rc = ncoll_wait(&call->request, timeout_ns);
    if (rc == NCOLL_TIMEOUT && timeout_ns < HANG_NS) {
        atomic_fetch_add(&p->actor->tally->resumed, 1);
        return call->request != NULL || wrong(p, call, "is gone, but has timed out");
    }
    if (rc != NCOLL_OK)
        return failed(p, call, rc);
    return over(p, call, call->request);
}

/* Waits for all, any or some of the requests. Returns what the library does; *n and indices become
 * those that have ended. */
static int wait_somehow(struct program *p, ncoll_request **requests, size_t count,
                        int64_t timeout_ns, size_t *indices, size_t *n)
{
    uint64_t way = random_below(&p->own, 3);
    bool listed[OPEN_MAX];
    int rc;

    if (way == 0)
        return ncoll_wait_some(requests, count, indices, n, timeout_ns);
    for (size_t i = 0; i < count; i++)
        listed[i] = requests[i] != NULL;
    rc = way == 1 ? ncoll_wait_any(requests, count, indices, timeout_ns)
                  : ncoll_wait_all(requests, count, indices, timeout_ns);
    *n = indices[0] != NCOLL_NO_INDEX;
    for (size_t i = 0; way == 2 && rc == NCOLL_OK && i < count; i++)
        if (listed[i])
            indices[(*n)++] = i;
    return rc;
}

/* Asks for several of the open requests at once. Those that have ended are over. */
static bool ask_together(struct program *p, int64_t timeout_ns)
{
    ncoll_request *requests[OPEN_MAX];
    struct pending *calls[OPEN_MAX];
    size_t indices[OPEN_MAX] = {NCOLL_NO_INDEX}, count = p->n_open, n = 0;

    for (size_t i = 0; i < count; i++) {
        calls[i] = p->open[i];
        requests[i] = random_below(&p->own, 4) > 0 ? calls[i]->request : NULL;
    }
    int rc = wait_somehow(p, requests, count, timeout_ns, indices, &n);
    if (rc == NCOLL_TIMEOUT && timeout_ns < HANG_NS) {
        atomic_fetch_add(&p->actor->tally->resumed, 1);
        return n == 0 || program_say(p, "requests have ended by a time-out", rc);
    }
    if (rc != NCOLL_OK)
        return n > 0 ? failed(p, calls[indices[n - 1]], rc)
                     : program_say(p, "waiting for several requests", rc);
    for (size_t i = 0; i < n; i++)
        if (!over(p, calls[indices[i]], requests[indices[i]]))
            return false;
    return true;
}

/* Ends all that is open but `keep` requests, in an order of this rank's own. */
static bool drain(struct program *p, unsigned keep)
{
    while (p->n_open > keep) {
        unsigned i = (unsigned)random_below(&p->own, p->n_open);
        int64_t timeout_ns = random_below(&p->own, 4) > 0 ? HANG_NS : 0;
        if (!(random_below(&p->own, 3) == 0 ? ask_together(p, timeout_ns) : ask(p, i, timeout_ns)))
            return false;
    }
    return true;
}

static void be_late(const struct program *p, uint64_t us)
{
    if (p->actor->job->pause != NULL)
        p->actor->job->pause(us * 1000);
    else
        usleep((useconds_t)us);
}

/* Without need, now and then. */
static bool look_around(struct program *p)
{
    for (uint64_t times = random_below(&p->own, 4); times > 0 && p->n_open > 0; times--) {
        unsigned i = (unsigned)random_below(&p->own, p->n_open);
        int64_t timeout_ns = (int64_t)random_below(&p->own, 2) * MS;
        if (!(random_below(&p->own, 3) == 0 ? ask_together(p, timeout_ns) : ask(p, i, timeout_ns)))
            return false;
    }
    if (random_below(&p->own, 4) == 0 && ncoll_progress(p->actor->ctx) != NCOLL_OK) {
        if (!programs_excused(p->actor->job, ncoll_last_error(p->actor->ctx)))
            fprintf(stderr, "progress: %s\n", ncoll_last_error(p->actor->ctx)->text);
        return false;
    }
    if (random_below(&p->own, 20) == 0)
        be_late(p, random_below(&p->own, random_below(&p->own, 10) == 0 ? 3000 : 300));
    return true;
}

/* ------------------------------------------------------------------ blocking calls ----------- */

/* Goes on with the blocking call that has timed out until it ends. */
bool program_resume(struct program *p)
{
    struct pending *call = p->unfinished;
    uint64_t end_ns = crew_now_ns() + (uint64_t)HANG_NS;
    int rc = NCOLL_OK;

    if (call == NULL)
        return true;
    while ((rc = exercise_call(&call->exercise, call->circle->group, EXERCISE_CALL,
                               (int64_t)random_below(&p->own, 2) * MS, NULL)) == NCOLL_TIMEOUT &&
           crew_now_ns() < end_ns) {
        atomic_fetch_add(&p->actor->tally->resumed, 1);
        sched_yield();
    }
    if (rc != NCOLL_OK)
        return failed(p, call, rc);
    p->unfinished = NULL;
    return end_call(p, call);
}

/* Blocks, or leaves the call unfinished for a while. */
static bool call_once(struct program *p, struct pending *call)
{
    bool patient = random_below(&p->own, 2) == 0;
    int64_t timeout_ns = patient ? HANG_NS : (int64_t)random_below(&p->own, 2) * MS;

    int rc = exercise_call(&call->exercise, call->circle->group, EXERCISE_CALL, timeout_ns, NULL);
    if (rc == NCOLL_OK)
        return end_call(p, call);
    if (rc != NCOLL_TIMEOUT || patient)
        return failed(p, call, rc);
    p->unfinished = call;
    return random_below(&p->own, 2) == 0 || program_resume(p);
}

/* ------------------------------------------------------------------ steps -------------------- */

/* Something new, or a spec of before with other values. */
static struct exercise_spec draw_spec(struct program *p, struct circle *c)
{
    struct repertoire *r = &p->actor->repertoire;
    struct exercise_spec spec = {0};

    if (c->n_specs > 0 && random_below(&c->common, 3) == 0) {
        unsigned kept = c->n_specs < SPECS_KEPT ? c->n_specs : SPECS_KEPT;
        spec = c->specs[random_below(&c->common, kept)];
        spec.values_stream = random_next(&c->common);
        return spec;
    }
    spec.collective = 1 + (enum collective)random_below(&c->common, COLLECTIVES - 1);
    spec.piece = &r->pieces[random_below(&c->common, r->n)];
    if (random_below(&c->common, 8) == 0)
        exercise_compress(&spec, r, random_below(&c->common, 3) == 0 ? COLL_BCAST : COLL_ALLREDUCE,
                          &c->common);
    exercise_draw(&spec, &c->common, c->size, BYTES_MAX);
    c->specs[c->n_specs++ % SPECS_KEPT] = spec;
    return spec;
}

static struct pending *make_call(struct program *p, struct circle *c)
{
    struct exercise_spec spec = draw_spec(p, c);
    struct pending *call = malloc(sizeof *call);

    if (call == NULL)
        abort();
    call->circle = c;
    call->request = NULL;
    call->persistent = call->open = false;
    call->step = p->step;
    call->sync = random_below(&c->common, 4) == 0 ? (unsigned)random_below(&c->common, 4) : 0;
    ncoll_group_set_sync(c->group, call->sync); /* calls of before keep theirs */
    exercise_open(&call->exercise, &spec, p->actor->job->seed, p->actor->ctx, c->rank, c->size);
    return call;
}

static bool start_request(struct program *p, struct circle *c)
{
    struct pending *call = make_call(p, c);

    int rc = exercise_call(&call->exercise, call->circle->group, EXERCISE_START, 0, &call->request);
    if (rc != NCOLL_OK)
        return failed(p, call, rc);
    call->open = true;
    p->open[p->n_open++] = call;
    return true;
}

static bool free_persistent(struct program *p, struct pending **place)
{
    struct pending *call = *place;

    *place = NULL;
    if (call == NULL)
        return true;
    int rc = ncoll_request_free(&call->request);
    if (rc != NCOLL_OK || call->request != NULL)
        return failed(p, call, rc);
    close_call(call);
    return true;
}

/* Starts one of the persistent requests once more, or makes another one in its place. */
static bool start_persistent(struct program *p, struct circle *c)
{
    struct pending **place = &c->persistent[random_below(&c->common, PERSISTENT)], *call = *place;
    bool other = call == NULL || random_below(&c->common, 4) == 0;
    int rc;

    while (call != NULL && call->open) /* here; on other ranks it may have ended */
        if (!drain(p, p->n_open - 1))
            return false;
    if (other) {
        if (!free_persistent(p, place))
            return false;
        *place = call = make_call(p, c);
        call->persistent = true;
        rc = exercise_call(&call->exercise, call->circle->group, EXERCISE_INIT, 0, &call->request);
        if (rc != NCOLL_OK)
            return failed(p, call, rc);
    } else {
        exercise_refill(&call->exercise, random_next(&c->common));
    }
    call->step = p->step;
    if ((rc = ncoll_start(call->request)) != NCOLL_OK)
        return failed(p, call, rc);
    call->open = true;
    p->open[p->n_open++] = call;
    return true;
}

bool program_leave_circle(struct program *p, struct circle *c)
{
    for (unsigned i = 0; i < p->n_open;)
        if (p->open[i]->circle != c)
            i++;
        else if (!ask(p, i, HANG_NS)) /* else another one has its place */
            return false;
    bool well = program_resume(p);
    for (unsigned i = 0; well && i < PERSISTENT; i++)
        well = free_persistent(p, &c->persistent[i]);
    if (well && !(p->leaves && random_below(&c->common, 2) == 0))
        well = eventual_free(p, c);
    return well;
}

static bool take_step(struct program *p)
{
    struct circle *c = &p->circles[random_below(&p->common, CIRCLES)];

    if (c != p->circles && random_below(&p->common, 5) == 0)
        return c->exists ? circle_free(p, c) : circle_make(p, c);
    c = c->exists ? c : p->circles;
    if (c->group == NULL)
        return true;
    p->leader[p->step] = c->leader;
    if (p->n_open == OPEN_MAX && !drain(p, OPEN_MAX / 2))
        return false;
    if (random_below(&c->common, 8) == 0)
        return program_resume(p) && eventual_step(p, c) && look_around(p);
    uint64_t kind = random_below(&c->common, 6);
    if (kind < 2)
        return program_resume(p) && call_once(p, make_call(p, c)) && look_around(p);
    return (kind == 2 ? start_persistent(p, c) : start_request(p, c)) && look_around(p);
}

/* ------------------------------------------------------------------ a program ---------------- */

static bool compare_bits(struct program *p, unsigned steps)
{
    struct actor *a = p->actor;
    uint64_t(*hashes)[RANKS_MAX] = a->tally->hashes[p->number % 2];

    if (ncoll_barrier(a->world, HANG_NS) != NCOLL_OK) {
        if (!programs_excused(a->job, ncoll_last_error(a->ctx)))
            fprintf(stderr, "last barrier: %s\n", ncoll_last_error(a->ctx)->text);
        return false;
    }
    for (unsigned i = 0; i < steps; i++)
        if (hashes[i][a->rank] != hashes[i][p->leader[i]]) {
            fprintf(stderr, "rank %d, program %llu, step %u: has other bits than rank %d\n",
                    a->rank, (unsigned long long)p->number, i, p->leader[i]);
            atomic_fetch_add(&a->tally->wrong, 1);
            return false;
        }
    return true;
}

bool program_run(struct actor *a, uint64_t number)
{
    struct program p = {
        .actor = a,
        .number = number,
        .common = random_stream(a->job->seed, number << 8),
        .own = random_stream(a->job->seed, number << 8 | (unsigned)(a->rank + 1)),
    };
    unsigned steps = 1 + (unsigned)random_below(&p.common, STEPS_MAX);
    bool leaves = programs_context_ends(a->job, number) &&
                  (random_below(&p.common, 2) == 0 || a->job->leaves);
    bool well = true;

    p.leaves = leaves;
    if (leaves && (random_below(&p.common, 2) == 0 || a->job->leaves))
        steps = 1 + steps % 3;
    p.circles[0] = (struct circle){
        .exists = true,
        .group = a->world,
        .rank = a->rank,
        .size = a->ranks,
        .common = random_stream(a->job->seed, number << 8 | 0x80),
    };
    for (unsigned i = 0; i < steps; i++)
        p.leader[i] = a->rank;
    for (p.step = 0; well && p.step < steps; p.step++)
        well = take_step(&p);
    well = well && (random_below(&p.own, 2) == 0 || program_resume(&p)) && drain(&p, 0) &&
           program_resume(&p);
    for (unsigned i = CIRCLES; well && i-- > 0;) { /* kept: till the context ends */
        bool keep = leaves || i == 0 || random_below(&p.common, 8) == 0;
        well = keep || !p.circles[i].exists ? program_leave_circle(&p, &p.circles[i])
                                            : circle_free(&p, &p.circles[i]);
    }
    if (leaves) {
        ncoll_context_destroy(a->ctx);
        a->ctx = NULL;
    } else {
        well = well && compare_bits(&p, steps);
    }
    if (a->rank == 0)
        atomic_fetch_add(&a->tally->programs, well);
    return well;
}
