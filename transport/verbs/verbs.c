/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the transport, and describes this rank for its peers. */
#include "transport/verbs/rail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The costs of messages with a network card, and with software RoCE, where the processor does the
 * work: there a message takes as long as 2,500 bytes, and several times as long as a context
 * switch. */
#define LATENCY_NS 1500.0
#define MESSAGE_NS 200.0
#define BYTE_NS    0.1

#define SOFT_LATENCY_NS 4000.0
#define SOFT_MESSAGE_NS 8000.0
#define SOFT_BYTE_NS    3.2

extern const struct transport_ops ncoll__transport_verbs;

/* ------------------------------------------------------------------ opening ------------------- */

static const struct wiring_ops *find_wiring(const char *name)
{
    if (name == NULL || strcmp(name, ncoll__wiring_direct.name) == 0)
        return &ncoll__wiring_direct;
#ifdef NCOLL_HAVE_RDMACM
    if (strcmp(name, ncoll__wiring_cm.name) == 0)
        return &ncoll__wiring_cm;
#endif
    return NULL;
}

static int open_device(struct verbs *v)
{
    int rc = ncoll__device_open(v), error;

    v->config.examined = NULL;
    v->config.networks = NULL;
    v->config.gid = NULL;
    if (rc != NCOLL_OK)
        return rc;
    if ((error = ibv_query_port(v->device, (uint8_t)v->where.port, &v->port)) != 0 ||
        (error = ibv_query_device(v->device, &v->limits)) != 0)
        return ncoll__verb_failed(v, "a context", 0, error);
    return NCOLL_OK;
}

/* Returns the completion vector of this rank. The ranks of a node use different ones, so that the
 * interrupts that wake them go to different cores. */
static int vector_of(const struct verbs *v)
{
    int vectors = v->device->num_comp_vectors;

    return vectors > 0 ? (int)(v->local_rank % (unsigned)vectors) : 0;
}

/* If the device cannot resize a completion queue, replaces it at once by one with all the entries
 * that this rank can ever need. */
static int make_final(struct verbs *v, unsigned depth)
{
    unsigned most = ncoll__rooms_completions(&v->rooms);

    if (most > (unsigned)v->limits.max_cqe)
        most = (unsigned)v->limits.max_cqe;
    if (most <= depth)
        return NCOLL_OK;
    int error = abs(ibv_resize_cq(v->cq, (int)depth));
    if (error != ENOSYS && error != EOPNOTSUPP)
        return NCOLL_OK; /* it can resize, or will report another error when it has to */
    ibv_destroy_cq(v->cq);
    v->cq = ibv_create_cq(v->device, (int)most, NULL, v->channel, vector_of(v));
    return v->cq != NULL ? NCOLL_OK
                         : ncoll__verb_failed(v, "a completion queue", most * 64ul, errno);
}

static int open_queues(struct verbs *v)
{
    int depth = v->limits.max_cqe < (int)CQ_DEPTH ? v->limits.max_cqe : (int)CQ_DEPTH, rc;

    if ((v->pd = ibv_alloc_pd(v->device)) == NULL)
        return ncoll__verb_failed(v, "a protection domain", 0, errno);
    if ((v->channel = ibv_create_comp_channel(v->device)) == NULL)
        return ncoll__verb_failed(v, "a completion channel", 0, errno);
    int flags = fcntl(v->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(v->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return ncoll__verb_failed(v, "a completion channel that does not block", 0, errno);
    if ((v->cq = ibv_create_cq(v->device, depth, NULL, v->channel, vector_of(v))) == NULL)
        return ncoll__verb_failed(v, "a completion queue", CQ_DEPTH * 64ul, errno);
    if ((rc = make_final(v, (unsigned)depth)) != NCOLL_OK)
        return rc;
    for (unsigned i = 0; i + 1 < RECEIVE_BATCH; i++)
        v->refill[i].next = &v->refill[i + 1];
    return v->limits.max_srq > 0 ? ncoll__receives_queue(v, v->rooms.places) : NCOLL_OK;
}

static void divide_queues(struct verbs *v)
{
    bool shared = v->limits.max_srq > 0;
    struct room_limits limits = {
        .receives = shared ? (unsigned)v->limits.max_srq_wr : RECEIVES_MAX,
        .completions = (unsigned)v->limits.max_cqe,
        .batch = shared ? 0 : RECEIVE_BATCH,
        .many_queues = v->limits.max_srq >= SRQS_MANY,
    };

    ncoll__rooms_divide((unsigned)v->config.ranks, &limits, &v->rooms);
}

static bool is_soft(const struct verbs *v)
{
    return v->limits.vendor_id == RXE_VENDOR_ID;
}

static struct transport_cost cost(const struct verbs *v)
{
    if (is_soft(v))
        return (struct transport_cost){SOFT_LATENCY_NS, SOFT_MESSAGE_NS, SOFT_BYTE_NS};
    return (struct transport_cost){LATENCY_NS, MESSAGE_NS, BYTE_NS};
}

static void verbs_close(struct transport *t);

static int verbs_open(const struct transport_config *config, struct transport **out)
{
    const struct transport_events *e = &config->events;
    struct verbs *v = calloc(1, sizeof *v);
    int rc;

    if (v == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the verbs transport");
    v->config = *config;
    v->transport = (struct transport){.ops = &ncoll__transport_verbs, .must_progress = true};
    v->rail_calls = &ncoll__rail_calls;
    v->by_rank = calloc((size_t)config->ranks, sizeof(struct connection *));
    if ((v->wiring = find_wiring(config->wiring)) == NULL)
        rc = e->fail(e->arg, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_BUILT), -1,
                     "use NCOLL_WIRING=direct, or install librdmacm's headers and rebuild",
                     "this ncoll was built without the wiring \"%s\"", config->wiring);
    else if (v->by_rank == NULL)
        rc = e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks", config->ranks);
    else if ((rc = open_device(v)) == NCOLL_OK) {
        divide_queues(v);
        if ((rc = open_queues(v)) == NCOLL_OK)
            rc = v->wiring->open(v);
        if (rc == NCOLL_OK)
            ncoll__rail_open(v, v->wiring == &ncoll__wiring_direct);
    }
    if (rc != NCOLL_OK) {
        verbs_close(&v->transport);
        return rc;
    }
    v->transport.wiring = v->wiring->name;
    v->transport.cost = cost(v);
    v->transport.long_absence_ns = is_soft(v) ? SOFT_LONG_ABSENCE_NS : VERBS_LONG_ABSENCE_NS;
    v->transport.peers_most = ncoll__verbs_peers_most(v);
    snprintf(v->transport.device, sizeof v->transport.device, "%.31s %04x:%04x %.31s",
             v->where.device, v->limits.vendor_id, v->limits.vendor_part_id, v->limits.fw_ver);
    v->rnr_at_open = ncoll__verbs_rnr(v);
    e->log(e->arg, NCOLL_LOG_INFO, "verbs: device %s, port %d, GID %d: %s", v->where.device,
           v->where.port, v->where.gid_index, v->where.why);
    *out = &v->transport;
    return NCOLL_OK;
}

static int verbs_describe(struct transport *t, struct blob *blob)
{
    const struct verbs *v = verbs_of(t);
    struct stat st;
    struct verbs_description d = {
        .node = v->config.node,
        .pid_namespace = stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0,
        .pid = getpid(),
        .lid = v->port.lid,
        .mtu = (uint8_t)ncoll__verbs_mtu(v, &v->port),
        .link_layer = v->port.link_layer,
        .gid_kind = (uint16_t)v->where.kind,
        .pkey = v->where.pkey,
        .needs_grh = ncoll__needs_grh(&v->port),
    };

    memcpy(d.gid, v->where.gid.raw, sizeof d.gid);
    v->wiring->describe(v, &d);
    ncoll__blob_add(blob, &d, sizeof d);
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ the rest ------------------ */

static void verbs_counters(struct transport *t, struct transport_counters *out)
{
    const struct verbs *v = verbs_of(t);

    *out = (struct transport_counters){.rnr = ncoll__verbs_rnr(v) - v->rnr_at_open,
                                       .sleeps = v->sleeps,
                                       .rail_bytes = v->rail != NULL ? v->rail->bytes : 0};
    for (unsigned i = 0; i < v->n_connections; i++)
        out->connections += v->connections[i]->state == CONNECTION_READY;
    for (unsigned i = 0; i < v->n_stretches; i++) {
        const struct verbs_window *w = ncoll__verbs_window_from(v, i);
        if (w == NULL)
            continue;
        out->pinned_bytes += w->pinned_bytes;
        if (w->memory.borrowed)
            continue;
        out->memory_bytes += w->memory.bytes;
        out->scratch_bytes += EPOCHS * w->window.shape.scratch_bytes;
    }
    for (const struct registered *r = v->pieces; r != NULL; r = r->next) {
        out->memory_bytes += r->bytes;
        out->pinned_bytes += r->bytes;
    }
}

static void free_memory(struct verbs *v)
{
    ncoll__verbs_windows_free(v);
    for (struct registered *r = v->pieces, *next; r != NULL; r = next) {
        next = r->next;
        ncoll__memory_release(r);
        free(r);
    }
    free(v->connections);
    free(v->by_qp);
    free(v->by_rank);
}

/* Closes everything in the order of dependencies, also after an incomplete open. */
static void verbs_close(struct transport *t)
{
    struct verbs *v = verbs_of(t);

    if (v->n_connections > 0)
        ncoll__verbs_leave(t, NULL, NULL);
    for (unsigned i = 0; i < v->n_connections; i++)
        ncoll__connection_destroy(v, v->connections[i]);
    v->n_connections = 0;
    if (v->wiring != NULL)
        v->wiring->close(v);
    free_memory(v);
    ncoll__rail_close(v);
    for (unsigned i = 0; i < v->n_queues; i++)
        ibv_destroy_srq(v->queues[i].srq);
    if (v->cq != NULL) {
        ncoll__verbs_ack_events(v);
        ibv_destroy_cq(v->cq);
    }
    if (v->channel != NULL)
        ibv_destroy_comp_channel(v->channel);
    if (v->pd != NULL)
        ibv_dealloc_pd(v->pd);
    if (v->device != NULL)
        ibv_close_device(v->device);
    free(v);
}

const struct transport_ops ncoll__transport_verbs = {
    .name = "verbs",
    .before = ncoll__verbs_before,
    .examine = ncoll__verbs_examine,
    .networks = ncoll__verbs_networks,
    .open = verbs_open,
    .describe = verbs_describe,
    .window_create = ncoll__verbs_window_create,
    .window_destroy = ncoll__verbs_window_destroy,
    .extend = ncoll__verbs_extend,
    .admit = ncoll__verbs_admit,
    .memory_allocate = ncoll__verbs_memory_allocate,
    .memory_register = ncoll__verbs_memory_register,
    .memory_release = ncoll__verbs_memory_release,
    .has_room = ncoll__verbs_has_room,
    .offer = ncoll__verbs_offer,
    .accept = ncoll__verbs_accept,
    .ready = ncoll__verbs_ready,
    .met = ncoll__verbs_met,
    .endpoint = ncoll__verbs_endpoint,
    .put = ncoll__verbs_put,
    .credit = ncoll__verbs_credit,
    .advertise = ncoll__verbs_advertise,
    .drained = ncoll__verbs_drained,
    .arrived = ncoll__verbs_arrived,
    .progress = ncoll__verbs_progress,
    .wait = ncoll__verbs_wait,
    .arm = ncoll__verbs_arm,
    .woken = ncoll__verbs_woken,
    .check = ncoll__verbs_check,
    .control = ncoll__verbs_control,
    .tell = ncoll__verbs_tell,
    .counters = verbs_counters,
    .raw_exchange = ncoll__verbs_raw_exchange,
    .leave = ncoll__verbs_leave,
    .farewell = ncoll__verbs_farewell,
    .close = verbs_close,
};
