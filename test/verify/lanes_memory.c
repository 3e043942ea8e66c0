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
    /* a rank begins a page of its own */
    size_t pages = mates / CREDIT_PAGE + l->ranks;
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
        l->credit_of = reallocate(l->credit_of, mates, sizeof *l->credit_of);
        l->mates_allocated = mates;
    }
    if (pages > l->pages_allocated) {
        l->credit_pages = reallocate(l->credit_pages, pages, sizeof(struct credit_of *));
        l->pages_allocated = pages;
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
    if (mates > 0)
        memset(l->credit_of, 0, mates * sizeof *l->credit_of);
    memset(l->begun, 0, ranks * sizeof *l->begun);
    memset(l->lanes, 0, ranks * l->N * sizeof *l->lanes);
    if (outline->waits > 0)
        memset(l->inbox, 0, ranks * CREDIT_SETS * outline->waits * sizeof *l->inbox);
    memset(l->is_ready, 0, ranks * sizeof *l->is_ready);
    l->n_rows = l->n_free_rows = l->n_under_way = l->n_ready = 0;
    struct credit_of **pages = l->credit_pages;
    for (unsigned rank = 0; rank < ranks; rank++) {
        l->credits[rank] = (struct credits){.pages = pages};
        for (unsigned mate = outline->first_mate[rank]; mate < outline->first_mate[rank + 1];
             mate += CREDIT_PAGE)
            *pages++ = l->credit_of + mate;
        *settled_of(l, rank, 0) = 0;
        for (unsigned e = 1; e <= l->N; e++)
            lane_of(l, rank, e)->snapshot = NO_ROW;
    }
}

void lanes_free(struct lanes *l)
{
    free(l->credits);
    free(l->credit_of);
    free(l->credit_pages);
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
    *l = (struct lanes){.turn = l->turn, .runs = l->runs, .edges = l->edges, .sent = l->sent};
}
