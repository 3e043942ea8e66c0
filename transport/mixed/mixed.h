/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of jobs that span nodes with several ranks each: shm to the ranks of the own node,
 * verbs to all others.
 *
 * Both write into the same windows. The memory is a segment of shm's, in which the device registers
 * window and scratch; the object that stands for it is that of verbs, and shm's is kept beside it,
 * for what shm offers its peers. A slot still has one writer for each epoch: a peer of the node
 * raises the flag itself, and for the others this rank does, in progress(), when the completion has
 * come. So flags, credits and invitations mean the same wherever they come from.
 *
 * A rank that blocks sleeps on the completion channel and on a pipe, its bell, which the peers of
 * the node ring instead of waking a futex: see wait.c.
 */
#ifndef NCOLL_TRANSPORT_MIXED_MIXED_H
#define NCOLL_TRANSPORT_MIXED_MIXED_H

#include "transport/shm/shm.h"
#include "transport/verbs/verbs.h"

/* The user's memory, as both know it. */
struct mixed_memory {
    struct memory memory;
    struct memory *near, *far;
};

struct mixed {
    struct transport transport;
    struct transport_config config;
    struct transport *near, *far; /* shm, verbs */
    bool *is_near;                /* [ranks] of the world */
    struct window **windows;      /* [WINDOWS_MAX] shm's, by number */
    int *others;                  /* [ranks] for ready() */
};

static inline struct mixed *mixed_of(struct transport *t)
{
    return (struct mixed *)t;
}

/* The one that reaches a rank. */
static inline struct transport *side_of(struct mixed *m, int rank)
{
    return m->is_near[rank] ? m->near : m->far;
}

/* wait.c */
void ncoll__mixed_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                       unsigned n, unsigned round, int64_t timeout_ns);

#endif
