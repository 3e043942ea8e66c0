/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task of srun makes of Slurm's variables, and how such tasks find each other at one of
 * several ports, of which others have some. Real steps run in the cluster. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/slurm.h"
#include "bootstrap/tcp_address.h"
#include "bootstrap_ranks.h"
#include "test/support/port.h"

static void set_step(const char *job, const char *step, int task, int tasks)
{
    char text[16];

    clearenv();
    setenv("SLURM_JOB_ID", job, 1);
    setenv("SLURM_STEP_ID", step, 1);
    setenv("SLURM_STEP_NUM_NODES", "1", 1);
    snprintf(text, sizeof text, "%d", task);
    setenv("SLURM_PROCID", text, 1);
    snprintf(text, sizeof text, "%d", tasks);
    setenv("SLURM_STEP_NUM_TASKS", text, 1);
}

static void test_first_host(void **state)
{
    static const char *const good[][2] = {
        {"node7", "node7"},     {"node[07-09,12]", "node07"}, {"a,b", "a"},
        {"n[3]-ib,m", "n3-ib"}, {"r[1-2]n[04-8]", "r1n04"},   {"10.0.0.[5-6]", "10.0.0.5"}};
    static const char *const bad[] = {NULL, "", ",a", "node[1-2", "a-host-with-a-name-too-long"};
    char host[16];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(ncoll__slurm_first_host(good[i][0], host, sizeof host));
        assert_string_equal(host, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(ncoll__slurm_first_host(bad[i], host, sizeof host));
}

static void test_task(void **state)
{
    struct slurm_task task, other;

    (void)state;
    set_step("17", "3", 2, 4);
    assert_true(ncoll__slurm_task(&task));
    assert_int_equal(task.rank, 2);
    assert_int_equal(task.ranks, 4);
    assert_memory_equal(task.root, "127.0.0.1:", 10);
    set_step("17", "3", 0, 4); /* the same for all tasks of the step */
    assert_true(ncoll__slurm_task(&other));
    assert_string_equal(task.root, other.root);
    assert_string_equal(task.key, other.key);
    set_step("17", "4", 0, 4); /* and not for those of another one */
    assert_true(ncoll__slurm_task(&other));
    assert_string_not_equal(task.root, other.root);
    assert_string_not_equal(task.key, other.key);
    setenv("SLURM_STEP_NUM_NODES", "2", 1);
    assert_false(ncoll__slurm_task(&other)); /* on which nodes is not known */
    setenv("SLURM_STEP_NODELIST", "n[5-6]", 1);
    setenv("SLURM_STEP_RESV_PORTS", "12000-12003,12010", 1);
    assert_true(ncoll__slurm_task(&other));
    assert_string_equal(other.root, "n5:12000-12003");
    setenv("SLURM_HET_SIZE", "2", 1);
    assert_false(ncoll__slurm_task(&other));
    set_step("17", "4294967291", 0, 4); /* a batch script */
    assert_false(ncoll__slurm_task(&other));
    set_step("17", "3", 4, 4);
    assert_false(ncoll__slurm_task(&other));
}

/* Ports as ranges. */
static void test_ports(void **state)
{
    static const char *const bad[] = {"h:7000-", "h:7000-6999", "h:7000-7001-7002",
                                      "h:-7000", "h:0-7",       "h:7000-70000"};
    struct tcp_address address;
    char text[16];

    (void)state;
    assert_true(ncoll__tcp_address_parse("h:7000-7007", &address));
    assert_int_equal(address.ports, 8);
    ncoll__tcp_address_turn(&address, 9);
    assert_string_equal(address.port, "7001");
    ncoll__tcp_address_ports(&address, text);
    assert_string_equal(text, "7000-7007");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(ncoll__tcp_address_parse(bad[i], &address));
}

/* Listens at a port, and says nothing to whom connects. Returns the socket; -1: it is not free. */
static int occupy(int port)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0)
        return fd;
    close(fd);
    return -1;
}

static int exchange(struct side *side)
{
    CHECK(side_open(side, &ncoll__bootstrap_slurm) == NCOLL_OK);
    CHECK(side->b->rank == side->rank && side->b->ranks == side->ranks);
    CHECK(side_start(side, 1) == NCOLL_OK && side_finish(side) == NCOLL_OK);
    CHECK(side_has_all(side, 1));
    side->b->ops->close(side->b);
    return 0;
}

/* Something else has the first port, and says nothing. */
static int meet_silence(struct side *side)
{
    set_step("18", "0", side->rank, side->ranks);
    return exchange(side);
}

static void test_occupied(void **state)
{
    int codes[TEST_RANKS_MAX];
    struct tcp_address address;
    struct slurm_task task;

    (void)state;
    set_step("18", "0", 0, 3);
    assert_true(ncoll__slurm_task(&task) && ncoll__tcp_address_parse(task.root, &address));
    int fd = occupy(address.first);
    assert_int_equal(run_sides(3, meet_silence, codes), 0);
    if (fd >= 0)
        close(fd);
}

/* Two steps with the same ports, three tasks each: those of one do not take part in the other, though
 * they come first to where the other one's rank 0 listens. */
static int share_ports(struct side *side)
{
    struct side own = *side;
    char ports[16];

    own.rank = side->rank / 2;
    own.ranks = 3;
    set_step("19", side->rank % 2 == 0 ? "0" : "1", own.rank, own.ranks);
    snprintf(ports, sizeof ports, "%s-%d", strchr(side->meeting->root, ':') + 1,
             atoi(strchr(side->meeting->root, ':') + 1) + 5);
    setenv("SLURM_STEP_RESV_PORTS", ports, 1);
    if (side->rank == 4)
        side_pause(300000); /* so that rank 0 of step 0 listens when all others come */
    return exchange(&own);
}

static void test_two_steps(void **state)
{
    int codes[TEST_RANKS_MAX];

    (void)state;
    assert_int_equal(run_sides(6, share_ports, codes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_host), cmocka_unit_test(test_task),
        cmocka_unit_test(test_ports),      cmocka_unit_test(test_occupied),
        cmocka_unit_test(test_two_steps),
    };
    return cmocka_run_group_tests_name("slurm", tests, NULL, NULL);
}
