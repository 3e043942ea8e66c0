/* SPDX-License-Identifier: BSD-3-Clause */
/* All types and operations that a test can make collectives of, and what a context calls them. */
#ifndef NCOLL_TEST_REPERTOIRE_H
#define NCOLL_TEST_REPERTOIRE_H

#include "test/support/user_ops.h"

#define OPERATIONS_MAX 160

struct repertoire {
    unsigned n;
    struct piece {
        struct operation operation;
        ncoll_type type;
        ncoll_op op;
        size_t element;               /* bytes */
        bool commutative, idempotent; /* as an algorithm may rely on it */
    } pieces[OPERATIONS_MAX];
};

/* Fills it in, and registers with the context what is the user's own: NCOLL_OK or an error. */
int repertoire_open(struct repertoire *repertoire, ncoll_context *ctx);

#endif
