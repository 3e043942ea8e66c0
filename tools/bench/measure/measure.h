/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the measurement, each in a file of its own.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_MEASURE_H
#define NCOLL_TOOLS_BENCH_MEASURE_MEASURE_H

#include <jansson.h>

#include "tools/bench/bench.h"
#include "tools/bench/measure/clock_model.h"
#include "tools/bench/measure/hca.h"
#include "tools/bench/options.h"

/* ---- plan.c: which rows a run has, and the memory for them */

/* Fills in rows, buffers and batch size of a job. Returns NCOLL_OK, NCOLL_ERR_MEMORY, or
 * NCOLL_ERR_UNSUPPORTED: the library to compare with can do none of the rows. plan_free() follows
 * in any case. */
int plan_make(struct job *job);
void plan_free(struct job *job);

/* ---- trial.c: how long calls take, so that batches of slow ones fit into the budget */

/*
 * Called before the first batch of n rows that take turns. It makes a few untimed calls of each
 * row. If a batch would overrun its share of the budget, it reduces the calls of a batch, timed and
 * untimed, for all n rows alike. `groups` such groups of rows, this one included, have had no batch
 * yet. Does nothing if the number of calls of a batch is fixed. Collective. Returns NCOLL_OK, or
 * the first error.
 */
int trial_make(struct job *job, struct row *rows, unsigned n, unsigned groups);

/* ---- calls.c: the one loop that times all subjects */

/* The purpose for which calls are made. */
enum purpose {
    PURPOSE_DATA,   /* one call with data of its own, which stays for those that follow */
    PURPOSE_WARMUP, /* with --check one rank, drawn at random, is late */
    PURPOSE_TIMES,
};

/*
 * Makes calls of a row. Fills in job->own_ns and, unless the subject has batch, ->entry_ns and
 * ->exit_ns; a call whose window was missed has MISSED in own_ns. Returns NCOLL_OK, or an error of
 * a call.
 */
int calls_make(struct job *job, struct row *row, unsigned calls, enum purpose purpose);

#define MISSED UINT64_MAX

/* ---- start.c: what happens before a call that does not follow the one before directly */

struct start {
    uint64_t from_ns;  /* start of the call's time */
    uint64_t entry_ns; /* this rank enters the call at this time or later */
    bool missed;       /* the window had already begun */
};

/*
 * Prepares a call: writes data, empties caches, and brings ranks together by a barrier or a window;
 * then the rank is late on purpose (--skew). Times count from the moment when the last rank was to
 * enter; every rank can compute the lateness of all. Collective.
 */
int start_call(struct job *job, struct row *row, unsigned call, enum purpose purpose,
               struct start *out);

/* Returns the lateness of a rank in ns, for the serial-th call with lateness (--skew); it depends
 * on the seed. */
uint64_t start_lateness(const struct options *options, uint64_t seed, uint64_t serial, int rank,
                        int ranks);

/* Allocates memory to empty the caches of this core and of cores that share them. Returns false if
 * there is none. */
bool start_cold_open(struct job *job);
void start_cold_close(struct job *job);

/* ---- window.c: calls that begin at times that all ranks have agreed on, by the clock of rank 0. A
 * call does not count if a rank came too late for it. If there are many such calls, windows get
 * longer. */

/* One in a job. */
struct call_window {
    ncoll_group *pairs[32];  /* by step (window.c): for comparing clocks; or NULL */
    unsigned steps;          /* of all ranks */
    struct clock_line clock; /* the clock of rank 0 as a function of this rank's clock */
    uint64_t begin_ns;       /* start of the first window of the batch, by the clock of rank 0 */
    uint64_t error_ns;       /* the largest error at the start of any batch */
};

/* Makes the groups of two, and compares clocks for the first time. Collective, as window_close()
 * is, which has to follow in any case. */
int window_open(struct job *job);
int window_close(struct job *job);

/* Compares clocks again, and agrees on the start of the batch's first window. Collective. */
int window_begin(struct job *job, const struct row *row);

/* Waits until the call's window begins, at *from_ns by this rank's clock. Returns false if it has
 * already begun. */
bool window_wait(const struct job *job, const struct row *row, unsigned call, uint64_t *from_ns);

/* ---- batch.c: one batch of one row */

/*
 * Makes untimed calls, then row->batch timed ones, and adds the samples to the row: the maximum
 * over ranks of each call. *spent becomes true on all ranks if rank 0 has then spent the budget.
 * Collective. Returns NCOLL_OK, or the first error.
 */
int batch_make(struct job *job, struct row *row, bool *spent);

/* ---- check.c, check_clock.c: compare results, without using the library's own operations */

/* Fills in a rank's input for a call; every (rank, element, serial) gives other values. */
void check_fill(const struct job *job, const struct row *row, int rank, void *in);

/* Returns the number of elements of job->out that differ from a serial evaluation over all ranks'
 * inputs. */
uint64_t check_result(const struct job *job, const struct row *row);

/* Makes one rank late for the call, a different one each time. If a barrier does not wait for it,
 * check_barriers() finds that. */
void check_be_late(const struct job *job);

/*
 * Counts barriers of the last batch that some rank left before another had entered. Collective. On
 * one node all ranks read the same clock; across nodes the differences of clocks are bounded first,
 * from allreduces (see check_clock.c).
 */
int check_barriers(struct job *job, unsigned calls, uint64_t *broken);

/* Bounds for the difference between the clock of rank 0 and this rank's clock: lo <= theirs - ours
 * <= hi. */
struct clock_bounds {
    int64_t lo, hi;
};
int check_clock(struct job *job, struct clock_bounds *out);

/* ---- measure.c, summary.c: the order and number of measurements, and their statistics */

/*
 * Measures all rows of the job in turns: a batch of each row, in random order, another batch of
 * each, and so on, until the number of calls is reached, medians are precise or the budget is
 * spent. Fills in the statistics on every rank. Collective. Returns NCOLL_OK, or the first error.
 */
int measure(struct job *job);

/* summary.c: compute the statistics of a row (its samples are sorted into `sorted`) and of the job.
 * Collective. */
int summary_of_row(struct job *job, struct row *row, uint64_t *sorted);
int summary_of_job(struct job *job);

/* ---- machine.c: what the machine of rank 0 is, and how much of it may be used */

/* Writes host, kernel, cpu_model, governor, limits of control groups, and so on, into an object. */
void machine_describe(json_t *out, const struct options *options);

/* Returns the processor that this process is bound to; -1: none, or several. */
int machine_own_cpu(void);

#endif
