/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of a measurement.
 *
 * A subject is something that can be measured: ncoll, the bare exchange of its transport, an MPI. A
 * row is one subject, one collective and one size. All rows of a run are measured by the same loop
 * (measure.c) on the same ranks and buffers, in turns, so that drift of the machine affects all of
 * them alike. To add a subject takes one file and one line in a table: in this file for subjects
 * that are ncoll or a part of it, in main_mpi.c for an MPI, and in main_beside.c for a library that
 * needs no launcher.
 */
#ifndef NCOLL_TOOLS_BENCH_BENCH_H
#define NCOLL_TOOLS_BENCH_BENCH_H

#include <stdint.h>
#include <time.h>

#include "tools/inside.h"
#include "tools/bench/measure/distribution.h"
#include "tools/bench/measure/hca.h"
#include "tools/bench/names.h"
#include "tools/bench/options.h"

struct job;
struct row;
struct with_threshold;

/* Does something with a row. Returns a ncoll_status. */
typedef int (*call_fn)(struct job *job, const struct row *row);

struct subject {
    const char *name;  /* "mpi": for JSON */
    const char *label; /* "MPI": before the collective's name in the table; "" for ncoll */

    /* once makes one call, for each code (names.h) that the subject has: once[code], or `any` for
     * all codes. Returns a ncoll_status; the context's last error has the error, or failure_say()
     * was called. */
    unsigned codes; /* bits 1u << code */
    const call_fn *once;
    call_fn any;
    unsigned sync; /* mode of ncoll's calls, see ncoll_group_set_sync(); 0: that of the group */

    /* In place of once: makes `calls` calls, and times them itself. Such a subject has rows without
     * a collective, which others are compared with. */
    int (*batch)(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns);
    const char *what;  /* name of what it times, such as "exchange" */
    bool apart;        /* there are pauses between the calls of batch */
    bool is_parameter; /* of ncoll-sim's model: nothing is compared with it */

    /* optional. Called before and after each batch, outside the timing; collective. */
    call_fn begin, end;

    /* optional. Fills in the row's algorithm and radix, between begin and end. */
    int (*describe)(struct job *job, struct row *row);

    /* optional. Writes the right result to job->expected, in place of that of the collective. Returns
     * false if it is not known. */
    bool (*expect)(const struct job *job, const struct row *row);

    /* optional. Writes the version of what is measured, if that is not ncoll, in at most `size`
     * bytes. */
    void (*version)(char *text, size_t size);

    /* optional. Called once, before rows are made and after everything was measured; collective.
     * close is called only after success, as other ranks may be gone otherwise. */
    int (*open)(struct job *job);
    void (*close)(struct job *job);

    /* optional. True if it can do what the row asks for. All ranks ask, and get the same answer. It
     * is called between open and close, when IN and OUT exist. */
    bool (*can)(struct job *job, const struct row *row);
};

/* Defines the subject of a limit that collectives are compared with. */
#define SUBJECT_LIMIT(word, ...)                                                                   \
    const struct subject subject_##word = {.name = #word, .label = #word, __VA_ARGS__}

extern const struct subject subject_ncoll, subject_persistent;
extern const struct subject subject_raw, subject_flags, subject_futex, subject_copy, subject_pull;
extern const struct subject subject_rate, subject_combine;
extern const struct subject subject_push, subject_take, subject_call;
extern const struct subject subject_overlap, subject_compressed, subject_threshold;
extern const struct subject subject_entry, subject_exit, subject_strict;
extern const struct subject subject_slack0, subject_slack1, subject_slack4;
/* The subjects of ncoll, with commas between; part of every table. */
#define SUBJECTS_OF_NCOLL                                                                          \
    &subject_raw, &subject_flags, &subject_futex, &subject_copy, &subject_pull, &subject_combine,  \
        &subject_rate, &subject_push, &subject_take, &subject_call, &subject_ncoll,                \
        &subject_persistent, &subject_overlap, &subject_entry, &subject_exit, &subject_strict,     \
        &subject_slack0, &subject_slack1, &subject_slack4, &subject_compressed, &subject_threshold

extern const struct subject subject_mpi;
extern const struct subject subject_beside; /* of the library that the program is built with */

/* The reason why a row has no more calls. */
enum stop {
    STOP_CALLS, /* as many as asked for */
    STOP_PRECISION,
    STOP_BUDGET,
};

struct row {
    const struct subject *subject;
    enum collective collective; /* 0 for a subject with batch */
    size_t bytes, count; /* size of the vector, or of each block; the average if blocks differ */
    double fraction;     /* of subject_threshold; else 0 */
    enum distribution distribution;
    struct blocks blocks;   /* empty unless there is a distribution */
    const char *algorithm;  /* NULL: not known */
    const char *why;        /* reason of the choice; NULL: not known */
    const char *from;       /* source of the choice, such as "table"; NULL: not known */
    unsigned radix;         /* 0: none */
    size_t segment_bytes;   /* of the runs of its schedule; 0: one run does it all */
    unsigned lanes;         /* runs at the same time */
    unsigned batch, warmup; /* timed calls of a batch, and untimed calls before them; see trial.c */
    unsigned calls;         /* timed calls so far, in whole batches */
    unsigned missed;        /* calls that do not count: a rank was late for the window */
    uint64_t *samples_ns;   /* for each call the maximum over ranks, in the order of calls */
    uint64_t *batch_ns;     /* the same for each batch as a whole; for rows that have a loop */
    uint64_t *cores_ns;     /* for each batch: distance of cores before and after it (cores.h) */
    /* The length of the window of each call, now and at first, if calls start in windows; 0: not
     * known yet. */
    uint64_t window_ns, window_first_ns;
    uint64_t wrong;             /* elements that differ from the reference, or broken barriers */
    uint64_t switches, sleeps;  /* sums over ranks: context switches; sleeps in ncoll */
    uint64_t *hca;              /* [of job->hca] counts during the timed calls */
    uint64_t own_sum_ns;        /* sum of this rank's own times */
    uint64_t first_ns;          /* time of the very first call */
    uint64_t compute_ns, turns; /* computation between start and wait (subject_overlap.c) */
    enum stop stopped;

    double p50_us, p90_us, p99_us, p999_us, min_us, max_us; /* see stats.h */
    double p50_low_us, p50_high_us; /* 95 % interval of the median; 0: too few samples */
    double loop_us;  /* median over batches: the longest of any rank, divided by the calls; 0: the
                        calls do not follow each other with nothing in between */
    double first_us; /* the longest of any rank */
    /* of each rank's mean time: the mean over ranks, the lowest and the highest */
    double mean_us, mean_min_us, mean_max_us;
    double compute_us; /* the longest of any rank; 0: nothing is computed */
};

struct call_window;

/* The numbers that ranks exchange after each batch, besides the times of calls. */
enum batch_figure {
    BATCH_NS,     /* its time */
    BATCH_SPENT,  /* whether the budget is spent */
    BATCH_BEFORE, /* distance of cores before it, in ns (cores.h) */
    BATCH_AFTER,
    BATCH_FIGURES
};

/* The cost of a context in time and memory. In the report each number is the highest of any rank. */
struct startup {
    uint64_t create_ns;        /* ncoll_context_create() */
    uint64_t barrier_ns;       /* the first call: it connects the ranks that it needs */
    uint64_t resident_bytes;   /* growth of resident memory by both; shared pages count fully */
    uint64_t window_bytes;     /* windows and scratch space, after the measurement */
    uint64_t registered_bytes; /* of ncoll_alloc() and ncoll_mem_register(), then */
    /* what creation consists of: of rank 0, the highest of the others, and the sum over all */
    struct startup_costs root, others, sum;
};

struct job {
    const struct options *options;
    const struct subject *const *subjects; /* NULL-terminated */
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    unsigned batch;               /* calls per batch: at most */
    void *in, *out, *expected;    /* with one block for each rank, if any collective has blocks */
    uint64_t *entry_ns, *exit_ns; /* of the current batch */
    uint64_t *own_ns;             /* samples of the current batch on this rank */
    uint64_t *all_ns;             /* maximum over ranks of these samples, and of batch_own */
    uint64_t batch_own[BATCH_FIGURES];
    uint64_t end_ns; /* end of the budget; 0: none */
    uint64_t seed;
    uint64_t serial;              /* checked calls so far; their data depends on it */
    uint64_t late_serial;         /* calls so far that ranks were late for (--skew) */
    ncoll_request *request;       /* persistent */
    ncoll_stale *stale;           /* of the rows with slack */
    ncoll_compressor *compressor; /* subject_compressed */
    int sync;                     /* mode of the rows that are not strict */
    struct row *rows;
    unsigned n_rows;
    struct bare_flags *flags; /* memory shared by all ranks (bare.h); NULL: none */
    uint64_t flags_epoch;
    struct with_threshold *with_threshold; /* of subject_threshold; NULL: it is not measured */
    ncoll_group *alone;                    /* this rank, for subject_call */
    struct call_window *window;            /* NULL: calls do not start in windows */
    struct hca *hca;                       /* on rank 0; NULL: none */
    void *library;                         /* belongs to the subject that has open */
    void *cold;                            /* --cold; else NULL */
    size_t cold_bytes;
    bool oversubscribed; /* ranks share cores */
    /* the distance of cores can be measured: an even number of ranks, each on a core of its own, on
     * one node over shared memory */
    bool sees_cores;
    bool bound;             /* ranks are bound to cores */
    struct ncoll_stats sum; /* sums over ranks: rnr, sleeps; maximum over ranks: connections */
    int32_t *cpus;          /* the processor of each rank; see machine.h */
    struct startup startup;
    double clock_error_us;  /* with windows: the largest possible error of a clock */
    double clock_offset_us; /* the largest difference of a clock from that of rank 0 */
};

#define BENCH_ROOT 0 /* of rooted collectives */
/* The longest message that is pushed: longer ones are cut to the bulk memory of an epoch. */
#define PUSH_BYTES_MAX ((size_t)1 << 20)

/* All codes, as bits. */
#define CODES_WITH_COUNTS                                                                          \
    ((1u << COLL_GATHER | 1u << COLL_SCATTER | 1u << COLL_ALLGATHER) << WITH_COUNTS)
#define ALL_CODES (((1u << COLLECTIVES) - (1u << COLL_BARRIER)) | CODES_WITH_COUNTS)

/* A list of functions by code: barrier_once and so on, or with another word. */
#define BY_CODE(word)                                                                              \
    {                                                                                              \
        [COLL_BARRIER] = barrier_##word, [COLL_ALLREDUCE] = allreduce_##word,                      \
        [COLL_BCAST] = bcast_##word, [COLL_REDUCE] = reduce_##word, [COLL_GATHER] = gather_##word, \
        [COLL_SCATTER] = scatter_##word, [COLL_ALLGATHER] = allgather_##word,                      \
        [COLL_ALLTOALL] = alltoall_##word, [COLL_REDUCE_SCATTER] = reduce_scatter_##word,          \
        [COLL_SCAN] = scan_##word, [COLL_EXSCAN] = exscan_##word,                                  \
        [COLL_GATHER + WITH_COUNTS] = gatherv_##word,                                              \
        [COLL_SCATTER + WITH_COUNTS] = scatterv_##word,                                            \
        [COLL_ALLGATHER + WITH_COUNTS] = allgatherv_##word,                                        \
    }

/* Returns the code of the row's collective: see names.h. */
static inline unsigned row_code(const struct row *row)
{
    return row->collective + (row->distribution != DISTRIBUTION_NONE ? WITH_COUNTS : 0);
}

/* The function that makes one call of the row; NULL: its subject has no such call. */
static inline call_fn call_of(const struct subject *subject, unsigned code)
{
    if (!(subject->codes & 1u << code))
        return NULL;
    return subject->any != NULL ? subject->any : subject->once[code];
}

static inline uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Runs one rank, from joining the job to leaving it (rank.c). Returns its exit status. */
int bench_rank(const ncoll_params *params, const struct options *options,
               const struct subject *const *subjects, bool bound);

/* True if another process reports mistakes of the command line, and this one must not. */
bool run_is_quiet(void);

/* Forks options->ranks ranks. If that number is 0, this process runs as one rank of the job that a
 * launcher has started; without a launcher it forks the default number of ranks. Returns an exit
 * status. */
int run_ranks(const struct options *options, const struct subject *const *subjects);

/* Returns the number of elements of the row's IN or OUT on this rank (plan.c). */
size_t elements_of(const struct job *job, const struct row *row, enum data_form form);

/* plan.c: true if the calls of the row follow each other with nothing in between. */
bool is_back_to_back(const struct job *job, const struct row *row);

/* plan.c: true if any row of the plan belongs to the subject. */
bool has_rows(const struct job *job, const struct subject *subject);

/* plan.c: returns the bandwidth in megabytes (10^6) a second at the median time; 0: there is none.
 * For a collective it is the bus bandwidth as NCCL defines it: that of the busiest link of a ring,
 * which does not depend on the number of ranks. For the bare exchange it counts what each rank
 * sends while it receives as much; for the bare copy what it copies. */
double bandwidth_of(const struct job *job, const struct row *row);
/* plan.c: returns the bandwidth of an allreduce divided by the highest of the bare exchange: 1 for
 * a ring that only sends. 0: not known. */
double bound_of(const struct job *job, const struct row *row);

/* plan.c: returns the messages that each rank sends in a second while it receives as many, for the
 * exchange of many messages at once; 0 for other rows. */
double rate_of(const struct row *row);

/*
 * Makes the memory of the flags and shares it between all ranks. Collective. job->flags stays NULL
 * if ranks share no memory: on several nodes, with a transport other than shm, or if /proc does not
 * let ranks open each other's files, which rank 0 reports. Returns NCOLL_OK, or the error of a
 * collective.
 */
int bare_flags_open(struct job *job);
void bare_flags_close(struct job *job);

/* Returns the percentage of the call that was hidden by computation between start and wait
 * (subjects/overlap.c); -1: the row does not measure this. */
double overlap_percent(const struct job *job, const struct row *row);

/* subjects/threshold.c: true if element i of the row's vector is in, in the latest call. */
bool threshold_has_element(const struct job *job, const struct row *row, size_t i);
/* Returns the number of ranks that are in: the first ones, as the root is rank 0. */
int threshold_ranks(const struct job *job, const struct row *row);

/* plan.c: returns the row of another subject to compare `row` with; NULL if there is none. */
const struct row *row_of(const struct job *job, const struct subject *subject,
                         const struct row *row);

#endif
