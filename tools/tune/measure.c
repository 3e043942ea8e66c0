/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates are rows of ncoll-bench, each of a subject of its own that forces it. First all of
 * them are measured, then the best of these, and the best of those several times; all in turns, in
 * random order. They are compared by the mean over batches between the fastest tenth, which may be
 * luck, and the slowest six, as whatever else the machine does only adds to them, and to some
 * candidates more.
 *
 * A machine may be in one state for seconds, and then in another, in which something else is the
 * fastest: a virtual one is moved about by its host, and memory lies well or badly. So each time is
 * part of a sweep over all points, and what is said of a candidate is the mean of the last sweeps,
 * in each of which all that are left have met the same state. One that takes the place of what the
 * library chooses by itself is faster in each of them, and in more of all rounds than chance would
 * make it.
 *
 * Who is the fastest of many by what was measured was lucky as well. So the last sweeps are dealt
 * out to two halves, and report.c judges by each half who the other one says is the fastest.
 */
#include "tools/bench/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/plan.h"
#include "tools/tune/tune.h"

#define BATCH_NS      1e5 /* calls of a batch take about so long: less than a turn on a shared core */
#define BATCH_MIN     3
#define BATCHES       2000 /* at most */
#define KEEP_OWN      1.02 /* what the library chooses stays unless another is better by this */
#define SAME_BITS_MAX 2    /* beside the fastest; they give all ranks the same bits */

/* How many are left in each sweep. */
static const unsigned places[SWEEPS] = {CANDIDATES_MAX, 8, 4, 4, 4, 4};
const double sweep_parts[SWEEPS] = {0.24, 0.20, 0.14, 0.14, 0.14, 0.14};

struct entrant {
    struct subject subject;
    struct candidate candidate;
    unsigned place; /* in the point */
};

static int force(struct job *job, const struct row *row)
{
    const struct entrant *e = (const struct entrant *)row->subject;

    return candidate_force(job->world, row->collective, &e->candidate);
}

static int unforce(struct job *job, const struct row *row)
{
    return ncoll__group_force(job->world, row->collective, NULL, 0);
}

static struct options options_for(const struct point *p, double budget_s)
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
        .budget_s = budget_s,
        .type = NCOLL_INT64,
        .op = NCOLL_SUM,
        .collectives = 1u << p->collective,
        .validation = VALIDATE_NONE,
    };
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Where calls follow each other, batches have been timed as a whole; else they are the sum of their
 * calls, of each of which there is the longest time of any rank. The same on all ranks. */
static void sum_batches(const struct job *job, struct row *row)
{
    for (unsigned b = 0; b < row->calls / job->batch && !is_back_to_back(job, row); b++) {
        row->batch_ns[b] = 0;
        for (unsigned i = 0; i < job->batch; i++)
            row->batch_ns[b] += row->samples_ns[b * job->batch + i];
    }
}

/* A sign test: batches of one round, which were next to each other, are compared. By chance it
 * would be faster in half of the rounds, give or take the root of a quarter of their number; three
 * times that is asked for, as many are compared. Luck with the state of the machine is not such
 * chance, so that it has to be faster in every sweep. */
static bool is_faster(const struct candidate *c)
{
    return c->always_faster && c->won > c->rounds / 2.0 + 1.5 * sqrt(c->rounds);
}

/* Of a call, by the faster batches; 0: there is none. */
static double time_of(const struct job *job, const struct row *row)
{
    unsigned n = row->calls / job->batch < BATCHES ? row->calls / job->batch : BATCHES;
    uint64_t sorted[BATCHES];
    double sum = 0;

    if (n == 0)
        return 0;
    memcpy(sorted, row->batch_ns, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    unsigned from = n / 10, to = n * 4 / 10 > from ? n * 4 / 10 : from + 1;
    for (unsigned i = from; i < to; i++)
        sum += (double)sorted[i];
    return sum / (to - from) / 1e3 / job->batch;
}

/* With one more that comes after n. */
static double mean_with(double mean, unsigned n, double value)
{
    return (mean * n + value) / (n + 1);
}

/* Sweeps go to the two halves by turns; the first stands for both, until there is another. */
static void note_times(const struct job *job, const struct row *row, struct candidate *c)
{
    unsigned batches = row->calls / job->batch, half = c->sweeps % 2;
    double us = time_of(job, row), own_us = time_of(job, &job->rows[0]);

    if (us <= 0)
        return; /* no call of the row has ended */
    c->half_us[half] = mean_with(c->half_us[half], c->sweeps / 2, us);
    if (c->sweeps == 0)
        c->half_us[1] = us;
    c->us = mean_with(c->us, c->sweeps, us);
    c->sweeps++;
    c->always_faster &= own_us > KEEP_OWN * us;
    c->rounds += batches;
    for (unsigned b = 0; b < batches; b++)
        c->won += row->batch_ns[b] < job->rows[0].batch_ns[b];
}

/* The fastest of some. */
static unsigned fastest(const struct point *p, const bool *some, bool same_bits)
{
    unsigned best = CANDIDATES_MAX;

    for (unsigned i = 0; i < p->n; i++)
        if (some[i] && (!same_bits || p->candidates[i].same_bits) &&
            (best == CANDIDATES_MAX || p->candidates[i].us < p->candidates[best].us))
            best = i;
    return best;
}

/* The same, of those that are faster than the library's own choice, if there are any. */
static unsigned winner(const struct point *p, const bool *some, bool same_bits)
{
    bool faster[CANDIDATES_MAX];
    const struct candidate *own = &p->candidates[0];

    if (same_bits && !own->same_bits)
        return fastest(p, some, true);
    for (unsigned i = 0; i < p->n; i++)
        faster[i] = some[i] && is_faster(&p->candidates[i]);
    unsigned best = fastest(p, faster, same_bits);
    return best < CANDIDATES_MAX ? best : 0;
}

/* The fastest stay, as many as there are places, and what the library chooses; what was measured
 * before is forgotten, when others took turns with them. Before the first sweep all come in. */
void point_narrow(struct point *p, unsigned sweep)
{
    bool left[CANDIDATES_MAX], kept[CANDIDATES_MAX] = {false};
    unsigned i;

    if (sweep > 0 && places[sweep] == places[sweep - 1])
        return;
    for (i = 0; i < p->n; i++)
        left[i] = i != 0 && i != p->untuned && p->candidates[i].left && p->candidates[i].us > 0;
    kept[0] = kept[p->untuned] = true;
    for (unsigned same_bits = 0; same_bits < 2; same_bits++) {
        for (unsigned n = same_bits ? SAME_BITS_MAX : places[sweep];
             n > 0 && (i = fastest(p, left, same_bits)) < CANDIDATES_MAX; n--) {
            kept[i] = true;
            left[i] = false;
        }
        if (p->collective != COLL_ALLREDUCE)
            break;
    }
    for (i = 0; i < p->n; i++) {
        struct candidate *c = &p->candidates[i];
        c->left = sweep == 0 || kept[i];
        if (c->left) {
            c->us = c->half_us[0] = c->half_us[1] = 0;
            c->sweeps = c->rounds = c->won = 0;
            c->always_faster = true;
        }
    }
}

int point_measure(ncoll_context *ctx, struct point *p, double budget_s)
{
    struct entrant entrants[CANDIDATES_MAX];
    const struct subject *subjects[CANDIDATES_MAX + 1] = {NULL};
    struct options options = options_for(p, budget_s);
    ncoll_group *world = ncoll_world(ctx);
    struct job job = {.options = &options,
                      .subjects = subjects,
                      .ctx = ctx,
                      .world = world,
                      .rank = ncoll_group_rank(world),
                      .ranks = ncoll_group_size(world)};
    unsigned n = 0;

    for (unsigned i = 0; i < p->n; i++) {
        if (!p->candidates[i].left)
            continue;
        entrants[n] = (struct entrant){subject_ncoll, p->candidates[i], i};
        entrants[n].subject.begin = force;
        entrants[n].subject.end = unforce;
        entrants[n].subject.describe = NULL;
        subjects[n] = &entrants[n].subject;
        n++;
    }
    int status = plan_make(&job);
    if (status == NCOLL_OK)
        status = measure(&job);
    for (unsigned i = 0; status == NCOLL_OK && i < job.n_rows; i++)
        sum_batches(&job, &job.rows[i]);
    for (unsigned i = 0; status == NCOLL_OK && i < job.n_rows; i++) {
        const struct entrant *e = (const struct entrant *)job.rows[i].subject;
        note_times(&job, &job.rows[i], &p->candidates[e->place]); /* the first is the own choice */
    }
    plan_free(&job);
    return status;
}

void point_settle(struct point *p)
{
    bool left[CANDIDATES_MAX];

    for (unsigned i = 0; i < p->n; i++)
        left[i] = p->candidates[i].left && p->candidates[i].us > 0;
    p->best = winner(p, left, false);
    p->same_bits = p->collective == COLL_ALLREDUCE ? winner(p, left, true) : CANDIDATES_MAX;
}
