/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/measure.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/measure/mix.h"

#define LINE_BYTES 64

/* Writes each cache line of IN, with the data that it already has. Then the lines belong to this
 * core, as they would in an application that has just computed them. Without that they would stay
 * in the cache that has read them last. */
static void write_anew(struct job *job, const struct row *row)
{
    size_t elements = elements_of(job, row, in_form(row->collective));
    size_t bytes = elements * ncoll_type_size(job->options->type);
    volatile unsigned char *in = job->in;

    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        in[i] = in[i];
}

uint64_t start_lateness(const struct options *options, uint64_t seed, uint64_t serial, int rank,
                        int ranks)
{
    uint64_t most = (uint64_t)options->skew_us * 1000, stream = mix(seed + serial);

    if (options->skew == SKEW_ONE)
        return mix_below(&stream, (uint64_t)ranks) == (uint64_t)rank ? most : 0;
    stream = mix(stream + (uint64_t)rank);
    return mix_below(&stream, most + 1);
}

/* Waits as long as this rank is to be late. The start of the call becomes the time at which the
 * last rank enters. */
static void be_late(struct job *job, struct start *start)
{
    uint64_t own = 0, last = 0;

    job->late_serial++;
    for (int rank = 0; rank < job->ranks; rank++) {
        uint64_t late = start_lateness(job->options, job->seed, job->late_serial, rank, job->ranks);
        own = rank == job->rank ? late : own;
        last = late > last ? late : last;
    }
    while (now_ns() < start->from_ns + own)
        if (job->oversubscribed)
            sched_yield();
    start->from_ns += last;
}

/* --------------------------------------------------------------------- cold ------------------ */

/* To empty the caches, a rank writes to memory twice as large as its L2 and L3 caches together, but
 * within these limits: some virtual machines report the caches of the whole host. */
#define COLD_BYTES_MAX ((size_t)128 << 20)
#define COLD_BYTES_MIN ((size_t)4 << 20)

bool start_cold_open(struct job *job)
{
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t bytes = 2 * ((l2 > 0 ? (size_t)l2 : 0) + (l3 > 0 ? (size_t)l3 : 0));

    bytes = bytes < COLD_BYTES_MIN ? COLD_BYTES_MIN : bytes;
    job->cold_bytes = bytes > COLD_BYTES_MAX ? COLD_BYTES_MAX : bytes;
    job->cold = malloc(job->cold_bytes);
    if (job->cold != NULL)
        memset(job->cold, 1, job->cold_bytes);
    return job->cold != NULL;
}

void start_cold_close(struct job *job)
{
    free(job->cold);
}

/* Writes to memory that fills the caches of this core: the lines that were there are evicted, here
 * and in other caches. */
static void empty_caches(struct job *job)
{
    volatile unsigned char *memory = job->cold;

    for (size_t i = 0; i < job->cold_bytes; i += LINE_BYTES)
        memory[i]++;
}

/* --------------------------------------------------------------------- a call ---------------- */

/* A barrier that is checked has no other barrier in front of it, which would hide that ranks leave
 * it early. */
static bool needs_barrier(const struct job *job, const struct row *row, enum purpose purpose)
{
    const struct options *o = job->options;
    bool checked = o->validation == VALIDATE_EVERY || purpose == PURPOSE_DATA;

    return !(checked && row->collective == COLL_BARRIER && o->start == START_FOLLOW && !o->cold &&
             o->skew_us == 0);
}

int start_call(struct job *job, struct row *row, unsigned call, enum purpose purpose,
               struct start *out)
{
    const struct options *o = job->options;
    int status = NCOLL_OK;

    *out = (struct start){0};
    if (o->validation == VALIDATE_EVERY || purpose == PURPOSE_DATA) {
        job->serial++;
        if (row->collective != COLL_BARRIER)
            check_fill(job, row, job->rank, job->in);
    } else if (o->fresh && row->collective != COLL_BARRIER)
        write_anew(job, row);
    if (o->cold)
        empty_caches(job);
    if (o->start == START_WINDOW && purpose == PURPOSE_TIMES)
        out->missed = !window_wait(job, row, call, &out->from_ns);
    else {
        if (needs_barrier(job, row, purpose))
            status = ncoll_barrier(job->world, NCOLL_BLOCK);
        if (o->validation == VALIDATE_EVERY && purpose == PURPOSE_WARMUP)
            check_be_late(job);
        out->from_ns = now_ns();
    }
    out->entry_ns = out->from_ns;
    if (o->skew_us > 0 && status == NCOLL_OK)
        be_late(job, out);
    return status;
}
