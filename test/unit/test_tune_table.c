/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning tables as text: there and back, whatever the text has become, and merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/choose/tune_table.h"
#include "lib/choose/tune_words.h"
#include "test/support/seed.h"

#define SECTIONS 8
#define RULES    64
#define TEXT     8192

static struct tune_section sections[4][SECTIONS];
static struct tune_rule rules[4][RULES];

/* One of four tables, empty. */
static struct tune_table empty(unsigned i)
{
    return (struct tune_table){sections[i], rules[i], 0, 0, SECTIONS, RULES};
}

static const char body[] = "ncoll tuning 1\n"
                           "section 0.1.0\n"
                           "machine 2 x Some Processor @ 2.60GHz\n"
                           "transport shm\n"
                           "device -\n"
                           "crowd 1000\n"
                           "costs 45000 18000 100000\n"
                           "end\n"
                           "section 0.1.0\n"
                           "machine 2 x Some Processor @ 2.60GHz\n"
                           "transport shm\n"
                           "device -\n"
                           "crowd 2000\n"
                           "ranks 4 4\n"
                           "use barrier 0 0 dissemination 3 0 4 900\n"
                           "use allreduce 0 63 two-window 3,2 0 4 1250\n"
                           "use allreduce 64 1099511627776 ring 1 65536 2 9999\n"
                           "use allreduce/same-bits 0 511 gather 1 0 4 1410\n"
                           "end\n";

/* The text with the sum that belongs to it. */
static size_t summed(const char *text, size_t len, char out[TEXT])
{
    memcpy(out, text, len);
    ncoll__tune_sum(text, len, out + len);
    return len + TUNE_SUM_LINE;
}

static enum tune_fault parse(const char *text, size_t len, struct tune_table *out)
{
    char why[TUNE_WHY] = "", *exact = malloc(len + 1); /* so that a sanitizer sees its end */

    memcpy(exact, text, len);
    enum tune_fault fault = ncoll__tune_parse(exact, len, out, why);
    assert_true(fault == TUNE_FINE ? *why == '\0' : *why != '\0');
    assert_true(fault == TUNE_FINE || out->n_sections + out->n_rules == 0);
    free(exact);
    return fault;
}

static void test_there_and_back(void **state)
{
    struct tune_table t = empty(0);
    char text[TEXT], again[TEXT];
    unsigned n_sections, n_rules;
    size_t len = summed(body, sizeof body - 1, text);

    (void)state;
    ncoll__tune_room(text, len, &n_sections, &n_rules);
    assert_int_equal(n_sections, 2);
    assert_int_equal(n_rules, 4);
    assert_int_equal(parse(text, len, &t), TUNE_FINE);
    assert_int_equal(t.n_sections, 2);
    assert_int_equal(t.n_rules, 4);
    assert_true(t.sections[0].has_costs && t.sections[0].cost.message_ns == 18);
    assert_true(t.sections[0].cost.byte_ns == 0.1);
    assert_string_equal(t.sections[1].key.machine, "2 x Some Processor @ 2.60GHz");
    assert_int_equal(t.sections[1].key.ranks_per_core_milli, 2000);
    assert_int_equal(ncoll__tune_print(&t, again, sizeof again), len);
    assert_memory_equal(text, again, len);
    assert_int_equal(ncoll__tune_print(&t, again, len), 0); /* and the 0 behind it */
}

/* Others read what one rank prints. */
static void test_most(void **state)
{
    static const char most[] = "ncoll tuning 1\n"
                               "section 0.1.0\n"
                               "machine m\n"
                               "transport shm\n"
                               "device -\n"
                               "crowd 1000\n"
                               "costs 1000000000000 1000000000000 1000000000000\n"
                               "end\n";
    struct tune_table t = empty(0);
    char text[TEXT], again[TEXT];
    size_t len = summed(most, sizeof most - 1, text);

    (void)state;
    assert_int_equal(parse(text, len, &t), TUNE_FINE);
    assert_int_equal(ncoll__tune_print(&t, again, sizeof again), len);
    assert_memory_equal(text, again, len);
}

static void test_lookup(void **state)
{
    struct tune_table t = empty(0);
    char text[TEXT];

    (void)state;
    assert_int_equal(parse(text, summed(body, sizeof body - 1, text), &t), TUNE_FINE);
    assert_null(ncoll__tune_section(&t, 4, 2));
    const struct tune_section *s = ncoll__tune_section(&t, 4, 4);
    assert_non_null(s);
    assert_null(ncoll__tune_rule(&t, s, COLL_BARRIER, false, 1));
    assert_null(ncoll__tune_rule(&t, s, COLL_BCAST, false, 8));
    assert_string_equal(ncoll__tune_rule(&t, s, COLL_ALLREDUCE, false, 63)->algorithm->name,
                        "two-window");
    assert_int_equal(ncoll__tune_rule(&t, s, COLL_ALLREDUCE, false, 64)->segment_bytes, 65536);
    assert_string_equal(ncoll__tune_rule(&t, s, COLL_ALLREDUCE, true, 64)->algorithm->name,
                        "gather");
    assert_null(ncoll__tune_rule(&t, s, COLL_ALLREDUCE, true, 512));
}

/* ------------------------------------------------------------------ what is wrong ------------- */

/* One line in place of another, in a text whose sum is right. */
static enum tune_fault parse_with(const char *line, const char *other)
{
    char text[TEXT], whole[TEXT];
    const char *at = strstr(body, line);
    struct tune_table t = empty(0);

    assert_non_null(at);
    int n =
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - body), body, other, at + strlen(line));
    return parse(whole, summed(text, (size_t)n, whole), &t);
}

static void test_lines_that_are_wrong(void **state)
{
    static const struct {
        const char *line, *other;
    } cases[] = {
        {"costs 45000 18000 100000\n", "costs 45000 18000\n"},
        {"costs 45000 18000 100000\n", "costs 0 18000 1\n"},
        {"costs 45000 18000 100000\n", "costs 45000 18000 -1\n"},
        {"costs 45000 18000 100000\n", "costs 45000 18000 1e9\n"},
        {"costs 45000 18000 100000\n", "costs 45000 18000 99999999999999999999\n"},
        {"costs 45000 18000 100000\n", "costs 1 1 1\ncosts 1 1 1\n"},
        {"costs 45000 18000 100000\n", "use barrier 0 0 dissemination 3 0 4 900\n"},
        {"crowd 1000\n", "crowd 999\n"},
        {"crowd 1000\n", ""},
        {"crowd 2000\n", "crowd 1000\nranks 0 0\n"},
        {"ranks 4 4\n", "ranks 4 5\n"},
        {"ranks 4 4\n", "ranks 4\n"},
        {"ranks 4 4\n", ""},
        {"machine 2 x Some Processor @ 2.60GHz\n", "machine \n"},
        {"machine 2 x Some Processor @ 2.60GHz\n", "machine a\tb\n"},
        {"transport shm\n", "transport shm\ntransport shm\n"},
        {"section 0.1.0\n", "section 0.1.0\nsection 0.1.0\n"},
        {"dissemination 3 0", "nothing 3 0"},
        {"dissemination 3 0", "ring 3 0"},
        {"dissemination 3 0", "dissemination 17 0"},
        {"dissemination 3 0", "dissemination 0 0"},
        {"dissemination 3 0", "dissemination  3 0"},
        {"0 4 900\n", "0 5 900\n"},
        {"0 4 900\n", "0 0 900\n"},
        {"0 4 900\n", "0 4 900 \n"},
        {"allreduce 64 1099511627776", "allreduce 63 1099511627776"},
        {"allreduce 64 1099511627776", "allreduce 64 1099511627777"},
        {"allreduce 64 1099511627776", "allreduce 64 63"},
        {"allreduce/same-bits", "allreduce/other-bits"},
        {"allreduce/same-bits", "barrier"},
        {"gather 1 0 4 1410\nend\n", "gather 1 0 4 1410\n"},
        {"gather 1 0 4 1410\nend\n", "gather 1 0 4 1410\nend\nend\n"},
    };

    (void)state;
    assert_int_equal(parse_with("device -\n", "device -\n"), TUNE_FINE);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (parse_with(cases[i].line, cases[i].other) != TUNE_DAMAGED)
            fail_msg("\"%s\" in place of \"%s\"", cases[i].other, cases[i].line);
}

static void test_other_files(void **state)
{
    struct tune_table t = empty(0);
    char text[TEXT];
    size_t len = summed(body, sizeof body - 1, text);

    (void)state;
    assert_int_equal(parse("", 0, &t), TUNE_FOREIGN);
    assert_int_equal(parse("#!/bin/sh\n", 10, &t), TUNE_FOREIGN);
    assert_int_equal(parse("ncoll tuning ", 13, &t), TUNE_FOREIGN);
    assert_int_equal(parse("ncoll tuning 2\nanything", 23, &t), TUNE_FOREIGN);
    for (size_t cut = 15; cut < len; cut++)
        assert_int_equal(parse(text, cut, &t), TUNE_DAMAGED);
}

/* Some bytes of a text become others, go, or come again. */
static size_t spoil(struct random *draw, char *text, size_t len)
{
    for (unsigned i = 1 + (unsigned)random_below(draw, 6); i > 0; i--) {
        size_t at = random_below(draw, len), n = 1 + random_below(draw, 40);
        if (n > len - at)
            n = len - at;
        switch (random_below(draw, 4)) {
        case 0:
            text[at] = (char)random_next(draw);
            break;
        case 1:
            text[at] = "0123456789 ,/\n"[random_below(draw, 14)];
            break;
        case 2:
            memmove(text + at, text + at + n, len - at - n);
            len -= n < len ? n : 0;
            break;
        default:
            if (len + n > TEXT / 2)
                break;
            memmove(text + at + n, text + at, len - at);
            len += n;
        }
    }
    return len;
}

/* A table that is read from a spoilt text can be written, and is the same again. */
static void check_whole(struct tune_table *t, uint64_t i)
{
    struct tune_table other = empty(1);
    char text[TEXT], again[TEXT];

    for (unsigned r = 0; r < t->n_rules; r++) {
        assert_true(t->rules[r].algorithm->collectives & 1u << t->rules[r].collective);
        assert_true(ncoll__radix_is_valid(t->rules[r].radix));
        assert_in_range(t->rules[r].lanes, 1, TUNE_LANES_MAX);
        assert_true(t->rules[r].from_bytes <= t->rules[r].to_bytes);
    }
    size_t len = ncoll__tune_print(t, text, sizeof text);
    if (len == 0 || parse(text, len, &other) != TUNE_FINE ||
        ncoll__tune_print(&other, again, sizeof again) != len || memcmp(text, again, len) != 0)
        fail_msg("text %llu does not come back", (unsigned long long)i);
}

/* Spoilt by accident, of which the sum tells; and on purpose, with the sum that belongs to it. */
static void test_spoilt(void **state)
{
    uint64_t seed = test_seed(), fine = 0;
    char text[TEXT], whole[TEXT];

    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        struct random draw = random_stream(seed, i);
        struct tune_table t = empty(0);
        size_t len = summed(body, sizeof body - 1, text);
        memcpy(whole, text, len);
        size_t spoilt = spoil(&draw, whole, len);
        bool same = spoilt == len && memcmp(text, whole, len) == 0;
        if ((parse(whole, spoilt, &t) == TUNE_FINE) != same)
            fail_msg("text %llu is taken", (unsigned long long)i);
        memcpy(text, body, sizeof body - 1);
        spoilt = summed(text, spoil(&draw, text, sizeof body - 1), whole);
        if (parse(whole, spoilt, &t) == TUNE_FINE) {
            check_whole(&t, i);
            fine++;
        }
    }
    assert_true(fine > 1000); /* else nothing was looked at */
}

/* ------------------------------------------------------------------ merging ------------------- */

static struct tune_key key(const char *version, const char *device, unsigned ranks)
{
    struct tune_key k = {.ranks_per_core_milli = 1000, .ranks = ranks, .node_ranks = ranks};

    strcpy(k.version, version);
    strcpy(k.machine, "2 x a");
    strcpy(k.transport, "verbs");
    strcpy(k.device, device);
    return k;
}

static void put(struct tune_table *t, struct tune_key k, enum collective collective, uint64_t ns)
{
    struct tune_section *s = &t->sections[t->n_sections++];

    *s = (struct tune_section){.key = k, .first = t->n_rules, .count = 1};
    t->rules[t->n_rules++] = (struct tune_rule){
        .collective = collective,
        .to_bytes = 8,
        .algorithm = ncoll__algorithm_find(collective == COLL_BARRIER ? "dissemination" : "ring"),
        .radix = 1,
        .lanes = 1,
        .ns = ns};
}

/* A point that is measured again is replaced, any other stays. */
static void test_merge(void **state)
{
    struct tune_table old = empty(0), fresh = empty(1), both = empty(2), read = empty(3);
    char text[TEXT];

    (void)state;
    put(&old, key("1", "d 1", 4), COLL_ALLREDUCE, 100);
    old.sections[0].has_costs = true;
    old.sections[0].cost = (struct transport_cost){1, 2, 3};
    put(&old, key("1", "d 1", 8), COLL_ALLREDUCE, 200);
    put(&fresh, key("1", "d 1", 4), COLL_BARRIER, 300);
    put(&fresh, key("1", "d 1", 2), COLL_BARRIER, 400);
    assert_true(ncoll__tune_merge(&old, &fresh, &both));
    assert_int_equal(both.n_sections, 3);
    assert_int_equal(both.n_rules, 4);
    const struct tune_section *s = ncoll__tune_section(&both, 4, 4);
    assert_true(s->has_costs && s->cost.byte_ns == 3);
    assert_int_equal(ncoll__tune_rule(&both, s, COLL_BARRIER, false, 0)->ns, 300);
    assert_int_equal(ncoll__tune_rule(&both, s, COLL_ALLREDUCE, false, 0)->ns, 100);
    size_t len = ncoll__tune_print(&both, text, sizeof text);
    assert_int_equal(parse(text, len, &read), TUNE_FINE);

    fresh.rules[0].ns = 500;
    both.n_sections = both.n_rules = 0;
    assert_true(ncoll__tune_merge(&read, &fresh, &both));
    s = ncoll__tune_section(&both, 4, 4);
    assert_int_equal(ncoll__tune_rule(&both, s, COLL_BARRIER, false, 0)->ns, 500);
}

/* Other firmware: what was measured before holds no more. What belongs to another version, which
 * may be installed besides, or to other machines stays. */
static void test_out_of_date(void **state)
{
    struct tune_table old = empty(0), fresh = empty(1), both = empty(2);
    struct tune_key here = key("2", "d 1", 4), other = key("1", "d 1", 4);

    (void)state;
    strcpy(other.machine, "4 x b");
    put(&old, key("2", "d 2", 8), COLL_ALLREDUCE, 1);
    put(&old, key("1", "d 1", 4), COLL_ALLREDUCE, 2);
    put(&old, key("1", "d 2", 8), COLL_ALLREDUCE, 3);
    put(&old, key("2", "e 1", 8), COLL_ALLREDUCE, 4);
    put(&old, other, COLL_ALLREDUCE, 5);
    put(&fresh, here, COLL_ALLREDUCE, 6);
    assert_true(ncoll__tune_merge(&old, &fresh, &both));
    assert_int_equal(both.n_sections, 5);
    for (unsigned i = 0; i < both.n_rules; i++)
        assert_int_equal(both.rules[i].ns, 2 + i);
    assert_true(ncoll__tune_is_stale(&old.sections[0].key, &here));
    assert_true(ncoll__tune_is_stale(&old.sections[1].key, &here));
    assert_false(ncoll__tune_is_stale(&old.sections[3].key, &here));
    assert_false(ncoll__tune_is_stale(&other, &here));
    assert_false(ncoll__tune_is_stale(&here, &here));
}

/* The versions that were written last stay, with all of their sections. */
static void test_versions(void **state)
{
    struct tune_table old = empty(0), fresh = empty(1), both = empty(2);

    (void)state;
    put(&old, key("3", "d 1", 8), COLL_ALLREDUCE, 1); /* and written again below */
    put(&old, key("1", "d 1", 8), COLL_ALLREDUCE, 0);
    put(&old, key("1", "e 1", 8), COLL_ALLREDUCE, 2); /* another device */
    put(&old, key("2", "d 1", 8), COLL_ALLREDUCE, 3);
    put(&old, key("5", "d 1", 8), COLL_ALLREDUCE, 0); /* as fresh */
    put(&old, key("3", "d 1", 4), COLL_ALLREDUCE, 4);
    put(&old, key("4", "d 1", 8), COLL_ALLREDUCE, 5);
    put(&fresh, key("5", "d 1", 8), COLL_ALLREDUCE, 6);
    assert_true(ncoll__tune_merge(&old, &fresh, &both));
    assert_int_equal(both.n_sections, 6);
    for (unsigned i = 0; i < both.n_rules; i++)
        assert_int_equal(both.rules[i].ns, 1 + i);
}

/* Other results of a job fill gaps of the table, and replace nothing. */
static void test_fill(void **state)
{
    static const struct {
        uint64_t from, to;
        const char *has; /* of the rules for allreduces, then */
    } cases[] = {
        {50, 150, "50..150"},
        {52, 149, "50..150"},
        {301, 899, "50..150 301..899"},
        {100, 300, "50..150 151..300 301..899"},
        {20, 60, "20..49 50..150 151..300 301..899"},
        {1, 1, "1..1 20..49 50..150 151..300 301..899"},
    };
    struct tune_table tables[2] = {empty(0), empty(1)}, read = empty(2);
    struct tune_rule rule = {.collective = COLL_ALLREDUCE,
                             .algorithm = ncoll__algorithm_find("ring"),
                             .radix = 1,
                             .lanes = 1};
    struct tune_key here = key("1", "d 1", 4);
    char text[TEXT], has[256];

    (void)state;
    put(&tables[0], key("1", "d 1", 8), COLL_BARRIER, 1); /* others */
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tune_table *old = &tables[i % 2];
        struct tune_table *out = &tables[1 - i % 2];
        size_t n = 0;
        rule.from_bytes = cases[i].from;
        rule.to_bytes = cases[i].to;
        assert_true(ncoll__tune_fill(old, &here, rule, out));
        assert_int_equal(out->n_sections, 2);
        const struct tune_section *s = ncoll__tune_section(out, 4, 4);
        for (unsigned r = s->first; r < s->first + s->count; r++)
            n += (size_t)snprintf(has + n, sizeof has - n, "%s%llu..%llu", n > 0 ? " " : "",
                                  (unsigned long long)out->rules[r].from_bytes,
                                  (unsigned long long)out->rules[r].to_bytes);
        assert_string_equal(has, cases[i].has);
        size_t len = ncoll__tune_print(out, text, sizeof text);
        assert_int_equal(parse(text, len, &read), TUNE_FINE);
        read.n_sections = read.n_rules = 0;
    }
    tables[0].n_rules = tables[0].rules_max = 0;
    assert_false(ncoll__tune_fill(&tables[1], &here, rule, &tables[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_most),
        cmocka_unit_test(test_lookup),         cmocka_unit_test(test_lines_that_are_wrong),
        cmocka_unit_test(test_other_files),    cmocka_unit_test(test_spoilt),
        cmocka_unit_test(test_merge),          cmocka_unit_test(test_out_of_date),
        cmocka_unit_test(test_versions),       cmocka_unit_test(test_fill),
    };

    return cmocka_run_group_tests_name("tune_table", tests, NULL, NULL);
}
