/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wiring by librdmacm. The library only negotiates the connection. The queue pairs are made as with
 * direct wiring, and are taken through their states with the attributes that librdmacm gives.
 *
 *   lower rank                               higher rank
 *   resolve address, resolve route
 *   INIT, rdma_connect()            ---->    CONNECT_REQUEST: INIT, RTR, RTS, rdma_accept()
 *   CONNECT_RESPONSE: RTR, RTS,     <----
 *   rdma_establish()                ---->    ESTABLISHED
 *
 * Each side then knows that it can write to the other. The request carries the rank of its sender,
 * and the number of the queue pair that the receiver has offered, so that the request of a stranger
 * is recognised. The request may come before the receiver has accepted the sender's offer, but not
 * before the receiver has made its own offer, since the sender has read that.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/verbs.h"

#define RESOLVE_MS 5000
#define BACKLOG    1024

struct cm {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
};

struct cm_link {
    struct rdma_cm_id *id;
    enum ibv_mtu peer_mtu; /* the largest packet that the peer takes */
    bool established;
};

/* The data in a connection request. */
struct cm_request {
    int32_t rank;
    uint32_t qpn; /* number of the receiver's queue pair */
    uint32_t mtu; /* enum ibv_mtu: the largest packet that the sender takes */
};

/* ------------------------------------------------------------------ addresses ----------------- */

static struct sockaddr_storage address(const union ibv_gid *gid, enum gid_kind kind, uint16_t port)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;

    if (kind == GID_ROCE2_IPV4) {
        v4->sin_family = AF_INET;
        v4->sin_port = port;
        memcpy(&v4->sin_addr, gid->raw + 12, sizeof v4->sin_addr);
    } else {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = port;
        memcpy(&v6->sin6_addr, gid->raw, sizeof v6->sin6_addr);
    }
    return storage;
}

static struct sockaddr_storage own_address(const struct verbs *v)
{
    return address(&v->where.gid, v->where.kind, 0);
}

static int cm_failed(const struct verbs *v, int rank, const char *what, int error)
{
    const struct transport_events *e = &v->config.events;

    return e->fail(e->arg, BECAUSE(NCOLL_ERR_DEVICE, SYSTEM_REFUSED), rank,
                   "load the kernel's rdma_ucm, or use NCOLL_WIRING=direct",
                   "librdmacm cannot %s: %s", what, strerror(error));
}

static int cm_open(struct verbs *v)
{
    const struct transport_events *e = &v->config.events;
    struct sockaddr_storage own = own_address(v);
    struct cm *cm;

    if (v->where.kind != GID_ROCE2_IPV4 && v->where.kind != GID_ROCE2_IPV6)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_PORT), -1,
                       "use NCOLL_WIRING=direct, or give the interface an address",
                       "librdmacm needs a port with an IP address; %s port %d has %s",
                       v->where.device, v->where.port, ncoll__gid_kind_text(v->where.kind));
    if ((cm = v->cm = calloc(1, sizeof *cm)) == NULL)
        return ncoll__verbs_no_memory(v, "a listener");
    if ((cm->channel = rdma_create_event_channel()) == NULL)
        return cm_failed(v, -1, "open a channel", errno);
    int flags = fcntl(cm->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return cm_failed(v, -1, "open a channel that does not block", errno);
    if (rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP) != 0)
        return cm_failed(v, -1, "make a listener", errno);
    if (rdma_bind_addr(cm->listener, (struct sockaddr *)&own) != 0 ||
        rdma_listen(cm->listener, BACKLOG) != 0)
        return cm_failed(v, -1, "listen on the address of the port", errno);
    return NCOLL_OK;
}

static void cm_describe(const struct verbs *v, struct verbs_description *d)
{
    d->cm_port = rdma_get_src_port(v->cm->listener);
}

/* ------------------------------------------------------------------ queue pairs --------------- */

/* Replaces values that the connection manager has found by the settings of the user. */
static void set_wishes(const struct verbs *v, const struct cm_link *link, struct ibv_qp_attr *attr,
                       int mask)
{
    const struct transport_config *c = &v->config;
    enum ibv_mtu most = ncoll__verbs_mtu(v, &v->port) < link->peer_mtu
                            ? ncoll__verbs_mtu(v, &v->port)
                            : link->peer_mtu;

    if (mask & IBV_QP_TIMEOUT) /* librdmacm uses an estimate of the subnet manager */
        attr->timeout = c->timeout_exponent;
    if (mask & IBV_QP_PATH_MTU && attr->path_mtu > most)
        attr->path_mtu = most;
    if (mask & IBV_QP_PKEY_INDEX && c->pkey != 0)
        attr->pkey_index = (uint16_t)v->where.pkey_index;
    if (mask & IBV_QP_AV && c->service_level != 0)
        attr->ah_attr.sl = c->service_level;
    if (mask & IBV_QP_AV && c->traffic_class != 0)
        attr->ah_attr.grh.traffic_class = c->traffic_class;
}

/* Takes the queue pair to a state, with the attributes that the connection manager has
 * negotiated. */
static int to_state(const struct verbs *v, struct connection *c, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask, error = 0;

    if (rdma_init_qp_attr(c->link->id, &attr, &mask) != 0)
        error = errno;
    if (state == IBV_QPS_INIT) {
        attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    if (mask & IBV_QP_MIN_RNR_TIMER)
        attr.min_rnr_timer = RNR_TIMER;
    set_wishes(v, c->link, &attr, mask);
    if (error == 0)
        error = ibv_modify_qp(c->qp, &attr, mask);
    return error == 0 ? NCOLL_OK : cm_failed(v, c->endpoint.rank, "bring up the queue pair", error);
}

static struct rdma_conn_param parameters(const struct verbs *v, const struct connection *c)
{
    return (struct rdma_conn_param){
        .responder_resources = 1,
        .initiator_depth = 1,
        .retry_count = v->config.retries,
        .rnr_retry_count = RNR_RETRIES,
        .srq = verbs_shares_receives(v),
        .qp_num = c->qp->qp_num,
    };
}

/* ------------------------------------------------------------------ the lower rank ------------ */

static int cm_connect(struct verbs *v, struct connection *c)
{
    union ibv_gid gid;
    struct sockaddr_storage own = own_address(v), theirs;

    if (v->config.rank > c->endpoint.rank) {
        c->state = c->link != NULL && c->link->established ? CONNECTION_READY : CONNECTION_MEETING;
        return NCOLL_OK;
    }
    memcpy(gid.raw, c->peer->gid, sizeof gid.raw);
    theirs = address(&gid, v->where.kind, c->peer->cm_port);
    if ((c->link = calloc(1, sizeof *c->link)) == NULL)
        return ncoll__verbs_no_memory(v, "a connection");
    c->link->peer_mtu = c->peer->mtu;
    if (rdma_create_id(v->cm->channel, &c->link->id, c, RDMA_PS_TCP) != 0)
        return cm_failed(v, c->endpoint.rank, "make an identifier", errno);
    if (rdma_resolve_addr(c->link->id, (struct sockaddr *)&own, (struct sockaddr *)&theirs,
                          RESOLVE_MS) != 0)
        return cm_failed(v, c->endpoint.rank, "resolve the address of the peer", errno);
    c->state = CONNECTION_MEETING;
    return NCOLL_OK;
}

static int request(struct verbs *v, struct connection *c)
{
    struct cm_request text = {
        .rank = v->config.rank, .qpn = c->peer_qpn, .mtu = ncoll__verbs_mtu(v, &v->port)};
    struct rdma_conn_param param = parameters(v, c);
    int rc = to_state(v, c, IBV_QPS_INIT);

    if (rc == NCOLL_OK)
        rc = ncoll__receives_begin(v, c);
    if (rc != NCOLL_OK)
        return rc;
    param.private_data = &text;
    param.private_data_len = sizeof text;
    return rdma_connect(c->link->id, &param) == 0
               ? NCOLL_OK
               : cm_failed(v, c->endpoint.rank, "ask the peer for a connection", errno);
}

static int answered(struct verbs *v, struct connection *c)
{
    int rc = to_state(v, c, IBV_QPS_RTR);

    if (rc == NCOLL_OK)
        rc = to_state(v, c, IBV_QPS_RTS);
    if (rc != NCOLL_OK)
        return rc;
    if (rdma_establish(c->link->id) != 0)
        return cm_failed(v, c->endpoint.rank, "establish the connection", errno);
    c->state = CONNECTION_READY;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ the higher rank ----------- */

/* Returns the connection that a request is for; NULL: no such connection was offered. */
static struct connection *requester(struct verbs *v, const struct rdma_conn_param *param,
                                    enum ibv_mtu *mtu)
{
    struct cm_request text;

    if (param->private_data == NULL || param->private_data_len < sizeof text)
        return NULL;
    memcpy(&text, param->private_data, sizeof text);
    if (text.rank < 0 || text.rank >= v->config.ranks)
        return NULL;
    struct connection *c = v->by_rank[text.rank];
    *mtu = (enum ibv_mtu)text.mtu;
    return c != NULL && c->qp->qp_num == text.qpn && c->link == NULL ? c : NULL;
}

static int requested(struct verbs *v, struct connection *c, struct rdma_cm_id *id, enum ibv_mtu mtu)
{
    struct rdma_conn_param param = parameters(v, c);
    int rc;

    if ((c->link = calloc(1, sizeof *c->link)) == NULL) {
        rdma_destroy_id(id);
        return ncoll__verbs_no_memory(v, "a connection");
    }
    c->link->id = id;
    c->link->peer_mtu = mtu;
    id->context = c;
    if ((rc = to_state(v, c, IBV_QPS_INIT)) != NCOLL_OK ||
        (rc = ncoll__receives_begin(v, c)) != NCOLL_OK ||
        (rc = to_state(v, c, IBV_QPS_RTR)) != NCOLL_OK ||
        (rc = to_state(v, c, IBV_QPS_RTS)) != NCOLL_OK)
        return rc;
    return rdma_accept(id, &param) == 0
               ? NCOLL_OK
               : cm_failed(v, c->endpoint.rank, "accept the connection", errno);
}

static int established(struct connection *c)
{
    c->link->established = true;
    if (c->state == CONNECTION_MEETING)
        c->state = CONNECTION_READY;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ events -------------------- */

/* Handles the failure or the end of a connection. It is an error only if the connection could not
 * be made: the end of a working connection is noticed by its queue pair, and a peer that has left
 * has told this before, over a connection that worked. */
static int refused(struct verbs *v, struct connection *c, enum rdma_cm_event_type what, int status)
{
    const struct transport_events *e = &v->config.events;
    char path[PATH_TEXT];

    ncoll__verbs_progress(&v->transport);
    if (c->left || c->state == CONNECTION_READY || c->state == CONNECTION_DEAD)
        return NCOLL_OK;
    return e->fail(e->arg, BECAUSE(NCOLL_ERR_PEER, UNREACHABLE), c->endpoint.rank,
                   "see whether the rank still runs, and `ping` its address; NCOLL_WIRING=direct "
                   "does without librdmacm",
                   "librdmacm cannot connect rank %d: %s, status %d (%s)", c->endpoint.rank,
                   rdma_event_str(what), status, ncoll__verbs_path_text(v, c, path));
}

/* Handles an event. The caller has acknowledged it, since an identifier can be destroyed only after
 * that. */
static int handle(struct verbs *v, enum rdma_cm_event_type what, int status, struct rdma_cm_id *id,
                  struct connection *c, enum ibv_mtu mtu)
{
    switch (what) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        if (c != NULL)
            return requested(v, c, id, mtu);
        rdma_reject(id, NULL, 0);
        rdma_destroy_id(id);
        return NCOLL_OK;
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return rdma_resolve_route(id, RESOLVE_MS) == 0
                   ? NCOLL_OK
                   : cm_failed(v, c->endpoint.rank, "resolve the route to the peer", errno);
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return request(v, c);
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        return answered(v, c);
    case RDMA_CM_EVENT_ESTABLISHED:
        return established(c);
    default:
        return c != NULL ? refused(v, c, what, status) : NCOLL_OK;
    }
}

static int cm_advance(struct verbs *v)
{
    struct rdma_cm_event *event;
    int rc = NCOLL_OK;

    while (rc == NCOLL_OK && rdma_get_cm_event(v->cm->channel, &event) == 0) {
        enum rdma_cm_event_type what = event->event;
        int status = event->status;
        struct rdma_cm_id *id = event->id;
        enum ibv_mtu mtu = IBV_MTU_4096;
        struct connection *c = what == RDMA_CM_EVENT_CONNECT_REQUEST
                                   ? requester(v, &event->param.conn, &mtu)
                                   : id->context;
        rdma_ack_cm_event(event);
        rc = handle(v, what, status, id, c, mtu);
    }
    return rc;
}

/* ------------------------------------------------------------------ closing ------------------- */

static void cm_disconnect(struct connection *c)
{
    if (c->link == NULL)
        return;
    if (c->link->id != NULL)
        rdma_destroy_id(c->link->id);
    free(c->link);
    c->link = NULL;
}

static void cm_close(struct verbs *v)
{
    if (v->cm == NULL)
        return;
    if (v->cm->listener != NULL)
        rdma_destroy_id(v->cm->listener);
    if (v->cm->channel != NULL)
        rdma_destroy_event_channel(v->cm->channel);
    free(v->cm);
}

const struct wiring_ops ncoll__wiring_cm = {
    .name = "rdmacm",
    .open = cm_open,
    .describe = cm_describe,
    .connect = cm_connect,
    .advance = cm_advance,
    .disconnect = cm_disconnect,
    .close = cm_close,
};
