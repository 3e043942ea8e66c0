/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the steps of one rank of a schedule. */
#include <string.h>

#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/plan/compile.h"

const struct nodes *ncoll__group_nodes(const ncoll_group *g)
{
    return g->nodes.count > 1 ? &g->nodes : NULL;
}

struct shape ncoll__shape(const struct ncoll_group *g, const struct call_args *args, unsigned radix,
                          bool inverse)
{
    return (struct shape){
        .collective = args->collective,
        .rank = (unsigned)g->rank,
        .size = (unsigned)g->size,
        .root = (unsigned)args->root,
        .radix = radix,
        .count = args->count,
        .counts = args->counts,
        .sends = args->sends,
        .inverse = inverse,
        .nodes = ncoll__group_nodes(g),
        .places = args->places,
        .rank_at = args->rank_at,
    };
}

void ncoll__divide_call(const struct ncoll_group *g, const struct call_args *args,
                        const struct algorithm *algorithm, struct shape *shape)
{
    unsigned slots = g->window->shape.n_slots, forced = g->forced[args->collective].slots;

    if (slots > SLOTS_MAX)
        slots = SLOTS_MAX;
    if (forced > 0 && forced < slots)
        slots = forced;
    shape->part = shape->parts = 0;
    if (!args->internal && slots > 0)
        ncoll__divide(algorithm, shape, slots);
}

struct step *ncoll__steps(struct ncoll_group *g, const struct algorithm *algorithm,
                          const struct shape *shape, bool repeats, unsigned *count)
{
    unsigned capacity = 64, used = 0;
    struct step *steps = ncoll__allocate(g->ctx, capacity * sizeof *steps);

    for (unsigned r = 0; steps != NULL;) {
        struct round round = {.steps = steps + used,
                              .capacity = capacity - used,
                              .repeats = repeats && !has_counts(shape),
                              .uneven = repeats && has_counts(shape)};
        bool more = algorithm->round(shape, r, &round);
        if (!round.full) {
            if (!more)
                break;
            used += round.count;
            r++;
            continue;
        }
        /* round() is pure, so it can be called again with more room */
        capacity *= 2;
        struct step *grown = ncoll__allocate(g->ctx, capacity * sizeof *steps);
        if (grown != NULL)
            memcpy(grown, steps, used * sizeof *steps);
        ncoll__release(g->ctx, steps);
        steps = grown;
    }
    *count = used;
    return steps;
}
