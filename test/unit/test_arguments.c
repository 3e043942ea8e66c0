/* SPDX-License-Identifier: BSD-3-Clause */
/* Bad input that one rank can give: a clear error, and nothing is lost by it. */
#include <arpa/inet.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "ncoll.h"

static ncoll_context *ctx;
static ncoll_group *world;
static int64_t in[4] = {1, 2, 3, 4}, out[4];

static int setup(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    if (ncoll_context_create(&params, &ctx, NULL) != NCOLL_OK)
        return -1;
    world = ncoll_world(ctx);
    return 0;
}

/* After each test the next collective is right. */
static int teardown(void **state)
{
    (void)state;
    memset(out, 0, sizeof out);
    int rc = ncoll_allreduce(world, in, out, 4, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    bool well = rc == NCOLL_OK && memcmp(in, out, sizeof in) == 0;
    ncoll_context_destroy(ctx);
    return well ? 0 : -1;
}

/* The status is the last error's, which says what happened and what to do. */
static void expect(int rc, ncoll_status status, const char *cause)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    assert_int_equal(rc, status);
    assert_int_equal(error->status, status);
    assert_int_equal(error->rank, 0);
    if (strstr(error->cause, cause) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error->cause, cause);
    assert_non_null(strstr(error->text, error->cause));
    assert_non_null(strstr(error->text, error->remedy));
    assert_true(strlen(error->remedy) > 0);
}

static int allreduce(const void *from, void *to, size_t count, ncoll_type type, ncoll_op op)
{
    return ncoll_allreduce(world, from, to, count, type, op, NCOLL_BLOCK);
}

/* ------------------------------------------------------------------ handles ------------------ */

/* Every function that takes a handle, with one that is none. */
static void expect_bad_handles(void *bad)
{
    static const ncoll_op_def def = {.size = sizeof def};
    ncoll_stats stats = {.size = sizeof stats};
    ncoll_request *request = NULL, *bad_request = bad;
    ncoll_group *group = bad;
    ncoll_op op;

    assert_int_equal(ncoll_barrier(group, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_allreduce(group, in, out, 4, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_barrier_start(group, &request), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_allreduce_start(group, in, out, 4, NCOLL_INT64, NCOLL_SUM, &request),
                     NCOLL_ERR_HANDLE);
    assert_null(request);
    assert_int_equal(ncoll_test(&bad_request), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_wait(&bad_request, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    assert_ptr_equal(bad_request, bad);
    assert_int_equal(ncoll_progress(bad), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_op_create(bad, &def, &op), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_context_stats(bad, &stats), NCOLL_ERR_HANDLE);
    assert_null(ncoll_world(bad));
    assert_int_equal(ncoll_group_rank(group), -1);
    assert_int_equal(ncoll_group_size(group), -1);
    assert_int_equal(ncoll_last_error(bad)->status, NCOLL_ERR_HANDLE);
    assert_non_null(strstr(ncoll_last_error(bad)->text, "not one of this library's"));
    ncoll_context_destroy(bad);
}

static void test_handles(void **state)
{
    uint64_t garbage[1024];

    (void)state;
    expect_bad_handles(NULL);
    memset(garbage, 0, sizeof garbage);
    expect_bad_handles(garbage);
    memset(garbage, 0xff, sizeof garbage);
    expect_bad_handles(garbage);
    assert_int_equal(ncoll_test(NULL), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_wait(NULL, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    /* each other's */
    assert_int_equal(ncoll_barrier((ncoll_group *)ctx, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    assert_null(ncoll_world((ncoll_context *)world));
}

/* ------------------------------------------------------------------ allreduce ---------------- */

static void test_counts(void **state)
{
    (void)state;
    expect(allreduce(in, out, SIZE_MAX, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_ARGUMENT, "count");
    expect(allreduce(in, out, SIZE_MAX / 8 + 1, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_ARGUMENT,
           "2305843009213693952 elements of 8 bytes");
    expect(allreduce(in, out, SIZE_MAX / 2 + 1, NCOLL_INT8, NCOLL_SUM), NCOLL_ERR_ARGUMENT,
           "count");
    /* memory could hold the vector, but not what is added up in its place */
    expect(allreduce(in, in, (size_t)1 << 59, NCOLL_DOUBLE, NCOLL_SUM_REPRODUCIBLE),
           NCOLL_ERR_MEMORY, "1152921504606846976 elements of 32 bytes");
    assert_int_equal(allreduce(NULL, NULL, 0, NCOLL_INT64, NCOLL_SUM), NCOLL_OK);
    /* they have to be given, even right after the same call that takes none */
    assert_int_equal(ncoll_gather(world, in, out, 0, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    expect(ncoll_gatherv(world, in, out, NULL, NULL, NCOLL_INT64, 0, NCOLL_BLOCK),
           NCOLL_ERR_ARGUMENT, "counts are NULL");
}

static void test_buffers(void **state)
{
    (void)state;
    expect(ncoll_barrier_start(world, NULL), NCOLL_ERR_ARGUMENT, "request is NULL");
    expect(allreduce(NULL, out, 1, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_ARGUMENT, "in is NULL");
    expect(allreduce(in, NULL, 1, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_ARGUMENT, "out is NULL");
    expect(allreduce(out, out + 1, 3, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_ARGUMENT,
           "overlap by 16 of 24 bytes");
    expect(allreduce(out + 1, out, 3, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_ARGUMENT,
           "overlap by 16 of 24 bytes");
    expect(allreduce(out, (char *)out + 1, 2, NCOLL_INT8, NCOLL_SUM), NCOLL_ERR_ARGUMENT,
           "overlap by 1 of 2 bytes");
    assert_int_equal(allreduce(out, out + 2, 2, NCOLL_INT64, NCOLL_SUM), NCOLL_OK); /* touch */
    assert_int_equal(allreduce(out, out, 4, NCOLL_INT64, NCOLL_SUM), NCOLL_OK);
}

static void test_types_and_operations(void **state)
{
    static const int types[] = {-1, 0, NCOLL_DOUBLE_INT64 + 1, 1000};
    static const ncoll_op ops[] = {0, NCOLL_SUM_REPRODUCIBLE + 1, 15, 16, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        expect(allreduce(in, out, 1, (ncoll_type)types[i], NCOLL_SUM), NCOLL_ERR_ARGUMENT, "type");
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        expect(allreduce(in, out, 1, NCOLL_INT64, ops[i]), NCOLL_ERR_ARGUMENT, "operation");
    for (ncoll_op op = NCOLL_LAND; op <= NCOLL_BXOR; op++) {
        expect(allreduce(in, out, 1, NCOLL_FLOAT, op), NCOLL_ERR_ARGUMENT, "not defined for float");
        expect(allreduce(in, out, 1, NCOLL_DOUBLE, op), NCOLL_ERR_ARGUMENT,
               "not defined for double");
    }
}

static void test_timeouts(void **state)
{
    ncoll_request *request;

    (void)state;
    expect(ncoll_barrier(world, -1), NCOLL_ERR_ARGUMENT, "-1 ns");
    expect(ncoll_barrier(world, INT64_MIN), NCOLL_ERR_ARGUMENT, "time-out");
    expect(ncoll_allreduce(world, in, out, 1, NCOLL_INT64, NCOLL_SUM, -5), NCOLL_ERR_ARGUMENT,
           "-5 ns");
    assert_int_equal(ncoll_barrier_start(world, &request), NCOLL_OK);
    expect(ncoll_wait(&request, -1), NCOLL_ERR_ARGUMENT, "-1 ns");
    assert_non_null(request);
    assert_int_equal(ncoll_wait(&request, 1), NCOLL_OK);
    assert_null(request);
}

/* A request is checked alike, and not made if it is wrong. */
static void test_requests(void **state)
{
    ncoll_request *request = NULL;

    (void)state;
    assert_int_equal(ncoll_barrier_start(world, NULL), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_allreduce_start(world, in, out, 4, NCOLL_INT64, NCOLL_SUM, NULL),
                     NCOLL_ERR_ARGUMENT);
    expect(ncoll_allreduce_start(world, NULL, out, 4, NCOLL_INT64, NCOLL_SUM, &request),
           NCOLL_ERR_ARGUMENT, "in is NULL");
    expect(ncoll_allreduce_start(world, in, out, 4, NCOLL_FLOAT, NCOLL_BAND, &request),
           NCOLL_ERR_ARGUMENT, "not defined");
    assert_null(request);
}

/* ------------------------------------------------------------------ operations --------------- */

static void keep_left(void *to, const void *left, const void *right, size_t count, ncoll_type type,
                      void *arg)
{
    (void)right, (void)arg;
    memmove(to, left, count * ncoll_type_size(type));
}

static void test_operations(void **state)
{
    ncoll_op_def good = {.size = sizeof good, .combine = keep_left}, bad = good;
    ncoll_op op = 7;

    (void)state;
    bad.size--;
    expect(ncoll_op_create(ctx, &bad, &op), NCOLL_ERR_ARGUMENT, "definition of the operation");
    bad = good, bad.combine = NULL;
    expect(ncoll_op_create(ctx, &bad, &op), NCOLL_ERR_ARGUMENT, "definition of the operation");
    bad = good, bad.flags = 4;
    expect(ncoll_op_create(ctx, &bad, &op), NCOLL_ERR_ARGUMENT, "definition of the operation");
    expect(ncoll_op_create(ctx, NULL, &op), NCOLL_ERR_ARGUMENT, "definition of the operation");
    expect(ncoll_op_create(ctx, &good, NULL), NCOLL_ERR_ARGUMENT, "definition of the operation");
    assert_int_equal(op, 7);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(ncoll_op_create(ctx, &good, &op), NCOLL_OK);
    assert_int_equal(allreduce(in, out, 4, NCOLL_INT64, op), NCOLL_OK);
    expect(allreduce(in, out, 4, NCOLL_INT64, op + 1), NCOLL_ERR_ARGUMENT, "operation");
    expect(ncoll_op_create(ctx, &good, &op), NCOLL_ERR_RESOURCE, "1000");
}

/* ------------------------------------------------------------------ creation ----------------- */

/* A context must not come into being, for this reason. */
static void expect_no_context(const ncoll_params *params, ncoll_status status, const char *cause)
{
    ncoll_context *none = NULL;
    ncoll_error error;

    assert_int_equal(ncoll_context_create(params, &none, &error), status);
    assert_null(none);
    assert_int_equal(error.status, status);
    if (strstr(error.text, cause) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.text, cause);
    assert_true(strlen(error.remedy) > 0);
}

static ncoll_params fresh(ncoll_bootstrap bootstrap)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.bootstrap = bootstrap;
    params.bootstrap_timeout_ns = 200000000;
    return params;
}

static void test_names(void **state)
{
    ncoll_params params;

    (void)state;
    params = fresh(NCOLL_BOOTSTRAP_SELF), params.transport = "tcp";
    expect_no_context(&params, NCOLL_ERR_ARGUMENT,
                      "no transport \"tcp\"; use shm, verbs or shm+verbs");
    params = fresh(NCOLL_BOOTSTRAP_SELF), params.wiring = "ib";
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "no wiring \"ib\"; use direct or rdmacm");
    params = fresh(NCOLL_BOOTSTRAP_SELF), params.barrier_algorithm = "gather";
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "no barrier algorithm \"gather\"");
    params = fresh(NCOLL_BOOTSTRAP_SELF), params.allreduce_algorithm = "knomial";
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "two-window");
}

/* A port of this machine that nobody uses now. */
static const char *free_address(char *text, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    close(fd);
    snprintf(text, size, "127.0.0.1:%u", ntohs(address.sin_port));
    return text;
}

static void test_bootstraps(void **state)
{
    ncoll_params params;
    char address[32];

    (void)state;
    params = fresh(NCOLL_BOOTSTRAP_FORK);
    expect_no_context(&params, NCOLL_ERR_BOOTSTRAP, "ncoll_fork_ranks()");
    params = fresh(NCOLL_BOOTSTRAP_USER), params.rank = 0, params.ranks = 1;
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "callback");
    params = fresh(NCOLL_BOOTSTRAP_SELF), params.rank = 1, params.ranks = 2;
    expect_no_context(&params, NCOLL_ERR_BOOTSTRAP, "NCOLL_ROOT");
    params = fresh(NCOLL_BOOTSTRAP_TCP), params.root = "localhost:7000", params.rank = 2,
    params.ranks = 2;
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "NCOLL_RANK is 2");
    params.rank = 0, params.ranks = 0; /* size 0 */
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "NCOLL_SIZE");
    params.rank = 1, params.ranks = 2, params.root = "localhost:port";
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "localhost:port");
    params.root = "localhost:1"; /* nobody listens */
    expect_no_context(&params, NCOLL_ERR_BOOTSTRAP, "localhost port 1 ");
    params.root = "localhost:0";
    expect_no_context(&params, NCOLL_ERR_ARGUMENT, "localhost:0");
    params.root = free_address(address, sizeof address), params.rank = 0; /* rank 1 never comes */
    expect_no_context(&params, NCOLL_ERR_BOOTSTRAP, "rank 1");
}

static void test_pmix_is_absent(void **state)
{
    ncoll_params params = fresh(NCOLL_BOOTSTRAP_PMIX);

    (void)state;
#ifdef NCOLL_HAVE_PMIX
    if (getenv("PMIX_NAMESPACE") != NULL)
        skip();
    expect_no_context(&params, NCOLL_ERR_BOOTSTRAP, "prterun");
#else
    expect_no_context(&params, NCOLL_ERR_UNSUPPORTED, "built without PMIx");
#endif
}

static bool have_devices(void)
{
    DIR *directory = opendir("/sys/class/infiniband");
    struct dirent *entry;
    bool any = false;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        any |= entry->d_name[0] != '.';
    if (directory != NULL)
        closedir(directory);
    return any;
}

static void test_no_active_port(void **state)
{
    ncoll_params params = fresh(NCOLL_BOOTSTRAP_SELF);

    (void)state;
    params.transport = "verbs";
#ifdef NCOLL_HAVE_VERBS
    if (have_devices())
        skip();
    expect_no_context(&params, NCOLL_ERR_DEVICE, "RDMA");
#else
    (void)have_devices;
    expect_no_context(&params, NCOLL_ERR_UNSUPPORTED, "built without the verbs transport");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_handles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_buffers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_types_and_operations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_timeouts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_operations, setup, teardown),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bootstraps),
        cmocka_unit_test(test_pmix_is_absent),
        cmocka_unit_test(test_no_active_port),
    };

    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
