/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_LIB_BASE_FRACTION_H
#define NCOLL_LIB_BASE_FRACTION_H

#include <stddef.h>

/* Returns the least k for which k / n >= fraction. */
size_t ncoll__threshold_of(double fraction, size_t n);

#endif
