/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends the library in MPI_Init() and MPI_Finalize(), and reads its environment
 * variables. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "interop/mpi/dropin.h"

#if defined(OPEN_MPI)
#define IS_OPEN_MPI true
#else
#define IS_OPEN_MPI false
#endif

struct world world;

const char *const collective_names[COLLECTIVE_COUNT] = {
#define NAME(Name, name) #name,
    COLLECTIVES(NAME)
#undef NAME
};

#define ALL_COLLECTIVES ((1u << COLLECTIVE_COUNT) - 1)

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(at, word, n) == 0;
}

/* Reads NCOLL_MPI: on, off, or the collectives that are left to MPI, separated by commas. Returns
 * those that are left to MPI, one bit each. */
static unsigned left_out_by(const char *text)
{
    unsigned out = 0;

    for (const char *at = text == NULL ? "" : text; *at != '\0';) {
        size_t n = strcspn(at, ", ");
        bool known = n == 0 || is_word(at, n, "on");
        if (is_word(at, n, "off")) {
            out = ALL_COLLECTIVES;
            known = true;
        }
        for (unsigned i = 0; i < COLLECTIVE_COUNT; i++)
            if (is_word(at, n, collective_names[i])) {
                out |= 1u << i;
                known = true;
            }
        if (!known)
            fprintf(stderr, "ncoll: NCOLL_MPI: \"%.*s\" is neither on, off nor a collective\n",
                    (int)n, at);
        at += n + (at[n] != '\0');
    }
    return out;
}

/* Returns false if the program runs on another MPI than the library was built for. Then the library
 * must not touch a handle. Its functions hand all calls on to that MPI, if they can. */
static bool is_right_mpi(void)
{
    static char version[16384]; /* MPIs differ in the length of this text */
    int length;

    PMPI_Get_library_version(version, &length);
    bool is_open = strstr(version, "Open MPI") != NULL;
    if (is_open == IS_OPEN_MPI)
        return true;
    fprintf(stderr,
            "ncoll: this program runs on %.*s: preload libncoll-mpi-%s.so in place of "
            "libncoll-mpi-%s.so\n",
            (int)strcspn(version, "\n,"), version, is_open ? "openmpi" : "mpich",
            IS_OPEN_MPI ? "openmpi" : "mpich");
    if (!IS_OPEN_MPI) /* handles of Open MPI are longer than those that these functions hand on */
        abort();
    return false;
}

/* Ends the library in MPI_Finalize(), which first deletes the attributes of MPI_COMM_SELF, the last
 * one first. The attribute with this delete function was set in MPI_Init(), so those of the
 * program, whose delete functions may still wait for requests, are gone already. A rank may destroy
 * its contexts when all ranks are here: then each of them has made all its calls. */
static int finish(MPI_Comm self, int key, void *attribute, void *extra)
{
    (void)self;
    (void)key;
    (void)attribute;
    (void)extra;
    MPI_Request all_here;
    if (real.Ibarrier(MPI_COMM_WORLD, &all_here) == MPI_SUCCESS)
        wait_driving(&all_here, MPI_STATUS_IGNORE);
    progress_finish();
    report();
    world.on = false;
    comms_finish();
    PMPI_Comm_free(&world.self);
    return MPI_SUCCESS;
}

static bool finish_at_end(void)
{
    int key;

    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish, &key, NULL) == MPI_SUCCESS &&
           PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS;
}

/* Starts ncoll. All ranks take what the environment variables say on rank 0. Returns false if ncoll
 * has not started. */
static bool start(int provided)
{
    MPI_Comm all = MPI_COMM_WORLD;
    ncoll_error error = {0};
    int rank;

    if (!is_right_mpi())
        return false;
    world.started = true;
    PMPI_Comm_rank(all, &rank);
    world.threads = provided == MPI_THREAD_MULTIPLE;
    world.left_out = rank == 0 ? left_out_by(getenv("NCOLL_MPI")) : 0;
    if (real.Bcast(&world.left_out, 1, MPI_UNSIGNED, 0, all) != MPI_SUCCESS)
        return false;
    if (world.left_out == ALL_COLLECTIVES)
        return false;
    if (PMPI_Comm_dup(MPI_COMM_SELF, &world.self) != MPI_SUCCESS ||
        PMPI_Comm_set_errhandler(world.self, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        comms_start() != MPI_SUCCESS)
        return false;
    world.on = true;
    struct comm *c = comm_of(all);
    if (c != NULL && context_make(c, true, &error) && finish_at_end()) {
        ncoll_stats stats = {.size = sizeof stats};
        if (ncoll_context_stats(c->ctx, &stats) == NCOLL_OK)
            world.ranks_per_core = stats.ranks_per_core;
        c->state = COMM_ON;
        return true;
    }
    world.on = false;
    if (c != NULL) {
        c->state = COMM_OFF;
        c->why = NOT_JOINED;
    }
    if (rank == 0)
        fprintf(stderr, "ncoll: MPI's own collectives are used, since ncoll could not start: %s\n",
                error.text);
    return false;
}

INTERPOSE(Init, int *argc, char ***argv)
{
    int rc = real.Init(argc, argv), provided = MPI_THREAD_SINGLE;

    if (rc == MPI_SUCCESS) {
        PMPI_Query_thread(&provided);
        start(provided);
    }
    return rc;
}

INTERPOSE(Init_thread, int *argc, char ***argv, int required, int *provided)
{
    int rc = real.Init_thread(argc, argv, required, provided);

    if (rc == MPI_SUCCESS)
        start(*provided);
    return rc;
}

INTERPOSE(Finalize, void)
{
    if (world.started && !world.on) /* otherwise finish() calls report() */
        report();
    world.ends = true;
    return real.Finalize();
}
