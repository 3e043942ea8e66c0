/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the programs of a plan, one for each different length of segments. */
#include "lib/plan/compiler.h"

#include <string.h>

#include "lib/inspect.h"
#include "lib/plan/plan.h"
#include "lib/base/group.h"

/* Returns the starts of blocks that lie side by side, of each STARTS_EVERY-th block, as an array
 * that the context keeps; NULL: no memory. */
static const size_t *add_up_starts(struct ncoll_group *g, const size_t *counts)
{
    unsigned size = (unsigned)g->size;
    size_t *starts = ncoll__array_begin(g->ctx, starts_in(size)), start = 0;

    if (starts == NULL)
        return NULL;
    for (unsigned q = 0; q < size; q++) {
        if (q % STARTS_EVERY == 0)
            starts[q / STARTS_EVERY] = start;
        start += counts[q];
    }
    return ncoll__array_end(g->ctx, starts);
}

/* Finds the starts of the blocks of a buffer. A vector, and blocks of one count that lie side by
 * side, need none: then starts->at is NULL. Returns false if there is no memory. */
static bool places(struct ncoll_group *g, enum data_form form, const size_t *counts,
                   const size_t *displs, struct starts *starts)
{
    *starts = (struct starts){0};
    if (form != FORM_BLOCKS || (displs == NULL && counts == NULL))
        return true;
    if (displs != NULL)
        starts->at = ncoll__array_keep(g->ctx, displs, (unsigned)g->size);
    else
        *starts = (struct starts){add_up_starts(g, counts), counts};
    return starts->at != NULL;
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

/* Returns the first segment after segment k in which some block has a different count than in
 * segment k; `segments`: there is none. */
static uint64_t next_program(const size_t *counts, unsigned size, uint64_t k, size_t segment,
                             uint64_t segments)
{
    size_t begin = k * segment, shortest = SIZE_MAX;

    for (unsigned q = 0; counts != NULL && q < size; q++) {
        size_t count = counts[q] > begin ? counts[q] : SIZE_MAX;
        shortest = count < shortest ? count : shortest;
    }
    if (shortest == SIZE_MAX)
        return segments;
    return shortest - begin < segment ? k + 1 : shortest / segment;
}

/* Sets sums[i] to the elements of this segment in the blocks before block i * SUMS_EVERY. This is
 * done once for each program, not for each step. */
static void add_up(const struct shape *shape, size_t *sums)
{
    size_t sum = 0;

    for (unsigned q = 0; q < shape->size; q += SUMS_EVERY) {
        unsigned end = shape->size - q < SUMS_EVERY ? shape->size : q + SUMS_EVERY;
        sums[q / SUMS_EVERY] = sum;
        for (unsigned i = q; i < end; i++)
            sum += in_segment(shape, shape->counts[i]);
    }
    if (shape->size % SUMS_EVERY == 0)
        sums[shape->size / SUMS_EVERY] = sum;
}

/* Compiles a call on blocks whose counts differ. The programs read the counts of the call, cut to
 * their segments. */
static int compile_blocks(struct compiler *c)
{
    struct plan *plan = c->plan;
    const struct call_args *key = &plan->key;
    size_t *sums = ncoll__allocate(c->g->ctx, (c->shape.size / SUMS_EVERY + 1) * sizeof *sums);
    int rc = sums != NULL ? NCOLL_OK : NCOLL_ERR_MEMORY;

    c->shape.sums = sums;
    c->shape.most = plan->segment;
    if (key->sends != NULL)
        c->shape.count = plan->segment;
    for (uint64_t k = 0, next; k < plan->segments && rc == NCOLL_OK; k = next) {
        next = next_program(key->counts, c->shape.size, k, plan->segment, plan->segments);
        uint64_t sent = next_program(key->sends, c->shape.size, k, plan->segment, plan->segments);
        next = sent < next ? sent : next;
        c->shape.begin = k * plan->segment;
        add_up(&c->shape, sums);
        rc = add_program(c, k);
    }
    ncoll__release(c->g->ctx, sums);
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

/* Returns the number of segments, from the first one on, whose messages are placed alike, so that
 * one advertisement is for all of them; 0: no messages are placed. */
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
                     const struct starts *starts)
{
    size_t end = block_count(&c->shape, c->shape.rank), count = c->plan->key.count;

    if (form == FORM_NONE)
        return 0;
    if (form == FORM_BLOCKS)
        end = starts->at == NULL ? c->shape.size * count : 0;
    for (unsigned q = 0; form == FORM_BLOCKS && starts->at != NULL && q < c->shape.size; q++) {
        size_t block = counts != NULL ? counts[q] : count;
        if (block > 0 && ncoll__start_of(starts, q) + block > end)
            end = ncoll__start_of(starts, q) + block;
    }
    return end * c->plan->element;
}

int ncoll__compile(struct ncoll_group *g, struct plan *plan)
{
    const struct call_args *key = &plan->key;
    bool in_blocks = in_form(key->collective) == FORM_BLOCKS;
    bool out_blocks = out_form(key->collective) == FORM_BLOCKS;
    bool alltoall = in_blocks && out_blocks;
    struct compiler c = {
        .g = g,
        .plan = plan,
        .shape = ncoll__shape(g, key, plan->radix, plan->op.inverse != NULL),
    };

    const size_t *in_counts = alltoall && key->sends != NULL ? key->sends : key->counts;
    bool in_ok = places(g, in_form(key->collective), in_counts,
                        alltoall ? key->send_displs : key->displs, &plan->in);
    bool out_ok = places(g, out_form(key->collective), key->counts, key->displs, &plan->out);
    c.places = (struct block_starts){.in = plan->in,
                                     .out = plan->out,
                                     .in_each = in_blocks ? key->count : 0,
                                     .out_each = out_blocks ? key->count : 0};
    int rc = NCOLL_ERR_MEMORY;
    if (in_ok && out_ok) {
        if (has_in(&c.shape))
            plan->in_bytes = extent(&c, in_form(key->collective), in_counts, &plan->in);
        if (has_out(&c.shape))
            plan->out_bytes = extent(&c, out_form(key->collective), key->counts, &plan->out);
        plan->longer_bytes = plan->in_bytes > plan->out_bytes ? plan->in_bytes : plan->out_bytes;
        c.shape.separate = (in_blocks || out_blocks) && key->counts == NULL && plan->segments > 1;
        c.shape.parts = plan->parts;
        for (rc = NCOLL_OK; rc == NCOLL_OK && c.shape.part < plan->parts; c.shape.part++)
            rc = key->counts == NULL ? compile_even(&c) : compile_blocks(&c);
    }
    if (rc == NCOLL_OK)
        plan->advertised = count_advertised(plan);
    return rc;
}
