/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a schedule on all ranks, with expressions in place of numbers.
 */
#ifndef NCOLL_TOOLS_EXPLAIN_SYMBOLS_H
#define NCOLL_TOOLS_EXPLAIN_SYMBOLS_H

#include "algos/schedule.h"

/* An expression. */
struct value {
    enum step_kind kind; /* STEP_COPY: the rank's own input x */
    unsigned rank, round;
    size_t element; /* index in the rank's IN */
    const struct value *a, *b;
    bool kept;       /* it gets a name, since it is sent, read in a later round, or the result */
    bool listed;     /* it is in the list of its round */
    unsigned primes; /* number of primes of its name */
};

/* A growing list. */
struct list {
    struct value **values;
    unsigned count, capacity;
};

/* The values that a rank makes and gets in one round. */
struct entry {
    struct list made, got;
    unsigned *senders, n_senders; /* at most as many as the round has steps */
};

/* The values of a rank. */
struct actor {
    struct shape g;
    unsigned round;
    struct value **in, **out, **scratch;
    size_t n_in, n_out;
    struct list *arrived; /* by slot */
    struct entry *entries;
};

/* A run and its results. */
struct symbols {
    const struct algorithm *algorithm;
    unsigned P, rounds;
    bool indexed; /* an IN has more than one element */
    struct actor *actors;
};

/* Runs an algorithm on all ranks; g->rank does not matter. */
void symbols_run(struct symbols *t, const struct algorithm *algorithm, const struct shape *g);

#endif
