/* SPDX-License-Identifier: BSD-3-Clause */
/* The faults that a device can have: as test/fabric/faults.c writes them, without their moment. */
#ifndef NCOLL_TEST_SURVIVE_CATALOGUE_H
#define NCOLL_TEST_SURVIVE_CATALOGUE_H

#include <stdbool.h>

#define MOMENTS_MAX 600

struct fault_kind {
    const char *text;
    bool harmless;    /* costs only time: no rank may notice it */
    unsigned moments; /* it happens at one of the first so many moments; 0: at any time */
};
extern const struct fault_kind catalogue[];
extern const unsigned n_fault_kinds;

#endif
