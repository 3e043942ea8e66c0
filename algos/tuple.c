/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Precomputes the 5-tuple (s, l_snd, l_rcv, j_snd, j_rcv) of Theorem 1 in End et al. 2015.
 *
 * Let N = (n+1)^(k-1) be the number of vectors in a whole partial result before the last round, A
 * the number of vectors up to the boundary g^s_lsnd[jsnd], and B that up to g_lrcv[jrcv]. Equation
 * (8) reads
 *
 *     P = s N + A - B,    and with the base border g_B    P = s N + A:
 *
 * the receiver's own N, s - 1 times N and A cover a contiguous range of ranks to the left of p; the
 * vectors that this range covers twice are the receiver's own prefix B. Cases 3 and 4 are the base
 * border under another name, with nothing to take out: the paper's A includes the receiver's own
 * vector there, and "up to g_1[jsnd - 1]" leaves it out.
 *
 * This code chooses a tuple that takes nothing out. If there is none, it chooses the one with the
 * fewest messages in the last round, and of several such tuples the one that takes out the least.
 * For given B (0: none) and s there is at most one A, so the search looks at O(n^2 k) candidates.
 */
#include "algos/tuple.h"

#include "algos/radix.h"

size_t ncoll__tuple_reach(unsigned n, struct boundary b)
{
    return b.l == 0 ? 1 : (1 + b.j) * power(n, b.l - 1);
}

/* Finds the boundary up to which `reach` vectors are combined, in rounds below k. Returns false if
 * there is none. */
static bool boundary_at(unsigned n, unsigned k, size_t reach, struct boundary *out)
{
    if (reach == 1) {
        *out = (struct boundary){0, 0};
        return true;
    }
    for (unsigned l = 1; l < k; l++) {
        size_t part = power(n, l - 1);
        if (reach % part == 0 && reach / part >= 2 && reach / part <= n + 1) {
            *out = (struct boundary){l, (unsigned)(reach / part) - 1};
            return true;
        }
    }
    return false;
}

/* Gives a tuple that takes nothing out the name that the theorem uses. */
static void name_base(unsigned n, unsigned k, struct tuple *t)
{
    size_t reach = ncoll__tuple_reach(n, t->send);

    if (reach == power(n, k - 1) && t->s == n) {
        t->which = TUPLE_EXACT;
    } else if (reach == power(n, k - 1)) {
        t->which = TUPLE_CASE_3;
        t->s++;
    } else if (reach <= n) {
        t->which = TUPLE_CASE_4;
        t->l_snd = 1;
        t->j_snd = (unsigned)reach;
    } else {
        t->which = TUPLE_BASE;
        t->l_snd = t->send.l;
        t->j_snd = t->send.j;
    }
}

static void name_taking_out(struct tuple *t)
{
    t->takes_out = true;
    t->l_snd = t->send.l;
    t->j_snd = t->send.j;
    t->l_rcv = t->out.l;
    t->j_rcv = t->out.j;
    t->which = t->l_rcv == 0 ? TUPLE_CASE_5 : t->l_snd == 0 ? TUPLE_CASE_2 : TUPLE_CASE_1;
}

/* True if s N + A - B = P for the number A of vectors up to some boundary, which is then stored in
 * *send; B is reach_out. */
static bool solves(unsigned P, unsigned n, unsigned k, unsigned s, size_t reach_out,
                   struct boundary *send)
{
    size_t covered = s * power(n, k - 1);
    return P + reach_out > covered && boundary_at(n, k, P + reach_out - covered, send);
}

bool ncoll__tuple(unsigned P, unsigned n, struct tuple *out)
{
    unsigned k = fewest_rounds(P, n);

    if (k == 0)
        return false;
    for (unsigned s = 1; s <= n; s++) {
        struct tuple t = {.s = s, .senders = s};
        if (solves(P, n, k, s, 0, &t.send)) {
            name_base(n, k, &t);
            *out = t;
            return true;
        }
    }
    for (unsigned s = 1; s <= n; s++)
        for (unsigned l = 0; l < k; l++)
            for (unsigned j = l > 0; j <= (l > 0 ? n : 0); j++) {
                struct tuple t = {.s = s, .senders = s, .out = {l, j}};
                if (solves(P, n, k, s, ncoll__tuple_reach(n, t.out), &t.send)) {
                    name_taking_out(&t);
                    *out = t;
                    return true;
                }
            }
    return false;
}
