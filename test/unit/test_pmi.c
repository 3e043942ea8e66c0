/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstrap by PMI-1 and PMI-2: exchanges with a server that is as slow and as lazy as servers may
 * be, and servers that go wrong. Real launchers are tested by test/launchers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/pmi_nodes.h"
#include "bootstrap/pmi_pieces.h"
#include "bootstrap/pmi_session.h"
#include "bootstrap_ranks.h"
#include "pmi_server.h"
#include "test/support/hang.h"

#define ROUNDS 4

static struct pmi_server server;
static const struct bootstrap_ops *ops;

/* Runs ranks under the server. */
static int run(int ranks, side_body body)
{
    int codes[TEST_RANKS_MAX];

    server.ranks = ranks;
    pmi_server_start(&server);
    int failed = run_sides(ranks, body, codes);
    pmi_server_stop(&server);
    return failed;
}

/* ------------------------------------------------------------------ exchanges ----------------- */

static int exchange(struct side *side)
{
    CHECK(side_open(side, ops) == NCOLL_OK);
    CHECK(side->b->rank == side->rank && side->b->ranks == side->ranks);
    CHECK(strcmp(side->b->ops->name,
                 server.only_2 || ops == &ncoll__bootstrap_pmi2 ? "pmi2" : "pmi1") == 0);
    for (int k = 0; k < ROUNDS; k++) {
        side->b->for_few = k % 2 == 1;
        if (rand() % 3 == 0)
            side_pause((unsigned)rand() % 3000);
        CHECK(side_start(side, k) == NCOLL_OK);
        CHECK(side_finish(side) == NCOLL_OK);
        CHECK(side->b->ops->exchange_test(side->b) == NCOLL_OK);
        CHECK(side_has_all(side, k));
    }
    return 0;
}

/* One context after the other, both alive at the end. */
static int exchange_twice(struct side *side)
{
    struct side second = *side;

    pmi_server_enter(&server, side->rank);
    CHECK(exchange(side) == 0);
    side->b->ops->finish(side->b);
    CHECK(exchange(&second) == 0);
    second.b->ops->close(second.b);
    side->b->ops->close(side->b);
    return 0;
}

static void test_exchanges(void **state)
{
    static const char *const mappings[] = {"(vector,(0,1,1))",
                                           "(vector,(0,1,9))",
                                           "(vector,(0,3,2))",
                                           "(vector,(0,2,1))",
                                           "(vector,(0,9,1))",
                                           "(vector,(0,2,3),(5,1,1))",
                                           NULL,
                                           "(vector,(0,1,",
                                           "nothing"};
    static const struct bootstrap_ops *const both[] = {&ncoll__bootstrap_pmi1,
                                                       &ncoll__bootstrap_pmi2};

    (void)state;
    for (size_t i = 0; i < sizeof mappings / sizeof mappings[0]; i++)
        for (int version = 0; version < 2; version++) {
            server = (struct pmi_server){
                .mapping = mappings[i], .dribbles = i % 2 == 0, .lazy = i % 3 != 0};
            ops = both[version];
            int ranks = i < 3 ? 7 : 1 + (int)(i * 2 + (size_t)version) % 8;
            if (run(ranks, exchange_twice) != 0)
                fail_msg("PMI-%d, %d ranks, %s", version + 1, ranks,
                         mappings[i] != NULL ? mappings[i] : "no mapping");
        }
}

/* A server that speaks only version 2. */
static void test_falls_back(void **state)
{
    (void)state;
    server = (struct pmi_server){.mapping = "(vector,(0,1,4))", .only_2 = true, .lazy = true};
    ops = &ncoll__bootstrap_pmi;
    assert_int_equal(run(3, exchange_twice), 0);
}

/* ------------------------------------------------------------------ servers that go wrong ----- */

static const char *expected;

/* Opens, and makes an exchange. Some call has to fail, and its error says what is expected. */
static int meet_fault(struct side *side)
{
    const void *blob;
    size_t len;
    int rc;

    pmi_server_enter(&server, side->rank);
    if (server.fault == PMI_SILENT)
        side->timeout_ns = INT64_C(200000000);
    double end = side_now_s() + HANG_FACTOR * 20;
    rc = side_open(side, ops);
    if (rc == NCOLL_OK) {
        rc = side_start(side, 1);
        rc = rc == NCOLL_OK ? side_finish(side) : rc;
        for (int r = 0; rc == NCOLL_OK && r < side->ranks; r++)
            while ((rc = side->b->ops->get(side->b, r, &blob, &len)) == NCOLL_TIMEOUT)
                CHECK(side_now_s() < end);
        if (rc != NCOLL_OK)
            side->b->ops->close(side->b);
    }
    CHECK(rc == NCOLL_ERR_BOOTSTRAP || rc == NCOLL_ERR_PEER);
    if (strstr(side->error.cause, expected) == NULL || side->error.remedy[0] == '\0') {
        fprintf(stderr, "expected \"%s\" in: %s\n", expected, side->error.cause);
        return 1;
    }
    return 0;
}

static void test_faults(void **state)
{
    static const struct {
        int version;
        enum pmi_fault fault;
        const char *at, *expected;
    } cases[] = {
        {1, PMI_CLOSES, "cmd=init", "has closed the connection"},
        {1, PMI_SILENT, "cmd=init", "did not answer in time to its version"},
        {1, PMI_BABBLES, "cmd=init", "answers to its version: \"?here is another protocol\""},
        {1, PMI_ENDLESS, "cmd=init", "a message without an end"},
        {1, PMI_REFUSES, "cmd=get_maxes", "answers to its limits"},
        {1, PMI_SILENT, "cmd=get kvsname=kvs_1 key=PMI_process_mapping", "in time to the nodes"},
        {1, PMI_REFUSES, "cmd=put", "answers to a value put: \"cmd=put_result rc=-1 msg=no\""},
        {1, PMI_CLOSES, "cmd=put", "has closed the connection"},
        {1, PMI_CLOSES, "cmd=barrier_in", "the launcher is gone"},
        {1, PMI_BABBLES, "cmd=barrier_in", "answers to a fence"},
        {1, PMI_DAMAGES, "cmd=get kvsname=kvs_1 key=ncoll", "not as an ncoll publishes it"},
        {1, PMI_NO_VALUE, "cmd=get kvsname=kvs_1 key=ncoll", "there is none"},
        {1, PMI_CLOSES, "cmd=get kvsname=kvs_1 key=ncoll", "has closed the connection"},
        {2, PMI_CLOSES, "cmd=fullinit", "has closed the connection"},
        {2, PMI_ENDLESS, "cmd=fullinit", "a message without an end"},
        {2, PMI_BABBLES, "cmd=fullinit", "answers to its limits"},
        {2, PMI_REFUSES, "cmd=kvs-put", "answers to a value put"},
        {2, PMI_REFUSES, "cmd=kvs-fence", "answers to a fence"},
        {2, PMI_DAMAGES, "cmd=kvs-get", "not as an ncoll publishes it"},
        {2, PMI_NO_VALUE, "cmd=kvs-get", "there is none"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        server = (struct pmi_server){.fault = cases[i].fault,
                                     .at = cases[i].at,
                                     .mapping = "(vector,(0,2,1))",
                                     .lazy = true};
        ops = cases[i].version == 1 ? &ncoll__bootstrap_pmi1 : &ncoll__bootstrap_pmi2;
        expected = cases[i].expected;
        if (run(2, meet_fault) != 0)
            fail_msg("PMI-%d, fault %d at %s", cases[i].version, cases[i].fault, cases[i].at);
    }
}

/* ------------------------------------------------------------------ ranks that do not come ---- */

/* Rank 1 starts no second exchange. The others know it, since they are on its node. Then it comes
 * after all, though rank 0 has given up; the next context works. */
static int miss_one(struct side *side)
{
    struct side second = *side;
    int count;

    pmi_server_enter(&server, side->rank);
    CHECK(side_open(side, ops) == NCOLL_OK);
    CHECK(side_start(side, 0) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    if (side->rank == 1)
        side_await(side, 1);
    CHECK(side_start(side, 1) == NCOLL_OK);
    if (side->rank == 0) {
        for (int i = 0; i < 20; i++) {
            CHECK(side->b->ops->exchange_test(side->b) == NCOLL_TIMEOUT);
            side->b->ops->wait(side->b, 1000000);
        }
        while (side->b->ops->missing(side->b, &count) != 1 || count != 1)
            side_pause(100);
        side_advance(side, 1);
    }
    CHECK(side_finish(side) == NCOLL_OK && side_has_all(side, 1));
    side->b->ops->close(side->b);
    CHECK(exchange(&second) == 0);
    second.b->ops->close(second.b);
    return 0;
}

/* Rank 1 starts no exchange at all. Nobody can know which rank that is: the ranks have no board yet. */
static int miss_the_first(struct side *side)
{
    int count;

    pmi_server_enter(&server, side->rank);
    CHECK(side_open(side, ops) == NCOLL_OK);
    if (side->rank == 1)
        side_await(side, 1);
    CHECK(side_start(side, 0) == NCOLL_OK);
    if (side->rank == 0) {
        for (int i = 0; i < 20; i++) {
            CHECK(side->b->ops->exchange_test(side->b) == NCOLL_TIMEOUT);
            CHECK(side->b->ops->missing(side->b, &count) == -1 && count == 0);
            side->b->ops->wait(side->b, 1000000);
        }
        side_advance(side, 1);
    }
    CHECK(side_finish(side) == NCOLL_OK && side_has_all(side, 0));
    side->b->ops->close(side->b);
    return 0;
}

static void test_missing(void **state)
{
    (void)state;
    server = (struct pmi_server){.mapping = "(vector,(0,1,1))"};
    for (int version = 1; version <= 2; version++) {
        ops = version == 1 ? &ncoll__bootstrap_pmi1 : &ncoll__bootstrap_pmi2;
        assert_int_equal(run(3, miss_the_first), 0);
        assert_int_equal(run(3, miss_one), 0);
    }
}

/* A context that is given up in a fence. The answer comes later, and is not taken for another one. */
static int give_up(struct side *side)
{
    struct bootstrap_traffic traffic;
    struct side second = *side;

    pmi_server_enter(&server, side->rank);
    CHECK(side_open(side, ops) == NCOLL_OK);
    if (side->rank == 1)
        side_await(side, 1);
    CHECK(side_start(side, 0) == NCOLL_OK);
    double end = side_now_s() + HANG_FACTOR * 20;
    do {
        int rc = side->b->ops->exchange_test(side->b);
        CHECK(rc == NCOLL_TIMEOUT || (rc == NCOLL_OK && side->rank == 1));
        side->b->ops->traffic(side->b, &traffic);
    } while (traffic.fences == 0 && side_now_s() < end);
    side->b->ops->close(side->b);
    side_advance(side, 1);
    CHECK(exchange(&second) == 0);
    second.b->ops->close(second.b);
    return 0;
}

static void test_given_up(void **state)
{
    (void)state;
    server = (struct pmi_server){.mapping = "(vector,(0,2,1))"};
    ops = &ncoll__bootstrap_pmi1;
    assert_int_equal(run(2, give_up), 0);
}

/* No launcher; and variables that an outer launcher has left, without its socket. */
static int open_alone(struct side *side)
{
    unsetenv("PMI_FD");
    CHECK(side_open(side, &ncoll__bootstrap_pmi) == NCOLL_ERR_BOOTSTRAP);
    CHECK(strstr(side->error.cause, "not started by a launcher with PMI") != NULL);
    setenv("PMI_FD", "0", 1), setenv("PMI_RANK", "0", 1), setenv("PMI_SIZE", "2", 1);
    close(0);
    CHECK(side_open(side, &ncoll__bootstrap_pmi2) == NCOLL_ERR_BOOTSTRAP);
    CHECK(strstr(side->error.cause, "PMI_FD is no socket") != NULL);
    return 0;
}

static void test_alone(void **state)
{
    int code;

    (void)state;
    assert_int_equal(run_sides(1, open_alone, &code), 0);
}

/* ------------------------------------------------------------------ parts --------------------- */

static void test_nodes(void **state)
{
    static const struct {
        const char *text;
        int32_t of[6];
    } cases[] = {
        {"(vector,(0,1,1))", {0, 0, 0, 0, 0, 0}},
        {"(vector,(0,2,3))", {0, 0, 0, 1, 1, 1}},
        {"(vector,(0,3,1))", {0, 1, 2, 0, 1, 2}},
        {"(vector,(7,1,2),(3,1,4))", {0, 0, 1, 1, 1, 1}},
        {"(vector,(0,2,1),(0,1,4))", {0, 1, 0, 0, 0, 0}},
        {"(vector,(0,0,1))", {0, 1, 2, 3, 4, 5}},
        {"(vector,)", {0, 1, 2, 3, 4, 5}},
        {"(vector,(0,1,x))", {0, 1, 2, 3, 4, 5}},
        {"(vector,(0,1,1)", {0, 1, 2, 3, 4, 5}},
        {"", {0, 1, 2, 3, 4, 5}},
        {"(vector,(0,9999999999,1))", {0, 1, 2, 3, 4, 5}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pmi_nodes nodes;
        assert_true(ncoll__pmi_nodes_read(&nodes, cases[i].text, strlen(cases[i].text), 4, 6));
        for (int r = 0; r < 6; r++)
            if (nodes.of[r] != cases[i].of[r])
                fail_msg("%s: rank %d is on node %d", cases[i].text, r, (int)nodes.of[r]);
        assert_int_equal(nodes.mates[nodes.own], 4);
        assert_int_equal(nodes.of[nodes.leader[nodes.n - 1]], nodes.n - 1);
        ncoll__pmi_nodes_free(&nodes);
    }
}

static void test_pieces(void **state)
{
    unsigned char bytes[5000];
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)rand();
    for (size_t len = 0; len < sizeof bytes; len += 1 + len / 5)
        for (size_t most = 63; most < sizeof text; most += 97) {
            struct pmi_pieces pieces = {0};
            enum pmi_piece end = PMI_PIECE_MORE;
            for (size_t i = 0; ncoll__pmi_piece_write(bytes, len, i, most, text); i++) {
                assert_int_equal(end, PMI_PIECE_MORE);
                assert_true(strlen(text) <= most && strpbrk(text, " ;=\n") == NULL);
                end = ncoll__pmi_piece_add(&pieces, text, strlen(text));
            }
            assert_int_equal(end, PMI_PIECE_LAST);
            assert_int_equal(pieces.len, len);
            assert_memory_equal(pieces.bytes, bytes, len);
            ncoll__pmi_pieces_free(&pieces);
        }
}

static void test_wrong_pieces(void **state)
{
    static const char *const wrong[] = {"",       ".",       "x",      "3",      "3.",
                                        "3.AAA!", "3.AAAAA", "3.A",    "1.AAAA", "99999999999.AA",
                                        "0.AA",   "-3.AAAA", "3.AA AA"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct pmi_pieces pieces = {0};
        if (ncoll__pmi_piece_add(&pieces, wrong[i], strlen(wrong[i])) != PMI_PIECE_WRONG)
            fail_msg("\"%s\" was taken", wrong[i]);
        ncoll__pmi_pieces_free(&pieces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_wrong_pieces), cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_falls_back),   cmocka_unit_test(test_faults),
        cmocka_unit_test(test_missing),      cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests_name("pmi", tests, NULL, NULL);
}
