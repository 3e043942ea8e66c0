/* SPDX-License-Identifier: BSD-3-Clause */
#include "support.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ failures ----------------- */

#define PATIENCE_MS 1000 /* for a rank that knows the cause */

static atomic_bool own_flag;
static atomic_bool *spoken = &own_flag; /* forked ranks share it */
static int launched_rank = -1;

int number_in_environment(const char *const *variables)
{
    for (; *variables != NULL; variables++)
        if (getenv(*variables) != NULL)
            return (int)parse_number(getenv(*variables), 0, INT32_MAX);
    return -1;
}

int failure_launcher_rank(void)
{
    static const char *const variables[] = {"NCOLL_RANK", "PMIX_RANK",    "OMPI_COMM_WORLD_RANK",
                                            "PMI_RANK",   "SLURM_PROCID", NULL};

    return number_in_environment(variables);
}

void failure_launched(int rank)
{
    launched_rank = rank;
}

/* True for errors that one rank can meet alone. */
static bool concerns_one_rank(int status)
{
    return status == NCOLL_ERR_RESOURCE || status == NCOLL_ERR_MEMORY ||
           status == NCOLL_ERR_DEVICE || status == NCOLL_ERR_SYSTEM || status == NCOLL_ERR_INTERNAL;
}

/* A rank that fails because of another one may hear of that before the other has printed why. If
 * nobody does so in time, the process of that rank may have been killed. */
static void wait_for_cause(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (int ms = 0; ms < PATIENCE_MS && !atomic_load(spoken); ms++)
        nanosleep(&pause, NULL);
}

/* True, once, if this rank is the one that prints the error. */
static bool speaks(int status, int peer)
{
    int speaker = peer == 0 ? 1 : 0;

    if (launched_rank >= 0 && launched_rank != speaker && !concerns_one_rank(status))
        return false;
    if (status == NCOLL_ERR_PEER && spoken != &own_flag)
        wait_for_cause();
    return !atomic_exchange(spoken, true);
}

void failure_report(const ncoll_error *error)
{
    if (speaks(error->status, error->peer))
        fprintf(stderr, "%s\n", error->text);
}

ncoll_status failure_say(ncoll_status status, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* One call, so that lines of several ranks do not mix. */
    if (speaks(status, -1))
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    return status;
}

int failure_of_call(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status != NCOLL_OK && error->status == status)
        failure_report(error);
    else if (status != NCOLL_OK)
        failure_say((ncoll_status)status, "%s", ncoll_status_text(status));
    return status;
}

int failure_no_memory(void)
{
    return failure_say(NCOLL_ERR_MEMORY, "%s", ncoll_status_text(NCOLL_ERR_MEMORY));
}

void failure_log(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg;
    if (level != NCOLL_LOG_ERROR)
        fprintf(stderr, "%s\n", text);
}

/* ------------------------------------------------------------------ ranks -------------------- */

struct launch {
    bool bind;
    int (*rank_main)(const ncoll_params *params, void *arg);
    void *arg;
};

bool bind_to_place(int place)
{
    cpu_set_t allowed, one;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || place >= CPU_COUNT(&allowed))
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && place-- == 0)
            CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static int forked_rank(const ncoll_params *params, void *arg)
{
    const struct launch *launch = arg;

    if (launch->bind)
        bind_to_place(params->rank);
    return launch->rank_main(params, launch->arg);
}

/* Reports ranks that were killed. A rank that ended by itself has printed the reason. */
static void say_killed(const int *exit_codes, int ranks)
{
    for (int rank = 0; rank < ranks; rank++)
        if (exit_codes[rank] > 128)
            warnx("rank %d was ended by signal %d (%s)", rank, exit_codes[rank] - 128,
                  strsignal(exit_codes[rank] - 128));
}

/* Shares a flag before ranks are forked, so that only one of them prints. */
static void share_flag(void)
{
    if (spoken != &own_flag)
        return;
    atomic_bool *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return; /* then each rank prints for itself */
    spoken = shared;
    atomic_init(spoken, false);
}

int fork_ranks(int ranks, bool bind, const ncoll_params *params,
               int (*rank_main)(const ncoll_params *params, void *arg), void *arg)
{
    cpu_set_t allowed;
    bool has_room =
        sched_getaffinity(0, sizeof allowed, &allowed) == 0 && ranks <= CPU_COUNT(&allowed);
    struct launch launch = {bind && has_room, rank_main, arg};
    int *exit_codes = calloc((size_t)ranks, sizeof *exit_codes), status = NCOLL_ERR_MEMORY;

    share_flag();
    if (exit_codes != NULL)
        status = ncoll_fork_ranks(ranks, params, forked_rank, &launch, exit_codes);
    if (status == NCOLL_ERR_PEER)
        say_killed(exit_codes, ranks);
    else if (status != NCOLL_OK)
        warnx("cannot fork %d ranks: %s", ranks, ncoll_status_text(status));
    free(exit_codes);
    return status == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ------------------------------------------------------------------ streams, numbers --------- */

void output_open(void)
{
    /* opened so that writing fails: a result that cannot be written is a failure */
    static const int flags[] = {
        [STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};

    /* The streams below are open by then, so this is the lowest number that is free. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            exit(EXIT_FAILURE); /* no message: there may be no stream for it */
}

bool output_written(FILE *out)
{
    bool failed_before = ferror(out), flushed = fflush(out) == 0;

    if (flushed && !failed_before)
        return true;
    errno = flushed ? EIO : errno;
    if (flushed &&
        fputc('\n', out) != EOF) /* the reason of an earlier failure is gone: once more */
        fflush(out);
    warn("cannot write to standard %s", out == stderr ? "error" : "output");
    return false;
}

long parse_number(const char *text, long low, long high)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return -1;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno != 0 || *end != '\0' || value < low || value > high ? -1 : value;
}
