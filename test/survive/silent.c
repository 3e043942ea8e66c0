/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port that goes down and comes back, on a fabric in memory, while the ranks do not wait for each
 * other. A rank that has given up on the other one has ended their connection, so that the other
 * one notices, too. And a rank that leaves waits for the port, so that its last message arrives.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ncoll.h"
#include "test/support/hang.h"

#define LIMIT_S  20
#define BARRIERS 20

struct shared {
    atomic_int ended; /* ranks that have ended their calls */
    int status[2];
};

static int barriers(ncoll_group *world)
{
    int rc = NCOLL_OK;

    for (int i = 0; i < BARRIERS && rc == NCOLL_OK; i++)
        rc = ncoll_barrier(world, NCOLL_BLOCK);
    return rc;
}

static void wait_for_both(struct shared *s)
{
    atomic_fetch_add(&s->ended, 1);
    while (atomic_load(&s->ended) < 2)
        usleep(1000);
}

/* Rank 1 computes while the port of rank 0 is down; rank 0 gives up on it, and then stays, outside of the library. */
static int give_up(const ncoll_params *params, void *arg)
{
    struct shared *s = arg;
    ncoll_context *ctx;

    hang_after(LIMIT_S);
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    int rc = barriers(ncoll_world(ctx));
    if (rc == NCOLL_OK && params->rank == 1)
        usleep(3500000);
    if (rc == NCOLL_OK)
        rc = barriers(ncoll_world(ctx));
    s->status[params->rank] = rc;
    wait_for_both(s);
    ncoll_context_destroy(ctx);
    return 0;
}

/* The port of rank 0 goes down with its last message, before it leaves. */
static int leave(const ncoll_params *params, void *arg)
{
    struct shared *s = arg;
    ncoll_context *ctx;
    int64_t x = 1;

    hang_after(LIMIT_S);
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    int rc = barriers(ncoll_world(ctx));
    if (rc == NCOLL_OK)
        rc = ncoll_bcast(ncoll_world(ctx), &x, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
    s->status[params->rank] = rc;
    ncoll_context_destroy(ctx);
    return 0;
}

/* Runs a job of two ranks, of which rank 0 has the fault. Returns true if all ranks end with the status. */
static bool run(const char *what, ncoll_rank_main body, const char *fault, const char *seconds,
                int status)
{
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char log[] = "/tmp/ncoll-silent.XXXXXX";
    int codes[2], fd = mkstemp(log);
    ncoll_params params;

    if (s == MAP_FAILED || fd < 0)
        return false;
    close(fd);
    unlink(log);
    setenv("FABRIC_FAULTS", fault, 1);
    setenv("FABRIC_FAULTS_CHILD", "0/2", 1);
    setenv("FABRIC_FAULTS_LOG", log, 1);
    setenv("NCOLL_PEER_TIMEOUT", seconds, 1);
    ncoll_params_init(&params, sizeof params);
    ncoll_fork_ranks(2, &params, body, s, codes);
    bool happened = unlink(log) == 0;
    bool well = codes[0] == 0 && codes[1] == 0 && s->status[0] == status && s->status[1] == status;
    printf("%s: the fault has %shappened, exit codes %d and %d, statuses %d and %d, expected %d\n",
           what, happened ? "" : "not ", codes[0], codes[1], s->status[0], s->status[1], status);
    munmap(s, sizeof *s);
    return happened && well;
}

int main(void)
{
    bool well = run("a rank that gives up", give_up, "down:2500@45", "1", NCOLL_ERR_PEER);

    well &= run("a rank that leaves", leave, "down:1500@24", "5", NCOLL_OK);
    return well ? 0 : 1;
}
