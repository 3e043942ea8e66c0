/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/measure.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "tools/inside.h"
#include "tools/bench/measure/mix.h"

static uint64_t raw_value(int rank, size_t index, uint64_t serial)
{
    return mix(mix(serial << 20 ^ (uint64_t)rank) + index);
}

static bool is_float(ncoll_type type)
{
    return type >= NCOLL_FLOAT;
}

static bool is_signed(ncoll_type type)
{
    return type >= NCOLL_INT8 && type <= NCOLL_INT64;
}

/* Returns v as an integer of this type holds it, sign-extended to 64 bits. */
static uint64_t narrow(ncoll_type type, uint64_t v)
{
    unsigned drop = 64 - 8 * (unsigned)ncoll_type_size(type);

    v <<= drop;
    return is_signed(type) ? (uint64_t)((int64_t)v >> drop) : v >> drop;
}

/* Returns an operand by which errors in the result can be found: a product of even numbers, or an
 * AND of many numbers, would soon be 0 in any case. */
static uint64_t int_operand(ncoll_type type, ncoll_op op, uint64_t raw)
{
    if (op == NCOLL_PROD)
        raw |= 1;
    else if (op == NCOLL_LAND || op == NCOLL_LOR || op == NCOLL_LXOR)
        raw &= 1;
    return narrow(type, raw);
}

/* Small whole numbers: every order of evaluation is exact, so results compare bit by bit. */
static double float_operand(ncoll_type type, ncoll_op op, uint64_t raw)
{
    bool is_short = type == NCOLL_HALF || type == NCOLL_BFLOAT16;

    if (op == NCOLL_PROD)
        return raw & 1 ? -1.0 : 1.0;
    if (is_short && op == NCOLL_SUM) /* exact up to 256 ranks */
        return (double)(raw & 1);
    return (double)(raw % 31) + 1.0;
}

static uint64_t int_combine(ncoll_type type, ncoll_op op, uint64_t a, uint64_t b)
{
    bool less = is_signed(type) ? (int64_t)a < (int64_t)b : a < b;

    switch (op) {
    case NCOLL_SUM:
        return narrow(type, a + b);
    case NCOLL_PROD:
        return narrow(type, a * b);
    case NCOLL_MIN:
        return less ? a : b;
    case NCOLL_MAX:
        return less ? b : a;
    case NCOLL_LAND:
        return a != 0 && b != 0;
    case NCOLL_LOR:
        return a != 0 || b != 0;
    case NCOLL_LXOR:
        return (a != 0) != (b != 0);
    case NCOLL_BAND:
        return a & b;
    case NCOLL_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static double float_combine(ncoll_op op, double a, double b)
{
    switch (op) {
    case NCOLL_SUM:
        return a + b;
    case NCOLL_PROD:
        return a * b;
    case NCOLL_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static void store_int(void *vector, size_t index, size_t size, uint64_t value)
{
    switch (size) {
    case 1:
        ((uint8_t *)vector)[index] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)vector)[index] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)vector)[index] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)vector)[index] = value;
    }
}

static void store_float(void *vector, size_t index, ncoll_type type, double value)
{
    switch (type) {
    case NCOLL_FLOAT:
        ((float *)vector)[index] = (float)value;
        break;
    case NCOLL_DOUBLE:
        ((double *)vector)[index] = value;
        break;
    case NCOLL_LONG_DOUBLE: /* its padding is 0 in results */
        memset((long double *)vector + index, 0, sizeof(long double));
        long double wide = (long double)value;
        memcpy((long double *)vector + index, &wide, LDBL_MANT_DIG == 64 ? 10 : sizeof wide);
        break;
    case NCOLL_HALF:
        ((uint16_t *)vector)[index] = float_to_half((float)value);
        break;
    default:
        ((uint16_t *)vector)[index] = float_to_bfloat16((float)value);
    }
}

/* The source of an element of a result: element `index` of the inputs of ranks first..last,
 * combined. */
struct source {
    int first, last;
    size_t index;
};

static void reduce_element(const struct job *job, struct source from, void *vector, size_t at)
{
    size_t index = from.index;
    int first = from.first, last = from.last;
    ncoll_type type = job->options->type;
    ncoll_op op = job->options->op;

    if (is_float(type)) {
        double value = float_operand(type, op, raw_value(first, index, job->serial));
        for (int r = first + 1; r <= last; r++)
            value =
                float_combine(op, value, float_operand(type, op, raw_value(r, index, job->serial)));
        store_float(vector, at, type, value);
    } else {
        uint64_t value = int_operand(type, op, raw_value(first, index, job->serial));
        for (int r = first + 1; r <= last; r++)
            value = int_combine(type, op, value,
                                int_operand(type, op, raw_value(r, index, job->serial)));
        store_int(vector, at, ncoll_type_size(type), value);
    }
}

void check_fill(const struct job *job, const struct row *row, int rank, void *in)
{
    size_t n = elements_of(job, row, in_form(row->collective));

    for (size_t i = 0; i < n; i++)
        reduce_element(job, (struct source){rank, rank, i}, in, i);
}

/* Finds the block of element i, and its index there. */
static struct source source_in_blocks(const struct job *job, const struct row *row, size_t i)
{
    int block = (int)(i / row->count);
    const size_t *displs = row->blocks.displs;

    if (row->distribution == DISTRIBUTION_NONE)
        return (struct source){block, block, i % row->count};
    block = job->ranks - 1;
    while (displs[block] > i || row->blocks.counts[block] == 0)
        block--;
    return (struct source){block, block, i - displs[block]};
}

/* Returns the source of element i of this rank's result. */
static struct source source_of(const struct job *job, const struct row *row, size_t i)
{
    int block = (int)(i / row->count), last = threshold_ranks(job, row) - 1;
    size_t own = row->distribution != DISTRIBUTION_NONE ? row->blocks.displs[job->rank]
                                                        : (size_t)job->rank * row->count;

    switch (row->collective) {
    case COLL_BCAST:
        return (struct source){BENCH_ROOT, BENCH_ROOT, i};
    case COLL_SCATTER:
        return (struct source){BENCH_ROOT, BENCH_ROOT, own + i};
    case COLL_GATHER:
    case COLL_ALLGATHER:
        return source_in_blocks(job, row, i);
    case COLL_ALLTOALL:
        return (struct source){block, block, own + i % row->count};
    case COLL_REDUCE_SCATTER:
        return (struct source){0, last, own + i};
    case COLL_SCAN:
        return (struct source){0, job->rank, i};
    case COLL_EXSCAN:
        return (struct source){0, job->rank - 1, i};
    default:
        return (struct source){0, last, i};
    }
}

/* True if this rank gets something that it did not have. */
static bool gets_result(const struct job *job, const struct row *row)
{
    const struct shape shape = {.collective = row->collective,
                                .rank = (unsigned)job->rank,
                                .root = BENCH_ROOT,
                                .size = (unsigned)job->ranks};
    return has_out(&shape) &&
           (row->collective != COLL_BCAST || job->rank < threshold_ranks(job, row)) &&
           (row->collective != COLL_BCAST || job->rank != BENCH_ROOT);
}

uint64_t check_result(const struct job *job, const struct row *row)
{
    size_t size = ncoll_type_size(job->options->type);
    size_t n = gets_result(job, row) ? elements_of(job, row, out_form(row->collective)) : 0;
    const unsigned char *out = job->out, *expected = job->expected;
    uint64_t wrong = 0;

    if (n > 0 && row->subject->expect != NULL && !row->subject->expect(job, row))
        return 0;
    for (size_t i = 0; row->subject->expect == NULL && i < n; i++)
        reduce_element(job, source_of(job, row, i), job->expected, i);
    for (size_t i = 0; i < n; i++)
        wrong += threshold_has_element(job, row, i) &&
                 memcmp(out + i * size, expected + i * size, size) != 0;
    return wrong;
}

void check_be_late(const struct job *job)
{
    uint64_t chance = mix(job->serial);

    if (chance % (uint64_t)job->ranks != (uint64_t)job->rank)
        return;
    struct timespec pause = {.tv_nsec = (long)(chance >> 32) % 200000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

int check_barriers(struct job *job, unsigned calls, uint64_t *broken)
{
    struct clock_bounds bounds;
    int status = check_clock(job, &bounds);

    /* The earliest possible entry and the latest possible exit of each call, by the clock of rank
     * 0. */
    for (unsigned i = 0; i < calls; i++) {
        job->entry_ns[i] += (uint64_t)bounds.lo;
        job->exit_ns[i] += (uint64_t)bounds.hi;
    }
    if (status == NCOLL_OK)
        status = ncoll_allreduce(job->world, job->entry_ns, job->entry_ns, calls, NCOLL_UINT64,
                                 NCOLL_MAX, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_allreduce(job->world, job->exit_ns, job->exit_ns, calls, NCOLL_UINT64,
                                 NCOLL_MIN, NCOLL_BLOCK);
    *broken = 0;
    for (unsigned i = 0; status == NCOLL_OK && i < calls; i++)
        *broken += job->entry_ns[i] > job->exit_ns[i];
    return status;
}
