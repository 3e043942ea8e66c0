/* SPDX-License-Identifier: BSD-3-Clause */
#include "types.h"

#include <complex.h>
#include <stddef.h>
#include <wchar.h>

#define STORE(tag, c)                                                                              \
    static void put_##tag(void *buffer, int i, int number)                                         \
    {                                                                                              \
        ((c *)buffer)[i] = (c)number;                                                              \
    }                                                                                              \
    static int get_##tag(const void *buffer, int i)                                                \
    {                                                                                              \
        return (int)((const c *)buffer)[i];                                                        \
    }                                                                                              \
    typedef c type_##tag;

STORE(i8, int8_t)
STORE(i16, int16_t)
STORE(i32, int32_t)
STORE(i64, int64_t)
STORE(u8, uint8_t)
STORE(u16, uint16_t)
STORE(u32, uint32_t)
STORE(u64, uint64_t)
STORE(float, float)
STORE(double, double)
STORE(long_double, long double)
STORE(bool, bool)
STORE(wide, wchar_t)

/* The imaginary part is thrice the real one. */
#define STORE_COMPLEX(tag, c, real)                                                                \
    static void put_##tag(void *buffer, int i, int number)                                         \
    {                                                                                              \
        ((real *)buffer)[2 * i] = (real)number;                                                    \
        ((real *)buffer)[2 * i + 1] = (real)number * 3;                                            \
    }                                                                                              \
    static int get_##tag(const void *buffer, int i)                                                \
    {                                                                                              \
        const real *pair = (const real *)buffer + 2 * (ptrdiff_t)i;                                \
        return pair[1] == pair[0] * 3 ? (int)pair[0] : -1;                                         \
    }                                                                                              \
    typedef c type_##tag;

STORE_COMPLEX(float_complex, float complex, float)
STORE_COMPLEX(double_complex, double complex, double)
STORE_COMPLEX(long_double_complex, long double complex, long double)

#define TYPE(mpi, kind, tag, c)                                                                    \
    {                                                                                              \
        mpi, #mpi, kind, sizeof(type_##tag), c, put_##tag, get_##tag                               \
    }

/* Handles may be no constants: the list is made when it is asked for. */
const struct type *all_types(void)
{
    static struct type list[80];
    const struct type made[] = {TYPE(MPI_SIGNED_CHAR, INTEGER, i8, true),
                                TYPE(MPI_SHORT, INTEGER, i16, true),
                                TYPE(MPI_INT, INTEGER, i32, true),
                                TYPE(MPI_LONG, INTEGER, i64, true),
                                TYPE(MPI_LONG_LONG, INTEGER, i64, true),
                                TYPE(MPI_LONG_LONG_INT, INTEGER, i64, true),
                                TYPE(MPI_UNSIGNED_CHAR, INTEGER, u8, true),
                                TYPE(MPI_UNSIGNED_SHORT, INTEGER, u16, true),
                                TYPE(MPI_UNSIGNED, INTEGER, u32, true),
                                TYPE(MPI_UNSIGNED_LONG, INTEGER, u64, true),
                                TYPE(MPI_UNSIGNED_LONG_LONG, INTEGER, u64, true),
                                TYPE(MPI_INT8_T, INTEGER, i8, true),
                                TYPE(MPI_INT16_T, INTEGER, i16, true),
                                TYPE(MPI_INT32_T, INTEGER, i32, true),
                                TYPE(MPI_INT64_T, INTEGER, i64, true),
                                TYPE(MPI_UINT8_T, INTEGER, u8, true),
                                TYPE(MPI_UINT16_T, INTEGER, u16, true),
                                TYPE(MPI_UINT32_T, INTEGER, u32, true),
                                TYPE(MPI_UINT64_T, INTEGER, u64, true),
                                TYPE(MPI_AINT, INTEGER, i64, false),
                                TYPE(MPI_OFFSET, INTEGER, i64, false),
                                TYPE(MPI_COUNT, INTEGER, i64, false),
                                TYPE(MPI_INTEGER, INTEGER, i32, false),
                                TYPE(MPI_INTEGER1, INTEGER, i8, false),
                                TYPE(MPI_INTEGER2, INTEGER, i16, false),
                                TYPE(MPI_INTEGER4, INTEGER, i32, false),
                                TYPE(MPI_INTEGER8, INTEGER, i64, false),
                                TYPE(MPI_FLOAT, FLOATING, float, true),
                                TYPE(MPI_DOUBLE, FLOATING, double, true),
                                TYPE(MPI_LONG_DOUBLE, FLOATING, long_double, true),
                                TYPE(MPI_REAL, FLOATING, float, false),
                                TYPE(MPI_DOUBLE_PRECISION, FLOATING, double, false),
                                TYPE(MPI_REAL4, FLOATING, float, false),
                                TYPE(MPI_REAL8, FLOATING, double, false),
                                TYPE(MPI_C_FLOAT_COMPLEX, COMPLEX, float_complex, true),
                                TYPE(MPI_C_COMPLEX, COMPLEX, float_complex, true),
                                TYPE(MPI_C_DOUBLE_COMPLEX, COMPLEX, double_complex, true),
                                TYPE(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, long_double_complex, true),
                                TYPE(MPI_COMPLEX, COMPLEX, float_complex, false),
                                TYPE(MPI_DOUBLE_COMPLEX, COMPLEX, double_complex, false),
                                TYPE(MPI_COMPLEX8, COMPLEX, float_complex, false),
                                TYPE(MPI_COMPLEX16, COMPLEX, double_complex, false),
                                TYPE(MPI_C_BOOL, LOGICAL, bool, true),
                                TYPE(MPI_LOGICAL, LOGICAL, i32, false),
                                TYPE(MPI_BYTE, BYTES, u8, true),
                                TYPE(MPI_CHAR, TEXT, i8, true),
                                TYPE(MPI_CHARACTER, TEXT, i8, false),
                                TYPE(MPI_WCHAR, TEXT, wide, true),
                                TYPE(MPI_PACKED, TEXT, u8, true)};
    int count = 0;

    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        int size = 0;

        if (made[i].type == MPI_DATATYPE_NULL)
            continue;
        PMPI_Type_size(made[i].type, &size);
        if ((size_t)size == made[i].bytes) /* Fortran's may be of another size, or not there */
            list[count++] = made[i];
    }
    list[count] = (struct type){.name = NULL};
    return list;
}

#define BIT(kind) (1u << (kind))
#define NUMBERS   (BIT(INTEGER) | BIT(FLOATING))

static int max_of(int a, int b)
{
    return a > b ? a : b;
}
static int min_of(int a, int b)
{
    return a < b ? a : b;
}
static int sum_of(int a, int b)
{
    return a + b;
}
static int product_of(int a, int b)
{
    return a * b;
}
static int and_of(int a, int b)
{
    return a && b;
}
static int or_of(int a, int b)
{
    return a || b;
}
static int xor_of(int a, int b)
{
    return !a != !b;
}
static int bit_and_of(int a, int b)
{
    return a & b;
}
static int bit_or_of(int a, int b)
{
    return a | b;
}
static int bit_xor_of(int a, int b)
{
    return a ^ b;
}

const struct operation *all_operations(void)
{
    static struct operation list[11];
    const struct operation made[] = {
        {MPI_MAX, "MPI_MAX", NUMBERS, false, max_of},
        {MPI_MIN, "MPI_MIN", NUMBERS, false, min_of},
        {MPI_SUM, "MPI_SUM", NUMBERS | BIT(COMPLEX), false, sum_of},
        {MPI_PROD, "MPI_PROD", NUMBERS, false, product_of},
        {MPI_LAND, "MPI_LAND", BIT(INTEGER) | BIT(LOGICAL), true, and_of},
        {MPI_LOR, "MPI_LOR", BIT(INTEGER) | BIT(LOGICAL), true, or_of},
        {MPI_LXOR, "MPI_LXOR", BIT(INTEGER) | BIT(LOGICAL), true, xor_of},
        {MPI_BAND, "MPI_BAND", BIT(INTEGER) | BIT(BYTES), false, bit_and_of},
        {MPI_BOR, "MPI_BOR", BIT(INTEGER) | BIT(BYTES), false, bit_or_of},
        {MPI_BXOR, "MPI_BXOR", BIT(INTEGER) | BIT(BYTES), false, bit_xor_of},
        {.name = NULL}};

    memcpy(list, made, sizeof made);
    return list;
}

bool takes(const struct operation *operation, const struct type *type)
{
    if (operation->c_integers && type->kind == INTEGER && !type->is_c)
        return false;
    return operation->kinds & BIT(type->kind);
}

int small(const struct operation *operation, const struct type *type, int rank, int i)
{
    int number = value(rank, i);

    if (operation->of == product_of)
        return rank < 6 && number % 3 == 0 ? 2 : 1;
    if (operation->of == sum_of)
        return number % 10;
    if (operation->c_integers || type->kind == LOGICAL)
        return number % 3 > 0;
    return number;
}
