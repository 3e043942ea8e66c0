/* SPDX-License-Identifier: BSD-3-Clause */
/* The predefined types and operations of MPI, and what they do to numbers. */
#ifndef MPI_TEST_TYPES_H
#define MPI_TEST_TYPES_H

#include "check.h"

enum kind {
    INTEGER,
    FLOATING,
    COMPLEX,
    LOGICAL,
    BYTES,
    TEXT, /* no operation takes it */
    KINDS
};

struct type {
    MPI_Datatype type;
    const char *name;
    enum kind kind;
    size_t bytes;
    bool is_c; /* logical operations take C's integers, and not Fortran's */
    void (*put)(void *buffer, int i, int number);
    int (*get)(const void *buffer, int i);
};

/* Some types may be missing in an MPI: `type` is MPI_DATATYPE_NULL then. The last one has no name. */
const struct type *all_types(void);

struct operation {
    MPI_Op op;
    const char *name;
    unsigned kinds;  /* bits 1 << kind */
    bool c_integers; /* of the integers only C's */
    int (*of)(int a, int b);
};

const struct operation *all_operations(void); /* the last one has no name */
bool takes(const struct operation *operation, const struct type *type);

/* A number that all ranks' operations can be done on without an overflow in 7 bits, on up to 12 ranks. */
int small(const struct operation *operation, const struct type *type, int rank, int i);

#endif
