/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules as text: what is read, what is told of mistakes, and that printed rules read as the same
 * rules. Random texts are read with ends that have nothing behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/choose/rules.h"
#include "test/support/seed.h"

#define ROOM 64

static struct rule all[ROOM], again[ROOM];
static struct rule_error error;

/* Reads a text that has no byte behind its end. */
static bool parse(enum collective collective, const char *text, size_t len, struct rules *out)
{
    char *exact = malloc(len > 0 ? len : 1);
    struct rule_source source = {collective != 0 ? "VARIABLE" : "file", collective, exact, len};

    memcpy(exact, text, len);
    memset(&error, 0, sizeof error);
    bool ok = ncoll__rules_parse(&source, out, &error);
    assert_true(!ok || out->n <= ncoll__rules_room(&source));
    free(exact);
    return ok;
}

static struct rules read_all(enum collective collective, const char *text)
{
    struct rules rules = {all, 0, ROOM};

    if (!parse(collective, text, strlen(text), &rules))
        fail_msg("\"%s\": %s: %s; %s", text, error.where, error.cause, error.remedy);
    return rules;
}

/* ------------------------------------------------------------------ what is read -------------- */

static void test_what_rules_say(void **state)
{
    struct rules rules = read_all(COLL_ALLREDUCE, "0-4k:dissemination@n=3,4k-:ring");

    (void)state;
    assert_int_equal(rules.n, 2);
    assert_int_equal(all[0].collective, COLL_ALLREDUCE);
    assert_int_equal(all[0].bytes.from, 0);
    assert_int_equal(all[0].bytes.to, 4095); /* the end belongs to the next rule */
    assert_string_equal(all[0].algorithm->name, "dissemination");
    assert_int_equal(all[0].radix, 3);
    assert_false(all[0].has_segment);
    assert_int_equal(all[0].lanes, 0);
    assert_int_equal(all[1].bytes.from, 4096);
    assert_true(all[1].bytes.to == RULE_NO_END);
    assert_string_equal(all[1].algorithm->name, "ring");
    assert_int_equal(all[1].radix, 0);
    assert_string_equal(all[1].where, "VARIABLE, character 24");

    rules = read_all(0, "# mine\n\nallreduce 1M-  ranks=2-8 nodes=1 node-ranks=-4 per-core=1.5-2 "
                        "bits=same transport=shm+verbs device=mlx5_0:1,x ring segment=64k "
                        "lanes=2 # long\r\n  barrier\ttree n=2");
    assert_int_equal(rules.n, 2);
    assert_int_equal(all[0].bytes.from, 1 << 20);
    assert_int_equal(all[0].numbers[RULE_RANKS].from, 2);
    assert_int_equal(all[0].numbers[RULE_RANKS].to, 8);
    assert_int_equal(all[0].numbers[RULE_NODES].from, 1);
    assert_int_equal(all[0].numbers[RULE_NODES].to, 1);
    assert_int_equal(all[0].numbers[RULE_NODE_RANKS].from, 0);
    assert_int_equal(all[0].numbers[RULE_NODE_RANKS].to, 4);
    assert_int_equal(all[0].numbers[RULE_PER_CORE].from, 1500);
    assert_int_equal(all[0].numbers[RULE_PER_CORE].to, 2000);
    assert_true(all[0].same_bits);
    assert_string_equal(all[0].transport, "shm+verbs");
    assert_string_equal(all[0].device, "mlx5_0:1,x");
    assert_int_equal(all[0].segment_bytes, 64 << 10);
    assert_int_equal(all[0].lanes, 2);
    assert_string_equal(all[0].where, "file:3:1");
    assert_int_equal(all[1].collective, COLL_BARRIER);
    assert_string_equal(all[1].where, "file:4:3");
}

/* Texts that mean the same, as a line of a file. */
static void test_ways_to_write(void **state)
{
    static const struct {
        enum collective collective;
        const char *text, *line;
    } ways[] = {
        {COLL_ALLREDUCE, "ring", "allreduce 0- ring"},
        {COLL_ALLREDUCE, " -64KiB @ ring ; ", "allreduce 0-64k ring"},
        {COLL_ALLREDUCE, "64K-1Mi:ring", "allreduce 64k-1M ring"},
        {COLL_ALLREDUCE, "1000B-1025:ring", "allreduce 1000-1025 ring"},
        {COLL_ALLREDUCE, "1g-2T ring segment=0 lanes=4",
         "allreduce 1G-2T ring segment=whole lanes=4"},
        {COLL_ALLREDUCE, "0-8:two-window@n=3,2,2", "allreduce 0-8 two-window n=3,2"},
        {COLL_ALLREDUCE, "0-8:two-window@n=3,2@lanes=1", "allreduce 0-8 two-window n=3,2 lanes=1"},
        {COLL_ALLREDUCE, "ranks=8-:tree", "allreduce 0- ranks=8- tree"},
        {COLL_ALLREDUCE, "per-core=1.250-:tree", "allreduce 0- per-core=1.25- tree"},
        {COLL_ALLREDUCE, "per-core=0.5:tree", "allreduce 0- per-core=0.5 tree"},
        {0, "reduce_scatter ring 8-16", "reduce_scatter 8-16 ring"},
        {0, "barrier 0- tree", "barrier tree"},
        {0, "barrier 0-1 tree", "barrier tree"},
    };
    char line[RULE_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct rules rules = read_all(ways[i].collective, ways[i].text);
        assert_int_equal(rules.n, 1);
        assert_string_equal(ncoll__rule_text(&all[0], line), ways[i].line);
        assert_int_equal(read_all(0, ways[i].line).n, 1);
        assert_string_equal(ncoll__rule_text(&all[0], line), ways[i].line);
    }
    assert_int_equal(read_all(COLL_BCAST, "").n, 0);
    assert_int_equal(read_all(COLL_BCAST, " ,;,\n: @").n, 0);
    assert_int_equal(read_all(0, "#bcast flat\n \n\t# ranks=\n").n, 0);
    assert_int_equal(read_all(COLL_ALLREDUCE, "0-8:two-window@n=3,2,8-:tree@n=2,").n, 2);
}

/* ------------------------------------------------------------------ mistakes ------------------ */

static void test_mistakes(void **state)
{
    static const struct {
        enum collective collective;
        const char *text, *where, *cause, *remedy;
    } mistakes[] = {
        {COLL_ALLREDUCE, "0-4k:disemination@n=3", "VARIABLE, character 6",
         "there is no allreduce algorithm \"disemination\"", "did you mean dissemination?"},
        {COLL_BARRIER, "quantum", "VARIABLE, character 1", "no barrier algorithm \"quantum\"",
         "use one of dissemination, tree"},
        {COLL_BARRIER, "ring", "VARIABLE, character 1", "it is one of other collectives",
         "use one of dissemination, tree"},
        {COLL_BCAST, "threshold", "VARIABLE, character 1", "no bcast algorithm", "use one of"},
        {0, "bcast flat\n\n  alreduce ring\n", "file:3:3", "no collective \"alreduce\"",
         "did you mean allreduce?"},
        {0, "0-4k ring", "file:1:1", "no collective \"0-4k\"", "use one of barrier, allreduce"},
        {0, "allreduce 0-4k\nbcast flat", "file:1:1", "names no algorithm", "add one"},
        {COLL_ALLREDUCE, "4k-0:ring", "VARIABLE, character 1", "\"4k-0\" is reversed", "smaller"},
        {COLL_ALLREDUCE, "8-8:ring", "VARIABLE, character 1", "\"8-8\" is empty", "8-9 is 8 bytes"},
        {COLL_ALLREDUCE, "4k:ring", "VARIABLE, character 1", "is no range", "as 0-4k"},
        {COLL_ALLREDUCE, "0-4q:ring", "VARIABLE, character 1", "is no range", "k, M, G or T"},
        {COLL_ALLREDUCE, "1.5k-:ring", "VARIABLE, character 1", "is no range", "whole numbers"},
        {COLL_ALLREDUCE, "-:ring", "VARIABLE, character 1", "is no range", "as 0-4k"},
        {COLL_ALLREDUCE, "0-9999999T:ring", "VARIABLE, character 1", "is no range", "up to 1024T"},
        {COLL_ALLREDUCE, "0-16384P:ring", "VARIABLE, character 1", "is no range", "k, M, G or T"},
        {COLL_ALLREDUCE, "0-99999999999999999999:ring", "VARIABLE, character 1", "is no range", ""},
        {COLL_ALLREDUCE, "0-4:8-9:ring", "VARIABLE, character 5", "\"8-9\" is one too many", ""},
        {COLL_ALLREDUCE, "ring:tree", "VARIABLE, character 6", "one too many", "once"},
        {COLL_ALLREDUCE, "ring@lanes=2@lanes=2", "VARIABLE, character 14", "one too many", "once"},
        {COLL_ALLREDUCE, "ring@rank=2", "VARIABLE, character 6", "known of \"rank=2\"",
         "did you mean ranks?"},
        {COLL_ALLREDUCE, "ring@colour=2", "VARIABLE, character 6", "known of \"colour=2\"",
         "use one of ranks, nodes, node-ranks, per-core, bits"},
        {COLL_ALLREDUCE, "ranks=8-2:ring", "VARIABLE, character 1", "is reversed", "smaller"},
        {COLL_ALLREDUCE, "ranks=0:ring", "VARIABLE, character 1", "never true", "begin at 1"},
        {COLL_ALLREDUCE, "ranks=x:ring", "VARIABLE, character 1", "no valid condition", "2-8"},
        {COLL_ALLREDUCE, "nodes=1.5:ring", "VARIABLE, character 1", "no valid condition",
         "whole number"},
        {COLL_ALLREDUCE, "per-core=1.2345:ring", "VARIABLE, character 1", "no valid condition",
         "three decimals"},
        {COLL_ALLREDUCE, "ring@n=3", "VARIABLE, character 6", "\"ring\" has no n", "leave n= out"},
        {COLL_ALLREDUCE, "tree@n=17", "VARIABLE, character 6", "no valid n", "1 to 16"},
        {COLL_ALLREDUCE, "tree@n=3,2", "VARIABLE, character 6", "not the list \"3,2\"", "number"},
        {COLL_ALLREDUCE, "ring@segment=x", "VARIABLE, character 6", "no valid length", "whole"},
        {COLL_ALLREDUCE, "ring@lanes=5", "VARIABLE, character 6", "number of lanes", "1 to 4"},
        {COLL_ALLREDUCE, "ring@lanes=10", "VARIABLE, character 6", "number of lanes", "1 to 4"},
        {COLL_ALLREDUCE, "transport=tcp:ring", "VARIABLE, character 1", "no transport", "use shm"},
        {COLL_ALLREDUCE, "device=:ring", "VARIABLE, character 1", "names nothing", "after the ="},
        {COLL_BCAST, "bits=same:flat", "VARIABLE, character 1", "no valid condition", "allreduce"},
        {COLL_BARRIER, "8-:tree", "VARIABLE, character 1", "never applies", "no bytes"},
        {0, "bcast \x01 flat", "file:1:7", "no text", "remove it"},
        {0, "bcast fl\x7f", "file:1:7", "after \"fl\"", "remove it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct rules rules = {all, 0, ROOM};
        const char *text = mistakes[i].text;
        assert_false(parse(mistakes[i].collective, text, strlen(text), &rules));
        if (strcmp(error.where, mistakes[i].where) != 0 ||
            strstr(error.cause, mistakes[i].cause) == NULL ||
            strstr(error.remedy, mistakes[i].remedy) == NULL || *error.remedy == '\0')
            fail_msg("\"%s\": %s: %s; %s", text, error.where, error.cause, error.remedy);
    }
}

static void test_long_names(void **state)
{
    char path[600], text[200] = "allreduce ";
    struct rule_source source = {path, 0, text, 0};
    struct rules rules = {all, 0, ROOM};

    (void)state;
    memset(path, 'p', sizeof path - 1);
    memset(text + 10, 'a', sizeof text - 11);
    path[sizeof path - 1] = '\0';
    source.len = sizeof text - 1;
    assert_false(ncoll__rules_parse(&source, &rules, &error));
    assert_memory_equal(error.where, "..ppp", 5);
    assert_non_null(strstr(error.where, "p:1:11"));
    assert_non_null(strstr(error.cause, "is too long"));
}

/* ------------------------------------------------------------------ overlaps ------------------ */

static void test_overlaps(void **state)
{
    static const struct {
        const char *text, *where, *remedy; /* where NULL: the rules are good */
    } cases[] = {
        {"0-4k:tree,4k-:ring", NULL, NULL},
        {"4k-:ring,0-4k:tree", NULL, NULL},
        {"0-4k:tree,2k-:ring", "VARIABLE, character 11", "change the sizes"},
        {"ring,ring", "VARIABLE, character 6", "change the sizes"},
        {"ranks=2-8:tree,ranks=9-:ring", NULL, NULL},
        {"ranks=2-8:tree,ranks=8-:ring", "VARIABLE, character 16", "change the sizes"},
        {"ranks=4:tree,ring", NULL, NULL}, /* an exception */
        {"ring,ranks=4:tree", "VARIABLE, character 6", "put it before"},
        {"bits=same:tree,ring", NULL, NULL},
        {"ring,bits=same:tree", "VARIABLE, character 6", "put it before"},
        {"ranks=4:bits=same:tree,ranks=4:ring,multiply", NULL, NULL},
        {"bits=same:tree,ranks=4:ring", "VARIABLE, character 16", "change the sizes"},
        {"transport=shm:tree,transport=verbs:ring,multiply", NULL, NULL},
        {"transport=shm:tree,nodes=1:ring", "VARIABLE, character 20", "change the sizes"},
        {"device=a:tree,device=b:ring", NULL, NULL},
        {"0-8:ranks=4:tree,ring", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rules rules = read_all(COLL_ALLREDUCE, cases[i].text);
        memset(&error, 0, sizeof error);
        if (ncoll__rules_check(&rules, &error) != (cases[i].where == NULL) ||
            (cases[i].where != NULL &&
             (strcmp(error.where, cases[i].where) != 0 ||
              strstr(error.cause, "overlaps the one at VARIABLE") == NULL ||
              strstr(error.remedy, cases[i].remedy) == NULL)))
            fail_msg("\"%s\": %s: %s; %s", cases[i].text, error.where, error.cause, error.remedy);
    }
    struct rules rules = read_all(0, "allreduce ring\nbcast flat\nreduce flat\n");
    assert_true(ncoll__rules_check(&rules, &error));
}

/* ------------------------------------------------------------------ random texts -------------- */

static size_t add(char *text, size_t len, size_t size, const char *piece)
{
    size_t n = strlen(piece);

    if (len + n > size)
        return len;
    memcpy(text + len, piece, n);
    return len + n;
}

/* Pieces of rules, mostly one of each kind in their order, and sometimes any other piece or byte. */
static size_t make_text(struct random *random, bool is_file, char *text, size_t size)
{
    static const char *const pieces[6][8] = {
        {"allreduce ", "allreduce ", "barrier ", "", "reduce ", "allreduce ", "allreduce\t", "# "},
        {"0-4k ", "4k-:", "", "-8 ", "8-9:", "1000-2Mi@", "64KiB- ", "4-2 "},
        {"ranks=2-8 ", "nodes=1:", "per-core=1.125- ", "", "", "", "device=x:", "bits=same "},
        {"tree", "tree", "multiply", "two-window", "two-window", "gather", "multiply", "ring"},
        {" n=3", "@n=4", "@n=16", "", "", "", ",2", "@n=3,2"},
        {" segment=64k;", ";", " lanes=2\n", "@segment=whole\n", "\n", ";", "@lanes=4;", "#\n"},
    };
    size_t len = 0, n = 6 * random_below(random, 4);

    for (size_t i = 0; i < n; i++) {
        char byte[2] = {(char)random_below(random, 256), '\0'};
        size_t kind = random_below(random, 64) > 0 ? i % 6 : random_below(random, 6);
        if (kind > 0 || is_file)
            len =
                add(text, len, size,
                    random_below(random, 100) == 0 ? byte : pieces[kind][random_below(random, 8)]);
    }
    for (size_t i = 0; is_file && i < len; i++)
        if (random_below(random, 100) > 0)
            text[i] = text[i] == ':' || text[i] == '@' ? ' ' : text[i] == ';' ? '\n' : text[i];
    return len;
}

static void test_random_texts(void **state)
{
    struct random random = random_stream(test_seed(), 0);
    unsigned read = 0, refused = 0;

    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        char text[512], line[RULE_TEXT], other[RULE_TEXT];
        struct rules rules = {all, 0, ROOM}, second = {again, 0, ROOM};
        size_t len = make_text(&random, i % 2 > 0, text, sizeof text);
        if (!parse(i % 2 == 0 ? COLL_ALLREDUCE : 0, text, len, &rules)) {
            assert_true(*error.where != '\0' && *error.cause != '\0' && *error.remedy != '\0');
            refused++;
            continue;
        }
        read += rules.n;
        ncoll__rules_check(&rules, &error);
        for (unsigned r = 0; r < rules.n; r++) {
            ncoll__rule_text(&all[r], line);
            second.n = 0;
            assert_true(parse(0, line, strlen(line), &second));
            assert_int_equal(second.n, 1);
            assert_string_equal(ncoll__rule_text(&again[0], other), line);
            memcpy(again[0].where, all[r].where, sizeof again[0].where);
            assert_memory_equal(&again[0], &all[r], offsetof(struct rule, transport));
        }
    }
    printf("%u rules, %u texts refused\n", read, refused);
    assert_true(read > 10000 && refused > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_rules_say), cmocka_unit_test(test_ways_to_write),
        cmocka_unit_test(test_mistakes),       cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_overlaps),       cmocka_unit_test(test_random_texts),
    };

    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
