/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of a row of ncoll's and one of an MPI's, measured in turns in one job: the rounds in which both
 * had cores that were as far apart (tools/bench/cores.h).
 */
#ifndef NCOLL_TEST_MEASURE_LIKE_ROUNDS_H
#define NCOLL_TEST_MEASURE_LIKE_ROUNDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "test/measure/points.h"

struct like_rounds {
    const json_t *ours, *theirs;
    unsigned rounds;                      /* in which each had a batch */
    int *kinds;                           /* of each round; -1: moved */
    uint64_t *own_ns, *mpi_ns, *cores_ns; /* room for the samples of all rounds */
};

/* Whether a row says how far apart its cores were. */
bool like_rounds_are_known(const json_t *row);
/* Of two rows that do, as ncoll-bench writes them. False, with nothing to close: they are damaged,
 * or there is no memory. */
bool like_rounds_open(struct like_rounds *l, const json_t *ours, const json_t *theirs);
void like_rounds_close(struct like_rounds *l);

/* Of the rounds of one kind, and their number. False, and 0: there are fewer than three, and not
 * because the row has no more. */
bool like_rounds_ratio(const struct like_rounds *l, unsigned kind, struct job_ratio *out,
                       unsigned *rounds);

#endif
