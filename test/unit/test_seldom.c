/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that ask seldom hear of failures as soon as others: they count time, not questions. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define PAUSE_US  100000
#define POLLS_MAX (HANG_FACTOR * 20) /* news may go over some ranks, each of which asks as seldom */
#define RANKS_MAX 5

enum event { DEATH, LEAVING, MISMATCH, EVENTS };
static const char *const names[] = {"death", "leaving", "mismatch"};

/* Forked along. */
static struct {
    enum event event;
    bool requests;
} plan;

static int64_t in[1], out[1];

/* How often it asks until there is an answer. */
static int poll_barrier(struct rank *r, int *polls)
{
    int rc;

    for (*polls = 0; (rc = ncoll_barrier(r->world, NCOLL_TEST)) == NCOLL_TIMEOUT; ++*polls)
        usleep(PAUSE_US);
    return rc;
}

static int poll_request(struct rank *r, int *polls)
{
    ncoll_request *request;
    int rc = ncoll_barrier_start(r->world, &request);

    if (rc != NCOLL_OK)
        return rc;
    for (*polls = 0; (rc = ncoll_test(&request)) == NCOLL_TIMEOUT; ++*polls)
        usleep(PAUSE_US);
    return rc;
}

static int ask_seldom(struct rank *r)
{
    _Atomic int *here = r->shared;
    bool odd_one = r->rank == 0;
    int polls = 0;

    for (int i = 0; i < 3; i++)
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    atomic_fetch_add(here, 1);
    while (*here < r->ranks) /* or some might hear of it in the last of these calls */
        sched_yield();
    if (odd_one && plan.event == DEATH)
        raise(SIGKILL);
    if (odd_one && plan.event == LEAVING)
        return 0;
    if (odd_one) {
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_ERR_MISMATCH);
        return 0;
    }
    int rc = plan.requests ? poll_request(r, &polls) : poll_barrier(r, &polls);
    CHECK_STATUS(rc, plan.event == MISMATCH ? NCOLL_ERR_MISMATCH : NCOLL_ERR_PEER);
    CHECK(polls <= POLLS_MAX);
    return 0;
}

static void test_news_come_in_time(void **state)
{
    (void)state;
    for (plan.event = DEATH; plan.event < EVENTS; plan.event++)
        for (int ranks = 2; ranks <= RANKS_MAX; ranks++) {
            _Atomic int *here = crew_share(sizeof *here);
            plan.requests = ranks % 2;
            int failed = crew_run(CREW_PROCESSES, ranks, NULL, 30, ask_seldom, here);
            crew_unshare(here, sizeof *here);
            if (failed != (plan.event == DEATH ? 1 : 0))
                fail_msg("%s, %d ranks", names[plan.event], ranks);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_news_come_in_time),
    };

    return cmocka_run_group_tests_name("seldom", tests, NULL, NULL);
}
