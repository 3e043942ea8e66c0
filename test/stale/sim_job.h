/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs under virtual time, with delays, slow connections, refusals and pauses by their seed. */
#ifndef NCOLL_TEST_STALE_SIM_JOB_H
#define NCOLL_TEST_STALE_SIM_JOB_H

#include "test/stale/job.h"
#include "transport/sim/sim.h"

void sim_job_config(const struct job *job, struct sim_config *out);
/* Runs the job. Returns true if all is as it should be. */
bool sim_job_run(struct job *job);

#endif
