/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of a measurement.
 *
 * A subject is something that can be measured: ncoll itself, its transport's bare exchange, an MPI.
 * A row is one subject, one collective and one size. All rows of a run are measured by the same
 * loop (measure.c) on the same ranks and buffers, taking turns, so that drift of the machine hits
 * all of them alike. Adding a subject is one file and one line in a table: of those that are ncoll
 * or a part of it below, of an MPI in main_mpi.c, of a library that needs no launcher in
 * main_beside.c.
 */
#ifndef NCOLL_TOOLS_BENCH_BENCH_H
#define NCOLL_TOOLS_BENCH_BENCH_H

#include <stdint.h>
#include <time.h>

#include "lib/inspect.h"
#include "tools/bench/distribution.h"
#include "tools/bench/hca.h"
#include "tools/bench/names.h"
#include "tools/bench/options.h"
#include "tools/bench/startup.h"

struct job;
struct row;

struct subject {
    const char *name;  /* "mpi": for JSON */
    const char *label; /* "MPI": before the collective's name in the table; "" for ncoll */

    /* By code (names.h): one call, NULL where it cannot. Returns a ncoll_status; the error's words
     * are in the context's last error, or failure() has been called. */
    int (*once[CODES])(struct job *job, const struct row *row);

    /* Instead of once: `calls` calls that it times itself. Such a subject has rows of no
     * collective, which others are compared with. */
    int (*batch)(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns);
    const char *what; /* it times: "exchange" */
    bool apart;       /* calls of batch do not follow each other without a pause */

    /* optional. Before and after each batch, outside the timing; collective. */
    int (*begin)(struct job *job, const struct row *row);
    int (*end)(struct job *job, const struct row *row);

    /* optional. Fills in the row's algorithm and radix, between begin and end. */
    int (*describe)(struct job *job, struct row *row);

    /* optional. Of what is measured that is not ncoll; text of at most `size` bytes. */
    void (*version)(char *text, size_t size);

    /* optional. Before rows are made and after all is measured, once; collective. close only where
     * all has gone well, as other ranks may be gone. */
    int (*open)(struct job *job);
    void (*close)(struct job *job);

    /* optional. Whether it can do what the row asks for: the same on all ranks, which all ask.
     * Between open and close; IN and OUT are there. */
    bool (*can)(struct job *job, const struct row *row);
};

extern const struct subject subject_ncoll, subject_persistent;
extern const struct subject subject_raw, subject_flags, subject_copy, subject_pull;
extern const struct subject subject_rate, subject_combine;
extern const struct subject subject_overlap;
extern const struct subject subject_entry, subject_exit, subject_strict;
/* In every table, with a comma between. */
#define SUBJECTS_OF_NCOLL                                                                          \
    &subject_raw, &subject_flags, &subject_copy, &subject_pull, &subject_combine, &subject_rate,   \
        &subject_ncoll, &subject_persistent, &subject_overlap, &subject_entry, &subject_exit,      \
        &subject_strict

extern const struct subject subject_mpi;
extern const struct subject subject_beside; /* of the library that the program is built with */

/* Why a row has no more calls. */
enum stop {
    STOP_CALLS, /* as many as asked for */
    STOP_PRECISION,
    STOP_BUDGET,
};

struct row {
    const struct subject *subject;
    enum collective collective; /* 0 for a subject with batch */
    size_t bytes, count; /* of the vector, or of each block; of blocks that differ: average */
    enum distribution distribution;
    struct blocks blocks;   /* empty without a distribution */
    const char *algorithm;  /* NULL: not known */
    const char *why;        /* it was chosen; NULL: not known */
    const char *from;       /* what that goes back to: "table", ..; the same */
    unsigned radix;         /* 0: none */
    unsigned batch, warmup; /* calls of a batch, timed and before those; see trial.h */
    unsigned calls;         /* timed calls so far: whole batches */
    unsigned missed;        /* calls that did not count, as a rank was late for their windows */
    uint64_t *samples_ns;   /* of each call the maximum over ranks, in the order of calls */
    uint64_t *batch_ns;     /* the same of each batch as a whole; of rows that have a loop */
    uint64_t *cores_ns;     /* before and after each batch: how far apart cores are (cores.h) */
    /* Of each call, if they start in windows, now and at first; 0: not known yet. */
    uint64_t window_ns, window_first_ns;
    uint64_t wrong;             /* elements that differ from the reference, or broken barriers */
    uint64_t switches, sleeps;  /* of ranks: context switches; sleeps in ncoll */
    uint64_t *hca;              /* of job->hca, what was counted in the timed calls */
    uint64_t own_sum_ns;        /* of this rank's own times */
    uint64_t first_ns;          /* of the very first call */
    uint64_t compute_ns, turns; /* between start and wait (subject_overlap.c) */
    enum stop stopped;

    double p50_us, p90_us, p99_us, p999_us, min_us, max_us; /* see stats.h */
    double p50_low_us, p50_high_us; /* 95 % interval of the median; 0: too few samples */
    double loop_us;  /* median over batches: the longest of any rank, divided by the calls; 0: the
                        calls do not follow each other with nothing in between */
    double first_us; /* the longest of any rank */
    double mean_us, mean_min_us, mean_max_us; /* over ranks, of the means of their own times */
    double compute_us;                        /* the longest of any rank; 0: nothing is computed */
};

struct window;

/* Of a batch as a whole. */
enum batch_figure {
    BATCH_NS,     /* it took */
    BATCH_SPENT,  /* whether the budget is */
    BATCH_BEFORE, /* ns: how far apart cores were (cores.h) */
    BATCH_AFTER,
    BATCH_FIGURES
};

struct job {
    const struct options *options;
    const struct subject *const *subjects; /* NULL-terminated */
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    unsigned batch;               /* calls per batch: at most */
    void *in, *out, *expected;    /* a block for each rank, if any collective has blocks */
    uint64_t *entry_ns, *exit_ns; /* of the batch that runs */
    uint64_t *own_ns;             /* its samples on this rank */
    uint64_t *all_ns;             /* the maximum over ranks of these, and of batch_own */
    uint64_t batch_own[BATCH_FIGURES];
    uint64_t end_ns; /* of the budget; 0: none */
    uint64_t seed;
    uint64_t serial;        /* calls checked so far: seeds their data */
    uint64_t late_serial;   /* calls that ranks were late for so far (--skew) */
    ncoll_request *request; /* persistent */
    int sync;               /* of the rows that are not strict */
    struct row *rows;
    unsigned n_rows;
    struct bare_flags *flags; /* shared by all ranks (bare.h); NULL: none */
    uint64_t flags_epoch;
    struct window *window; /* NULL: calls do not start in windows */
    struct hca *hca;       /* of rank 0; NULL: none */
    void *library;         /* of the subject that has open */
    void *cold;            /* --cold; else NULL */
    size_t cold_bytes;
    bool crowded;           /* ranks share cores */
    bool sees_cores;        /* how far apart they are: an even number of ranks, each on a core of
                               its own, on one node over shared memory */
    bool bound;             /* ranks are bound to cores */
    struct ncoll_stats sum; /* over ranks: rnr, sleeps; most of any rank: connections */
    int32_t *cpus;          /* that ranks are bound to; see machine.h */
    struct startup startup;
    double clock_error_us;  /* the most that a clock may be off, with windows */
    double clock_offset_us; /* the most that it differs from that of rank 0 */
};

#define BENCH_ROOT 0 /* of rooted collectives */

/* See names.h. */
static inline unsigned row_code(const struct row *row)
{
    return row->collective + (row->distribution != DISTRIBUTION_NONE ? WITH_COUNTS : 0);
}

static inline uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What one rank does from joining the job to leaving it (rank.c). Returns its exit status. */
int bench_rank(const ncoll_params *params, const struct options *options,
               const struct subject *const *subjects, bool bound);

/* Elements of the row's IN or OUT on this rank (plan.c). */
size_t elements_of(const struct job *job, const struct row *row, enum data_form form);

/* Whether the calls of the row follow each other with nothing in between (plan.c). */
bool is_back_to_back(const struct job *job, const struct row *row);

/* Whether the plan has any row of the subject (plan.c). */
bool has_rows(const struct job *job, const struct subject *subject);

/* Megabytes (10^6) that each rank sends in a second: in the bare exchange, while it gets as many;
 * in a ring allreduce of so many bytes, 2(P-1)/P of them; that it copies in the bare copy. 0: has
 * none (plan.c). */
double bandwidth_of(const struct job *job, const struct row *row);
/* The same of an allreduce over the most that the bare exchange has reached: 1 for a ring that does
 * nothing but send. 0: not known (plan.c). */
double bound_of(const struct job *job, const struct row *row);

/* Messages that each rank sends in a second in the exchange of many at once, and gets as many. 0:
 * it is none (plan.c). */
double rate_of(const struct row *row);

/* The row of a subject that `row` is to be compared with; NULL if there is none (plan.c). */
const struct row *row_of(const struct job *job, const struct subject *subject,
                         const struct row *row);

#endif
