/* SPDX-License-Identifier: BSD-3-Clause */
/* Immediate data: the receiver decodes what the sender has encoded, and restores epochs that are
 * near its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "transport/verbs/imm.h"

#define ROUNDS 100000

static struct signature draw_signature(struct random *random)
{
    return (struct signature){random_next(random), random_next(random)};
}

static void test_message(void **state)
{
    struct random random = random_stream(test_seed(), 0);

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        enum imm_kind kind = (enum imm_kind)random_below(&random, IMM_WORD);
        unsigned place = (unsigned)random_below(&random, IMM_STRETCH * IMM_STRETCHES);
        struct signature signature = draw_signature(&random);
        uint64_t epoch = 1 + random_below(&random, UINT64_C(1) << 60);
        uint32_t imm = imm_pack(kind, place, epoch, signature);

        assert_int_equal(imm_kind(imm), kind);
        assert_int_equal(imm_place(imm), place);
        assert_int_equal(imm_digest(imm), imm_digest_of(signature));
        assert_true(imm_epoch(imm, epoch - 1) == epoch);
    }
}

/* A sender is at most EPOCHS ahead of what the receiver has finished, which may have finished the
 * epoch itself meanwhile; the distances that the bits allow are more than that. */
static void test_epoch(void **state)
{
    (void)state;
    for (uint64_t epoch = 1; epoch < 100; epoch++) {
        uint32_t imm = imm_pack(IMM_MESSAGE, 0, epoch, (struct signature){0});
        assert_in_range(EPOCHS, 1, 12);
        for (uint64_t finished = epoch < 12 ? 0 : epoch - 12; finished <= epoch + 3; finished++)
            assert_true(imm_epoch(imm, finished) == epoch);
        assert_true(imm_epoch(imm, epoch + 4) != epoch);
        assert_true(epoch < 13 || imm_epoch(imm, epoch - 13) != epoch);
    }
}

static void test_word(void **state)
{
    static const uint32_t numbers[] = {0, 1, 1023, 1024, 1025, 54321, IMM_NUMBER - 1, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (unsigned word = WORD_CONFIRMED; word < 16; word++) {
            uint32_t imm = imm_pack_word(word, numbers[i]);
            assert_int_equal(imm_kind(imm), IMM_WORD);
            assert_int_equal(imm_number(imm), numbers[i] % IMM_NUMBER);
            assert_int_equal(imm_word(imm), word);
        }
}

/* However far a credit is ahead of the one before, some steps lead there, each of which fits a word. */
static void test_credit(void **state)
{
    struct random random = random_stream(test_seed(), 2);

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t left = random_next(&random) >> random_below(&random, 64);
        unsigned stretch = (unsigned)random_below(&random, IMM_STRETCHES), steps = 0;
        for (; left > 0; steps++) {
            struct imm_step step = imm_step_to(left);
            uint32_t imm = imm_pack_word(WORD_CREDIT + step.power, imm_credit(stretch, step.digit));
            assert_int_equal(imm_kind(imm), IMM_WORD);
            assert_true(imm_word(imm) >= WORD_CREDIT);
            assert_int_equal(imm_credit_stretch(imm), stretch);
            assert_true(imm_step_length(imm_credit_step(imm)) <= left);
            left -= imm_step_length(imm_credit_step(imm));
        }
        assert_in_range(steps, 0, 7);
    }
}

/* Signatures of calls that differ in one bit have different digests nearly always. */
static void test_digest(void **state)
{
    struct random random = random_stream(test_seed(), 1);
    unsigned same = 0;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct signature signature = draw_signature(&random), other = signature;
        uint64_t bit = UINT64_C(1) << random_below(&random, 64);
        *(i % 2 ? &other.what : &other.amount) ^= bit;
        same += imm_digest_of(signature) == imm_digest_of(other);
    }
    assert_in_range(same, 0, ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message), cmocka_unit_test(test_epoch),  cmocka_unit_test(test_word),
        cmocka_unit_test(test_credit),  cmocka_unit_test(test_digest),
    };

    return cmocka_run_group_tests_name("imm", tests, NULL, NULL);
}
