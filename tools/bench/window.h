/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows: calls begin at times that all ranks have agreed on, by the clock of rank 0. A call that
 * a rank came too late for does not count, and windows grow where there are many.
 */
#ifndef NCOLL_TOOLS_BENCH_WINDOW_H
#define NCOLL_TOOLS_BENCH_WINDOW_H

#include "tools/bench/clock_model.h"
#include "tools/bench/calls.h"

/* One in a job. */
struct window {
    ncoll_group *pairs[32];  /* with whom this rank compares clocks, by step (window.c); or NULL */
    unsigned steps;          /* of all ranks */
    struct clock_line clock; /* of rank 0, over this rank's */
    uint64_t begin_ns;       /* of the first window of the batch, by the clock of rank 0 */
    uint64_t error_ns;       /* the most, at the start of any batch */
};

/* Collective, both: groups of two, and a first look at the clocks. window_close() either way. */
int window_open(struct job *job);
int window_close(struct job *job);

/* Looks at the clocks again, and agrees on when the batch's first window begins. Collective. */
int window_begin(struct job *job, const struct row *row);

/* Until the call's window begins: *from_ns, by the own clock. false: it has begun already. */
bool window_wait(const struct job *job, const struct row *row, unsigned call, uint64_t *from_ns);

#endif
