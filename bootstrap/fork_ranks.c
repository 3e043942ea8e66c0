/* SPDX-License-Identifier: BSD-3-Clause */
/* ncoll_fork_ranks(): the processes behind the fork bootstrap. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/fork_board.h"

#define RANKS_MAX 65536

struct family {
    struct ncoll_fork_board board;
    pid_t *pids; /* [ranks] 0: not forked, or reaped */
    int *codes;  /* [ranks] or NULL */
    int alive;
    bool all_well;
};

/*
 * Never returns: the stack above belongs to the parent's program, whose exit handlers are not the
 * child's to run. Hence _exit(), after what main_fn printed is flushed.
 */
static _Noreturn void run_child(struct family *f, int rank, pid_t parent, ncoll_params *params,
                                ncoll_rank_main main_fn, void *arg)
{
    /* A rank must not outlive the parent, which is who tells the others when it dies. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before prctl() */
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
    if (code != 0)
        f->all_well = false;
    ncoll__board_note_end(&f->board, (struct end){rank, code});
}

/* Reaps a rank if it has ended. */
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
 * Reaps all ranks, and no other child of this process: waits for any child without taking it, then
 * takes it if it is a rank. One that is not goes on being the first that is found until the program
 * takes it, so then the ranks are looked at one by one, with a pause.
 */
static int reap_all(struct family *f)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    while (f->alive > 0) {
        siginfo_t info;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) {
            if (errno == EINTR)
                continue;
            return NCOLL_ERR_SYSTEM; /* somebody else, or SIGCHLD ignored, has taken our children */
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
    return f->all_well ? NCOLL_OK : NCOLL_ERR_PEER;
}

static void kill_all(struct family *f)
{
    for (int r = 0; r < f->board.ranks; r++)
        if (f->pids[r] != 0)
            kill(f->pids[r], SIGKILL);
    reap_all(f);
}

int ncoll_fork_ranks(int ranks, const ncoll_params *base, ncoll_rank_main main_fn, void *arg,
                     int *exit_codes)
{
    ncoll_params params;
    struct family f = {.codes = exit_codes, .all_well = true};
    pid_t parent = getpid();
    int rc;

    if (ranks < 1 || ranks > RANKS_MAX || main_fn == NULL)
        return NCOLL_ERR_ARGUMENT;
    ncoll_params_init(&params, sizeof params);
    if (base != NULL) {
        if (ncoll_params_init(&params, base->size) != NCOLL_OK)
            return NCOLL_ERR_ARGUMENT;
        memcpy(&params, base, base->size);
    }
    f.pids = calloc((size_t)ranks, sizeof *f.pids);
    if (f.pids == NULL)
        return NCOLL_ERR_MEMORY;
    if (ncoll__board_create(ranks, &f.board) != 0) {
        rc = NCOLL_ERR_SYSTEM;
        goto free_pids;
    }
    fflush(NULL); /* or each child would print what is still buffered here */
    for (int r = 0; r < ranks; r++) {
        pid_t pid = fork();
        if (pid == 0)
            run_child(&f, r, parent, &params, main_fn, arg);
        if (pid < 0) {
            kill_all(&f);
            rc = NCOLL_ERR_SYSTEM;
            goto destroy_board;
        }
        f.pids[r] = pid;
        f.alive++;
    }
    rc = reap_all(&f);

destroy_board:
    ncoll__board_destroy(&f.board);
free_pids:
    free(f.pids);
    return rc;
}
