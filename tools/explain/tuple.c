/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the 5-tuple of the adapted algorithm, in words.
 */
#include <stdio.h>

#include "algos/radix.h"
#include "algos/tuple.h"
#include "tools/explain/explain.h"

static void print_sent(const struct tuple *t)
{
    if (t->which == TUPLE_CASE_3)
        printf("s - 1 = %u senders send whole partial results, ", t->s - 1);
    else if (t->which == TUPLE_CASE_2 || (t->which == TUPLE_CASE_4 && t->j_snd == 1))
        printf("the last sender sends its own data, ");
    else if (t->which == TUPLE_CASE_4)
        printf("the last sender sends up to g_1[%u], ", t->j_snd - 1);
    else
        printf("the last sender sends up to g_%u[%u], ", t->l_snd, t->j_snd);
}

static void print_taken_out(const struct tuple *t)
{
    if (t->which == TUPLE_CASE_1 || t->which == TUPLE_CASE_2)
        printf("the receiver takes out up to g_%u[%u]\n", t->l_rcv, t->j_rcv);
    else if (t->which == TUPLE_CASE_5)
        printf("the receiver takes out its own data\n");
    else
        printf("nothing is taken out\n");
}

static void explain_case(const struct tuple *t)
{
    if (t->which == TUPLE_BASE) {
        printf("base border: P - 1 = g^%u_%u[%u]; the last sender sends up to there, nothing is "
               "taken out (as in case 4)\n",
               t->s, t->l_snd, t->j_snd);
        return;
    }
    printf("case %d of Theorem 1: ", (int)t->which);
    print_sent(t);
    print_taken_out(t);
}

void explain_tuple(unsigned P, unsigned n)
{
    struct tuple t;

    if (P == 1) {
        printf("exact: one rank has nothing to send\n");
    } else if (!ncoll__tuple(P, n, &t)) {
        printf("none\n");
    } else if (t.which == TUPLE_EXACT) {
        printf("exact: P = %u^%u, the algorithm needs no adaption\n", n + 1, fewest_rounds(P, n));
    } else {
        printf("(s, l_snd, l_rcv, j_snd, j_rcv) = (%u, %u, %u, %u, %u)\n", t.s, t.l_snd, t.l_rcv,
               t.j_snd, t.j_rcv);
        explain_case(&t);
    }
}

void count_tuples(unsigned max, unsigned n)
{
    unsigned count = 0;
    struct tuple t;

    for (unsigned P = 2; P <= max; P++)
        count += ncoll__tuple(P, n, &t);
    printf("%u\n", count);
}
