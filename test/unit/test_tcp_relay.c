/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree by which the tcp bootstrap sends parcels to all ranks. Here a rank has two children at
 * most, so that few ranks make a tree of several levels.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/tcp_leaf.h"
#include "bootstrap_ranks.h"

/* In place of that in bootstrap/tcp_fan_out.c. */
const int ncoll__tcp_fan_out = 2;

#define RANKS 9

static int open_tcp(struct side *side)
{
    side->key = "of this job";
    return side_open(side, &ncoll__bootstrap_tcp);
}

static struct relay *relay_of(struct side *side)
{
    return &((struct leaf *)side->b)->relay;
}

static int exchange(struct side *side, int k)
{
    CHECK(side_start(side, k) == NCOLL_OK);
    CHECK(side_finish(side) == NCOLL_OK);
    CHECK(side_has_all(side, k));
    return 0;
}

static void run(side_body body)
{
    int codes[RANKS];

    assert_int_equal(run_sides(RANKS, body, codes), 0);
}

/* ------------------------------------------------------------------ all is well -------------- */

/* While all ranks are there; begun_s: a time before they opened it. */
static int check_traffic(struct side *side, unsigned exchanges, double begun_s)
{
    struct bootstrap_traffic traffic;

    side->b->ops->traffic(side->b, &traffic);
    if (side->rank == 0) {
        /* to each rank CHALLENGE, ACCEPTED and READY, and every 100 ms who is missing; to two the
         * blobs */
        unsigned tellings = 1 + (unsigned)(10 * (side_now_s() - begun_s));
        CHECK(traffic.frames_sent <= (3 + tellings) * (RANKS - 1) + 2 * exchanges);
        CHECK(traffic.most_sockets == RANKS - 1);
        return 0;
    }
    CHECK(ncoll__tcp_relay_has_parent(relay_of(side)) == (side->rank > 2));
    CHECK(relay_of(side)->listener < 0); /* all children have come */
    CHECK(traffic.most_sockets <= 4);    /* to the root, to the parent, to two children */
    return 0;
}

static int exchange_often(struct side *side)
{
    double begun_s = side_now_s();

    CHECK(open_tcp(side) == NCOLL_OK);
    for (int k = 1; k <= EXCHANGES; k++)
        if (exchange(side, k) != 0 || (k == 2 && check_traffic(side, 2, begun_s) != 0))
            return 1;
    side->b->ops->close(side->b);
    return 0;
}

static void test_exchanges(void **state)
{
    (void)state;
    run(exchange_often);
}

/* ------------------------------------------------------------------ parents that are lost ---- */

/* Rank 1 closes the connections to its children, 3 and 4, while these wait for the blobs. */
static int lose_parent(struct side *side)
{
    CHECK(open_tcp(side) == NCOLL_OK);
    if (exchange(side, 1) != 0)
        return 1;
    if (side->rank == 1) {
        side_await(side, 2);
        ncoll__tcp_relay_close(relay_of(side));
    }
    CHECK(side_start(side, 2) == NCOLL_OK);
    if (side->rank == 3 || side->rank == 4)
        atomic_fetch_add(&side->meeting->step, 1);
    CHECK(side_finish(side) == NCOLL_OK && side_has_all(side, 2));
    for (int k = 3; k <= EXCHANGES; k++)
        if (exchange(side, k) != 0)
            return 1;
    if (side->rank == 3 || side->rank == 4)
        CHECK(!ncoll__tcp_relay_has_parent(relay_of(side)));
    side->b->ops->close(side->b);
    return 0;
}

static void test_lost_parent(void **state)
{
    (void)state;
    run(lose_parent);
}

/* Rank 1 is gone in the middle of an exchange, and everybody hears that it is rank 1. */
static int lose_rank(struct side *side)
{
    CHECK(open_tcp(side) == NCOLL_OK);
    if (exchange(side, 1) != 0)
        return 1;
    if (side->rank == 1)
        _exit(0);
    CHECK(side_start(side, 2) == NCOLL_OK);
    CHECK(side_finish(side) == NCOLL_ERR_PEER);
    CHECK(side->error.peer == 1);
    side->b->ops->close(side->b);
    return 0;
}

static void test_lost_rank(void **state)
{
    (void)state;
    run(lose_rank);
}

/* ------------------------------------------------------------------ strangers ---------------- */

/* Rank 0 comes to rank 1's listener as a stranger: with data that is no frame, and as rank 3 with a
 * proof that is wrong. Neither is told anything, and rank 3 is not in the way. */
static int visit(struct side *side, int port, bool greets)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const struct tcp_frame hello = {TCP_HELLO, TCP_PROTOCOL, 3, 0, RANKS};
    struct tcp_frame frame = {.type = TCP_PROOF, .len = NONCE_BYTES + TAG_BYTES + 2};
    unsigned char zeroes[256] = {0}, *body;
    struct tcp_link link;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    ncoll__tcp_link_open(&link, fd, PROOF_BYTES);
    if (greets) {
        ncoll__tcp_link_send(&link, &hello, NULL);
        ncoll__tcp_link_drain(&link, 1000);
        while (ncoll__tcp_link_receive(&link, &frame, &body) == TCP_NOTHING)
            side_pause(100);
        CHECK(frame.type == TCP_CHALLENGE);
        free(body);
        frame = (struct tcp_frame){.type = TCP_PROOF, .len = NONCE_BYTES + TAG_BYTES + 2};
        ncoll__tcp_link_send(&link, &frame, zeroes);
        ncoll__tcp_link_drain(&link, 1000);
    } else {
        CHECK(write(fd, zeroes, sizeof zeroes) == sizeof zeroes);
    }
    enum tcp_receipt receipt;
    while ((receipt = ncoll__tcp_link_receive(&link, &frame, &body)) == TCP_NOTHING)
        side_pause(100);
    CHECK(receipt == TCP_CLOSED);
    ncoll__tcp_link_close(&link, false);
    return 0;
}

static int be_visited(struct side *side)
{
    CHECK(open_tcp(side) == NCOLL_OK);
    if (side->rank == 1)
        side_advance(side, relay_of(side)->port);
    if (side->rank == 0) {
        side_await(side, 1);
        int port = side->meeting->step;
        if (visit(side, port, false) != 0 || visit(side, port, true) != 0)
            return 1;
    }
    for (int k = 1; k <= 3; k++) {
        if (exchange(side, k) != 0)
            return 1;
        if (side->rank == 3 && k == 2)
            CHECK(ncoll__tcp_relay_has_parent(relay_of(side)));
    }
    side->b->ops->close(side->b);
    return 0;
}

static void test_strangers(void **state)
{
    (void)state;
    run(be_visited);
}

/* ------------------------------------------------------------------ READY -------------------- */

static void test_ready(void **state)
{
    struct ready ready = {.where = PARENT_IPV6, .port = 54321}, read;
    unsigned char body[READY_BYTES];

    (void)state;
    memset(ready.address, 7, sizeof ready.address);
    memset(ready.secret, 9, sizeof ready.secret);
    ncoll__tcp_ready_pack(&ready, body);
    assert_true(ncoll__tcp_ready_unpack(body, sizeof body, &read));
    assert_int_equal(read.where, PARENT_IPV6);
    assert_int_equal(read.port, 54321);
    assert_memory_equal(read.address, ready.address, sizeof ready.address);
    assert_memory_equal(read.secret, ready.secret, sizeof ready.secret);
    assert_false(ncoll__tcp_ready_unpack(body, sizeof body - 1, &read));
    body[0] = 5;
    assert_false(ncoll__tcp_ready_unpack(body, sizeof body, &read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready),       cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_lost_parent), cmocka_unit_test(test_lost_rank),
        cmocka_unit_test(test_strangers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
