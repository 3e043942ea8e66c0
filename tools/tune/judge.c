/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges candidates by their measured times. Two candidates that were measured in the same sweep
 * met the same state of the machine, and are compared by the ratio of their times. This ratio
 * differs more from sweep to sweep than from batch to batch of one sweep: the place of memory, and
 * the ranks that share a core, are the luck of a process. The expectation for the next process is
 * the mean over sweeps of the logarithm, without a tenth of the sweeps at either end, in which one
 * of the two was disturbed.
 *
 * The fastest of many candidates was also lucky. So the sweeps are divided into two halves. In each
 * half a candidate is compared with the one that is the fastest in the other half.
 */
#include <math.h>

#include "tools/bench/measure/stats.h"
#include "tools/tune/tune.h"

#define KEEP_OWN 0.01 /* the library's own choice stays unless another is better by this factor */
#define DOUBTS   1.0  /* and by this number of standard errors */
#define TAIL     0.1  /* of the sweeps, at either end */

/* Returns the mean without the tails; sweeps at their borders count in part. Sorts the values. */
static double trimmed_mean(double *values, unsigned n)
{
    double from = n * TAIL, to = n - from, sum = 0;

    stats_sort_reals(values, n);
    for (unsigned i = 0; i < n; i++)
        sum += values[i] * fmax(0, fmin(to, i + 1.0) - fmax(from, i));
    return n > 0 ? sum / (to - from) : 0;
}

/* Returns the standard error of that mean, from sorted values; values in the tails count as if they
 * were at their borders. */
static double doubt(const double *values, unsigned n)
{
    unsigned tail = (unsigned)(n * TAIL);
    double sum = 0, squares = 0;

    for (unsigned i = 0; i < n; i++) {
        double v = values[i < tail ? tail : i >= n - tail ? n - 1 - tail : i];
        sum += v;
        squares += v * v;
    }
    return n > 1 ? sqrt(fmax(squares - sum * sum / n, 0) / (n - 1) / n) / (1 - 2 * TAIL) : 0;
}

/* Computes the logarithms of the ratios in all sweeps. Returns their number. */
static unsigned factors_of(const struct point *p, unsigned candidate, unsigned other,
                           enum half half, double factors[SWEEPS_MAX])
{
    const struct candidate *a = &p->candidates[candidate], *b = &p->candidates[other];
    bool both = half == HALF_BOTH || p->sweeps < 2;
    unsigned n = 0;

    for (unsigned s = both ? 0 : half; s < p->sweeps; s += both ? 1 : 2)
        factors[n++] = log(a->sweep_us[s] / b->sweep_us[s]);
    return n;
}

double candidate_ratio(const struct point *p, unsigned candidate, unsigned other, enum half half)
{
    double factors[SWEEPS_MAX];

    return exp(trimmed_mean(factors, factors_of(p, candidate, other, half, factors)));
}

/* Times of other candidates are the library's own choice times the ratio. */
double candidate_us(const struct point *p, unsigned candidate)
{
    double own[SWEEPS_MAX];

    if (p->sweeps == 0 || !p->candidates[candidate].left)
        return 0;
    for (unsigned s = 0; s < p->sweeps; s++)
        own[s] = log(p->candidates[0].sweep_us[s]);
    return exp(trimmed_mean(own, p->sweeps)) * candidate_ratio(p, candidate, 0, HALF_BOTH);
}

unsigned point_fastest(const struct point *p, const bool *some, bool same_bits, enum half half)
{
    unsigned best = CANDIDATES_MAX;
    double least = 0;

    for (unsigned i = 0; i < p->n && p->sweeps > 0; i++) {
        if (!some[i] || (same_bits && !p->candidates[i].same_bits))
            continue;
        double ratio = candidate_ratio(p, i, 0, half);
        if (best < CANDIDATES_MAX && ratio >= least)
            continue;
        best = i;
        least = ratio;
    }
    return best;
}

/* True if it is faster than the library's own choice by more than the doubt of the measurement. */
static bool is_faster(const struct point *p, unsigned candidate)
{
    double gains[SWEEPS_MAX];
    unsigned n = factors_of(p, 0, candidate, HALF_BOTH, gains);
    double gain = trimmed_mean(gains, n);

    return n > 0 && gain > log(1 + KEEP_OWN) && gain > DOUBTS * doubt(gains, n);
}

/* Returns the fastest of the candidates that are faster than the library's own choice, if there are
 * any. */
static unsigned winner(const struct point *p, bool same_bits)
{
    bool some[CANDIDATES_MAX];
    bool own = !same_bits || p->candidates[0].same_bits;

    for (unsigned i = 0; i < p->n; i++)
        some[i] = p->candidates[i].left && (!own || is_faster(p, i));
    unsigned best = point_fastest(p, some, same_bits, HALF_BOTH);
    return best < CANDIDATES_MAX || !own ? best : 0;
}

void point_settle(struct point *p)
{
    p->best = winner(p, false);
    p->same_bits = p->collective == COLL_ALLREDUCE ? winner(p, true) : CANDIDATES_MAX;
}

double point_ratio(const struct point *p, unsigned candidate)
{
    bool left[CANDIDATES_MAX];
    double product = 1;

    for (unsigned i = 0; i < p->n; i++)
        left[i] = p->candidates[i].left;
    for (unsigned h = HALF_FIRST; h < HALF_BOTH; h++) {
        unsigned best = point_fastest(p, left, false, HALF_FIRST + HALF_SECOND - h);
        if (best < CANDIDATES_MAX)
            product *= candidate_ratio(p, candidate, best, h);
    }
    return sqrt(product);
}
