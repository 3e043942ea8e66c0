/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A batch begins with a barrier. Two things come before the timed calls: a call with new data,
 * whose result is compared with a reference, and the warm-up. The data stays for the timed calls,
 * so that the result of the last one is compared as well. None of this is timed, nor is the
 * exchange of samples.
 *
 * If calls follow each other without a pause, the time of the whole batch is measured as well
 * (loop). Ranks that share cores end a call one after the other. So the maximum over ranks of each
 * call includes much of the next call, which then counts twice; in the time of the batch it does
 * not.
 */
#include "tools/bench/measure/measure.h"

#include <string.h>
#include <sys/resource.h>

#include "examples/cg/support.h"
#include "tools/bench/measure/cores.h"
#include "tools/bench/measure/stats.h"

/* Up to this product of elements and ranks, both results are compared in every batch. For longer
 * vectors only the result of the last call is compared, and only in batches 1, 4, 16, and so on. */
#define SHORT ((size_t)1 << 16)

/* At first a window is as long as this number of warm-up calls, barriers included. */
#define WINDOW_CALLS 2
#define WINDOW_MIN   5000u
#define ATTEMPTS     50 /* for a batch in which all calls keep to their windows */

/* If more than this part of the calls miss their windows, the windows get longer. Their growth is
 * limited: a rank that has lost its core for a while misses windows of any length. */
#define MISSED_PART  4 /* 1/4 */
#define WINDOW_GROWN 16

static bool is_short(const struct job *job, const struct row *row)
{
    return elements_of(job, row, out_form(row->collective)) * (size_t)job->ranks <= SHORT;
}

static bool is_compared(const struct job *job, const struct row *row)
{
    unsigned batch = row->calls / row->batch + 1;

    if (job->options->validation != VALIDATE_SOME || row->collective == COLL_BARRIER ||
        row->subject->batch != NULL)
        return false;
    while (batch % 4 == 0)
        batch /= 4;
    return batch == 1 || is_short(job, row);
}

/* Makes the untimed calls of a batch, between begin and end. */
static int untimed_calls(struct job *job, struct row *row)
{
    int status = NCOLL_OK;

    if (is_compared(job, row))
        status = calls_make(job, row, 1, PURPOSE_DATA);
    if (status == NCOLL_OK && is_compared(job, row) && is_short(job, row))
        row->wrong += check_result(job, row);
    if (status == NCOLL_OK)
        status = calls_make(job, row, row->warmup, PURPOSE_WARMUP);
    return status;
}

/* Counters of the operating system, of the library and of rank 0's device, for this process. */
struct counters {
    uint64_t switches, sleeps;
    struct hca_counts hca;
};

static void read_counters(const struct job *job, struct counters *out)
{
    struct ncoll_stats stats = {.size = sizeof stats};
    struct rusage usage;

    hca_read(job->hca, &out->hca);
    getrusage(RUSAGE_SELF, &usage);
    ncoll_context_stats(job->ctx, &stats);
    out->switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
    out->sleeps = stats.sleeps;
}

static int timed_and_counted(struct job *job, struct row *row)
{
    struct counters before, after;

    read_counters(job, &before);
    uint64_t start = now_ns();
    int status = calls_make(job, row, row->batch, PURPOSE_TIMES);
    job->batch_own[BATCH_NS] = now_ns() - start;
    read_counters(job, &after);
    row->switches += after.switches - before.switches;
    row->sleeps += after.sleeps - before.sleeps;
    hca_add(job->hca, row->hca, &before.hca, &after.hca);
    return status;
}

static int calls_of(struct job *job, struct row *row)
{
    const struct subject *subject = row->subject;
    bool compared = is_compared(job, row);
    int status = subject->begin != NULL ? subject->begin(job, row) : NCOLL_OK;

    if (status == NCOLL_OK && row->algorithm == NULL && subject->describe != NULL)
        status = subject->describe(job, row);
    if (status == NCOLL_OK)
        status = untimed_calls(job, row);
    if (status == NCOLL_OK && job->options->start == START_WINDOW && subject->batch == NULL)
        status = window_begin(job, row);
    if (status == NCOLL_OK)
        status = timed_and_counted(job, row);
    /* Results are compared only when all ranks have ended the last call: on a shared core the
     * comparison would slow down a rank that is still in it. */
    if (status == NCOLL_OK && compared)
        status = ncoll_barrier(job->world, NCOLL_BLOCK);
    if (status == NCOLL_OK && compared)
        row->wrong += check_result(job, row);
    if (status == NCOLL_OK && subject->end != NULL)
        status = subject->end(job, row);
    return status;
}

static int check_barriers_of(struct job *job, struct row *row)
{
    uint64_t broken = 0;

    if (job->options->validation == VALIDATE_NONE || row->collective != COLL_BARRIER)
        return NCOLL_OK;
    int status = check_barriers(job, row->batch, &broken);
    row->wrong += job->rank == 0 ? broken : 0; /* the number is the same on all ranks */
    return status;
}

/* Finds the first length of a window from the time of a few calls. */
static int measure_window(struct job *job, struct row *row)
{
    unsigned calls = row->warmup + 1;
    int status = row->subject->begin != NULL ? row->subject->begin(job, row) : NCOLL_OK;

    calls = calls > row->batch ? row->batch : calls;
    uint64_t start = now_ns();
    if (status == NCOLL_OK)
        status = calls_make(job, row, calls, PURPOSE_WARMUP);
    row->window_ns = WINDOW_MIN + WINDOW_CALLS * (now_ns() - start) / calls;
    if (status == NCOLL_OK && row->subject->end != NULL)
        status = row->subject->end(job, row);
    if (status == NCOLL_OK)
        status = ncoll_allreduce(job->world, &row->window_ns, &row->window_ns, 1, NCOLL_UINT64,
                                 NCOLL_MAX, NCOLL_BLOCK);
    row->window_first_ns = row->window_ns;
    return status;
}

/*
 * The maximum over ranks of each call and of each figure of the batch: job->all_ns. A call whose
 * window any rank has missed does not count. The other calls are added to the row, up to the number
 * that the batch still lacks.
 */
static int exchange(struct job *job, struct row *row, unsigned *kept)
{
    unsigned n = row->batch;

    memcpy(job->all_ns, job->own_ns, n * sizeof *job->own_ns);
    job->batch_own[BATCH_SPENT] = job->end_ns > 0 && job->rank == 0 && now_ns() > job->end_ns;
    memcpy(job->all_ns + n, job->batch_own, sizeof job->batch_own);
    int status = ncoll_allreduce(job->world, job->all_ns, job->all_ns, n + BATCH_FIGURES,
                                 NCOLL_UINT64, NCOLL_MAX, NCOLL_BLOCK);
    unsigned missed = 0;
    for (unsigned i = 0; status == NCOLL_OK && i < n; i++) {
        missed += job->all_ns[i] == MISSED;
        if (job->all_ns[i] == MISSED || *kept == n)
            continue;
        row->samples_ns[row->calls + (*kept)++] = job->all_ns[i];
        row->own_sum_ns += job->own_ns[i];
    }
    row->missed += missed;
    if (missed > n / MISSED_PART && row->window_ns < WINDOW_GROWN * row->window_first_ns)
        row->window_ns *= 2;
    return status;
}

static void note_batch(const struct job *job, struct row *row, const uint64_t *figures)
{
    unsigned batch = row->calls / row->batch;

    if (is_back_to_back(job, row))
        row->batch_ns[batch] = figures[BATCH_NS];
    row->cores_ns[batch * CORES_LOOKS] = figures[BATCH_BEFORE];
    row->cores_ns[batch * CORES_LOOKS + 1] = figures[BATCH_AFTER];
}

/* Exchanges are timed in groups, since the clock is too coarse for a single one. */
#define GROUPS     9
#define EACH_GROUP 8
/* The first exchange does not count, since it also waits for the later rank. */
#define EXCHANGES (1 + GROUPS * EACH_GROUP)

/* Measures how far apart the cores of this rank and its neighbour are (cores.h): the median of nine
 * groups of eight exchanges; 0 where job->sees_cores is false. */
static int cores_look(struct job *job, uint64_t *exchange_ns)
{
    uint64_t samples_ns[EXCHANGES], groups_ns[GROUPS] = {0};

    *exchange_ns = 0;
    if (!job->sees_cores)
        return NCOLL_OK;
    int status = ncoll__raw_exchange(job->world, 1, 0, EXCHANGES, samples_ns);
    if (status != NCOLL_OK)
        return status;
    for (unsigned i = 0; i < GROUPS * EACH_GROUP; i++)
        groups_ns[i / EACH_GROUP] += samples_ns[1 + i];
    stats_sort(groups_ns, GROUPS);
    *exchange_ns = stats_quantile(groups_ns, GROUPS, 500) / EACH_GROUP;
    return NCOLL_OK;
}

int batch_make(struct job *job, struct row *row, bool *spent)
{
    bool windows = job->options->start == START_WINDOW && row->subject->batch == NULL;
    unsigned kept = 0, attempts = 0;
    int status = ncoll_barrier(job->world, NCOLL_BLOCK);

    if (status == NCOLL_OK && windows && row->window_ns == 0)
        status = measure_window(job, row);
    if (status == NCOLL_OK)
        status = cores_look(job, &job->batch_own[BATCH_BEFORE]);
    while (status == NCOLL_OK && kept < row->batch) {
        if (attempts++ == ATTEMPTS)
            return failure_say(NCOLL_ERR_SYSTEM,
                               "ranks are late for most windows, however long they are: "
                               "use --start barrier");
        status = calls_of(job, row);
        if (status == NCOLL_OK)
            status = ncoll_barrier(job->world, NCOLL_BLOCK);
        if (status == NCOLL_OK)
            status = cores_look(job, &job->batch_own[BATCH_AFTER]);
        if (status == NCOLL_OK)
            status = check_barriers_of(job, row);
        if (status == NCOLL_OK)
            status = exchange(job, row, &kept);
    }
    if (status == NCOLL_OK)
        note_batch(job, row, job->all_ns + row->batch);
    *spent = status == NCOLL_OK && job->all_ns[row->batch + BATCH_SPENT] != 0;
    row->calls += row->batch;
    return status;
}
