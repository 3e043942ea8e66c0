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

struct library {
    const char *title, *package; /* how people and pkg-config call it */
    const char *variable;        /* its launcher sets it for each rank; NULL: it has none */
    const char *launchers[4];    /* the least ambiguous first; NULL-terminated */
    const char *arguments[8];    /* of the launcher, before -n; ranks bind themselves */
    const char *yield;           /* variable that has waiting ranks yield their core; NULL: none */
};

static const struct library libraries[] = {
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
    [COMPANION_UCC] = {"UCC", "ucc", NULL, {NULL}, {NULL}, NULL},
    [COMPANION_GPI2] = {"GPI-2", "GPI2", NULL, {NULL}, {NULL}, NULL},
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

/* The name of this program, with its folder, and "-ucc" or the like. */
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

static bool is_mpi(enum companion c)
{
    return libraries[c].variable != NULL;
}

/* The MPI whose launcher has made this process; COMPANION_NONE: none has. */
static enum companion launched_by(void)
{
    for (enum companion c = COMPANION_OPENMPI; c < COMPANIONS; c++)
        if (is_mpi(c) && getenv(libraries[c].variable) != NULL)
            return c;
    return COMPANION_NONE;
}

/* That whose launcher has made this process, else the first that is there. */
static enum companion any_mpi(void)
{
    enum companion launcher = launched_by();

    for (enum companion c = COMPANION_OPENMPI; launcher == COMPANION_NONE && c < COMPANIONS; c++)
        if (is_mpi(c) && is_there(c))
            return c;
    return launcher;
}

static int exec_itself(char *path, const struct options *options)
{
    options->argv[0] = path;
    execv(path, options->argv);
    return say("cannot run %s: %s", path, strerror(errno));
}

/* -n comes before what was given: it may not have been. */
static int exec_launcher(const struct library *mpi, char *path, const struct options *options)
{
    int n_ranks = options->ranks > 0 ? options->ranks : DEFAULT_RANKS;
    char ranks[16], tried[128] = "";
    const char **args = calloc((size_t)options->argc + ARGUMENTS_BEFORE, sizeof *args);
    unsigned n = 1;

    if (args == NULL)
        return say("%s", ncoll_status_text(NCOLL_ERR_MEMORY));
    snprintf(ranks, sizeof ranks, "%d", n_ranks);
    for (unsigned i = 0; mpi->arguments[i] != NULL; i++)
        args[n++] = mpi->arguments[i];
    const char *const rest[] = {"-n", ranks, path, "-n", ranks};
    for (unsigned i = 0; i < sizeof rest / sizeof rest[0]; i++)
        args[n++] = rest[i];
    memcpy(args + n, options->argv + 1, (size_t)options->argc * sizeof *args); /* and the NULL */
    if (mpi->yield != NULL && n_ranks > options->cores)
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
    enum companion c = options->companion == COMPANION_MPI ? any_mpi() : options->companion;

    if (c == COMPANION_NONE)
        return say("--mpi: this ncoll was built with no MPI: neither Open MPI nor MPICH");
    const struct library *library = &libraries[c];
    char *path = path_of(c);
    if (path == NULL)
        return say("%s", ncoll_status_text(NCOLL_ERR_SYSTEM));
    int exit_status;
    if (!is_there(c))
        exit_status = say("there is no %s: this ncoll was built without %s, which pkg-config knows "
                          "as %s",
                          path, library->title, library->package);
    else if (is_mpi(c) && launched_by() == COMPANION_NONE)
        exit_status = exec_launcher(library, path, options);
    else
        exit_status = exec_itself(path, options);
    free(path);
    return exit_status;
}
