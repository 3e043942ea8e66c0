/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This program measures what the kernels cost: their time divided by that of a loop that is bound
 * by memory alone, which reads two streams and writes one (exclusive or of words), with out apart,
 * as left and as right. And the nanoseconds that a reproducible sum costs for each element.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/compute/kernels.h"
#include "lib/compute/reproducible.h"

#define RUNS     15
#define LARGEST  ((size_t)4 << 20)
#define VECTOR   (LARGEST + 4096 + 448) /* vectors do not lie a multiple of a page apart */
#define ELEMENTS 1000

static unsigned char *memory;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The least time of a call; place: 0 apart, 1 in left, 2 in right. */
static double measure(ncoll_op_fn combine, size_t count, size_t bytes, unsigned place)
{
    unsigned char *left = memory, *right = memory + VECTOR, *out = memory + 2 * VECTOR;
    size_t calls = LARGEST / bytes;
    double least = 1e30;

    out = place == 1 ? left : place == 2 ? right : out;
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now_ns();
        for (size_t i = 0; i < calls; i++)
            combine(out, left, right, count, 0, NULL);
        double ns = (now_ns() - start) / (double)calls;
        least = ns < least ? ns : least;
    }
    return least;
}

static void measure_kernel(const char *level, const char *name, ncoll_op_fn combine, size_t size)
{
    static const size_t bytes[] = {32 << 10, 256 << 10, LARGEST};
    ncoll_op_fn bound = ncoll__kernels()->combine[NCOLL_UINT64][NCOLL_BXOR];

    if (combine == NULL)
        return;
    printf("%-6s %-22s", level, name);
    for (unsigned i = 0; i < 3; i++) {
        printf(" |");
        for (unsigned place = 0; place < 3; place++)
            printf(" %5.2f", measure(combine, bytes[i] / size, bytes[i], place) /
                                 measure(bound, bytes[i] / 8, bytes[i], place));
    }
    printf("\n");
}

static const struct {
    const char *name;
    ncoll_type type;
    ncoll_op op;
} measured[] = {
    {"float sum", NCOLL_FLOAT, NCOLL_SUM},
    {"double sum", NCOLL_DOUBLE, NCOLL_SUM},
    {"int32 sum", NCOLL_INT32, NCOLL_SUM},
    {"int8 prod", NCOLL_INT8, NCOLL_PROD},
    {"int64 prod", NCOLL_INT64, NCOLL_PROD},
    {"int64 max", NCOLL_INT64, NCOLL_MAX},
    {"float min", NCOLL_FLOAT, NCOLL_MIN},
    {"double max", NCOLL_DOUBLE, NCOLL_MAX},
    {"half sum", NCOLL_HALF, NCOLL_SUM},
    {"half max", NCOLL_HALF, NCOLL_MAX},
    {"bfloat16 sum", NCOLL_BFLOAT16, NCOLL_SUM},
    {"complex float prod", NCOLL_COMPLEX_FLOAT, NCOLL_PROD},
    {"complex double prod", NCOLL_COMPLEX_DOUBLE, NCOLL_PROD},
    {"long double sum", NCOLL_LONG_DOUBLE, NCOLL_SUM},
    {"int32 + int32 minloc", NCOLL_INT32_INT32, NCOLL_MINLOC},
    {"double + int64 maxloc", NCOLL_DOUBLE_INT64, NCOLL_MAXLOC},
};

static void measure_reproducible(void)
{
    static double in[2][ELEMENTS], out[ELEMENTS];
    static struct reproducible sum[2][ELEMENTS];
    double least[3] = {1e30, 1e30, 1e30};

    for (unsigned i = 0; i < ELEMENTS; i++) {
        in[0][i] = 1.0 / (1 + i);
        in[1][i] = -1e6 / (1 + i % 7);
    }
    for (unsigned run = 0; run < 50 * RUNS; run++) {
        double t[4];
        ncoll__reproducible_open(sum[1], in[1], ELEMENTS, NCOLL_DOUBLE);
        t[0] = now_ns();
        ncoll__reproducible_open(sum[0], in[0], ELEMENTS, NCOLL_DOUBLE);
        t[1] = now_ns();
        ncoll__reproducible_combine(sum[0], sum[0], sum[1], ELEMENTS, NCOLL_DOUBLE, NULL);
        t[2] = now_ns();
        ncoll__reproducible_close(out, sum[0], ELEMENTS, NCOLL_DOUBLE);
        t[3] = now_ns();
        for (unsigned i = 0; i < 3; i++)
            least[i] = t[i + 1] - t[i] < least[i] ? t[i + 1] - t[i] : least[i];
    }
    printf("reproducible sum of doubles, ns an element: open %.2f, combine %.2f, close %.2f\n",
           least[0] / ELEMENTS, least[1] / ELEMENTS, least[2] / ELEMENTS);
}

int main(void)
{
    memory = malloc(3 * VECTOR);
    if (memory == NULL)
        return 1;
    memset(memory, 0, 3 * VECTOR); /* no subnormals, which take their time */
    printf("time of a kernel / time of the loop bound by memory; out apart, left, right\n");
    printf("%-29s | 32 KiB            | 256 KiB           | 4 MiB\n", "");
    for (unsigned i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        ncoll_type type = measured[i].type;
        ncoll_op op = measured[i].op;
        const char *name = measured[i].name;
        size_t size = ncoll_type_size(type);
        if (ncoll__kernels() != &ncoll__kernels_plain)
            measure_kernel("best", name, ncoll__kernels()->combine[type][op], size);
        measure_kernel("plain", name, ncoll__kernels_plain.combine[type][op], size);
        measure_kernel("scalar", name, ncoll__kernels_scalar.combine[type][op], size);
    }
    measure_reproducible();
    free(memory);
    return 0;
}
