/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing, windows and memory, and which side reaches whom. */
#include "transport/mixed/mixed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern const struct transport_ops ncoll__transport_shm, ncoll__transport_verbs,
    ncoll__transport_mixed;

static int no_memory(const struct mixed *m, const char *what)
{
    const struct transport_events *e = &m->config.events;

    return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %s", what);
}

/* ------------------------------------------------------------------ opening ------------------- */

static void mixed_close(struct transport *t)
{
    struct mixed *m = mixed_of(t);

    /* The device lets go of the windows first. */
    if (m->far != NULL)
        m->far->ops->close(m->far);
    if (m->near != NULL)
        m->near->ops->close(m->near);
    free(m->is_near);
    free(m->windows);
    free(m->others);
    free(m);
}

static int open_both(struct mixed *m)
{
    const struct transport_events *e = &m->config.events;
    int rc = ncoll__transport_shm.open(&m->config, &m->near);

    if (rc == NCOLL_OK)
        rc = ncoll__transport_verbs.open(&m->config, &m->far);
    if (rc != NCOLL_OK)
        return rc;
    int error = -ncoll__shm_make_bell((struct shm *)m->near);
    if (error != 0)
        return e->fail(e->arg, NCOLL_ERR_RESOURCE, -1, "raise the limit: ulimit -n 4096",
                       "no pipe for peers of this node to wake rank %d: %s", m->config.rank,
                       strerror(error));
    return NCOLL_OK;
}

static int mixed_open(const struct transport_config *config, struct transport **out)
{
    const struct transport_events *e = &config->events;
    size_t ranks = (size_t)config->ranks;
    struct mixed *m = calloc(1, sizeof *m);
    int rc;

    if (m == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the transport");
    m->config = *config;
    m->is_near = calloc(ranks, sizeof *m->is_near);
    m->windows = calloc(WINDOWS_MAX, sizeof(struct window *));
    m->others = calloc(ranks, sizeof *m->others);
    if (m->is_near == NULL || m->windows == NULL || m->others == NULL)
        rc = no_memory(m, "the transport");
    else
        rc = open_both(m);
    for (size_t r = 0; rc == NCOLL_OK && r < ranks; r++)
        m->is_near[r] = config->nodes[r] == config->node;
    m->config.nodes = NULL;
    if (rc != NCOLL_OK) {
        mixed_close(&m->transport);
        return rc;
    }
    m->transport = (struct transport){.ops = &ncoll__transport_mixed,
                                      .wiring = m->far->wiring,
                                      .sends_any_near = true,
                                      .shares_windows = true,
                                      .shows = true,
                                      .moves_strings = m->near->moves_strings,
                                      .must_progress = true,
                                      .cost = m->far->cost,
                                      .near_cost = m->near->cost};
    memcpy(m->transport.device, m->far->device, sizeof m->transport.device);
    *out = &m->transport;
    return NCOLL_OK;
}

/* Both descriptions, shm's first, which has always the same length. */
static int mixed_describe(struct transport *t, struct blob *blob)
{
    struct mixed *m = mixed_of(t);
    int rc = m->near->ops->describe(m->near, blob);

    return rc == NCOLL_OK ? m->far->ops->describe(m->far, blob) : rc;
}

/* ------------------------------------------------------------------ windows ------------------- */

static int mixed_window_create(struct transport *t, const struct window_shape *shape,
                               struct window **out)
{
    struct mixed *m = mixed_of(t);
    struct window *near;

    int rc = m->near->ops->window_create(m->near, shape, &near);
    if (rc != NCOLL_OK)
        return rc;
    rc = ncoll__verbs_window_over(m->far, shape, near->slots, out);
    if (rc != NCOLL_OK) {
        m->near->ops->window_destroy(m->near, near, true);
        return rc;
    }
    m->windows[shape->id] = near;
    return NCOLL_OK;
}

static void mixed_window_destroy(struct transport *t, struct window *w, bool quiet)
{
    struct mixed *m = mixed_of(t);

    if (w == NULL)
        return;
    struct window *near = m->windows[w->shape.id];
    m->windows[w->shape.id] = NULL;
    m->far->ops->window_destroy(m->far, w, quiet);
    m->near->ops->window_destroy(m->near, near, quiet);
}

/* ------------------------------------------------------------------ the user's memory --------- */

/* Takes what shm has made. */
static int register_with_device(struct mixed *m, struct memory *near, struct memory **out)
{
    struct mixed_memory *both = calloc(1, sizeof *both);
    int rc = both != NULL
                 ? m->far->ops->memory_register(m->far, near->base, near->bytes, &both->far)
                 : no_memory(m, "memory of the user's");

    if (rc != NCOLL_OK) {
        m->near->ops->memory_release(m->near, near);
        free(both);
        return rc;
    }
    both->near = near;
    both->memory = (struct memory){
        .base = near->base,
        .bytes = near->bytes,
        .allocated = near->allocated,
        .reachable = true,
        .shown = near->shown,
        .huge = near->huge,
    };
    *out = &both->memory;
    return NCOLL_OK;
}

static int mixed_memory_allocate(struct transport *t, size_t bytes, struct memory **out)
{
    struct mixed *m = mixed_of(t);
    struct memory *near;
    int rc = m->near->ops->memory_allocate(m->near, bytes, &near);

    return rc == NCOLL_OK ? register_with_device(m, near, out) : rc;
}

static int mixed_memory_register(struct transport *t, void *base, size_t bytes, struct memory **out)
{
    struct mixed *m = mixed_of(t);
    struct memory *near;
    int rc = m->near->ops->memory_register(m->near, base, bytes, &near);

    return rc == NCOLL_OK ? register_with_device(m, near, out) : rc;
}

static void mixed_memory_release(struct transport *t, struct memory *memory)
{
    struct mixed *m = mixed_of(t);
    struct mixed_memory *both = (struct mixed_memory *)memory;

    m->far->ops->memory_release(m->far, both->far);
    m->near->ops->memory_release(m->near, both->near);
    free(both);
}

/* ------------------------------------------------------------------ connecting ---------------- */

static int mixed_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                       struct offer *offer)
{
    struct mixed *m = mixed_of(t);

    if (m->is_near[peer])
        return m->near->ops->offer(m->near, m->windows[w->shape.id], peer, depth, offer);
    return m->far->ops->offer(m->far, w, peer, depth, offer);
}

static int mixed_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                        size_t peer_desc_len, const struct offer *offer)
{
    const size_t near_len = sizeof(struct shm_description);
    struct mixed *m = mixed_of(t);
    const struct transport_events *e = &m->config.events;

    if (peer_desc_len < near_len)
        return e->fail(e->arg, NCOLL_ERR_BOOTSTRAP, peer, "check that all ranks run the same ncoll",
                       "rank %d described itself in %zu bytes", peer, peer_desc_len);
    if (m->is_near[peer])
        return m->near->ops->accept(m->near, m->windows[w->shape.id], peer, peer_desc, near_len,
                                    offer);
    return m->far->ops->accept(m->far, w, peer, (const char *)peer_desc + near_len,
                               peer_desc_len - near_len, offer);
}

/* Those of the node are, once they are accepted. */
static int mixed_ready(struct transport *t, const int *peers, unsigned n_peers)
{
    struct mixed *m = mixed_of(t);
    unsigned n = 0;

    for (unsigned i = 0; i < n_peers; i++)
        if (!m->is_near[peers[i]])
            m->others[n++] = peers[i];
    return m->far->ops->ready(m->far, m->others, n);
}

static void mixed_met(struct transport *t, int peer)
{
    struct mixed *m = mixed_of(t);

    if (!m->is_near[peer])
        ncoll__verbs_met(m->far, peer);
}

static struct endpoint *mixed_endpoint(struct transport *t, int rank)
{
    struct mixed *m = mixed_of(t);
    struct transport *side = side_of(m, rank);

    return side->ops->endpoint(side, rank);
}

/* Of peers of the node, which see it as shm has mapped it. */
static bool mixed_view(struct transport *t, struct endpoint *at, const struct window *w,
                       struct window_view *view)
{
    struct mixed *m = mixed_of(t);

    return m->is_near[at->rank] && ncoll__shm_view(m->near, at, w, view);
}

static void mixed_wake_watchers(struct transport *t)
{
    ncoll__shm_wake_watchers(mixed_of(t)->near);
}

/* ------------------------------------------------------------------ the hot path -------------- */

/* Of the sender's window shm asks for its shape only, which is the same. */
static int mixed_put(struct transport *t, const struct put *put)
{
    struct mixed *m = mixed_of(t);

    bool is_near = m->is_near[put->to->rank];

    if (put->memory == NULL)
        return is_near ? ncoll__shm_put(m->near, put) : ncoll__verbs_put(m->far, put);
    const struct mixed_memory *both = (const struct mixed_memory *)put->memory;
    struct put side = *put;
    side.memory = is_near ? both->near : both->far;
    return is_near ? ncoll__shm_put(m->near, &side) : ncoll__verbs_put(m->far, &side);
}

static int mixed_credit(struct transport *t, struct endpoint *to, const struct window *w,
                        uint64_t epoch)
{
    struct mixed *m = mixed_of(t);

    return m->is_near[to->rank] ? ncoll__shm_credit(m->near, to, w, epoch)
                                : ncoll__verbs_credit(m->far, to, w, epoch);
}

static int mixed_invite(struct transport *t, struct endpoint *to, const struct window *w,
                        unsigned box, const struct memory *memory, const void *out,
                        struct invitation *invitation)
{
    const struct mixed_memory *both = (const struct mixed_memory *)memory;
    struct mixed *m = mixed_of(t);

    if (!m->is_near[to->rank])
        return ncoll__verbs_invite(m->far, to, w, box, both->far, out, invitation);
    if (!both->near->reachable) /* its messages go through the window */
        return NCOLL_OK;
    return ncoll__shm_invite(m->near, to, w, box, both->near, out, invitation);
}

/* Only ranks of the node show. */
static int mixed_find(struct transport *t, struct endpoint *from, const struct window *w,
                      const struct slot *slot, size_t len_bytes, unsigned char *room,
                      const unsigned char **out)
{
    return ncoll__shm_find(mixed_of(t)->near, from, w, slot, len_bytes, room, out);
}

static enum lending mixed_lending(struct transport *t, const struct endpoint *to)
{
    struct mixed *m = mixed_of(t);

    return m->is_near[to->rank] ? ncoll__shm_lending(m->near, to) : LENDING_REFUSED;
}

static int mixed_fetch(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
                       unsigned slot, size_t len_bytes, void *to)
{
    return ncoll__shm_fetch(mixed_of(t)->near, from, w, epoch, slot, len_bytes, to);
}

static bool mixed_drained(struct transport *t, bool users_only)
{
    return ncoll__verbs_drained(mixed_of(t)->far, users_only);
}

static bool mixed_arrived(struct transport *t, struct window *w)
{
    return ncoll__verbs_arrived(mixed_of(t)->far, w);
}

static void mixed_progress(struct transport *t)
{
    ncoll__verbs_progress(mixed_of(t)->far);
}

/* ------------------------------------------------------------------ the rest ------------------ */

static void mixed_check(struct transport *t, int suspect)
{
    struct mixed *m = mixed_of(t);
    bool near = suspect >= 0 && m->is_near[suspect];

    ncoll__shm_check(m->near, near ? suspect : -1);
    ncoll__verbs_check(m->far, near ? -1 : suspect);
}

static void mixed_control(struct transport *t, struct endpoint *to, const struct control *message)
{
    struct mixed *m = mixed_of(t);
    struct transport *side = side_of(m, to->rank);

    side->ops->control(side, to, message);
}

static bool mixed_tell(struct transport *t, struct endpoint *to, const struct position *position)
{
    struct mixed *m = mixed_of(t);
    struct transport *side = side_of(m, to->rank);

    return side->ops->tell(side, to, position);
}

static void mixed_counters(struct transport *t, struct transport_counters *out)
{
    struct mixed *m = mixed_of(t);
    struct transport_counters near;

    m->near->ops->counters(m->near, &near);
    m->far->ops->counters(m->far, out);
    out->sleeps += near.sleeps;
    out->connections += near.connections;
    out->memory_bytes += near.memory_bytes;
    out->scratch_bytes += near.scratch_bytes;
}

static int mixed_raw_exchange(struct transport *t, struct window *w, struct endpoint *peer,
                              unsigned writes, size_t len_bytes, unsigned iterations,
                              uint64_t *samples_ns)
{
    struct mixed *m = mixed_of(t);
    struct transport *side = side_of(m, peer->rank);

    if (m->is_near[peer->rank])
        w = m->windows[w->shape.id];
    return side->ops->raw_exchange(side, w, peer, writes, len_bytes, iterations, samples_ns);
}

const struct transport_ops ncoll__transport_mixed = {
    .name = "shm+verbs",
    .open = mixed_open,
    .describe = mixed_describe,
    .window_create = mixed_window_create,
    .window_destroy = mixed_window_destroy,
    .memory_allocate = mixed_memory_allocate,
    .memory_register = mixed_memory_register,
    .memory_release = mixed_memory_release,
    .offer = mixed_offer,
    .accept = mixed_accept,
    .ready = mixed_ready,
    .met = mixed_met,
    .endpoint = mixed_endpoint,
    .view = mixed_view,
    .wake_watchers = mixed_wake_watchers,
    .put = mixed_put,
    .credit = mixed_credit,
    .invite = mixed_invite,
    .find = mixed_find,
    .lending = mixed_lending,
    .fetch = mixed_fetch,
    .drained = mixed_drained,
    .arrived = mixed_arrived,
    .progress = mixed_progress,
    .wait = ncoll__mixed_wait,
    .check = mixed_check,
    .control = mixed_control,
    .tell = mixed_tell,
    .counters = mixed_counters,
    .raw_exchange = mixed_raw_exchange,
    .close = mixed_close,
};
