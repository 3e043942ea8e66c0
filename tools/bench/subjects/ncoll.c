/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll, as its users call it; and the bare exchange of its transport, which is the limit that it
 * is compared with.
 */
#include "tools/bench/bench.h"
#include "transport/transport.h"

/* Each collective as a call, and as a persistent request. */
#define EACH(name, call, ...)                                                                      \
    static int name##_once(struct job *job, const struct row *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        return ncoll_##call(__VA_ARGS__, NCOLL_BLOCK);                                             \
    }                                                                                              \
    static int name##_init(struct job *job, const struct row *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        return ncoll_##call##_init(__VA_ARGS__, &job->request);                                    \
    }

/* Arguments that many calls have. */
#define IN_OUT     job->world, job->in, job->out
#define TYPE       job->options->type
#define VECTOR     row->count, TYPE
#define OP         job->options->op
#define ALL_BLOCKS row->blocks.counts, row->blocks.displs

EACH(barrier, barrier, job->world)
EACH(allreduce, allreduce, IN_OUT, VECTOR, OP)
EACH(bcast, bcast, job->world, job->rank == BENCH_ROOT ? job->in : job->out, VECTOR, BENCH_ROOT)
EACH(reduce, reduce, IN_OUT, VECTOR, OP, BENCH_ROOT)
EACH(gather, gather, IN_OUT, VECTOR, BENCH_ROOT)
EACH(scatter, scatter, IN_OUT, VECTOR, BENCH_ROOT)
EACH(allgather, allgather, IN_OUT, VECTOR)
EACH(alltoall, alltoall, IN_OUT, VECTOR)
EACH(reduce_scatter, reduce_scatter_block, IN_OUT, VECTOR, OP)
EACH(scan, scan, IN_OUT, VECTOR, OP)
EACH(exscan, exscan, IN_OUT, VECTOR, OP)
EACH(gatherv, gatherv, IN_OUT, ALL_BLOCKS, TYPE, BENCH_ROOT)
EACH(scatterv, scatterv, job->world, job->in, ALL_BLOCKS, job->out, TYPE, BENCH_ROOT)
EACH(allgatherv, allgatherv, IN_OUT, ALL_BLOCKS, TYPE)

static const call_fn once_by_code[CODES] = BY_CODE(once), init_by_code[CODES] = BY_CODE(init);

/* Forces the algorithm for the measured calls only. It may not be able to do the calls by which the
 * benchmark itself combines samples. */
static int force(struct job *job, const struct row *row)
{
    const struct algorithm *a = job->options->algorithm;

    if (a != NULL && (a->collectives & 1u << row->collective) == 0)
        a = NULL;
    int status = ncoll__group_force(job->world, row->collective, a != NULL ? a->name : NULL,
                                    job->options->radix);
    if (status != NCOLL_OK || row->subject->sync == 0)
        return status;
    job->sync = ncoll_group_sync(job->world);
    return ncoll_group_set_sync(job->world, row->subject->sync);
}

static int unforce(struct job *job, const struct row *row)
{
    int status =
        row->subject->sync != 0 ? ncoll_group_set_sync(job->world, (unsigned)job->sync) : NCOLL_OK;

    return status == NCOLL_OK ? ncoll__group_force(job->world, row->collective, NULL, 0) : status;
}

static int describe(struct job *job, struct row *row)
{
    struct choice choice;
    int status = row->distribution == DISTRIBUTION_NONE
                     ? ncoll__choose(job->world, row->collective, row->count, job->options->type,
                                     job->options->op, &choice)
                     : ncoll__choose_with_counts(job->world, row->collective, row->blocks.counts,
                                                 job->options->type, &choice);

    if (status != NCOLL_OK)
        return status;
    row->algorithm = choice.algorithm->name;
    row->why = choice.why;
    row->from = ncoll__choice_from(&choice);
    row->radix = choice.algorithm->properties & USES_RADIX ? choice.radix : 0;
    row->segment_bytes =
        choice.segments > 1 ? choice.segment * ncoll_type_size(job->options->type) : 0;
    row->lanes = choice.lanes;
    return NCOLL_OK;
}

const struct subject subject_ncoll = {
    .name = "ncoll",
    .label = "",
    .codes = ALL_CODES,
    .once = once_by_code,
    .begin = force,
    .end = unforce,
    .describe = describe,
};

/* Calls with strict entry, strict exit and both show what it costs that all ranks wait. A barrier
 * is the same in all modes. */
#define STRICT(word, bits)                                                                         \
    const struct subject subject_##word = {                                                        \
        .name = #word,                                                                             \
        .label = #word,                                                                            \
        .sync = bits,                                                                              \
        .codes = ALL_CODES & ~(1u << COLL_BARRIER),                                                \
        .once = once_by_code,                                                                      \
        .begin = force,                                                                            \
        .end = unforce,                                                                            \
        .describe = describe,                                                                      \
    }
STRICT(entry, NCOLL_STRICT_ENTRY);
STRICT(exit, NCOLL_STRICT_EXIT);
STRICT(strict, NCOLL_STRICT);

/* ------------------------------------------------------------------ persistent ---------------- */

static int init(struct job *job, const struct row *row)
{
    int status = force(job, row);

    return status == NCOLL_OK ? init_by_code[row_code(row)](job, row) : status;
}

static int start_and_wait(struct job *job, const struct row *row)
{
    (void)row;
    int status = ncoll_start(job->request);
    return status == NCOLL_OK ? ncoll_wait(&job->request, NCOLL_BLOCK) : status;
}

static int free_request(struct job *job, const struct row *row)
{
    int status = ncoll_request_free(&job->request);

    return status == NCOLL_OK ? unforce(job, row) : status;
}

const struct subject subject_persistent = {
    .name = "persistent",
    .label = "persistent",
    .codes = ALL_CODES,
    .any = start_and_wait,
    .begin = init,
    .end = free_request,
    .describe = describe,
};

/* ------------------------------------------------------------------ bare exchange ------------- */

static int exchange(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    return ncoll__raw_exchange(job->world, 1, row->bytes, calls, samples_ns);
}

SUBJECT_LIMIT(raw, .batch = exchange, .what = "exchange");

/* Sends as many messages at once as the transport allows, which shows what each of many costs. */
static int messages(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    (void)row;
    return ncoll__raw_exchange(job->world, RAW_WRITES_MAX, 0, calls, samples_ns);
}

SUBJECT_LIMIT(rate, .batch = messages, .what = "exchange", .is_parameter = true);

/* ------------------------------------------------------------------ a call of one rank -------- */

/* Makes allreduces in a group of this rank alone: what the library does in a call besides messages.
 * They are timed as a whole, since the clock is too coarse for one, and takes as long. */
static int calls_alone(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    unsigned char in[64] = {0}, out[64];
    int status = NCOLL_OK;
    uint64_t start = now_ns();

    (void)row;
    for (unsigned i = 0; status == NCOLL_OK && i < calls; i++)
        status = ncoll_allreduce(job->alone, in, out, 1, TYPE, OP, NCOLL_BLOCK);
    uint64_t each = (now_ns() - start) / calls;
    for (unsigned i = 0; i < calls; i++)
        samples_ns[i] = each;
    return status;
}

static int make_alone(struct job *job, const struct row *row)
{
    (void)row;
    return ncoll_group_split(job->world, job->rank, 0, &job->alone, NCOLL_BLOCK);
}

static int free_alone(struct job *job, const struct row *row)
{
    (void)row;
    return ncoll_group_free(&job->alone, NCOLL_BLOCK);
}

SUBJECT_LIMIT(call, .batch = calls_alone, .begin = make_alone, .end = free_alone,
              .what = "one rank", .is_parameter = true);
