/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects peers: the part that is the same for direct wiring and rdmacm. A connection is made with
 * the first offer to a peer. Each further offer adds a window to it, or room for more messages.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/verbs/network.h"
#include "transport/verbs/verbs.h"

/* ------------------------------------------------------------------ offering ------------------ */

int ncoll__verbs_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                       struct offer *offer)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = v->by_rank[peer];
    int rc;

    if (c == NULL && (rc = ncoll__connection_create(v, peer, &c)) != NCOLL_OK)
        return rc;
    if (ncoll__connection_view(v, c, w->shape.id) == NULL)
        return NCOLL_ERR_MEMORY;
    /* the deepest schedule of a group decides */
    if ((rc = ncoll__connection_deepen(v, c, w->shape.id, depth)) != NCOLL_OK)
        return rc;
    struct verbs_offer mine = {
        .addr = (uintptr_t)w->slots,
        .rkey = ((struct verbs_window *)w)->slots->rkey,
        .inbox = (uintptr_t)c->inbox,
        .inbox_rkey = c->inbox_rkey,
        .qpn = c->qp->qp_num,
        .psn = c->psn,
        .allowed = c->allowed,
        .stretch = (uint16_t)(((struct verbs_window *)w)->first / IMM_STRETCH),
        .offered = 1,
        .rank = peer,
        .from = w->shape.rank,
    };
    memcpy(offer, &mine, sizeof mine);
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ accepting ----------------- */

/* Watches a peer's process, if it is on this node: its end is then known at once. */
static void watch(struct verbs *v, struct connection *c)
{
    const struct verbs_description *d = c->peer;
    struct stat st;

    if (d->node != v->config.node || d->pid == getpid() || stat("/proc/self/ns/pid", &st) != 0 ||
        d->pid_namespace != (uint64_t)st.st_ino)
        return;
    c->watched = ncoll__process_watch(&c->process, d->pid) == 0;
}

static int meet(struct verbs *v, struct connection *c, const struct verbs_description *d,
                const struct verbs_offer *offer)
{
    const struct transport_events *e = &v->config.events;
    int rank = c->endpoint.rank;

    if (!ncoll__gid_kinds_meet(v->where.kind, d->gid_kind))
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_COMMON_NETWORK), rank,
                       "choose ports of one network, with addresses of one kind: NCOLL_DEVICE, "
                       "NCOLL_PORT, NCOLL_GID; see ncoll-info",
                       "the port of rank %d has an address for %s, that of rank %d for %s",
                       v->config.rank, ncoll__gid_kind_text(v->where.kind), rank,
                       ncoll__gid_kind_text(d->gid_kind));
    /* rdmacm finds the partition itself, unless it is set */
    if ((v->wiring == &ncoll__wiring_direct || v->config.pkey != 0) &&
        !ncoll__pkeys_meet(v->where.pkey, d->pkey))
        return e->fail(
            e->arg, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_COMMON_NETWORK), rank,
            "set NCOLL_PKEY to a partition of which both ports are members, one of them a "
            "full member; ncoll-info shows the one of each port",
            "rank %d is in partition 0x%04x, rank %d in 0x%04x: they do not reach each other",
            v->config.rank, v->where.pkey, rank, d->pkey);
    c->peer = malloc(sizeof *c->peer);
    if (c->peer == NULL)
        return ncoll__verbs_no_memory(v, "a connection");
    *c->peer = *d;
    c->peer_qpn = offer->qpn;
    c->peer_psn = offer->psn;
    c->may_send = offer->allowed;
    c->peer_inbox = offer->inbox;
    c->peer_inbox_rkey = offer->inbox_rkey;
    int rc = v->wiring->connect(v, c);
    if (rc == NCOLL_OK) {
        watch(v, c);
    } else { /* the peer's offer counts as not accepted */
        v->wiring->disconnect(c);
        free(c->peer);
        c->peer = NULL;
    }
    return rc;
}

/* True if the numbers of a description and an offer are valid. The device, or this library, would
 * misinterpret other ones. */
static bool is_possible(const struct verbs_description *d, const struct verbs_offer *offer)
{
    return d->pid > 0 && d->mtu >= IBV_MTU_256 && d->mtu <= IBV_MTU_4096 &&
           d->gid_kind < GID_NONE && offer->qpn < 1u << 24 && offer->psn < 1u << 24 &&
           offer->addr % _Alignof(struct slot) == 0 && offer->inbox % _Alignof(uint64_t) == 0;
}

int ncoll__verbs_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                        size_t peer_desc_len, const struct offer *offer)
{
    struct verbs *v = verbs_of(t);
    const struct transport_events *e = &v->config.events;
    struct connection *c = v->by_rank[peer];
    struct verbs_description d;
    struct verbs_offer theirs;

    if (peer_desc_len != sizeof d)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), peer,
                       "check that all ranks run the same ncoll",
                       "rank %d described itself in %zu bytes where %zu were expected", peer,
                       peer_desc_len, sizeof d);
    memcpy(&d, peer_desc, sizeof d);
    memcpy(&theirs, offer, sizeof theirs);
    if (!is_possible(&d, &theirs) || theirs.from >= w->shape.ranks)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), peer,
                       "check that all ranks run the same ncoll",
                       "rank %d describes a port, or offers a queue pair, that cannot exist", peer);
    if (c == NULL || !theirs.offered || theirs.rank != v->config.rank)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, CALLS_DIFFER), peer,
                       "check that all ranks call the same collective",
                       "rank %d has offered no connection to rank %d",
                       c == NULL ? v->config.rank : peer, c == NULL ? peer : v->config.rank);
    struct view *view = ncoll__connection_view(v, c, w->shape.id);
    if (view == NULL)
        return NCOLL_ERR_MEMORY;
    view->addr = theirs.addr;
    view->rank = theirs.from;
    ncoll__verbs_take_early_credit(w, view);
    if (view->slots == 0) { /* otherwise the peer has already told keys for more slots */
        view->rkey = theirs.rkey;
        view->slots = ncoll__extent_first(&w->shape).slots;
    }
    view->first = theirs.stretch * IMM_STRETCH;
    int rc = c->peer != NULL ? NCOLL_OK : meet(v, c, &d, &theirs);
    ncoll__verbs_left_before_ready(c);
    return rc;
}

/* ------------------------------------------------------------------ ready --------------------- */

/* A connection that takes longer than this is logged. */
#define SLOW_NS UINT64_C(2000000000)

/* Logs once that connecting takes long. The peer may not have reached the call yet. */
static void warn_if_slow(struct verbs *v, struct connection *c)
{
    const struct transport_events *e = &v->config.events;
    char path[PATH_TEXT];

    if (c->meeting_ns == 0)
        c->meeting_ns = verbs_now_ns(v);
    if (c->slow || verbs_now_ns(v) - c->meeting_ns < SLOW_NS)
        return;
    c->slow = true;
    e->log(
        e->arg, NCOLL_LOG_WARN,
        "rank %d has not been connected for %.1f s: %s; see whether it still runs, and `ping` its "
        "address",
        c->endpoint.rank, (double)(verbs_now_ns(v) - c->meeting_ns) / 1e9,
        ncoll__verbs_path_text(v, c, path));
}

int ncoll__verbs_ready(struct transport *t, const int *peers, unsigned n_peers)
{
    struct verbs *v = verbs_of(t);
    bool all = true;

    ncoll__verbs_progress(t);
    int rc = v->wiring->advance(v);
    for (unsigned i = 0; i < n_peers && rc == NCOLL_OK; i++) {
        struct connection *c = v->by_rank[peers[i]];
        if (c->state == CONNECTION_DEAD && !c->left) {
            rc = NCOLL_ERR_PEER; /* it has been reported */
        } else if (c->state != CONNECTION_READY && !c->left) {
            all = false;
            warn_if_slow(v, c);
        }
    }
    return rc != NCOLL_OK ? rc : all ? NCOLL_OK : NCOLL_TIMEOUT;
}

void ncoll__verbs_met(struct transport *t, int peer)
{
    struct verbs *v = verbs_of(t);

    if (v->wiring->met != NULL && v->by_rank[peer] != NULL)
        v->wiring->met(v->by_rank[peer]);
}

struct endpoint *ncoll__verbs_endpoint(struct transport *t, int rank)
{
    struct connection *c = verbs_of(t)->by_rank[rank];

    return c != NULL && (c->state == CONNECTION_READY || c->state == CONNECTION_DEAD) ? &c->endpoint
                                                                                      : NULL;
}
