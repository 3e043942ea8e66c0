/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/definition.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/signature.h"

struct user_name ncoll__user_name(const char *name)
{
    struct user_name out = {.hash = 0};

    if (name == NULL)
        return out;
    out.hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *c = name; *c != '\0'; c++)
        out.hash = (out.hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    out.hash |= out.hash == 0;
    snprintf(out.text, sizeof out.text, "%s", name);
    return out;
}

/* Returns 16 bits that depend on all bits of x. */
static unsigned fold(uint64_t x)
{
    return (unsigned)((x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

/* Returns 16 bits that stand for a type. Types that differ only in sizes below 64 KiB get different
 * bits, since multiplying by an odd number maps 16 bits one to one. */
static unsigned of_type(const struct defined_type *t)
{
    unsigned size = (unsigned)(t->size & 0xffff) * 0x9e37u & 0xffff;

    return size ^ fold(t->size >> 16) ^ fold(t->name.hash);
}

static unsigned of_op(const struct defined_op *o)
{
    unsigned kind = o->def.flags << 1 | (o->def.inverse != NULL);

    return ((kind + 1) * 0x85ebu & 0xffff) ^ fold(~o->name.hash);
}

static const struct defined_type *type_of(const struct type_table *types, unsigned type)
{
    return type >= TYPE_USER && type - TYPE_USER < types->count ? &types->defs[type - TYPE_USER]
                                                                : NULL;
}

static const struct defined_op *op_of(const struct op_table *ops, unsigned op)
{
    return op >= OP_USER && op - OP_USER < ops->count ? &ops->defs[op - OP_USER] : NULL;
}

unsigned ncoll__definition(const struct type_table *types, const struct op_table *ops,
                           unsigned type, unsigned op)
{
    const struct defined_type *t = type_of(types, type);
    const struct defined_op *o = op_of(ops, op);

    return (t != NULL ? of_type(t) : 0) ^ (o != NULL ? of_op(o) : 0);
}

static size_t add_name(const struct user_name *name, char *text, size_t size)
{
    int n = name->hash == 0 ? snprintf(text, size, " and no name")
                            : snprintf(text, size, " and the name \"%s\"", name->text);
    return (size_t)n < size ? (size_t)n : size;
}

const char *ncoll__definition_text(const struct type_table *types, const struct op_table *ops,
                                   unsigned type, unsigned op, char *text, size_t size)
{
    const struct defined_type *t = type_of(types, type);
    const struct defined_op *o = op_of(ops, op);
    size_t n = 0;

    text[0] = '\0';
    if (t != NULL) {
        n = (size_t)snprintf(text, size, "type %u has %zu bytes", type - TYPE_USER, t->size);
        n = n < size ? n + add_name(&t->name, text + n, size - n) : size;
    }
    if (o != NULL && n < size) {
        n += (size_t)snprintf(text + n, size - n, "%soperation %u has flags 0x%x, %s inverse",
                              n > 0 ? ", " : "", op - OP_USER, o->def.flags,
                              o->def.inverse != NULL ? "an" : "no");
        if (n < size)
            add_name(&o->name, text + n, size - n);
    }
    return text;
}
