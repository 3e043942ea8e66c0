/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unless something has to happen before each call, calls follow each other without a pause. The end
 * of one is then the start of the next, so no time is lost between them. The clock is read once for
 * each call; this cost is part of the sample, and the report states it.
 */
#include "tools/bench/measure/measure.h"

#include "tools/bench/measure/mix.h"

/* ------------------------------------------------------------------ faults to find (--plant) -- */

#define EVERY    100
#define LATE_NS  200000u
#define EARLY_NS 1000000000u

/* Makes the last rank 200 us late in the first of each hundred calls, within the measured time. */
static void plant_straggler(const struct job *job, unsigned call)
{
    if (job->rank != job->ranks - 1 || call % EVERY != 0)
        return;
    for (uint64_t start = now_ns(); now_ns() - start < LATE_NS;)
        ;
}

/* Plants an error after the i-th call of a batch, on one rank: inverts a bit of the result, or
 * makes the rank seem to have left a barrier before others entered it. */
static void plant_wrong(struct job *job, const struct row *row, unsigned i)
{
    bool at_root = row->collective == COLL_REDUCE || row->collective == COLL_GATHER;
    size_t bytes =
        elements_of(job, row, out_form(row->collective)) * ncoll_type_size(job->options->type);
    unsigned char *out = job->out;

    if (job->rank != (at_root ? BENCH_ROOT : job->ranks - 1))
        return;
    if (row->collective == COLL_BARRIER)
        job->exit_ns[i] -= EARLY_NS;
    else if (bytes > 0)
        out[mix(job->seed + i) % bytes] ^= 1;
}

/* ------------------------------------------------------------------ calls --------------------- */

static void look_at_result(struct job *job, struct row *row, unsigned i)
{
    if (job->options->plant == PLANT_WRONG)
        plant_wrong(job, row, i);
    if (job->options->validation == VALIDATE_EVERY && row->collective != COLL_BARRIER)
        row->wrong += check_result(job, row);
}

int calls_make(struct job *job, struct row *row, unsigned calls, enum purpose purpose)
{
    if (row->subject->batch != NULL)
        return calls > 0 ? row->subject->batch(job, row, calls, job->own_ns) : NCOLL_OK;
    call_fn once = call_of(row->subject, row_code(row));
    bool apart = purpose == PURPOSE_DATA || !is_back_to_back(job, row);
    bool late = job->options->plant == PLANT_STRAGGLER && purpose == PURPOSE_TIMES;
    struct start start = {.from_ns = now_ns()};
    int status = NCOLL_OK;

    start.entry_ns = start.from_ns;
    for (unsigned i = 0; i < calls; i++) {
        if (apart)
            status = start_call(job, row, i, purpose, &start);
        if (late)
            plant_straggler(job, row->calls + i);
        if (status == NCOLL_OK)
            status = once(job, row);
        uint64_t end = now_ns();
        if (status != NCOLL_OK)
            return status;
        job->entry_ns[i] = start.entry_ns;
        job->exit_ns[i] = end;
        job->own_ns[i] = end > start.from_ns ? end - start.from_ns : 0;
        if (start.missed)
            job->own_ns[i] = MISSED;
        if (row->first_ns == 0)
            row->first_ns = end - start.entry_ns;
        look_at_result(job, row, i);
        start.entry_ns = start.from_ns = end;
    }
    return NCOLL_OK;
}
