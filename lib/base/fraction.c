/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/fraction.h"

#include <math.h>
#include <stdbool.h>

/* Returns true if k / n >= fraction, calculated in double as in a program that writes 0.07 for 7 of
 * 100. */
static bool reaches(size_t k, size_t n, double fraction)
{
    return (double)k / (double)n >= fraction;
}

size_t ncoll__threshold_of(double fraction, size_t n)
{
    double product = ceil(fraction * (double)n);
    size_t k = product >= (double)n ? n : (size_t)product;

    if (n == 0 || fraction == 0 || fraction == 1)
        return fraction == 1 ? n : 0;
    while (k > 0 && reaches(k - 1, n, fraction))
        k--;
    while (k < n && !reaches(k, n, fraction))
        k++;
    return k;
}
