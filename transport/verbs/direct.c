/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct wiring: each rank has got the peer's queue pair number in its offer and takes its
 * own queue pair through INIT and RTR to RTS.
 *
 * A queue pair that is not in RTR yet drops what comes, silently, and the sender gives up after a
 * second; but a peer may take its time until it accepts. So nobody writes before it knows that the
 * other one can be written to:
 *
 *   the lower rank   sends hello, an empty write with immediate. If that fails it starts its queue
 *                    pair anew, from the same packet number, and tries again. Its completion says
 *                    that the peer has got it.
 *   the higher rank  sends nothing before hello has come, which says that its sender is in RTS.
 *
 * So the lower rank has received nothing when it starts anew, and both agree on packet numbers.
 *
 * Who cannot be reached by hello may be late, or gone for good: nothing here can tell which. When
 * ranks meet for the first time the bootstrap says that both have come so far (`met`), so there is
 * no hello, and a send that nobody answers is a failure of the peer. Later the ranks have others to
 * hear it from.
 */
#include <errno.h>
#include <string.h>

#include "transport/verbs/verbs.h"

/* The peer accepts at about the same time. A hello that comes too early costs a time-out, 134 ms.
 */
#define HELLO_DELAY_NS UINT64_C(3000000)

static int failed(const struct verbs *v, const struct connection *c, const char *state, int error)
{
    const struct transport_events *e = &v->config.events;

    return e->fail(e->arg, NCOLL_ERR_DEVICE, c->endpoint.rank,
                   "see ncoll-info; both ports must be on one network",
                   "cannot bring the queue pair to rank %d to %s: %s", c->endpoint.rank, state,
                   strerror(error));
}

int ncoll__direct_reset(struct verbs *v, struct connection *c)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT,
        .port_num = (uint8_t)v->where.port,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
    };

    int error = ibv_modify_qp(c->qp, &reset, IBV_QP_STATE);
    if (error == 0)
        error = ibv_modify_qp(c->qp, &init,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    return error == 0 ? NCOLL_OK : failed(v, c, "INIT", error);
}

static struct ibv_ah_attr address(const struct verbs *v, const struct verbs_description *peer)
{
    struct ibv_ah_attr attr = {
        .dlid = peer->lid,
        .port_num = (uint8_t)v->where.port,
        .is_global = v->port.link_layer == IBV_LINK_LAYER_ETHERNET,
        .grh = {.sgid_index = (uint8_t)v->where.gid_index, .hop_limit = 64},
    };

    memcpy(attr.grh.dgid.raw, peer->gid, sizeof peer->gid);
    return attr;
}

static int to_rtr(struct verbs *v, struct connection *c)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = c->peer->mtu < v->port.active_mtu ? c->peer->mtu : v->port.active_mtu,
        .dest_qp_num = c->peer_qpn,
        .rq_psn = c->peer_psn,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = address(v, c->peer),
    };
    int error = ibv_modify_qp(c->qp, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

    return error == 0 ? NCOLL_OK : failed(v, c, "RTR", error);
}

static int to_rts(struct verbs *v, struct connection *c)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .timeout = ACK_TIMEOUT,
        .retry_cnt = ACK_RETRIES,
        .rnr_retry = RNR_RETRIES,
        .sq_psn = c->psn,
        .max_rd_atomic = 1,
    };
    int error = ibv_modify_qp(c->qp, &attr,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);

    return error == 0 ? NCOLL_OK : failed(v, c, "RTS", error);
}

static int start(struct verbs *v, struct connection *c)
{
    int rc = ncoll__direct_reset(v, c);
    if (rc == NCOLL_OK)
        rc = to_rtr(v, c);
    return rc == NCOLL_OK ? to_rts(v, c) : rc;
}

static bool speaks_first(const struct verbs *v, const struct connection *c)
{
    return v->config.rank < c->endpoint.rank;
}

static int direct_open(struct verbs *v)
{
    (void)v;
    return NCOLL_OK;
}

static void direct_describe(const struct verbs *v, struct verbs_description *d)
{
    (void)v, (void)d;
}

static int direct_connect(struct verbs *v, struct connection *c)
{
    int rc = start(v, c);
    if (rc != NCOLL_OK)
        return rc;
    c->state = CONNECTION_MEETING;
    if (speaks_first(v, c))
        c->hello_ns = verbs_now_ns(v) + HELLO_DELAY_NS;
    return NCOLL_OK;
}

static int direct_advance(struct verbs *v)
{
    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        if (c->state != CONNECTION_MEETING || !speaks_first(v, c))
            continue;
        if (c->hello_ns != UINT64_MAX) {
            if (verbs_now_ns(v) < c->hello_ns)
                continue;
            c->hello_ns = UINT64_MAX;
            ncoll__verbs_word(v, c, WORD_HELLO, NULL, 0, 0);
        } else if (c->completed == c->posted) {
            c->state = CONNECTION_READY;
        }
    }
    return NCOLL_OK;
}

static void direct_met(struct connection *c)
{
    if (c->state != CONNECTION_MEETING)
        return;
    c->hello_ns = UINT64_MAX;
    c->state = CONNECTION_READY;
}

bool ncoll__direct_again(struct verbs *v, struct connection *c, enum ibv_wc_status status)
{
    if (c->state != CONNECTION_MEETING || !speaks_first(v, c) || status != IBV_WC_RETRY_EXC_ERR ||
        v->wiring != &ncoll__wiring_direct)
        return false;
    c->completed = c->posted;
    c->hello_ns = 0; /* at the next look, without delay */
    return start(v, c) == NCOLL_OK;
}

static void direct_disconnect(struct connection *c)
{
    (void)c;
}

static void direct_close(struct verbs *v)
{
    (void)v;
}

const struct wiring_ops ncoll__wiring_direct = {
    .name = "direct",
    .open = direct_open,
    .describe = direct_describe,
    .connect = direct_connect,
    .advance = direct_advance,
    .met = direct_met,
    .disconnect = direct_disconnect,
    .close = direct_close,
};
