/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "algos/schedule.h"

static size_t place_of(uint64_t id, size_t places)
{
    return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15) >> 32) * places >> 32); /* places < 2^32 */
}

/* Looks up the node of rank r in a hash table of the n nodes found so far. Returns n if the node is
 * new, and adds it. first[k]: the first rank of node k. The table has node numbers plus 1; 0: free
 * entry. */
static unsigned find(const uint64_t *ids, unsigned r, const unsigned *first, unsigned n,
                     unsigned *table, size_t places)
{
    size_t at = place_of(ids[r], places);

    while (table[at] != 0 && ids[first[table[at] - 1]] != ids[r])
        at = at + 1 < places ? at + 1 : 0;
    if (table[at] == 0)
        table[at] = n + 1;
    return table[at] - 1;
}

void ncoll__nodes_of(const uint64_t *ids, unsigned P, unsigned *room, struct nodes *out)
{
    unsigned *of = room, *local = of + P, *ranks = local + P, *first = ranks + P;
    unsigned *table = local; /* uses the room of `local` and `ranks`, which are filled in later */
    unsigned n = 0;

    memset(table, 0, 2 * (size_t)P * sizeof *table);
    for (unsigned r = 0; r < P; r++) {
        bool is_same = r > 0 && ids[r] == ids[r - 1]; /* frequent if ranks are in blocks */
        of[r] = is_same ? of[r - 1] : find(ids, r, first, n, table, 2 * (size_t)P);
        if (of[r] == n)
            first[n++] = r; /* for now, first[k] is the first rank of node k */
    }
    for (unsigned k = 0; k <= n; k++)
        first[k] = 0;
    for (unsigned r = 0; r < P; r++)
        local[r] = first[of[r] + 1]++;
    for (unsigned k = 0; k < n; k++)
        first[k + 1] += first[k];
    for (unsigned r = 0; r < P; r++)
        ranks[first[of[r]] + local[r]] = r;
    *out = (struct nodes){
        .count = n, .size = P, .of = of, .local = local, .ranks = ranks, .first = first};
    out->in_blocks = true;
    out->in_turn = n > 1;
    for (unsigned i = 0, turn = 0; i < P; i++, turn = turn + 1 < n ? turn + 1 : 0) {
        out->in_blocks &= ranks[i] == i;
        out->in_turn &= of[i] == turn;
    }
    out->fewest = out->most = ranks_on(out, 0);
    for (unsigned k = 1; k < n; k++) {
        unsigned here = ranks_on(out, k);
        out->fewest = here < out->fewest ? here : out->fewest;
        out->most = here > out->most ? here : out->most;
    }
}

bool ncoll__nodes_without_tables(struct nodes *nodes)
{
    for (unsigned k = 0; k + 1 < nodes->count; k++)
        if (ranks_on(nodes, k) != nodes->most)
            return false;
    if (!nodes->in_blocks)
        return false;
    nodes->of = nodes->local = nodes->ranks = nodes->first = NULL;
    return true;
}
