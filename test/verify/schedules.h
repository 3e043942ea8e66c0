/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule of all ranks: what the model runs and mutations change. It is written out, rank by
 * rank; or, where that would fill the memory, only described, and then a rank's program is made in
 * parts, round by round, each time that it is asked for. The steps of these parts are repeated
 * ones, as in the library's plans.
 */
#ifndef NCOLL_TEST_VERIFY_SCHEDULES_H
#define NCOLL_TEST_VERIFY_SCHEDULES_H

#include "algos/schedule.h"

struct program {
    struct step *steps;
    unsigned count, capacity;
};

/*
 * The shape of a call on all ranks. Its rank is not meaningful. In an alltoall with counts, which
 * differ from rank to rank, counts and sends are matrices, a row of `size` for each rank: sends[q]
 * [p] is what q sends to p, and counts its transpose.
 */
struct shape shape_on_rank(const struct shape *shape, unsigned rank);

struct schedule {
    const struct algorithm *algorithm;
    unsigned properties; /* the algorithm's, unless a mutation wants others */
    bool acknowledges;   /* what is put from IN: the same */
    struct shape shape;  /* on all ranks */
    struct footprint footprint;
    unsigned halves; /* sets of slots and scratch that successive calls use in turn */
    bool written;
    struct program *ranks; /* if it is written */
    unsigned ranks_allocated;
};

/* True if peers are promised to rotate with the root; those of ranks that are listed do not. */
static inline bool schedule_rotates(const struct schedule *s)
{
    return (s->properties & ROTATES) != 0 && s->shape.rank_at == NULL;
}

void program_add(struct program *p, struct step step);
void program_insert(struct program *p, unsigned at, struct step step);
void program_remove(struct program *p, unsigned at);
bool step_equals(const struct step *s, const struct step *t);
bool footprint_equals(struct footprint f, struct footprint g);
bool program_equals(const struct program *a, const struct program *b);

/* Writes out one rank's program: rounds 0, 1, .. or, to see that round() is pure, the last one
 * first. */
void program_of(const struct algorithm *algorithm, const struct shape *shape, bool backwards,
                struct program *out);

/* Returns the footprint that has room for those of all ranks, where each computes its own. */
struct footprint footprint_of_all(const struct algorithm *algorithm, const struct shape *shape);

/* Writes out one rank's program from repeated steps. */
void program_repeated(const struct algorithm *algorithm, const struct shape *shape,
                      struct program *out);

/* Writes out all ranks; reuses the memory of what *out held. The counts stay the caller's. */
void schedule_write(const struct algorithm *algorithm, const struct shape *shape,
                    struct schedule *out);
void schedule_free(struct schedule *s);

/* Like schedule_write(), but the programs are not written. */
void schedule_describe(const struct algorithm *algorithm, const struct shape *shape,
                       struct schedule *out);

/* Returns the program of a rank. If it is not written it is made in *room. */
const struct program *schedule_program(const struct schedule *s, unsigned rank,
                                       struct program *room);

/* Returns part r of it: all of it if it is written, else round r, with repeated steps. NULL: past
 * the last. */
const struct program *schedule_part(const struct schedule *s, unsigned rank, unsigned r,
                                    struct program *room);

#endif
