/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the candidates that ncoll-tune measures: none twice by two names, and all that a table
 * can say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/choose/tune.h"
#include "test/support/crew.h"
#include "tools/tune/tune.h"

#define RANKS 4
#define KI    ((size_t)1 << 10)

static int mark(struct rank *r, enum collective collective, size_t bytes, struct candidate c,
                uint64_t *out)
{
    struct choice choice;

    CHECK_STATUS(candidate_force(r->world, collective, &c), NCOLL_OK);
    CHECK_STATUS(ncoll__choose(r->world, collective, bytes / 8, NCOLL_INT64, NCOLL_SUM, &choice),
                 NCOLL_OK);
    *out = ncoll__schedule_mark(r->world, collective, bytes / 8, &choice);
    return *out == 0;
}

static struct candidate by(const char *name, unsigned radix, size_t segment_bytes, unsigned lanes)
{
    return (struct candidate){.algorithm = ncoll__algorithm_find(name),
                              .radix = radix,
                              .segment_bytes = segment_bytes,
                              .lanes = lanes};
}

/* Trees of one shape are one schedule; whatever differs in a step is another. */
static int compare_marks(struct rank *r)
{
    static const struct {
        enum collective collective;
        size_t bytes;
        const char *name;
        unsigned radix;
        size_t segment_bytes;
        unsigned lanes;
        bool same; /* as the one before */
    } cases[] = {
        {COLL_BCAST, 64, "flat", 1, 0, 4, false},
        {COLL_BCAST, 64, "flat", 1, 0, 2, true}, /* of one segment */
        {COLL_BCAST, 64, "knomial", 3, 0, 4, true},
        {COLL_BCAST, 64, "kary", 3, 0, 4, true},
        {COLL_BCAST, 64, "knomial", 1, 0, 4, false},
        {COLL_BCAST, 64 * KI, "knomial", 1, 0, 4, false},
        {COLL_BCAST, 64 * KI, "knomial", 1, 16 * KI, 4, false},
        {COLL_BCAST, 64 * KI, "knomial", 1, 16 * KI, 2, false},
        {COLL_SCATTER, 64, "flat", 1, 0, 4, false},
        {COLL_SCATTER, 64, "kary", 3, 0, 4, true},
        {COLL_GATHER, 64, "flat", 1, 0, 4, false},
        {COLL_BARRIER, 0, "dissemination", 1, 0, 4, false},
        {COLL_BARRIER, 0, "dissemination", 3, 0, 4, false},
        {COLL_BARRIER, 0, "tree", 3, 0, 4, false},
    };
    uint64_t last = 0, now;

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct candidate c =
            by(cases[i].name, cases[i].radix, cases[i].segment_bytes, cases[i].lanes);
        CHECK(mark(r, cases[i].collective, cases[i].bytes, c, &now) == 0);
        if ((now == last) != cases[i].same)
            fprintf(stderr, "case %u\n", i);
        CHECK((now == last) == cases[i].same);
        last = now;
    }
    return 0;
}

static int list_some(struct rank *r)
{
    struct point *p = calloc(1, sizeof *p);

    CHECK(p != NULL);
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        for (size_t bytes = 8; bytes <= KI << 10; bytes *= 16) {
            *p = (struct point){.collective = (enum collective)c,
                                .bytes = c == COLL_BARRIER ? 0 : bytes};
            CHECK_STATUS(candidates_list(r->world, p), NCOLL_OK);
            CHECK(p->n >= 1 && p->n <= CANDIDATES_MAX);
            for (unsigned i = 0; r->rank == 0 && i < p->n; i++)
                for (unsigned j = 0; j < i; j++)
                    CHECK(p->candidates[i].mark != p->candidates[j].mark);
        }
    free(p);
    return 0;
}

/* Long vectors in few pieces, where ranks share cores: a table has to say so, as without a length
 * it means as long as fits. */
static int list_pieces(struct rank *r)
{
    struct point p = {.collective = COLL_BCAST, .bytes = 256 * KI};
    struct choice choice;

    r->ctx->places.ranks_per_core = 2;
    CHECK_STATUS(candidates_list(r->world, &p), NCOLL_OK);
    CHECK(p.own.segments == 4);
    CHECK(p.candidates[0].segment_bytes == 64 * KI);
    struct candidate whole = by(p.own.algorithm->name, p.own.radix, 0, 4);
    CHECK_STATUS(candidate_force(r->world, COLL_BCAST, &whole), NCOLL_OK);
    CHECK_STATUS(ncoll__choose(r->world, COLL_BCAST, 32 * KI, NCOLL_INT64, NCOLL_SUM, &choice),
                 NCOLL_OK);
    CHECK(choice.segments < p.own.segments);
    p.bytes = 64 * KI; /* in one piece */
    CHECK_STATUS(ncoll__group_force(r->world, COLL_BCAST, NULL, 0), NCOLL_OK);
    CHECK_STATUS(candidates_list(r->world, &p), NCOLL_OK);
    CHECK(p.candidates[0].segment_bytes == 0);
    return 0;
}

/* A table whose barriers go another way than the model's. */
static int write_another_barrier(struct rank *r)
{
    struct tune_rule rule = {.collective = COLL_BARRIER, .radix = 1, .lanes = 4};
    struct tune_section section = {.count = 1};
    struct tune_table table = {&section, &rule, 1, 1, 1, 1};
    char why[TUNE_WHY];
    struct choice c;

    CHECK_STATUS(ncoll__choose(r->world, COLL_BARRIER, 0, 0, 0, &c), NCOLL_OK);
    rule.algorithm =
        ncoll__algorithm_find(strcmp(c.algorithm->name, "tree") == 0 ? "dissemination" : "tree");
    ncoll__tune_here(r->ctx, &section.key);
    section.key.ranks = section.key.node_ranks = RANKS;
    CHECK(r->rank != 0 || ncoll__tune_write(r->ctx, r->shared, &table, why));
    return 0;
}

/* The barrier between calls is the model's all the same. */
static int compare_barriers(struct rank *r)
{
    struct choice tuned;
    struct candidate barrier;

    CHECK_STATUS(ncoll__choose(r->world, COLL_BARRIER, 0, 0, 0, &tuned), NCOLL_OK);
    CHECK(tuned.from == FROM_TABLE);
    CHECK_STATUS(candidate_barrier(r->world, &barrier), NCOLL_OK);
    CHECK(barrier.algorithm != NULL && barrier.algorithm != tuned.algorithm);
    CHECK_STATUS(ncoll__choose(r->world, COLL_BARRIER, 0, 0, 0, &tuned), NCOLL_OK);
    CHECK(tuned.from == FROM_TABLE);
    return 0;
}

static void test_barrier_between(void **state)
{
    char directory[] = "/tmp/ncoll-test-XXXXXX", path[64], command[64];
    ncoll_params params;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/tuning", directory);
    ncoll_params_init(&params, sizeof params);
    params.tune = NCOLL_TUNE_OFF;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &params, 30, write_another_barrier, path), 0);
    params.tune = NCOLL_TUNE_TABLE;
    params.tune_file = path;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &params, 30, compare_barriers, path), 0);
    snprintf(command, sizeof command, "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

static void test_marks(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, compare_marks, NULL), 0);
}

static void test_nothing_twice(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 60, list_some, NULL), 0);
}

static void test_pieces(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, list_pieces, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_nothing_twice),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_barrier_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
