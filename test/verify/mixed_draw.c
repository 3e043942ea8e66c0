/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/mixed_draw.h"

#include <stdlib.h>
#include <string.h>

#include "test/verify/draw.h"
#include "test/verify/memory.h"

#define KINDS_MAX 4 /* of calls in a run: few, so that the same ones come in a row */

struct kind {
    const struct algorithm *algorithm;
    struct shape shape;
    bool roots_vary;
};

static const struct algorithm *any_algorithm(struct mixed *m)
{
    unsigned registered = 0;

    while (ncoll__algorithms[registered] != NULL)
        registered++;
    return ncoll__algorithms[draw(&m->seed) % registered];
}

/* Draws any kind of call that exists for P ranks. */
static struct kind any_kind(struct mixed *m, const struct algorithm *only)
{
    for (unsigned tries = 1;; tries++) {
        /* the one asked for may not exist for this size */
        bool any = only == NULL || tries > 1000;
        struct kind k = {.algorithm = any ? any_algorithm(m) : only};
        k.shape = (struct shape){
            .collective = COLL_BARRIER + draw(&m->seed) % (COLLECTIVES - COLL_BARRIER),
            .size = m->P,
            .radix = 1 + (unsigned)(draw(&m->seed) % 4),
            .inverse = draw(&m->seed) % 2,
            .nodes = &m->placement.nodes,
        };
        if (k.algorithm->properties & TAKES_LIST && draw(&m->seed) % 4 == 0)
            k.shape.radix = draw_list(&m->seed, 3);
        if (k.algorithm->properties & TAKES_PLACES)
            k.shape.places = 1 + (unsigned)(draw(&m->seed) % m->P);
        if (!algorithm_exists(k.algorithm, &k.shape))
            continue;
        k.shape.count = k.shape.collective == COLL_BARRIER ? 0 : 1 + draw(&m->seed) % 3;
        k.shape.root = is_rooted(k.shape.collective) ? (unsigned)(draw(&m->seed) % m->P) : 0;
        if (draw(&m->seed) % 2 == 0)
            ncoll__divide(k.algorithm, &k.shape, 1 + (unsigned)(draw(&m->seed) % 4));
        k.roots_vary = is_rooted(k.shape.collective) && draw(&m->seed) % 2;
        return k;
    }
}

static enum placeable placeable_of(const struct placed *l)
{
    return l->apart ? PLACEABLE_APART : PLACEABLE_IN_PLACE_TOO;
}

/* Which messages may land in OUT, on all ranks. */
static void list_placed(const struct schedule *s, struct long_call *c)
{
    unsigned P = s->shape.size, slots = s->footprint.slots;
    struct placed *listed = allocate(slots, sizeof *listed);
    size_t starts[MIXED_RANKS];

    for (unsigned q = 0; q < P; q++)
        starts[q] = q * s->shape.count;
    for (unsigned rank = 0; rank < P; rank++) {
        struct shape g = shape_on_rank(&s->shape, rank);
        struct block_starts places = {
            {.at = in_form(g.collective) == FORM_BLOCKS ? starts : NULL},
            {.at = out_form(g.collective) == FORM_BLOCKS ? starts : NULL},
        };
        unsigned n =
            ncoll__list_placed(&g, s->ranks[rank].steps, s->ranks[rank].count, places, 1, listed);
        for (unsigned i = 0; i < n; i++)
            c->placeable[(size_t)rank * slots + listed[i].slot] = placeable_of(&listed[i]);
    }
    free(listed);
}

static void draw_memory(struct mixed *m, struct long_call *c)
{
    const struct schedule *s = &m->calls[c->first];
    size_t bytes = (size_t)m->P * s->footprint.slots;
    enum collective collective = s->shape.collective;
    bool apart = collective == COLL_ALLTOALL || collective == COLL_REDUCE_SCATTER;

    if (bytes > c->placeable_allocated) {
        c->placeable = reallocate(c->placeable, bytes, 1);
        c->placeable_allocated = bytes;
    }
    if (bytes > 0)
        memset(c->placeable, PLACEABLE_NOT, bytes);
    c->advertises = (uint16_t)draw(&m->seed);
    c->in_place = apart ? 0 : (uint16_t)draw(&m->seed);
    if (is_in_parts(&s->shape)) /* nothing of it is placed */
        c->advertises = 0;
    if (c->advertises != 0)
        list_placed(s, c);
}

/* Run e begins a call, of this one or of some more. Returns how many. */
static unsigned draw_call(struct mixed *m, const struct kind *k, unsigned e, unsigned number)
{
    unsigned segments = draw(&m->seed) % 4 == 0 ? 1 + (unsigned)(draw(&m->seed) % 6) : 1;
    unsigned parts = is_in_parts(&k->shape) ? k->shape.parts : 1, epochs = segments * parts;
    struct long_call *c = &m->of[e];
    struct shape shape = k->shape;

    if (epochs > m->n_calls - e + 1) /* the last call is not made to its end */
        epochs = m->n_calls - e + 1;
    for (unsigned i = 0; i < epochs; i++) {
        shape.part = i / segments;
        schedule_write(k->algorithm, &shape, &m->calls[e + i]);
        m->of[e + i].first = e;
        m->of[e + i].number = number;
    }
    c->epochs = epochs;
    c->segments = segments;
    draw_memory(m, c);
    return epochs;
}

static void draw_calls(struct mixed *m, const struct algorithm *only)
{
    struct kind kinds[KINDS_MAX];
    unsigned n = 1 + (unsigned)(draw(&m->seed) % KINDS_MAX);

    for (unsigned i = 0; i < n; i++)
        kinds[i] = any_kind(m, only);
    m->n_calls = 1 + (unsigned)(draw(&m->seed) % MIXED_CALLS);
    m->slots = 0;
    for (unsigned e = 1, number = 0; e <= m->n_calls; number++) {
        struct kind *k = &kinds[draw(&m->seed) % n];
        if (k->roots_vary)
            k->shape.root = (unsigned)(draw(&m->seed) % m->P);
        unsigned epochs = draw_call(m, k, e, number), slots = m->calls[e].footprint.slots;
        m->slots = slots > m->slots ? slots : m->slots;
        e += epochs;
    }
}

void mixed_shuffle(struct mixed *m)
{
    for (unsigned i = 2 * m->P; i-- > 1;) {
        unsigned j = (unsigned)(draw(&m->seed) % (i + 1)), actor = m->actors[i];
        m->actors[i] = m->actors[j];
        m->actors[j] = actor;
    }
}

void mixed_draw(struct mixed *m, const struct algorithm *only)
{
    m->P = 1 + (unsigned)(draw(&m->seed) % MIXED_RANKS);
    placement_draw(&m->placement, m->P, &m->seed);
    draw_calls(m, only);
    for (unsigned rank = 0; rank < m->P; rank++) {
        struct member *member = &m->members[rank];
        free(member->stamps);
        *member = (struct member){.stamps = allocate(CREDIT_SETS * m->slots, sizeof(struct stamp))};
        member->credit_page = member->credit_of;
        member->credits = (struct credits){.pages = &member->credit_page};
        m->inboxes[rank].count = 0;
    }
    for (unsigned i = 0; i < 2 * m->P; i++)
        m->actors[i] = i;
    m->orderly = draw(&m->seed) % 2;
    m->peer_reads = draw(&m->seed) % 2;
    mixed_shuffle(m);
}

void mixed_free(struct mixed *m)
{
    for (unsigned e = 0; e <= MIXED_CALLS; e++) {
        schedule_free(&m->calls[e]);
        free(m->of[e].placeable);
    }
    for (unsigned rank = 0; rank < MIXED_RANKS; rank++) {
        free(m->members[rank].stamps);
        free(m->inboxes[rank].flights);
    }
}
