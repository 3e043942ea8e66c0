/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of lanes: kept from one outline to the next, cleared in between.
 */
#include <stdlib.h>
#include <string.h>

#include "test/verify/lanes.h"
#include "test/verify/memory.h"

static void make_room(struct lanes *l, size_t mates)
{
    size_t ranks = l->ranks, inbox = ranks * CREDIT_SETS * l->outline->waits;
    size_t known = l->outline->synchronises ? ranks * l->kept * knowledge_bytes(l->P) : 0;

    if (ranks > l->ranks_allocated) {
        l->credits = reallocate(l->credits, ranks, sizeof *l->credits);
        l->settled = reallocate(l->settled, ranks * (LANE_RUNS + 1), sizeof *l->settled);
        l->begun = reallocate(l->begun, ranks, sizeof *l->begun);
        l->lanes = reallocate(l->lanes, ranks * LANE_RUNS, sizeof *l->lanes);
        l->ready = reallocate(l->ready, ranks, sizeof *l->ready);
        l->is_ready = reallocate(l->is_ready, ranks, sizeof *l->is_ready);
        l->ranks_allocated = ranks;
    }
    if (mates > l->mates_allocated) {
        l->told = reallocate(l->told, mates, sizeof *l->told);
        l->heard = reallocate(l->heard, mates, sizeof *l->heard);
        l->mates_allocated = mates;
    }
    if (known > l->known_allocated) {
        l->known = reallocate(l->known, known, 1);
        l->known_allocated = known;
    }
    if (inbox > l->inbox_allocated) {
        l->inbox = reallocate(l->inbox, inbox, sizeof *l->inbox);
        l->inbox_allocated = inbox;
    }
}

void lanes_prepare(struct lanes *l)
{
    const struct outline *outline = l->outline;
    size_t ranks = l->ranks, mates = outline->first_mate[ranks];

    make_room(l, mates);
    memset(l->told, 0, mates * sizeof *l->told);
    memset(l->heard, 0, mates * sizeof *l->heard);
    memset(l->begun, 0, ranks * sizeof *l->begun);
    memset(l->lanes, 0, ranks * l->N * sizeof *l->lanes);
    memset(l->inbox, 0, ranks * CREDIT_SETS * outline->waits * sizeof *l->inbox);
    memset(l->is_ready, 0, ranks * sizeof *l->is_ready);
    l->n_rows = l->n_free_rows = l->n_under_way = l->n_ready = 0;
    for (unsigned rank = 0; rank < ranks; rank++) {
        l->credits[rank] = (struct credits){.told = l->told + outline->first_mate[rank],
                                            .heard = l->heard + outline->first_mate[rank]};
        *settled_of(l, rank, 0) = 0;
        for (unsigned e = 1; e <= l->N; e++)
            lane_of(l, rank, e)->snapshot = NO_ROW;
    }
}

void lanes_free(struct lanes *l)
{
    free(l->credits);
    free(l->told);
    free(l->heard);
    free(l->begun);
    free(l->lanes);
    free(l->known);
    free(l->settled);
    free(l->rows);
    free(l->row_users);
    free(l->free_rows);
    free(l->inbox);
    free(l->under_way);
    free(l->ready);
    free(l->is_ready);
    *l = (struct lanes){0};
}
