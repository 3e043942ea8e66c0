/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct wiring: each rank finds the number of the peer's queue pair in the peer's offer, and takes
 * its own queue pair through INIT and RTR to RTS.
 *
 * A queue pair that is not in RTR yet drops messages silently, and a peer may accept late. So no
 * rank writes before both have accepted. lib/ learns this from an exchange of the bootstrap or from
 * a barrier, and calls met(). If a send is not answered for long after that, the peer is gone, or
 * its port cannot be reached from this one (health.c).
 */
#include <errno.h>
#include <string.h>

#include "transport/verbs/verbs.h"

static int failed(const struct verbs *v, const struct connection *c, const char *state, int error)
{
    const struct transport_events *e = &v->config.events;

    char path[PATH_TEXT];

    return e->fail(
        e->arg, BECAUSE(NCOLL_ERR_DEVICE, NO_COMMON_NETWORK), c->endpoint.rank,
        "choose ports of one network: NCOLL_DEVICE, NCOLL_PORT, NCOLL_GID; see ncoll-info",
        "cannot bring the queue pair to rank %d to %s: %s (%s)", c->endpoint.rank, state,
        strerror(error), ncoll__verbs_path_text(v, c, path));
}

int ncoll__qp_to_init(const struct qp_ends *ends)
{
    struct ibv_qp_attr to_reset = {.qp_state = IBV_QPS_RESET};
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT,
        .port_num = (uint8_t)ends->where->port,
        .pkey_index = (uint16_t)ends->where->pkey_index,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
    };
    int error = ibv_modify_qp(ends->qp, &to_reset, IBV_QP_STATE);

    return error != 0 ? error
                      : ibv_modify_qp(ends->qp, &init,
                                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                          IBV_QP_ACCESS_FLAGS);
}

/* True if the two ports are on different subnets of InfiniBand, with a router in between. The first
 * half of a GID is the prefix of its subnet. */
static bool is_routed(const struct qp_ends *ends)
{
    return memcmp(ends->where->gid.raw, ends->peer->gid, 8) != 0;
}

/* Returns the LID to send to. A LID is valid only inside its subnet. For a peer on another subnet
 * it is the LID of the router to that subnet (FLID): bytes 4 and 5 of the peer's site-local GID
 * (fec0::/10). If the peer has no such GID, its own LID is used, which works only if LIDs are
 * unique across subnets. */
static uint16_t lid_towards(const struct qp_ends *ends)
{
    const struct verbs_description *peer = ends->peer;
    uint16_t flid = (uint16_t)(peer->gid[4] << 8 | peer->gid[5]);
    bool site_local = peer->gid[0] == 0xfe && (peer->gid[1] & 0xc0) == 0xc0;

    return is_routed(ends) && site_local && flid != 0 ? flid : peer->lid;
}

static struct ibv_ah_attr address(const struct verbs *v, const struct qp_ends *ends)
{
    const struct verbs_description *peer = ends->peer;
    struct ibv_ah_attr attr = {
        .dlid = lid_towards(ends),
        .sl = v->config.service_level,
        .port_num = (uint8_t)ends->where->port,
        /* if one side needs a global route header, both sides use it */
        .is_global = is_routed(ends) || ncoll__needs_grh(ends->port) || peer->needs_grh,
        .grh = {.sgid_index = (uint8_t)ends->where->gid_index,
                .hop_limit = 64,
                .traffic_class = v->config.traffic_class},
    };

    memcpy(attr.grh.dgid.raw, peer->gid, sizeof peer->gid);
    return attr;
}

int ncoll__qp_to_rtr(const struct verbs *v, const struct qp_ends *ends)
{
    enum ibv_mtu mtu = ncoll__verbs_mtu(v, ends->port);
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = ends->peer->mtu < mtu ? ends->peer->mtu : mtu,
        .dest_qp_num = ends->peer_qpn,
        .rq_psn = ends->peer_psn,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = RNR_TIMER,
        .ah_attr = address(v, ends),
    };

    return ibv_modify_qp(ends->qp, &attr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int ncoll__qp_to_rts(const struct verbs *v, const struct qp_ends *ends)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .timeout = v->config.timeout_exponent,
        .retry_cnt = v->config.retries,
        .rnr_retry = RNR_RETRIES,
        .sq_psn = ends->psn,
        .max_rd_atomic = 1,
    };

    return ibv_modify_qp(ends->qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int start(struct verbs *v, struct connection *c)
{
    const struct qp_ends ends = {.qp = c->qp,
                                 .where = &v->where,
                                 .port = &v->port,
                                 .psn = c->psn,
                                 .peer = c->peer,
                                 .peer_qpn = c->peer_qpn,
                                 .peer_psn = c->peer_psn};
    int error = ncoll__qp_to_init(&ends), rc;

    if (error != 0)
        return failed(v, c, "INIT", error);
    if ((rc = ncoll__receives_begin(v, c)) != NCOLL_OK)
        return rc;
    if ((error = ncoll__qp_to_rtr(v, &ends)) != 0)
        return failed(v, c, "RTR", error);
    error = ncoll__qp_to_rts(v, &ends);
    return error == 0 ? NCOLL_OK : failed(v, c, "RTS", error);
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

    if (rc == NCOLL_OK)
        c->state = CONNECTION_MEETING;
    return rc;
}

static int direct_advance(struct verbs *v)
{
    (void)v;
    return NCOLL_OK;
}

static void direct_met(struct connection *c)
{
    if (c->state == CONNECTION_MEETING)
        c->state = CONNECTION_READY;
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
