/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/chosen.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/choose/select.h"
#include "lib/inspect.h"
#include "lib/plan/compile.h"
#include "test/support/planner.h"
#include "test/verify/draw.h"

#define ELEMENT   sizeof(int64_t)
#define BYTES_MAX ((size_t)1 << 20)
#define PEERS     1024 /* the budget */

static bool is_same(const struct chosen *all, unsigned i, const struct shape *shape,
                    const struct algorithm *algorithm)
{
    const struct shape *had = &all->shapes[i];

    return all->algorithms[i] == algorithm && had->collective == shape->collective &&
           had->radix == shape->radix && had->separate == shape->separate;
}

static void add(struct chosen *all, const struct shape *shape, const struct algorithm *algorithm)
{
    unsigned i = 0;

    while (i < all->count && !is_same(all, i, shape, algorithm))
        i++;
    if (i < all->count || i == CHOSEN_MAX)
        return;
    all->shapes[i] = *shape;
    all->algorithms[i] = algorithm;
    all->count++;
}

/* Adds what is chosen for a call by an operation that commutes, or by one that does not. */
static void choose(struct chosen *all, enum collective c, size_t bytes, bool commutes,
                   uint64_t *seed)
{
    ncoll_group *g = planner_world(all->planner);
    struct call_args args = {.collective = c, .count = c == COLL_BARRIER ? 0 : 1};
    bool blocks = in_form(c) == FORM_BLOCKS || out_form(c) == FORM_BLOCKS;
    struct call_args whole = {.collective = c,
                              .count = c == COLL_BARRIER ? 0 : bytes / ELEMENT,
                              .type = NCOLL_INT64,
                              .op = NCOLL_SUM};
    struct op op = {.commutative = commutes, .exact = true};
    struct choice choice;

    if (ncoll__select(g, &whole, &op, 0, &choice) != NCOLL_OK) {
        printf("WRONG: nothing is chosen for %s of %zu bytes on %d ranks%s\n",
               ncoll__collective_name(c), bytes, g->size, commutes ? "" : ", in rank order");
        all->wrong++;
        return;
    }
    struct shape shape = ncoll__shape(g, &args, choice.radix, true);
    /* of rooted calls, check_alone() separates the blocks as well */
    shape.separate = blocks && choice.segments > 1 && !is_rooted(c);
    shape.root = is_rooted(c) ? (unsigned)(draw(seed) % shape.size) : 0;
    add(all, &shape, choice.algorithm);
}

struct chosen *chosen_new(unsigned ranks, unsigned per_node, uint64_t seed)
{
    struct planner_job job = {.ranks = ranks,
                              .fabric = per_node > 1 ? PLANNER_BOTH : PLANNER_VERBS,
                              .per_node = per_node};
    struct chosen *all = calloc(1, sizeof *all);

    if (all == NULL || (all->planner = planner_new(&job)) == NULL)
        abort();
    planner_world(all->planner)->ctx->peers_most = PEERS;
    for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
        for (size_t bytes = ELEMENT; bytes <= BYTES_MAX; bytes *= 2)
            for (unsigned way = 0; way <= reduces(c); way++)
                choose(all, c, bytes, way == 0, &seed);
    return all;
}

void chosen_free(struct chosen *all)
{
    planner_free(all->planner);
    free(all);
}
