/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule of all ranks, written out: what the model runs and mutations change.
 */
#ifndef NCOLL_TEST_VERIFY_SCHEDULES_H
#define NCOLL_TEST_VERIFY_SCHEDULES_H

#include "algos/schedule.h"

struct program {
    struct step *steps;
    unsigned count, capacity;
};

struct schedule {
    const struct algorithm *algorithm;
    unsigned properties; /* the algorithm's, unless a mutation wants others */
    enum collective collective;
    struct shape shape; /* rank is not meaningful */
    struct footprint footprint;
    unsigned halves; /* sets of slots and scratch that successive calls use in turn */
    struct program *ranks;
    unsigned ranks_allocated;
};

void program_add(struct program *p, struct step step);
void program_insert(struct program *p, unsigned at, struct step step);
void program_remove(struct program *p, unsigned at);
bool step_equals(const struct step *s, const struct step *t);
bool program_equals(const struct program *a, const struct program *b);

/* Writes out one rank's program: rounds 0, 1, .. or, to see that round() is pure, the last one
 * first. */
void program_of(const struct algorithm *algorithm, const struct shape *shape, bool backwards,
                struct program *out);

/* Writes out all ranks of one collective; reuses the memory of what *out held. */
void schedule_write(const struct algorithm *algorithm, enum collective collective,
                    const struct shape *shape, struct schedule *out);
void schedule_free(struct schedule *s);

#endif
