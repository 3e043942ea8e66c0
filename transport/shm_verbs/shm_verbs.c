/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the transport, makes windows and memory, and chooses the transport to each
 * rank. */
#include "transport/shm_verbs/shm_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

extern const struct transport_ops ncoll__transport_shm, ncoll__transport_verbs,
    ncoll__transport_shm_verbs;

static int no_memory(const struct shm_verbs *m, const char *what)
{
    const struct transport_events *e = &m->config.events;

    return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %s", what);
}

/* ------------------------------------------------------------------ opening ------------------- */

static void shm_verbs_close(struct transport *t)
{
    struct shm_verbs *m = shm_verbs_of(t);

    /* the device must release the windows first */
    if (m->verbs != NULL)
        m->verbs->ops->close(m->verbs);
    if (m->shm != NULL)
        m->shm->ops->close(m->shm);
    free(m->on_node);
    free(m->windows);
    free(m->others);
    free(m);
}

static int open_both(struct shm_verbs *m)
{
    const struct transport_events *e = &m->config.events;
    int rc = ncoll__transport_shm.open(&m->config, &m->shm);

    if (rc == NCOLL_OK)
        rc = ncoll__transport_verbs.open(&m->config, &m->verbs);
    if (rc != NCOLL_OK)
        return rc;
    int error = -ncoll__shm_make_bell((struct shm *)m->shm);
    if (error != 0)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS), -1,
                       "raise the limit: ulimit -n 4096",
                       "no pipe for peers of this node to wake rank %d: %s", m->config.rank,
                       strerror(error));
    return NCOLL_OK;
}

static int shm_verbs_open(const struct transport_config *config, struct transport **out)
{
    const struct transport_events *e = &config->events;
    size_t ranks = (size_t)config->ranks;
    struct shm_verbs *m = calloc(1, sizeof *m);
    int rc;

    if (m == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the transport");
    m->config = *config;
    m->on_node = calloc(ranks, sizeof *m->on_node);
    m->windows = calloc(WINDOWS_MAX, sizeof(struct window *));
    m->others = calloc(ranks, sizeof *m->others);
    if (m->on_node == NULL || m->windows == NULL || m->others == NULL)
        rc = no_memory(m, "the transport");
    else
        rc = open_both(m);
    for (size_t r = 0; rc == NCOLL_OK && r < ranks; r++)
        m->on_node[r] = config->nodes[r] == config->node;
    m->config.nodes = NULL;
    m->config.examined = NULL;
    m->config.networks = NULL;
    m->config.gid = NULL;
    if (rc != NCOLL_OK) {
        shm_verbs_close(&m->transport);
        return rc;
    }
    m->transport = (struct transport){.ops = &ncoll__transport_shm_verbs,
                                      .wiring = m->verbs->wiring,
                                      .sends_any_on_node = true,
                                      .shares_windows = true,
                                      .peer_reads = true,
                                      .moves_strings = m->shm->moves_strings,
                                      .must_progress = true,
                                      .long_absence_ns = m->verbs->long_absence_ns,
                                      .cost = m->verbs->cost,
                                      .near_cost = m->shm->cost};
    m->transport.peers_most = m->verbs->peers_most;
    for (size_t r = 0; r < ranks && m->verbs->peers_most > 0; r++)
        m->transport.peers_most += m->on_node[r] && r != (size_t)config->rank;
    memcpy(m->transport.device, m->verbs->device, sizeof m->transport.device);
    *out = &m->transport;
    return NCOLL_OK;
}

/* Appends both descriptions. That of shm comes first and always has the same length. */
static int shm_verbs_describe(struct transport *t, struct blob *blob)
{
    struct shm_verbs *m = shm_verbs_of(t);
    int rc = m->shm->ops->describe(m->shm, blob);

    return rc == NCOLL_OK ? m->verbs->ops->describe(m->verbs, blob) : rc;
}

/* ------------------------------------------------------------------ windows ------------------- */

static int shm_verbs_window_create(struct transport *t, const struct window_shape *shape,
                                   struct window **out)
{
    struct shm_verbs *m = shm_verbs_of(t);
    struct window *shm;

    int rc = m->shm->ops->window_create(m->shm, shape, &shm);
    if (rc != NCOLL_OK)
        return rc;
    rc = ncoll__verbs_window_over(m->verbs, shape, shm->advertisements, out);
    if (rc != NCOLL_OK) {
        m->shm->ops->window_destroy(m->shm, shm, true);
        return rc;
    }
    m->windows[shape->id] = shm;
    return NCOLL_OK;
}

static void shm_verbs_window_destroy(struct transport *t, struct window *w, bool quiet)
{
    struct shm_verbs *m = shm_verbs_of(t);

    if (w == NULL)
        return;
    struct window *shm = m->windows[w->shape.id];
    m->windows[w->shape.id] = NULL;
    shm->used_slots = w->used_slots;
    shm->had_long = w->had_long;
    m->verbs->ops->window_destroy(m->verbs, w, quiet);
    m->shm->ops->window_destroy(m->shm, shm, quiet);
}

static int shm_verbs_extend(struct transport *t, struct window *w, const struct window_extent *need)
{
    return ncoll__verbs_extend(shm_verbs_of(t)->verbs, w, need);
}

static void shm_verbs_admit(struct transport *t, struct window *w, int peer)
{
    struct shm_verbs *m = shm_verbs_of(t);

    if (!m->on_node[peer])
        ncoll__verbs_admit(m->verbs, w, peer);
}

/* ------------------------------------------------------------------ the user's memory --------- */

/* Registers the whole segment that shm has made: see register_memory() in
 * transport/verbs/user_memory.c. */
static int register_with_device(struct shm_verbs *m, struct memory *memory)
{
    size_t bytes;
    void *base;

    ncoll__shm_whole(memory, &base, &bytes);
    int rc = m->verbs->ops->memory_register(m->verbs, base, bytes, &memory->device);

    if (rc != NCOLL_OK) {
        m->shm->ops->memory_release(m->shm, memory);
        return rc;
    }
    memory->reachable = true;
    return NCOLL_OK;
}

static int shm_verbs_memory_allocate(struct transport *t, size_t bytes, struct memory **out)
{
    struct shm_verbs *m = shm_verbs_of(t);
    int rc = m->shm->ops->memory_allocate(m->shm, bytes, out);

    return rc == NCOLL_OK ? register_with_device(m, *out) : rc;
}

static int shm_verbs_memory_register(struct transport *t, void *base, size_t bytes,
                                     struct memory **out)
{
    struct shm_verbs *m = shm_verbs_of(t);
    int rc = m->shm->ops->memory_register(m->shm, base, bytes, out);

    return rc == NCOLL_OK ? register_with_device(m, *out) : rc;
}

static void shm_verbs_memory_release(struct transport *t, struct memory *memory)
{
    struct shm_verbs *m = shm_verbs_of(t);

    m->verbs->ops->memory_release(m->verbs, memory->device);
    m->shm->ops->memory_release(m->shm, memory);
}

/* ------------------------------------------------------------------ connecting ---------------- */

static int shm_verbs_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                           struct offer *offer)
{
    struct shm_verbs *m = shm_verbs_of(t);

    if (m->on_node[peer])
        return m->shm->ops->offer(m->shm, m->windows[w->shape.id], peer, depth, offer);
    return m->verbs->ops->offer(m->verbs, w, peer, depth, offer);
}

static int shm_verbs_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                            size_t peer_desc_len, const struct offer *offer)
{
    const size_t shm_len = sizeof(struct shm_description);
    struct shm_verbs *m = shm_verbs_of(t);
    const struct transport_events *e = &m->config.events;

    if (peer_desc_len < shm_len)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), peer,
                       "check that all ranks run the same ncoll",
                       "the description of rank %d has a wrong length, %zu bytes", peer,
                       peer_desc_len);
    if (m->on_node[peer])
        return m->shm->ops->accept(m->shm, m->windows[w->shape.id], peer, peer_desc, shm_len,
                                   offer);
    return m->verbs->ops->accept(m->verbs, w, peer, (const char *)peer_desc + shm_len,
                                 peer_desc_len - shm_len, offer);
}

/* Peers of the node are ready when they are accepted. */
static int shm_verbs_ready(struct transport *t, const int *peers, unsigned n_peers)
{
    struct shm_verbs *m = shm_verbs_of(t);
    unsigned n = 0;

    for (unsigned i = 0; i < n_peers; i++)
        if (!m->on_node[peers[i]])
            m->others[n++] = peers[i];
    return m->verbs->ops->ready(m->verbs, m->others, n);
}

static bool shm_verbs_has_room(struct transport *t, const int *peers, unsigned n_peers)
{
    struct shm_verbs *m = shm_verbs_of(t);
    unsigned n = 0;

    for (unsigned i = 0; i < n_peers; i++)
        if (!m->on_node[peers[i]])
            m->others[n++] = peers[i];
    return ncoll__verbs_has_room(m->verbs, m->others, n);
}

static void shm_verbs_met(struct transport *t, int peer)
{
    struct shm_verbs *m = shm_verbs_of(t);

    if (!m->on_node[peer])
        ncoll__verbs_met(m->verbs, peer);
}

static struct endpoint *shm_verbs_endpoint(struct transport *t, int rank)
{
    struct shm_verbs *m = shm_verbs_of(t);
    struct transport *side = side_of(m, rank);

    return side->ops->endpoint(side, rank);
}

/* Finds the window of a peer on the node, as shm has mapped it. */
static bool shm_verbs_view(struct transport *t, struct endpoint *at, const struct window *w,
                           struct window_view *view)
{
    struct shm_verbs *m = shm_verbs_of(t);

    return m->on_node[at->rank] && ncoll__shm_view(m->shm, at, w, view);
}

static void shm_verbs_wake_watchers(struct transport *t)
{
    ncoll__shm_wake_watchers(shm_verbs_of(t)->shm);
}

/* ------------------------------------------------------------------ messages ------------------ */

/* Only messages between ranks of a node are peer reads, so shm finds them. */
static int shm_verbs_find(struct transport *t, struct endpoint *from, const struct window *w,
                          const struct slot *slot, size_t len_bytes, unsigned char *room,
                          const unsigned char **out)
{
    return ncoll__shm_find(shm_verbs_of(t)->shm, from, w, slot, len_bytes, room, out);
}

static enum single_copy shm_verbs_single_copy(struct transport *t, const struct endpoint *to)
{
    struct shm_verbs *m = shm_verbs_of(t);

    return m->on_node[to->rank] ? ncoll__shm_single_copy(m->shm, to) : SINGLE_COPY_REFUSED;
}

static int shm_verbs_get(struct transport *t, struct endpoint *from, struct window *w,
                         uint64_t epoch, unsigned slot, size_t len_bytes, void *to)
{
    return ncoll__shm_get(shm_verbs_of(t)->shm, from, w, epoch, slot, len_bytes, to);
}

static bool shm_verbs_drained(struct transport *t, bool users_only)
{
    return ncoll__verbs_drained(shm_verbs_of(t)->verbs, users_only);
}

static bool shm_verbs_arrived(struct transport *t, struct window *w)
{
    return ncoll__verbs_arrived(shm_verbs_of(t)->verbs, w);
}

static void shm_verbs_progress(struct transport *t)
{
    ncoll__verbs_progress(shm_verbs_of(t)->verbs);
}

/* ------------------------------------------------------------------ the rest ------------------ */

static void shm_verbs_check(struct transport *t, int suspect)
{
    struct shm_verbs *m = shm_verbs_of(t);
    bool shm = suspect >= 0 && m->on_node[suspect];

    ncoll__shm_check(m->shm, shm ? suspect : -1);
    ncoll__verbs_check(m->verbs, shm ? -1 : suspect);
}

static void shm_verbs_counters(struct transport *t, struct transport_counters *out)
{
    struct shm_verbs *m = shm_verbs_of(t);
    struct transport_counters shm;

    m->shm->ops->counters(m->shm, &shm);
    m->verbs->ops->counters(m->verbs, out);
    out->sleeps += shm.sleeps;
    out->connections += shm.connections;
    out->memory_bytes += shm.memory_bytes;
    out->scratch_bytes += shm.scratch_bytes;
}

static int shm_verbs_raw_exchange(struct transport *t, struct window *w, struct endpoint *peer,
                                  unsigned writes, size_t len_bytes, unsigned iterations,
                                  uint64_t *samples_ns)
{
    struct shm_verbs *m = shm_verbs_of(t);
    struct transport *side = side_of(m, peer->rank);

    if (m->on_node[peer->rank])
        w = m->windows[w->shape.id];
    return side->ops->raw_exchange(side, w, peer, writes, len_bytes, iterations, samples_ns);
}

static void shm_verbs_leave(struct transport *t, farewell_fn say, void *arg)
{
    struct shm_verbs *m = shm_verbs_of(t);

    ncoll__verbs_leave(m->verbs, say, arg);
    ncoll__shm_leave(m->shm, say, arg);
}

static void blocks(struct transport *t, bool blocks)
{
    ncoll__shm_blocks(shm_verbs_of(t)->shm, blocks);
}

static uint64_t siblings_ns(struct transport *t)
{
    return ncoll__shm_siblings_ns(shm_verbs_of(t)->shm);
}

const struct transport_ops ncoll__transport_shm_verbs = {
    .name = "shm+verbs",
    .before = ncoll__verbs_before,
    .examine = ncoll__verbs_examine,
    .networks = ncoll__verbs_networks,
    .open = shm_verbs_open,
    .describe = shm_verbs_describe,
    .window_create = shm_verbs_window_create,
    .window_destroy = shm_verbs_window_destroy,
    .extend = shm_verbs_extend,
    .admit = shm_verbs_admit,
    .memory_allocate = shm_verbs_memory_allocate,
    .memory_register = shm_verbs_memory_register,
    .memory_release = shm_verbs_memory_release,
    .has_room = shm_verbs_has_room,
    .offer = shm_verbs_offer,
    .accept = shm_verbs_accept,
    .ready = shm_verbs_ready,
    .met = shm_verbs_met,
    .endpoint = shm_verbs_endpoint,
    .view = shm_verbs_view,
    .wake_watchers = shm_verbs_wake_watchers,
    .find = shm_verbs_find,
    .single_copy = shm_verbs_single_copy,
    .get = shm_verbs_get,
    .drained = shm_verbs_drained,
    .arrived = shm_verbs_arrived,
    .progress = shm_verbs_progress,
    .wait = ncoll__shm_verbs_wait,
    .arm = ncoll__shm_verbs_arm,
    .woken = ncoll__shm_verbs_woken,
    .blocks = blocks,
    .siblings_ns = siblings_ns,
    .check = shm_verbs_check,
    .counters = shm_verbs_counters,
    .raw_exchange = shm_verbs_raw_exchange,
    .leave = shm_verbs_leave,
    .close = shm_verbs_close,
};
