/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a schedule on all its ranks, step by step. A rank goes on until it waits for a message that
 * has not arrived yet.
 */
#ifndef NCOLL_TOOLS_EXPLAIN_WALK_H
#define NCOLL_TOOLS_EXPLAIN_WALK_H

#include <stddef.h>

#include "algos/schedule.h"

/* Returns zeroed memory that is never freed. If there is none, the program ends. */
void *allocate(size_t count, size_t size);

/* Returns the footprint of the whole call: in parts, as if each had slots and scratch of its own. */
struct footprint whole_footprint(const struct algorithm *a, const struct shape *g);

/* Makes round r of one rank, of part g->part. Returns false past the last round. The caller frees
 * out->steps in either case. */
bool write_round_of_part(const struct algorithm *a, const struct shape *g, unsigned r,
                         struct round *out);

/* Makes round r of one rank, counted over all parts: see whole_footprint(). Returns false past the last round. The caller frees out->steps in
 * either case. */
bool write_round(const struct algorithm *a, const struct shape *g, unsigned r, struct round *out);

/* A rank on its way through its schedule. */
struct walker {
    struct shape g; /* includes the rank */
    struct round steps;
    unsigned next, round; /* number of its next step, from 0, and of its round, from 1 */
    bool ended;
};

/* The functions that are called for each step. receive() returns false if the message has not
 * arrived yet. */
struct walk {
    void (*put)(void *arg, const struct walker *w, const struct step *s);
    bool (*receive)(void *arg, const struct walker *w, const struct step *s); /* false: not yet */
    void (*compute)(void *arg, const struct walker *w, const struct step *s); /* optional */
    void (*end_round)(void *arg, const struct walker *w);
};

/* Runs all ranks; g->rank does not matter. */
void walk(const struct algorithm *a, const struct shape *g, const struct walk *what, void *arg);

#endif
