/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs for jobs of up to 1,000 ranks, where the programs of test/programs would take too long:
 * each rank knows the results by closed formulas, and not from the values of all others. */
#ifndef NCOLL_TEST_SIM_MANY_H
#define NCOLL_TEST_SIM_MANY_H

#include "ncoll.h"

#define MANY_RANKS 1000

/* Runs one rank; arg is a struct job (test/programs/programs.h), one program of which is run. Jobs
 * of many ranks make fewer calls, so that all take about as long. */
int many_rank(const ncoll_params *params, void *arg);

#endif
