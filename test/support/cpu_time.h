/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processor time of this process against a limit. A limit is meant for one core of about 3 GHz with
 * nothing beside it; a slower machine, or a busy one, is given as many times more as it takes for a
 * fixed piece of work at the same moment.
 */
#ifndef NCOLL_TEST_SUPPORT_CPU_TIME_H
#define NCOLL_TEST_SUPPORT_CPU_TIME_H

#include <stdbool.h>

/* Milliseconds that this process has computed. */
double cpu_ms(void);

/* False if it is more than the limit and this machine is no reason for it. */
bool cpu_is_within(double ms, double limit_ms);

#endif
