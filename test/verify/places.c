/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/places.h"

static struct side side_of(const struct shape *g, enum data_form form, bool there,
                           const size_t *counts, size_t *starts)
{
    struct side side = {.form = form,
                        .block = g->count,
                        .one_block = g->collective == COLL_ALLTOALL || g->separate};

    if (form == FORM_BLOCKS && counts != NULL) {
        starts[0] = 0;
        for (unsigned q = 0; q < g->size; q++)
            starts[q + 1] = starts[q] + counts[q];
        side.starts = starts;
    }
    if (there)
        side.size = form == FORM_VECTOR   ? block_count(g, g->rank)
                    : side.starts != NULL ? starts[g->size]
                                          : g->size * g->count;
    return side;
}

size_t side_start(const struct side *side, unsigned q)
{
    return side->starts != NULL ? side->starts[q] : q * side->block;
}

static bool can_be_in_place(enum collective c)
{
    return c != COLL_REDUCE_SCATTER && c != COLL_ALLTOALL;
}

size_t places_set(struct places *places, const struct shape *g, bool apart, size_t first,
                  size_t *starts)
{
    enum data_form in_is = in_form(g->collective), out_is = out_form(g->collective);
    const size_t *sends = g->sends != NULL ? g->sends : g->counts;
    struct side in = side_of(g, in_is, has_in(g), sends, starts);
    struct side out =
        side_of(g, out_is, has_out(g), g->counts, starts != NULL ? starts + g->size + 1 : NULL);

    in.first = out.first = first;
    if (apart || !has_in(g) || !has_out(g) || !can_be_in_place(g->collective)) {
        out.first += in.size;
        first += in.size + out.size;
    } else {
        if (in_is == FORM_VECTOR && out_is == FORM_BLOCKS)
            in.first += side_start(&out, g->rank);
        if (in_is == FORM_BLOCKS && out_is == FORM_VECTOR)
            out.first += side_start(&in, g->rank);
        first += in.size > out.size ? in.size : out.size;
    }
    *places = (struct places){.in = in, .out = out};
    return first;
}

bool side_find(const struct side *side, unsigned P, struct ref ref, size_t count, size_t *offset)
{
    bool blocks = side->form == FORM_BLOCKS;
    size_t start = 0, size = side->size;

    if (ref.block >= (blocks ? P : 1) || size == 0)
        return false;
    if (blocks)
        start = side_start(side, ref.block);
    if (side->starts != NULL)
        size = side->starts[ref.block + 1]; /* no step leaves its block */
    else if (blocks && side->one_block)
        size = start + side->block;
    *offset = start + ref.offset;
    return *offset <= size && count <= size - *offset;
}
