/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the context of a communicator: takes over that of a freed communicator with the same ranks,
 * or creates a new one, whose bootstrap is MPI's own allgather. All ranks agree on the result: in
 * each step each rank says whether it goes on, has finished, or has failed. So no rank is left
 * waiting for one that has failed early.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interop/mpi/dropin.h"

#define OTHER_WINDOW ((size_t)1 << 20) /* bytes of the window, except of that of MPI_COMM_WORLD */

#define SAID 512 /* bytes of data in the message of a step; longer data takes one more collective */

uint64_t contexts_made, contexts_taken_over;

enum progress { HAS_FAILED, HAS_FINISHED, GOES_ON };

/* Non-blocking collectives of MPI are used: while this rank waits for one it drives ncoll, and lets
 * other ranks have its core, which MPI does not always do. */
int least_of(MPI_Comm mpi, int own, int *least)
{
    MPI_Request request;
    int rc = real.Iallreduce(&own, least, 1, MPI_INT, MPI_MIN, mpi, &request);

    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
}

/* The message of a rank in a step: its progress, and the first bytes of the data that it gathers.
 * Ranks that have finished or failed take part in the step as well, without data. */
struct said {
    int32_t progress;
    unsigned char data[SAID];
};

struct gathering {
    MPI_Comm mpi;
    int ranks;
    struct said *all; /* [ranks] the messages of the latest step */
    bool broken;      /* some rank does not take part any more */
};

static int allgather(MPI_Comm mpi, const void *in, size_t bytes, void *out)
{
    MPI_Request request;
    int rc = real.Iallgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, mpi, &request);

    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
}

/* Makes a step: gathers the messages of all ranks in g->all. Returns the least progress of all
 * ranks. */
static enum progress step(struct gathering *g, enum progress own, const void *data, size_t bytes)
{
    struct said said = {.progress = own};
    enum progress least = own;

    if (bytes > 0)
        memcpy(said.data, data, bytes < SAID ? bytes : SAID);
    if (g->ranks == 1)
        *g->all = said;
    else if (allgather(g->mpi, &said, sizeof said, g->all) != MPI_SUCCESS)
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

/* Returns true if this process uses less than 1/part of the file descriptors that it may have. */
static bool uses_less_than(rlim_t part)
{
    struct rlimit limit;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    close(fd);
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)fd < limit.rlim_cur / part;
}

/* Returns true if there are file descriptors for a new context: half of all are left to the
 * program. If a quarter is in use, the contexts that are kept for later communicators are
 * destroyed. */
static bool has_descriptors(ncoll_error *error)
{
    if (!uses_less_than(4))
        farewell_keep_none();
    if (uses_less_than(2))
        return true;
    strcpy(error->text, "half of the file descriptors of a rank are in use (ulimit -n)");
    return false;
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
    if (c->mpi != MPI_COMM_WORLD) { /* warnings were logged for MPI_COMM_WORLD already */
        params.ranks_per_core = world.ranks_per_core;
        params.window_bytes = OTHER_WINDOW;
        params.log_level = NCOLL_LOG_ERROR;
    }
    if (rc == NCOLL_OK)
        rc = ncoll_context_create(&params, &c->ctx, error);
    if (rc != NCOLL_OK)
        c->ctx = NULL;
    return rc;
}

/* Sets *error on all ranks to that of the first rank with an error of its own. own: this rank has
 * one. */
static void tell_error(struct comm *c, bool own, ncoll_error *error)
{
    int first = 0;

    least_of(c->mpi, own ? c->rank : INT_MAX, &first);
    real.Bcast(error, (int)sizeof *error, MPI_BYTE, first == INT_MAX ? 0 : first, c->mpi);
}

static bool is_offered(const struct said *said, int64_t id)
{
    int64_t ids[OFFERS];

    memcpy(ids, said->data, sizeof ids);
    for (unsigned i = 0; i < OFFERS; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Returns the first number of a context that rank 0 and all other ranks offer; 0: there is none. */
static int64_t first_of_all(const struct gathering *g)
{
    int64_t ids[OFFERS];

    memcpy(ids, g->all[0].data, sizeof ids);
    for (unsigned i = 0; i < OFFERS && ids[i] != 0; i++) {
        int r = 1;
        while (r < g->ranks && is_offered(&g->all[r], ids[i]))
            r++;
        if (r == g->ranks)
            return ids[i];
    }
    return 0;
}

/* Takes over the context of a freed communicator, if there is one that all ranks offer. Returns
 * true if that has worked. */
static bool take_over(struct comm *c, struct gathering *g)
{
    int64_t ids[OFFERS], taken = 0;

    farewell_offer(c, ids);
    if (step(g, GOES_ON, ids, sizeof ids) == GOES_ON)
        taken = first_of_all(g);
    else
        g->broken = true;
    farewell_take(c, taken);
    return taken != 0;
}

/* Tells the other ranks whether this rank has made its context (ok). Returns true if all have; the
 * context then gets a number from rank 0. */
static bool finish(struct comm *c, struct gathering *g, bool ok)
{
    static int64_t last;
    int64_t id = c->rank == 0 ? __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) : 0;

    if (g->broken || step(g, ok ? HAS_FINISHED : HAS_FAILED, &id, sizeof id) != HAS_FINISHED)
        return false;
    memcpy(&c->id, g->all[0].data, sizeof c->id);
    return true;
}

bool context_make(struct comm *c, bool able, ncoll_error *error)
{
    struct gathering g = {.mpi = c->mpi, .ranks = c->size};
    int rc = NCOLL_ERR_RESOURCE;
    bool made;

    farewell_poll(true);
    memset(error, 0, sizeof *error);
    if ((g.all = malloc((size_t)c->size * sizeof *g.all)) == NULL) {
        PMPI_Comm_call_errhandler(c->mpi, MPI_ERR_NO_MEM);
        return false;
    }
    if (take_over(c, &g)) {
        __atomic_fetch_add(&contexts_taken_over, 1, __ATOMIC_RELAXED);
        c->taken_over = true;
        free(g.all);
        return true;
    }
    if (able && !g.broken && has_descriptors(error) && (rc = create(c, &g, error)) == NCOLL_OK)
        rc = ops_make(c->ctx, &c->ops);
    made = finish(c, &g, rc == NCOLL_OK);
    free(g.all);
    if (made) {
        __atomic_fetch_add(&contexts_made, 1, __ATOMIC_RELAXED);
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
    ops_free(c->ops);
    c->ops = NULL;
}
