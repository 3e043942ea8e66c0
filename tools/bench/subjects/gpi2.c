/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of GPI-2, on the same ranks, buffers, type and operation. GPI-2 finds its ranks
 * by variables in the environment, which its launcher gaspi_run sets. Here the ranks exchange these
 * values through ncoll and set the variables themselves.
 */
#include <GASPI.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "examples/cg/support.h"
#include "tools/bench/bench.h"

#define HOST_BYTES     64 /* longest name of a host in GPI-2, with its NUL */
#define START_LIMIT_MS 60000
#define NONE           (-1)

static int status_of(gaspi_return_t result)
{
    gaspi_string_t words = NULL;

    if (result == GASPI_SUCCESS)
        return NCOLL_OK;
    if (result == GASPI_TIMEOUT)
        return failure_say(NCOLL_ERR_SYSTEM, "GPI-2: timeout");
    gaspi_print_error(result, &words);
    failure_say(NCOLL_ERR_SYSTEM, "GPI-2: %s (%d)", words != NULL ? words : "error", (int)result);
    free(words);
    return NCOLL_ERR_SYSTEM;
}

/* ------------------------------------------------------------------ its ranks ----------------- */

static void set_number(const char *variable, int number)
{
    char text[16];

    snprintf(text, sizeof text, "%d", number);
    setenv(variable, text, 1);
}

/* Writes a file in memory, with the host of each rank in a line. The caller closes it. Returns its
 * descriptor; -1: see errno. */
static int list_hosts(const char *hosts, int ranks)
{
    int fd = memfd_create("hosts", MFD_CLOEXEC);
    char path[64];

    for (int r = 0; fd >= 0 && r < ranks; r++)
        if (dprintf(fd, "%s\n", hosts + (size_t)r * HOST_BYTES) < 0) {
            close(fd);
            return -1;
        }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    setenv("GASPI_MFILE", path, 1);
    return fd;
}

/* Starts GPI-2. hosts: those of all ranks, HOST_BYTES each. */
static int start(const struct job *job, const char *hosts)
{
    const char *own = hosts + (size_t)job->rank * HOST_BYTES;
    int on_node = 0, fd = list_hosts(hosts, job->ranks);

    if (fd < 0)
        return NCOLL_ERR_SYSTEM;
    for (int r = 0; r < job->rank; r++)
        on_node += strcmp(hosts + (size_t)r * HOST_BYTES, own) == 0;
    set_number("GASPI_RANK", job->rank);
    set_number("GASPI_NRANKS", job->ranks);
    set_number("GASPI_SOCKET", on_node);
    int status = status_of(gaspi_proc_init(START_LIMIT_MS));
    close(fd);
    return status;
}

static int open_gpi2(struct job *job)
{
    char own[HOST_BYTES] = "";
    char *hosts = calloc((size_t)job->ranks, HOST_BYTES);

    if (hosts == NULL)
        return NCOLL_ERR_MEMORY;
    gethostname(own, sizeof own - 1);
    int status = ncoll_allgather(job->world, own, hosts, sizeof own, NCOLL_INT8, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = start(job, hosts);
    free(hosts);
    return status;
}

static void close_gpi2(struct job *job)
{
    (void)job;
    if (gaspi_barrier(GASPI_GROUP_ALL, START_LIMIT_MS) == GASPI_SUCCESS)
        gaspi_proc_term(START_LIMIT_MS);
}

/* ------------------------------------------------------------------ a call -------------------- */

/* Returns GPI-2's number of a type; NONE: it does not have this type. */
static int type_of(ncoll_type type)
{
    static const int types[] = {
        [NCOLL_INT32] = 1 + GASPI_TYPE_INT,   [NCOLL_UINT32] = 1 + GASPI_TYPE_UINT,
        [NCOLL_INT64] = 1 + GASPI_TYPE_LONG,  [NCOLL_UINT64] = 1 + GASPI_TYPE_ULONG,
        [NCOLL_FLOAT] = 1 + GASPI_TYPE_FLOAT, [NCOLL_DOUBLE] = 1 + GASPI_TYPE_DOUBLE,
    };

    return type <= NCOLL_DOUBLE ? types[type] - 1 : NONE;
}

static int op_of(ncoll_op op)
{
    return op == NCOLL_SUM   ? GASPI_OP_SUM
           : op == NCOLL_MIN ? GASPI_OP_MIN
           : op == NCOLL_MAX ? GASPI_OP_MAX
                             : NONE;
}

/* True if GPI-2 can do the row: up to 255 elements, unless it was built for more. */
static bool can(struct job *job, const struct row *row)
{
    gaspi_number_t most = 0;

    if (row->collective == COLL_BARRIER)
        return true;
    return type_of(job->options->type) != NONE && op_of(job->options->op) != NONE &&
           gaspi_allreduce_elem_max(&most) == GASPI_SUCCESS && row->count <= most;
}

static int barrier_once(struct job *job, const struct row *row)
{
    (void)job;
    (void)row;
    return status_of(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
}

static int allreduce_once(struct job *job, const struct row *row)
{
    return status_of(gaspi_allreduce(
        job->in, job->out, (gaspi_number_t)row->count, (gaspi_operation_t)op_of(job->options->op),
        (gaspi_datatype_t)type_of(job->options->type), GASPI_GROUP_ALL, GASPI_BLOCK));
}

/* Writes the version. GPI-2 1.6.0 returns it as the number 1.6. */
static void version(char *text, size_t size)
{
    float number = 0;

    gaspi_version(&number);
    long hundredths = lroundf(number * 100);
    snprintf(text, size, "GPI-2 %ld.%ld.%ld", hundredths / 100, hundredths / 10 % 10,
             hundredths % 10);
}

static const call_fn once_by_code[CODES] = {
    [COLL_BARRIER] = barrier_once,
    [COLL_ALLREDUCE] = allreduce_once,
};

const struct subject subject_beside = {
    .name = "gpi2",
    .label = "GPI-2",
    .codes = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE,
    .once = once_by_code,
    .version = version,
    .open = open_gpi2,
    .close = close_gpi2,
    .can = can,
};
