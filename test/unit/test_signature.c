/* SPDX-License-Identifier: BSD-3-Clause */
/* The signature: what goes in comes out, whatever differs shows, and its words. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/signature.h"
#include "lib/base/type.h"
#include "test/support/seed.h"

#define ROUNDS 100000

static unsigned n_algorithms(void)
{
    unsigned n = 0;

    while (ncoll__algorithms[n] != NULL)
        n++;
    return n;
}

/* A list of radices: such a call has no root. */
static void draw_list(struct random *random, struct signature_fields *f)
{
    unsigned n[RADICES_MAX], k = 1 + (unsigned)random_below(random, RADICES_MAX);

    for (unsigned l = 0; l < k; l++)
        n[l] = 1 + (unsigned)random_below(random, RADIX_MAX);
    f->radix = ncoll__radix_list(n, k);
    f->root = 0;
}

/* Rooted collectives without counts have a threshold, or not; they take no lists. */
static void draw_threshold(struct random *random, struct signature_fields *f)
{
    f->irregular = false;
    f->of = (unsigned)random_below(random, 4);
    f->percent = f->of != 0 ? (unsigned)random_below(random, 101) : 0;
    if (f->of == 0)
        return;
    f->definition =
        (unsigned)random_below(random, 1u << 15) << 1 | (f->of == NCOLL_THRESHOLD_HEAVIEST);
    f->amount &= UINT32_MAX >> 1;
}

static struct signature_fields draw(struct random *random)
{
    struct signature_fields f = {
        .collective = 1 + (enum collective)random_below(random, COLLECTIVES - 1),
        .type = (unsigned)random_below(random, 256),
        .op = (unsigned)random_below(random, OP_USER + OPS_MAX),
        .algorithm = ncoll__algorithms[random_below(random, n_algorithms())],
        .radix = 1 + (unsigned)random_below(random, RADIX_MAX),
        .root = (unsigned)random_below(random, ROOTS_MAX),
        .irregular = random_below(random, 2) != 0,
        .amount = random_next(random) >> (64 - AMOUNT_BITS + random_below(random, AMOUNT_BITS)),
        .purpose = random_below(random, 2) ? PURPOSE_WIRE : PURPOSE_NONE,
    };
    if (f.type >= TYPE_USER || f.op >= OP_USER) {
        f.definition = (unsigned)random_below(random, 1u << 16);
        f.amount &= UINT32_MAX >> 1; /* more is folded: see test_large_counts() */
    }
    if (f.collective == COLL_BCAST || f.collective == COLL_REDUCE)
        draw_threshold(random, &f);
    else if (random_below(random, 2) == 0)
        draw_list(random, &f);
    if (f.collective == COLL_ALLTOALL && f.op != 0 && f.purpose == PURPOSE_NONE)
        f.purpose = PURPOSE_AGREE;
    return f;
}

static void test_round_trip(void **state)
{
    struct random random = random_stream(test_seed(), 0);

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct signature_fields in = draw(&random);
        struct signature signature = ncoll__signature(&in);
        struct signature_fields out = ncoll__signature_fields(signature);
        assert_int_equal(out.collective, in.collective);
        assert_int_equal(out.type, in.type);
        assert_int_equal(out.op, in.op);
        assert_ptr_equal(out.algorithm, in.algorithm);
        assert_int_equal(out.radix, in.radix);
        assert_int_equal(out.root, in.root);
        assert_int_equal(out.of, in.of);
        assert_int_equal(out.percent, in.percent);
        assert_int_equal(out.irregular, in.irregular);
        assert_int_equal(out.amount, in.amount);
        assert_int_equal(out.purpose, in.purpose);
        assert_int_equal(out.definition, in.definition);
        assert_true(signature.what != 0);
    }
}

/* Takes one field, the i-th, over from another signature. Whether that changed it. */
static bool change(struct signature_fields *f, const struct signature_fields *other, unsigned i)
{
    struct signature_fields before = *f;

    switch (i) {
    case 0:
        return before.collective != (f->collective = other->collective);
    case 1:
        return before.type != (f->type = other->type);
    case 2:
        return before.op != (f->op = other->op);
    case 3:
        return before.algorithm != (f->algorithm = other->algorithm);
    case 4:
        f->root = before.root = 0;
        return before.radix != (f->radix = other->radix);
    case 5:
        return !radix_is_list(f->radix) && before.root != (f->root = other->root);
    case 6:
        if (before.of != 0) /* it is what says so */
            return false;
        return before.irregular != (f->irregular = other->irregular);
    case 7:
        if (before.of != 0) {
            f->definition = (other->definition & ~1u) | (before.definition & 1);
            return before.definition != f->definition;
        }
        if (before.type < TYPE_USER && before.op < OP_USER)
            return false;
        return before.definition != (f->definition = other->definition);
    case 8:
        return before.amount != (f->amount = other->amount);
    case 9:
        if (before.of == 0 || other->of == 0)
            return false;
        return before.percent != (f->percent = other->percent);
    default:
        if (before.of == 0 || other->of == 0)
            return false;
        return before.of != (f->of = other->of);
    }
}

static void test_any_difference_shows(void **state)
{
    struct random random = random_stream(test_seed(), 1);

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct signature_fields a = draw(&random), other = draw(&random), b = a;
        bool differs = change(&b, &other, i % 11);
        a.root = i % 11 == 4 ? 0 : a.root;
        assert_int_equal(signature_equal(ncoll__signature(&a), ncoll__signature(&b)), !differs);
    }
}

/* Calls with a user's type: counts that differ above 32 bits only, and what stands for all of
 * them. */
static void test_large_counts(void **state)
{
    struct random random = random_stream(test_seed(), 4);

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct signature_fields a = {COLL_ALLTOALL, TYPE_USER + 1, .irregular = true}, b;
        a.definition = (unsigned)random_below(&random, 1u << 16);
        a.amount = random_below(&random, UINT32_MAX);
        b = a;
        b.amount += (1 + random_below(&random, 1000)) << 32;
        assert_false(signature_equal(ncoll__signature(&a), ncoll__signature(&b)));
        a.amount = AMOUNT_WHOLE;
        struct signature whole = ncoll__signature(&a);
        assert_int_equal(ncoll__signature_fields(whole).amount, AMOUNT_WHOLE);
        assert_int_equal(ncoll__signature_amount(whole, b.amount), ncoll__signature(&b).amount);
        assert_true(signature_equal(
            ncoll__signature_with(ncoll__signature_with(whole, PURPOSE_WIRE), PURPOSE_NONE),
            whole));
    }
}

/* Counts that differ in one place, or are the same in another order, have other hashes. */
static void test_hash(void **state)
{
    struct random random = random_stream(test_seed(), 3);
    size_t counts[17];

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned n = 2 + (unsigned)random_below(&random, 16);
        for (unsigned q = 0; q < n; q++)
            counts[q] = random_below(&random, 4);
        uint64_t hash = ncoll__signature_hash(counts, n);
        assert_int_equal(ncoll__signature_hash(counts, n), hash);
        unsigned q = (unsigned)random_below(&random, n), other = (q + 1) % n;
        size_t count = counts[q];
        counts[q] += 1 + random_below(&random, 1000);
        assert_true(ncoll__signature_hash(counts, n) != hash);
        counts[q] = counts[other];
        counts[other] = count;
        assert_int_equal(ncoll__signature_hash(counts, n) == hash, counts[q] == counts[other]);
    }
}

static void expect_text(struct signature_fields fields, const char *expected)
{
    char text[192];

    assert_string_equal(ncoll__signature_text(ncoll__signature(&fields), text, sizeof text),
                        expected);
}

static void test_text(void **state)
{
    const struct algorithm *two_window = ncoll__algorithm_find("two-window");
    const struct algorithm *dissemination = ncoll__algorithm_find("dissemination");
    const size_t counts[] = {1, 0, 7};
    uint64_t hash = ncoll__signature_hash(counts, 3);
    char text[192], expected[192];

    (void)state;
    expect_text((struct signature_fields){COLL_ALLREDUCE, NCOLL_INT64, NCOLL_SUM, two_window, 1,
                                          .amount = 3},
                "allreduce of 3 int64, sum (two-window, n = 1)");
    expect_text((struct signature_fields){COLL_BARRIER, .algorithm = dissemination, .radix = 16},
                "barrier (dissemination, n = 16)");
    expect_text((struct signature_fields){COLL_BARRIER, .algorithm = dissemination,
                                          .radix = ncoll__radix_list((unsigned[]){3, 16, 1}, 3)},
                "barrier (dissemination, n = 3,16,1)");
    expect_text((struct signature_fields){COLL_ALLREDUCE, NCOLL_DOUBLE, OP_USER + 48, two_window, 2,
                                          .amount = AMOUNT_MASK},
                "allreduce of 4294967295 double, user-defined operation 48 (two-window, "
                "n = 2)");
    expect_text((struct signature_fields){COLL_REDUCE, NCOLL_FLOAT, NCOLL_MAX, two_window, 3,
                                          1048575, .amount = 1},
                "reduce of 1 float, max, root 1048575 (two-window, n = 3)");
    expect_text((struct signature_fields){COLL_BCAST, NCOLL_UINT8, 0, NULL, 1, 0, .amount = 0},
                "bcast of 0 uint8, root 0 (unknown algorithm, n = 1)");
    expect_text((struct signature_fields){COLL_ALLTOALL, NCOLL_INT16, 0, two_window, 1, 0, true, 5},
                "alltoallv of 5 int16 (two-window, n = 1)");
    expect_text((struct signature_fields){COLL_ALLTOALL, NCOLL_INT16, 0, two_window, 1, 0, true,
                                          AMOUNT_WHOLE},
                "alltoallv of int16 (two-window, n = 1)");
    expect_text((struct signature_fields){COLL_ALLTOALL, NCOLL_INT16, NCOLL_MAX, two_window, 1, 0,
                                          true, AMOUNT_WHOLE},
                "alltoallv of int16 (agreeing on its counts)");
    expect_text((struct signature_fields){COLL_ALLTOALL, NCOLL_INT16, 0, NULL, 0, 0, true, 5},
                "alltoallv of 5 int16 from one rank to the other");
    expect_text(
        (struct signature_fields){COLL_ALLTOALL, NCOLL_INT16, 0, NULL, 0, 0, true, AMOUNT_WHOLE},
        "alltoallv of int16");
    snprintf(expected, sizeof expected,
             "gatherv of int32, counts with hash %012" PRIx64 ", root 2 (two-window, n = 1)",
             hash & AMOUNT_MASK);
    expect_text(
        (struct signature_fields){COLL_GATHER, NCOLL_INT32, 0, two_window, 1, 2, true, hash},
        expected);
    assert_string_equal(ncoll__signature_text((struct signature){0}, text, sizeof text),
                        "an unknown collective (signature 0000000000000000)");
}

/* ncoll__signature_text() accepts any words, also those that are no signature. */
static void test_any_words_have_a_text(void **state)
{
    struct random random = random_stream(test_seed(), 2);
    char text[96];

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct signature signature = {random_next(&random) >> random_below(&random, 64),
                                      random_next(&random)};
        memset(text, 'x', sizeof text);
        assert_ptr_equal(ncoll__signature_text(signature, text, sizeof text), text);
        assert_true(strnlen(text, sizeof text) < sizeof text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_any_difference_shows),
        cmocka_unit_test(test_large_counts), cmocka_unit_test(test_hash),
        cmocka_unit_test(test_text),         cmocka_unit_test(test_any_words_have_a_text),
    };

    return cmocka_run_group_tests_name("signature", tests, NULL, NULL);
}
