/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything that is checked about one schedule: that it runs right on the model, and what goes
 * beyond that. round() is a pure function of its arguments; the footprint and the peers do not
 * depend on the rank and the counts; a longer vector gives the same schedule, wider, or one that is
 * right as well; the peers lie where the algorithm promises.
 */
#ifndef NCOLL_TEST_VERIFY_CHECK_H
#define NCOLL_TEST_VERIFY_CHECK_H

#include "test/verify/lanes.h"
#include "test/verify/model.h"

struct tally {
    uint64_t schedules; /* proven */
    uint64_t alike;     /* of these, step by step the same as one that was run */
    uint64_t with_list; /* of radices; variants aside */
    uint64_t steps, edges, placed;
    uint64_t in_lanes, lanes_alike; /* of these, their outline follows from one that was run */
    uint64_t lane_runs, lane_edges, lane_credits;
    uint64_t placements; /* of ranks on nodes */
    uint64_t unwritten;  /* schedules with so many steps that they are not written out */
    uint64_t left_out;   /* those of them that a sample does without */
    uint64_t wrong;
};

#define OUTLINES 8 /* of the latest schedules that were run in lanes */

/* The state that checks work with, kept from one to the next for its memory. */
struct checker {
    struct model model;
    struct lanes lanes;
    struct schedule schedule, variant;
    struct program program, other; /* of one rank, to compare */
    struct outline outline, outlines[OUTLINES];
    unsigned n_outlines;
    struct tally *tally;
};

/* Checks one shape, with a count of 1 (a barrier: 0), and all that follows from it; what is wrong
 * is printed. `light`: without what repeats from root to root. */
void check(struct checker *c, const struct algorithm *algorithm, const struct shape *shape,
           bool light);

/* Checks what is promised of peers. Returns NULL, or what is wrong. room: for another schedule. */
const char *check_promises(const struct schedule *s, struct schedule *room);

/* Checks one shape, in lanes as well, and nothing that follows from it. */
void check_alone(struct checker *c, const struct algorithm *algorithm, const struct shape *shape);

/* The same; and where a vector is split among the ranks, with more elements than there are ranks.
 * All data is traced. What differs from `earlier`, which is proven (NULL: nothing is), by the nodes
 * only, is not run if its plans are those. */
void check_chosen(struct checker *c, const struct algorithm *algorithm, const struct shape *shape,
                  const struct shape *earlier);

/* True if all ranks together have so many steps that a schedule is not written out. */
bool check_is_long(struct checker *c, const struct algorithm *algorithm, const struct shape *shape);

/* True if check_chosen() takes long: such a schedule, or much data, or a vector that is split. */
bool check_is_large(struct checker *c, const struct algorithm *algorithm,
                    const struct shape *shape);

/* True if check_alone() checks variants as well. */
bool check_has_variants(const struct shape *shape);

/* True if the shape needs the memory of the schedule with one element, and takes its steps, `by`
 * times as wide. */
bool check_is_wider(struct checker *c, const struct shape *shape, size_t by);

/* Steps of one rank. */
unsigned check_steps(struct checker *c, const struct algorithm *algorithm,
                     const struct shape *shape, unsigned rank);

void checker_free(struct checker *c);

const char *collective_name(enum collective c);

#endif
