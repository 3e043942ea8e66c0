/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what can go wrong while the ranks of the tcp bootstrap find each other. */
#include <netdb.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/tcp.h"
#include "bootstrap/tcp_link.h"
#include "bootstrap_ranks.h"
#include "bootstrap_visitor.h"

static int open_tcp(struct side *side)
{
    return side_open(side, &ncoll__bootstrap_tcp);
}

static bool says(const struct side *side, const char *text)
{
    return strstr(side->error.cause, text) != NULL;
}

/* ------------------------------------------------------------------ addresses ---------------- */

static void test_addresses(void **state)
{
    static const char *const bad[] = {
        "",        "host",    "host:",         ":1",     "host:0", "host:65536",
        "host:-1", "host:1x", "host: 1",       "::1:80", "[::1]",  "[::1]80",
        "[]:80",   "[::1:80", "host:00001234", "a/b:1",  "a b:1",  "host:80:90"};
    struct tcp_address address;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (ncoll__tcp_address_parse(bad[i], &address))
            fail_msg("\"%s\" was taken for %s port %s", bad[i], address.host, address.port);
    assert_true(ncoll__tcp_address_parse("node-1.cluster:4711", &address));
    assert_string_equal(address.host, "node-1.cluster");
    assert_string_equal(address.port, "4711");
    assert_true(ncoll__tcp_address_parse("[fe80::1%eth0]:1", &address));
    assert_string_equal(address.host, "fe80::1%eth0");
    assert_true(ncoll__tcp_address_parse("192.0.2.1:65535", &address));
}

static int misconfigure(struct side *side)
{
    struct bootstrap_config config = side_config(side, &ncoll__bootstrap_tcp);

    config.root = "localhost";
    CHECK(ncoll__bootstrap_tcp.open(&config, &side->b) == NCOLL_ERR_ARGUMENT);
    CHECK(says(side, "\"localhost\"") && strstr(side->error.remedy, "host:port") != NULL);
    config.root = NULL;
    CHECK(ncoll__bootstrap_tcp.open(&config, &side->b) == NCOLL_ERR_ARGUMENT);
    CHECK(says(side, "NCOLL_ROOT"));
    config = side_config(side, &ncoll__bootstrap_tcp);
    config.ranks = 0;
    CHECK(ncoll__bootstrap_tcp.open(&config, &side->b) == NCOLL_ERR_ARGUMENT);
    CHECK(says(side, "NCOLL_SIZE is not"));
    config.ranks = 2, config.rank = -1;
    CHECK(ncoll__bootstrap_tcp.open(&config, &side->b) == NCOLL_ERR_ARGUMENT);
    CHECK(says(side, "NCOLL_RANK is not"));
    config.rank = 2;
    CHECK(ncoll__bootstrap_tcp.open(&config, &side->b) == NCOLL_ERR_ARGUMENT);
    CHECK(says(side, "NCOLL_RANK is 2"));
    return 0;
}

static void test_misconfigured(void **state)
{
    int code;

    (void)state;
    assert_int_equal(run_sides(1, misconfigure, &code), 0);
}

/* ------------------------------------------------------------------ nobody there ------------- */

/* Rank 0 of a job of 2 stands for rank 1, whom nobody waits for. */
static int find_nobody(struct side *side)
{
    struct bootstrap_config config = side_config(side, &ncoll__bootstrap_tcp);

    config.rank = 1, config.ranks = 2;
    config.timeout_ns = 700000000;
    double start = side_now_s();
    CHECK(ncoll__bootstrap_tcp.open(&config, &side->b) == NCOLL_ERR_BOOTSTRAP);
    CHECK(side_now_s() - start > 0.6);
    CHECK(side->error.peer == 0 && says(side, "0.7 s") && says(side, "refused"));
    CHECK(says(side, strchr(side->meeting->root, ':') + 1));

    config.root = "no.such.host.invalid:4711";
    CHECK(ncoll__bootstrap_tcp.open(&config, &side->b) == NCOLL_ERR_BOOTSTRAP);
    CHECK(says(side, "no.such.host.invalid"));
    return 0;
}

static void test_unreachable(void **state)
{
    int code;

    (void)state;
    assert_int_equal(run_sides(1, find_nobody, &code), 0);
}

/* Something listens, but it is not ncoll: it says nothing (0), or nonsense (1). */
static int find_stranger(struct side *side)
{
    struct tcp_address address;
    struct addrinfo *found;
    const int yes = 1;

    if (side->rank == 1) {
        side_await(side, 1);
        side_has_patience_until(side, 2);
        CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP && says(side, "nothing was heard"));
        side_watch(side, "is not rank 0 of this job", 3);
        side_has_patience_until(side, 3);
        CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP && says(side, "not of an ncoll"));
        return 0;
    }
    ncoll__tcp_address_parse(side->meeting->root, &address);
    CHECK(getaddrinfo("127.0.0.1", address.port, NULL, &found) == 0);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    CHECK(bind(listener, found->ai_addr, found->ai_addrlen) == 0 && listen(listener, 5) == 0);
    freeaddrinfo(found);
    side->meeting->step = 1;
    int silent = accept(listener, NULL, NULL);
    side_advance(side, 2);
    int talking = accept(listener, NULL, NULL);
    char greeting[64] = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n";
    CHECK(write(talking, greeting, sizeof greeting) == sizeof greeting);
    while (read(talking, greeting, sizeof greeting) > 0)
        ;
    close(talking);
    close(silent);
    return 0;
}

static void test_not_ncoll(void **state)
{
    int codes[2];

    (void)state;
    assert_int_equal(run_sides(2, find_stranger, codes), 0);
}

/* ------------------------------------------------------------------ ranks that do not fit ---- */

/* Has rank 0 note that all other ranks have come. */
static void watch_for(struct side *side, const char *missing)
{
    if (side->rank == 0)
        side_watch(side, missing, 1);
}

/* Rank 2 never comes: everybody says so. */
static int miss_rank_2(struct side *side)
{
    if (side->rank == 2)
        return 0;
    watch_for(side, "rank 2 did not come");
    side_has_patience_until(side, 1);
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    CHECK(side->error.peer == 2 && says(side, "rank 2 "));
    return 0;
}

/* A rank that loses patience first knows whom it waited for, and rank 0 does not name it. */
static int miss_rank_2_with_less_patience(struct side *side)
{
    if (side->rank == 2)
        return 0;
    watch_for(side, "rank 2 did not come");
    if (side->rank == 3)
        side_has_patience_until(side, 1);
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    CHECK(side->error.peer == 2 && says(side, "rank 2 "));
    return 0;
}

static void test_missing_rank(void **state)
{
    int codes[5];

    (void)state;
    assert_int_equal(run_sides(4, miss_rank_2, codes), 0);
    assert_int_equal(run_sides(4, miss_rank_2_with_less_patience, codes), 0);
}

/* Rank 3 says that it is rank 1. With a key all hear of it at once. */
static int come_twice(struct side *side)
{
    side->key = "of this job";
    watch_for(side, "rank 3 did not come");
    if (side->rank == 3) {
        side_await(side, 1);
        side->rank = 1;
    }
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    CHECK(says(side, "both rank 1") && side->error.reason == NCOLL_REASON_JOB_REFUSED);
    return 0;
}

/* Rank 2 was started for a larger job. */
static int come_with_other_size(struct side *side)
{
    side->key = "of this job";
    watch_for(side, "rank 2 did not come");
    if (side->rank == 2) {
        side_await(side, 1);
        side->ranks = 17;
    }
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    CHECK(says(side, "17 ranks") && says(side, "one of 3"));
    return 0;
}

/* Without a key it may be another job's, and is told alone. The others go on waiting, until the
 * impatient one gives up; then both say what has happened. */
static int come_unasked(struct side *side, int impatient)
{
    if (side->rank == impatient)
        side_has_patience_until(side, 2);
    watch_for(side, "rank 2 did not come");
    if (side->rank == 2) {
        side->ranks = 17;
        side_await(side, 1);
    }
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    if (side->rank == 2)
        side_advance(side, 2);
    CHECK(side->rank == 2 || says(side, "rank 2 did not come within"));
    CHECK(side->error.peer == (side->rank == 2 ? -1 : 2));
    CHECK(side->rank == 2 || side->error.reason == NCOLL_REASON_PEER_MISSING);
    CHECK(says(side, "17 ranks") && says(side, "one of 3"));
    return 0;
}

static int come_unasked_to_an_impatient_root(struct side *side)
{
    return come_unasked(side, 0);
}

static int come_unasked_to_an_impatient_leaf(struct side *side)
{
    return come_unasked(side, 1);
}

/* Rank 2 says that it is rank 0 as well: it cannot have the port. */
static int come_as_second_root(struct side *side)
{
    if (side->rank == 2)
        side->rank = 0;
    side->timeout_ns = 2000000000;
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    return 0;
}

/* Rank 1 dies while the ranks are still coming. */
static int die_early(struct side *side)
{
    if (side->rank == 2) /* never comes */
        return 0;
    watch_for(side, "rank 2 did not come");
    if (side->rank == 1) {
        side_has_patience_until(side, 1);
        side->dies = true;
    }
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    CHECK(side->error.peer == 1 && says(side, "rank 1 failed"));
    return 0;
}

static void test_ranks_that_do_not_fit(void **state)
{
    int codes[4];

    (void)state;
    assert_int_equal(run_sides(4, come_twice, codes), 0);
    assert_int_equal(run_sides(3, come_with_other_size, codes), 0);
    assert_int_equal(run_sides(3, come_unasked_to_an_impatient_root, codes), 0);
    assert_int_equal(run_sides(3, come_unasked_to_an_impatient_leaf, codes), 0);
    assert_int_equal(run_sides(3, come_as_second_root, codes), 0);
    assert_int_equal(run_sides(4, die_early, codes), 1);
    assert_int_equal(codes[1], 128 + SIGALRM);
}

/* ------------------------------------------------------------------ visitors ----------------- */

/* Many connections that are not of the job come before rank 1: silent ones, more than rank 0 has
 * places for, noise, and heads that lie about what follows. */
#define VISITORS 240

static int visit(struct side *side)
{
    unsigned char noise[200];
    int fds[VISITORS];

    if (side->rank == 1) {
        for (int i = 0; i < VISITORS; i++) {
            fds[i] = visitor_connect(side);
            for (size_t j = 0; j < sizeof noise; j++)
                noise[j] = (unsigned char)rand();
            if (i % 3 == 1)
                memcpy(noise, "NCL1\001\000\001\000\001\000\000\000\377\377\377\377", 16);
            if (i % 3 != 0)
                CHECK(send(fds[i], noise, sizeof noise, MSG_NOSIGNAL) > 0);
        }
    }
    CHECK(open_tcp(side) == NCOLL_OK);
    for (int i = 0; side->rank == 1 && i < VISITORS; i++)
        close(fds[i]);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    CHECK(side_has_all(side, 1));
    side->b->ops->close(side->b);
    return 0;
}

static void test_visitors(void **state)
{
    int codes[3];

    (void)state;
    assert_int_equal(run_sides(3, visit, codes), 0);
}

/* Rank 1 joins as it should and then sends a blob as somebody else's, or of another exchange. */
static int lie(struct side *side)
{
    struct tcp_link link;
    struct tcp_frame frame;
    unsigned char *body;

    if (side->rank != 1) {
        CHECK(open_tcp(side) == NCOLL_OK);
        CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_ERR_PEER);
        CHECK(side->error.peer == 1 && side_await_failed(side, 1) == 1);
        side->b->ops->close(side->b);
        return 0;
    }
    ncoll__tcp_link_open(&link, visitor_connect(side), 1000);
    CHECK(visitor_joins(side, &link, NULL));
    do
        while (ncoll__tcp_link_receive(&link, &frame, &body) != TCP_FRAME)
            side_pause(1000);
    while (free(body), frame.type != TCP_READY);
    frame = (struct tcp_frame){.type = TCP_BLOB, .rank = 2, .number = 1};
    ncoll__tcp_link_send(&link, &frame, NULL);
    ncoll__tcp_link_flush(&link);
    while (ncoll__tcp_link_receive(&link, &frame, &body) != TCP_CLOSED)
        side_pause(1000);
    ncoll__tcp_link_close(&link, false);
    return 0;
}

static void test_liar(void **state)
{
    int codes[3];

    (void)state;
    assert_int_equal(run_sides(3, lie, codes), 0);
}

/* ------------------------------------------------------------------ what it costs ----------- */

/* Rank 0 sends a few frames for each rank and exchange, not one for each pair of ranks. */
static int count_frames(struct side *side)
{
    unsigned bound = (unsigned)(side->ranks - 1) * EXCHANGES * 3;

    CHECK(open_tcp(side) == NCOLL_OK);
    const struct bootstrap_traffic *traffic = &((const struct tcp *)side->b)->traffic;
    for (int k = 0; k < EXCHANGES; k++)
        CHECK(side_start(side, k) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    CHECK(side->rank != 0 || traffic->most_sockets >= (unsigned)side->ranks - 1);
    CHECK(traffic->frames_sent > 0 && traffic->frames_sent < bound);
    CHECK(traffic->frames_received > 0 && traffic->frames_received < bound);
    CHECK(traffic->bytes_sent > 0 && traffic->bytes_received > 0);
    side_watch(side, "frames with", 1);
    side->b->ops->close(side->b);
    CHECK(side->rank != 0 || side->meeting->step == 1);
    return 0;
}

static void test_few_frames(void **state)
{
    int codes[TEST_RANKS_MAX];

    (void)state;
    assert_int_equal(run_sides(TEST_RANKS_MAX, count_frames, codes), 0);
}

/* Ranks that wait for rank 1 sleep until it comes. */
static int sleep_until_all_come(struct side *side)
{
    int sleeps = 0, rc;

    CHECK(open_tcp(side) == NCOLL_OK);
    if (side->rank == 1) {
        side_await(side, side->ranks - 1);
        side_pause(50000);
    }
    CHECK(side_start(side, 1) == NCOLL_OK);
    atomic_fetch_add(&side->meeting->step, 1);
    for (; (rc = side->b->ops->exchange_test(side->b)) == NCOLL_TIMEOUT; sleeps++)
        side->b->ops->wait(side->b, UINT64_C(1000000000));
    CHECK(rc == NCOLL_OK && sleeps < 1000 && side_has_all(side, 1));
    side->b->ops->close(side->b);
    return 0;
}

static void test_waits_asleep(void **state)
{
    int codes[TEST_RANKS_MAX];

    (void)state;
    assert_int_equal(run_sides(TEST_RANKS_MAX, sleep_until_all_come, codes), 0);
}

/* The soft limit of descriptors is too low for rank 0, which may raise it. */
static int have_few_descriptors(struct side *side)
{
    struct rlimit files;

    CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = 8;
    CHECK(side->rank != 0 || setrlimit(RLIMIT_NOFILE, &files) == 0);
    CHECK(open_tcp(side) == NCOLL_OK);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    CHECK(side_has_all(side, 1));
    side->b->ops->close(side->b);
    return 0;
}

static void test_few_descriptors(void **state)
{
    int codes[TEST_RANKS_MAX];

    (void)state;
    assert_int_equal(run_sides(TEST_RANKS_MAX, have_few_descriptors, codes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),       cmocka_unit_test(test_misconfigured),
        cmocka_unit_test(test_unreachable),     cmocka_unit_test(test_not_ncoll),
        cmocka_unit_test(test_missing_rank),    cmocka_unit_test(test_ranks_that_do_not_fit),
        cmocka_unit_test(test_visitors),        cmocka_unit_test(test_liar),
        cmocka_unit_test(test_few_frames),      cmocka_unit_test(test_waits_asleep),
        cmocka_unit_test(test_few_descriptors),
    };
    return cmocka_run_group_tests_name("bootstrap_tcp", tests, NULL, NULL);
}
