/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "tools/plot/plot.h"

#define TICKS_MAX 9
#define SIZES_MAX 12 /* ticks of sizes, which are short */
#define STEPS     20

/* The value, `between`, and the largest of n units of which there is at least one. */
static const char *scaled(double value, double step, const char *between, const char *const *units,
                          unsigned n, char *text, size_t size)
{
    unsigned u = 0;

    while (u + 1 < n && value >= step) {
        value /= step;
        u++;
    }
    snprintf(text, size, "%.3g%s%s", value, between, units[u]);
    return text;
}

const char *unit_text(enum unit unit, double value, char *text, size_t size)
{
    static const char *const bytes[] = {"", "K", "M", "G", "T"};
    static const char *const times[] = {"ns", "µs", "ms", "s"};
    static const char *const rates[] = {"MB/s", "GB/s", "TB/s"};

    switch (unit) {
    case UNIT_BYTES:
        return scaled(value, 1024, "", bytes, 5, text, size);
    case UNIT_TIME:
        /* What is a nanosecond short of a microsecond by rounding is one. */
        return scaled(value * 1e3 * (1 + 1e-9), 1000, " ", times, 4, text, size);
    case UNIT_RATE:
        return scaled(value * (1 + 1e-9), 1000, " ", rates, 3, text, size);
    default:
        snprintf(text, size, "%.4g", value);
        return text;
    }
}

/* Powers of two; each, or every second or third, so that there are not too many. */
static unsigned binary_ticks(double low, double high, int most, double *ticks)
{
    int first = (int)ceil(log2(low) - 1e-9), last = (int)floor(log2(high) + 1e-9);
    int step = (last - first) / most + 1;
    unsigned n = 0;

    for (int e = first; e <= last; e += step)
        ticks[n++] = ldexp(1, e);
    return n;
}

/* All whole numbers, as long as they are not too many. */
static unsigned rank_ticks(double low, double high, double *ticks)
{
    unsigned n = 0;

    if (floor(high) - ceil(low) >= TICKS_MAX)
        return binary_ticks(low, high, TICKS_MAX, ticks);
    for (double tick = ceil(low); tick <= high; tick++)
        ticks[n++] = tick;
    return n;
}

/* Decades and steps of equal looks within them: the finest that are not too many. */
static unsigned decimal_ticks(double low, double high, double *ticks)
{
    static const double steps[][STEPS] = {
        {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9},
        {1, 1.2, 1.4, 1.6, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
        {1, 1.5, 2, 3, 4, 5, 7},
        {1, 2, 5},
        {1, 3},
        {1},
    };
    unsigned n = 0;

    for (unsigned s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        n = 0;
        for (int e = (int)floor(log10(low)); e <= (int)ceil(log10(high)); e++)
            for (unsigned i = 0; i < STEPS && steps[s][i] > 0; i++) {
                double tick = steps[s][i] * pow(10, e);
                if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9) && n <= TICKS_MAX)
                    ticks[n++] = tick;
            }
        if (n <= TICKS_MAX)
            break;
    }
    return n;
}

void axis_print_ticks(FILE *out, const char *axis, enum unit unit, double low, double high)
{
    double ticks[SIZES_MAX + 2];
    char text[32];
    unsigned n = unit == UNIT_BYTES   ? binary_ticks(low, high, SIZES_MAX, ticks)
                 : unit == UNIT_RANKS ? rank_ticks(low, high, ticks)
                                      : decimal_ticks(low, high, ticks);

    fprintf(out, "set %stics (", axis);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "%s'%s' %.9g", i > 0 ? ", " : "", unit_text(unit, ticks[i], text, sizeof text),
                ticks[i]);
    fprintf(out, ")\n");
}
