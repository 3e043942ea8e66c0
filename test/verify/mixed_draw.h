/* SPDX-License-Identifier: BSD-3-Clause */
/* This header draws all that a run of mixed calls is made of from its seed. */
#ifndef NCOLL_TEST_VERIFY_MIXED_DRAW_H
#define NCOLL_TEST_VERIFY_MIXED_DRAW_H

#include "test/verify/mixed.h"

/* The ranks, the calls, and who goes first; all as it is before the first call. */
void mixed_draw(struct mixed *m, const struct algorithm *only);

/* Another order of the actors. */
void mixed_shuffle(struct mixed *m);

#endif
