/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/companion.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/names.h"

#define ARGUMENTS_BEFORE 16

struct mpi {
    const char *title, *package; /* how people and pkg-config call it */
    const char *variable;        /* its launcher sets it for each rank */
    const char *launchers[4];    /* the least ambiguous first; NULL-terminated */
    const char *arguments[8];    /* of the launcher, before -n; ranks bind themselves */
    const char *yield;           /* variable that has waiting ranks yield their core; NULL: none */
};

static const struct mpi mpis[] = {
    [COMPANION_OPENMPI] = {"Open MPI",
                           "ompi-c",
                           "OMPI_COMM_WORLD_RANK",
                           {"mpirun.openmpi", "mpirun"},
                           {"--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"},
                           "OMPI_MCA_mpi_yield_when_idle"},
    [COMPANION_MPICH] = {"MPICH",
                         "mpich",
                         "PMI_RANK",
                         {"mpiexec.mpich", "mpiexec.hydra", "mpiexec"},
                         {"-bind-to", "none"},
                         NULL},
};

__attribute__((format(printf, 1, 2))) static int say(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_FAILURE;
}

/* The name of this program, with its folder, and "-mpich" or the like. */
static char *path_of(enum companion c)
{
    char own[4096], *path;
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);

    if (len <= 0)
        return NULL;
    own[len] = '\0';
    return asprintf(&path, "%s-%s", own, name_text(names_of_companions, (int)c)) < 0 ? NULL : path;
}

static bool is_there(enum companion c)
{
    char *path = path_of(c);
    bool there = path != NULL && access(path, X_OK) == 0;

    free(path);
    return there;
}

static bool has_launched(enum companion c)
{
    return getenv(mpis[c].variable) != NULL;
}

/* That whose launcher has made this process, else the first that is there. */
static enum companion any_companion(void)
{
    for (enum companion c = COMPANION_OPENMPI; c < COMPANIONS; c++)
        if (has_launched(c))
            return c;
    for (enum companion c = COMPANION_OPENMPI; c < COMPANIONS; c++)
        if (is_there(c))
            return c;
    return COMPANION_ANY;
}

static int exec_rank(char *path, const struct options *options)
{
    options->argv[0] = path;
    execv(path, options->argv);
    return say("cannot run %s: %s", path, strerror(errno));
}

/* -n comes before what was given: it may not have been. */
static int exec_launcher(const struct mpi *mpi, char *path, const struct options *options)
{
    char ranks[16], tried[128] = "";
    const char **args = calloc((size_t)options->argc + ARGUMENTS_BEFORE, sizeof *args);
    unsigned n = 1;

    if (args == NULL)
        return say("%s", ncoll_status_text(NCOLL_ERR_MEMORY));
    snprintf(ranks, sizeof ranks, "%d", options->ranks);
    for (unsigned i = 0; mpi->arguments[i] != NULL; i++)
        args[n++] = mpi->arguments[i];
    const char *const rest[] = {"-n", ranks, path, "-n", ranks};
    for (unsigned i = 0; i < sizeof rest / sizeof rest[0]; i++)
        args[n++] = rest[i];
    memcpy(args + n, options->argv + 1, (size_t)options->argc * sizeof *args); /* and the NULL */
    if (mpi->yield != NULL && options->ranks > options->cores)
        setenv(mpi->yield, "1", 0);
    for (unsigned i = 0; mpi->launchers[i] != NULL; i++) {
        args[0] = mpi->launchers[i];
        execvp(args[0], (char **)args);
        if (errno != ENOENT)
            break;
        snprintf(tried + strlen(tried), sizeof tried - strlen(tried), "%s%s", i > 0 ? ", " : "",
                 args[0]);
    }
    int reason = errno;
    const char *launcher = args[0];
    free(args);
    if (reason != ENOENT)
        return say("cannot run %s: %s", launcher, strerror(reason));
    return say("the launcher of %s is not in PATH; looked for: %s", mpi->title, tried);
}

int companion_exec(const struct options *options)
{
    enum companion c = options->companion == COMPANION_ANY ? any_companion() : options->companion;

    if (c == COMPANION_ANY)
        return say("--mpi: this ncoll was built with no MPI: neither Open MPI nor MPICH");
    char *path = path_of(c);
    if (path == NULL)
        return say("%s", ncoll_status_text(NCOLL_ERR_SYSTEM));
    int exit_status;
    if (!is_there(c))
        exit_status =
            say("--mpi=%s: there is no %s: this ncoll was built without %s, which "
                "pkg-config knows as %s",
                name_text(names_of_companions, (int)c), path, mpis[c].title, mpis[c].package);
    else if (has_launched(COMPANION_OPENMPI) || has_launched(COMPANION_MPICH))
        exit_status = exec_rank(path, options);
    else
        exit_status = exec_launcher(&mpis[c], path, options);
    free(path);
    return exit_status;
}
