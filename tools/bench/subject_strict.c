/* SPDX-License-Identifier: BSD-3-Clause */
/* ncoll's calls with strict entry, strict exit and both: what it costs that all ranks wait. */
#include "tools/bench/bench.h"

static int call(struct job *job, const struct row *row)
{
    return subject_ncoll.once[row_code(row)](job, row);
}

static int begin(struct job *job, const struct row *row, unsigned sync)
{
    int status = subject_ncoll.begin(job, row);

    job->sync = ncoll_group_sync(job->world);
    return status == NCOLL_OK ? ncoll_group_set_sync(job->world, sync) : status;
}

static int begin_entry(struct job *job, const struct row *row)
{
    return begin(job, row, NCOLL_STRICT_ENTRY);
}

static int begin_exit(struct job *job, const struct row *row)
{
    return begin(job, row, NCOLL_STRICT_EXIT);
}

static int begin_strict(struct job *job, const struct row *row)
{
    return begin(job, row, NCOLL_STRICT);
}

static int end(struct job *job, const struct row *row)
{
    int status = ncoll_group_set_sync(job->world, (unsigned)job->sync);

    return status == NCOLL_OK ? subject_ncoll.end(job, row) : status;
}

static int describe(struct job *job, struct row *row)
{
    return subject_ncoll.describe(job, row);
}

/* All but the barrier, which is the same in all modes. */
#define SUBJECT(mode, word)                                                                        \
    const struct subject subject_##mode = {                                                        \
        .name = word,                                                                              \
        .label = word,                                                                             \
        .once = {[COLL_ALLREDUCE] = call,                                                          \
                 [COLL_BCAST] = call,                                                              \
                 [COLL_REDUCE] = call,                                                             \
                 [COLL_GATHER] = call,                                                             \
                 [COLL_SCATTER] = call,                                                            \
                 [COLL_ALLGATHER] = call,                                                          \
                 [COLL_ALLTOALL] = call,                                                           \
                 [COLL_REDUCE_SCATTER] = call,                                                     \
                 [COLL_SCAN] = call,                                                               \
                 [COLL_EXSCAN] = call,                                                             \
                 [COLL_GATHER + WITH_COUNTS] = call,                                               \
                 [COLL_SCATTER + WITH_COUNTS] = call,                                              \
                 [COLL_ALLGATHER + WITH_COUNTS] = call},                                           \
        .begin = begin_##mode,                                                                     \
        .end = end,                                                                                \
        .describe = describe,                                                                      \
    }
SUBJECT(entry, "entry");
SUBJECT(exit, "exit");
SUBJECT(strict, "strict");
