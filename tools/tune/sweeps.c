/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <sys/mman.h>

#include "tools/bench/bench.h"
#include "tools/tune/tune.h"

/* The least and the most sweeps of each phase, and the part of the total time after which it is to
 * be over. */
static const struct {
    unsigned least, most;
    double over;
} phases[PHASES] = {[PHASE_ALL] = {1, 3, 0.15},
                    [PHASE_SOME] = {1, 6, 0.35},
                    [PHASE_FEW] = {2 * DEALS, SWEEPS_MAX, 1}};

/* The time for each candidate of a point in a sweep. Each has at least one batch, however long that
 * takes. */
#define CANDIDATE_S 0.006

struct tuning *tuning_make(const struct tune_options *o)
{
    unsigned most = COLLECTIVES * o->n_sizes;
    size_t bytes = sizeof(struct tuning) + most * sizeof(struct point);
    struct tuning *t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (t == MAP_FAILED)
        return NULL;
    t->bytes = bytes;
    t->start_ns = now_ns();
    t->budget_s = o->budget_s;
    /* Without a terminal there is a line after each tenth of the budget, or each second. */
    double line_s = o->budget_s > 10 ? o->budget_s / 10 : 1;
    progress_start(&t->progress, !o->quiet, (uint64_t)(line_s * 1e9));
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        for (unsigned i = 0; o->collectives & 1u << c && i < (c == COLL_BARRIER ? 1 : o->n_sizes);
             i++) {
            struct point *p = &t->points[t->n++];
            p->collective = (enum collective)c;
            p->bytes = c == COLL_BARRIER ? 0 : o->sizes[i];
        }
    return t;
}

void tuning_free(struct tuning *t)
{
    if (t != NULL)
        munmap(t, t->bytes);
}

unsigned tuning_deal(const struct tuning *t)
{
    return t->phase == PHASE_FEW ? t->sweep / 2 : t->sweep;
}

static double since_s(uint64_t start_ns)
{
    return (double)(now_ns() - start_ns) / 1e9;
}

static int list_all(ncoll_context *ctx, struct tuning *t)
{
    int status = NCOLL_OK;

    for (unsigned i = 0; i < t->n && status == NCOLL_OK; i++)
        if ((status = candidates_list(ncoll_world(ctx), &t->points[i])) == NCOLL_OK)
            point_narrow(&t->points[i], PHASE_ALL);
    return status;
}

static unsigned count_left(const struct point *p)
{
    unsigned left = 0;

    for (unsigned i = 0; i < p->n; i++)
        left += p->candidates[i].left;
    return left;
}

/* Called after a sweep that took took_s. Rank 0 decides whether there is time for another one in
 * this phase. */
static int go_on(ncoll_context *ctx, struct tuning *t, double took_s)
{
    double over_s = t->budget_s * phases[t->phase].over;
    int64_t more = since_s(t->start_ns) + took_s < over_s;

    t->sweep++;
    t->sweep_s = took_s;
    int status = ncoll_bcast(ncoll_world(ctx), &more, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
    if (t->sweep < phases[t->phase].least || (more && t->sweep < phases[t->phase].most))
        return status;
    t->phase++;
    t->sweep = 0;
    for (unsigned i = 0; i < t->n; i++)
        if (t->phase == PHASES)
            point_settle(&t->points[i]);
        else
            point_narrow(&t->points[i], t->phase);
    if (t->phase == PHASES)
        progress_end(&t->progress);
    return status;
}

/* Returns how much is done, from 0 to 1: of the budget, or of the sweeps that are required even if
 * they take longer. */
static double part_done(const struct tuning *t)
{
    unsigned least = phases[t->phase].least, more = least > t->sweep ? least - t->sweep : 0;
    double run_s = since_s(t->start_ns), all_s = run_s + more * t->sweep_s;

    return run_s / (all_s > t->budget_s ? all_s : t->budget_s);
}

int tuning_sweep(ncoll_context *ctx, struct tuning *t)
{
    int status = NCOLL_OK;
    uint64_t start_ns = now_ns();

    if (t->phase == PHASE_ALL && t->sweep == 0)
        status = list_all(ctx, t);
    for (unsigned i = 0; i < t->n && status == NCOLL_OK; i++) {
        status = point_measure(ctx, &t->points[i], CANDIDATE_S * count_left(&t->points[i]));
        if (ncoll_group_rank(ncoll_world(ctx)) == 0)
            progress_step(&t->progress, part_done(t));
    }
    return status == NCOLL_OK ? go_on(ctx, t, since_s(start_ns)) : status;
}
