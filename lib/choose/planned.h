/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes plans for calls: chooses an algorithm, and makes its schedule ready to run. */
#ifndef NCOLL_LIB_CHOOSE_PLANNED_H
#define NCOLL_LIB_CHOOSE_PLANNED_H

#include "lib/plan/plan.h"

/*
 * Finds or makes the plan of a call whose arguments were checked, and adds 1 to plan->users.
 * longest: for an alltoall with counts, where no rank knows the counts of all others, the elements
 * of the longest block on any rank; else 0. Returns NCOLL_OK or an error, which is recorded.
 */
int ncoll__plan(struct ncoll_group *g, const struct call_args *args, size_t longest,
                struct plan **out);

#endif
