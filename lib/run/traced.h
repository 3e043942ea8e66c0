/* SPDX-License-Identifier: BSD-3-Clause */
/* Records events of calls and runs in the trace of the context, which has to have one. */
#ifndef NCOLL_LIB_RUN_TRACED_H
#define NCOLL_LIB_RUN_TRACED_H

#include "lib/base/group.h"
#include "lib/plan/plan.h"

/* Notes the time at which the first run of a call begins. */
void ncoll__traced_begins(struct ncoll_group *g, struct call *c);
/* Notes the time from which a run is advanced: its next step begins then. */
void ncoll__traced_advances(struct ncoll_group *g);
/* Records a step that has been tried. rc: NCOLL_OK, NCOLL_TIMEOUT, or an error. */
void ncoll__traced_step(struct ncoll_group *g, const struct run *run, const struct instruction *i,
                        int rc);
/* Records a call that has ended with this status. epoch: that of its last run. */
void ncoll__traced_ends(struct ncoll_group *g, const struct call *c, uint64_t epoch, int status);

#endif
