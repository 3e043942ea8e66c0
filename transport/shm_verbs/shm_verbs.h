/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of jobs that span nodes with several ranks each: shm to the ranks of the same node,
 * verbs to all others.
 *
 * Both transports write into the same windows. A window lies in a segment of shm, and verbs
 * registers it with the device. lib/ uses the struct window of verbs; the one of shm is kept beside
 * it, for offers to peers of the node. A slot still has one writer in each epoch: a peer of the
 * node raises the flag itself; for all other peers this rank raises it, in progress(), when the
 * completion has come. So flags, credits and advertisements mean the same for both transports.
 *
 * A rank that blocks sleeps on the completion channel and on a pipe, its bell. Peers of the node
 * write to the bell instead of waking a futex: see wait.c.
 */
#ifndef NCOLL_TRANSPORT_SHM_VERBS_H
#define NCOLL_TRANSPORT_SHM_VERBS_H

#include "transport/shm/shm.h"
#include "transport/verbs/verbs.h"

struct shm_verbs {
    struct transport transport;
    struct transport_config config;
    struct transport *shm, *verbs;
    bool *on_node;           /* [ranks] of the world: the rank is on this node */
    struct window **windows; /* [WINDOWS_MAX] windows of shm, by number */
    int *others;             /* [ranks] room for a list of peers on other nodes */
};

static inline struct shm_verbs *shm_verbs_of(struct transport *t)
{
    return (struct shm_verbs *)t;
}

/* Returns the transport that reaches a rank. */
static inline struct transport *side_of(struct shm_verbs *m, int rank)
{
    return m->on_node[rank] ? m->shm : m->verbs;
}

/* wait.c */
bool ncoll__shm_verbs_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                           unsigned n, unsigned round, int64_t timeout_ns);
int ncoll__shm_verbs_arm(struct transport *t, int set, bool for_messages);
void ncoll__shm_verbs_woken(struct transport *t, uint64_t source);

#endif
