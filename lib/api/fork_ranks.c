/* SPDX-License-Identifier: BSD-3-Clause */
/* ncoll_fork_ranks(): forks the ranks of a job that uses the fork bootstrap. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/fork_board.h"
#include "bootstrap/tcp_proof.h"
#include "lib/base/settings.h"
#include "lib/topology/node.h"

#define RANKS_MAX 65536

/* Logs the reason of a failure, since there is no context that could keep it. Returns the status. */
__attribute__((format(printf, 3, 4))) static int fail(const ncoll_params *params,
                                                      ncoll_status status, const char *cause, ...)
{
    ncoll_params settings;
    struct setting_error unused;
    char text[512] = "ncoll: cannot run ranks: ";
    size_t used = strlen(text);
    va_list args;

    va_start(args, cause);
    vsnprintf(text + used, sizeof text - used, cause, args);
    va_end(args);
    if (ncoll__settings_resolve(params, &settings, &unused) != NCOLL_OK)
        ncoll_params_init(&settings, sizeof settings);
    if ((int)settings.log_level < NCOLL_LOG_ERROR)
        return status;
    if (settings.log != NULL)
        settings.log(settings.log_arg, NCOLL_LOG_ERROR, text);
    else
        fprintf(stderr, "%s\n", text);
    return status;
}

struct family {
    struct ncoll_fork_board board;
    pid_t *pids; /* [ranks] 0: not forked yet, or reaped */
    int *codes;  /* [ranks] exit codes for the caller, or NULL */
    int alive;
    int failed, code; /* the first rank whose exit code is not 0, and that code; -1: none */
    char key[2 * NONCE_BYTES + 1];
};

/*
 * Runs a rank in the child and never returns: the stack above belongs to the parent's program, and
 * its exit handlers are not for the child. So it calls _exit(), after flushing the output of
 * main_fn.
 */
static _Noreturn void run_child(struct family *f, int rank, pid_t parent, ncoll_params *params,
                                ncoll_rank_main main_fn, void *arg)
{
    /* A rank must not outlive the parent, which tells the other ranks when one dies. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before prctl() */
        _exit(1);
    f->board.rank = rank;
    params->rank = rank;
    params->ranks = f->board.ranks;
    params->board = &f->board;
    int code = main_fn(params, arg);
    fflush(NULL);
    _exit(code);
}

static void note_end(struct family *f, int rank, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    f->pids[rank] = 0;
    f->alive--;
    if (f->codes != NULL)
        f->codes[rank] = code;
    if (code != 0 && f->failed < 0) {
        f->failed = rank;
        f->code = code;
    }
    ncoll__board_note_end(&f->board, (struct end){rank, code});
}

/* Reaps a rank if it has ended. Returns true if it has. */
static bool reap(struct family *f, int rank)
{
    int status;

    if (f->pids[rank] == 0 || waitpid(f->pids[rank], &status, WNOHANG) != f->pids[rank])
        return false;
    note_end(f, rank, status);
    return true;
}

static int rank_of(const struct family *f, pid_t pid)
{
    for (int r = 0; r < f->board.ranks; r++)
        if (f->pids[r] == pid)
            return r;
    return -1;
}

/*
 * Reaps all ranks, and no other child of this process. It waits for any child without reaping it,
 * and reaps it if it is a rank. If another child has ended, every wait finds that child until the
 * program reaps it; so then the ranks are checked one by one, with a pause.
 */
static int reap_all(struct family *f)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    while (f->alive > 0) {
        siginfo_t info;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) {
            if (errno == EINTR)
                continue;
            return errno; /* the program has reaped ranks itself, or SIGCHLD is ignored */
        }
        int rank = rank_of(f, info.si_pid);
        if (rank >= 0) {
            reap(f, rank);
            continue;
        }
        bool any = false;
        for (int r = 0; r < f->board.ranks; r++)
            any |= reap(f, r);
        if (!any)
            nanosleep(&pause, NULL);
    }
    return 0;
}

static void kill_all(struct family *f)
{
    for (int r = 0; r < f->board.ranks; r++)
        if (f->pids[r] != 0)
            kill(f->pids[r], SIGKILL);
    reap_all(f);
}

/* Waits for the ranks, and reports failures. */
static int finish(struct family *f, const ncoll_params *params)
{
    int error = reap_all(f);

    if (error != 0)
        return fail(params, NCOLL_ERR_SYSTEM,
                    "%d ranks cannot be waited for (%s): the program must not ignore SIGCHLD, nor "
                    "wait for children that are not its own",
                    f->alive, strerror(error));
    if (f->failed < 0)
        return NCOLL_OK;
    if (f->codes == NULL) /* otherwise the caller gets the exit codes */
        fail(params, NCOLL_ERR_PEER, "rank %d ended with %s %d", f->failed,
             f->code > 128 ? "signal" : "status", f->code > 128 ? f->code - 128 : f->code);
    return NCOLL_ERR_PEER;
}

/* Makes a key for the ranks, for the tcp bootstrap. Returns NULL if the system has no random
 * bytes. */
static const char *make_key(struct family *f)
{
    unsigned char random[NONCE_BYTES];

    if (!ncoll__tcp_nonce(random))
        return NULL;
    for (unsigned i = 0; i < NONCE_BYTES; i++)
        snprintf(f->key + 2 * i, 3, "%02x", random[i]);
    return f->key;
}

static int check_arguments(int ranks, const ncoll_params *base, ncoll_rank_main main_fn)
{
    ncoll_params unused;

    if (base != NULL && ncoll_params_init(&unused, base->size) != NCOLL_OK)
        return fail(NULL, NCOLL_ERR_ARGUMENT,
                    "the size of the parameters is %zu: call ncoll_params_init() first",
                    base->size);
    if (ranks < 1 || ranks > RANKS_MAX)
        return fail(base, NCOLL_ERR_ARGUMENT, "the number of ranks is %d, which is not in 1..%d",
                    ranks, RANKS_MAX);
    if (main_fn == NULL)
        return fail(base, NCOLL_ERR_ARGUMENT, "main_fn is NULL");
    return NCOLL_OK;
}

int ncoll_fork_ranks(int ranks, const ncoll_params *base, ncoll_rank_main main_fn, void *arg,
                     int *exit_codes)
{
    ncoll_params params;
    struct family f = {.codes = exit_codes, .failed = -1};
    pid_t parent = getpid();

    int rc = check_arguments(ranks, base, main_fn);
    if (rc != NCOLL_OK)
        return rc;
    ncoll_params_init(&params, sizeof params);
    if (base != NULL)
        memcpy(&params, base, base->size);
    if (params.key == NULL)
        params.key = make_key(&f);
    f.pids = calloc((size_t)ranks, sizeof *f.pids);
    if (f.pids == NULL)
        return fail(base, NCOLL_ERR_MEMORY, "no memory for %d ranks", ranks);
    int error = ncoll__board_create(ranks, &f.board);
    if (error != 0) {
        rc = fail(base, NCOLL_ERR_SYSTEM,
                  "no shared memory for the ranks (%s): see limits on memory and on open files "
                  "(ulimit -a)",
                  strerror(error));
        goto free_pids;
    }
    fflush(NULL);  /* otherwise each child would print what is still buffered here */
    ncoll__node(); /* finds the limit of processor time for all ranks */
    for (int r = 0; r < ranks; r++) {
        pid_t pid = fork();
        if (pid == 0)
            run_child(&f, r, parent, &params, main_fn, arg);
        if (pid < 0) {
            error = errno;
            kill_all(&f);
            rc = fail(base, NCOLL_ERR_SYSTEM,
                      "rank %d of %d cannot be forked (%s): see limits on processes and on memory "
                      "(ulimit -u, ulimit -v, and the control group's)",
                      r, ranks, strerror(error));
            goto destroy_board;
        }
        f.pids[r] = pid;
        f.alive++;
    }
    rc = finish(&f, base);

destroy_board:
    ncoll__board_destroy(&f.board);
free_pids:
    free(f.pids);
    return rc;
}
