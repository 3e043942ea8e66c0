/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/entry.h"
#include "lib/base/type.h"

#include "lib/base/group.h"

enum kind { INTEGER, FLOAT, COMPLEX, PAIR };

static const struct {
    const char *name;
    size_t size;
    enum kind kind;
    bool is_float;
} types[TYPES_END] = {
    [NCOLL_INT8] = {"int8", 1, INTEGER, false},
    [NCOLL_INT16] = {"int16", 2, INTEGER, false},
    [NCOLL_INT32] = {"int32", 4, INTEGER, false},
    [NCOLL_INT64] = {"int64", 8, INTEGER, false},
    [NCOLL_UINT8] = {"uint8", 1, INTEGER, false},
    [NCOLL_UINT16] = {"uint16", 2, INTEGER, false},
    [NCOLL_UINT32] = {"uint32", 4, INTEGER, false},
    [NCOLL_UINT64] = {"uint64", 8, INTEGER, false},
    [NCOLL_FLOAT] = {"float", sizeof(float), FLOAT, true},
    [NCOLL_DOUBLE] = {"double", sizeof(double), FLOAT, true},
    [NCOLL_LONG_DOUBLE] = {"long double", sizeof(long double), FLOAT, true},
    [NCOLL_HALF] = {"half", 2, FLOAT, true},
    [NCOLL_BFLOAT16] = {"bfloat16", 2, FLOAT, true},
    [NCOLL_COMPLEX_FLOAT] = {"complex float", 2 * sizeof(float), COMPLEX, true},
    [NCOLL_COMPLEX_DOUBLE] = {"complex double", 2 * sizeof(double), COMPLEX, true},
    [NCOLL_INT32_INT32] = {"int32 + int32", sizeof(ncoll_int32_int32), PAIR, false},
    [NCOLL_INT64_INT64] = {"int64 + int64", sizeof(ncoll_int64_int64), PAIR, false},
    [NCOLL_FLOAT_INT32] = {"float + int32", sizeof(ncoll_float_int32), PAIR, true},
    [NCOLL_DOUBLE_INT32] = {"double + int32", sizeof(ncoll_double_int32), PAIR, true},
    [NCOLL_DOUBLE_INT64] = {"double + int64", sizeof(ncoll_double_int64), PAIR, true},
};

size_t ncoll_type_size(ncoll_type type)
{
    return type < TYPES_END ? types[type].size : 0;
}

size_t ncoll_context_type_size(const ncoll_context *ctx, ncoll_type type)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return 0;
    if (type < TYPE_USER)
        return ncoll_type_size(type);
    return type - TYPE_USER < ctx->types.count ? ctx->types.defs[type - TYPE_USER].size : 0;
}

int ncoll_type_create(ncoll_context *ctx, size_t size, ncoll_type *type)
{
    return ncoll_type_create_named(ctx, size, NULL, type);
}

int ncoll_type_create_named(ncoll_context *ctx, size_t size, const char *name, ncoll_type *type)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    ENTER(ctx);
    if (size == 0 || size > PTRDIFF_MAX || type == NULL)
        return ncoll__fail(
            ctx, NCOLL_ERR_ARGUMENT, -1,
            "pass the bytes of one element, and a pointer for the type",
            type == NULL ? "type is NULL" : "%zu bytes are not a valid size of an element", size);
    struct type_table *t = &ctx->types;
    if (t->count == TYPES_MAX)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_RESOURCE, TOO_MANY), -1,
                           "create each type once, and keep it", "there are %u types already",
                           TYPES_MAX);
    if (t->defs == NULL)
        t->defs = ncoll__allocate(ctx, TYPES_MAX * sizeof *t->defs);
    if (t->defs == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a type");
    t->defs[t->count] = (struct defined_type){size, ncoll__user_name(name)};
    *type = TYPE_USER + t->count++;
    return NCOLL_OK;
}

bool ncoll__type_is_float(ncoll_type type)
{
    return type >= TYPES_END || types[type].is_float;
}

const char *ncoll__type_name(unsigned type)
{
    if (type >= TYPE_USER)
        return "user-defined";
    return type < TYPES_END && types[type].name != NULL ? types[type].name : "unknown";
}

const char *ncoll__type_advice(ncoll_type type)
{
    if (type >= TYPES_END)
        return "define an operation for it with ncoll_op_create()";
    if (types[type].kind == PAIR)
        return "use NCOLL_MINLOC or NCOLL_MAXLOC, or define an operation";
    if (types[type].kind == COMPLEX)
        return "use NCOLL_SUM or NCOLL_PROD, or define an operation";
    if (types[type].kind == FLOAT)
        return "use NCOLL_SUM, NCOLL_PROD, NCOLL_MIN or NCOLL_MAX, or an integer type";
    return "use a type of pairs, such as NCOLL_INT32_INT32";
}
