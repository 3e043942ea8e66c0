/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: the state of one execution of a schedule. */
#ifndef NCOLL_LIB_BASE_RUN_H
#define NCOLL_LIB_BASE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/schedule.h"
#include "transport/window.h"

struct call;
struct memory;
struct program;

enum base {
    BASE_IN,
    BASE_OUT,
    BASE_SCRATCH, /* this epoch's scratch memory in the window */
    BASE_SLOTS,   /* the first of this epoch's slots */
    BASE_BULK,    /* this epoch's bulk memory */
    BASES,
    /* the slots and the bulk memory of each neighbour of the plan, one neighbour after the other */
    BASES_NEAR = BASES + 2 * NEIGHBOURS_MAX
};

/* One execution of a schedule, over one segment of the data; each has an epoch of its own in the
 * group. The struct holds everything that is needed to continue the run. */
struct run {
    struct call *call; /* NULL: the run has ended */
    const struct program *program;
    uint64_t epoch;
    uint64_t history_hash; /* sent in the signatures of the messages: see signature.h */
    unsigned next;         /* next instruction to execute */
    /* number of senders that have got the credit that is due at the start */
    unsigned credits;
    /* slot whose message the run waits for; NO_SLOT: it waits for room to send, for a credit, or
     * for `looks_at` */
    unsigned waits_for;
    const _Atomic uint64_t *looks_at; /* word of a neighbour that the run waits for; NULL: none */
    int waits_for_rank;               /* world rank that the run waits for */
    size_t done; /* bytes of the vector, or of each block, before this segment */
    /* routes that puts from IN and from OUT can take: bits of enum route */
    unsigned can[2];
    unsigned returned; /* all single copies of the instructions before this one are acknowledged */
    bool reads_users;  /* the run has read, or got, user memory of other ranks */
    /* the addresses that the instructions' offsets are relative to */
    unsigned char *base[BASES_NEAR];
};
_Static_assert(BASE_IN == 0 && BASE_OUT == 1, "index of struct call.memories, run.can");

#endif
