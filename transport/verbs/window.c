/* SPDX-License-Identifier: BSD-3-Clause */
/* The windows of this rank: the places of their slots in the numbering of imm.h, and the parts of
 * windows that are registered (extent.h). */
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/rail.h"

/* ------------------------------------------------------------------ places -------------------- */

/* Returns the first of n free stretches in a row. They may lie beyond the end of the table; then
 * the caller lets the table grow. */
static unsigned find_stretches(const struct verbs *v, unsigned n)
{
    unsigned first = 0;

    for (unsigned i = 0; i < v->n_stretches && i - first < n; i++)
        if (v->stretches[i] != NULL)
            first = i + 1;
    return first;
}

static int enter_window(struct verbs *v, struct verbs_window *w)
{
    const struct transport_events *e = &v->config.events;
    unsigned n = (w->window.shape.n_slots + IMM_STRETCH - 1) / IMM_STRETCH;
    unsigned first = find_stretches(v, n), end = first + n;

    if (end > IMM_STRETCHES)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, TOO_MANY), -1,
                       "free groups that are not needed",
                       "the groups of this rank have %u message slots, the most that there can be",
                       IMM_STRETCHES * IMM_STRETCH);
    if (end > v->n_stretches) {
        struct verbs_window **grown = realloc(v->stretches, end * sizeof(struct verbs_window *));
        if (grown == NULL)
            return ncoll__verbs_no_memory(v, "a window");
        memset(grown + v->n_stretches, 0, (end - v->n_stretches) * sizeof(struct verbs_window *));
        v->stretches = grown;
        v->n_stretches = end;
    }
    for (unsigned i = first; i < end; i++)
        v->stretches[i] = w;
    w->first = first * IMM_STRETCH;
    return NCOLL_OK;
}

static void drop_window(struct verbs *v, const struct verbs_window *w)
{
    for (unsigned i = w->first / IMM_STRETCH; i < v->n_stretches && v->stretches[i] == w; i++)
        v->stretches[i] = NULL;
}

struct verbs_window *ncoll__verbs_window_from(const struct verbs *v, unsigned stretch)
{
    struct verbs_window *w = stretch < v->n_stretches ? v->stretches[stretch] : NULL;

    return w != NULL && w->first == stretch * IMM_STRETCH ? w : NULL;
}

/* ------------------------------------------------------------------ keys ---------------------- */

/* Registers a part of the window, until the window is freed: peers may go on using its key when
 * there is a key for a longer part. */
static int register_part(struct verbs *v, struct verbs_window *w, size_t at, size_t bytes,
                         bool is_bulk, struct ibv_mr **out)
{
    struct ibv_mr **grown = realloc(w->keys, (w->n_keys + 1) * sizeof(struct ibv_mr *));
    int rc;

    if (grown == NULL)
        return ncoll__verbs_no_memory(v, "a window");
    w->keys = grown;
    if ((rc = ncoll__memory_key(v, w->memory.base + at, bytes, is_bulk, out)) != NCOLL_OK)
        return rc;
    w->keys[w->n_keys++] = *out;
    w->pinned_bytes += bytes;
    return NCOLL_OK;
}

/* Registers the same part with the second card, too. Returns NULL if there is none, or on
 * failure. */
static struct ibv_mr *register_again(struct verbs *v, struct verbs_window *w, size_t at,
                                     size_t bytes)
{
    struct ibv_mr **grown, *mr;

    if (v->rail == NULL)
        return NULL;
    grown = realloc(w->keys, (w->n_keys + 1) * sizeof(struct ibv_mr *));
    if (grown == NULL)
        return NULL; /* messages go by the first card */
    w->keys = grown;
    if ((mr = ncoll__rail_register(v, w->memory.base + at, bytes, true)) != NULL)
        w->keys[w->n_keys++] = mr;
    return mr;
}

/* Registers the first `bytes` bytes of each epoch's bulk memory or scratch, which has `all` bytes
 * for an epoch. If bytes == all, one key is for all epochs. */
static int register_sets(struct verbs *v, struct verbs_window *w, size_t at, size_t bytes,
                         size_t all, struct ibv_mr *out[EPOCHS], struct ibv_mr *rail[EPOCHS])
{
    unsigned n = bytes == all ? 1 : EPOCHS;
    size_t len = n == 1 ? EPOCHS * all : bytes;
    struct ibv_mr *keys[EPOCHS], *rail_keys[EPOCHS];

    for (unsigned set = 0; set < n; set++) {
        int rc = register_part(v, w, at + set * all, len, true, &keys[set]);
        if (rc != NCOLL_OK)
            return rc;
        rail_keys[set] = register_again(v, w, at + set * all, len);
    }
    for (unsigned set = 0; set < EPOCHS; set++) {
        out[set] = keys[n == 1 ? 0 : set];
        rail[set] = rail_keys[n == 1 ? 0 : set];
    }
    return NCOLL_OK;
}

static int grow(struct verbs *v, struct verbs_window *w, struct window_extent to)
{
    const struct window_shape *s = &w->window.shape;
    struct window_extent *now = &w->extent;
    int rc = NCOLL_OK;

    if (to.slots > now->slots)
        rc = register_part(v, w, 0, extent_slots_end(s, to.slots), false, &w->slots);
    if (rc == NCOLL_OK)
        now->slots = to.slots;
    if (rc == NCOLL_OK && to.bulk_bytes > now->bulk_bytes)
        rc = register_sets(v, w, window_bulk_at(s), to.bulk_bytes, s->bulk_bytes, w->bulk,
                           w->rail_bulk);
    if (rc == NCOLL_OK)
        now->bulk_bytes = to.bulk_bytes;
    if (rc == NCOLL_OK && to.scratch_bytes > now->scratch_bytes)
        rc = register_sets(v, w, window_scratch_at(s), to.scratch_bytes, s->scratch_bytes,
                           w->scratch, w->rail_scratch);
    if (rc == NCOLL_OK)
        now->scratch_bytes = to.scratch_bytes;
    return rc;
}

int ncoll__verbs_extend(struct transport *t, struct window *window,
                        const struct window_extent *need)
{
    struct verbs_window *w = (struct verbs_window *)window;

    return grow(verbs_of(t), w, ncoll__extent_grown(&window->shape, w->extent, *need));
}

/* ------------------------------------------------------------------ windows ------------------- */

static void free_window(struct verbs_window *w)
{
    for (unsigned i = 0; i < w->n_keys; i++)
        ibv_dereg_mr(w->keys[i]);
    free(w->keys);
    free(w->halves);
    ncoll__memory_release(&w->memory);
    free(w);
}

/* Makes a window in memory of the caller. base NULL: with memory of its own. */
static int make_window(struct verbs *v, const struct window_shape *shape, void *base,
                       struct window **out)
{
    const struct transport_events *e = &v->config.events;
    int rc = NCOLL_OK;

    if (shape->bulk_bytes > v->port.max_msg_sz)
        return e->fail(
            e->arg, NCOLL_ERR_ARGUMENT, -1,
            "set NCOLL_WINDOW (for other groups NCOLL_GROUP_WINDOW) to eight times that, or less",
            "an eighth of the window has %zu bytes; the longest message of device %s has "
            "%u",
            shape->bulk_bytes, v->where.device, v->port.max_msg_sz);
    struct verbs_window *w = calloc(1, sizeof *w);
    if (w == NULL)
        return ncoll__verbs_no_memory(v, "a window");
    if (base == NULL)
        rc = ncoll__memory_map(v, window_round_up(window_bytes(shape), WINDOW_PAGE), &w->memory);
    else
        w->memory = (struct registered){.base = base, .borrowed = true};
    w->window.shape = *shape;
    window_lay_out(&w->window, w->memory.base);
    if (rc == NCOLL_OK && v->rail != NULL &&
        (w->halves = calloc((size_t)shape->n_slots * EPOCHS, sizeof *w->halves)) == NULL)
        rc = ncoll__verbs_no_memory(v, "a window");
    if (rc == NCOLL_OK)
        rc = grow(v, w, ncoll__extent_first(shape));
    if (rc == NCOLL_OK)
        rc = enter_window(v, w);
    if (rc != NCOLL_OK) {
        free_window(w);
        return rc;
    }
    *out = &w->window;
    return NCOLL_OK;
}

int ncoll__verbs_window_create(struct transport *t, const struct window_shape *shape,
                               struct window **out)
{
    return make_window(verbs_of(t), shape, NULL, out);
}

int ncoll__verbs_window_over(struct transport *t, const struct window_shape *shape, void *base,
                             struct window **out)
{
    return make_window(verbs_of(t), shape, base, out);
}

/* If peers may still write to the window, its memory stays until the connections are closed. A
 * write to freed memory would break the connection. */
void ncoll__verbs_window_destroy(struct transport *t, struct window *window, bool quiet)
{
    struct verbs *v = verbs_of(t);
    struct verbs_window *w = (struct verbs_window *)window;

    if (w == NULL)
        return;
    /* handle messages to this window now, or they would count for the next one with its number */
    if (quiet)
        t->ops->progress(t);
    drop_window(v, w);
    ncoll__connections_forget(v, window->shape.id, quiet);
    if (quiet) {
        free_window(w);
        return;
    }
    w->next = v->retired;
    v->retired = w;
}

void ncoll__verbs_windows_free(struct verbs *v)
{
    for (unsigned i = 0; i < v->n_stretches; i++)
        if (v->stretches[i] != NULL)
            ncoll__verbs_window_destroy(&v->transport, &v->stretches[i]->window, false);
    for (struct verbs_window *w = v->retired, *next; w != NULL; w = next) {
        next = w->next;
        free_window(w);
    }
    free(v->stretches);
}
