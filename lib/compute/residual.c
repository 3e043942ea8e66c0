/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes residuals, which are what a codec has lost: differences of vectors, for each type that
 * has a sum. */
#include <math.h>

#include "lib/compute/codec.h"
#include "lib/compute/half.h"
#include "lib/compute/kernels.h"
#include "lib/compute/op.h"

/* If an infinity stayed in a residual, the sums of all later calls would be infinite or NaN. */
#define DIFFERENCE(NAME, T, FROM, TO)                                                              \
    static void NAME(void *out, const void *left, const void *right, size_t count)                 \
    {                                                                                              \
        typedef T stored ANYWHERE;                                                                 \
        stored *o = out;                                                                           \
        const stored *l = left, *r = right;                                                        \
        INDEPENDENT for (size_t i = 0; i < count; i++)                                             \
        {                                                                                          \
            T d = (T)TO(FROM(l[i]) - FROM(r[i]));                                                  \
            o[i] = isfinite(FROM(d)) ? d : (T)0;                                                   \
        }                                                                                          \
    }

DIFFERENCE(of_float, float, , )
DIFFERENCE(of_double, double, , )
DIFFERENCE(of_half, uint16_t, half_to_float, float_to_half)
DIFFERENCE(of_bfloat16, uint16_t, bfloat16_to_float, float_to_bfloat16)

/* DIFFERENCE does not suit this type: a long double has padding, and is always aligned here. */
static void of_long_double(void *out, const void *left, const void *right, size_t count)
{
    long double *o = out;
    const long double *l = left, *r = right;

    for (size_t i = 0; i < count; i++) {
        long double d = l[i] - r[i];
        o[i] = isfinite(d) ? d : 0;
    }
}

bool ncoll__residual_has(ncoll_type type)
{
    struct op op;

    return ncoll__op_builtin(NCOLL_SUM, type, &op);
}

void ncoll__residual(void *residual, const void *sent, const void *decoded, size_t count,
                     ncoll_type type)
{
    switch (type) {
    case NCOLL_FLOAT:
    case NCOLL_COMPLEX_FLOAT:
        of_float(residual, sent, decoded, type == NCOLL_FLOAT ? count : 2 * count);
        return;
    case NCOLL_DOUBLE:
    case NCOLL_COMPLEX_DOUBLE:
        of_double(residual, sent, decoded, type == NCOLL_DOUBLE ? count : 2 * count);
        return;
    case NCOLL_HALF:
        of_half(residual, sent, decoded, count);
        return;
    case NCOLL_BFLOAT16:
        of_bfloat16(residual, sent, decoded, count);
        return;
    case NCOLL_LONG_DOUBLE:
        of_long_double(residual, sent, decoded, count);
        return;
    default:
        ncoll__kernels()->inverse[type][NCOLL_SUM](residual, sent, decoded, count, type, NULL);
    }
}
