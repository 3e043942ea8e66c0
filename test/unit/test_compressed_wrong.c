/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed calls that go wrong: codecs that differ between ranks or fail, calls from inside a
 * codec, compressors in use, time-outs, and bad arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/compressed.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS    4
#define DIFFERS  (RANKS - 1)
#define COUNT    100
#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))

static float in[COUNT], out[COUNT], residual[COUNT];

static ncoll_codec topk(double fraction)
{
    ncoll_codec codec = {.size = sizeof codec};

    assert_int_equal(ncoll_codec_topk(&codec, fraction), NCOLL_OK);
    return codec;
}

static ncoll_codec round16(ncoll_type to)
{
    ncoll_codec codec = {.size = sizeof codec};

    assert_int_equal(ncoll_codec_round16(&codec, to), NCOLL_OK);
    return codec;
}

static int make(struct rank *r, const ncoll_codec *codec, ncoll_compressor **compressor)
{
    CHECK_STATUS(ncoll_compressor_create(r->world, codec, COUNT, NCOLL_FLOAT, 1, compressor),
                 NCOLL_OK);
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(8 * i + r->rank);
    return 0;
}

static int allreduce(struct rank *r, ncoll_compressor *compressor)
{
    return ncoll_allreduce_compressed(r->world, compressor, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM,
                                      LIMIT_NS);
}

/* ------------------------------------------------------------------ mismatches ---------------- */

/* A pair of codecs, of which one rank has the second, and what errors have to say. */
static struct difference {
    ncoll_codec codec[2];
    const char *text[2]; /* in the error of every rank: the calls of both */
    const char *own[2];  /* in the error of the ranks that are named, about their own */
    bool bcast;
} now;

static int differ(struct rank *r)
{
    ncoll_compressor *compressor;
    int mine = r->rank == DIFFERS;

    if (make(r, &now.codec[mine], &compressor) != 0)
        return 1;
    int rc = now.bcast ? ncoll_bcast_compressed(r->world, compressor, in, out, COUNT, NCOLL_FLOAT,
                                                0, LIMIT_NS)
                       : allreduce(r, compressor);
    if (rc == NCOLL_OK) /* it did not need the rank that differs */
        rc = ncoll_barrier(r->world, LIMIT_NS);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    const ncoll_error *error = ncoll_last_error(r->ctx);
    bool named = error->peer == DIFFERS || mine;
    if (strstr(error->text, "different collectives before") != NULL)
        return 0; /* it has heard of the difference from a later call */
    for (int i = 0; i < 2; i++)
        if (strstr(error->text, now.text[i]) == NULL) {
            fprintf(stderr, "rank %d: no \"%s\" in: %s\n", r->rank, now.text[i], error->text);
            return 1;
        }
    if (named && strstr(error->text, "on this rank") != NULL &&
        strstr(error->text, now.own[mine]) == NULL) {
        fprintf(stderr, "rank %d: no \"%s\" in: %s\n", r->rank, now.own[mine], error->text);
        return 1;
    }
    return 0;
}

static void test_differ(void **state)
{
    ncoll_codec other = eighths_codec(0, NULL), parameters = eighths_codec(0, NULL);

    (void)state;
    other.name = "ninths";
    parameters.parameters = 7;
    const struct difference all[] = {
        {{topk(0.1), topk(0.2)},
         {"topk of about 0.1", "topk of about 0.2"},
         {"topk\" of 0.1", "topk\" of 0.2"},
         false},
        {{topk(0.1), round16(NCOLL_HALF)},
         {"topk of about 0.1", "by half"},
         {"topk\" of 0.1", "half"},
         false},
        {{round16(NCOLL_BFLOAT16), round16(NCOLL_HALF)},
         {"by bfloat16", "by half"},
         {"bfloat16", "half"},
         false},
        {{round16(NCOLL_BFLOAT16), round16(NCOLL_HALF)},
         {"bcast of 100 float", "root 0"},
         {"bfloat16", "half"},
         true},
        {{eighths_codec(0, NULL), other},
         {"allreduce of 100 float", "codec of the user's own"},
         {"eighths", "ninths"},
         false},
        {{eighths_codec(0, NULL), parameters},
         {"allreduce of 100 float", "codec of the user's own"},
         {"parameters 0x0", "parameters 0x7"},
         false},
        {{eighths_codec(0, NULL), eighths_codec(NCOLL_CODEC_CHUNKS, NULL)},
         {"allreduce of 100 float", "codec of the user's own"},
         {"flags 0x0", "flags 0x1"},
         false},
    };
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        now = all[i];
        if (crew_run(CREW_PROCESSES, RANKS, NULL, 60, differ, NULL) != 0)
            fail_msg("difference %u", i);
    }
}

/* One rank makes the call without compression. */
static int plain_and_compressed(struct rank *r)
{
    const ncoll_codec codec = round16(NCOLL_BFLOAT16);
    ncoll_compressor *compressor;

    if (make(r, &codec, &compressor) != 0)
        return 1;
    CHECK_STATUS(r->rank == DIFFERS
                     ? ncoll_allreduce(r->world, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, LIMIT_NS)
                     : allreduce(r, compressor),
                 NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "compressed by bfloat16") != NULL);
    return 0;
}

static void test_plain_and_compressed(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 60, plain_and_compressed, NULL), 0);
}

/* ------------------------------------------------------------------ failing codecs ------------ */

static unsigned flags_now;

/* Every rank gets the error, which names the one whose codec failed; the residual stays; and the next
 * call is as good as any. */
static int fail_once(struct rank *r, enum eighths_mood mood, bool bcast, const char *what)
{
    struct eighths e = {.mood = EIGHTHS_WELL};
    const ncoll_codec codec = eighths_codec(flags_now, &e);
    int culprit = bcast && mood != EIGHTHS_CANNOT_DECODE ? 0 : r->ranks - 1;
    ncoll_compressor *compressor;
    char name[32];

    snprintf(name, sizeof name, "on rank %d, codec", culprit);
    if (make(r, &codec, &compressor) != 0)
        return 1;
    CHECK_STATUS(allreduce(r, compressor), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_residual(compressor, residual), NCOLL_OK);
    e.mood = r->rank == culprit ? mood : EIGHTHS_WELL;
    for (int way = 0; way < 2; way++) {
        ncoll_request *request = NULL;
        if (way == 1)
            CHECK_STATUS(bcast ? ncoll_bcast_compressed_start(r->world, compressor, in, out, COUNT,
                                                              NCOLL_FLOAT, 0, &request)
                               : ncoll_allreduce_compressed_start(r->world, compressor, in, out,
                                                                  COUNT, NCOLL_FLOAT, NCOLL_SUM,
                                                                  &request),
                         NCOLL_OK);
        CHECK_STATUS(way == 1 ? ncoll_wait(&request, LIMIT_NS)
                     : bcast  ? ncoll_bcast_compressed(r->world, compressor, in, out, COUNT,
                                                       NCOLL_FLOAT, 0, LIMIT_NS)
                              : allreduce(r, compressor),
                     NCOLL_ERR_CODEC);
        CHECK(strstr(ncoll_last_error(r->ctx)->text, name) != NULL);
        CHECK(strstr(ncoll_last_error(r->ctx)->text, what) != NULL);
        CHECK(ncoll_last_error(r->ctx)->peer == culprit);
    }
    static float after[COUNT];
    CHECK_STATUS(ncoll_compressor_residual(compressor, after), NCOLL_OK);
    CHECK(memcmp(after, residual, sizeof after) == 0);
    e.mood = EIGHTHS_WELL;
    CHECK_STATUS(allreduce(r, compressor), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_OK);
    return 0;
}

static int fail_in_all_ways(struct rank *r)
{
    for (int bcast = 0; bcast < 2; bcast++)
        if (fail_once(r, EIGHTHS_CANNOT_ENCODE, bcast, "could not encode") != 0 ||
            fail_once(r, EIGHTHS_TOO_LONG, bcast, "more bytes than its bound()") != 0 ||
            fail_once(r, EIGHTHS_CANNOT_DECODE, bcast, "could not decode") != 0)
            return 1;
    return 0;
}

static void test_failing_codec(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= RANKS + 1; ranks += 2)
        for (flags_now = 0; flags_now <= NCOLL_CODEC_CHUNKS; flags_now++)
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, fail_in_all_ways, NULL), 0);
}

/* A codec that promises a fixed length and does not keep to it. */
static int not_fixed(struct rank *r)
{
    const ncoll_codec codec =
        eighths_codec(NCOLL_CODEC_FIXED | (flags_now ? NCOLL_CODEC_CHUNKS : 0), NULL);
    ncoll_compressor *compressor;

    if (make(r, &codec, &compressor) != 0)
        return 1;
    CHECK_STATUS(allreduce(r, compressor), NCOLL_ERR_CODEC); /* in[0] is left out */
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "NCOLL_CODEC_FIXED") != NULL);
    return 0;
}

static void test_not_fixed(void **state)
{
    (void)state;
    for (flags_now = 0; flags_now < 2; flags_now++)
        assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 60, not_fixed, NULL), 0);
}

/* ------------------------------------------------------------------ in use -------------------- */

static int call_back(struct rank *r)
{
    struct eighths e = {.mood = EIGHTHS_CALLS_BACK, .group = r->world};
    const ncoll_codec codec = eighths_codec(0, &e);
    ncoll_compressor *compressor;

    if (make(r, &codec, &compressor) != 0)
        return 1;
    CHECK_STATUS(allreduce(r, compressor), NCOLL_OK);
    CHECK(e.returned == NCOLL_ERR_BUSY);
    return 0;
}

static void test_call_back(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, call_back, NULL), 0);
}

/* Rank 0 calls first, and finds everything in use; the others come when it has looked. */
static int in_use(struct rank *r)
{
    const ncoll_codec codec = topk(0.5);
    ncoll_compressor *compressor;
    ncoll_request *request, *persistent, *other;
    _Atomic int *looked = r->shared;
    void *memory;

    if (make(r, &codec, &compressor) != 0)
        return 1;
    CHECK_STATUS(ncoll_alloc(r->ctx, sizeof out, &memory), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce_compressed_init(r->world, compressor, in, memory, COUNT,
                                                 NCOLL_FLOAT, NCOLL_SUM, &persistent),
                 NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_ERR_BUSY);
    while (r->rank > 0 && atomic_load(looked) < 1)
        ;
    CHECK_STATUS(ncoll_start(persistent), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_test(&persistent), NCOLL_TIMEOUT);
        CHECK_STATUS(ncoll_allreduce_compressed_start(r->world, compressor, in, out, COUNT,
                                                      NCOLL_FLOAT, NCOLL_SUM, &other),
                     NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_bcast_compressed(r->world, compressor, in, out, COUNT, NCOLL_FLOAT, 0,
                                            NCOLL_TEST),
                     NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_compressor_residual(compressor, residual), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_compressor_reset(compressor, NULL), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_free(r->ctx, memory), NCOLL_ERR_BUSY);
        atomic_store(looked, 1);
    }
    CHECK_STATUS(ncoll_wait(&persistent, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_request_free(&persistent), NCOLL_OK);
    CHECK_STATUS(ncoll_free(r->ctx, memory), NCOLL_OK);
    /* a request is in use until its end has been seen */
    CHECK_STATUS(ncoll_allreduce_compressed_start(r->world, compressor, in, out, COUNT, NCOLL_FLOAT,
                                                  NCOLL_SUM, &request),
                 NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_ERR_BUSY);
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_ERR_HANDLE);
    return 0;
}

/* A blocking call that has timed out is to be made again, with the same arguments. */
static int time_out(struct rank *r)
{
    const ncoll_codec codec = round16(NCOLL_HALF);
    ncoll_compressor *compressor, *other;
    _Atomic int *looked = r->shared;

    if (make(r, &codec, &compressor) != 0 || make(r, &codec, &other) != 0)
        return 1;
    while (r->rank > 0 && atomic_load(looked) < 1)
        ;
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_allreduce_compressed(r->world, compressor, in, out, COUNT, NCOLL_FLOAT,
                                                NCOLL_SUM, 1000000),
                     NCOLL_TIMEOUT);
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, NCOLL_TEST),
                     NCOLL_ERR_BUSY);
        CHECK_STATUS(allreduce(r, other), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_allreduce_compressed(r->world, compressor, in, in, COUNT, NCOLL_FLOAT,
                                                NCOLL_SUM, NCOLL_TEST),
                     NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_compressor_free(&other), NCOLL_OK);
        atomic_store(looked, 1);
    }
    CHECK_STATUS(allreduce(r, compressor), NCOLL_OK);
    for (int i = 0; i < COUNT; i++)
        CHECK(out[i] == (float)(8 * i * r->ranks + r->ranks * (r->ranks - 1) / 2) || i > 30);
    CHECK_STATUS(ncoll_allreduce(r->world, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    return 0;
}

static void run_shared(crew_body body)
{
    _Atomic int *looked = crew_share(sizeof *looked);

    for (int ranks = 2; ranks <= 3; ranks++) {
        atomic_store(looked, 0);
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, body, looked), 0);
    }
    crew_unshare(looked, sizeof *looked);
}

static void test_in_use(void **state)
{
    (void)state;
    run_shared(in_use);
}

static void test_time_out(void **state)
{
    (void)state;
    run_shared(time_out);
}

/* ------------------------------------------------------------------ arguments ----------------- */

static int bad_codecs(struct rank *r)
{
    ncoll_codec good = topk(0.1), bad;
    ncoll_compressor *z;

#define BAD(change, type, feedback, says)                                                          \
    do {                                                                                           \
        bad = good;                                                                                \
        change;                                                                                    \
        CHECK_STATUS(ncoll_compressor_create(r->world, &bad, COUNT, type, feedback, &z),           \
                     NCOLL_ERR_ARGUMENT);                                                          \
        CHECK(strstr(ncoll_last_error(r->ctx)->text, says) != NULL);                               \
    } while (0)
    BAD(bad.size = 8, NCOLL_FLOAT, 0, "sizeof(ncoll_codec)");
    BAD(bad.name = NULL, NCOLL_FLOAT, 0, "no name");
    BAD(bad.flags = 64, NCOLL_FLOAT, 0, "unknown flag");
    BAD(bad.bound = NULL, NCOLL_FLOAT, 0, "bound()");
    BAD(bad.encode = NULL, NCOLL_FLOAT, 0, "encode()");
    BAD(bad.decode = NULL, NCOLL_FLOAT, 0, "decode()");
    BAD(bad = good, NCOLL_INT32, 0, "does not take");
    BAD(bad = good, 77, 0, "type 77 is unknown");
    BAD(bad = good, NCOLL_INT32_INT32, 1, "cannot be added");
    CHECK_STATUS(ncoll_compressor_create(NULL, &good, COUNT, NCOLL_FLOAT, 0, &z), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_compressor_create(r->world, NULL, COUNT, NCOLL_FLOAT, 0, &z),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_compressor_create(r->world, &good, COUNT, NCOLL_FLOAT, 0, NULL),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_compressor_create(r->world, &good, SIZE_MAX / 2, NCOLL_FLOAT, 0, &z),
                 NCOLL_ERR_ARGUMENT);
    return 0;
}

/* An allocator that has at most this much for a request. */
#define LIMIT_BYTES ((size_t)1 << 20)

static void *allocate_some(void *arg, size_t bytes)
{
    (void)arg;
    return bytes <= LIMIT_BYTES ? malloc(bytes) : NULL;
}

static void release_some(void *arg, void *memory)
{
    (void)arg;
    free(memory);
}

/* Whichever part has no memory, nothing is left behind; the context goes on. */
static int no_memory(struct rank *r)
{
    const ncoll_codec codecs[] = {topk(0.001), round16(NCOLL_HALF), eighths_codec(0, NULL),
                                  eighths_codec(NCOLL_CODEC_CHUNKS, NULL)};
    ncoll_compressor *z;

    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(
            ncoll_compressor_create(r->world, &codecs[i], LIMIT_BYTES / 2, NCOLL_FLOAT, 1, &z),
            NCOLL_ERR_MEMORY);
        if (make(r, &codecs[i], &z) != 0)
            return 1;
        CHECK_STATUS(allreduce(r, z), NCOLL_OK);
    }
    return 0;
}

static int bad_calls(struct rank *r)
{
    const ncoll_codec codec = topk(0.1);
    ncoll_compressor *z;
    ncoll_group *group;
    ncoll_request *request;

    if (make(r, &codec, &z) != 0)
        return 1;
    CHECK_STATUS(ncoll_group_dup(r->world, &group, LIMIT_NS), NCOLL_OK);
#define ALLREDUCE(group, z, in, out, count, type, op)                                              \
    ncoll_allreduce_compressed(group, z, in, out, count, type, op, LIMIT_NS)
    CHECK_STATUS(ALLREDUCE(r->world, NULL, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM),
                 NCOLL_ERR_HANDLE);
    CHECK_STATUS(ALLREDUCE(NULL, z, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ALLREDUCE(r->world, z, in, out, COUNT, NCOLL_FLOAT, NCOLL_MAX),
                 NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "operation max") != NULL);
    CHECK_STATUS(ALLREDUCE(r->world, z, in, out, COUNT, NCOLL_FLOAT, 99), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ALLREDUCE(r->world, z, in, out, COUNT - 1, NCOLL_FLOAT, NCOLL_SUM),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ALLREDUCE(r->world, z, in, out, COUNT, NCOLL_INT32, NCOLL_SUM),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ALLREDUCE(r->world, z, in, in + 1, COUNT, NCOLL_FLOAT, NCOLL_SUM),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ALLREDUCE(r->world, z, NULL, out, COUNT, NCOLL_FLOAT, NCOLL_SUM),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ALLREDUCE(group, z, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM), NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "another group") != NULL);
    CHECK_STATUS(
        ncoll_allreduce_compressed(r->world, z, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, -1),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_allreduce_compressed_start(r->world, z, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, NULL),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_bcast_compressed(r->world, z, in, out, COUNT, NCOLL_FLOAT, r->ranks, LIMIT_NS),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_bcast_compressed_init(r->world, z, in, NULL, COUNT, NCOLL_FLOAT, 0, &request),
        NCOLL_ERR_ARGUMENT);
    if (r->rank == 0)
        CHECK_STATUS(
            ncoll_bcast_compressed(r->world, z, in, in + 1, COUNT, NCOLL_FLOAT, 0, LIMIT_NS),
            NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_bcast_compressed(r->world, z, r->rank == 0 ? in : NULL, out, COUNT,
                                        NCOLL_FLOAT, 0, LIMIT_NS),
                 NCOLL_OK);
    /* a user's operation or plain call does not pass for a compressed one */
    CHECK_STATUS(ncoll_allreduce(r->world, in, out, COUNT, NCOLL_FLOAT, 1024, LIMIT_NS),
                 NCOLL_ERR_ARGUMENT);
    return 0;
}

static void test_arguments(void **state)
{
    (void)state;
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.allocate = allocate_some;
    params.release = release_some;
    assert_int_equal(crew_run(CREW_PROCESSES, 1, NULL, 60, bad_codecs, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 60, no_memory, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, bad_calls, NULL), 0);
}

/* ------------------------------------------------------------------ leaving ------------------- */

/* A rank leaves in the middle: the others get an error, and free what is left. */
static int leave(struct rank *r)
{
    const ncoll_codec codec = eighths_codec(NCOLL_CODEC_CHUNKS, NULL);
    ncoll_compressor *compressor;

    if (make(r, &codec, &compressor) != 0)
        return 1;
    CHECK_STATUS(allreduce(r, compressor), NCOLL_OK);
    if (r->rank == DIFFERS)
        return 0;
    CHECK_STATUS(allreduce(r, compressor), NCOLL_ERR_PEER);
    CHECK_STATUS(allreduce(r, compressor), NCOLL_ERR_PEER);
    return 0;
}

static void test_leave(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 60, leave, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differ),        cmocka_unit_test(test_plain_and_compressed),
        cmocka_unit_test(test_failing_codec), cmocka_unit_test(test_not_fixed),
        cmocka_unit_test(test_call_back),     cmocka_unit_test(test_in_use),
        cmocka_unit_test(test_time_out),      cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_leave),
    };

    return cmocka_run_group_tests_name("compressed_wrong", tests, NULL, NULL);
}
