/* SPDX-License-Identifier: BSD-3-Clause */
/* A bootstrap for ranks that are threads of one process: put, fence and get in plain memory. */
#ifndef NCOLL_TEST_BLACKBOARD_H
#define NCOLL_TEST_BLACKBOARD_H

#include "ncoll.h"

struct blackboard;

/* For one context on each of `ranks` threads. */
struct blackboard *blackboard_create(int ranks);
void blackboard_destroy(struct blackboard *board);

/* Makes params those of a rank on the board. */
void blackboard_join(struct blackboard *board, int rank, ncoll_params *params);

#endif
