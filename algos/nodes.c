/* SPDX-License-Identifier: BSD-3-Clause */
#include "algos/schedule.h"

/* Returns the number of rank r's node among the n nodes of the ranks before it, or n if the node is
 * new. The search begins at the node of the previous rank, so it ends at once if the ranks of a
 * node come one after the other, or if nodes alternate. */
static unsigned find(const uint64_t *ids, unsigned r, const unsigned *of, const unsigned *founder,
                     unsigned n)
{
    unsigned from = r > 0 ? of[r - 1] : 0;

    for (unsigned i = 0; i < n; i++)
        if (ids[founder[(from + i) % n]] == ids[r])
            return (from + i) % n;
    return n;
}

void ncoll__nodes_of(const uint64_t *ids, unsigned P, unsigned *room, struct nodes *out)
{
    unsigned *of = room, *local = of + P, *ranks = local + P, *first = ranks + P;
    unsigned n = 0;

    for (unsigned r = 0; r < P; r++) {
        of[r] = find(ids, r, of, first, n); /* for now, first[k] is the first rank of node k */
        if (of[r] == n)
            first[n++] = r;
    }
    for (unsigned k = 0; k <= n; k++)
        first[k] = 0;
    for (unsigned r = 0; r < P; r++)
        local[r] = first[of[r] + 1]++;
    for (unsigned k = 0; k < n; k++)
        first[k + 1] += first[k];
    for (unsigned r = 0; r < P; r++)
        ranks[first[of[r]] + local[r]] = r;
    *out = (struct nodes){.count = n, .of = of, .local = local, .ranks = ranks, .first = first};
    out->in_blocks = true;
    for (unsigned i = 0; i < P; i++)
        out->in_blocks &= ranks[i] == i;
    out->fewest = out->most = ranks_on(out, 0);
    for (unsigned k = 1; k < n; k++) {
        unsigned here = ranks_on(out, k);
        out->fewest = here < out->fewest ? here : out->fewest;
        out->most = here > out->most ? here : out->most;
    }
}
