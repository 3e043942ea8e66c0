/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context of a communicator, wired by MPI's own allgather. Whether there is one is agreed by all
 * ranks: before each step each rank says whether it goes on, has finished, or has failed. So a rank
 * that fails early leaves nobody behind who waits for it.
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

enum progress { HAS_FAILED, HAS_FINISHED, GOES_ON };

/* The collectives of MPI that are needed here are non-blocking ones: while this rank waits it drives
 * ncoll, and lets other ranks have its core, which MPI does not always do. */
int least_of(MPI_Comm mpi, int own, int *least)
{
    MPI_Request request;
    int rc = real.Iallreduce(&own, least, 1, MPI_INT, MPI_MIN, mpi, &request);

    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
}

/* Returns the least of what the ranks say. */
static enum progress agree(MPI_Comm mpi, enum progress own)
{
    int out = HAS_FAILED;

    return least_of(mpi, own, &out) == MPI_SUCCESS ? (enum progress)out : HAS_FAILED;
}

struct gathering {
    MPI_Comm mpi;
    bool broken; /* some rank does not take part any more */
};

static int gather(void *arg, const void *in, size_t bytes, void *out)
{
    struct gathering *g = arg;

    if (g->broken || agree(g->mpi, GOES_ON) != GOES_ON) {
        g->broken = true;
        return 1;
    }
    MPI_Request request;
    int rc = real.Iallgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, g->mpi, &request);
    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
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
    if (c->mpi != MPI_COMM_WORLD)
        params.window_bytes = OTHER_WINDOW;
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
    struct gathering g = {c->mpi, false};
    int rc = NCOLL_ERR_RESOURCE;
    bool made = false;

    memset(error, 0, sizeof *error);
    strcpy(error->text, "half of the file descriptors of a rank are in use (ulimit -n)");
    if (able && has_descriptors() && (rc = create(c, &g, error)) == NCOLL_OK)
        rc = ops_make(c);
    if (c->size == 1) {
        made = rc == NCOLL_OK;
    } else if (!g.broken) {
        made = agree(c->mpi, rc == NCOLL_OK ? HAS_FINISHED : HAS_FAILED) == HAS_FINISHED;
    }
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
