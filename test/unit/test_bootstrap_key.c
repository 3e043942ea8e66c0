/* SPDX-License-Identifier: BSD-3-Clause */
/* Strangers at the port of a tcp job: other jobs, floods, damaged frames, roots that are none. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/tcp_address.h"
#include "bootstrap/tcp_proof.h"
#include "bootstrap_ranks.h"
#include "bootstrap_visitor.h"
#include "test/support/hang.h"
#include "test/support/seed.h"

#define KEY_A "2c5e0d6f7a8b49c1a3e4f5061728394a"
#define KEY_B "2c5e0d6f7a8b49c1a3e4f5061728394b"

static int open_tcp(struct side *side)
{
    return side_open(side, &ncoll__bootstrap_tcp);
}

static bool says(const struct side *side, const char *text)
{
    return strstr(side->error.cause, text) != NULL;
}

/* An exchange of the job, and the end of it. */
static int use_and_close(struct side *side)
{
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    CHECK(side_has_all(side, 1));
    side->b->ops->close(side->b);
    return 0;
}

/* ------------------------------------------------------------------ other jobs --------------- */

/* Ranks 3 and 4 are rank 1 and 2 of another job, whose rank 0 never comes. They come first. */
static int mix_jobs(struct side *side, const char *key, const char *other_key)
{
    bool other = side->rank > 2;

    side->ranks = 3;
    side->key = other ? other_key : key;
    if (other) {
        side->rank -= 2;
        side->timeout_ns = 2000000000;
        atomic_fetch_add(&side->meeting->step, 1);
        CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
        return 0;
    }
    if (side->rank > 0) {
        side_await(side, 2);
        side_pause(300000);
    }
    CHECK(open_tcp(side) == NCOLL_OK);
    return use_and_close(side);
}

static int mix_keys(struct side *side)
{
    return mix_jobs(side, KEY_A, KEY_B);
}

static int mix_key_and_none(struct side *side)
{
    return mix_jobs(side, KEY_A, NULL);
}

static int mix_none_and_key(struct side *side)
{
    return mix_jobs(side, NULL, KEY_B);
}

/* Without a key the batch system's names tell jobs apart. */
static int mix_names(struct side *side)
{
    setenv("SLURM_JOB_ID", side->rank > 2 ? "18" : "17", 1);
    return mix_jobs(side, NULL, NULL);
}

static void test_ranks_of_another_job(void **state)
{
    static const side_body bodies[] = {mix_keys, mix_key_and_none, mix_none_and_key, mix_names};
    int codes[5];

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        assert_int_equal(run_sides(5, bodies[i], codes), 0);
}

/* Rank 1 of this job has the wrong key, or one where rank 0 has none. It comes before rank 0 gives
 * up, which says so. */
static int mistake_key(struct side *side, const char *key, const char *other_key)
{
    side->key = side->rank == 0 ? key : other_key;
    side_watch(side, "is not rank 0 of this job", 1);
    side_has_patience_until(side, 1);
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    CHECK(says(side, "NCOLL_KEY") && strstr(side->error.remedy, "NCOLL_KEY") != NULL);
    CHECK(side->rank == 1 || says(side, "rank 1 did not come within"));
    CHECK(side->rank == 1 || says(side, "rank 1 at 127.0.0.1 ") || says(side, "rank 1 at ::1 "));
    return 0;
}

static int mistake_one_key(struct side *side)
{
    return mistake_key(side, KEY_A, KEY_B);
}

static int lack_key(struct side *side)
{
    return mistake_key(side, NULL, KEY_B);
}

static void test_a_rank_with_another_key(void **state)
{
    int codes[2];

    (void)state;
    assert_int_equal(run_sides(2, mistake_one_key, codes), 0);
    assert_int_equal(run_sides(2, lack_key, codes), 0);
}

/* A rank with a wrong key comes again and again. Rank 0 says so once. */
static int come_again(struct side *side)
{
    side->key = side->rank == 0 ? KEY_A : KEY_B;
    side->timeout_ns = 1000000000;
    side_watch(side, side->rank == 0 ? "does not have the NCOLL_KEY" : "is not rank 0 of", 1);
    CHECK(open_tcp(side) == NCOLL_ERR_BOOTSTRAP);
    CHECK(side->watched.times == 1);
    return 0;
}

static void test_a_wrong_key_is_logged_once(void **state)
{
    int codes[2];

    (void)state;
    assert_int_equal(run_sides(2, come_again, codes), 0);
}

/* Two jobs on one port, with all their ranks: one after the other. */
static int share_port(struct side *side)
{
    side->key = side->rank < 3 ? KEY_A : KEY_B;
    side->rank %= 3;
    side->ranks = 3;
    CHECK(open_tcp(side) == NCOLL_OK);
    return use_and_close(side);
}

static void test_restart_on_the_same_port(void **state)
{
    int codes[6];

    (void)state;
    assert_int_equal(run_sides(6, share_port, codes), 0);
}

/* ------------------------------------------------------------------ floods ------------------- */

#define FLOOD 900

/* Rank 2 is no rank: it opens connections that say nothing, or greet and prove nothing. */
static int flood(struct side *side, bool greets)
{
    struct tcp_link link;
    struct timespec used;
    int fds[FLOOD];
    double start;

    side->key = KEY_A;
    if (side->rank == 2) {
        for (int i = 0; i < FLOOD; i++) {
            fds[i] = visitor_connect(side);
            ncoll__tcp_link_open(&link, fds[i], 0);
            if (greets)
                ncoll__tcp_link_send(&link, &(struct tcp_frame){TCP_HELLO, TCP_PROTOCOL, 1, 0, 2},
                                     NULL);
            ncoll__tcp_link_flush(&link);
        }
        side->meeting->step = 1;
        side_await(side, 2);
        for (int i = 0; i < FLOOD; i++)
            close(fds[i]);
        return 0;
    }
    side->ranks = 2;
    if (side->rank == 1)
        side_await(side, 1);
    start = side_now_s();
    CHECK(open_tcp(side) == NCOLL_OK);
    /* 28 s, when a silent one had 2 s; 60 s, when one that greets had one of a slow clock */
    CHECK(side->rank == 0 || side_now_s() - start < HANG_FACTOR * 2);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used); /* 40 s, when it looked for a place */
    CHECK(side->rank != 0 || used.tv_sec < HANG_FACTOR);
    side->meeting->step = 2;
    return use_and_close(side);
}

static int flood_silently(struct side *side)
{
    return flood(side, false);
}

static int flood_with_greetings(struct side *side)
{
    if (side->rank == 0)
        side->slow = 20;
    return flood(side, true);
}

static void test_flood(void **state)
{
    int codes[3];

    (void)state;
    assert_int_equal(run_sides(3, flood_silently, codes), 0);
    assert_int_equal(run_sides(3, flood_with_greetings, codes), 0);
}

/* ------------------------------------------------------------------ damage ------------------- */

#define DAMAGED 300
static struct random dice;

/* Changes one byte of what a leaf says of itself, or of its proof. */
static void spoil(struct side *side, struct tcp_frame *frame, unsigned char *body)
{
    static int at;
    unsigned char bit = (unsigned char)(1u << random_below(&dice, 8));

    if (frame->type == TCP_HELLO)
        at = (int)random_below(&dice, 100);
    if (frame->type == TCP_HELLO && at < 10)
        frame->rank ^= bit;
    else if (frame->type == TCP_HELLO && at < 20)
        frame->number ^= (uint64_t)bit << 8 * random_below(&dice, 8);
    else if (frame->type == TCP_PROOF && at >= 20 && at < 30)
        frame->len -= 1 + (uint32_t)random_below(&dice, frame->len);
    else if (frame->type == TCP_PROOF && at >= 20)
        body[random_below(&dice, frame->len)] ^= bit;
    (void)side;
}

/* Rank 1 comes many times with a frame that is not as it should be, and then as it should. */
static int damage(struct side *side)
{
    struct tcp_link link;

    side->key = KEY_A;
    for (int i = 0; side->rank == 1 && i < DAMAGED; i++) {
        ncoll__tcp_link_open(&link, visitor_connect(side), 1000);
        CHECK(!visitor_joins(side, &link, spoil));
        ncoll__tcp_link_close(&link, false);
    }
    CHECK(open_tcp(side) == NCOLL_OK);
    return use_and_close(side);
}

/* Frames that only ranks may send, and sizes and ranks of other jobs, in jobs without a key. */
static int lie(struct side *side)
{
    for (int i = 0; side->rank == 1 && i < 200; i++) {
        struct tcp_frame frame = {.type = 1 + random_below(&dice, TCP_GIVES_UP),
                                  .how = (unsigned)random_below(&dice, 5),
                                  .rank = (int)random_below(&dice, 5) - 1,
                                  .number = random_below(&dice, 6)};
        struct tcp_link link;
        ncoll__tcp_link_open(&link, visitor_connect(side), 1000);
        ncoll__tcp_link_send(&link, &frame, NULL);
        ncoll__tcp_link_flush(&link);
        ncoll__tcp_link_close(&link, i % 2 == 0);
    }
    CHECK(open_tcp(side) == NCOLL_OK);
    return use_and_close(side);
}

static void test_damaged_frames(void **state)
{
    int codes[3];

    (void)state;
    dice = random_stream(test_seed(), 1);
    assert_int_equal(run_sides(2, damage, codes), 0);
    assert_int_equal(run_sides(3, lie, codes), 0);
}

/* ------------------------------------------------------------------ roots that are none ------ */

/* Serves one leaf as a root would that has no key, or any. answer: what it says after the proof. */
static int pose(struct side *side, const char *key, struct tcp_frame answer, const char *text)
{
    struct tcp_claim claim;
    unsigned char nonce[NONCE_BYTES], tag[TAG_BYTES], challenge[NONCE_BYTES] = {7}, *body;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct tcp_frame frame;
    struct tcp_link link;
    const int yes = 1;

    address.sin_port = htons((uint16_t)atoi(strchr(side->meeting->root, ':') + 1));
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 5) == 0);
    ncoll__tcp_link_open(&link, accept(listener, NULL, NULL), 1000);
    CHECK(visitor_hears(&link, &frame, &body) && frame.type == TCP_HELLO);
    free(body);
    claim.rank = frame.rank, claim.ranks = frame.number;
    frame = (struct tcp_frame){.type = TCP_CHALLENGE, .len = NONCE_BYTES};
    ncoll__tcp_link_send(&link, &frame, challenge);
    ncoll__tcp_link_flush(&link);
    CHECK(visitor_hears(&link, &frame, &body) && frame.type == TCP_PROOF);
    CHECK(ncoll__tcp_proof_unpack(body, frame.len, nonce, tag, &claim));
    free(body);
    if (key != NULL) /* else it gives the leaf its own tag back */
        ncoll__tcp_tag(TCP_ROOT, key, challenge, nonce, &claim, tag);
    frame = (struct tcp_frame){.type = TCP_ACCEPTED, .len = TAG_BYTES};
    ncoll__tcp_link_send(&link, &frame, tag);
    ncoll__tcp_link_flush(&link);
    answer.len = (uint32_t)strlen(text);
    ncoll__tcp_link_send(&link, &answer, text);
    ncoll__tcp_link_flush(&link);
    side_await(side, 1);
    ncoll__tcp_link_close(&link, false);
    close(listener);
    return 0;
}

/* Rank 1 meets it, and fails with this cause. */
static int meet(struct side *side, const char *cause)
{
    side->key = KEY_A;
    side_watch(side, "is not rank 0 of this job", 1);
    side_has_patience_until(side, 1);
    int rc = open_tcp(side);
    side_advance(side, 1);
    CHECK(rc == NCOLL_ERR_BOOTSTRAP && side->error.status == NCOLL_ERR_BOOTSTRAP);
    CHECK(says(side, cause));
    for (const char *at = side->error.cause; *at != '\0'; at++)
        CHECK(*at >= ' ' && *at < 0x7f);
    return 0;
}

static int meet_other_key(struct side *side)
{
    return side->rank == 1 ? meet(side, "does not know the NCOLL_KEY")
                           : pose(side, KEY_B, (struct tcp_frame){.type = TCP_READY}, "");
}

static int meet_mirror(struct side *side)
{
    return side->rank == 1 ? meet(side, "does not know the NCOLL_KEY")
                           : pose(side, NULL, (struct tcp_frame){.type = TCP_READY}, "");
}

/* A root of the right key that tells of an error that there is not, in words for a terminal. */
static int meet_strange_refusal(struct side *side)
{
    const struct tcp_frame refused = {.type = TCP_REFUSED, .how = 65535, .rank = 70000};

    return side->rank == 1 ? meet(side, "?[2Jcome back")
                           : pose(side, KEY_A, refused, "\033[2Jcome back");
}

static void test_roots_that_are_none(void **state)
{
    int codes[2];

    (void)state;
    assert_int_equal(run_sides(2, meet_other_key, codes), 0);
    assert_int_equal(run_sides(2, meet_mirror, codes), 0);
    assert_int_equal(run_sides(2, meet_strange_refusal, codes), 0);
}

/* ------------------------------------------------------------------ addresses, sizes --------- */

static bool can_connect(const char *host, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    struct sockaddr_in own = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    /* From another address: from its own a socket can connect to itself, by the port that it looks for. */
    inet_pton(AF_INET, "127.0.0.3", &own.sin_addr);
    inet_pton(AF_INET, host, &address.sin_addr);
    bool connected = bind(fd, (struct sockaddr *)&own, sizeof own) == 0 &&
                     connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return connected;
}

/* Rank 0 listens where NCOLL_ROOT says. Rank 2 is none: it looks. The text is shared memory, so they take turns: rank 0
 * writes it when rank 2 has read the port, and rank 1 when rank 0 listens. */
static int listen_at(struct side *side, const char *host, bool elsewhere)
{
    char port[8];

    if (side->rank < 2)
        side_await(side, 1 + side->rank);
    snprintf(port, sizeof port, "%s", strchr(side->meeting->root, ':') + 1);
    if (side->rank == 2) {
        side->meeting->step = 1;
        while (!can_connect("127.0.0.1", port))
            side_pause(1000);
        CHECK(can_connect("127.0.0.2", port) == elsewhere);
        side->meeting->step = 2;
        return 0;
    }
    side->ranks = 2;
    snprintf(side->meeting->root, sizeof side->meeting->root, "%s:%s",
             side->rank == 0 ? host : "127.0.0.1", port);
    CHECK(open_tcp(side) == NCOLL_OK);
    return use_and_close(side);
}

static int listen_at_one(struct side *side)
{
    return listen_at(side, "127.0.0.1", false);
}

static int listen_at_all(struct side *side)
{
    return listen_at(side, "0.0.0.0", true);
}

/* An IPv4 address in the clothes of an IPv6 one. */
static int listen_at_mapped(struct side *side)
{
    char port[8];

    if (side->rank == 0) {
        snprintf(port, sizeof port, "%s", strrchr(side->meeting->root, ':') + 1);
        snprintf(side->meeting->root, sizeof side->meeting->root, "[::ffff:127.0.0.1]:%s", port);
        side->meeting->step = 1;
    }
    side_await(side, 1);
    CHECK(open_tcp(side) == NCOLL_OK);
    return use_and_close(side);
}

static void test_addresses(void **state)
{
    int codes[3];

    (void)state;
    assert_int_equal(run_sides(2, listen_at_mapped, codes), 0);
    assert_int_equal(run_sides(3, listen_at_one, codes), 0);
    assert_int_equal(run_sides(3, listen_at_all, codes), 0);
}

/* A job that cannot be is refused before memory is taken for its ranks. */
static int be_too_many(struct side *side)
{
    const struct rlimit files = {256, 256};
    struct rusage before, after;

    side->ranks = 1 << 20;
    side->timeout_ns = 1000000000;
    CHECK(setrlimit(RLIMIT_NOFILE, &files) == 0);
    getrusage(RUSAGE_SELF, &before);
    double start = side_now_s();
    CHECK(open_tcp(side) == (side->rank == 0 ? NCOLL_ERR_RESOURCE : NCOLL_ERR_BOOTSTRAP));
    CHECK(side->rank != 0 ||
          (says(side, "1048575 connections") && strstr(side->error.remedy, "ulimit -n") != NULL));
    CHECK(side_now_s() - start < HANG_FACTOR * 5);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 65536); /* kilobytes */
    return 0;
}

static void test_too_many_ranks(void **state)
{
    ncoll_context *ctx;
    ncoll_error error;
    int codes[2];

    (void)state;
    assert_int_equal(run_sides(2, be_too_many, codes), 0);
    setenv("NCOLL_SIZE", "100000000", 1);
    assert_int_equal(ncoll_context_create(NULL, &ctx, &error), NCOLL_ERR_ARGUMENT);
    assert_non_null(strstr(error.remedy, "1 to 1048576"));
    unsetenv("NCOLL_SIZE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_of_another_job),
        cmocka_unit_test(test_a_rank_with_another_key),
        cmocka_unit_test(test_a_wrong_key_is_logged_once),
        cmocka_unit_test(test_restart_on_the_same_port),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_damaged_frames),
        cmocka_unit_test(test_roots_that_are_none),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_too_many_ranks),
    };
    return cmocka_run_group_tests_name("bootstrap_key", tests, NULL, NULL);
}
