/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/element.h"

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

static long double pick_float(bool least, long double a, long double b)
{
    if (isnan(a) || isnan(b))
        return (long double)NAN;
    if (a == b) /* differ in the sign of zero at most */
        return least == (signbit(a) != 0) ? a : b;
    return least == (a < b) ? a : b;
}

static bool same_float(long double a, long double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

/* The value is found first, then who has it. */
static struct pair pick_pair(ncoll_type type, bool least, struct pair a, struct pair b)
{
    struct pair out;
    bool a_has, b_has;

    if (element_kind(element_part(type)) == ELEMENT_INTEGER) {
        out = (least ? a.integer < b.integer : a.integer > b.integer) ? a : b;
        a_has = a.integer == out.integer;
        b_has = b.integer == out.integer;
    } else {
        out.floated = pick_float(least, a.floated, b.floated);
        a_has = same_float(a.floated, out.floated);
        b_has = same_float(b.floated, out.floated);
    }
    out.index = a_has && (!b_has || a.index < b.index) ? a.index : b.index;
    return out;
}

static void combine_exact(const struct operation *o, void *exact, const void *vector, size_t i)
{
    bool least = o->op == NCOLL_MIN || o->op == NCOLL_MINLOC;

    switch (element_kind(o->type)) {
    case ELEMENT_INTEGER:
        store_integer(o->type, exact, i,
                      combine_integers(o->op, load_integer(o->type, exact, i),
                                       load_integer(o->type, vector, i)));
        break;
    case ELEMENT_FLOAT:
        store_float(
            o->type, exact, i,
            pick_float(least, load_float(o->type, exact, i), load_float(o->type, vector, i)));
        break;
    case ELEMENT_PAIR:
        store_pair(
            o->type, exact, i,
            pick_pair(o->type, least, load_pair(o->type, exact, i), load_pair(o->type, vector, i)));
        break;
    default:
        abort();
    }
}

static void add_exact(struct reference *ref, const void *vector)
{
    const struct operation *o = ref->operation;

    if (ref->ranks == 0)
        memcpy(ref->exact, vector, ref->count * o->size);
    else if (o->def != NULL)
        o->def->combine(ref->exact, ref->exact, vector, ref->count, o->type, o->def->arg);
    else
        for (size_t i = 0; i < ref->count; i++)
            combine_exact(o, ref->exact, vector, i);
}

/* ------------------------------------------------------------------ those that round --------- */

static unsigned parts(const struct operation *operation)
{
    return element_kind(operation->type) == ELEMENT_COMPLEX ? 2 : 1;
}

static void multiply_complex(long double *z, long double *magnitude, const long double *x)
{
    long double re = z[0] * x[0] - z[1] * x[1], im = z[0] * x[1] + z[1] * x[0];

    z[0] = re;
    z[1] = im;
    /* each part rounds three times, none of which exceeds this */
    magnitude[0] = magnitude[1] *= 2 * hypotl(x[0], x[1]);
}

static void add_rounding(struct reference *ref, const void *vector)
{
    const struct operation *operation = ref->operation;
    bool product = operation->op == NCOLL_PROD;
    unsigned n = parts(operation);

    for (size_t i = 0; i < ref->count * n; i += n) {
        long double x[2], *value = ref->value + i, *magnitude = ref->magnitude + i;
        for (unsigned part = 0; part < n; part++)
            x[part] = load_float(element_part(operation->type), vector, i + part);
        if (product && n == 2 && ref->ranks > 0) {
            multiply_complex(value, magnitude, x);
            continue;
        }
        for (unsigned part = 0; part < n; part++) {
            bool first = ref->ranks == 0;
            value[part] = first ? x[part] : product ? value[part] * x[part] : value[part] + x[part];
            magnitude[part] = first     ? fabsl(x[part])
                              : product ? magnitude[part] * fabsl(x[part])
                                        : magnitude[part] + fabsl(x[part]);
        }
        if (product && n == 2)
            magnitude[0] = magnitude[1] = hypotl(x[0], x[1]);
    }
}

/* ------------------------------------------------------------------ a reference -------------- */

static bool is_defined(ncoll_type type, ncoll_op op)
{
    switch (element_kind(type)) {
    case ELEMENT_INTEGER:
        return op <= NCOLL_BXOR;
    case ELEMENT_FLOAT:
        return op <= NCOLL_MAX;
    case ELEMENT_COMPLEX:
        return op <= NCOLL_PROD;
    default:
        return op >= NCOLL_MINLOC;
    }
}

unsigned reference_operations(struct operation *out, unsigned capacity)
{
    static const char *const names[] = {"",     "sum",  "prod", "min",  "max",    "land",  "lor",
                                        "lxor", "band", "bor",  "bxor", "minloc", "maxloc"};
    unsigned n = 0;

    for (ncoll_type type = NCOLL_INT8; type <= NCOLL_DOUBLE_INT64; type++)
        for (ncoll_op op = NCOLL_SUM; op <= NCOLL_MAXLOC; op++) {
            if (!is_defined(type, op))
                continue;
            if (n < capacity)
                out[n] = (struct operation){.name = names[op],
                                            .type = type,
                                            .size = ncoll_type_size(type),
                                            .op = op,
                                            .rounds = element_rounds(type) && op <= NCOLL_PROD};
            n++;
        }
    return n;
}

void reference_open(struct reference *ref, const struct operation *operation, size_t count)
{
    *ref = (struct reference){.operation = operation, .count = count};
    if (operation->rounds) {
        ref->value = calloc(count * parts(operation), sizeof *ref->value);
        ref->magnitude = calloc(count * parts(operation), sizeof *ref->magnitude);
    } else {
        ref->exact = calloc(count, operation->size);
    }
    if (operation->rounds ? !ref->value || !ref->magnitude : !ref->exact)
        abort();
}

size_t reference_bytes(const struct operation *operation, size_t count)
{
    size_t rounding = 2 * parts(operation) * sizeof(long double);

    return count * (operation->rounds ? rounding : operation->size);
}

void reference_open_in(struct reference *ref, const struct operation *operation, size_t count,
                       void *memory)
{
    *ref = (struct reference){.operation = operation, .count = count, .lent = true};
    if (operation->rounds) {
        ref->value = memory;
        ref->magnitude = ref->value + count * parts(operation);
    } else {
        ref->exact = memory;
    }
}

struct reference reference_part(const struct reference *whole, size_t first, size_t count)
{
    struct reference part = {.operation = whole->operation, .count = count, .lent = true};

    if (part.operation->rounds) {
        part.value = whole->value + first * parts(part.operation);
        part.magnitude = whole->magnitude + first * parts(part.operation);
    } else {
        part.exact = whole->exact + first * part.operation->size;
    }
    return part;
}

void reference_close(struct reference *ref)
{
    if (ref->lent)
        return;
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
    size_t size = ref->operation->size, i = 0;

    if (memcmp(ref->exact, result, ref->count * size) == 0)
        return ref->count;
    while (memcmp(ref->exact + i * size, (const char *)result + i * size, size) == 0)
        i++;
    return i;
}

size_t reference_wrong(const struct reference *ref, const void *result)
{
    ncoll_type part = element_part(ref->operation->type);
    unsigned n = parts(ref->operation);

    if (!ref->operation->rounds)
        return wrong_bits(ref, result);
    for (size_t i = 0; i < ref->count * n; i++) {
        long double error = fabsl(load_float(part, result, i) - ref->value[i]);
        /* the reference itself rounds too, to a long double */
        long double bound = element_epsilon(part) + (part == NCOLL_LONG_DOUBLE ? LDBL_EPSILON : 0);
        if (!(error <= ref->magnitude[i] * bound * (ref->ranks - 1)))
            return i / n;
    }
    return ref->count;
}

/* ------------------------------------------------------------------ values ------------------- */

static long double float_value(ncoll_op op, uint64_t bits)
{
    double fraction = (double)(bits >> 12) * 0x1p-52; /* 0..1 */
    double sign = bits & 1 ? -1 : 1;

    if (op == NCOLL_PROD) /* the product of 16 of these neither overflows nor gets subnormal */
        return sign * (0.75 + fraction / 2);
    if (op == NCOLL_SUM || op == 0)
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

static void store_random_pair(const struct operation *operation, void *vector, size_t i,
                              struct random *random)
{
    uint64_t bits = random_next(random);
    struct pair pair = {.integer = (wide)(int64_t)(bits % 8) - 4,
                        .floated = float_value(operation->op, bits),
                        .index = (int64_t)random_below(random, 16) - 8};

    store_pair(operation->type, vector, i, pair);
}

/* Random words that an element takes. */
static size_t words(const struct operation *operation)
{
    switch (element_kind(operation->type)) {
    case ELEMENT_USER:
        return operation->size;
    case ELEMENT_PAIR:
        return 2;
    default:
        return parts(operation);
    }
}

void reference_values(const struct operation *operation, void *vector, size_t first, size_t count,
                      struct random random)
{
    ncoll_type type = operation->type, part = element_part(type);
    enum element_kind kind = element_kind(type);

    random = random_after(random, first * words(operation));
    if (kind == ELEMENT_USER)
        for (size_t i = 0; i < count * operation->size; i++)
            ((unsigned char *)vector)[i] = (unsigned char)random_next(&random);
    else if (kind == ELEMENT_PAIR)
        for (size_t i = 0; i < count; i++)
            store_random_pair(operation, vector, i, &random);
    else if (kind == ELEMENT_INTEGER)
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = random_next(&random);
            store_integer(type, vector, i,
                          operation->value != NULL ? (wide)operation->value(bits)
                                                   : integer_value(operation->op, bits));
        }
    else
        for (size_t i = 0; i < count * parts(operation); i++)
            store_float(part, vector, i, float_value(operation->op, random_next(&random)));
}
