/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/timeline/clocks.h"

#include <stdlib.h>

#define NO_MESSAGE INT64_MAX
/* Errors of clocks that are connected in one direction, or not at all: worse than all others. */
#define ONE_WAY     (INT64_MAX / 4)
#define UNCONNECTED (INT64_MAX / 2)

/* The least delay of messages from each clock to each other. */
struct delays {
    int64_t *least;
    unsigned n_clocks;
};

static int64_t delay(const struct delays *d, unsigned from, unsigned to)
{
    return d->least[(size_t)from * d->n_clocks + to];
}

/* Estimates the offset of clock `to` from clock `from`. */
static struct clock_offset estimate(const struct delays *d, unsigned from, unsigned to)
{
    int64_t forth = delay(d, from, to), back = delay(d, to, from);

    if (forth == NO_MESSAGE && back == NO_MESSAGE)
        return (struct clock_offset){0, UNCONNECTED};
    if (forth == NO_MESSAGE)
        return (struct clock_offset){-back, ONE_WAY};
    if (back == NO_MESSAGE)
        return (struct clock_offset){forth, ONE_WAY};
    int64_t error = (forth + back) / 2;
    return (struct clock_offset){(forth - back) / 2, error < 0 ? 0 : error};
}

static int64_t sum(int64_t a, int64_t b)
{
    return a > UNCONNECTED - b ? UNCONNECTED : a + b;
}

/* Dijkstra's algorithm over errors. */
static void find_offsets(const struct delays *d, bool *done, struct clock_offset *out)
{
    for (unsigned i = 0; i < d->n_clocks; i++)
        out[i] = (struct clock_offset){0, i == 0 ? 0 : UNCONNECTED};
    for (unsigned round = 0; round < d->n_clocks; round++) {
        unsigned best = d->n_clocks;
        for (unsigned i = 0; i < d->n_clocks; i++)
            if (!done[i] && (best == d->n_clocks || out[i].error_ns < out[best].error_ns))
                best = i;
        done[best] = true;
        for (unsigned i = 0; i < d->n_clocks; i++) {
            struct clock_offset step = estimate(d, best, i);
            int64_t error = sum(out[best].error_ns, step.error_ns);
            if (!done[i] && error < out[i].error_ns)
                out[i] = (struct clock_offset){out[best].offset_ns + step.offset_ns, error};
        }
    }
    for (unsigned i = 0; i < d->n_clocks; i++)
        out[i].error_ns = out[i].error_ns >= ONE_WAY ? -1 : out[i].error_ns;
}

bool clocks_estimate(const struct clock_message *messages, size_t n, unsigned n_clocks,
                     struct clock_offset *out)
{
    size_t pairs = (size_t)n_clocks * n_clocks;
    struct delays d = {calloc(pairs, sizeof *d.least), n_clocks};
    bool *done = calloc(n_clocks, sizeof *done), has_room = d.least != NULL && done != NULL;

    for (size_t i = 0; i < pairs && has_room; i++)
        d.least[i] = NO_MESSAGE;
    for (size_t i = 0; i < n && has_room; i++) {
        int64_t *least = &d.least[(size_t)messages[i].from * n_clocks + messages[i].to];
        *least = messages[i].delay_ns < *least ? messages[i].delay_ns : *least;
    }
    if (has_room)
        find_offsets(&d, done, out);
    free(d.least);
    free(done);
    return has_room;
}
