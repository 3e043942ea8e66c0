/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes of trees: the binomial one of Iakymchuk et al. 2022, and the tables in algos/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "algos/schedule.h"

#define STEPS 64

/* The puts of one rank in a bcast, in order. */
struct puts {
    unsigned to[STEPS], count;
};

static struct puts puts_of(const char *algorithm, unsigned P, unsigned n, unsigned root,
                           unsigned rank)
{
    struct shape shape = {
        .collective = COLL_BCAST, .rank = rank, .size = P, .root = root, .radix = n, .count = 1};
    struct step steps[STEPS];
    struct round round = {.steps = steps, .capacity = STEPS};
    struct puts puts = {.count = 0};

    for (unsigned r = 0; ncoll__algorithm_find(algorithm)->round(&shape, r, &round); r++)
        assert_false(round.full);
    for (unsigned i = 0; i < round.count; i++)
        if (steps[i].kind == STEP_PUT)
            puts.to[puts.count++] = steps[i].peer;
    return puts;
}

/* Their figure 3, for eight ranks: the children of p are p + 2^i, for the i above p's highest bit,
 * and message i is stage i. Here a rank's bits come in the opposite order, so that the ranks below
 * one are neighbours. */
static unsigned reversed(unsigned p)
{
    return (p & 1) << 2 | (p & 2) | p >> 2;
}

static void test_binomial_of_eight(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 8; p++) {
        struct puts puts = puts_of("knomial", 8, 1, 0, reversed(p));
        unsigned stage = 0;

        while (p >> stage > 0)
            stage++;
        assert_int_equal(puts.count, 3 - stage);
        for (unsigned i = 0; i < puts.count; i++)
            assert_int_equal(reversed(puts.to[i]), p + (1u << (stage + i)));
    }
}

/* Whom each rank sends to, for those that send. */
static const struct {
    const char *algorithm;
    unsigned P, n, root;
    const char *expected;
} tables[] = {
    {"knomial", 6, 1, 0, "0: 4 2 1, 2: 3, 4: 5"},
    {"knomial", 8, 1, 0, "0: 4 2 1, 2: 3, 4: 6 5, 6: 7"},
    {"knomial", 6, 2, 0, "0: 3 2 1, 3: 5 4"},
    {"knomial", 6, 1, 3, "1: 2, 3: 1 5 4, 5: 0"},
    {"kary", 6, 2, 0, "0: 3 1, 1: 2, 3: 5 4"},
    {"kary", 8, 2, 0, "0: 4 1, 1: 3 2, 4: 6 5, 6: 7"},
    {"kary", 4, 1, 0, "0: 1, 1: 2, 2: 3"},
    {"fork", 6, 2, 0, "0: 3 1, 1: 2, 3: 4, 4: 5"},
    {"fork", 9, 2, 0, "0: 3 1, 1: 2, 3: 6 4, 4: 5, 6: 7, 7: 8"},
    {"fork", 8, 1, 0, "0: 4 2 1, 2: 3, 4: 6 5, 6: 7"},
    {"chain", 4, 1, 2, "0: 1, 2: 3, 3: 0"},
};

static void test_tables(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        char text[256] = "";
        int at = 0;

        for (unsigned p = 0; p < tables[t].P; p++) {
            struct puts puts =
                puts_of(tables[t].algorithm, tables[t].P, tables[t].n, tables[t].root, p);
            if (puts.count > 0)
                at += snprintf(text + at, sizeof text - (size_t)at, "%s%u:", at > 0 ? ", " : "", p);
            for (unsigned i = 0; i < puts.count; i++)
                at += snprintf(text + at, sizeof text - (size_t)at, " %u", puts.to[i]);
        }
        assert_string_equal(text, tables[t].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binomial_of_eight),
        cmocka_unit_test(test_tables),
    };

    return cmocka_run_group_tests_name("trees", tests, NULL, NULL);
}
