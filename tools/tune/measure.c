/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates are measured as rows of ncoll-bench. Each row has a subject that forces the candidate,
 * and rows take turns in random order. In one process times differ little from batch to batch, so a
 * sweep has only a few batches. There are many sweeps, each in new processes or at least in a new
 * context: see judge.c. A host may move the cores of a virtual machine, and for some seconds
 * another candidate is then the fastest. This, too, affects all candidates of a point at the same
 * time, and averages out over many sweeps.
 */
#include "tools/bench/measure/measure.h"

#include <string.h>

#include "tools/bench/measure/stats.h"
#include "tools/tune/tune.h"

#define BATCH_NS      1e5 /* about the time of a batch: less than a time slice on a shared core */
#define BATCH_MIN     2
#define BATCHES       7 /* most batches of a sweep */
#define SAME_BITS_MAX 2 /* most further candidates that give all ranks the same bits */

/* The number of candidates in each phase. */
static const unsigned places[PHASES] = {CANDIDATES_MAX, 8, 4};

struct entrant {
    struct subject subject;
    struct candidate candidate, barrier;
    unsigned place; /* index of the candidate in the point */
};

static int force(struct job *job, const struct row *row)
{
    const struct entrant *e = (const struct entrant *)row->subject;
    int status = candidate_force(job->world, COLL_BARRIER, &e->barrier);

    return status == NCOLL_OK ? candidate_force(job->world, row->collective, &e->candidate)
                              : status;
}

static int unforce(struct job *job, const struct row *row)
{
    int status = ncoll__group_force(job->world, COLL_BARRIER, NULL, 0);

    return status == NCOLL_OK ? ncoll__group_force(job->world, row->collective, NULL, 0) : status;
}

static struct options options_for(const struct point *p, double most_s)
{
    double ns = p->candidates[0].predicted_ns;
    unsigned batch = ns > 0 && ns < BATCH_NS / BATCH_MIN ? (unsigned)(BATCH_NS / ns) : BATCH_MIN;

    batch = batch > 100 ? 100 : batch;
    return (struct options){
        .sizes = {p->bytes},
        .n_sizes = 1,
        .max_bytes = p->bytes > 0 ? p->bytes : sizeof(int64_t),
        .iterations = batch * BATCHES,
        .warmup = batch / 10 + 1,
        .repeats = 5,
        .batch = batch,
        .budget_s = most_s,
        .type = NCOLL_INT64,
        .op = NCOLL_SUM,
        .collectives = 1u << p->collective,
        .validation = VALIDATE_NONE,
    };
}

/* Computes the times of batches, which are the same on all ranks. If calls follow each other,
 * batches were timed as a whole. Otherwise the time of a batch is the sum of the times of its
 * calls, each of which is the longest time of any rank. */
static void sum_batches(const struct job *job, struct row *row)
{
    for (unsigned b = 0; b < row->calls / job->batch && !is_back_to_back(job, row); b++) {
        row->batch_ns[b] = 0;
        for (unsigned i = 0; i < job->batch; i++)
            row->batch_ns[b] += row->samples_ns[b * job->batch + i];
    }
}

/* Returns the time of a call: the median of the batches; more than 0, for its logarithm. */
static double time_of(const struct job *job, const struct row *row)
{
    unsigned n = row->calls / job->batch < BATCHES ? row->calls / job->batch : BATCHES;
    uint64_t sorted[BATCHES];

    memcpy(sorted, row->batch_ns, n * sizeof *sorted);
    stats_sort(sorted, n);
    uint64_t sum = sorted[(n - 1) / 2] + sorted[n / 2];
    return (double)(sum > 0 ? sum : 1) / 2 / 1e3 / job->batch;
}

static bool ended_a_batch(const struct job *job)
{
    return job->n_rows > 0 && job->rows[0].calls >= job->batch;
}

/* Keeps the fastest candidates, as many as the phase has places, and the library's own choice.
 * Earlier measurements are dropped, since other candidates took turns then. Before the first phase
 * all candidates stay. */
void point_narrow(struct point *p, enum phase phase)
{
    bool left[CANDIDATES_MAX], kept[CANDIDATES_MAX] = {false};
    unsigned i;

    for (i = 0; i < p->n; i++)
        left[i] = i != 0 && i != p->untuned && p->candidates[i].left;
    kept[0] = kept[p->untuned] = true;
    for (unsigned same_bits = 0; same_bits < 2; same_bits++) {
        for (unsigned n = same_bits ? SAME_BITS_MAX : places[phase];
             n > 0 && (i = point_fastest(p, left, same_bits, HALF_BOTH)) < CANDIDATES_MAX; n--) {
            kept[i] = true;
            left[i] = false;
        }
        if (p->collective != COLL_ALLREDUCE)
            break;
    }
    for (i = 0; i < p->n; i++)
        p->candidates[i].left = phase == PHASE_ALL || kept[i];
    p->sweeps = 0;
}

int point_measure(ncoll_context *ctx, struct point *p, double most_s)
{
    struct entrant entrants[CANDIDATES_MAX];
    const struct subject *subjects[CANDIDATES_MAX + 1] = {NULL};
    struct options options = options_for(p, most_s);
    ncoll_group *world = ncoll_world(ctx);
    struct job job = {.options = &options,
                      .subjects = subjects,
                      .ctx = ctx,
                      .world = world,
                      .rank = ncoll_group_rank(world),
                      .ranks = ncoll_group_size(world)};
    struct candidate barrier;
    unsigned n = 0;
    int status = candidate_barrier(world, &barrier);

    if (status != NCOLL_OK)
        return status;
    for (unsigned i = 0; i < p->n; i++) {
        if (!p->candidates[i].left)
            continue;
        entrants[n] = (struct entrant){subject_ncoll, p->candidates[i], barrier, i};
        entrants[n].subject.begin = force;
        entrants[n].subject.end = unforce;
        entrants[n].subject.describe = NULL;
        subjects[n] = &entrants[n].subject;
        n++;
    }
    status = plan_make(&job);
    if (status == NCOLL_OK)
        status = measure(&job);
    for (unsigned i = 0; status == NCOLL_OK && ended_a_batch(&job) && i < job.n_rows; i++) {
        const struct entrant *e = (const struct entrant *)job.rows[i].subject;
        sum_batches(&job, &job.rows[i]);
        p->candidates[e->place].sweep_us[p->sweeps] = time_of(&job, &job.rows[i]);
    }
    p->sweeps += status == NCOLL_OK && ended_a_batch(&job);
    plan_free(&job);
    return status;
}
