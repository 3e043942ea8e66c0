/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints which nodes of a job reach each other, over which ports and how fast; and, as a self-test,
 * whether the library gives right results there. For reports of those who have cards that its
 * makers have not.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "examples/cg/support.h"
#include "algos/schedule.h"
#include "tools/info/info.h"
#include "tools/inside.h"
#include "tools/json.h"
#include "tools/table.h"

#define RANKS      2
#define CALLS      200
#define LONG_CALLS 10
#define LONG_BYTES ((size_t)1 << 20)
/* With more nodes each one is paired only with those whose numbers differ in one bit. */
#define ALL_PAIRS 32u

/* The place of a rank, which it tells rank 0. */
struct rank_place {
    char host[64], port[160]; /* port: as the library has logged it; "": over shared memory alone */
};

/* The times of a pair of nodes. */
struct pair {
    int32_t a, b;
    double round_trip_us, mb_per_s;
};

struct job {
    const struct info_choices_wish *wish;
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    const struct nodes *nodes; /* NULL: there is one */
    unsigned n_nodes;
    struct rank_place own, *all; /* all: [ranks] */
    struct pair *pairs;
    unsigned n_pairs;
};

/* ------------------------------------------------------------------ what the library says ---- */

static void listen_for_port(void *arg, ncoll_log_level level, const char *text)
{
    struct job *j = arg;
    const char *at = strstr(text, "verbs: device ");

    if (level <= NCOLL_LOG_WARN)
        failure_log(NULL, level, text);
    else if (at != NULL) /* the last one is the one that is used */
        snprintf(j->own.port, sizeof j->own.port, "%s", at + strlen("verbs: device "));
}

/* ------------------------------------------------------------------ pairs -------------------- */

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* A barrier of two ranks is a message each way at once, so it takes as long as one. */
static int measure(ncoll_group *two, struct pair *out)
{
    size_t count = LONG_BYTES / sizeof(int64_t);
    int64_t *in = calloc(count, sizeof *in), *sum = calloc(count, sizeof *sum);
    double times[CALLS], began = 0;
    int rc = in != NULL && sum != NULL ? NCOLL_OK : failure_no_memory();

    for (int i = 0; rc == NCOLL_OK && i < CALLS; i++) {
        began = now_us();
        rc = ncoll_barrier(two, NCOLL_BLOCK);
        times[i] = now_us() - began;
    }
    if (rc == NCOLL_OK) {
        qsort(times, CALLS, sizeof times[0], by_value);
        out->round_trip_us = 2 * times[CALLS / 2];
    }
    for (int i = 0; rc == NCOLL_OK && i < LONG_CALLS + 2; i++) {
        if (i == 2) /* memory has been touched, and peers are connected */
            began = now_us();
        rc = ncoll_allreduce(two, in, sum, count, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    }
    if (rc == NCOLL_OK)
        out->mb_per_s = LONG_CALLS * (double)LONG_BYTES / (now_us() - began);
    free(in);
    free(sum);
    return rc;
}

static int first_rank(const struct job *j, unsigned node)
{
    for (int r = 0; r < j->ranks; r++)
        if (j->nodes == NULL || node_of(j->nodes, (unsigned)r) == node)
            return r;
    return -1;
}

/* Measures all pairs of nodes whose numbers differ in these bits. */
static int measure_round(struct job *j, unsigned bits)
{
    unsigned own = j->nodes != NULL ? node_of(j->nodes, (unsigned)j->rank) : 0, other = own ^ bits;
    bool takes_part = other < j->n_nodes && first_rank(j, own) == j->rank;
    unsigned lower = own < other ? own : other;
    struct pair pair = {.a = (int32_t)lower, .b = (int32_t)(lower ^ bits)};
    ncoll_group *two = NULL;

    int rc = ncoll_group_split(j->world, takes_part ? (int)lower : -1, (int)own, &two, NCOLL_BLOCK);
    if (rc != NCOLL_OK || two == NULL)
        return rc;
    rc = measure(two, &pair);
    if (rc == NCOLL_OK && own == lower)
        j->pairs[j->n_pairs++] = pair;
    return rc == NCOLL_OK ? ncoll_group_free(&two, NCOLL_BLOCK) : rc;
}

static int measure_pairs(struct job *j)
{
    int rc = NCOLL_OK;

    j->pairs = calloc((size_t)j->n_nodes + 1, sizeof *j->pairs);
    if (j->pairs == NULL)
        return failure_no_memory();
    for (unsigned bits = 1; bits < 2 * j->n_nodes && rc == NCOLL_OK;
         bits = j->n_nodes <= ALL_PAIRS ? bits + 1 : 2 * bits)
        rc = measure_round(j, bits);
    return rc;
}

/* ------------------------------------------------------------------ checks ------------------- */

static int64_t value(int rank, size_t i)
{
    return rank * INT64_C(1000003) + (int64_t)i * 17;
}

/* Returns NCOLL_OK with *right, or an error. */
static int check_allreduce(struct job *j, int64_t *in, int64_t *out, size_t count, bool *right)
{
    int64_t first = 0;

    for (size_t i = 0; i < count; i++)
        in[i] = value(j->rank, i);
    int rc = ncoll_allreduce(j->world, in, out, count, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    for (int r = 0; r < j->ranks; r++)
        first += value(r, 0);
    for (size_t i = 0; i < count && rc == NCOLL_OK; i++)
        *right &= out[i] == first + j->ranks * (int64_t)i * 17;
    return rc;
}

static int check_bcast(struct job *j, int64_t *in, size_t count, int root, bool *right)
{
    for (size_t i = 0; i < count; i++)
        in[i] = value(j->rank, i);
    int rc = ncoll_bcast(j->world, in, count, NCOLL_INT64, root, NCOLL_BLOCK);
    for (size_t i = 0; i < count && rc == NCOLL_OK; i++)
        *right &= in[i] == value(root, i);
    return rc;
}

static int check_alltoall(struct job *j, int64_t *in, int64_t *out, size_t count, bool *right)
{
    size_t all = count * (size_t)j->ranks;

    for (size_t i = 0; i < all; i++)
        in[i] = value(j->rank, i);
    int rc = ncoll_alltoall(j->world, in, out, count, NCOLL_INT64, NCOLL_BLOCK);
    for (size_t i = 0; i < all && rc == NCOLL_OK; i++)
        *right &= out[i] == value((int)(i / count), (size_t)j->rank * count + i % count);
    return rc;
}

#define LONGEST ((size_t)1 << 19) /* elements */

/* Calls of every kind and length, in ordinary memory and in that of ncoll_alloc(). */
static int check_memory(struct job *j, int64_t *in, int64_t *out, bool *right)
{
    int rc = NCOLL_OK;

    for (size_t count = 1; count <= LONGEST && rc == NCOLL_OK; count *= 8)
        rc = check_allreduce(j, in, out, count, right);
    for (size_t count = 1; count <= LONGEST && rc == NCOLL_OK; count *= 32)
        rc = check_bcast(j, in, count, (int)(count % (size_t)j->ranks), right);
    if (rc == NCOLL_OK)
        rc = check_allreduce(j, in, out, LONGEST, right);
    if (rc == NCOLL_OK)
        rc = check_bcast(j, in, LONGEST, 0, right);
    for (size_t count = 1; count * (size_t)j->ranks <= LONGEST && count <= 4096 && rc == NCOLL_OK;
         count *= 16)
        rc = check_alltoall(j, in, out, count, right);
    return rc;
}

static int check_all(struct job *j, bool *right)
{
    int64_t *own[2] = {malloc(LONGEST * sizeof(int64_t)), malloc(LONGEST * sizeof(int64_t))};
    void *allocated[2] = {NULL, NULL};
    int rc = own[0] != NULL && own[1] != NULL ? NCOLL_OK : failure_no_memory();

    if (rc == NCOLL_OK)
        rc = check_memory(j, own[0], own[1], right);
    for (int i = 0; i < 2 && rc == NCOLL_OK; i++)
        rc = ncoll_alloc(j->ctx, LONGEST * sizeof(int64_t), &allocated[i]);
    if (rc == NCOLL_OK)
        rc = check_memory(j, allocated[0], allocated[1], right);
    if (j->rank == 0 && rc == NCOLL_OK)
        usleep(300000); /* all others sleep until this rank comes */
    if (rc == NCOLL_OK)
        rc = check_allreduce(j, own[0], own[1], 1, right);
    for (int i = 0; i < 2; i++) {
        free(own[i]);
        if (allocated[i] != NULL && rc == NCOLL_OK)
            rc = ncoll_free(j->ctx, allocated[i]);
    }
    return rc;
}

/* ------------------------------------------------------------------ the report --------------- */

static void print_places(const struct job *j)
{
    struct table t = {0};

    table_column(&t, true, "node");
    table_column(&t, false, "host");
    table_column(&t, true, "rank");
    table_column(&t, false, "port, and why");
    for (int r = 0; r < j->ranks; r++) {
        const struct rank_place *p = &j->all[r];
        table_cell(&t, "%u", j->nodes != NULL ? node_of(j->nodes, (unsigned)r) : 0);
        table_cell(&t, "%s", p->host);
        table_cell(&t, "%d", r);
        table_cell(&t, "%s", p->port[0] != '\0' ? p->port : "none: shared memory");
    }
    table_print(&t, 0, 0, stdout);
}

static void print_pairs(const struct pair *pairs, size_t n)
{
    char text[FIGURE_TEXT];
    struct table t = {0};

    if (n == 0)
        return;
    puts("round trips of an empty message, and allreduces of 1 MiB, between the first ranks of two "
         "nodes");
    table_column(&t, true, "node");
    table_column(&t, true, "node");
    table_column(&t, true, "round trip");
    table_column(&t, true, "MB/s");
    for (size_t i = 0; i < n; i++) {
        table_cell(&t, "%d", (int)pairs[i].a);
        table_cell(&t, "%d", (int)pairs[i].b);
        table_cell(&t, "%s", time_text(pairs[i].round_trip_us, text));
        table_cell(&t, "%.0f", pairs[i].mb_per_s);
    }
    table_print(&t, 0, 0, stdout);
}

static int by_nodes(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

/* Rank 0 gets the pairs of all ranks, and prints them. */
static int collect_pairs(struct job *j)
{
    size_t *counts = calloc((size_t)j->ranks, sizeof *counts), n = 0;
    int64_t own = (int64_t)(j->n_pairs * sizeof *j->pairs),
            *bytes = calloc((size_t)j->ranks, sizeof own);
    struct pair *all = NULL;
    int rc = counts != NULL && bytes != NULL ? NCOLL_OK : failure_no_memory();

    if (rc == NCOLL_OK)
        rc = ncoll_allgather(j->world, &own, bytes, 1, NCOLL_INT64, NCOLL_BLOCK);
    for (int r = 0; r < j->ranks && rc == NCOLL_OK; r++)
        n += counts[r] = (size_t)bytes[r];
    if (rc == NCOLL_OK && (all = malloc(n + 1)) == NULL)
        rc = failure_no_memory();
    if (rc == NCOLL_OK)
        rc = ncoll_gatherv(j->world, j->pairs, all, counts, NULL, NCOLL_INT8, 0, NCOLL_BLOCK);
    if (rc == NCOLL_OK && j->rank == 0) {
        n /= sizeof *all;
        qsort(all, n, sizeof *all, by_nodes);
        print_pairs(all, n);
    }
    free(all);
    free(bytes);
    free(counts);
    return rc;
}

static int print_checks(struct job *j)
{
    bool right = true;
    int64_t wrong, any = 0;

    int rc = check_all(j, &right);
    wrong = !right;
    if (rc == NCOLL_OK)
        rc = ncoll_allreduce(j->world, &wrong, &any, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (rc != NCOLL_OK)
        return rc;
    if (j->rank == 0)
        printf("results of allreduce and bcast, 8 B to 4 MiB, and of alltoall: %s\n",
               any == 0 ? "right on all ranks" : "WRONG");
    return any == 0 ? NCOLL_OK : NCOLL_ERR_INTERNAL;
}

static void print_system(void)
{
    struct utsname system;

    if (uname(&system) == 0)
        printf("%s %s %s\n", system.sysname, system.release, system.machine);
    info_print("build", info_build(), stdout);
    info_print("settings", info_settings(), stdout);
}

/* ------------------------------------------------------------------ ranks -------------------- */

static int report(struct job *j)
{
    bool prints = j->rank == 0;
    int rc;

    j->n_nodes = j->nodes != NULL ? j->nodes->count : 1;
    j->all = calloc((size_t)j->ranks, sizeof *j->all);
    if (j->all == NULL)
        return failure_no_memory();
    gethostname(j->own.host, sizeof j->own.host - 1);
    rc = ncoll_allgather(j->world, &j->own, j->all, sizeof j->own, NCOLL_INT8, NCOLL_BLOCK);
    if (rc == NCOLL_OK && prints && j->wish->checks)
        print_system();
    if (rc == NCOLL_OK && prints) {
        printf("%d ranks on %u nodes\n", j->ranks, j->n_nodes);
        print_places(j);
    }
    if (rc == NCOLL_OK)
        rc = measure_pairs(j);
    if (rc == NCOLL_OK)
        rc = collect_pairs(j);
    if (rc == NCOLL_OK && j->wish->checks)
        rc = print_checks(j);
    return rc;
}

static int rank_main(const ncoll_params *params, void *arg)
{
    struct job j = {.wish = arg};
    ncoll_params own = *params;
    ncoll_error error;

    own.log = listen_for_port;
    own.log_arg = &j;
    own.log_level = NCOLL_LOG_INFO;
    if (ncoll_context_create(&own, &j.ctx, &error) != NCOLL_OK) {
        failure_report(&error);
        return EXIT_FAILURE;
    }
    j.world = ncoll_world(j.ctx);
    j.rank = ncoll_group_rank(j.world);
    j.ranks = ncoll_group_size(j.world);
    j.nodes = ncoll__group_nodes(j.world);
    int rc = report(&j);
    failure_of_call(j.ctx, rc);
    free(j.pairs);
    free(j.all);
    ncoll_context_destroy(j.ctx);
    return rc == NCOLL_OK && output_written(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int info_fabric(struct info_choices_wish *wish)
{
    return info_in_job(wish, RANKS, rank_main);
}
