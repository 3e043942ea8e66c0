/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of a schedule on few ranks, and the data that they carry. */
#ifndef NCOLL_TOOLS_EXPLAIN_MESSAGES_H
#define NCOLL_TOOLS_EXPLAIN_MESSAGES_H

#include <stdint.h>

#include "algos/schedule.h"

#define PICTURE_RANKS 32u /* most ranks of a picture: one bit for each */

/* The data of a message: none, its sender's own, that of other ranks as well, or combined data. */
enum carries { CARRIES_NOTHING, CARRIES_OWN, CARRIES_OTHERS, CARRIES_COMBINED, CARRIES };

struct message {
    unsigned from, to;
    unsigned put_round, seen_round; /* from 1 */
    size_t count;                   /* elements */
    uint32_t data;                  /* bit q: it has data of rank q, perhaps combined with others */
    enum carries carries;
    bool looked_at; /* `to` sees it in the window of a neighbour, who is its receiver */
};

struct messages {
    struct message *all; /* in the order in which they are seen */
    unsigned n, capacity, rounds;
    uint32_t own[PICTURE_RANKS]; /* the data that each rank has in the beginning */
};

/* Runs a schedule on all ranks, at most PICTURE_RANKS; g->rank does not matter. */
void messages_list(struct messages *out, const struct algorithm *a, const struct shape *g);

#endif
