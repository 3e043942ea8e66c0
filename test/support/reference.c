/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 wide;

static bool is_float(ncoll_type type)
{
    return type == NCOLL_FLOAT || type == NCOLL_DOUBLE;
}

/* ------------------------------------------------------------------ elements ----------------- */

static wide load_integer(ncoll_type type, const void *vector, size_t i)
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

/* Keeps the low bits, whatever the sign. */
static void store_integer(ncoll_type type, void *vector, size_t i, wide value)
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

static double load_float(ncoll_type type, const void *vector, size_t i)
{
    return type == NCOLL_FLOAT ? (double)((const float *)vector)[i] : ((const double *)vector)[i];
}

static void store_float(ncoll_type type, void *vector, size_t i, double value)
{
    if (type == NCOLL_FLOAT)
        ((float *)vector)[i] = (float)value;
    else
        ((double *)vector)[i] = value;
}

/* ------------------------------------------------------------------ operations --------------- */

static wide combine_integers(ncoll_op op, wide a, wide b)
{
    switch (op) {
    case NCOLL_SUM:
        return a + b;
    case NCOLL_PROD: /* modulo 2^128; only the low bits are kept */
        return (wide)((unsigned __int128)a * (unsigned __int128)b);
    case NCOLL_MIN:
        return a < b ? a : b;
    case NCOLL_MAX:
        return a > b ? a : b;
    case NCOLL_LAND:
        return a && b;
    case NCOLL_LOR:
        return a || b;
    case NCOLL_LXOR:
        return !a != !b;
    case NCOLL_BAND:
        return a & b;
    case NCOLL_BOR:
        return a | b;
    case NCOLL_BXOR:
        return a ^ b;
    default:
        abort();
    }
}

static double pick_float(ncoll_op op, double a, double b)
{
    if (isnan(a) || isnan(b))
        return (double)NAN;
    if (a == b) /* differ in the sign of zero at most */
        return (op == NCOLL_MIN) == (signbit(a) != 0) ? a : b;
    return (op == NCOLL_MIN) == (a < b) ? a : b;
}

static void add_rounding(struct reference *ref, const void *vector)
{
    const struct operation *operation = ref->operation;
    bool product = operation->op == NCOLL_PROD;

    for (size_t i = 0; i < ref->count; i++) {
        long double x = load_float(operation->type, vector, i);
        if (ref->ranks == 0) {
            ref->value[i] = x;
            ref->magnitude[i] = fabsl(x);
        } else if (product) {
            ref->value[i] *= x;
            ref->magnitude[i] *= fabsl(x);
        } else {
            ref->value[i] += x;
            ref->magnitude[i] += fabsl(x);
        }
    }
}

static void add_exact(struct reference *ref, const void *vector)
{
    const struct operation *operation = ref->operation;
    ncoll_type type = operation->type;
    void *exact = ref->exact;

    if (ref->ranks == 0)
        memcpy(exact, vector, ref->count * ncoll_type_size(type));
    else if (operation->def != NULL)
        operation->def->combine(exact, exact, vector, ref->count, type, operation->def->arg);
    else if (is_float(type))
        for (size_t i = 0; i < ref->count; i++)
            store_float(
                type, exact, i,
                pick_float(operation->op, load_float(type, exact, i), load_float(type, vector, i)));
    else
        for (size_t i = 0; i < ref->count; i++)
            store_integer(type, exact, i,
                          combine_integers(operation->op, load_integer(type, exact, i),
                                           load_integer(type, vector, i)));
}

/* ------------------------------------------------------------------ a reference -------------- */

unsigned reference_operations(struct operation *out, unsigned capacity)
{
    static const char *const names[] = {"",    "sum",  "prod", "min", "max", "land",
                                        "lor", "lxor", "band", "bor", "bxor"};
    unsigned n = 0;

    for (unsigned type = NCOLL_INT8; type <= NCOLL_DOUBLE; type++)
        for (unsigned op = NCOLL_SUM; op <= (is_float(type) ? NCOLL_MAX : NCOLL_BXOR); op++, n++)
            if (n < capacity)
                out[n] = (struct operation){.name = names[op],
                                            .type = type,
                                            .op = op,
                                            .rounds = is_float(type) && op <= NCOLL_PROD};
    return n;
}

void reference_open(struct reference *ref, const struct operation *operation, size_t count)
{
    *ref = (struct reference){.operation = operation, .count = count};
    if (operation->rounds) {
        ref->value = calloc(count, sizeof *ref->value);
        ref->magnitude = calloc(count, sizeof *ref->magnitude);
    } else {
        ref->exact = calloc(count, ncoll_type_size(operation->type));
    }
    if (operation->rounds ? !ref->value || !ref->magnitude : !ref->exact)
        abort();
}

void reference_close(struct reference *ref)
{
    free(ref->exact);
    free(ref->value);
    free(ref->magnitude);
}

void reference_add(struct reference *ref, const void *vector)
{
    if (ref->operation->rounds)
        add_rounding(ref, vector);
    else
        add_exact(ref, vector);
    ref->ranks++;
}

static size_t wrong_bits(const struct reference *ref, const void *result)
{
    size_t size = ncoll_type_size(ref->operation->type), i = 0;

    if (memcmp(ref->exact, result, ref->count * size) == 0)
        return ref->count;
    while (memcmp(ref->exact + i * size, (const char *)result + i * size, size) == 0)
        i++;
    return i;
}

size_t reference_wrong(const struct reference *ref, const void *result)
{
    ncoll_type type = ref->operation->type;
    long double epsilon = type == NCOLL_FLOAT ? (long double)FLT_EPSILON : (long double)DBL_EPSILON;
    size_t i = 0;

    if (!ref->operation->rounds)
        return wrong_bits(ref, result);
    for (; i < ref->count; i++) {
        long double error = fabsl((long double)load_float(type, result, i) - ref->value[i]);
        if (!(error <= ref->magnitude[i] * epsilon * (ref->ranks - 1)))
            break;
    }
    return i;
}

/* ------------------------------------------------------------------ values ------------------- */

static double float_value(ncoll_op op, uint64_t bits)
{
    double fraction = (double)(bits >> 12) * 0x1p-52; /* 0..1 */
    double sign = bits & 1 ? -1 : 1;

    if (op == NCOLL_PROD) /* the product of 16 of these neither overflows nor gets subnormal */
        return sign * (0.5 + fraction);
    if (op != NCOLL_MIN && op != NCOLL_MAX)
        return sign * ldexp(fraction, (int)(bits >> 1 & 7));
    switch (bits >> 1 & 63) {
    case 0:
        return sign * (double)NAN;
    case 1:
        return sign * (double)INFINITY;
    case 2 ... 15:
        return sign * 0.0;
    default:
        return sign * (double)(bits >> 8 & 7); /* ties are frequent */
    }
}

static wide integer_value(ncoll_op op, uint64_t bits)
{
    switch (op) {
    case NCOLL_PROD: /* odd ones mostly, or the product would soon be 0 */
        return (wide)(bits % 16 == 0 ? bits : bits | 1);
    case NCOLL_LAND:
        return bits % 8 == 0 ? 0 : (wide)(bits >> 3);
    case NCOLL_LOR:
        return bits % 8 != 0 ? 0 : (wide)(bits >> 3);
    case NCOLL_LXOR:
        return bits % 2 == 0 ? 0 : (wide)(bits >> 3);
    case NCOLL_BAND:
        return (wide)(bits | bits << 21 | bits >> 17);
    case NCOLL_BOR:
        return (wide)(bits & bits << 21 & bits >> 17);
    default:
        return (wide)bits;
    }
}

void reference_values(const struct operation *operation, void *vector, size_t count,
                      struct random random)
{
    ncoll_type type = operation->type;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_next(&random);
        if (is_float(type))
            store_float(type, vector, i, float_value(operation->op, bits));
        else
            store_integer(type, vector, i,
                          operation->value != NULL ? (wide)operation->value(bits)
                                                   : integer_value(operation->op, bits));
    }
}
