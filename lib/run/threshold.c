/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns a call with a threshold into an ordinary call, and the result of that into the user's
 * status. */
#include "lib/run/threshold.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/fraction.h"
#include "lib/base/signature.h"
#include "lib/inspect.h"
#include "lib/run/call.h"

/* ------------------------------------------------------------------ hashes -------------------- */

static uint64_t hash_numbers(uint64_t h, const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double number = numbers[i] + 0.0; /* -0.0 becomes 0.0 */
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        h = ncoll__hash_on(h, bits);
    }
    return h;
}

static uint64_t hash_marks(uint64_t h, const uint8_t *marks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = ncoll__hash_on(h, marks[i] != 0);
    return h;
}

/* Returns the part of a threshold that must be the same on all ranks. It is a part of the key of
 * plans, and of signatures. */
static struct threshold_key key_of(const struct ncoll_group *g, const struct threshold_call *user)
{
    const ncoll_threshold *t = &user->threshold;
    const ncoll_threshold_status *after = t->after;
    bool of_ranks = t->of == NCOLL_THRESHOLD_RANKS;
    bool same_weights = of_ranks || user->collective == COLL_REDUCE;
    uint64_t h = hash_numbers(ncoll__hash_on(user->count, t->of), &t->fraction, 1);

    if (t->weights != NULL && t->of != NCOLL_THRESHOLD_DATA && same_weights)
        h = hash_numbers(h, t->weights, of_ranks ? (size_t)g->size : user->count);
    if (after != NULL)
        h = ncoll__hash_on(h, of_ranks ? (uint64_t)after->ranks : after->elements);
    if (after != NULL && of_ranks)
        h = hash_marks(h, after->rank_in, (size_t)g->size);
    if (after != NULL && t->of == NCOLL_THRESHOLD_HEAVIEST && same_weights)
        h = hash_marks(h, after->element_in, user->count);
    return (struct threshold_key){.of = t->of,
                                  .percent = (unsigned)(100 * t->fraction + 0.5),
                                  .hash = h,
                                  .count = user->count,
                                  .type = user->type};
}

/* ------------------------------------------------------------------ ranks --------------------- */

/* A rank, and the facts that decide its position in the list of ranks. */
struct candidate {
    unsigned rank, from_root;
    double weight;
    bool is_in; /* an earlier call has reached or combined this rank */
};

/* Compares two candidates, for qsort(). Ranks that are in come last; the others come in the order
 * of their weights, the heaviest first, and of their distance from the root. */
static int by_weight(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->is_in != b->is_in)
        return a->is_in - b->is_in;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->from_root < b->from_root ? -1 : 1;
}

/* Lists the ranks in t->rank_at: the root, then those that are not in yet, the heaviest first. */
static int list_ranks(struct ncoll_group *g, struct threshold *t)
{
    const ncoll_threshold *user = &t->user.threshold;
    unsigned size = (unsigned)g->size, root = (unsigned)t->user.root;
    struct candidate *all = ncoll__allocate(g->ctx, size * sizeof *all);

    t->rank_at = ncoll__allocate(g->ctx, size * sizeof *t->rank_at);
    if (all == NULL || t->rank_at == NULL) {
        ncoll__release(g->ctx, all);
        return NCOLL_ERR_MEMORY;
    }
    for (unsigned v = 0; v < size; v++) {
        unsigned rank = (root + v) % size;
        all[v] = (struct candidate){
            .rank = rank,
            .from_root = v,
            .weight = user->weights != NULL ? user->weights[rank] : 0,
            .is_in = user->after != NULL && user->after->rank_in[rank] != 0,
        };
    }
    qsort(all + 1, size - 1, sizeof *all, by_weight);
    for (unsigned v = 0; v < size; v++)
        t->rank_at[v] = all[v].rank;
    ncoll__release(g->ctx, all);
    return NCOLL_OK;
}

static int make_of_ranks(struct ncoll_group *g, struct threshold *t)
{
    const struct threshold_call *user = &t->user;
    const ncoll_threshold_status *after = user->threshold.after;
    size_t size = (size_t)g->size, wanted = ncoll__threshold_of(user->threshold.fraction, size);
    size_t before = after != NULL ? (size_t)after->ranks : 1;

    wanted = wanted > before ? wanted : before;
    t->ranks = (int)wanted;
    t->elements = user->count;
    /* the vectors of the remaining ranks are combined into the root's earlier result */
    if (after != NULL && user->collective == COLL_REDUCE && g->rank == user->root)
        t->args.in = user->out;
    if (wanted == size && before == 1)
        return NCOLL_OK; /* all ranks are in: an ordinary call */
    t->args.places = (unsigned)(1 + wanted - before);
    if (t->args.places == 1 || (user->threshold.weights == NULL && before == 1))
        return NCOLL_OK;
    int rc = list_ranks(g, t);
    t->args.rank_at = t->rank_at;
    return rc;
}

/* True if a rank takes part in a call with a threshold of ranks. */
static bool is_part_of(const struct threshold *t, int rank, int size)
{
    const struct shape shape = {.rank = (unsigned)rank,
                                .size = (unsigned)size,
                                .root = (unsigned)t->user.root,
                                .places = t->args.places,
                                .rank_at = t->rank_at};
    return takes_part(&shape);
}

/* ------------------------------------------------------------------ data ---------------------- */

static void *further(const void *buffer, size_t bytes)
{
    /* the cast drops const, which the caller adds again for IN */
    return buffer != NULL ? (unsigned char *)(uintptr_t)buffer + bytes : NULL;
}

/* True if this rank chooses the elements by weight itself; if not, the message says which they
 * are. */
static bool chooses(const struct ncoll_group *g, const struct threshold *t)
{
    return t->user.collective == COLL_REDUCE || g->rank == t->user.root;
}

static int make_of_heaviest(struct ncoll_group *g, struct threshold *t, size_t element)
{
    bool is_bcast = t->user.collective == COLL_BCAST;
    const ncoll_threshold_status *after = t->user.threshold.after;

    t->heaviest = (struct heaviest){
        .count = t->user.count, .element = element, .chosen = t->delivered, .lists = is_bcast};
    if (!ncoll__heaviest_take(g->ctx, &t->heaviest))
        return NCOLL_ERR_MEMORY;
    bool says = t->user.status != NULL && t->user.status->element_in != NULL;
    if (after != NULL && (chooses(g, t) || says) && t->user.count > 0) {
        if ((t->before = ncoll__allocate(g->ctx, t->user.count)) == NULL)
            return NCOLL_ERR_MEMORY;
        memcpy(t->before, after->element_in, t->user.count);
    }
    t->args.in = t->heaviest.in;
    t->args.out = t->heaviest.out;
    if (is_bcast) {
        t->args.type = NCOLL_INT8;
        t->args.count = t->heaviest.len_bytes;
    }
    return NCOLL_OK;
}

static int make_of_data(struct ncoll_group *g, struct threshold *t)
{
    const struct threshold_call *user = &t->user;
    size_t element = ncoll_context_type_size(g->ctx, user->type);
    size_t wanted = ncoll__threshold_of(user->threshold.fraction, user->count);
    size_t before = user->threshold.after != NULL ? user->threshold.after->elements : 0;

    t->elements = wanted > before ? wanted : before;
    t->delivered = t->elements - before;
    t->ranks = g->size;
    t->args.count = t->delivered;
    if (user->threshold.of == NCOLL_THRESHOLD_HEAVIEST)
        return make_of_heaviest(g, t, element);
    t->args.in = further(user->in, before * element);
    t->args.out = further(user->out, before * element);
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ the call ------------------ */

int ncoll__threshold_make(struct ncoll_group *g, const struct threshold_call *user,
                          struct threshold **out)
{
    struct threshold *t = ncoll__allocate(g->ctx, sizeof *t);
    int rc = NCOLL_ERR_MEMORY;

    if (t != NULL) {
        t->users = 1;
        t->user = *user;
        t->args = (struct call_args){.collective = user->collective,
                                     .sync = g->sync,
                                     .in = user->in,
                                     .out = user->out,
                                     .count = user->count,
                                     .type = user->type,
                                     .op = user->op,
                                     .root = user->root,
                                     .threshold = key_of(g, user),
                                     .made = t};
        rc = user->threshold.of == NCOLL_THRESHOLD_RANKS ? make_of_ranks(g, t) : make_of_data(g, t);
    }
    if (rc == NCOLL_OK) {
        *out = t;
        return NCOLL_OK;
    }
    ncoll__threshold_leave(g, t);
    return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, "make the call on a part of the vector",
                       "no memory for a threshold of %zu elements", user->count);
}

void ncoll__threshold_leave(struct ncoll_group *g, struct threshold *t)
{
    if (t == NULL || --t->users > 0)
        return;
    ncoll__heaviest_give(g->ctx, &t->heaviest);
    ncoll__release(g->ctx, t->before);
    ncoll__release(g->ctx, t->rank_at);
    ncoll__release(g->ctx, t);
}

bool ncoll__threshold_is_of(const struct threshold *t, const struct threshold_call *user)
{
    const ncoll_threshold *a = &t->user.threshold, *b = &user->threshold;

    return t->user.collective == user->collective && t->user.in == user->in &&
           t->user.out == user->out && t->user.count == user->count && t->user.type == user->type &&
           t->user.op == user->op && t->user.root == user->root && t->user.status == user->status &&
           a->of == b->of && a->fraction == b->fraction && a->weights == b->weights &&
           a->after == b->after;
}

/* Chooses and packs elements when the call begins: with a strict entry other ranks may write to the
 * user's data until then. */
static int pack(struct ncoll_group *g, struct call *c)
{
    struct threshold *t = c->args.made;

    if (!chooses(g, t))
        return NCOLL_OK;
    ncoll__heaviest_choose(&t->heaviest, t->user.threshold.weights, t->before);
    ncoll__heaviest_pack(&t->heaviest, t->user.in);
    return NCOLL_OK;
}

/* Copies the elements that have arrived to their places in the user's vector. */
static void unpack(struct ncoll_group *g, struct threshold *t)
{
    bool is_root = g->rank == t->user.root, is_bcast = t->user.collective == COLL_BCAST;

    if (is_bcast && !is_root)
        ncoll__heaviest_read_set(&t->heaviest);
    if (is_bcast != is_root)
        ncoll__heaviest_unpack(&t->heaviest, t->user.out);
}

static void mark_elements(const struct threshold *t, size_t elements, uint8_t *marks)
{
    if (t->user.threshold.of != NCOLL_THRESHOLD_HEAVIEST) {
        memset(marks, 1, elements);
        memset(marks + elements, 0, t->user.count - elements);
        return;
    }
    for (size_t i = 0; i < t->user.count; i++)
        marks[i] = t->before != NULL && t->before[i] != 0;
    ncoll__heaviest_mark(&t->heaviest, marks);
}

/* Sets marks[q] to 1 for each rank q that is in, else to 0. `marks` may be the marks of the earlier
 * calls, so each one is read before it is written. */
static void mark_ranks(const struct threshold *t, int size, uint8_t *marks)
{
    const ncoll_threshold_status *after = t->user.threshold.after;
    bool of_ranks = t->user.threshold.of == NCOLL_THRESHOLD_RANKS;

    for (int q = 0; q < size; q++)
        marks[q] = !of_ranks || (after != NULL && after->rank_in[q] != 0) || is_part_of(t, q, size);
}

static bool rank_was_in(const struct threshold *t, int rank)
{
    return t->user.threshold.after != NULL && t->user.threshold.after->rank_in[rank] != 0;
}

static void say(const struct ncoll_group *g, const struct threshold *t)
{
    ncoll_threshold_status *s = t->user.status;
    bool lacks_all = t->user.threshold.of == NCOLL_THRESHOLD_RANKS &&
                     t->user.collective == COLL_BCAST && !rank_was_in(t, g->rank) &&
                     !is_part_of(t, g->rank, g->size);

    s->of = t->user.threshold.of;
    s->count = t->user.count;
    s->elements = lacks_all ? 0 : t->elements;
    s->ranks = t->ranks;
    if (s->element_in != NULL)
        mark_elements(t, s->elements, s->element_in);
    if (s->rank_in != NULL)
        mark_ranks(t, g->size, s->rank_in);
}

static void ended(struct ncoll_group *g, struct call *c)
{
    struct threshold *t = c->args.made;

    if (c->status == NCOLL_OK && t->user.threshold.of == NCOLL_THRESHOLD_HEAVIEST)
        unpack(g, t);
    if (c->status == NCOLL_OK && t->user.status != NULL)
        say(g, t);
    ncoll__threshold_leave(g, t);
}

void ncoll__threshold_begin(struct call *c)
{
    struct threshold *t = c->args.made;

    if (t == NULL)
        return;
    t->users++;
    c->ended = ended;
    if (t->user.threshold.of == NCOLL_THRESHOLD_HEAVIEST)
        c->prepare = pack;
}
