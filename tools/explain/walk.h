/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule on all its ranks, step by step: a rank goes on until it waits for a message that is not
 * there yet.
 */
#ifndef NCOLL_TOOLS_EXPLAIN_WALK_H
#define NCOLL_TOOLS_EXPLAIN_WALK_H

#include <stddef.h>

#include "algos/schedule.h"

/* Memory that lives as long as the program, zeroed; without any the program ends. */
void *allocate(size_t count, size_t size);

/* Round r of one rank; false past the last. The caller frees out->steps, also past the last. */
bool write_round(const struct algorithm *a, const struct shape *g, unsigned r, struct round *out);

/* A rank on its way through its schedule. */
struct walker {
    struct shape g; /* its rank is in it */
    struct round steps;
    unsigned next, round; /* of its steps, from 0; the round that it is in, from 1 */
    bool ended;
};

/* What is done at each step. */
struct walk {
    void (*put)(void *arg, const struct walker *w, const struct step *s);
    bool (*receive)(void *arg, const struct walker *w, const struct step *s); /* false: not yet */
    void (*compute)(void *arg, const struct walker *w, const struct step *s); /* optional */
    void (*end_round)(void *arg, const struct walker *w);
};

/* All ranks; g->rank does not matter. */
void walk(const struct algorithm *a, const struct shape *g, const struct walk *what, void *arg);

#endif
