/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes while an allreduce is going on. The library has no thread that would do its work
 * meanwhile, so the computation is cut into slices, and a test after each of them makes progress.
 *
 * Computing hides the time that a rank waits: for a network card, or, as here, for a rank that
 * is late. Between ranks of a node the cores copy and add up the data themselves, which nothing
 * hides. With more ranks than cores, others compute while a rank waits: there may be a loss.
 */
#define _POSIX_C_SOURCE 200809L
#include <ncoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNT  (1 << 18) /* doubles: 2 MiB */
#define SLICES 64
#define LATE   32 /* slices */
#define ROUNDS 5

static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static void compute(int slices)
{
    static volatile double x; /* so that the compiler does not leave it out */

    for (int i = 0; i < slices * 20000; i++)
        x = x * 0.5 + 1;
}

/* In ms, on this rank. */
struct times {
    double alone, computation, both;
};

/* All ranks begin together, but for the last one, which comes to the collectives late. */
static void measure(ncoll_context *ctx, const double *in, double *out, struct times *sum)
{
    ncoll_group *world = ncoll_world(ctx);
    int is_late = ncoll_group_rank(world) == ncoll_group_size(world) - 1;
    ncoll_request *request;

    check(ctx, ncoll_barrier(world, NCOLL_BLOCK));
    compute(is_late ? LATE : 0);
    sum->alone -= now_ms();
    check(ctx, ncoll_allreduce(world, in, out, COUNT, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK));
    sum->alone += now_ms();

    check(ctx, ncoll_barrier(world, NCOLL_BLOCK));
    sum->computation -= now_ms();
    compute(SLICES);
    sum->computation += now_ms();

    check(ctx, ncoll_barrier(world, NCOLL_BLOCK));
    compute(is_late ? LATE : 0);
    sum->both -= now_ms();
    check(ctx, ncoll_allreduce_start(world, in, out, COUNT, NCOLL_DOUBLE, NCOLL_SUM, &request));
    for (int i = 0; i < SLICES; i++) {
        compute(1);
        /* A test that ends the request sets it to NULL; to test NULL is an error. */
        int status = request != NULL ? ncoll_test(&request) : NCOLL_OK;
        if (status != NCOLL_TIMEOUT)
            check(ctx, status);
    }
    if (request != NULL)
        check(ctx, ncoll_wait(&request, NCOLL_BLOCK));
    sum->both += now_ms();
}

int main(void)
{
    ncoll_context *ctx;
    ncoll_error error;
    void *in, *out;
    int wrong = 0;
    struct times sum = {0};

    if (ncoll_context_create(NULL, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    int rank = ncoll_group_rank(ncoll_world(ctx)), ranks = ncoll_group_size(ncoll_world(ctx));
    /* Memory that the network card and the ranks of the node can read without a copy. */
    check(ctx, ncoll_alloc(ctx, COUNT * sizeof(double), &in));
    check(ctx, ncoll_alloc(ctx, COUNT * sizeof(double), &out));
    for (int i = 0; i < COUNT; i++)
        ((double *)in)[i] = rank + 1;
    for (int round = 0; round < ROUNDS; round++) {
        measure(ctx, in, out, &sum);
        for (int i = 0; i < COUNT; i++)
            wrong += ((double *)out)[i] != ranks * (ranks + 1) / 2;
    }
    if (rank == 0) {
        double longer = sum.alone > sum.computation ? sum.alone : sum.computation;
        printf("allreduce %.2f ms, computation %.2f ms, both %.2f ms: ", sum.alone / ROUNDS,
               sum.computation / ROUNDS, sum.both / ROUNDS);
        /* Both take as long as the longer one at least, unless that was disturbed. */
        if (sum.both < longer)
            printf("no figure, since something else ran on the cores meanwhile, ");
        else
            printf("%.0f %% hidden, ", 100 * (sum.alone + sum.computation - sum.both) / sum.alone);
        printf("sums %s\n", wrong == 0 ? "right" : "wrong");
    }
    ncoll_context_destroy(ctx);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
