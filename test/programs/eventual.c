/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stale-synchronous and partial allreduces in the middle of a program, on an object of the circle.
 *
 * Element q < P of rank q's vector is the clock of its call, element P + q is 1, and all others are 0.
 * So a result tells of each rank how many of its contributions it has, and the sum of their clocks.
 */
#include <sched.h>
#include <stdio.h>

#include "program.h"

#define SLACK_MOST 4

static int64_t draw_timeout(struct program *p)
{
    return random_below(&p->own, 2) == 0 ? HANG_NS : (int64_t)random_below(&p->own, 2) * MS;
}

/* True as long as the call is to be made again. */
static bool goes_on(int rc, uint64_t end_ns)
{
    if (rc == NCOLL_TIMEOUT)
        sched_yield();
    return rc == NCOLL_TIMEOUT && crew_now_ns() < end_ns;
}

static bool make(struct program *p, struct circle *c)
{
    struct eventual *e = &c->eventual;
    uint64_t end_ns = crew_now_ns() + (uint64_t)HANG_NS;
    int rc;

    *e = (struct eventual){.partial = random_below(&c->common, 3) == 0,
                           .max_slack = (int)random_below(&c->common, SLACK_MOST + 1)};
    const ncoll_stale_params params = {
        .size = sizeof params,
        .max_slack = e->max_slack,
        .algorithm = (ncoll_stale_algorithm)random_below(&c->common, 4),
        .clocks = (int)random_below(&c->common, 2),
        .partial = e->partial,
    };
    do {
        rc = ncoll_stale_create(c->group, &params, 2 * (size_t)c->size, NCOLL_INT64, NCOLL_SUM,
                                &e->object, draw_timeout(p));
    } while (goes_on(rc, end_ns));
    return rc == NCOLL_OK || program_say(p, "making a stale object", rc);
}

bool eventual_free(struct program *p, struct circle *c)
{
    uint64_t end_ns = crew_now_ns() + (uint64_t)HANG_NS;
    int rc;

    if (c->eventual.object == NULL)
        return true;
    do {
        rc = ncoll_stale_free(&c->eventual.object, draw_timeout(p));
    } while (goes_on(rc, end_ns));
    if (rc != NCOLL_OK || c->eventual.object != NULL)
        return program_say(p, "freeing a stale object", rc);
    return true;
}

/* ------------------------------------------------------------------ results ------------------ */

/* Each contribution is there once. A rank can end a call with this rank's latest contribution if it is
 * ahead by no more than its slack, and can then begin one more. */
static bool is_right_ssp(struct circle *c, int slack, const int64_t *out,
                         const ncoll_stale_result *result)
{
    struct eventual *e = &c->eventual;
    int64_t floor = e->clock - slack > e->restart + 1 ? e->clock - slack : e->restart + 1,
            latest = e->clock + (slack > 0 ? e->max_slack + 1 : 0), oldest = INT64_MAX;

    if (slack == 0)
        floor = e->restart = e->clock;
    for (int q = 0; q < c->size; q++) {
        oldest = out[q] < oldest ? out[q] : oldest;
        if (out[q] < floor || out[q] > latest || out[c->size + q] != 1)
            return false;
        if (result->clocks != NULL && (int64_t)result->clocks[q] > out[q])
            return false;
    }
    return (int64_t)result->min_clock >= floor && (int64_t)result->min_clock <= oldest;
}

/* Each contribution is used once, in the order of its rank's calls. */
static bool is_right_partial(struct circle *c, int needed, const int64_t *out,
                             const ncoll_stale_result *result)
{
    struct eventual *e = &c->eventual;
    int enough = 0;

    for (int q = 0; q < c->size; q++) {
        e->used[q] += out[c->size + q];
        e->sum[q] += out[q];
        enough += e->used[q] >= e->clock;
        if (e->sum[q] != e->used[q] * (e->used[q] + 1) / 2 ||
            (int64_t)result->clocks[q] != (out[c->size + q] > 0 ? e->used[q] : 0))
            return false;
    }
    return enough >= needed && result->fresh == enough && out[c->rank] == e->clock;
}

/* ------------------------------------------------------------------ calls -------------------- */

static int try_call(const struct eventual *e, const int64_t *in, int64_t *out, size_t n, int number,
                    ncoll_stale_result *result, int64_t timeout_ns)
{
    return e->partial ? ncoll_allreduce_partial(e->object, in, out, n, NCOLL_INT64, NCOLL_SUM,
                                                number, result, timeout_ns)
                      : ncoll_allreduce_ssp(e->object, in, out, n, NCOLL_INT64, NCOLL_SUM, number,
                                            result, timeout_ns);
}

static int start_call(const struct eventual *e, const int64_t *in, int64_t *out, size_t n,
                      int number, ncoll_stale_result *result, ncoll_request **request)
{
    return e->partial ? ncoll_allreduce_partial_start(e->object, in, out, n, NCOLL_INT64, NCOLL_SUM,
                                                      number, result, request)
                      : ncoll_allreduce_ssp_start(e->object, in, out, n, NCOLL_INT64, NCOLL_SUM,
                                                  number, result, request);
}

/* Makes a call, at once or as a request, and waits for it in pieces of time. */
static int carry_out(struct program *p, const struct eventual *e, const int64_t *in, int64_t *out,
                     size_t n, int number, ncoll_stale_result *result)
{
    uint64_t end_ns = crew_now_ns() + (uint64_t)HANG_NS;
    ncoll_request *request = NULL;
    int rc;

    if (random_below(&p->own, 2) == 0) {
        do {
            rc = try_call(e, in, out, n, number, result, draw_timeout(p));
        } while (goes_on(rc, end_ns));
        return rc;
    }
    rc = start_call(e, in, out, n, number, result, &request);
    if (rc != NCOLL_OK)
        return rc;
    do {
        rc = ncoll_wait(&request, draw_timeout(p));
    } while (goes_on(rc, end_ns));
    return rc;
}

static bool call(struct program *p, struct circle *c)
{
    struct eventual *e = &c->eventual;
    int64_t in[2 * RANKS_MAX] = {0}, out[2 * RANKS_MAX];
    ncoll_stale_result result = {.size = sizeof result};
    int most = e->partial ? c->size : e->max_slack;
    int number = (int)random_below(&c->common, (uint64_t)most + 1);

    e->clock++;
    in[c->rank] = e->clock;
    in[c->size + c->rank] = 1;
    int rc = carry_out(p, e, in, out, 2 * (size_t)c->size, number, &result);
    if (rc != NCOLL_OK)
        return program_say(p, e->partial ? "a partial allreduce" : "a call with slack", rc);
    if (p->actor->rank == 0)
        atomic_fetch_add(&p->actor->tally->calls, 1);
    if ((int64_t)result.clock != e->clock)
        return program_say(p, "another clock", NCOLL_OK);
    if (e->partial) {
        int needed = number == NCOLL_MAJORITY ? c->size / 2 + 1 : number;
        return is_right_partial(c, needed, out, &result) ||
               program_say(p, "a wrong partial allreduce", NCOLL_OK);
    }
    return is_right_ssp(c, number, out, &result) ||
           program_say(p, "a wrong call with slack", NCOLL_OK);
}

bool eventual_step(struct program *p, struct circle *c)
{
    const struct actor *a = p->actor;

    a->tally->hashes[p->number % 2][p->step][a->rank] = 0; /* results differ between ranks */
    if (c->eventual.object == NULL)
        return make(p, c);
    return random_below(&c->common, 8) == 0 ? eventual_free(p, c) : call(p, c);
}
