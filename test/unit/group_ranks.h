/* SPDX-License-Identifier: BSD-3-Clause */
/* This header has what the tests of groups share. */
#ifndef NCOLL_TEST_GROUP_RANKS_H
#define NCOLL_TEST_GROUP_RANKS_H

#include "lib/base/group.h"
#include "test/support/crew.h"

#define GROUP_RANKS 8

/* On so many ranks, or on 1 to GROUP_RANKS: fails the test unless all end well. */
void groups_run(int ranks, const ncoll_params *params, crew_body body);
void groups_run_all(crew_body body);

/* Returns 0 if the group has these world ranks, in this order, and can add and concatenate. */
int group_works(struct rank *r, ncoll_group *g, const int *members, int n);

#endif
