/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that fork while they have a context, on a fabric in memory that says that its kernel is
 * older than
 * 5.12 (FABRIC_FORK=old). Children then do not have the memory that a device uses, except with NCOLL_FORK_SAFE=0;
 * and the parents' calls go on.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ncoll.h"
#include "test/support/hang.h"

#define RANKS   2
#define LIMIT_S 20
#define COUNT   4096 /* long enough to be sent from registered memory */

/* Returns true if a child that reads the memory ends as it does without that memory. */
static bool is_kept_from_child(const volatile uint64_t *memory)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGSEGV, SIG_DFL);
        _exit(memory[0] == UINT64_MAX);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(1);
    }
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

/* Sums on all ranks, with the numbers of this step. */
static bool sums_are_right(ncoll_group *world, uint64_t *memory, uint64_t step)
{
    uint64_t *in = memory, *out = memory + COUNT;

    for (size_t i = 0; i < COUNT; i++)
        in[i] = i + step * (uint64_t)(ncoll_group_rank(world) + 1);
    if (ncoll_allreduce(world, in, out, COUNT, NCOLL_UINT64, NCOLL_SUM, NCOLL_BLOCK) != NCOLL_OK)
        return false;
    for (size_t i = 0; i < COUNT; i++)
        if (out[i] != RANKS * i + step * RANKS * (RANKS + 1) / 2)
            return false;
    return true;
}

static int rank_main(const ncoll_params *params, void *arg)
{
    bool kept = *(const bool *)arg, good = true;
    ncoll_context *ctx;
    ncoll_error error;
    void *memory;

    hang_after(LIMIT_S);
    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (ncoll_alloc(ctx, 2 * COUNT * sizeof(uint64_t), &memory) != NCOLL_OK)
        return 1;
    for (uint64_t step = 0; step < 10 && good; step++) {
        good = sums_are_right(ncoll_world(ctx), memory, step);
        if (!good)
            fprintf(stderr, "rank %d: a wrong sum after %d forks\n", params->rank, (int)step);
        else if (is_kept_from_child(memory) != kept) {
            fprintf(stderr, "rank %d: a child %s the memory of the device\n", params->rank,
                    kept ? "has" : "lacks");
            good = false;
        }
    }
    ncoll_free(ctx, memory);
    ncoll_context_destroy(ctx);
    return good ? 0 : 1;
}

/* Runs the ranks; kept: their children are to lack the memory. */
static bool run(int fork_safe, bool kept)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.fork_safe = fork_safe;
    return ncoll_fork_ranks(RANKS, &params, rank_main, &kept, NULL) == NCOLL_OK;
}

int main(void)
{
    const char *how = getenv("FABRIC_FORK");
    bool old = how != NULL && how[0] == 'o';

    return run(1, old) && run(0, false) ? 0 : 1;
}
