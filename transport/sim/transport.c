/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control path of the simulated transport: opening, windows, memory, connections. It behaves
 * like a network card: peers have to connect before they write, long messages need registered
 * memory, and their source is read only when they arrive.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/sim/sim_transport.h"

/* The longest time that connecting takes. */
#define CONNECT_NS 20000u

static int sim_open(const struct transport_config *config, struct transport **out)
{
    const struct transport_events *e = &config->events;
    const struct sim_config *s = &ncoll__sim->config;
    struct sim_rank *r = ncoll__sim->running;
    struct sim_transport *t = calloc(1, sizeof *t);

    if (t == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks", config->ranks);
    *t = (struct sim_transport){
        .transport = {.ops = &ncoll__transport_sim,
                      .wiring = "direct",
                      .device = "simulated",
                      .must_progress = true,
                      .cost = {(double)s->latency_ns + 2.0 * (double)s->overhead_ns,
                               (double)(s->overhead_ns > s->gap_ns ? s->overhead_ns : s->gap_ns),
                               1000.0 / (double)s->bytes_per_us}},
        .config = *config,
        .owner = r,
        .session = ++r->session,
    };
    ncoll__sim_unbury(
        t->session); /* all ranks have left their contexts of earlier sessions by now */
    if (s->node_ranks > 1) {
        t->transport.shares_windows = true;
        t->transport.near_cost = t->transport.cost;
        t->transport.near_cost.latency_ns -= (double)s->latency_ns - (double)s->near_latency_ns;
    }
    t->mail_end = &t->mail;
    t->positions_end = &t->positions;
    r->transport = t;
    *out = &t->transport;
    return NCOLL_OK;
}

static int describe(struct transport *t, struct blob *blob)
{
    int32_t rank = sim_of(t)->config.rank;

    ncoll__blob_add(blob, &rank, sizeof rank);
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ windows ------------------- */

static void count_bytes(struct sim_transport *t, const struct sim_window *w, bool there)
{
    struct sim *s = ncoll__sim;
    size_t scratch = EPOCHS * w->window.shape.scratch_bytes;

    t->memory_bytes += there ? w->bytes : -w->bytes;
    t->scratch_bytes += there ? scratch : -scratch;
    s->window_bytes += there ? w->bytes : -w->bytes;
    if (s->window_bytes > s->report.window_bytes)
        s->report.window_bytes = s->window_bytes;
}

static bool make_place(struct sim_transport *t, unsigned id)
{
    if (id < t->n_windows)
        return true;
    struct sim_window **grown = realloc(t->windows, (id + 1) * sizeof(struct sim_window *));
    if (grown == NULL)
        return false;
    memset(grown + t->n_windows, 0, (id + 1 - t->n_windows) * sizeof(struct sim_window *));
    t->windows = grown;
    t->n_windows = id + 1;
    return true;
}

static int window_create(struct transport *transport, const struct window_shape *shape,
                         struct window **out)
{
    struct sim_transport *t = sim_of(transport);
    const struct transport_events *e = &t->config.events;
    struct sim_window *w = calloc(1, sizeof *w);
    size_t bytes = window_bytes(shape);
    void *base = MAP_FAILED;

    if (w != NULL && make_place(t, shape->id))
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        free(w);
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a window");
    }
    *w = (struct sim_window){.window = {.shape = *shape},
                             .unique = ++ncoll__sim->uniques,
                             .bytes = bytes,
                             .base = base,
                             .session = t->session};
    window_lay_out(&w->window, base);
    count_bytes(t, w, true);
    t->windows[shape->id] = w;
    *out = &w->window;
    return NCOLL_OK;
}

struct sim_window *ncoll__sim_window(const struct sim_transport *t, struct window_name name)
{
    struct sim_window *w = name.id < t->n_windows ? t->windows[name.id] : NULL;

    return w != NULL && w->unique == name.unique ? w : NULL;
}

static void free_window(struct sim_window *w)
{
    munmap(w->base, w->bytes);
    free(w);
}

void ncoll__sim_unbury(unsigned session)
{
    struct sim_window **link = &ncoll__sim->buried;

    while (*link != NULL) {
        struct sim_window *w = *link;
        if (w->session >= session) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        free_window(w);
    }
}

/* Waits until the sources of messages in flight have been read. Unless `quiet` is set, neighbours
 * may still read messages in the window, so its memory stays for the rest of the session. */
static void window_destroy(struct transport *transport, struct window *window, bool quiet)
{
    struct sim_transport *t = sim_of(transport);
    struct sim_window *w = (struct sim_window *)window;

    if (w == NULL)
        return;
    if (quiet && w->long_on_way > 0 && !ncoll__sim->wounded)
        ncoll__sim_violation("rank %d destroys a window from which %u messages have not been read",
                             t->config.rank, w->long_on_way);
    while (w->long_on_way > 0 && !t->owner->killed)
        ncoll__sim_block(t->owner, RETRY_NS);
    count_bytes(t, w, false);
    t->windows[window->shape.id] = NULL;
    if (quiet || ncoll__sim->config.node_ranks == 1) {
        free_window(w);
        return;
    }
    w->next = ncoll__sim->buried;
    ncoll__sim->buried = w;
}

/* ------------------------------------------------------------------ memory -------------------- */

static int add_memory(struct sim_transport *t, struct memory memory, struct memory **out)
{
    const struct transport_events *e = &t->config.events;
    struct sim_memory *m = calloc(1, sizeof *m);

    if (m == NULL) {
        if (memory.allocated)
            munmap(memory.base, memory.bytes);
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory");
    }
    m->memory = memory;
    m->unique = ++ncoll__sim->uniques;
    m->next = t->memories;
    t->memories = m;
    *out = &m->memory;
    return NCOLL_OK;
}

static int memory_register(struct transport *t, void *base, size_t bytes, struct memory **out)
{
    return add_memory(sim_of(t), (struct memory){.base = base, .bytes = bytes, .reachable = true},
                      out);
}

static int memory_allocate(struct transport *t, size_t bytes, struct memory **out)
{
    const struct transport_events *e = &sim_of(t)->config.events;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %zu bytes", bytes);
    return add_memory(
        sim_of(t),
        (struct memory){.base = base, .bytes = bytes, .allocated = true, .reachable = true}, out);
}

static void memory_release(struct transport *transport, struct memory *memory)
{
    struct sim_transport *t = sim_of(transport);
    struct sim_memory *m = (struct sim_memory *)memory, **link = &t->memories;

    while (t->users_on_way > 0 && !t->owner->killed)
        ncoll__sim_block(t->owner, RETRY_NS);
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    if (memory->allocated)
        munmap(memory->base, memory->bytes);
    free(m);
}

/* ------------------------------------------------------------------ connections --------------- */

/* The content of an offer. */
struct sim_offer {
    int32_t from, to;
    struct window_name window;
};
_Static_assert(sizeof(struct sim_offer) <= OFFER_BYTES, "an offer has room for it");

static unsigned place_of(const struct sim_transport *t, int rank)
{
    unsigned at = (unsigned)rank * 0x9e3779b1u & (t->n_places - 1);

    while (t->links[at] != NULL && t->links[at]->endpoint.rank != rank)
        at = (at + 1) & (t->n_places - 1);
    return at;
}

struct link *ncoll__sim_link(const struct sim_transport *t, int rank)
{
    return t->n_places > 0 ? t->links[place_of(t, rank)] : NULL;
}

static bool grow(struct sim_transport *t)
{
    unsigned n = t->n_places, places = n > 0 ? 2 * n : 16;
    struct link **former = t->links;

    if (4 * (t->n_links + 1) <= 3 * n)
        return true;
    t->links = calloc(places, sizeof(struct link *));
    if (t->links == NULL) {
        t->links = former;
        return false;
    }
    t->n_places = places;
    for (unsigned i = 0; i < n; i++)
        if (former[i] != NULL)
            t->links[place_of(t, former[i]->endpoint.rank)] = former[i];
    free(former);
    return true;
}

static struct link *add_link(struct sim_transport *t, int rank)
{
    const struct sim_config *s = &ncoll__sim->config;
    struct link *link = grow(t) ? calloc(1, sizeof *link) : NULL;

    if (link == NULL)
        return NULL;
    link->endpoint = (struct endpoint){rank, &t->transport};
    link->slow_ns = sim_one_in(&t->owner->random, s->slow_one_in) ? s->slow_ns : 0;
    t->links[place_of(t, rank)] = link;
    t->n_links++;
    if (sim_is_killed(rank))
        ncoll__sim_notice(rank, t->config.rank);
    return link;
}

static bool set_view(struct link *link, unsigned id, struct window_name name)
{
    const struct sim_transport *theirs = sim_rank_of(link->endpoint.rank)->transport;
    const struct sim_window *w = theirs != NULL ? ncoll__sim_window(theirs, name) : NULL;

    if (id >= link->n_views) {
        struct view *grown = realloc(link->views, (id + 1) * sizeof *grown);
        if (grown == NULL)
            return false;
        memset(grown + link->n_views, 0, (id + 1 - link->n_views) * sizeof *grown);
        link->views = grown;
        link->n_views = id + 1;
    }
    struct view *view = &link->views[id];
    if (view->name.unique != name.unique)
        view->admitted = (struct window_extent){0};
    view->name = name;
    view->window = w != NULL ? &w->window : NULL;
    return true;
}

static int offer(struct transport *t, struct window *w, int peer, unsigned depth,
                 struct offer *offer)
{
    struct sim_offer mine = {.from = sim_of(t)->config.rank,
                             .to = peer,
                             .window = {w->shape.id, ((struct sim_window *)w)->unique}};

    (void)depth;
    memset(offer, 0, sizeof *offer);
    memcpy(offer, &mine, sizeof mine);
    return NCOLL_OK;
}

/* True if the rank is on the node of this one, as transports see it. */
static bool is_near(const struct sim_transport *t, int rank)
{
    int ranks = ncoll__sim->config.node_ranks;

    return ranks > 1 && rank / ranks == t->config.rank / ranks;
}

static int accept(struct transport *transport, struct window *w, int peer, const void *peer_desc,
                  size_t peer_desc_len, const struct offer *offer)
{
    struct sim_transport *t = sim_of(transport);
    const struct transport_events *e = &t->config.events;
    struct link *link = ncoll__sim_link(t, peer);
    struct sim_offer theirs;
    int32_t described;

    memcpy(&theirs, offer, sizeof theirs);
    if (peer_desc_len != sizeof described || theirs.from != peer || theirs.to != t->config.rank)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), peer,
                       "check that all ranks run the same ncoll",
                       "what rank %d offered is not for rank %d", peer, t->config.rank);
    memcpy(&described, peer_desc, sizeof described);
    if (described != peer)
        ncoll__sim_violation("rank %d has the description of rank %d for that of rank %d",
                             t->config.rank, described, peer);
    if (is_near(t, peer) && sim_is_killed(peer)) /* shm finds no memory of such a process */
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), peer, NULL, "rank %d was killed",
                       peer);
    if (link == NULL)
        link = add_link(t, peer);
    if (link == NULL || !set_view(link, w->shape.id, theirs.window))
        return e->fail(e->arg, NCOLL_ERR_MEMORY, peer, NULL, "no memory to connect rank %d", peer);
    return NCOLL_OK;
}

static void met(struct transport *transport, int peer)
{
    struct sim_transport *t = sim_of(transport);
    struct link *link = ncoll__sim_link(t, peer);

    if (link == NULL || link->met)
        return;
    link->met = true;
    link->ready_at_ns = t->owner->now_ns + sim_random_to(&t->owner->random, CONNECT_NS);
}

static int ready(struct transport *transport, const int *peers, unsigned n_peers)
{
    struct sim_transport *t = sim_of(transport);
    const struct transport_events *e = &t->config.events;

    for (unsigned i = 0; i < n_peers; i++) {
        const struct link *link = ncoll__sim_link(t, peers[i]);
        if (link == NULL)
            return NCOLL_TIMEOUT;
        if (link->gone)
            return e->fail(e->arg, BECAUSE(NCOLL_ERR_PEER, UNREACHABLE), peers[i], NULL,
                           "rank %d does not answer", peers[i]);
        if (!link->left && (!link->met || t->owner->now_ns < link->ready_at_ns))
            return NCOLL_TIMEOUT;
    }
    return NCOLL_OK;
}

static struct endpoint *endpoint(struct transport *t, int rank)
{
    struct link *link = ncoll__sim_link(sim_of(t), rank);

    return link != NULL ? &link->endpoint : NULL;
}

static bool view(struct transport *transport, struct endpoint *at, const struct window *w,
                 struct window_view *view)
{
    const struct link *link = (const struct link *)at;
    const struct window *there =
        w->shape.id < link->n_views ? link->views[w->shape.id].window : NULL;

    if (there == NULL || !is_near(sim_of(transport), at->rank))
        return false;
    ((struct sim_window *)(uintptr_t)there)->viewed = true;
    *view = (struct window_view){there->slots, there->got, there->credits, there->bulk};
    return true;
}

/* ------------------------------------------------------------------ end ----------------------- */

static void counters(struct transport *transport, struct transport_counters *out)
{
    const struct sim_transport *t = sim_of(transport);

    *out = (struct transport_counters){.sleeps = t->sleeps,
                                       .connections = t->n_links,
                                       .memory_bytes = t->memory_bytes,
                                       .scratch_bytes = t->scratch_bytes};
}

static void sim_close(struct transport *transport)
{
    struct sim_transport *t = sim_of(transport);

    ncoll__sim_leave(transport, NULL, NULL);
    t->owner->transport = NULL;
    for (unsigned i = 0; i < t->n_windows; i++)
        if (t->windows[i] != NULL)
            window_destroy(transport, &t->windows[i]->window, false);
    while (t->memories != NULL)
        memory_release(transport, &t->memories->memory);
    for (unsigned i = 0; i < t->n_places; i++)
        if (t->links[i] != NULL) {
            free(t->links[i]->farewell);
            free(t->links[i]->views);
            free(t->links[i]);
        }
    ncoll__sim_mail_free(t);
    free(t->links);
    free(t->windows);
    free(t);
}

const struct transport_ops ncoll__transport_sim = {
    .name = "sim",
    .open = sim_open,
    .describe = describe,
    .window_create = window_create,
    .window_destroy = window_destroy,
    .extend = ncoll__sim_extend,
    .admit = ncoll__sim_admit,
    .memory_allocate = memory_allocate,
    .memory_register = memory_register,
    .memory_release = memory_release,
    .offer = offer,
    .accept = accept,
    .ready = ready,
    .met = met,
    .endpoint = endpoint,
    .view = view,
    .put = ncoll__sim_put,
    .credit = ncoll__sim_credit,
    .advertise = ncoll__sim_advertise,
    .drained = ncoll__sim_drained,
    .arrived = ncoll__sim_arrived,
    .progress = ncoll__sim_progress,
    .wait = ncoll__sim_wait,
    .check = ncoll__sim_check,
    .control = ncoll__sim_control,
    .tell = ncoll__sim_tell,
    .counters = counters,
    .leave = ncoll__sim_leave,
    .farewell = ncoll__sim_farewell,
    .close = sim_close,
};
