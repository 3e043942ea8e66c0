/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mixtures: successive barriers and allreduces of all kinds, which each rank enters when it likes
 * and drives in its own way, leaving them and taking them up again. Every result is checked, and
 * that nobody is done before everybody has entered.
 */
#ifndef NCOLL_TEST_MIXTURE_H
#define NCOLL_TEST_MIXTURE_H

#include <stdatomic.h>

#include "test/support/crew.h"

/* Shared by the ranks; starts as zeros. */
struct mixture {
    _Atomic uint64_t entered; /* summed over all ranks and calls */
    _Atomic uint64_t resumed; /* calls that timed out and were taken up again */
};

/* How a rank gets through a collective. */
enum way {
    WAY_BLOCK,
    WAY_TEST,     /* call again at once */
    WAY_SHORT,    /* 1 us .. 1 ms at a time */
    WAY_ASK,      /* start, test */
    WAY_WAIT,     /* start, wait for short times */
    WAY_PROGRESS, /* start, progress, wait */
    WAYS,
};

struct item {
    bool barrier;
    unsigned kind; /* of the allreduce: type and operation */
    size_t count;  /* up to MIXTURE_COUNT */
    bool in_place;
};
#define MIXTURE_COUNT 4000

/* The next collective, the same on all ranks; its number must be given to mixture_call(). */
struct item mixture_draw(struct rank *r);

/* One collective, in one way. Returns 0, or says what is wrong. */
int mixture_call(struct mixture *m, struct rank *r, uint64_t number, const struct item *item,
                 enum way way);

/* Collectives number 0 to calls - 1. */
int mixture_run(struct mixture *m, struct rank *r, uint64_t calls);

#endif
