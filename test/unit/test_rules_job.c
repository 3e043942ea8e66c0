/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules in a job: all ranks go by those of rank 0; they come before the table and after what is
 * forced; one that cannot be followed leaves the choice to the table; and the rules that a table is
 * printed as make the table's choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "lib/base/group.h"
#include "lib/choose/ruled.h"
#include "lib/choose/rules_table.h"
#include "lib/choose/tune.h"
#include "lib/inspect.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS 4

/* The memory that ranks share. */
struct board {
    char file[64];               /* of rules */
    const char *of_ranks[RANKS]; /* rules for allreduce */
    int (*body)(struct rank *r); /* NULL: the context cannot be made */
    atomic_int warnings, notes;  /* log lines of each level that name a rule */
    char said[RANKS][768];       /* the latest one, or the error of each rank */
    ncoll_status status[RANKS];  /* of the creation */
};

static struct board *board;

struct teller {
    struct board *b;
    int rank;
};

static void keep(void *arg, ncoll_log_level level, const char *text)
{
    struct teller *t = arg;

    if (strstr(text, "rule") == NULL || strstr(text, "rules: ") != NULL)
        return;
    atomic_fetch_add(&t->b->warnings, level == NCOLL_LOG_WARN);
    atomic_fetch_add(&t->b->notes, level == NCOLL_LOG_INFO);
    snprintf(t->b->said[t->rank], sizeof t->b->said[t->rank], "%s", text);
}

static int rank_main(const ncoll_params *given, void *arg)
{
    struct board *b = arg;
    struct rank r = {.rank = given->rank, .ranks = given->ranks, .shared = b};
    struct teller teller = {b, given->rank};
    ncoll_params params = *given;
    ncoll_error error;

    hang_after(30);
    params.log = keep;
    params.log_arg = &teller;
    params.log_level = NCOLL_LOG_INFO;
    params.tune_file = "/nonexistent/tuning";
    params.tune = params.tune == NCOLL_TUNE_TABLE ? NCOLL_TUNE_MODEL : params.tune;
    if (b->of_ranks[r.rank] != NULL)
        params.allreduce_rules = b->of_ranks[r.rank];
    b->status[r.rank] = (ncoll_status)ncoll_context_create(&params, &r.ctx, &error);
    if (b->status[r.rank] != NCOLL_OK) {
        snprintf(b->said[r.rank], sizeof b->said[r.rank], "%s", error.text);
        if (b->body != NULL)
            fprintf(stderr, "%s\n", error.text);
        return b->body != NULL;
    }
    r.world = ncoll_world(r.ctx);
    r.common = random_stream(test_seed(), 0);
    int result = b->body != NULL ? b->body(&r) : 1;
    ncoll_context_destroy(r.ctx);
    return result;
}

static ncoll_params params;

static void run(int (*body)(struct rank *r))
{
    board->body = body;
    atomic_store(&board->warnings, 0);
    atomic_store(&board->notes, 0);
    memset(board->said, 0, sizeof board->said);
    assert_int_equal(ncoll_fork_ranks(RANKS, &params, rank_main, board, NULL), NCOLL_OK);
}

static int setup(void **state)
{
    (void)state;
    memset(board->of_ranks, 0, sizeof board->of_ranks);
    return ncoll_params_init(&params, sizeof params);
}

static void write_file(const char *text)
{
    FILE *f = fopen(board->file, "we");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Checks the choice for an allreduce. n 0: any. */
#define CHECK_CHOICE(elements, type, source, chosen, n)                                            \
    do {                                                                                           \
        struct choice c_;                                                                          \
        CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, elements, type, NCOLL_SUM, &c_),      \
                     NCOLL_OK);                                                                    \
        CHECK(c_.from == (source));                                                                \
        CHECK(strcmp(c_.algorithm->name, chosen) == 0);                                            \
        CHECK((n) == 0 || c_.radix == (n));                                                        \
    } while (0)

static int sum(struct rank *r, size_t elements)
{
    static int64_t data[4096];

    for (size_t i = 0; i < elements; i++)
        data[i] = r->rank;
    CHECK_STATUS(
        ncoll_allreduce(r->world, data, data, elements, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
        NCOLL_OK);
    for (size_t i = 0; i < elements; i++)
        CHECK(data[i] == RANKS * (RANKS - 1) / 2);
    return 0;
}

/* ------------------------------------------------------------------ rank 0's ------------------ */

static int go_by_rank_0(struct rank *r)
{
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "tree", 3);
    return sum(r, 1);
}

static void test_all_go_by_those_of_rank_0(void **state)
{
    (void)state;
    board->of_ranks[0] = "tree@n=3";
    run(go_by_rank_0);
    assert_int_equal(atomic_load(&board->warnings), 0); /* others have none */
    board->of_ranks[1] = "tree@n=1";
    board->of_ranks[2] = "rubbish";
    board->of_ranks[3] = "tree@n=3";
    run(go_by_rank_0);
    assert_int_equal(atomic_load(&board->warnings), 2);
    assert_non_null(strstr(board->said[2], "the rules of rank 2 (NCOLL_RULES"));
    assert_non_null(strstr(board->said[2], "those of rank 0 are others"));
}

/* ------------------------------------------------------------------ precedence ---------------- */

/* The table says tree with n = 1 up to 1 KiB. */
static int check_precedence(struct rank *r)
{
    struct tune_rule entry = {.collective = COLL_ALLREDUCE,
                              .to_bytes = 1024,
                              .algorithm = ncoll__algorithm_find("tree"),
                              .radix = 1,
                              .lanes = 4};
    struct tune_section section = {.key = {.ranks = RANKS, .node_ranks = RANKS}, .count = 1};
    struct tune_table old = r->ctx->tuning;

    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "multiply", 2);
    r->ctx->settings.tune = NCOLL_TUNE_TABLE;
    r->ctx->tuning = (struct tune_table){&section, &entry, 1, 1, 1, 1};
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "multiply", 2);
    CHECK_CHOICE(8, NCOLL_INT64, FROM_TABLE, "tree", 1);
    struct choice model;
    CHECK_STATUS(ncoll__choose_untuned(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &model),
                 NCOLL_OK);
    CHECK(model.from == FROM_FIT || model.from == FROM_MODEL);
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "multiply", 2);
    CHECK_CHOICE(129, NCOLL_INT64, FROM_RULE, "ring", 0);
    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, "tree", 3), NCOLL_OK);
    CHECK_CHOICE(1, NCOLL_INT64, FROM_TOOL, "tree", 3);
    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, NULL, 0), NCOLL_OK);
    r->ctx->tuning = old;
    CHECK(sum(r, 1) == 0 && sum(r, 4096) == 0);
    return 0;
}

static int check_setting(struct rank *r)
{
    CHECK_CHOICE(1, NCOLL_INT64, FROM_SETTING, "tree", 0);
    return sum(r, 1);
}

static int check_environment(struct rank *r)
{
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "tree", 2);
    CHECK_CHOICE(2, NCOLL_INT64, FROM_RULE, "tree", 3);
    return sum(r, 2);
}

static int check_no_rule(struct rank *r)
{
    struct choice c;

    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from != FROM_RULE);
    CHECK_STATUS(ncoll__choose(r->world, COLL_BCAST, 1, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from == FROM_RULE && strcmp(c.algorithm->name, "flat") == 0);
    return sum(r, 1);
}

static void test_precedence(void **state)
{
    (void)state;
    params.allreduce_rules = "0-64:multiply@n=2,1k-:ring";
    run(check_precedence);
    params.allreduce_algorithm = "tree";
    run(check_setting);
    params.allreduce_algorithm = NULL;
    /* the environment, over parameters; a variable, over the file */
    write_file("allreduce ring\nbcast flat\n");
    setenv("NCOLL_RULES", board->file, 1);
    params.rules_file = "/nonexistent/rules";
    setenv("NCOLL_ALLREDUCE_RULES", "0-16:tree@n=2,16-:tree@n=3", 1);
    run(check_environment);
    setenv("NCOLL_ALLREDUCE_RULES", "none", 1);
    run(check_no_rule);
    unsetenv("NCOLL_ALLREDUCE_RULES");
    unsetenv("NCOLL_RULES");
}

/* A radix that is forced for all calls is no choice of the rules'. */
static int check_forced_radix(struct rank *r)
{
    struct choice c;

    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from != FROM_RULE);
    return 0;
}

static int check_no_trial(struct rank *r)
{
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "tree", 0);
    CHECK(sum(r, 1) == 0);
    CHECK(r->world->tried[COLL_ALLREDUCE] == 0);
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "tree", 0);
    return 0;
}

static void test_radix_and_trial(void **state)
{
    (void)state;
    params.allreduce_rules = "tree";
    params.radix = 2;
    run(check_forced_radix);
    params.radix = -1;
    params.tune = NCOLL_TUNE_TRIAL;
    run(check_no_trial);
}

/* ------------------------------------------------------------------ conditions ---------------- */

static int check_conditions(struct rank *r)
{
    ncoll_group *part;

    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "multiply", 1); /* two nodes */
    CHECK_CHOICE(1, NCOLL_DOUBLE, FROM_RULE, "gather", 0);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank / 2, 0, &part, NCOLL_BLOCK), NCOLL_OK);
    ncoll_group *world = r->world;
    r->world = part;
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "tree", 1); /* one of them */
    r->world = world;
    CHECK_STATUS(ncoll_group_free(&part, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 0, &part, NCOLL_BLOCK), NCOLL_OK);
    r->world = part;
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "ring", 0); /* one rank on each */
    r->world = world;
    CHECK_STATUS(ncoll_group_free(&part, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_conditions(void **state)
{
    (void)state;
    params.nodes = "0,0,1,1";
    params.allreduce_rules = "ranks=4:nodes=2:bits=same:gather,ranks=3-:nodes=2:multiply@n=1,"
                             "ranks=2:nodes=1:node-ranks=2:tree@n=1,ranks=2:nodes=2:node-ranks=1:"
                             "transport=shm:ring,ranks=2:nodes=2:transport=verbs:tree";
    run(check_conditions);
}

/* Rules for the device of another job are none. */
static int check_other_device(struct rank *r)
{
    CHECK(r->ctx->rules.n == 1);
    CHECK_CHOICE(1, NCOLL_INT64, FROM_RULE, "tree", 0);
    return sum(r, 1);
}

static void test_device(void **state)
{
    (void)state;
    params.transport = "shm";
    params.allreduce_rules = "device=mlx5_0:ring,tree";
    run(check_other_device);
}

/* ------------------------------------------------------------------ not followed -------------- */

/* A dissemination would count operands twice, and rings exist for no floats of the same bits. */
static int check_not_followed(struct rank *r)
{
    struct choice c;

    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &c),
                     NCOLL_OK);
        CHECK(c.from == FROM_FIT || c.from == FROM_MODEL);
    }
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_MAX, &c), NCOLL_OK);
    CHECK(c.from == FROM_RULE && c.radix == 3);
    CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 8, NCOLL_DOUBLE, NCOLL_SUM, &c), NCOLL_OK);
    CHECK(c.from != FROM_RULE && c.algorithm->properties & GIVES_SAME_BITS);
    CHECK_CHOICE(8, NCOLL_INT64, FROM_RULE, "two-window", 3);
    return sum(r, 1) + sum(r, 8);
}

static void test_what_cannot_be_followed(void **state)
{
    (void)state;
    params.allreduce_rules = "0-64:dissemination@n=3,64-:two-window@n=3";
    run(check_not_followed);
    assert_int_equal(atomic_load(&board->warnings), 0);
    assert_int_equal(atomic_load(&board->notes), 2); /* of each rule once, by rank 0 */
    assert_non_null(strstr(board->said[0],
                           "the rule at NCOLL_ALLREDUCE_RULES, character 24 is not "
                           "followed by allreduce of 64 bytes on 4 ranks: algorithm "
                           "two-window does not give all ranks the same bits"));
}

/* ------------------------------------------------------------------ mistakes ------------------ */

static void test_mistakes(void **state)
{
    (void)state;
    board->of_ranks[0] = "0-4k:disemination@n=3,4k-:ring";
    run(NULL);
    assert_int_equal(board->status[0], NCOLL_ERR_ARGUMENT);
    assert_non_null(strstr(board->said[0], "NCOLL_ALLREDUCE_RULES, character 6: there is no "
                                           "allreduce algorithm \"disemination\""));
    assert_non_null(strstr(board->said[0], "did you mean dissemination?"));
    for (int rank = 1; rank < RANKS; rank++) {
        assert_int_equal(board->status[rank], NCOLL_ERR_PEER);
        assert_non_null(
            strstr(board->said[rank], "NCOLL_ALLREDUCE_RULES, character 6: there is no"));
    }
    board->of_ranks[0] = NULL;
    write_file("# mine\nallreduce 0-4k ring\nallreduce 2k-8k tree n=1\n");
    params.rules_file = board->file;
    run(NULL);
    assert_int_equal(board->status[0], NCOLL_ERR_ARGUMENT);
    assert_non_null(strstr(board->said[0], ":3:1: this rule overlaps the one at "));
    assert_non_null(strstr(board->said[0], board->file));
    assert_int_equal(unlink(board->file), 0);
    run(NULL);
    assert_non_null(strstr(board->said[0], "there is no such file"));
    assert_non_null(strstr(board->said[0], "ncoll-rules(5)"));
    params.rules_file = "/dev/null";
    run(NULL);
    assert_non_null(strstr(board->said[0], "it is no regular file"));
}

/* ------------------------------------------------------------------ of a table ---------------- */

#define ENTRIES_MAX 2048
#define ROUNDS      4 /* random tables */

static struct tune_section sections[RANKS];
static struct tune_rule entries[ENTRIES_MAX];

static const struct algorithm *any_algorithm(struct random *random, enum collective collective)
{
    unsigned n = 0;

    while (ncoll__algorithms[n] != NULL)
        n++;
    for (;;) {
        const struct algorithm *a = ncoll__algorithms[random_below(random, n)];
        if (a->collectives & 1u << collective && !(a->properties & TAKES_PLACES))
            return a;
    }
}

static struct tune_rule any_entry(struct random *random, enum collective collective)
{
    static const uint64_t segments[] = {0, 256, 16 << 10, 64 << 10};
    struct tune_rule entry = {.collective = collective,
                              .algorithm = any_algorithm(random, collective),
                              .radix = 1,
                              .segment_bytes = segments[random_below(random, 4)],
                              .lanes = 1 + (unsigned)random_below(random, 4)};
    unsigned list[] = {1 + (unsigned)random_below(random, 4),
                       1 + (unsigned)random_below(random, 4)};

    if (entry.algorithm->properties & USES_RADIX)
        entry.radix = ncoll__radix_list(list, entry.algorithm->properties & TAKES_LIST ? 2 : 1);
    return entry;
}

/* Entries of random sizes, with gaps between them. */
static void add_entries(struct random *random, struct tune_table *table,
                        struct tune_section *section, enum collective collective, bool same_bits)
{
    uint64_t from = random_below(random, 2) * random_below(random, 100);

    while (from < 1 << 20 && table->n_rules < ENTRIES_MAX) {
        struct tune_rule entry = any_entry(random, collective);
        if (from > 0 && random_below(random, 4) == 0 && section->count > 0 &&
            table->rules[table->n_rules - 1].collective == collective)
            entry = table->rules[table->n_rules - 1]; /* the same choice goes on */
        entry.same_bits = same_bits;
        entry.from_bytes = collective == COLL_BARRIER ? 0 : from;
        entry.to_bytes =
            collective == COLL_BARRIER ? 0 : from + random_below(random, 4 * from + 64);
        table->rules[table->n_rules++] = entry;
        section->count++;
        if (collective == COLL_BARRIER)
            return;
        from = entry.to_bytes + 1 + random_below(random, 3) / 2 * random_below(random, 4096);
    }
}

/* A table for groups of 1 to 4 ranks. */
static struct tune_table any_table(struct rank *r)
{
    struct tune_table table = {sections, entries, 0, 0, RANKS, ENTRIES_MAX};

    for (unsigned ranks = 1; ranks <= RANKS; ranks++) {
        struct tune_section *s = &sections[table.n_sections++];
        *s = (struct tune_section){.first = table.n_rules};
        ncoll__tune_here(r->ctx, &s->key);
        s->key.ranks = s->key.node_ranks = ranks;
        for (int c = COLL_BARRIER; c < COLLECTIVES; c++) {
            add_entries(&r->common, &table, s, (enum collective)c, false);
            if (c == COLL_ALLREDUCE)
                add_entries(&r->common, &table, s, (enum collective)c, true);
        }
    }
    return table;
}

static char rules_text[ENTRIES_MAX * 160];

static void add_line(void *arg, const struct tune_key *key, const char *text)
{
    size_t len = strlen(rules_text);

    (void)arg;
    (void)key;
    snprintf(rules_text + len, sizeof rules_text - len, "%s\n", text);
}

static int compare(struct rank *r, ncoll_group *g, const struct tune_table *table,
                   const struct rules *rules, enum collective collective, size_t bytes,
                   unsigned followed[2])
{
    for (int type = 0; type < 2; type++) {
        struct choice by_table, by_rules;
        size_t count = type == 0 ? bytes : bytes / 4;
        ncoll_type types[] = {NCOLL_INT8, NCOLL_FLOAT};

        r->ctx->tuning = *table;
        r->ctx->rules = (struct rules){0};
        CHECK_STATUS(ncoll__choose(g, collective, count, types[type], NCOLL_SUM, &by_table),
                     NCOLL_OK);
        r->ctx->tuning = (struct tune_table){0};
        r->ctx->rules = *rules;
        CHECK_STATUS(ncoll__choose(g, collective, count, types[type], NCOLL_SUM, &by_rules),
                     NCOLL_OK);
        bool same = by_table.algorithm == by_rules.algorithm && by_table.radix == by_rules.radix &&
                    by_table.segment == by_rules.segment &&
                    by_table.segments == by_rules.segments && by_table.lanes == by_rules.lanes &&
                    (by_table.from == FROM_TABLE) == (by_rules.from == FROM_RULE);
        if (!same)
            fprintf(stderr, "%zu bytes of %d ranks: %s by the table, %s by %s\n", bytes,
                    ncoll_group_size(g), by_table.algorithm->name, by_rules.algorithm->name,
                    by_rules.why);
        CHECK(same);
        followed[by_rules.from == FROM_RULE]++;
    }
    return 0;
}

static int compare_all(struct rank *r, ncoll_group *g, const struct tune_table *table,
                       const struct rules *rules, unsigned followed[2])
{
    for (unsigned i = 0; i < table->n_rules; i++) {
        const struct tune_rule *e = &entries[i];
        const uint64_t sizes[] = {e->from_bytes, e->to_bytes, e->to_bytes + 1,
                                  e->from_bytes + (e->to_bytes - e->from_bytes) / 2};
        for (unsigned s = 0; s < 4; s++)
            if (compare(r, g, table, rules, e->collective, (size_t)sizes[s], followed) != 0)
                return 1;
    }
    return 0;
}

static int check_table(struct rank *r)
{
    struct tune_table table = any_table(r), old = r->ctx->tuning;
    struct rules rules = {calloc(ENTRIES_MAX, sizeof *rules.all), 0, ENTRIES_MAX};
    struct rule_error error;
    unsigned followed[2] = {0};
    ncoll_group *part;

    rules_text[0] = '\0';
    CHECK(ncoll__rules_of_table(&table, 0, add_line, NULL) == 0);
    struct rule_source source = {"rules", 0, rules_text, strlen(rules_text)};
    bool good = rules.all != NULL && ncoll__rules_parse(&source, &rules, &error) &&
                ncoll__rules_check(&rules, &error);
    if (!good)
        fprintf(stderr, "%s: %s\n", error.where, error.cause);
    CHECK(good && rules.n > table.n_rules / 2);
    r->ctx->settings.tune = NCOLL_TUNE_TABLE;
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        CHECK_STATUS(ncoll_group_split(r->world, r->rank < ranks, 0, &part, NCOLL_BLOCK), NCOLL_OK);
        CHECK(compare_all(r, part, &table, &rules, followed) == 0);
        r->ctx->tuning = old;
        r->ctx->rules = (struct rules){0};
        CHECK_STATUS(ncoll_group_free(&part, NCOLL_BLOCK), NCOLL_OK);
    }
    if (r->rank == 0)
        printf("%u entries; %u choices by rules, %u by the model\n", table.n_rules, followed[1],
               followed[0]);
    CHECK(followed[0] > 100 && followed[1] > 100);
    free(rules.all);
    return 0;
}

static int check_tables(struct rank *r)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        CHECK(check_table(r) == 0);
    return 0;
}

static void test_rules_of_a_table(void **state)
{
    (void)state;
    run(check_tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_go_by_those_of_rank_0, setup),
        cmocka_unit_test_setup(test_precedence, setup),
        cmocka_unit_test_setup(test_radix_and_trial, setup),
        cmocka_unit_test_setup(test_conditions, setup),
        cmocka_unit_test_setup(test_device, setup),
        cmocka_unit_test_setup(test_what_cannot_be_followed, setup),
        cmocka_unit_test_setup(test_mistakes, setup),
        cmocka_unit_test_setup(test_rules_of_a_table, setup),
    };

    board = crew_share(sizeof *board);
    test_seed();
    snprintf(board->file, sizeof board->file, "/tmp/ncoll-rules-%d", (int)getpid());
    int failed = cmocka_run_group_tests_name("rules_job", tests, NULL, NULL);
    unlink(board->file);
    return failed;
}
