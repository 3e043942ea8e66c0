/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/failure.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tools/bench/names.h"

static atomic_flag alone = ATOMIC_FLAG_INIT;
static atomic_flag *spoken = &alone; /* in memory that the ranks share, when they are forked */
static int launched_rank = -1;

void failure_share(void)
{
    void *page =
        mmap(NULL, sizeof *spoken, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return; /* then each rank speaks for itself */
    spoken = page;
    atomic_flag_clear(spoken);
}

int failure_launcher_rank(void)
{
    static const char *const variables[] = {
        "NCOLL_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
    };

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (getenv(variables[i]) != NULL)
            return (int)parse_number(getenv(variables[i]), 0, INT32_MAX);
    return -1;
}

void failure_launched(int rank)
{
    launched_rank = rank;
}

/* What a rank can meet by itself. */
static bool concerns_one_rank(ncoll_status status)
{
    switch (status) {
    case NCOLL_ERR_RESOURCE:
    case NCOLL_ERR_MEMORY:
    case NCOLL_ERR_DEVICE:
    case NCOLL_ERR_SYSTEM:
    case NCOLL_ERR_INTERNAL:
        return true;
    default:
        return false;
    }
}

/* Whether this rank is the one to say it; once. */
static bool speaks(ncoll_status status, int peer)
{
    int speaker = peer == 0 ? 1 : 0;

    if (launched_rank >= 0 && launched_rank != speaker && !concerns_one_rank(status))
        return false;
    return !atomic_flag_test_and_set(spoken);
}

void failure_report(const ncoll_error *error)
{
    if (speaks(error->status, error->peer))
        fprintf(stderr, "%s\n", error->text);
}

void failure_say(ncoll_status status, const char *text)
{
    if (speaks(status, -1))
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

void failure_log(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg;
    if (level != NCOLL_LOG_ERROR)
        fprintf(stderr, "%s\n", text);
}
