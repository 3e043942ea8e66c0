/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/compare/companion.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/names.h"

#define ARGUMENTS_BEFORE 16

struct library {
    const char *title, *package; /* its name for people, and for pkg-config */
    const char *variable;        /* its launcher sets it for each rank; NULL: it has none */
    const char *launchers[4];    /* the least ambiguous first; NULL-terminated */
    const char *arguments[8];    /* for the launcher, before -n; ranks bind themselves to cores */
    const char *yield;           /* variable by which waiting ranks yield their core; NULL: none */
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

/* Returns the path of this program with a suffix such as "-ucc". */
static char *path_beside(const char *name)
{
    char own[4096], *path;
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);

    if (len <= 0)
        err(EXIT_FAILURE, "/proc/self/exe");
    own[len] = '\0';
    if (asprintf(&path, "%s-%s", own, name) < 0)
        err(EXIT_FAILURE, NULL);
    return path;
}

static bool is_there(enum companion c)
{
    char *path = path_beside(name_text(names_of_companions, (int)c));
    bool there = access(path, X_OK) == 0;

    free(path);
    return there;
}

static bool is_mpi(enum companion c)
{
    return libraries[c].variable != NULL;
}

/* Returns the MPI whose launcher has started this process; COMPANION_NONE: none has. */
static enum companion launched_by(void)
{
    for (enum companion c = COMPANION_OPENMPI; c < COMPANIONS; c++)
        if (is_mpi(c) && getenv(libraries[c].variable) != NULL)
            return c;
    return COMPANION_NONE;
}

/* Returns the MPI whose launcher has started this process, else the first one that is installed. */
static enum companion any_mpi(void)
{
    enum companion launcher = launched_by();

    for (enum companion c = COMPANION_OPENMPI; launcher == COMPANION_NONE && c < COMPANIONS; c++)
        if (is_mpi(c) && is_there(c))
            return c;
    return launcher;
}

/* Returns an array of `before`, then all arguments but the first, then NULL. */
static char **arguments_after(const char *const *before, unsigned n, int argc, char **argv)
{
    char **args = calloc(n + (size_t)argc, sizeof *args);

    if (args == NULL)
        err(EXIT_FAILURE, NULL);
    memcpy(args, before, n * sizeof *args);
    memcpy(args + n, argv + 1, ((size_t)argc - 1) * sizeof *args);
    return args;
}

/* Becomes the launcher. The program gets -n before the other arguments, since the user may have
 * given no -n. */
_Noreturn static void exec_launcher(const struct library *mpi, const char *path,
                                    const struct options *options)
{
    int n_ranks = options->ranks > 0 ? options->ranks : DEFAULT_RANKS;
    const char *before[ARGUMENTS_BEFORE];
    char ranks[16], tried[128] = "";
    unsigned n = 1;

    snprintf(ranks, sizeof ranks, "%d", n_ranks);
    for (unsigned i = 0; mpi->arguments[i] != NULL; i++)
        before[n++] = mpi->arguments[i];
    const char *const rest[] = {"-n", ranks, path, "-n", ranks};
    for (unsigned i = 0; i < sizeof rest / sizeof rest[0]; i++)
        before[n++] = rest[i];
    if (mpi->yield != NULL && n_ranks > options->cores)
        setenv(mpi->yield, "1", 0);
    for (unsigned i = 0; mpi->launchers[i] != NULL; i++) {
        before[0] = mpi->launchers[i];
        execvp(before[0], arguments_after(before, n, options->argc, options->argv));
        if (errno != ENOENT)
            err(EXIT_FAILURE, "cannot run %s", before[0]);
        name_append(tried, sizeof tried, before[0]);
    }
    errx(EXIT_FAILURE, "the launcher of %s is not in PATH; looked for: %s", mpi->title, tried);
}

void companion_plot(int argc, char **argv)
{
    const char *const before[] = {"python3", path_beside("plot")};

    execvp(before[0], arguments_after(before, 2, argc, argv));
    err(EXIT_FAILURE, "plot cannot run python3");
}

void companion_exec(const struct options *options)
{
    enum companion c = options->companion == COMPANION_MPI ? any_mpi() : options->companion;

    if (c == COMPANION_NONE)
        errx(EXIT_FAILURE, "--mpi: this ncoll was built with no MPI: neither Open MPI nor MPICH");
    const struct library *library = &libraries[c];
    char *path = path_beside(name_text(names_of_companions, (int)c));
    if (!is_there(c))
        errx(EXIT_FAILURE,
             "there is no %s: this ncoll was built without %s, which pkg-config knows as %s", path,
             library->title, library->package);
    if (is_mpi(c) && launched_by() == COMPANION_NONE)
        exec_launcher(library, path, options);
    options->argv[0] = path;
    execv(path, options->argv);
    err(EXIT_FAILURE, "cannot run %s", path);
}
