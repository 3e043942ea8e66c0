/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and operations that the user has created. All ranks must have created them alike. */
#ifndef NCOLL_LIB_DEFINITION_H
#define NCOLL_LIB_DEFINITION_H

#include <stdint.h>

#include "lib/base/type.h"
#include "ncoll.h"

/* The number of characters of a name that are kept for error texts. The hash covers the whole
 * name. */
#define NAME_KEPT 31u

/* The name that the user gave, if any. */
struct user_name {
    uint64_t hash; /* 0: no name */
    char text[NAME_KEPT + 1];
};

struct defined_type {
    size_t size;
    struct user_name name;
};

struct defined_op {
    ncoll_op_def def;
    struct user_name name;
};

/* The types of a context; the first has the number TYPE_USER. */
struct type_table {
    struct defined_type *defs; /* [TYPES_MAX]; NULL: none so far */
    unsigned count;
};

/* The operations of a context; the first has the number OP_USER. */
struct op_table {
    struct defined_op *defs;
    unsigned count, capacity;
};

/* Returns the record of a name, which may be NULL. */
struct user_name ncoll__user_name(const char *name);

/*
 * Returns the 16 bits of the call signature that stand for types and operations that the user has
 * created: for the size and the name of the type, and for flags, inverse and name of the operation.
 * 0 if both are built in. Two types without names and with different sizes below 64 KiB always get
 * different bits.
 */
unsigned ncoll__definition(const struct type_table *types, const struct op_table *ops,
                           unsigned type, unsigned op);

/* Writes a text such as: type 0 has 16 bytes and the name "cell", operation 2 has flags 0x1.
 * Returns text. */
const char *ncoll__definition_text(const struct type_table *types, const struct op_table *ops,
                                   unsigned type, unsigned op, char *text, size_t size);

#endif
