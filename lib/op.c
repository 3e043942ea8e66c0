/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of the built-in operations: out[i] = left[i] op right[i]. Plain loops, written so that
 * the compiler vectorises them; out may equal left or right.
 *
 * Integer arithmetic is done on unsigned values of at least 32 bits, so that it wraps instead of
 * overflowing.
 */
#include "lib/op.h"

#include <math.h>

#include "lib/card.h"

/* type, C type, unsigned type to calculate in, name */
#define INTEGER_TYPES(X)                                                                           \
    X(NCOLL_INT8, int8_t, uint32_t, int8)                                                          \
    X(NCOLL_INT16, int16_t, uint32_t, int16)                                                       \
    X(NCOLL_INT32, int32_t, uint32_t, int32)                                                       \
    X(NCOLL_INT64, int64_t, uint64_t, int64)                                                       \
    X(NCOLL_UINT8, uint8_t, uint32_t, uint8)                                                       \
    X(NCOLL_UINT16, uint16_t, uint32_t, uint16)                                                    \
    X(NCOLL_UINT32, uint32_t, uint32_t, uint32)                                                    \
    X(NCOLL_UINT64, uint64_t, uint64_t, uint64)

#define FLOAT_TYPES(X)                                                                             \
    X(NCOLL_FLOAT, float, float, float)                                                            \
    X(NCOLL_DOUBLE, double, double, double)

/* operation, name, expression of a and b in type T, calculated in W */
#define INTEGER_OPS(X, ...)                                                                        \
    X(NCOLL_SUM, sum, (T)((W)a + (W)b), __VA_ARGS__)                                               \
    X(NCOLL_PROD, prod, (T)((W)a * (W)b), __VA_ARGS__)                                             \
    X(NCOLL_MIN, min, a < b ? a : b, __VA_ARGS__)                                                  \
    X(NCOLL_MAX, max, a > b ? a : b, __VA_ARGS__)                                                  \
    X(NCOLL_LAND, land, (T)(a != 0 && b != 0), __VA_ARGS__)                                        \
    X(NCOLL_LOR, lor, (T)(a != 0 || b != 0), __VA_ARGS__)                                          \
    X(NCOLL_LXOR, lxor, (T)((a != 0) != (b != 0)), __VA_ARGS__)                                    \
    X(NCOLL_BAND, band, (T)(a & b), __VA_ARGS__)                                                   \
    X(NCOLL_BOR, bor, (T)(a | b), __VA_ARGS__)                                                     \
    X(NCOLL_BXOR, bxor, (T)(a ^ b), __VA_ARGS__)

/* -0 below +0, any NaN gives the canonical one: no dependence on the order of the operands. */
#define FLOAT_LESS(a, b)        ((a) < (b) || ((a) == (b) && signbit(a)))
#define FLOAT_PICK(a, b, first) ((a) != (a) || (b) != (b) ? (T)NAN : (first) ? (a) : (b))

#define FLOAT_OPS(X, ...)                                                                          \
    X(NCOLL_SUM, sum, a + b, __VA_ARGS__)                                                          \
    X(NCOLL_PROD, prod, a *b, __VA_ARGS__)                                                         \
    X(NCOLL_MIN, min, FLOAT_PICK(a, b, FLOAT_LESS(a, b)), __VA_ARGS__)                             \
    X(NCOLL_MAX, max, FLOAT_PICK(a, b, FLOAT_LESS(b, a)), __VA_ARGS__)

#define KERNEL(NAME, CTYPE, WIDE, EXPRESSION)                                                      \
    static void NAME(void *out, const void *left, const void *right, size_t count,                 \
                     ncoll_type type, void *arg)                                                   \
    {                                                                                              \
        typedef CTYPE T;                                                                           \
        typedef WIDE W __attribute__((unused));                                                    \
        T *o = out;                                                                                \
        const T *l = left, *r = right;                                                             \
        (void)type, (void)arg;                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            T a = l[i], b = r[i];                                                                  \
            o[i] = (T)(EXPRESSION);                                                                \
        }                                                                                          \
    }

#define OP_KERNEL(op, opname, expression, ctype, wide, name)                                       \
    KERNEL(opname##_##name, ctype, wide, expression)
#define INTEGER_KERNELS(type, ctype, wide, name)                                                   \
    INTEGER_OPS(OP_KERNEL, ctype, wide, name)                                                      \
    KERNEL(difference_##name, ctype, wide, (T)((W)a - (W)b))
#define FLOAT_KERNELS(type, ctype, wide, name) FLOAT_OPS(OP_KERNEL, ctype, wide, name)

INTEGER_TYPES(INTEGER_KERNELS)
FLOAT_TYPES(FLOAT_KERNELS)

#define TYPES_END (NCOLL_DOUBLE + 1)
#define OPS_END   (NCOLL_BXOR + 1)

#define OP_ENTRY(op, opname, expression, ctype, wide, name) [op] = opname##_##name,
#define INTEGER_ROW(type, ctype, wide, name)                [type] = {INTEGER_OPS(OP_ENTRY, ctype, wide, name)},
#define FLOAT_ROW(type, ctype, wide, name)                  [type] = {FLOAT_OPS(OP_ENTRY, ctype, wide, name)},
static const ncoll_op_fn combine[TYPES_END][OPS_END] = {INTEGER_TYPES(INTEGER_ROW)
                                                            FLOAT_TYPES(FLOAT_ROW)};

/* Exclusive or is its own inverse; a floating-point sum has none, since taking out loses bits. */
#define INVERSE_ROW(type, ctype, wide, name)                                                       \
    [type] = {                                                                                     \
        [NCOLL_SUM] = difference_##name, [NCOLL_LXOR] = lxor_##name, [NCOLL_BXOR] = bxor_##name},
static const ncoll_op_fn inverse[TYPES_END][OPS_END] = {INTEGER_TYPES(INVERSE_ROW)};

#define SIZE_ROW(type, ctype, wide, name) [type] = sizeof(ctype),
#define NAME_ROW(type, ctype, wide, name) [type] = #name,
static const size_t type_size[TYPES_END] = {INTEGER_TYPES(SIZE_ROW) FLOAT_TYPES(SIZE_ROW)};
static const char *const type_name[TYPES_END] = {INTEGER_TYPES(NAME_ROW) FLOAT_TYPES(NAME_ROW)};

#define OP_NAME_ROW(op, opname, expression, unused) [op] = #opname,
static const char *const op_name[OPS_END] = {INTEGER_OPS(OP_NAME_ROW, )};

size_t ncoll_type_size(ncoll_type type)
{
    return (unsigned)type < TYPES_END ? type_size[type] : 0;
}

bool ncoll__type_is_float(ncoll_type type)
{
    return type == NCOLL_FLOAT || type == NCOLL_DOUBLE;
}

const char *ncoll__type_name(unsigned type)
{
    return type < TYPES_END && type_name[type] != NULL ? type_name[type] : "unknown";
}

const char *ncoll__op_name(unsigned op)
{
    if (op >= OP_USER)
        return "user-defined";
    return op < OPS_END && op_name[op] != NULL ? op_name[op] : "unknown";
}

bool ncoll__op_builtin(ncoll_op op, ncoll_type type, struct op *out)
{
    if (op >= OPS_END || (unsigned)type >= TYPES_END || combine[type][op] == NULL)
        return false;
    bool picks = op == NCOLL_MIN || op == NCOLL_MAX;
    *out = (struct op){
        .combine = combine[type][op],
        .inverse = inverse[type][op],
        .commutative = true,
        .idempotent =
            picks || op == NCOLL_LAND || op == NCOLL_LOR || op == NCOLL_BAND || op == NCOLL_BOR,
        .exact = picks || !ncoll__type_is_float(type),
    };
    return true;
}
