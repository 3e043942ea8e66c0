/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed allreduce and bcast against a serial reference that applies the same codec: bit by bit,
 * with the residuals, called in all ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/compressed.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS     9
#define COUNT_MAX 700
#define CALLS     3
#define LIMIT_NS  (HANG_FACTOR * INT64_C(20000000000))

static union {
    float f[RANKS * COUNT_MAX];
    double d[RANKS * COUNT_MAX];
} inputs; /* of all ranks */
static double in[COUNT_MAX], out[COUNT_MAX], expected[COUNT_MAX], residual[COUNT_MAX];

static bool is_whole; /* not a sample: the argument `all` */

enum way { BLOCK, RESUME, START, PERSISTENT, WAYS };

/* A compressor and its reference. */
struct pair {
    ncoll_compressor *compressor;
    struct compressed_reference reference;
    size_t count, element;
    ncoll_type type;
};

static int open_pair(struct rank *r, struct pair *p, const ncoll_codec *codec, size_t count,
                     ncoll_type type, bool feedback)
{
    *p = (struct pair){.count = count, .type = type, .element = ncoll_type_size(type)};
    CHECK_STATUS(ncoll_compressor_create(r->world, codec, count, type, feedback, &p->compressor),
                 NCOLL_OK);
    compressed_open(&p->reference, codec, count, type, r->ranks, feedback);
    return 0;
}

static int close_pair(struct rank *r, struct pair *p)
{
    CHECK_STATUS(ncoll_compressor_free(&p->compressor), NCOLL_OK);
    CHECK(p->compressor == NULL);
    compressed_close(&p->reference);
    return 0;
}

/* Integers, so that all sums are exact. */
static void draw_inputs(struct rank *r, const struct pair *p)
{
    for (size_t i = 0; i < (size_t)r->ranks * p->count; i++) {
        double x = (double)random_below(&r->common, 4001) - 2000;
        if (p->type == NCOLL_FLOAT)
            inputs.f[i] = (float)x;
        else
            inputs.d[i] = x;
    }
}

static const void *input_of(const struct pair *p, int q)
{
    return (const unsigned char *)&inputs + (size_t)q * p->count * p->element;
}

/* ------------------------------------------------------------------ calls --------------------- */

/* root < 0: an allreduce */
#define ONE_OF(p, from, root, suffix, ...)                                                         \
    ((root) < 0                                                                                    \
         ? ncoll_allreduce_compressed##suffix(r->world, (p)->compressor, from, out, (p)->count,    \
                                              (p)->type, NCOLL_SUM, __VA_ARGS__)                   \
         : ncoll_bcast_compressed##suffix(r->world, (p)->compressor, from, out, (p)->count,        \
                                          (p)->type, root, __VA_ARGS__))

static int call(struct rank *r, const struct pair *p, int root, enum way way, const void *from)
{
    ncoll_request *request = NULL;
    int rc;

    switch (way) {
    case BLOCK:
        return ONE_OF(p, from, root, , LIMIT_NS);
    case RESUME:
        while ((rc = ONE_OF(p, from, root, , (int64_t)random_below(&r->own, 2) * 20000)) ==
               NCOLL_TIMEOUT)
            ;
        return rc;
    case START:
        CHECK_STATUS(ONE_OF(p, from, root, _start, &request), NCOLL_OK);
        return ncoll_wait(&request, LIMIT_NS);
    default:
        CHECK_STATUS(ONE_OF(p, from, root, _init, &request), NCOLL_OK);
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
        while ((rc = ncoll_test(&request)) == NCOLL_TIMEOUT)
            ;
        CHECK_STATUS(ncoll_request_free(&request), NCOLL_OK);
        return rc;
    }
}

/* Makes one call, and compares result and residual. */
static int call_and_compare(struct rank *r, struct pair *p, int root, enum way way, bool in_place)
{
    size_t bytes = p->count * p->element;
    const void *from = in_place ? out : in;

    draw_inputs(r, p);
    if (root < 0)
        compressed_allreduce(&p->reference, &inputs, expected);
    else
        compressed_bcast(&p->reference, root, input_of(p, root), expected);
    memset(out, 0x55, sizeof out);
    if (root < 0 || root == r->rank)
        memcpy(in_place ? out : in, input_of(p, r->rank), bytes);
    CHECK_STATUS(call(r, p, root, way, from), NCOLL_OK);
    CHECK(memcmp(out, expected, bytes) == 0);
    for (size_t i = bytes; i < sizeof out; i++)
        CHECK(((unsigned char *)out)[i] == 0x55);
    if (p->reference.feedback) {
        CHECK_STATUS(ncoll_compressor_residual(p->compressor, residual), NCOLL_OK);
        CHECK(memcmp(residual, p->reference.residual[r->rank], bytes) == 0);
    }
    return 0;
}

static int every_codec(struct rank *r, int (*body)(struct rank *, const ncoll_codec *))
{
    ncoll_codec codecs[7];

    for (int i = 0; i < 4; i++)
        codecs[i].size = sizeof *codecs;
    CHECK_STATUS(ncoll_codec_topk(&codecs[0], 0.1), NCOLL_OK);
    CHECK_STATUS(ncoll_codec_topk(&codecs[1], 1), NCOLL_OK);
    CHECK_STATUS(ncoll_codec_round16(&codecs[2], NCOLL_HALF), NCOLL_OK);
    CHECK_STATUS(ncoll_codec_round16(&codecs[3], NCOLL_BFLOAT16), NCOLL_OK);
    codecs[4] = eighths_codec(0, NULL);
    codecs[5] = eighths_codec(NCOLL_CODEC_CHUNKS, NULL);
    codecs[6] = eighths_codec(NCOLL_CODEC_CHUNKS | NCOLL_CODEC_SURE, NULL);
    for (int i = 0; i < 7; i++)
        if (body(r, &codecs[i]) != 0) {
            fprintf(stderr, "with codec %d, \"%s\"\n", i, codecs[i].name);
            return 1;
        }
    return 0;
}

static int all_ways(struct rank *r, const ncoll_codec *codec)
{
    static const size_t counts[] = {0, 1, 7, 100, COUNT_MAX};

    /* with many ranks on few cores a call takes long: a part of it all has to do, unless `all` */
    unsigned step = is_whole ? 1 : r->ranks <= 3 ? 3 : 7;
    unsigned first = (unsigned)random_below(&r->common, step);
    for (unsigned n = first; n < 4 * sizeof counts / sizeof *counts; n += step) {
        size_t count = counts[n / 4];
        bool feedback = n % 2;
        struct pair p;
        if (open_pair(r, &p, codec, count, n / 2 % 2 ? NCOLL_FLOAT : NCOLL_DOUBLE, feedback) != 0)
            return 1;
        for (int c = 0; c < CALLS; c++) {
            enum way way = (enum way)random_below(&r->common, WAYS);
            bool in_place = random_below(&r->common, 2) == 0;
            int root = random_below(&r->common, 3) == 0
                           ? (int)random_below(&r->common, (uint64_t)r->ranks)
                           : -1;
            if (call_and_compare(r, &p, root, way, in_place) != 0) {
                fprintf(stderr, "count %zu, feedback %d, way %d, root %d\n", count, feedback,
                        (int)way, root);
                return 1;
            }
        }
        if (close_pair(r, &p) != 0)
            return 1;
    }
    return 0;
}

static int all_codecs(struct rank *r)
{
    return every_codec(r, all_ways);
}

/* ------------------------------------------------------------------ error feedback ------------ */

/* The results of all calls, and the residuals of all ranks, add up to all inputs. */
static int conserve(struct rank *r, const ncoll_codec *codec)
{
    enum { COUNT = 200 };
    static double brought[COUNT], got[COUNT], rest[COUNT];
    struct pair p;

    memset(brought, 0, sizeof brought);
    memset(got, 0, sizeof got);
    if (open_pair(r, &p, codec, COUNT, NCOLL_FLOAT, true) != 0)
        return 1;
    for (int c = 0; c < 2 * CALLS; c++) {
        if (call_and_compare(r, &p, -1, BLOCK, false) != 0)
            return 1;
        for (int i = 0; i < COUNT; i++) {
            got[i] += (double)((float *)out)[i];
            for (int q = 0; q < r->ranks; q++)
                brought[i] += (double)inputs.f[q * COUNT + i];
        }
    }
    CHECK_STATUS(ncoll_compressor_residual(p.compressor, residual), NCOLL_OK);
    for (int i = 0; i < COUNT; i++)
        rest[i] = (double)((float *)residual)[i];
    CHECK_STATUS(ncoll_allreduce(r->world, rest, rest, COUNT, NCOLL_DOUBLE, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    for (int i = 0; i < COUNT; i++)
        CHECK(got[i] + rest[i] == brought[i]);
    return close_pair(r, &p);
}

static int conserves(struct rank *r)
{
    return every_codec(r, conserve);
}

/* A residual is saved, reset and set again; without feedback there is none. */
static int residuals(struct rank *r)
{
    static float saved[100];
    ncoll_codec codec = {.size = sizeof codec};
    ncoll_compressor *none;
    struct pair p;

    CHECK_STATUS(ncoll_codec_topk(&codec, 0.05), NCOLL_OK);
    if (open_pair(r, &p, &codec, 100, NCOLL_FLOAT, true) != 0 ||
        call_and_compare(r, &p, -1, BLOCK, false) != 0)
        return 1;
    CHECK_STATUS(ncoll_compressor_residual(p.compressor, saved), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_reset(p.compressor, NULL), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_residual(p.compressor, residual), NCOLL_OK);
    for (int i = 0; i < 100; i++)
        CHECK(((float *)residual)[i] == 0);
    CHECK_STATUS(ncoll_compressor_reset(p.compressor, saved), NCOLL_OK);
    if (call_and_compare(r, &p, -1, BLOCK, false) != 0)
        return 1;
    CHECK_STATUS(ncoll_compressor_residual(p.compressor, NULL), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_compressor_create(r->world, &codec, 5, NCOLL_FLOAT, 0, &none), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_residual(none, residual), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_compressor_reset(none, NULL), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_compressor_residual(NULL, residual), NCOLL_ERR_HANDLE);
    return close_pair(r, &p); /* the other one goes with the context */
}

/* ------------------------------------------------------------------ surroundings -------------- */

/* Strict calls, on a group of their own, from memory that the library knows, in many segments. */
static int long_and_strict(struct rank *r)
{
    enum { COUNT = 400000 };
    ncoll_codec codec = {.size = sizeof codec};
    ncoll_compressor *compressor;
    ncoll_group *group;
    float *x;

    CHECK_STATUS(ncoll_alloc(r->ctx, COUNT * sizeof *x, (void **)&x), NCOLL_OK);
    CHECK_STATUS(ncoll_group_dup(r->world, &group, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_set_sync(group, NCOLL_STRICT), NCOLL_OK);
    CHECK_STATUS(ncoll_codec_round16(&codec, NCOLL_BFLOAT16), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_create(group, &codec, COUNT, NCOLL_FLOAT, 0, &compressor),
                 NCOLL_OK);
    for (int c = 0; c < 3; c++) {
        ncoll_request *request;
        for (int i = 0; i < COUNT; i++)
            x[i] = (float)(i % 16 + r->rank);
        CHECK_STATUS(ncoll_allreduce_compressed_start(group, compressor, x, x, COUNT, NCOLL_FLOAT,
                                                      NCOLL_SUM, &request),
                     NCOLL_OK);
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
        for (int i = 0; i < COUNT; i++)
            CHECK(x[i] == (float)(i % 16 * r->ranks + r->ranks * (r->ranks - 1) / 2));
        for (int i = 0; i < COUNT; i++)
            x[i] = r->rank == 0 ? (float)(i % 256) : -1;
        CHECK_STATUS(
            ncoll_bcast_compressed(group, compressor, x, x, COUNT, NCOLL_FLOAT, 0, LIMIT_NS),
            NCOLL_OK);
        for (int i = 0; i < COUNT; i++)
            CHECK(x[i] == (float)(i % 256));
    }
    CHECK_STATUS(ncoll_group_free(&group, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce_compressed(r->world, compressor, x, x, COUNT, NCOLL_FLOAT,
                                            NCOLL_SUM, LIMIT_NS),
                 NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "freed") != NULL);
    CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_OK);
    return 0;
}

/* Two compressors at once, with other calls in between, ended in another order. */
static int side_by_side(struct rank *r)
{
    enum { COUNT = 500 };
    static float x[2][COUNT], sums[2][COUNT];
    ncoll_codec codec = {.size = sizeof codec};
    ncoll_compressor *compressors[2];
    ncoll_request *requests[3];
    int64_t one = 1, all;

    CHECK_STATUS(ncoll_codec_topk(&codec, 1), NCOLL_OK);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(
            ncoll_compressor_create(r->world, &codec, COUNT, NCOLL_FLOAT, 1, &compressors[i]),
            NCOLL_OK);
    for (int i = 0; i < COUNT; i++) {
        x[0][i] = (float)(i + r->rank);
        x[1][i] = (float)(2 * i);
    }
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(ncoll_allreduce_compressed_start(r->world, compressors[i], x[i], sums[i],
                                                      COUNT, NCOLL_FLOAT, NCOLL_SUM, &requests[i]),
                     NCOLL_OK);
    CHECK_STATUS(
        ncoll_allreduce_start(r->world, &one, &all, 1, NCOLL_INT64, NCOLL_SUM, &requests[2]),
        NCOLL_OK);
    for (int i = 3; i-- > 0;)
        CHECK_STATUS(ncoll_wait(&requests[i], LIMIT_NS), NCOLL_OK);
    CHECK(all == r->ranks);
    for (int i = 0; i < COUNT; i++)
        CHECK(sums[0][i] == (float)(i * r->ranks + r->ranks * (r->ranks - 1) / 2) &&
              sums[1][i] == (float)(2 * i * r->ranks));
    return 0;
}

/* Bytes that this rank puts in one allreduce of COUNT floats: `codec` NULL without compression. */
static int count_bytes(struct rank *r, const ncoll_codec *codec, size_t count, uint64_t *bytes)
{
    float *x = calloc(count, sizeof *x);
    ncoll_compressor *compressor = NULL;
    ncoll_stats stats = {.size = sizeof stats};

    CHECK(x != NULL);
    if (codec != NULL)
        CHECK_STATUS(ncoll_compressor_create(r->world, codec, count, NCOLL_FLOAT, 0, &compressor),
                     NCOLL_OK);
    for (int i = 0; i < 2; i++) { /* the first call connects peers */
        CHECK_STATUS(ncoll_context_stats(r->ctx, &stats), NCOLL_OK);
        *bytes = stats.put_bytes;
        CHECK_STATUS(codec != NULL
                         ? ncoll_allreduce_compressed(r->world, compressor, x, x, count,
                                                      NCOLL_FLOAT, NCOLL_SUM, LIMIT_NS)
                         : ncoll_allreduce(r->world, x, x, count, NCOLL_FLOAT, NCOLL_SUM, LIMIT_NS),
                     NCOLL_OK);
    }
    CHECK_STATUS(ncoll_context_stats(r->ctx, &stats), NCOLL_OK);
    *bytes = stats.put_bytes - *bytes;
    free(x);
    return 0;
}

/* The bytes that travel: with chunks 2 (P - 1) / P of an encoded vector, without P - 1 of them; of a codec
 * whose lengths differ, what it has written. */
static int bytes_sent(struct rank *r)
{
    enum { COUNT = 1 << 16 };
    const uint64_t ranks = (uint64_t)r->ranks, vector = COUNT * sizeof(float);
    ncoll_codec half = {.size = sizeof half}, topk = half;
    const ncoll_codec own = eighths_codec(NCOLL_CODEC_CHUNKS, NULL);
    uint64_t plain, rounded, sparse, zeroes;

    CHECK_STATUS(ncoll_codec_round16(&half, NCOLL_HALF), NCOLL_OK);
    CHECK_STATUS(ncoll_codec_topk(&topk, 0.01), NCOLL_OK);
    CHECK(count_bytes(r, NULL, COUNT, &plain) == 0);
    CHECK(count_bytes(r, &half, COUNT, &rounded) == 0);
    CHECK(count_bytes(r, &topk, COUNT, &sparse) == 0);
    CHECK(count_bytes(r, &own, COUNT, &zeroes) == 0);
    CHECK(plain >= 2 * (ranks - 1) * vector / ranks);
    CHECK(rounded >= (ranks - 1) * vector / ranks);
    CHECK(rounded < (ranks - 1) * vector / ranks + 2 * ranks * 64);
    CHECK(sparse < (ranks - 1) * vector / 40);
    CHECK(zeroes < 8 * ranks * 64); /* lengths of 0, and the vote */
    return 0;
}

static void run(crew_body body, int first, int step)
{
    for (int ranks = first; ranks <= RANKS; ranks += step)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, body, NULL), 0);
}

/* All numbers of ranks; or the first three and one of the others. */
static void test_all_codecs(void **state)
{
    struct random random = random_stream(test_seed(), 'c');
    int drawn = 4 + (int)random_below(&random, RANKS - 3);

    (void)state;
    for (int ranks = 1; ranks <= RANKS; ranks++)
        if (is_whole || ranks <= 3 || ranks == drawn)
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 600, all_codecs, NULL), 0);
}

static void test_conserves(void **state)
{
    (void)state;
    run(conserves, 1, 2);
}

static void test_residuals(void **state)
{
    (void)state;
    run(residuals, 1, 3);
}

static void test_long_and_strict(void **state)
{
    (void)state;
    run(long_and_strict, 1, 3);
}

static void test_side_by_side(void **state)
{
    (void)state;
    run(side_by_side, 1, 3);
}

static void test_bytes_sent(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.show_bytes = 0; /* all bytes are put, none are read at their sender */
    assert_int_equal(crew_run(CREW_PROCESSES, 4, &params, 60, bytes_sent, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_codecs),   cmocka_unit_test(test_conserves),
        cmocka_unit_test(test_residuals),    cmocka_unit_test(test_long_and_strict),
        cmocka_unit_test(test_side_by_side), cmocka_unit_test(test_bytes_sent),
    };

    is_whole = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests_name("compressed", tests, NULL, NULL);
}
