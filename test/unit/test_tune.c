/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a tuning table in a job: all ranks go by that of rank 0, and one that cannot be used is
 * said once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/choose/tune.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS 4

/* The memory that ranks share: where the files are, what is to be chosen, what was logged. */
struct board {
    char directory[64];
    const char *algorithm; /* of an allreduce of 8 bytes; NULL: anything but from the table */
    unsigned radix;
    double latency_ns;           /* that a message is said to cost; 0: as is built in */
    int (*body)(struct rank *r); /* what ranks do; NULL: check_choice() */
    atomic_int warnings;
    char warning[512];
};

static void keep_warning(void *arg, ncoll_log_level level, const char *text)
{
    struct board *b = arg;

    if (level != NCOLL_LOG_WARN)
        return;
    atomic_fetch_add(&b->warnings, 1);
    snprintf(b->warning, sizeof b->warning, "%s", text);
}

static void name_of(const struct board *b, int rank, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/of-rank-%d", b->directory, rank);
}

/* Writes a table for this place, whose allreduces go by the algorithm with radix n. */
static int write_table(struct rank *r, const char *path, const char *version, unsigned n)
{
    struct tune_rule rule = {.collective = COLL_ALLREDUCE,
                             .to_bytes = 1024,
                             .algorithm = ncoll__algorithm_find("tree"),
                             .radix = n,
                             .lanes = 2,
                             .segment_bytes = 256};
    struct tune_section sections[2] = {{.has_costs = true, .cost = {1234, 56, 7}}, {.count = 1}};
    struct tune_table table = {sections, &rule, 2, 1, 2, 1};
    char why[TUNE_WHY];

    for (unsigned i = 0; i < 2; i++) {
        ncoll__tune_here(r->ctx, &sections[i].key);
        snprintf(sections[i].key.version, TUNE_WORD, "%s", version);
    }
    sections[0].key.ranks_per_core_milli = 1000;
    sections[1].key.ranks = sections[1].key.node_ranks = RANKS;
    CHECK(ncoll__tune_write(r->ctx, path, &table, why));
    return 0;
}

/* Costs that were measured otherwise than between two ranks with a core each. */
static int write_oversubscribed_costs(struct rank *r)
{
    struct tune_section section = {.has_costs = true, .cost = {1234, 56, 7}};
    struct tune_rule none;
    struct tune_table table = {&section, &none, 1, 0, 1, 0};
    char path[PATH_MAX], why[TUNE_WHY];

    name_of(r->shared, 0, path);
    ncoll__tune_here(r->ctx, &section.key);
    section.key.ranks_per_core_milli = 2000;
    CHECK(r->rank != 0 || ncoll__tune_write(r->ctx, path, &table, why));
    return 0;
}

/* A file of each rank's own. */
static int write_of_all(struct rank *r)
{
    char path[PATH_MAX];

    name_of(r->shared, r->rank, path);
    return write_table(r, path, ncoll_version(), 1 + (unsigned)r->rank);
}

static int write_stale(struct rank *r)
{
    char path[PATH_MAX];

    name_of(r->shared, 0, path);
    return r->rank == 0 ? write_table(r, path, "0.0.9", 1) : 0;
}

static int check_choice(struct rank *r)
{
    const struct board *b = r->shared;
    struct choice c, longer;
    int64_t sum = r->rank;

    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK((c.from == FROM_TABLE) == (b->algorithm != NULL));
    CHECK(b->algorithm == NULL || strcmp(c.algorithm->name, b->algorithm) == 0);
    CHECK(b->algorithm == NULL || c.radix == b->radix);
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 128, NCOLL_INT64, NCOLL_SUM, &longer),
                 NCOLL_OK);
    CHECK(b->algorithm == NULL || (longer.segments == 4 && longer.lanes == 2));
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 129, NCOLL_INT64, NCOLL_SUM, &longer),
                 NCOLL_OK);
    CHECK(longer.from != FROM_TABLE);
    CHECK(b->latency_ns == 0 ? !r->ctx->costs_measured
                             : r->ctx->transport->cost.latency_ns == b->latency_ns);
    CHECK_STATUS(ncoll_allreduce(r->world, &sum, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK(sum == RANKS * (RANKS - 1) / 2);
    return 0;
}

/* A context for each rank, which has a file of its own. */
static int rank_with_file(const ncoll_params *given, void *arg)
{
    struct board *b = arg;
    ncoll_params params = *given;
    struct rank r = {.rank = given->rank, .ranks = given->ranks, .shared = b};
    char path[PATH_MAX];
    ncoll_error error;

    hang_after(30);
    name_of(b, given->rank, path);
    params.tune_file = path;
    params.log = keep_warning;
    params.log_arg = b;
    if (ncoll_context_create(&params, &r.ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    r.world = ncoll_world(r.ctx);
    int result = (b->body != NULL ? b->body : check_choice)(&r);
    ncoll_context_destroy(r.ctx);
    return result;
}

static struct board *board;

static void run(ncoll_tune tune, const char *algorithm, double latency_ns, int warnings)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.tune = tune;
    board->algorithm = algorithm;
    board->radix = 1; /* of rank 0's file */
    board->latency_ns = latency_ns;
    atomic_store(&board->warnings, 0);
    assert_int_equal(ncoll_fork_ranks(RANKS, &params, rank_with_file, board, NULL), NCOLL_OK);
    if (atomic_load(&board->warnings) != warnings)
        fail_msg("%d warnings: %s", atomic_load(&board->warnings), board->warning);
}

static void write_text(int rank, const char *text)
{
    char path[PATH_MAX];

    name_of(board, rank, path);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void test_all_go_by_that_of_rank_0(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, write_of_all, board), 0);
    run(NCOLL_TUNE_TABLE, "tree", 1234, 0);
    run(NCOLL_TUNE_TRIAL, "tree", 1234, 0);
    run(NCOLL_TUNE_MODEL, NULL, 1234, 0);
    run(NCOLL_TUNE_OFF, NULL, 0, 0);
    write_text(2, "rubbish\n"); /* nobody looks at it */
    run(NCOLL_TUNE_TABLE, "tree", 1234, 0);
}

static void test_what_is_wrong_is_said_once(void **state)
{
    char path[PATH_MAX];

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, write_of_all, board), 0);
    write_text(0, "ncoll tuning 1\nrubbish\n");
    run(NCOLL_TUNE_TABLE, NULL, 0, 1);
    assert_non_null(strstr(board->warning, "damaged"));
    assert_non_null(strstr(board->warning, "rank 0"));
    run(NCOLL_TUNE_OFF, NULL, 0, 0);
    write_text(0, "something else\n");
    run(NCOLL_TUNE_TABLE, NULL, 0, 1);
    assert_non_null(strstr(board->warning, "no tuning table"));
    name_of(board, 0, path);
    assert_int_equal(unlink(path), 0);
    run(NCOLL_TUNE_TABLE, NULL, 0, 1);
    assert_non_null(strstr(board->warning, "there is no tuning table"));
    run(NCOLL_TUNE_MODEL, NULL, 0, 0); /* nor is one asked for */
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, write_stale, board), 0);
    run(NCOLL_TUNE_TABLE, NULL, 0, 1);
    assert_non_null(strstr(board->warning, "out of date"));
}

/* The first barrier tries, or knows already. */
static int barrier_and_choice(struct rank *r)
{
    const struct board *b = r->shared;
    struct choice c;

    CHECK_STATUS(ncoll__choose(r->world, COLL_BARRIER, 0, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK((c.from == FROM_TABLE) == (b->algorithm != NULL));
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll__choose(r->world, COLL_BARRIER, 0, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK((c.from == FROM_TABLE) == (b->algorithm != NULL));
    return 0;
}

/* By jobs that ask for trials, and have named a file. */
static void test_what_a_trial_found_is_kept(void **state)
{
    char path[PATH_MAX];

    (void)state;
    board->body = barrier_and_choice;
    run(NCOLL_TUNE_TRIAL, NULL, 0, 0); /* there is nothing yet, and nobody warns */
    run(NCOLL_TUNE_TABLE, "any", 0, 0);
    run(NCOLL_TUNE_TRIAL, "any", 0, 0);
    name_of(board, 0, path);
    write_text(0, "something else\n");
    run(NCOLL_TUNE_TRIAL, NULL, 0, 2); /* it is read in vain, and written in vain */
    assert_non_null(strstr(board->warning, "left as it is"));
    assert_int_equal(unlink(path), 0);
    run(NCOLL_TUNE_MODEL, NULL, 0, 0);
    assert_int_equal(access(path, F_OK), -1);
    board->body = NULL;
}

static void test_costs_oversubscribed(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, write_oversubscribed_costs, board),
                     0);
    run(NCOLL_TUNE_TABLE, NULL, 0, 0);
}

/* A choice that does not serve a call is not taken: other groups, other operations. */
static int check_others(struct rank *r)
{
    struct tune_rule rule = {.collective = COLL_ALLREDUCE,
                             .to_bytes = 1024,
                             .algorithm = ncoll__algorithm_find("two-window"),
                             .radix = 2,
                             .lanes = 4};
    struct tune_section section = {.key = {.ranks = RANKS, .node_ranks = RANKS}, .count = 1};
    struct tune_table old = r->ctx->tuning, table = {&section, &rule, 1, 1, 1, 1};
    ncoll_group *half;
    struct choice c;

    r->ctx->tuning = table;
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from == FROM_TABLE && c.radix == 2);
    /* not the same bits on all ranks */
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_DOUBLE, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from != FROM_TABLE);
    rule.same_bits = true; /* whatever it says */
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_DOUBLE, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from != FROM_TABLE && c.algorithm->properties & GIVES_SAME_BITS);
    rule.same_bits = false;
    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, "tree", 3), NCOLL_OK);
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from == FROM_TOOL && c.radix == 3);
    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, NULL, 0), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 0, &half, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll__choose(half, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from != FROM_TABLE);
    CHECK_STATUS(ncoll_group_free(&half, NCOLL_BLOCK), NCOLL_OK);
    r->ctx->tuning = old;
    return 0;
}

static void test_what_does_not_serve(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, check_others, NULL), 0);
}

static int setup(void **state)
{
    (void)state;
    strcpy(board->directory, "/tmp/ncoll-tune-XXXXXX");
    return mkdtemp(board->directory) == NULL;
}

static int teardown(void **state)
{
    char command[96];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", board->directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_go_by_that_of_rank_0, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_is_said_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_costs_oversubscribed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_trial_found_is_kept, setup, teardown),
        cmocka_unit_test(test_what_does_not_serve),
    };

    board = crew_share(sizeof *board);
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
