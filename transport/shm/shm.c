/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the transport, and makes the windows of this rank. */
#include "transport/copy.h"
#include "transport/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Measured on two cores that share a last-level cache: an exchange of 8 bytes takes 45 ns, each
 * further message of the same rank adds 18 ns, and 10 bytes take a nanosecond. */
#define LATENCY_NS 45.0
#define MESSAGE_NS 18.0
#define BYTE_NS    0.1

/* The size of a usual second-level cache. */
#define CACHED_BYTES ((size_t)1 << 20)

/* The most slots of a window that its owner touches when it makes the window. */
#define TOUCHED_SLOTS 128u

extern const struct transport_ops ncoll__transport_shm;

/* Returns the number of this process's pid namespace; 0: not known. Two ranks can share memory only
 * if each can name the other's process. */
static uint64_t own_pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static int open_board(struct shm *s)
{
    const struct transport_events *e = &s->config.events;
    size_t bytes = sizeof *s->board + (size_t)s->config.ranks * sizeof s->board->boxes[0];
    int error = -ncoll__segment_create(&s->board_segment, bytes, s->nonce++);

    if (error != 0)
        return ncoll__shm_no_memory(s, "memory for windows", bytes, error);
    s->board = (struct board *)s->board_segment.base;
    if (s->config.ranks == 1 || ncoll__segment_is_visible(&s->board_segment))
        return NCOLL_OK;
    ncoll__segment_release(&s->board_segment);
    return e->fail(e->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_REFUSED), -1,
                   "mount the /proc of this pid namespace, or set NCOLL_TRANSPORT=verbs",
                   "process %d does not find itself in /proc, through which ranks share memory",
                   (int)getpid());
}

static int shm_open_transport(const struct transport_config *config, struct transport **out)
{
    const struct transport_events *e = &config->events;
    struct shm *s = calloc(1, sizeof *s);
    struct shm_peer **by_rank = calloc((size_t)config->ranks, sizeof *by_rank);
    int rc;

    if (s == NULL || by_rank == NULL) {
        rc = e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks", config->ranks);
        goto free_memory;
    }
    *s = (struct shm){
        .transport = {.ops = &ncoll__transport_shm,
                      .wiring = "map",
                      .sends_any_memory = true,
                      .at_once = true,
                      .shares_windows = true,
                      .peer_reads = true,
                      .long_absence_ns = SHM_LONG_ABSENCE_NS,
                      .moves_strings = ncoll__moves_strings(),
                      .cached_bytes = CACHED_BYTES,
                      .cost = {LATENCY_NS, MESSAGE_NS, BYTE_NS}},
        .config = *config,
        .pid_namespace = own_pid_namespace(),
        .membarrier = ncoll__shm_register_membarrier(),
        .bell = {-1, -1},
        .spare = -1,
        .by_rank = by_rank,
    };
    if (getrandom(&s->nonce, sizeof s->nonce, 0) != sizeof s->nonce) {
        rc = e->fail(e->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_CALL), -1, NULL,
                     "no random numbers: %s", strerror(errno));
        goto free_memory;
    }
    if ((rc = open_board(s)) != NCOLL_OK)
        goto free_memory;
    s->spare = fcntl(s->board_segment.fd, F_DUPFD_CLOEXEC, 0);
    if (!s->membarrier)
        e->log(e->arg, NCOLL_LOG_INFO,
               "shm: there is no membarrier() here, so every message needs a fence");
    *out = &s->transport;
    return NCOLL_OK;

free_memory:
    free(by_rank);
    free(s);
    return rc;
}

static int shm_describe(struct transport *t, struct blob *blob)
{
    const struct shm *s = (const struct shm *)t;
    struct shm_description description = {
        .node = s->config.node,
        .machine = s->config.machine,
        .pid_namespace = s->pid_namespace,
        .board = ncoll__segment_name(&s->board_segment),
        .uid = geteuid(),
        .membarrier = s->membarrier,
        .bell = s->bell[1],
        .bell_inode = ncoll__shm_bell_inode(s),
        .identity = (uintptr_t)&s->board_segment.nonce,
    };

    ncoll__blob_add(blob, &description, sizeof description);
    return NCOLL_OK;
}

/* Returns the number of bytes at the start of a window that its owner touches when it makes it. Few
 * schedules use more slots. */
static size_t touched_bytes(const struct window_shape *shape)
{
    return shape->n_slots <= TOUCHED_SLOTS
               ? window_bulk_at(shape)
               : window_slots_at(shape) + (size_t)TOUCHED_SLOTS * EPOCHS * sizeof(struct slot);
}

static int shm_window_create(struct transport *t, const struct window_shape *shape,
                             struct window **out)
{
    struct shm *s = (struct shm *)t;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = window_round_up(window_bytes(shape), page);
    struct shm_window *w = calloc(1, sizeof *w);
    int error;

    if (w == NULL)
        return ncoll__shm_no_memory(s, "memory for windows", sizeof *w, ENOMEM);
    w->window.shape = *shape;
    w->bytes = bytes;
    if ((error = -ncoll__shm_window_allocate(s, w)) != 0)
        goto free_window;
    unsigned char *base = (unsigned char *)w->chunk->segment.base + w->offset;
    /* Touch the slots, so that they lie near their reader; other memory is allocated at its first
     * use. Ranks that share cores do not touch them: such ranks move between cores, and there may
     * be hundreds of them, each with slots for all others. */
    if (shape->id == 0 && s->config.ranks_per_core <= 1)
        ncoll__segment_touch(base, touched_bytes(shape));
    window_lay_out(&w->window, base);
    *out = &w->window;
    return NCOLL_OK;

free_window:
    free(w);
    return ncoll__shm_no_memory(s, "memory for windows", bytes, error);
}

/* Destroys a window. Its memory stays as long as a peer that writes or reads there has it
 * mapped. */
static void shm_window_destroy(struct transport *t, struct window *window, bool quiet)
{
    struct shm *s = (struct shm *)t;
    struct shm_window *w = (struct shm_window *)window;

    if (w == NULL)
        return;
    /* this rank does not use the peers' windows of this group any more, either */
    for (struct shm_peer *peer = s->connected; peer != NULL; peer = peer->next)
        if (window->shape.id < peer->n_views) {
            ncoll__shm_unmap(peer->views[window->shape.id].mapping);
            peer->views[window->shape.id] = (struct shm_view){0};
        }
    if (!quiet)
        return; /* the window stays until close(), which first tells the peers: see left.c */
    ncoll__shm_window_release(s, w);
    free(w);
}

static void shm_counters(struct transport *t, struct transport_counters *out)
{
    const struct shm *s = (const struct shm *)t;

    *out = (struct transport_counters){.sleeps = s->sleeps, .memory_bytes = s->board_segment.bytes};
    for (const struct shm_peer *peer = s->connected; peer != NULL; peer = peer->next)
        out->connections++;
    for (const struct chunk *chunk = s->chunks; chunk != NULL; chunk = chunk->next)
        for (const struct shm_window *w = chunk->windows; w != NULL; w = w->next) {
            out->memory_bytes += w->bytes;
            out->scratch_bytes += EPOCHS * w->window.shape.scratch_bytes;
        }
}

/* Frees everything. No message is in flight: all that was put lies in the receivers' memory.
 * Messages to this rank must stay for neighbours that may still look at them, since they may not
 * have finished a call that this rank has finished. So the memory of windows is not given back as
 * for a freed group: it stays as long as a peer has mapped it. */
static void shm_close(struct transport *t)
{
    struct shm *s = (struct shm *)t;

    ncoll__shm_leave(t, NULL, NULL);
    while (s->chunks != NULL) {
        struct chunk *chunk = s->chunks;
        for (struct shm_window *w = chunk->windows, *next; w != NULL; w = next) {
            next = w->next;
            free(w);
        }
        ncoll__shm_chunk_release(s, chunk);
    }
    while (s->connected != NULL) {
        struct shm_peer *peer = s->connected;
        s->connected = peer->next;
        ncoll__shm_disconnect(peer);
    }
    ncoll__segment_release(&s->board_segment);
    for (int i = 0; i < 2; i++)
        if (s->bell[i] >= 0)
            close(s->bell[i]);
    if (s->spare >= 0)
        close(s->spare);
    free(s->by_rank);
    free(s);
}

const struct transport_ops ncoll__transport_shm = {
    .name = "shm",
    .open = shm_open_transport,
    .describe = shm_describe,
    .window_create = shm_window_create,
    .window_destroy = shm_window_destroy,
    .memory_allocate = ncoll__shm_memory_allocate,
    .memory_register = ncoll__shm_memory_register,
    .memory_release = ncoll__shm_memory_release,
    .offer = ncoll__shm_offer,
    .accept = ncoll__shm_accept,
    .ready = ncoll__shm_ready,
    .endpoint = ncoll__shm_endpoint,
    .view = ncoll__shm_view,
    .wake_watchers = ncoll__shm_wake_watchers,
    .put = ncoll__shm_put,
    .credit = ncoll__shm_credit,
    .advertise = ncoll__shm_advertise,
    .find = ncoll__shm_find,
    .single_copy = ncoll__shm_single_copy,
    .get = ncoll__shm_get,
    .wait = ncoll__shm_wait,
    .arm = ncoll__shm_arm,
    .woken = ncoll__shm_woken,
    .blocks = ncoll__shm_blocks,
    .siblings_ns = ncoll__shm_siblings_ns,
    .check = ncoll__shm_check,
    .control = ncoll__shm_control,
    .tell = ncoll__shm_tell,
    .counters = shm_counters,
    .raw_exchange = ncoll__shm_raw_exchange,
    .leave = ncoll__shm_leave,
    .farewell = ncoll__shm_farewell,
    .close = shm_close,
};
