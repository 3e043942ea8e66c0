/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The relay carries offers to the ranks that need them, as letters that ranks pass on. It uses only
 * the connections to the base peers. Its messages hold one letter for each offer, and nothing for
 * ranks that get no offer.
 *
 * A letter moves d ranks to the right in all, d = to - from mod P: by 2^k ranks in round k if bit k
 * of d is set. All rounds together are a *pass*: an allreduce by dissemination, in which rank p
 * sends a message to rank p + 2^k in round k. The vector of the allreduce is a message with room
 * for some letters; its operation puts letters that have come into the next message. So a pass is
 * planned, queued, run and checked like any other call. Its plan has O(log P) instructions, and its
 * vector has the same length on all ranks.
 *
 * How many letters meet. A letter that is at rank r at the beginning of round k, and goes on in
 * this round, has come from r - (d mod 2^k). So there is at most one for each d that has bit k. If
 * all ranks write to ranks at the same distances, at most as many letters as there are distances
 * with bit k go on in round k, on any rank; with all distances these are P / 2, rounded down, or
 * fewer. All ranks know the maximum over all rounds, `most`. If messages have room for `most`
 * letters, one pass is enough.
 *
 * Otherwise a letter for which there is no room stays where it is, and goes on in round k of the
 * next pass. Each message says how many letters the previous pass has left at the rank with most of
 * them, as far as the sender knows; after the pass all ranks know that number. If it is 0, this
 * pass was the last one. A letter uses its bits in ascending order in every pass, so the argument
 * above holds for every pass in which nothing is left.
 */
#include "lib/group/relay.h"

#include <stdlib.h>
#include <string.h>

#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"

#define LINE 64u

/* The beginning of a message; letters follow. */
struct head {
    uint32_t count; /* number of letters */
    uint32_t left;  /* see struct relay */
};
_Static_assert(sizeof(struct head) == sizeof(int64_t), "the first word of a message");
_Static_assert(RELAY_WORDS(LETTERS_IN_SLOT) * sizeof(int64_t) == SLOT_PAYLOAD, "it fits the slot");

/* ------------------------------------------------------------------ numbers ------------------- */

static unsigned rounds_of(unsigned size)
{
    unsigned k = 0;

    while (size > 1u << k)
        k++;
    return k;
}

/* Returns how many of the numbers 0..size-1 have bit k set. */
static unsigned with_bit(unsigned size, unsigned k)
{
    unsigned half = 1u << k, rest = size & (2 * half - 1);

    return (size - rest) / 2 + (rest > half ? rest - half : 0);
}

unsigned ncoll__relay_most(unsigned size, const unsigned *distances, unsigned n_distances)
{
    unsigned most = 0;

    for (unsigned k = 0; k < rounds_of(size); k++) {
        unsigned here = distances == NULL ? with_bit(size, k) : 0;
        for (unsigned i = 0; distances != NULL && i < n_distances; i++)
            here += distances[i] >> k & 1;
        most = here > most ? here : most;
    }
    return most;
}

/* Returns the most letters for which a message fits the window of the group. */
static unsigned room_in_window(const struct relay *r)
{
    const struct window_shape *w = &r->group->window->shape;
    size_t bytes = w->bulk_bytes < w->scratch_bytes ? w->bulk_bytes : w->scratch_bytes;
    size_t message = bytes / (r->rounds > 0 ? r->rounds : 1) / LINE * LINE;
    size_t letters = message < sizeof(struct head) + sizeof(struct letter)
                         ? 0
                         : (message - sizeof(struct head)) / sizeof(struct letter);

    return letters < LETTERS_IN_SLOT ? LETTERS_IN_SLOT
           : letters < 1u << 20      ? (unsigned)letters
                                     : 1u << 20;
}

unsigned ncoll__relay_next_room(const struct relay *r)
{
    /* Every second pass mostly has no letters, and only tells all ranks that none are left. */
    if (r->passes % 2 == 1)
        return LETTERS_IN_SLOT;
    unsigned times = r->passes < 16 ? r->passes : 16;
    return LETTERS_FIRST << times;
}

/* ------------------------------------------------------------------ letters ------------------- */

struct relay *ncoll__relay_new(struct ncoll_group *g, unsigned n_wanted, unsigned most)
{
    struct ncoll_context *ctx = g->ctx;
    struct relay *r = ncoll__allocate(ctx, sizeof *r);

    if (r == NULL)
        return NULL;
    r->group = g;
    r->rounds = rounds_of((unsigned)g->size);
    r->most = most;
    r->n_wanted = n_wanted;
    r->capacity = n_wanted > 0 ? n_wanted : 1;
    r->letters = ncoll__allocate(ctx, r->capacity * sizeof *r->letters);
    r->arrived = ncoll__allocate(ctx, r->capacity * sizeof *r->arrived);
    if (r->letters != NULL && r->arrived != NULL)
        return r;
    ncoll__relay_free(ctx, r);
    return NULL;
}

void ncoll__relay_free(struct ncoll_context *ctx, struct relay *r)
{
    if (r == NULL)
        return;
    if (r->plan != NULL)
        ncoll__plan_leave(r->group, r->plan);
    ncoll__release(ctx, r->letters);
    ncoll__release(ctx, r->arrived);
    ncoll__release(ctx, r->first);
    ncoll__release(ctx, r->last);
    ncoll__release(ctx, r);
}

/* Returns memory for one more letter in r->letters; NULL: there is no memory. */
static struct letter *one_more(struct relay *r)
{
    struct ncoll_context *ctx = r->group->ctx;

    if (r->n_letters == r->capacity) {
        struct letter *grown = ncoll__allocate(ctx, 2 * (size_t)r->capacity * sizeof *grown);
        if (grown == NULL)
            return NULL;
        memcpy(grown, r->letters, r->n_letters * sizeof *grown);
        ncoll__release(ctx, r->letters);
        r->letters = grown;
        r->capacity *= 2;
    }
    return &r->letters[r->n_letters++];
}

struct offer *ncoll__relay_add(struct relay *r, unsigned to)
{
    /* the array has room for n_wanted letters */
    struct letter *letter = &r->letters[r->n_letters++];

    *letter = (struct letter){.from = (unsigned)r->group->rank, .to = to};
    return &letter->offer;
}

/* Takes the letters out of a message that has come. */
static void take(struct relay *r, const unsigned char *message)
{
    struct head head;

    memcpy(&head, message, sizeof head);
    r->left = head.left > r->left ? head.left : r->left;
    for (unsigned i = 0; i < head.count && i < r->room; i++) {
        struct letter letter, *to;
        memcpy(&letter, message + sizeof head + i * sizeof letter, sizeof letter);
        if (letter.to != (unsigned)r->group->rank)
            to = one_more(r);
        else
            to = r->n_arrived < r->n_wanted ? &r->arrived[r->n_arrived++] : NULL;
        if (to != NULL)
            *to = letter;
        else
            r->failed = true;
    }
}

/* Makes the message of this round from the letters that go on in it. */
static void pack(struct relay *r, unsigned char *message)
{
    unsigned size = (unsigned)r->group->size, bit = 1u << r->round;
    struct head head = {.left = r->left};

    for (unsigned i = 0; i < r->n_letters && head.count < r->room;) {
        const struct letter *letter = &r->letters[i];
        unsigned rest = (letter->to + size - (unsigned)r->group->rank) % size;
        if ((rest & (2 * bit - 1)) != bit) {
            i++;
            continue;
        }
        memcpy(message + sizeof head + head.count++ * sizeof *letter, letter, sizeof *letter);
        r->letters[i] = r->letters[--r->n_letters];
    }
    memcpy(message, &head, sizeof head);
}

/* The operation of the allreduce: takes the letters out of `right`, the message that has come, and
 * writes the message of the next round to `out`. `left` is the message that this rank has sent. */
static void hand_on(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                    void *arg)
{
    struct relay *r = arg;

    (void)left, (void)count, (void)type;
    take(r, right);
    r->round++;
    pack(r, out);
}

/* ------------------------------------------------------------------ passes -------------------- */

int ncoll__relay_call(struct relay *r, unsigned room, struct signature purpose,
                      struct call_args *args)
{
    struct ncoll_context *ctx = r->group->ctx;
    unsigned fits = room_in_window(r);

    room = room < r->most ? room : r->most;
    r->room = room < fits ? room : fits;
    ncoll__release(ctx, r->first);
    ncoll__release(ctx, r->last);
    r->first = ncoll__allocate(ctx, RELAY_WORDS(r->room) * sizeof *r->first);
    r->last = ncoll__allocate(ctx, RELAY_WORDS(r->room) * sizeof *r->last);
    if (r->first == NULL || r->last == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect peers");
    r->op = (struct op){
        .combine = hand_on, .arg = r, .commutative = true, .idempotent = true, .exact = true};
    *args = ncoll__base_call(COLL_ALLREDUCE, r->first, r->last, RELAY_WORDS(r->room), purpose);
    args->own_op = &r->op;
    return NCOLL_OK;
}

void ncoll__relay_begin(struct relay *r)
{
    r->passes++;
    r->round = 0;
    r->left = r->n_letters;
    pack(r, (unsigned char *)r->first);
}

/* A pass with room for all letters leaves none. Otherwise the last message says how many letters
 * the previous pass has left. If it has left none, this pass was the last one. */
bool ncoll__relay_is_over(const struct relay *r)
{
    struct head head;

    if (r->room >= r->most)
        return true;
    memcpy(&head, r->last, sizeof head);
    return r->rounds == 0 || (r->passes > 1 && head.left == 0);
}

static int by_sender(const void *left, const void *right)
{
    const struct letter *a = left, *b = right;

    return (a->from > b->from) - (a->from < b->from);
}

const struct offer *ncoll__relay_find(struct relay *r, unsigned from)
{
    const struct letter key = {.from = from};

    if (!r->sorted)
        qsort(r->arrived, r->n_arrived, sizeof *r->arrived, by_sender);
    r->sorted = true;
    const struct letter *found =
        bsearch(&key, r->arrived, r->n_arrived, sizeof *r->arrived, by_sender);
    return found != NULL ? &found->offer : NULL;
}
