/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/peers.h"

#include <stdlib.h>
#include <string.h>

#include "test/verify/memory.h"

enum { OF_A = 1, OF_B = 2 };

/* Marks each peer of a rank, `by` further to the right. */
static void mark(const struct schedule *s, unsigned rank, unsigned by, uint8_t mark, uint8_t *marks)
{
    const struct program *p = &s->ranks[rank];

    for (unsigned i = 0; i < p->count; i++)
        if (p->steps[i].kind == STEP_PUT || p->steps[i].kind == STEP_WAIT)
            marks[(p->steps[i].peer + by) % s->shape.size] |= mark;
}

static bool same(const uint8_t *marks, unsigned P, bool some_will_do)
{
    for (unsigned q = 0; q < P; q++)
        if (marks[q] == OF_B || (marks[q] == OF_A && !some_will_do))
            return false;
    return true;
}

/* Compares the peers of rank p in a, by_a further, with those of rank q in b, by_b further. */
static bool compare(const struct schedule *a, unsigned p, unsigned by_a, const struct schedule *b,
                    unsigned q, unsigned by_b, bool some_will_do)
{
    unsigned P = a->shape.size;
    uint8_t *marks = allocate(P, 1);

    mark(a, p, by_a, OF_A, marks);
    mark(b, q, by_b, OF_B, marks);
    bool result = same(marks, P, some_will_do);
    free(marks);
    return result;
}

bool peers_same(const struct schedule *a, const struct schedule *b, bool some_will_do)
{
    for (unsigned p = 0; p < a->shape.size; p++)
        if (!compare(a, p, 0, b, p, 0, some_will_do))
            return false;
    return true;
}

bool peers_at_same_distances(const struct schedule *s)
{
    unsigned P = s->shape.size;

    for (unsigned p = 1; p < P; p++)
        if (!compare(s, 0, 0, s, p, P - p, false))
            return false;
    return true;
}

bool peers_rotated(const struct schedule *a, const struct schedule *b, unsigned by)
{
    unsigned P = a->shape.size;

    for (unsigned p = 0; p < P; p++)
        if (!compare(a, p, by, b, (p + by) % P, 0, false))
            return false;
    return true;
}

/* Marks the ranks that share a rank's node, and look at each other's slots. */
static void mark_node(const struct schedule *s, unsigned rank, uint8_t *marks)
{
    const struct nodes *nodes = s->shape.nodes;
    unsigned node = node_of(nodes, rank);

    for (unsigned l = 0; l < ranks_on(nodes, node); l++)
        marks[rank_on(nodes, node, l)] = OF_A;
}

/* Returns how many ranks are marked besides rank p; with `both_ways`, also those as far from p to
 * the other side. */
static unsigned count(const uint8_t *marks, unsigned P, unsigned p, bool both_ways)
{
    unsigned n = 0;

    for (unsigned d = 1; d < P; d++)
        n += marks[(p + d) % P] != 0 || (both_ways && marks[(p + P - d) % P] != 0);
    return n;
}

unsigned peers_most(const struct schedule *s)
{
    unsigned P = s->shape.size, most = 0;
    bool rotates = schedule_rotates(s);
    uint8_t *marks = allocate(P, 1);

    for (unsigned p = 0; p < P; p++) {
        mark(s, p, rotates ? P - p : 0, OF_A, marks);
        if (s->properties & SHARES)
            mark_node(s, p, marks);
        unsigned n = count(marks, P, rotates ? 0 : p, rotates);
        most = n > most ? n : most;
        if (!rotates)
            memset(marks, 0, P);
    }
    free(marks);
    return most;
}

/* Counts the messages of a rank, by the distance of their senders, and marks the distances of its
 * peers, to both sides. */
static void count_messages(const struct schedule *s, unsigned rank, unsigned *messages,
                           uint8_t *marks)
{
    const struct program *p = &s->ranks[rank];
    unsigned P = s->shape.size;

    memset(messages, 0, P * sizeof *messages);
    memset(marks, 0, P);
    for (unsigned i = 0; i < p->count; i++) {
        if (p->steps[i].kind != STEP_PUT && p->steps[i].kind != STEP_WAIT)
            continue;
        unsigned d = (p->steps[i].peer + P - rank) % P;
        messages[d] += p->steps[i].kind == STEP_WAIT;
        marks[d] = marks[(P - d) % P] = OF_A;
    }
}

bool peers_of_root_are_all(const struct schedule *s)
{
    unsigned P = s->shape.size, most = 2, root = s->shape.root;
    unsigned *messages = allocate(P, sizeof *messages);
    uint8_t *of_root = allocate(P, 1), *marks = allocate(P, 1);
    bool right = true;

    count_messages(s, root, messages, of_root);
    for (unsigned d = 0; d < P; d++)
        most = messages[d] > most ? messages[d] : most;
    for (unsigned p = 0; p < P && right; p++) {
        count_messages(s, p, messages, marks);
        for (unsigned d = 0; d < P; d++)
            right &= messages[d] <= most && (!marks[d] || of_root[d]);
    }
    free(messages);
    free(of_root);
    free(marks);
    return right;
}
