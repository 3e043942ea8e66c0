/* SPDX-License-Identifier: BSD-3-Clause */
/* The card: what goes in comes out, whatever differs shows, and its words. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/card.h"
#include "test/support/seed.h"

#define ROUNDS    100000
#define COUNT_END (UINT64_C(1) << 37)

struct fields {
    enum collective collective;
    size_t count;
    ncoll_type type;
    ncoll_op op;
    unsigned algorithm, radix;
};

static unsigned n_algorithms(void)
{
    unsigned n = 0;

    while (ncoll__algorithms[n] != NULL)
        n++;
    return n;
}

static struct fields draw(struct random *random)
{
    return (struct fields){
        .collective = 1 + random_below(random, 2),
        .count = random_next(random) >> (27 + random_below(random, 37)),
        .type = 1 + (ncoll_type)random_below(random, 10),
        .op = 1 + (ncoll_op)random_below(random, OP_USER + OPS_MAX - 1),
        .algorithm = 1 + (unsigned)random_below(random, n_algorithms()),
        .radix = 1 + (unsigned)random_below(random, RADIX_MAX),
    };
}

static uint64_t card_of(const struct fields *f)
{
    return ncoll__card(f->collective, f->count, f->type, f->op, f->algorithm, f->radix);
}

static void test_round_trip(void **state)
{
    struct random random = random_stream(test_seed(), 0);

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct fields in = draw(&random);
        struct card_fields out = ncoll__card_fields(card_of(&in));
        assert_int_equal(out.collective, in.collective);
        assert_int_equal(out.count, in.count);
        assert_int_equal(out.type, in.type);
        assert_int_equal(out.op, in.op);
        assert_ptr_equal(out.algorithm, ncoll__algorithms[in.algorithm - 1]);
        assert_int_equal(out.radix, in.radix);
    }
}

static void test_any_difference_shows(void **state)
{
    struct random random = random_stream(test_seed(), 1);

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct fields a = draw(&random), other = draw(&random), b = a;
        bool differs = true;
        switch (i % 6) {
        case 0:
            differs = a.collective != (b.collective = other.collective);
            break;
        case 1:
            differs = a.count != (b.count = other.count);
            break;
        case 2:
            differs = a.type != (b.type = other.type);
            break;
        case 3:
            differs = a.op != (b.op = other.op);
            break;
        case 4:
            differs = a.algorithm != (b.algorithm = other.algorithm);
            break;
        case 5:
            differs = a.radix != (b.radix = other.radix);
            break;
        }
        assert_int_equal(card_of(&a) != card_of(&b), differs);
    }
}

static void test_text(void **state)
{
    unsigned two_window = ncoll__algorithm_number(ncoll__algorithm_find("two-window"));
    unsigned dissemination = ncoll__algorithm_number(ncoll__algorithm_find("dissemination"));
    char text[96];

    (void)state;
    assert_string_equal(
        ncoll__card_text(ncoll__card(COLL_ALLREDUCE, 3, NCOLL_INT64, NCOLL_SUM, two_window, 1),
                         text, sizeof text),
        "allreduce of 3 int64, sum (two-window, n = 1)");
    assert_string_equal(
        ncoll__card_text(ncoll__card(COLL_BARRIER, 0, 0, 0, dissemination, 16), text, sizeof text),
        "barrier (dissemination, n = 16)");
    assert_string_equal(
        ncoll__card_text(
            ncoll__card(COLL_ALLREDUCE, COUNT_END - 1, NCOLL_DOUBLE, OP_USER + 48, two_window, 2),
            text, sizeof text),
        "allreduce of 137438953471 double, user-defined operation 48 (two-window, n = 2)");
    assert_string_equal(ncoll__card_text(0, text, sizeof text),
                        "an unknown collective (card 0000000000000000)");
}

/* A card of another version, or bytes that are none, are put in words without harm. */
static void test_any_word_has_a_text(void **state)
{
    struct random random = random_stream(test_seed(), 2);
    char text[96];

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        memset(text, 'x', sizeof text);
        assert_ptr_equal(ncoll__card_text(random_next(&random), text, sizeof text), text);
        assert_true(strnlen(text, sizeof text) < sizeof text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_any_difference_shows),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_any_word_has_a_text),
    };

    return cmocka_run_group_tests_name("card", tests, NULL, NULL);
}
