/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/clock_model.h"

#include <math.h>

/* The largest drift that is assumed before it has been measured. Quartz clocks drift far less. */
#define DRIFT_AT_MOST 200e-6

struct clock_point clock_point_of(const struct probe *probes, unsigned n)
{
    const struct probe *best = &probes[0];

    for (unsigned i = 1; i < n; i++)
        if (probes[i].got - probes[i].sent + 2 * probes[i].error_ns <
            best->got - best->sent + 2 * best->error_ns)
            best = &probes[i];
    uint64_t way = best->got - best->sent, middle = best->sent + way / 2;
    return (struct clock_point){middle, (int64_t)(best->theirs - middle),
                                (way + 1) / 2 + best->error_ns};
}

/* Computes the drift from the oldest point and the latest one. If the offset has changed by less
 * than the errors of both points, the drift may be 0. */
static void fit_drift(struct clock_line *line)
{
    const struct clock_point *first = &line->first[line->oldest], *last = &line->last;
    double span = (double)(last->at - first->at);
    double change = (double)(last->offset_ns - first->offset_ns);
    double error = (double)(first->error_ns + last->error_ns);

    line->drift = 0;
    line->drift_error = DRIFT_AT_MOST;
    if (last->at - first->at < CLOCK_SPACING_NS)
        return;
    if (fabs(change) > error)
        line->drift = change / span;
    else
        error += fabs(change);
    line->drift_error = error / span;
}

void clock_line_add(struct clock_line *line, const struct clock_point *point)
{
    unsigned newest = (line->oldest + line->points - 1) % CLOCK_POINTS;

    if (line->points > 0 && clock_error_ns(line, point->at) < point->error_ns)
        return;
    if (line->points == 0 || point->at - line->first[newest].at >= CLOCK_SPACING_NS) {
        if (line->points == CLOCK_POINTS)
            line->oldest = (line->oldest + 1) % CLOCK_POINTS;
        else
            line->points++;
        line->first[(line->oldest + line->points - 1) % CLOCK_POINTS] = *point;
    }
    line->last = *point;
    fit_drift(line);
}

uint64_t clock_theirs(const struct clock_line *line, uint64_t own)
{
    double since = (double)(int64_t)(own - line->last.at);

    return own + (uint64_t)(line->last.offset_ns + llround(line->drift * since));
}

uint64_t clock_own(const struct clock_line *line, uint64_t theirs)
{
    double since = (double)(int64_t)(theirs - (uint64_t)line->last.offset_ns - line->last.at);

    return line->last.at + (uint64_t)llround(since / (1 + line->drift));
}

uint64_t clock_error_ns(const struct clock_line *line, uint64_t own)
{
    double since = fabs((double)(int64_t)(own - line->last.at));

    if (line->points == 0)
        return 0;
    return line->last.error_ns + (uint64_t)ceil(line->drift_error * since) + 1;
}
