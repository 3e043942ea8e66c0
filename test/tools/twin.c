/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that ncoll-bench can be compared with on every machine: ncoll itself, but for vectors
 * of up to 64 elements, and with no other collectives than barrier and allreduce. TWIN=late, in the
 * environment: it cannot be opened; TWIN=wrong: its results are wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/bench/bench.h"

#define ELEMENTS_MAX 64

static bool is_asked_for(const char *fault)
{
    const char *asked = getenv("TWIN");

    return asked != NULL && strcmp(asked, fault) == 0;
}

static int open_twin(struct job *job)
{
    static const char state[] = "open";

    job->library = (void *)state;
    if (!is_asked_for("late"))
        return NCOLL_OK;
    return failure_say(NCOLL_ERR_SYSTEM, "twin: is late");
}

static void close_twin(struct job *job)
{
    if (job->rank == 0)
        fprintf(stderr, "twin: was %s, is closed\n", (const char *)job->library);
}

static bool can(struct job *job, const struct row *row)
{
    return job->library != NULL && row->count <= ELEMENTS_MAX;
}

static int barrier_once(struct job *job, const struct row *row)
{
    (void)row;
    return ncoll_barrier(job->world, NCOLL_BLOCK);
}

static int allreduce_once(struct job *job, const struct row *row)
{
    int status = ncoll_allreduce(job->world, job->in, job->out, row->count, job->options->type,
                                 job->options->op, NCOLL_BLOCK);

    if (is_asked_for("wrong"))
        *(uint8_t *)job->out ^= 1;
    return status;
}

static void version(char *text, size_t size)
{
    snprintf(text, size, "twin 1");
}

static const call_fn once_by_code[CODES] = {
    [COLL_BARRIER] = barrier_once,
    [COLL_ALLREDUCE] = allreduce_once,
};

const struct subject subject_beside = {
    .name = "twin",
    .label = "twin",
    .codes = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE,
    .once = once_by_code,
    .version = version,
    .open = open_twin,
    .close = close_twin,
    .can = can,
};
