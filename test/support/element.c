/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/element.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum element_kind element_kind(ncoll_type type)
{
    if (type == 0 || type > NCOLL_DOUBLE_INT64)
        return ELEMENT_USER;
    if (type <= NCOLL_UINT64)
        return ELEMENT_INTEGER;
    if (type <= NCOLL_BFLOAT16)
        return ELEMENT_FLOAT;
    return type <= NCOLL_COMPLEX_DOUBLE ? ELEMENT_COMPLEX : ELEMENT_PAIR;
}

ncoll_type element_part(ncoll_type type)
{
    switch (type) {
    case NCOLL_COMPLEX_FLOAT:
    case NCOLL_FLOAT_INT32:
        return NCOLL_FLOAT;
    case NCOLL_COMPLEX_DOUBLE:
    case NCOLL_DOUBLE_INT32:
    case NCOLL_DOUBLE_INT64:
        return NCOLL_DOUBLE;
    case NCOLL_INT32_INT32:
        return NCOLL_INT32;
    case NCOLL_INT64_INT64:
        return NCOLL_INT64;
    default:
        return type;
    }
}

bool element_rounds(ncoll_type type)
{
    return element_kind(type) == ELEMENT_FLOAT || element_kind(type) == ELEMENT_COMPLEX;
}

long double element_epsilon(ncoll_type type)
{
    switch (element_part(type)) {
    case NCOLL_FLOAT:
        return (long double)FLT_EPSILON;
    case NCOLL_DOUBLE:
        return (long double)DBL_EPSILON;
    case NCOLL_LONG_DOUBLE:
        return LDBL_EPSILON;
    case NCOLL_HALF:
        return 0x1p-10L;
    case NCOLL_BFLOAT16:
        return 0x1p-7L;
    default:
        abort();
    }
}

/* ------------------------------------------------------------------ integers ----------------- */

wide load_integer(ncoll_type type, const void *vector, size_t i)
{
    switch (type) {
    case NCOLL_INT8:
        return ((const int8_t *)vector)[i];
    case NCOLL_INT16:
        return ((const int16_t *)vector)[i];
    case NCOLL_INT32:
        return ((const int32_t *)vector)[i];
    case NCOLL_INT64:
        return ((const int64_t *)vector)[i];
    case NCOLL_UINT8:
        return ((const uint8_t *)vector)[i];
    case NCOLL_UINT16:
        return ((const uint16_t *)vector)[i];
    case NCOLL_UINT32:
        return ((const uint32_t *)vector)[i];
    case NCOLL_UINT64:
        return ((const uint64_t *)vector)[i];
    default:
        abort();
    }
}

void store_integer(ncoll_type type, void *vector, size_t i, wide value)
{
    switch (ncoll_type_size(type)) {
    case 1:
        ((uint8_t *)vector)[i] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)vector)[i] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)vector)[i] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)vector)[i] = (uint64_t)value;
    }
}

/* ------------------------------------------------------------------ floats ------------------- */

/* Layout of the two short formats; the sign comes first, the bias is 1 - least. */
struct format {
    int fraction; /* bits */
    int least;    /* exponent of the least normal number */
    int greatest; /* exponent of the greatest */
};

static const struct format *format_of(ncoll_type type)
{
    static const struct format half = {10, -14, 15}, bfloat16 = {7, -126, 127};
    return type == NCOLL_HALF ? &half : &bfloat16;
}

static long double decode(const struct format *f, uint16_t bits)
{
    int exponent = (bits & 0x7fff) >> f->fraction, all_ones = (1 << (15 - f->fraction)) - 1;
    long double fraction = bits & ((1 << f->fraction) - 1);
    long double sign = bits & 0x8000 ? -1 : 1;

    if (exponent == all_ones)
        return sign * (fraction != 0 ? (long double)NAN : (long double)INFINITY);
    if (exponent == 0)
        return sign * ldexpl(fraction, f->least - f->fraction);
    return sign * ldexpl(1 + ldexpl(fraction, -f->fraction), f->least + exponent - 1);
}

static uint16_t encode(const struct format *f, long double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(((1 << (15 - f->fraction)) - 1) << f->fraction);
    long double magnitude = fabsl(value);
    int exponent;

    if (isnan(value))
        return (uint16_t)(infinity | 1 << (f->fraction - 1));
    if (isinf(value))
        return sign | infinity;
    frexpl(magnitude, &exponent);
    exponent = magnitude == 0 || exponent - 1 < f->least ? f->least : exponent - 1;
    /* in units of the last place, to the nearest even; may carry into the next exponent */
    long double units = rintl(ldexpl(magnitude, f->fraction - exponent));
    if (ldexpl(units, exponent - f->fraction) >= ldexpl(1, f->greatest + 1))
        return sign | infinity;
    return (uint16_t)(sign | (((exponent - f->least) << f->fraction) + (int)units));
}

long double load_float(ncoll_type type, const void *vector, size_t i)
{
    switch (type) {
    case NCOLL_FLOAT:
        return (long double)((const float *)vector)[i];
    case NCOLL_DOUBLE:
        return (long double)((const double *)vector)[i];
    case NCOLL_LONG_DOUBLE:
        return ((const long double *)vector)[i];
    case NCOLL_HALF:
    case NCOLL_BFLOAT16:
        return decode(format_of(type), ((const uint16_t *)vector)[i]);
    default:
        abort();
    }
}

void store_float(ncoll_type type, void *vector, size_t i, long double value)
{
    size_t len = LDBL_MANT_DIG == 64 ? 10 : sizeof value; /* the rest is padding */

    if (isnan(value))
        value = (long double)NAN;
    switch (type) {
    case NCOLL_FLOAT:
        ((float *)vector)[i] = (float)value;
        break;
    case NCOLL_DOUBLE:
        ((double *)vector)[i] = (double)value;
        break;
    case NCOLL_LONG_DOUBLE:
        memset((long double *)vector + i, 0, sizeof value);
        memcpy((long double *)vector + i, &value, len);
        break;
    case NCOLL_HALF:
    case NCOLL_BFLOAT16:
        ((uint16_t *)vector)[i] = encode(format_of(type), value);
        break;
    default:
        abort();
    }
}

/* ------------------------------------------------------------------ pairs -------------------- */

struct pair load_pair(ncoll_type type, const void *vector, size_t i)
{
    switch (type) {
    case NCOLL_INT32_INT32: {
        const ncoll_int32_int32 *p = vector;
        return (struct pair){.integer = p[i].value, .index = p[i].index};
    }
    case NCOLL_INT64_INT64: {
        const ncoll_int64_int64 *p = vector;
        return (struct pair){.integer = p[i].value, .index = p[i].index};
    }
    case NCOLL_FLOAT_INT32: {
        const ncoll_float_int32 *p = vector;
        return (struct pair){.floated = (long double)p[i].value, .index = p[i].index};
    }
    case NCOLL_DOUBLE_INT32: {
        const ncoll_double_int32 *p = vector;
        return (struct pair){.floated = (long double)p[i].value, .index = p[i].index};
    }
    case NCOLL_DOUBLE_INT64: {
        const ncoll_double_int64 *p = vector;
        return (struct pair){.floated = (long double)p[i].value, .index = p[i].index};
    }
    default:
        abort();
    }
}

void store_pair(ncoll_type type, void *vector, size_t i, struct pair pair)
{
    int32_t index = (int32_t)pair.index;

    switch (type) {
    case NCOLL_INT32_INT32:
        ((ncoll_int32_int32 *)vector)[i] = (ncoll_int32_int32){(int32_t)pair.integer, index};
        break;
    case NCOLL_INT64_INT64:
        ((ncoll_int64_int64 *)vector)[i] = (ncoll_int64_int64){(int64_t)pair.integer, pair.index};
        break;
    case NCOLL_FLOAT_INT32:
        ((ncoll_float_int32 *)vector)[i] = (ncoll_float_int32){(float)pair.floated, index};
        break;
    case NCOLL_DOUBLE_INT32:
        ((ncoll_double_int32 *)vector)[i] = (ncoll_double_int32){(double)pair.floated, index, 0};
        break;
    case NCOLL_DOUBLE_INT64:
        ((ncoll_double_int64 *)vector)[i] = (ncoll_double_int64){(double)pair.floated, pair.index};
        break;
    default:
        abort();
    }
}
