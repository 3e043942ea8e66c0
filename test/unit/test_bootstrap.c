/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstraps by themselves: exchanges over each of them, ranks that die, ranks that leave, and
 * what ncoll_fork_ranks() promises about processes. PMIx needs a launcher: it is run in the
 * cluster.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap_ranks.h"
#include "test/support/hang.h"

/* ------------------------------------------------------------------ exchanges ---------------- */

static int exchange_all(struct side *side, const struct bootstrap_ops *ops)
{
    CHECK(side_open(side, ops) == NCOLL_OK);
    CHECK(side->b->rank == side->rank && side->b->ranks == side->ranks);
    for (int k = 0; k < EXCHANGES; k++) {
        if (rand() % 4 == 0)
            side_pause((unsigned)rand() % 3000);
        CHECK(side_start(side, k) == NCOLL_OK);
        CHECK(side_finish(side) == NCOLL_OK);
        CHECK(side->b->ops->exchange_test(side->b) == NCOLL_OK); /* and stays so */
        CHECK(side_has_all(side, k));
        CHECK(side->b->ops->failed == NULL || side->b->ops->failed(side->b) == -1);
    }
    side->b->ops->close(side->b);
    return 0;
}

static int exchange_self(struct side *side)
{
    return exchange_all(side, &ncoll__bootstrap_self);
}

static int exchange_fork(struct side *side)
{
    return exchange_all(side, &ncoll__bootstrap_fork);
}

static int exchange_tcp(struct side *side)
{
    return exchange_all(side, &ncoll__bootstrap_tcp);
}

static int exchange_user(struct side *side)
{
    return exchange_all(side, &ncoll__bootstrap_user);
}

static int exchange_allgather(struct side *side)
{
    return exchange_all(side, &ncoll__bootstrap_allgather);
}

static void run_all_sizes(int max, side_body body)
{
    int codes[TEST_RANKS_MAX];

    for (int ranks = 1; ranks <= max; ranks++)
        assert_int_equal(run_sides(ranks, body, codes), 0);
}

static void test_self(void **state)
{
    (void)state;
    run_all_sizes(1, exchange_self);
}

static void test_fork(void **state)
{
    (void)state;
    run_all_sizes(TEST_RANKS_MAX, exchange_fork);
}

static void test_tcp(void **state)
{
    (void)state;
    run_all_sizes(TEST_RANKS_MAX, exchange_tcp);
}

static void test_user(void **state)
{
    (void)state;
    run_all_sizes(TEST_RANKS_MAX, exchange_user);
}

static void test_allgather(void **state)
{
    (void)state;
    run_all_sizes(TEST_RANKS_MAX, exchange_allgather);
}

/* Two contexts side by side, whose exchanges do not end in the same order on all ranks, and others
 * after them. */
static int exchange_in_two(struct side *side)
{
    struct side second = *side;

    for (int round = 0; round < 10; round++) {
        CHECK(side_open(side, &ncoll__bootstrap_fork) == NCOLL_OK);
        CHECK(side_open(&second, &ncoll__bootstrap_fork) == NCOLL_OK);
        for (int k = 0; k < 5; k++) {
            CHECK(side_start(side, k) == NCOLL_OK);
            CHECK(side_start(&second, k + 1) == NCOLL_OK);
            CHECK(side_finish(side->rank % 2 == 0 ? side : &second) == NCOLL_OK);
            CHECK(side_finish(side->rank % 2 == 0 ? &second : side) == NCOLL_OK);
            CHECK(side_has_all(side, k) && side_has_all(&second, k + 1));
        }
        side->b->ops->close(side->b);
        second.b->ops->close(second.b);
    }
    return 0;
}

static void test_fork_two_contexts(void **state)
{
    int codes[TEST_RANKS_MAX];

    (void)state;
    assert_int_equal(run_sides(4, exchange_in_two, codes), 0);
}

/* ------------------------------------------------------------------ who is gone -------------- */

/* Rank 1 dies between exchanges. The others hear of it; an exchange that needs it ends. */
static int lose_rank_1(struct side *side, const struct bootstrap_ops *ops)
{
    CHECK(side_open(side, ops) == NCOLL_OK);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    if (side->rank == 1)
        kill(getpid(), SIGKILL);
    CHECK(side_await_failed(side, HANG_FACTOR * 5) == 1);
    CHECK(side_await_failed(side, 0.1) == -1); /* each once */
    CHECK(side_start(side, 2) == NCOLL_OK);
    CHECK(side_finish(side) == NCOLL_ERR_PEER);
    CHECK(side->error.peer == 1);
    side->b->ops->close(side->b);
    return 0;
}

static int lose_rank_1_fork(struct side *side)
{
    return lose_rank_1(side, &ncoll__bootstrap_fork);
}

static int lose_rank_1_tcp(struct side *side)
{
    return lose_rank_1(side, &ncoll__bootstrap_tcp);
}

static int lose_root_tcp(struct side *side)
{
    CHECK(side_open(side, &ncoll__bootstrap_tcp) == NCOLL_OK);
    if (side->rank == 0)
        kill(getpid(), SIGKILL);
    CHECK(side_await_failed(side, HANG_FACTOR * 5) == 0);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_ERR_PEER);
    CHECK(side->error.peer == 0);
    side->b->ops->close(side->b);
    return 0;
}

static void test_dead_rank(void **state)
{
    static const side_body bodies[] = {lose_rank_1_fork, lose_rank_1_tcp};
    int codes[TEST_RANKS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        assert_int_equal(run_sides(4, bodies[i], codes), 1);
        assert_int_equal(codes[1], 128 + SIGKILL);
    }
    assert_int_equal(run_sides(4, lose_root_tcp, codes), 1);
    assert_int_equal(codes[0], 128 + SIGKILL);
}

/* Rank 2 closes. That is no failure, but an exchange cannot do without it. */
static int leave_early(struct side *side, const struct bootstrap_ops *ops)
{
    CHECK(side_open(side, ops) == NCOLL_OK);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    if (side->rank != 2) {
        CHECK(side_await_failed(side, 0.3) == -1);
        CHECK(side_start(side, 2) == NCOLL_OK);
        CHECK(side_finish(side) == NCOLL_ERR_PEER);
        CHECK(side->error.peer == 2 && strstr(side->error.cause, "left") != NULL);
    }
    side->b->ops->close(side->b);
    return 0;
}

static int leave_early_fork(struct side *side)
{
    return leave_early(side, &ncoll__bootstrap_fork);
}

static int leave_early_tcp(struct side *side)
{
    return leave_early(side, &ncoll__bootstrap_tcp);
}

static void test_rank_that_leaves(void **state)
{
    int codes[TEST_RANKS_MAX];

    (void)state;
    assert_int_equal(run_sides(4, leave_early_fork, codes), 0);
    assert_int_equal(run_sides(4, leave_early_tcp, codes), 0);
}

/* ------------------------------------------------------------------ root causes -------------- */

static int await_culprit(struct side *side, int rank)
{
    double end = side_now_s() + HANG_FACTOR * 5;
    int culprit;

    while ((culprit = side->b->ops->culprit(side->b, rank)) == -1 && side_now_s() < end)
        side_pause(1000);
    return culprit;
}

/* Rank `first` gives up because of rank 1, and leaves; rank 3 gives up because of `first`. */
static int root_cause(struct side *side, const struct bootstrap_ops *ops, int first)
{
    CHECK(side_open(side, ops) == NCOLL_OK);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    if (side->rank == first) {
        side->b->ops->name_root_cause(side->b, 1);
        side->b->ops->name_root_cause(side->b, 3); /* the first one counts */
    } else if (side->rank == 1) {
        side_await(side, 2);
    } else {
        CHECK(await_culprit(side, first) == 1);
        CHECK(side_start(side, 2) == NCOLL_OK && side_finish(side) == NCOLL_ERR_PEER);
        CHECK(side->error.peer == 1 && strstr(side->error.cause, "reports") != NULL);
        if (side->rank == 3)
            side->b->ops->name_root_cause(side->b, first);
        else
            CHECK(await_culprit(side, 3) == 1);
        atomic_fetch_add(&side->meeting->step, 1);
    }
    side->b->ops->close(side->b);
    return 0;
}

static int root_cause_fork(struct side *side)
{
    return root_cause(side, &ncoll__bootstrap_fork, 2);
}

static int root_cause_tcp(struct side *side)
{
    return root_cause(side, &ncoll__bootstrap_tcp, 2);
}

static int root_cause_from_root_tcp(struct side *side)
{
    return root_cause(side, &ncoll__bootstrap_tcp, 0);
}

/* Rank 0 says nothing and leaves, rank 1 names no rank, rank 2 itself. Of rank 3 nobody knows. */
static int root_cause_none(struct side *side, const struct bootstrap_ops *ops)
{
    CHECK(side_open(side, ops) == NCOLL_OK);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    if (side->rank == 3) {
        CHECK(await_culprit(side, 2) == 2);
        CHECK(side->b->ops->culprit(side->b, 1) == -1);
        CHECK(side->b->ops->culprit(side->b, 3) == -1);
        atomic_fetch_add(&side->meeting->step, 1);
        CHECK(await_culprit(side, 0) == 0);
    } else {
        if (side->rank > 0)
            side->b->ops->name_root_cause(side->b, side->rank == 1 ? -1 : 2);
        while (side->meeting->step < 1) /* rank 0 passes it on */
            side->b->ops->failed(side->b);
    }
    side->b->ops->close(side->b);
    return 0;
}

static int root_cause_none_fork(struct side *side)
{
    return root_cause_none(side, &ncoll__bootstrap_fork);
}

static int root_cause_none_tcp(struct side *side)
{
    return root_cause_none(side, &ncoll__bootstrap_tcp);
}

static void test_root_cause(void **state)
{
    static const side_body bodies[] = {root_cause_fork, root_cause_tcp, root_cause_from_root_tcp,
                                       root_cause_none_fork, root_cause_none_tcp};
    int codes[TEST_RANKS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        assert_int_equal(run_sides(4, bodies[i], codes), 0);
}

/* ------------------------------------------------------------------ who is late -------------- */

/* Rank 3 comes late to an exchange: the others can name it meanwhile. */
static int come_late(struct side *side, const struct bootstrap_ops *ops)
{
    CHECK(side_open(side, ops) == NCOLL_OK);
    if (side->rank == 3)
        side_await(side, 3); /* the others have seen that it is missing */
    CHECK(side_start(side, 1) == NCOLL_OK);
    if (side->rank != 3) {
        for (int count = 0; side->b->ops->missing(side->b, &count) != 3 || count != 1;) {
            CHECK(side->b->ops->exchange_test(side->b) == NCOLL_TIMEOUT);
            side_pause(1000);
        }
        atomic_fetch_add(&side->meeting->step, 1);
    }
    CHECK(side_finish(side) == NCOLL_OK && side_has_all(side, 1));
    side->b->ops->close(side->b);
    return 0;
}

static int come_late_fork(struct side *side)
{
    return come_late(side, &ncoll__bootstrap_fork);
}

static int come_late_tcp(struct side *side)
{
    return come_late(side, &ncoll__bootstrap_tcp);
}

static void test_late_rank(void **state)
{
    int codes[TEST_RANKS_MAX];

    (void)state;
    assert_int_equal(run_sides(4, come_late_fork, codes), 0);
    assert_int_equal(run_sides(4, come_late_tcp, codes), 0);
}

/* ------------------------------------------------------------------ processes ---------------- */

static int end_in_many_ways(const ncoll_params *params, void *arg)
{
    (void)arg;
    if (params->rank == 1)
        kill(getpid(), SIGTERM);
    return params->rank == 2 ? 7 : 0;
}

static void test_exit_codes(void **state)
{
    int codes[4] = {-1, -1, -1, -1};
    pid_t other = fork(); /* not a rank: must be left to this process to reap */

    (void)state;
    if (other == 0)
        _exit(5);
    assert_int_equal(ncoll_fork_ranks(4, NULL, end_in_many_ways, NULL, codes), NCOLL_ERR_PEER);
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 128 + SIGTERM);
    assert_int_equal(codes[2], 7);
    assert_int_equal(codes[3], 0);

    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_int_equal(ncoll_fork_ranks(0, NULL, end_in_many_ways, NULL, NULL), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_fork_ranks(2, NULL, NULL, NULL, NULL), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_fork_ranks(65537, NULL, end_in_many_ways, NULL, NULL),
                     NCOLL_ERR_ARGUMENT);
    const ncoll_params unknown = {.size = 1};
    assert_int_equal(ncoll_fork_ranks(2, &unknown, end_in_many_ways, NULL, NULL),
                     NCOLL_ERR_ARGUMENT);
}

static char said[1024];

static void keep(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg;
    snprintf(said, sizeof said, "%d %s", level, text);
}

static void expect_reason(int ranks, const ncoll_params *base, int status, const char *reason)
{
    said[0] = '\0';
    assert_int_equal(ncoll_fork_ranks(ranks, base, end_in_many_ways, NULL, NULL), status);
    if (strstr(said, reason) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", said, reason);
}

/* There is no context to ask for the reason of a failure: it is logged. */
static void test_fork_tells_reasons(void **state)
{
    ncoll_params params;
    struct rlimit files;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.log = keep;
    expect_reason(0, &params, NCOLL_ERR_ARGUMENT,
                  "1 ncoll: cannot run ranks: the number of ranks is 0");
    expect_reason(3, &params, NCOLL_ERR_PEER, "ended with ");

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    const struct rlimit none = {0, files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = ncoll_fork_ranks(2, &params, end_in_many_ways, NULL, NULL);
    int error = errno;
    setrlimit(RLIMIT_NOFILE, &files);
    assert_int_equal(rc, NCOLL_ERR_SYSTEM);
    assert_int_equal(error, EMFILE);
    assert_non_null(strstr(said, "Too many open files"));

    signal(SIGCHLD, SIG_IGN);
    expect_reason(2, &params, NCOLL_ERR_SYSTEM, "must not ignore SIGCHLD");
    signal(SIGCHLD, SIG_DFL);
    params.log_level = (ncoll_log_level)0;
    expect_reason(0, &params, NCOLL_ERR_ARGUMENT, "");
    assert_string_equal(said, "");
}

static int write_and_sleep(const ncoll_params *params, void *arg)
{
    (void)params;
    if (write(*(int *)arg, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

/* Ranks hold the pipe open as long as they live: end of file tells that all of them are gone. */
static void test_ranks_die_with_their_parent(void **state)
{
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        close(ends[0]);
        ncoll_fork_ranks(3, NULL, write_and_sleep, &ends[1], NULL);
        _exit(1);
    }
    close(ends[1]);
    for (int r = 0; r < 3; r++)
        assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(parent, SIGKILL);
    hang_after(10);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    hang_after(0);
    close(ends[0]);
    waitpid(parent, NULL, 0);
}

/* ------------------------------------------------------------------ bad use ------------------ */

static int misuse(struct side *side)
{
    struct bootstrap_config config = side_config(side, &ncoll__bootstrap_user);

    config.callbacks.fence = NULL;
    CHECK(ncoll__bootstrap_user.open(&config, &side->b) == NCOLL_ERR_ARGUMENT);
    config = side_config(side, &ncoll__bootstrap_user);
    config.ranks = 0;
    CHECK(ncoll__bootstrap_user.open(&config, &side->b) == NCOLL_ERR_ARGUMENT);
    config = side_config(side, &ncoll__bootstrap_fork);
    config.board = NULL;
    CHECK(ncoll__bootstrap_fork.open(&config, &side->b) == NCOLL_ERR_BOOTSTRAP);
    config.ranks = 2;
    CHECK(ncoll__bootstrap_self.open(&config, &side->b) == NCOLL_ERR_BOOTSTRAP);
#ifdef NCOLL_HAVE_PMIX
    unsetenv("PMIX_RANK");
    CHECK(ncoll__bootstrap_pmix.open(&config, &side->b) == NCOLL_ERR_BOOTSTRAP);
    CHECK(strstr(side->error.remedy, "prterun") != NULL);
#endif
    CHECK(side_open(side, &ncoll__bootstrap_user) == NCOLL_OK);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    side->meeting->values.of[0][0].key[0] = '?';
    const void *blob;
    size_t len;
    CHECK(side->b->ops->get(side->b, 0, &blob, &len) == NCOLL_ERR_BOOTSTRAP);
    CHECK(side->error.peer == 0 && strstr(side->error.cause, "ncoll.1") != NULL);
    side->b->ops->close(side->b);
    return 0;
}

static void test_misuse(void **state)
{
    int code;

    (void)state;
    assert_int_equal(run_sides(1, misuse, &code), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_allgather),
        cmocka_unit_test(test_fork_two_contexts),
        cmocka_unit_test(test_dead_rank),
        cmocka_unit_test(test_rank_that_leaves),
        cmocka_unit_test(test_root_cause),
        cmocka_unit_test(test_late_rank),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_fork_tells_reasons),
        cmocka_unit_test(test_ranks_die_with_their_parent),
        cmocka_unit_test(test_misuse),
    };
    return cmocka_run_group_tests_name("bootstrap", tests, NULL, NULL);
}
