/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/compare/ratio.h"

#include <stdlib.h>
#include <string.h>

#include "tools/bench/measure/mix.h"
#include "tools/bench/measure/stats.h"

#define DRAWS 1000 /* of these, the 25th and the 975th bound the 95 % interval */

/* A sample, and the unit of its row to which it belongs. */
struct sample {
    uint64_t ns;
    unsigned unit;
};

/* One of the two rows that are compared, and the units that are drawn from it. */
struct side {
    struct sample *sorted;
    size_t n;
    unsigned units;
    unsigned *times; /* number of times that each unit was drawn */
    size_t start;    /* the search for the median starts here, a little below that of all */
    size_t *before;  /* number of samples of each unit before `start` */
};

static int by_time(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;

    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Prepares a side. The units are batches, or calls if by_call is true. Returns false if there is no
 * memory. */
static bool side_open(struct side *s, const struct batches *from, bool by_call)
{
    s->n = (size_t)from->batches * from->calls;
    s->units = by_call ? (unsigned)s->n : from->batches;
    s->sorted = calloc(s->n + 1, sizeof *s->sorted);
    s->times = calloc(s->units + 1, sizeof *s->times);
    s->before = calloc(s->units + 1, sizeof *s->before);
    if (s->n == 0 || s->sorted == NULL || s->times == NULL || s->before == NULL)
        return false;
    for (size_t i = 0; i < s->n; i++)
        s->sorted[i] = (struct sample){from->samples_ns[i],
                                       by_call ? (unsigned)i : (unsigned)(i / from->calls)};
    qsort(s->sorted, s->n, sizeof *s->sorted, by_time);
    for (s->start = 0; s->start < s->n / 100 * 45; s->start++)
        s->before[s->sorted[s->start].unit]++;
    return true;
}

static void side_close(struct side *s)
{
    free(s->before);
    free(s->times);
    free(s->sorted);
}

static double median_of_all(const struct side *s)
{
    return (double)s->sorted[(s->n - 1) / 2].ns;
}

/* Returns the median of the drawn units. All units have one size, and as many are drawn as
 * exist. */
static double median_of_drawn(const struct side *s)
{
    size_t i = s->start, seen = 0, half = (s->n + 1) / 2;

    for (unsigned u = 0; u < s->units; u++)
        seen += s->times[u] * s->before[u];
    if (seen >= half) /* it is before the start */
        i = seen = 0;
    for (seen += s->times[s->sorted[i].unit]; seen < half;)
        seen += s->times[s->sorted[++i].unit];
    return (double)s->sorted[i].ns;
}

static void draw(struct side *s, uint64_t *stream)
{
    memset(s->times, 0, s->units * sizeof *s->times);
    for (unsigned u = 0; u < s->units; u++)
        s->times[mix_below(stream, s->units)]++;
}

/* Fills in drawn[DRAWS], sorted. False: a median was 0. */
static bool draw_ratios(struct side *a, struct side *b, bool together, uint64_t seed, double *drawn)
{
    uint64_t stream = mix(seed);

    for (unsigned d = 0; d < DRAWS; d++) {
        draw(a, &stream);
        if (together)
            memcpy(b->times, a->times, a->units * sizeof *a->times);
        else
            draw(b, &stream);
        double below = median_of_drawn(b);
        if (below <= 0)
            return false;
        drawn[d] = median_of_drawn(a) / below;
    }
    stats_sort_reals(drawn, DRAWS);
    return true;
}

bool ratio_of_medians(const struct batches *a, const struct batches *b, uint64_t seed,
                      struct ratio *out)
{
    bool by_call = a->batches <= 1 || b->batches <= 1;
    bool together = !by_call && a->batches == b->batches;
    double drawn[DRAWS];
    struct side above = {0}, below = {0};
    bool ok = side_open(&above, a, by_call) && side_open(&below, b, by_call) &&
              draw_ratios(&above, &below, together, seed, drawn);

    if (ok)
        *out = (struct ratio){median_of_all(&above) / median_of_all(&below), drawn[DRAWS / 40 - 1],
                              drawn[DRAWS - DRAWS / 40]};
    side_close(&above);
    side_close(&below);
    return ok;
}
