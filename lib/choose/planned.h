/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans for calls: an algorithm is chosen, and its schedule is made ready to run. */
#ifndef NCOLL_LIB_CHOOSE_PLANNED_H
#define NCOLL_LIB_CHOOSE_PLANNED_H

#include "lib/plan/plan.h"

/*
 * Finds or makes the plan of a call whose arguments were checked, and counts one more user of it.
 * longest: elements of the longest block on any rank if this rank cannot know it (alltoall with
 * counts); else 0. Returns NCOLL_OK or an error, which is recorded.
 */
int ncoll__plan(struct ncoll_group *g, const struct call_args *args, size_t longest,
                struct plan **out);

#endif
