/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/nearest.h"

#include <stdbool.h>
#include <string.h>

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned ncoll__distance(const char *a, const char *b)
{
    unsigned rows[3][NEAREST_BYTES] = {0};
    unsigned *two_above = rows[0], *above = rows[1], *row = rows[2], *last;
    size_t m = strnlen(b, NEAREST_BYTES - 1);

    for (unsigned j = 0; j <= m; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        last = two_above, two_above = above, above = row, row = last;
        row[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            bool same = a[i - 1] == b[j - 1];
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return row[m];
}

unsigned ncoll__distance_too_large(unsigned letters)
{
    unsigned third = letters / 3;

    return third > 1 ? third + 1 : 2;
}
