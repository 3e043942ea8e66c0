/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the programs of a plan, one for each different length of segments. */
#include "lib/plan/compiler.h"

#include <string.h>

#include "lib/inspect.h"
#include "lib/plan/plan.h"
#include "lib/base/group.h"

/* Computes the starts of the blocks of a buffer; *at becomes NULL for a vector, and for blocks of
 * one count, which lie side by side. Returns false if there is no memory. */
static bool places(struct ncoll_group *g, enum data_form form, const size_t *counts,
                   const size_t *displs, size_t **at)
{
    *at = NULL;
    if (form != FORM_BLOCKS || (counts == NULL && displs == NULL))
        return true;
    *at = ncoll__allocate(g->ctx, (size_t)g->size * sizeof **at);
    if (*at == NULL)
        return false;
    for (int q = 0; q < g->size; q++)
        (*at)[q] = displs != NULL ? displs[q] : q == 0 ? 0 : (*at)[q - 1] + counts[q - 1];
    return true;
}

/* True if the next segment, which has these counts, needs a program of its own. */
static bool differs(const struct shape *shape, const size_t *counts, const size_t *sends)
{
    size_t bytes = shape->size * sizeof *counts;

    return memcmp(shape->counts, counts, bytes) != 0 ||
           (sends != NULL && memcmp(shape->sends, sends, bytes) != 0);
}

static int add_program(struct compiler *c, uint64_t first_segment)
{
    struct plan *plan = c->plan;
    struct program *grown =
        ncoll__allocate(c->g->ctx, (plan->n_programs + 1) * sizeof *plan->programs);

    if (grown == NULL)
        return NCOLL_ERR_MEMORY;
    if (plan->n_programs > 0)
        memcpy(grown, plan->programs, plan->n_programs * sizeof *grown);
    ncoll__release(c->g->ctx, plan->programs);
    plan->programs = grown;
    c->out = &plan->programs[plan->n_programs++];
    c->out->first_segment = first_segment;
    return ncoll__compile_program(c);
}

/* Compiles a call with one count for all ranks and blocks. All segments but the last are alike. */
static int compile_even(struct compiler *c)
{
    struct plan *plan = c->plan;
    size_t last = plan->key.count - (plan->segments - 1) * plan->segment;
    int rc = NCOLL_OK;

    c->shape.count = least(plan->segment, plan->key.count);
    if (plan->segments == 1 || (rc = add_program(c, 0)) != NCOLL_OK || last == c->shape.count)
        return plan->segments == 1 ? add_program(c, 0) : rc;
    c->shape.count = last;
    return add_program(c, plan->segments - 1);
}

/* Computes the counts of the segment that begins at element `begin` of every block. */
static void cut(const size_t *counts, unsigned size, size_t begin, size_t segment, size_t *out)
{
    for (unsigned q = 0; q < size; q++)
        out[q] = counts[q] > begin ? least(counts[q] - begin, segment) : 0;
}

/* Compiles a call on blocks whose counts differ, and which is cut into segments. */
static int compile_blocks(struct compiler *c)
{
    struct plan *plan = c->plan;
    const struct call_args *key = &plan->key;
    struct ncoll_context *ctx = c->g->ctx;
    size_t bytes = c->shape.size * sizeof(size_t);
    size_t *now = ncoll__allocate(ctx, 4 * bytes), *counts, *sends, *next, *next_sends;
    bool both = key->collective == COLL_ALLTOALL;
    int rc = NCOLL_ERR_MEMORY;

    if (now == NULL)
        return rc;
    counts = now, sends = counts + c->shape.size, next = sends + c->shape.size,
    next_sends = next + c->shape.size;
    c->shape.counts = counts;
    c->shape.sends = both ? sends : NULL;
    rc = NCOLL_OK;
    for (uint64_t k = 0; k < plan->segments && rc == NCOLL_OK; k++) {
        cut(key->counts, c->shape.size, k * plan->segment, plan->segment, next);
        if (both)
            cut(key->sends, c->shape.size, k * plan->segment, plan->segment, next_sends);
        if (k > 0 && !differs(&c->shape, next, both ? next_sends : NULL))
            continue;
        memcpy(counts, next, bytes);
        memcpy(sends, next_sends, bytes);
        rc = add_program(c, k);
    }
    ncoll__release(ctx, now);
    return rc;
}

static bool placed_alike(const struct program *a, const struct program *b)
{
    bool alike = a->n_placed == b->n_placed;

    for (unsigned i = 0; alike && i < a->n_placed; i++) {
        const struct placed *l = &a->placed[i], *k = &b->placed[i];
        alike = l->peer == k->peer && l->slot == k->slot && l->at == k->at && l->apart == k->apart;
    }
    return alike;
}

/* Returns the number of segments that one advertisement can stand for. */
static uint64_t count_advertised(const struct plan *plan)
{
    unsigned p = 1;

    if (plan->programs[0].n_placed == 0)
        return 0;
    while (p < plan->n_programs && placed_alike(&plan->programs[0], &plan->programs[p]))
        p++;
    return p < plan->n_programs ? plan->programs[p].first_segment : plan->segments;
}

/* Returns the bytes from the start of IN or OUT to the end of its last block. */
static size_t extent(const struct compiler *c, enum data_form form, const size_t *counts,
                     const size_t *at)
{
    size_t end = block_count(&c->shape, c->shape.rank), count = c->plan->key.count;

    if (form == FORM_NONE)
        return 0;
    if (form == FORM_BLOCKS)
        end = at == NULL ? c->shape.size * count : 0;
    for (unsigned q = 0; form == FORM_BLOCKS && at != NULL && q < c->shape.size; q++) {
        size_t block = counts != NULL ? counts[q] : count;
        if (block > 0 && at[q] + block > end)
            end = at[q] + block;
    }
    return end * c->plan->element;
}

int ncoll__compile(struct ncoll_group *g, struct plan *plan)
{
    const struct call_args *key = &plan->key;
    bool in_blocks = in_form(key->collective) == FORM_BLOCKS;
    bool out_blocks = out_form(key->collective) == FORM_BLOCKS;
    bool alltoall = in_blocks && out_blocks;
    size_t *in_at, *out_at;
    struct compiler c = {
        .g = g,
        .plan = plan,
        .shape = ncoll__shape(g, key, plan->radix, plan->op.inverse != NULL),
    };

    const size_t *in_counts = alltoall && key->sends != NULL ? key->sends : key->counts;
    bool in_ok = places(g, in_form(key->collective), in_counts,
                        alltoall ? key->send_displs : key->displs, &in_at);
    bool out_ok = places(g, out_form(key->collective), key->counts, key->displs, &out_at);
    c.places = (struct block_starts){.in_at = in_at,
                                     .out_at = out_at,
                                     .in_each = in_blocks ? key->count : 0,
                                     .out_each = out_blocks ? key->count : 0};
    int rc = NCOLL_ERR_MEMORY;
    if (in_ok && out_ok) {
        if (has_in(&c.shape))
            plan->in_bytes = extent(&c, in_form(key->collective), in_counts, in_at);
        if (has_out(&c.shape))
            plan->out_bytes = extent(&c, out_form(key->collective), key->counts, out_at);
        c.shape.separate = (in_blocks || out_blocks) && key->counts == NULL && plan->segments > 1;
        if (key->counts == NULL)
            rc = compile_even(&c);
        else if (plan->segments == 1)
            rc = add_program(&c, 0);
        else
            rc = compile_blocks(&c);
    }
    if (rc == NCOLL_OK)
        plan->advertised = count_advertised(plan);
    ncoll__release(g->ctx, in_at);
    ncoll__release(g->ctx, out_at);
    return rc;
}
