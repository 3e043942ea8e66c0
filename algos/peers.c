/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of peers that a rank has. Selection compares it with the limit NCOLL_PEERS. */
#include "algos/choice.h"
#include "algos/radix.h"

/* Returns the number of peers of n-way rounds among P ranks: receivers and senders. */
static unsigned of_rounds(unsigned P, unsigned radix)
{
    return 2 * messages_in(radix, fewest_rounds(P, radix));
}

unsigned ncoll__peers_all(const struct shape *g)
{
    return g->size - 1;
}

unsigned ncoll__peers_two(const struct shape *g)
{
    (void)g;
    return 2;
}

unsigned ncoll__peers_twice(const struct shape *g)
{
    return 2 * of_rounds(g->size, g->radix);
}

unsigned ncoll__peers_by_nodes(const struct shape *g)
{
    return g->nodes->most - 1 + of_rounds(g->nodes->count, g->radix);
}

unsigned ncoll__algorithm_peers(const struct algorithm *a, const struct shape *g)
{
    unsigned peers = a->peers != NULL ? a->peers(g) : of_rounds(g->size, g->radix);

    return peers < g->size ? peers : g->size - 1;
}
