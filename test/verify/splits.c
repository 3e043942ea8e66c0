/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/splits.h"

#include "test/verify/draw.h"

/* Nodes in ascending order of their ranks, so that none comes twice. */
bool split_next(struct split *s)
{
    unsigned k = s->nodes;

    while (k > 0 && s->ranks[k - 1] == SPLIT_RANKS)
        k--;
    if (k == 0)
        s->nodes = s->nodes % SPLIT_NODES + 1;
    unsigned least = k > 0 ? s->ranks[k - 1] + 1 : 1;
    for (unsigned i = k > 0 ? k - 1 : 0; i < s->nodes; i++)
        s->ranks[i] = least;
    return k > 0 || s->nodes > 1;
}

static void shuffle(uint64_t *ids, unsigned n, uint64_t *seed)
{
    for (unsigned i = n; i-- > 1;) {
        unsigned j = (unsigned)(draw(seed) % (i + 1));
        uint64_t id = ids[i];
        ids[i] = ids[j];
        ids[j] = id;
    }
}

/* The next node in turn that has a rank to give. */
static unsigned next_in_turn(const unsigned *left, unsigned nodes, unsigned k)
{
    do
        k = (k + 1) % nodes;
    while (left[k] == 0);
    return k;
}

void split_place(const struct split *s, enum placing placing, uint64_t *seed, struct placement *out)
{
    uint64_t order[SPLIT_NODES], ids[SPLIT_P];
    unsigned left[SPLIT_NODES], k = s->nodes - 1;

    for (unsigned i = 0; i < s->nodes; i++)
        order[i] = i;
    shuffle(order, s->nodes, seed);
    out->P = 0;
    for (unsigned i = 0; i < s->nodes; i++)
        out->P += left[i] = s->ranks[order[i]];
    for (unsigned r = 0; r < out->P; r++) {
        if (r == 0 || placing == PLACED_IN_TURN || left[k] == 0)
            k = next_in_turn(left, s->nodes, k);
        left[k]--;
        ids[r] = k;
    }
    if (placing == PLACED_ANYHOW)
        shuffle(ids, out->P, seed);
    ncoll__nodes_of(ids, out->P, out->room, &out->nodes);
    out->nodes.shared = true;
}

void placement_draw(struct placement *p, unsigned P, uint64_t *seed)
{
    uint64_t ids[PLACEMENT_P], nodes = 1 + draw(seed) % (P / (1 + draw(seed) % 4) + 1);

    for (unsigned r = 0; r < P; r++)
        ids[r] = (draw(seed) % 2 ? r : draw(seed)) % nodes;
    p->P = P;
    ncoll__nodes_of(ids, P, p->room, &p->nodes);
    p->nodes.shared = true;
}
