/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types and operations of the user's own that ranks created its type or operation differently:
 * every call that uses them ends with an error that says so, and nothing is written past anybody's
 * output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "lib/base/context.h"
#include "test/support/crew.h"

#define RANKS      4
#define DIFFERS    (RANKS - 1) /* its blocks are the last of each output */
#define COUNT      2048        /* elements of each block */
#define OUT_BYTES  (RANKS * COUNT * 8)
#define LATE_BYTES (256 << 10)
#define LIMIT_S    20

enum calls { ALLGATHER, ALLTOALL, GATHER, SCATTER, BCAST, ALLGATHERV, ALLTOALLV, CALLS };

static size_t counts[RANKS] = {COUNT, COUNT, COUNT, COUNT};

static int call(struct rank *r, enum calls what, const void *in, void *out, ncoll_type type)
{
    ncoll_group *g = r->world;

    switch (what) {
    case ALLGATHER:
        return ncoll_allgather(g, in, out, COUNT, type, NCOLL_BLOCK);
    case ALLTOALL:
        return ncoll_alltoall(g, in, out, COUNT, type, NCOLL_BLOCK);
    case GATHER:
        return ncoll_gather(g, in, out, COUNT, type, 0, NCOLL_BLOCK);
    case SCATTER:
        return ncoll_scatter(g, in, out, COUNT, type, 0, NCOLL_BLOCK);
    case BCAST:
        return ncoll_bcast(g, out, COUNT, type, 0, NCOLL_BLOCK);
    case ALLGATHERV:
        return ncoll_allgatherv(g, in, out, counts, NULL, type, NCOLL_BLOCK);
    default:
        return ncoll_alltoallv(g, in, counts, NULL, out, counts, NULL, type, NCOLL_BLOCK);
    }
}

/* A call that some ranks may end before they can know; then one that waits for all. */
static int call_till_known(struct rank *r, enum calls what, const void *in, void *out,
                           ncoll_type type)
{
    int rc = call(r, what, in, out, type);

    return rc == NCOLL_OK ? ncoll_barrier(r->world, NCOLL_BLOCK) : rc;
}

/* Input and output, the latter with a guard behind it. */
struct buffers {
    unsigned char *in, *out;
};

static int prepare(struct rank *r, struct buffers *b)
{
    void *out;

    CHECK((b->in = calloc(2, OUT_BYTES)) != NULL);
    CHECK_STATUS(ncoll_alloc(r->ctx, 2 * OUT_BYTES + LATE_BYTES, &out), NCOLL_OK);
    b->out = out;
    memset(b->in, 7, 2 * OUT_BYTES);
    memset(b->out, 0, 2 * OUT_BYTES + LATE_BYTES);
    return 0;
}

static int check_guard(struct rank *r, const struct buffers *b, size_t used)
{
    for (size_t i = used; i < 2 * OUT_BYTES + LATE_BYTES; i++)
        CHECK(b->out[i] == 0);
    return 0;
}

static enum calls what_now;

/* A rank that has ended a rooted call may hear of the difference in the barrier behind it only. */
static int check_text(struct rank *r, const char *own)
{
    const char *text = ncoll_last_error(r->ctx)->text;
    bool rooted = what_now == GATHER || what_now == SCATTER || what_now == BCAST;

    if (rooted && strstr(text, "but they called different collectives before") != NULL)
        return 0;
    CHECK(strstr(text, "created its type or operation differently") != NULL);
    CHECK(strstr(text, own) != NULL);
    return 0;
}

/* One rank takes elements of 16 bytes, all others of 8. */
static int sizes_differ(struct rank *r)
{
    struct buffers b;
    size_t element = r->rank == DIFFERS ? 16 : 8;
    ncoll_type type;

    if (prepare(r, &b) != 0)
        return 1;
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_type_create(r->ctx, element, &type), NCOLL_OK);
    CHECK_STATUS(call_till_known(r, what_now, b.in, b.out, type), NCOLL_ERR_MISMATCH);
    if (check_text(r, r->rank == DIFFERS ? "type 0 has 16 bytes" : "type 0 has 8 bytes") != 0)
        return 1;
    free(b.in);
    return check_guard(r, &b, RANKS * COUNT * element);
}

static void test_sizes_differ(void **state)
{
    (void)state;
    for (what_now = 0; what_now < CALLS; what_now++)
        if (crew_run(CREW_PROCESSES, RANKS, NULL, LIMIT_S, sizes_differ, NULL) != 0)
            fail_msg("call %d", what_now);
}

/* Two sizes whose names make them look alike to whoever compares 16 bits. */
static int create_alike(struct rank *r, ncoll_type *type)
{
    struct ncoll_context *ctx = r->ctx;
    ncoll_type plain, named = 0;
    char name[16];

    CHECK_STATUS(ncoll_type_create(ctx, 8, &plain), NCOLL_OK);
    for (unsigned i = 0; named == 0; i++) {
        snprintf(name, sizeof name, "n%u", i);
        struct defined_type other = {16, ncoll__user_name(name)};
        struct type_table one = {&other, 1};
        if (ncoll__definition(&one, &ctx->ops, TYPE_USER, 0) ==
            ncoll__definition(&ctx->types, &ctx->ops, plain, 0))
            CHECK_STATUS(ncoll_type_create_named(ctx, 16, name, &named), NCOLL_OK);
    }
    *type = plain;
    if (r->rank == DIFFERS)
        ctx->types.defs[plain - TYPE_USER] = ctx->types.defs[named - TYPE_USER];
    return 0;
}

static int nothing_past_out(struct rank *r)
{
    static const struct {
        enum collective collective;
        const char *algorithm;
    } forced[] = {{COLL_ALLGATHER, "ring"}, {COLL_ALLTOALL, "direct"}, {COLL_GATHER, "flat"}};
    _Atomic int *done = r->shared;
    struct buffers b;
    ncoll_type type;

    if (prepare(r, &b) != 0 || create_alike(r, &type) != 0)
        return 1;
    for (unsigned i = 0; i < sizeof forced / sizeof forced[0]; i++)
        CHECK_STATUS(ncoll__group_force(r->world, forced[i].collective, forced[i].algorithm, 1),
                     NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == DIFFERS)
        usleep(20000);               /* by when the others have told it where their outputs are */
    for (unsigned i = 0; i < 3; i++) /* whatever becomes of them */
        call(r, what_now, b.in, b.out, type);
    ncoll_barrier(r->world, NCOLL_BLOCK);
    for (atomic_fetch_add(done, 1); atomic_load(done) < RANKS;)
        usleep(1000);
    free(b.in);
    return check_guard(r, &b, RANKS * COUNT * ncoll_context_type_size(r->ctx, type));
}

static void test_nothing_past_out(void **state)
{
    (void)state;
    _Atomic int *done = crew_share(sizeof *done);
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.show_bytes = 0; /* long messages are put into OUT wherever they may be */

    for (what_now = 0; what_now < CALLS; what_now++) {
        atomic_store(done, 0);
        if (crew_run(CREW_PROCESSES, RANKS, &params, LIMIT_S, nothing_past_out, done) != 0)
            fail_msg("call %d", what_now);
    }
    crew_unshare(done, sizeof *done);
}

static int names_differ(struct rank *r)
{
    int64_t in[3] = {1, 2, 3}, out[3 * RANKS];
    ncoll_type type;

    CHECK_STATUS(ncoll_type_create_named(r->ctx, 8, r->rank == DIFFERS ? "metre" : "foot", &type),
                 NCOLL_OK);
    what_now = ALLGATHER;
    CHECK_STATUS(ncoll_allgather(r->world, in, out, 3, type, NCOLL_BLOCK), NCOLL_ERR_MISMATCH);
    return check_text(r, r->rank == DIFFERS ? "the name \"metre\"" : "the name \"foot\"");
}

static int names_agree(struct rank *r)
{
    int64_t in[3] = {1, 2, 3}, out[3 * RANKS];
    ncoll_type type;

    CHECK_STATUS(ncoll_type_create_named(r->ctx, 8, "metre", &type), NCOLL_OK);
    CHECK_STATUS(ncoll_allgather(r->world, in, out, 3, type, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, LIMIT_S, names_differ, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, LIMIT_S, names_agree, NULL), 0);
}

/* ------------------------------------------------------------------ operations --------------- */

static void add(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)out)[i] = ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
}

static int flags_differ(struct rank *r)
{
    const ncoll_op_def def = {
        .size = sizeof def, .flags = r->rank == DIFFERS ? NCOLL_OP_IDEMPOTENT : 0, .combine = add};
    int64_t in[3] = {1, 2, 3}, out[3];
    ncoll_op op;

    CHECK_STATUS(ncoll_op_create(r->ctx, &def, &op), NCOLL_OK);
    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, "gather", 1), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce(r->world, in, out, 3, NCOLL_INT64, op, NCOLL_BLOCK),
                 NCOLL_ERR_MISMATCH);
    const char *text = ncoll_last_error(r->ctx)->text;
    CHECK(strstr(text, "created its type or operation differently") != NULL);
    CHECK(strstr(text, r->rank == DIFFERS ? "operation 0 has flags 0x2"
                                          : "operation 0 has flags 0x0") != NULL);
    return 0;
}

static void test_flags_differ(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, LIMIT_S, flags_differ, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_differ),
        cmocka_unit_test(test_nothing_past_out),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_flags_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
