/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context of a communicator, wired by MPI's own allgather. Whether there is one is agreed by all
 * ranks: in each step each rank says whether it goes on, has finished, or has failed. So a rank that
 * fails early leaves nobody behind who waits for it.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interop/mpi/dropin.h"
#include "interop/mpi/element.h"

#define OTHER_WINDOW ((size_t)1 << 20) /* bytes of the window, but for MPI_COMM_WORLD */

#define SAID 316 /* bytes: more are gathered by one more collective */

enum progress { HAS_FAILED, HAS_FINISHED, GOES_ON };

/* The collectives of MPI that are needed here are non-blocking ones: while this rank waits it drives
 * ncoll, and lets other ranks have its core, which MPI does not always do. */
int least_of(MPI_Comm mpi, int own, int *least)
{
    MPI_Request request;
    int rc = real.Iallreduce(&own, least, 1, MPI_INT, MPI_MIN, mpi, &request);

    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
}

/* The message of a rank in a step: how far it is, and the first of the data that it gathers. Ranks that
 * have finished or failed take part in the step as well, without data. */
struct said {
    int32_t progress;
    unsigned char data[SAID];
};

struct gathering {
    MPI_Comm mpi;
    int ranks;
    struct said *all; /* [ranks] */
    bool broken;      /* some rank does not take part any more */
};

static int allgather(MPI_Comm mpi, const void *in, size_t bytes, void *out)
{
    MPI_Request request;
    int rc = real.Iallgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, mpi, &request);

    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
}

/* Returns the least progress of all ranks. */
static enum progress step(struct gathering *g, enum progress own, const void *data, size_t bytes)
{
    struct said said = {.progress = own};
    enum progress least = own;

    if (bytes > 0)
        memcpy(said.data, data, bytes < SAID ? bytes : SAID);
    if (allgather(g->mpi, &said, sizeof said, g->all) != MPI_SUCCESS)
        return HAS_FAILED;
    for (int r = 0; r < g->ranks; r++)
        if (g->all[r].progress < (int32_t)least)
            least = (enum progress)g->all[r].progress;
    return least;
}

static int gather(void *arg, const void *in, size_t bytes, void *out)
{
    struct gathering *g = arg;

    if (g->broken || step(g, GOES_ON, in, bytes) != GOES_ON) {
        g->broken = true;
        return 1;
    }
    if (bytes > SAID)
        return allgather(g->mpi, in, bytes, out);
    for (int r = 0; r < g->ranks; r++)
        memcpy((unsigned char *)out + (size_t)r * bytes, g->all[r].data, bytes);
    return MPI_SUCCESS;
}

/* Returns false if more than half of the file descriptors of this process are in use: the rest is
 * the program's. */
static bool has_descriptors(void)
{
    struct rlimit limit;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    close(fd);
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)fd < limit.rlim_cur / 2;
}

static int create(struct comm *c, struct gathering *g, ncoll_error *error)
{
    ncoll_params params;
    int rc = ncoll_params_init(&params, sizeof params);

    params.bootstrap = c->size > 1 ? NCOLL_BOOTSTRAP_USER : NCOLL_BOOTSTRAP_SELF;
    params.rank = c->rank;
    params.ranks = c->size;
    params.allgather = gather;
    params.allgather_arg = g;
    if (c->mpi != MPI_COMM_WORLD) { /* what there is to warn of the first context has said */
        params.window_bytes = OTHER_WINDOW;
        params.log_level = NCOLL_LOG_ERROR;
    }
    if (rc == NCOLL_OK)
        rc = ncoll_context_create(&params, &c->ctx, error);
    if (rc != NCOLL_OK)
        c->ctx = NULL;
    return rc;
}

/* Gives all ranks the error of the first one that has one of its own. */
static void tell_error(struct comm *c, bool own, ncoll_error *error)
{
    int first = 0;

    least_of(c->mpi, own ? c->rank : INT_MAX, &first);
    real.Bcast(error, (int)sizeof *error, MPI_BYTE, first == INT_MAX ? 0 : first, c->mpi);
}

bool context_make(struct comm *c, bool able, ncoll_error *error)
{
    struct gathering g = {.mpi = c->mpi, .ranks = c->size};
    int rc = NCOLL_ERR_RESOURCE;
    bool made = false;

    farewell_poll(true);
    memset(error, 0, sizeof *error);
    strcpy(error->text, "half of the file descriptors of a rank are in use (ulimit -n)");
    if ((g.all = malloc((size_t)c->size * sizeof *g.all)) == NULL) {
        PMPI_Comm_call_errhandler(c->mpi, MPI_ERR_NO_MEM);
        return false;
    }
    if (able && has_descriptors() && (rc = create(c, &g, error)) == NCOLL_OK)
        rc = ops_make(c);
    if (c->size == 1)
        made = rc == NCOLL_OK;
    else if (!g.broken)
        made = step(&g, rc == NCOLL_OK ? HAS_FINISHED : HAS_FAILED, NULL, 0) == HAS_FINISHED;
    free(g.all);
    if (made) {
        c->group = ncoll_world(c->ctx);
        return true;
    }
    if (c->size > 1)
        tell_error(c, rc != NCOLL_OK && !g.broken, error);
    context_destroy(c);
    return false;
}

void context_destroy(struct comm *c)
{
    if (c->ctx != NULL)
        ncoll_context_destroy(c->ctx);
    c->ctx = NULL;
    c->group = NULL;
    ops_free(c);
}
