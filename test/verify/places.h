/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The places of a rank's IN and OUT in the model's memory, cell by cell.
 *
 * A schedule has to come out right with IN and OUT apart and with both in the same memory. The
 * model lays them out in place wherever the collective can be done so, and runs a schedule once
 * for both: what it asks in place implies what it would ask apart. A read of IN has to find what IN
 * held at first, so each step reads and writes the same values both ways; a read of OUT, and the
 * result, has to be written through OUT, be it with what lies there already; and two places that
 * are different cells in place are so apart, where even more are.
 */
#ifndef NCOLL_TEST_VERIFY_PLACES_H
#define NCOLL_TEST_VERIFY_PLACES_H

#include "algos/schedule.h"

/* IN or OUT of one rank. */
struct side {
    enum data_form form;
    size_t size;          /* elements; 0 if the rank has none */
    size_t first;         /* cell */
    size_t block;         /* elements of each block, without counts */
    const size_t *starts; /* NULL, or [P + 1]: of each block, and the end of the last */
    bool one_block;       /* no step may leave its block, even where blocks lie side by side */
};

struct places {
    struct side in, out;
};

/* Lays out a rank's IN and OUT from a cell on, apart only if asked to. starts: room for 2 (P + 1)
 * if there are counts. Returns the cell that follows. */
size_t places_set(struct places *places, const struct shape *g, bool apart, size_t first,
                  size_t *starts);

/* True if all of the elements are there; *offset: of the first of them, from the start of IN or
 * OUT. */
bool side_find(const struct side *side, unsigned P, struct ref ref, size_t count, size_t *offset);

/* Returns the start of block q. */
size_t side_start(const struct side *side, unsigned q);

#endif
