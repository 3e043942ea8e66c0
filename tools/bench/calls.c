/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unless something is to happen before each call, calls follow each other without a pause and the
 * end of one is the start of the next: nothing is hidden between them, and the clock is read once a
 * call (its cost is in the sample, and in the report).
 */
#include "tools/bench/calls.h"

#include "tools/bench/check.h"
#include "tools/bench/plant.h"
#include "tools/bench/start.h"

static void look_at_result(struct job *job, struct row *row, unsigned i)
{
    if (job->options->plant == PLANT_WRONG)
        plant_wrong(job, row, i);
    if (job->options->validation == VALIDATE_EVERY && row->collective != COLL_BARRIER)
        row->wrong += check_result(job, row);
}

int calls_make(struct job *job, struct row *row, unsigned calls, enum purpose purpose)
{
    int (*once)(struct job *, const struct row *) = row->subject->once[row_code(row)];
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
