/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/interfere.h"

#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/bench.h"

/* A process that comes in bursts is busy for BURST_NS, and then sleeps for PAUSE_NS. */
#define BURST_NS 1000000u
#define PAUSE_NS 9000000

static pid_t *started;
static unsigned n_started;

/* Keeps the processor busy, without system calls: for ever, or for a time. */
static void compute(uint64_t ns)
{
    uint64_t since = now_ns();

    while (ns == 0 || now_ns() - since < ns)
        for (volatile unsigned i = 0; i < 1000; i++)
            ;
}

_Noreturn static void be_busy(int cpu, bool in_bursts, int ready)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0 || write(ready, "", 1) != 1)
        _exit(EXIT_FAILURE);
    close(ready);
    if (!in_bursts)
        compute(0);
    for (;;) {
        compute(BURST_NS);
        nanosleep(&pause, NULL);
    }
}

/* The process writes a byte to `ready` when it has its place. */
static void start_one(int cpu, bool in_bursts, int ready)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid < 0) {
        warn("--interfere: fork");
        interfere_stop();
        exit(EXIT_FAILURE);
    }
    if (pid > 0) {
        started[n_started++] = pid;
        return;
    }
    /* the parent may have ended before the signal was asked for */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    be_busy(cpu, in_bursts, ready);
}

void interfere_start(const struct options *options)
{
    cpu_set_t allowed;
    int ready[2];
    unsigned n_ready = 0;
    char byte;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || pipe2(ready, O_CLOEXEC) != 0)
        err(EXIT_FAILURE, "--interfere");
    setenv(INTERFERES, "1", 1);
    started = calloc((size_t)CPU_COUNT(&allowed) * options->interfere, sizeof *started);
    if (started == NULL)
        err(EXIT_FAILURE, NULL);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        for (unsigned i = 0; CPU_ISSET(cpu, &allowed) && i < options->interfere; i++)
            start_one(cpu, options->in_bursts, ready[1]);
    close(ready[1]);
    while (read(ready[0], &byte, 1) == 1)
        n_ready++;
    close(ready[0]);
    if (n_ready == n_started)
        return;
    warnx("--interfere: %u of %u processes could not be bound to their cores", n_started - n_ready,
          n_started);
    interfere_stop();
    exit(EXIT_FAILURE);
}

void interfere_stop(void)
{
    for (unsigned i = 0; i < n_started; i++)
        kill(started[i], SIGKILL);
    for (unsigned i = 0; i < n_started; i++)
        waitpid(started[i], NULL, 0);
    free(started);
    started = NULL;
    n_started = 0;
}
