/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/sim/every.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An alltoall with counts has one algorithm, which connects all ranks with each other. So it is made
 * on groups of up to so many ranks. */
#define MESH_MOST 256
/* The plan of an alltoall has some instructions for each rank, 136 bytes each. Thousands of ranks
 * have it at the same time. */
#define ALLTOALL_MOST 1024

#define WORDS 3u /* of a vector, or of a block that is not one of many */

/* The counts of irregular calls: parity[k][r] = (k + r) % 2. All ranks share them, since thousands
 * of ranks are in one process. */
static size_t *parity[2];
static size_t parities;

struct every {
    ncoll_group *group;
    int rank, size, root;
    int64_t *in, *out; /* [size], or [WORDS] if that is more */
};

/* What a rank brings in some place. Sums over a million ranks do not overflow. */
static int64_t brought(int rank, size_t at)
{
    uint64_t word = ((uint64_t)rank << 20 ^ at) * UINT64_C(0x9e3779b97f4a7c15);

    return (int64_t)((word ^ word >> 29) % 1000003);
}

static int64_t sum_below(int end, size_t at)
{
    int64_t sum = 0;

    for (int r = 0; r < end; r++)
        sum += brought(r, at);
    return sum;
}

static void bring(struct every *e, size_t words)
{
    for (size_t i = 0; i < words; i++)
        e->in[i] = brought(e->rank, i);
    memset(e->out, 0, words * sizeof *e->out);
}

static bool make_parities(size_t size)
{
    if (size <= parities)
        return true;
    every_free();
    for (size_t k = 0; k < 2; k++) {
        parity[k] = malloc(size * sizeof *parity[k]);
        for (size_t r = 0; parity[k] != NULL && r < size; r++)
            parity[k][r] = (k + r) % 2;
    }
    parities = size;
    return parity[0] != NULL && parity[1] != NULL;
}

void every_free(void)
{
    free(parity[0]);
    free(parity[1]);
    parity[0] = parity[1] = NULL;
    parities = 0;
}

/* ------------------------------------------------------------------ vectors ------------------- */

static bool barrier(struct every *e)
{
    return ncoll_barrier(e->group, NCOLL_BLOCK) == NCOLL_OK;
}

static bool bcast(struct every *e)
{
    bring(e, WORDS);
    if (ncoll_bcast(e->group, e->in, WORDS, NCOLL_INT64, e->root, NCOLL_BLOCK) != NCOLL_OK)
        return false;
    for (size_t i = 0; i < WORDS; i++)
        if (e->in[i] != brought(e->root, i))
            return false;
    return true;
}

static bool is_sum(const struct every *e, int end)
{
    for (size_t i = 0; i < WORDS; i++)
        if (e->out[i] != sum_below(end, i))
            return false;
    return true;
}

static bool reduce(struct every *e)
{
    bring(e, WORDS);
    return ncoll_reduce(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, e->root,
                        NCOLL_BLOCK) == NCOLL_OK &&
           (e->rank != e->root || is_sum(e, e->size));
}

static bool allreduce(struct every *e)
{
    bring(e, WORDS);
    return ncoll_allreduce(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
               NCOLL_OK &&
           is_sum(e, e->size);
}

static bool scan(struct every *e)
{
    bring(e, WORDS);
    return ncoll_scan(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
               NCOLL_OK &&
           is_sum(e, e->rank + 1);
}

static bool exscan(struct every *e)
{
    bring(e, WORDS);
    return ncoll_exscan(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
               NCOLL_OK &&
           (e->rank == 0 || is_sum(e, e->rank));
}

/* ------------------------------------------------------------------ blocks -------------------- */

/* OUT has one word of each rank, or of those that have a count. */
static bool has_all(const struct every *e, const size_t *counts, size_t at)
{
    const int64_t *next = e->out;

    for (int r = 0; r < e->size; r++)
        if ((counts == NULL || counts[r] > 0) && *next++ != brought(r, at))
            return false;
    return true;
}

static bool gather(struct every *e)
{
    bring(e, 1);
    return ncoll_gather(e->group, e->in, e->out, 1, NCOLL_INT64, e->root, NCOLL_BLOCK) ==
               NCOLL_OK &&
           (e->rank != e->root || has_all(e, NULL, 0));
}

static bool gatherv(struct every *e)
{
    bring(e, 1);
    return ncoll_gatherv(e->group, e->in, e->out, parity[0], NULL, NCOLL_INT64, e->root,
                         NCOLL_BLOCK) == NCOLL_OK &&
           (e->rank != e->root || has_all(e, parity[0], 0));
}

static bool allgather(struct every *e)
{
    bring(e, 1);
    return ncoll_allgather(e->group, e->in, e->out, 1, NCOLL_INT64, NCOLL_BLOCK) == NCOLL_OK &&
           has_all(e, NULL, 0);
}

static bool allgatherv(struct every *e)
{
    bring(e, 1);
    return ncoll_allgatherv(e->group, e->in, e->out, parity[0], NULL, NCOLL_INT64, NCOLL_BLOCK) ==
               NCOLL_OK &&
           has_all(e, parity[0], 0);
}

static bool scatter(struct every *e)
{
    bring(e, (size_t)e->size);
    return ncoll_scatter(e->group, e->in, e->out, 1, NCOLL_INT64, e->root, NCOLL_BLOCK) ==
               NCOLL_OK &&
           e->out[0] == brought(e->root, (size_t)e->rank);
}

static bool scatterv(struct every *e)
{
    bring(e, (size_t)e->size);
    return ncoll_scatterv(e->group, e->in, parity[0], NULL, e->out, NCOLL_INT64, e->root,
                          NCOLL_BLOCK) == NCOLL_OK &&
           (parity[0][e->rank] == 0 || e->out[0] == brought(e->root, (size_t)e->rank / 2));
}

static bool reduce_scatter(struct every *e)
{
    bring(e, (size_t)e->size);
    return ncoll_reduce_scatter(e->group, e->in, e->out, parity[0], NCOLL_INT64, NCOLL_SUM,
                                NCOLL_BLOCK) == NCOLL_OK &&
           (parity[0][e->rank] == 0 || e->out[0] == sum_below(e->size, (size_t)e->rank / 2));
}

static bool reduce_scatter_block(struct every *e)
{
    bring(e, (size_t)e->size);
    return ncoll_reduce_scatter_block(e->group, e->in, e->out, 1, NCOLL_INT64, NCOLL_SUM,
                                      NCOLL_BLOCK) == NCOLL_OK &&
           e->out[0] == sum_below(e->size, (size_t)e->rank);
}

static bool alltoall(struct every *e)
{
    if (e->size > ALLTOALL_MOST)
        return true;
    bring(e, (size_t)e->size);
    return ncoll_alltoall(e->group, e->in, e->out, 1, NCOLL_INT64, NCOLL_BLOCK) == NCOLL_OK &&
           has_all(e, NULL, (size_t)e->rank);
}

/* Blocks go from even ranks to odd ones, and from odd ranks to even ones. */
static bool alltoallv(struct every *e)
{
    const size_t *counts = parity[e->rank % 2];

    if (e->size > MESH_MOST)
        return true;
    bring(e, (size_t)e->size);
    return ncoll_alltoallv(e->group, e->in, counts, NULL, e->out, counts, NULL, NCOLL_INT64,
                           NCOLL_BLOCK) == NCOLL_OK &&
           has_all(e, counts, (size_t)e->rank / 2);
}

/* ------------------------------------------------------------------ all ----------------------- */

const char *every_call(ncoll_group *group, int root)
{
    static const struct {
        const char *name;
        bool (*call)(struct every *e);
    } all[] = {{"barrier", barrier},
               {"bcast", bcast},
               {"reduce", reduce},
               {"allreduce", allreduce},
               {"gather", gather},
               {"gatherv", gatherv},
               {"scatter", scatter},
               {"scatterv", scatterv},
               {"allgather", allgather},
               {"allgatherv", allgatherv},
               {"alltoall", alltoall},
               {"alltoallv", alltoallv},
               {"reduce_scatter", reduce_scatter},
               {"reduce_scatter_block", reduce_scatter_block},
               {"scan", scan},
               {"exscan", exscan}};
    struct every e = {.group = group,
                      .rank = ncoll_group_rank(group),
                      .size = ncoll_group_size(group),
                      .root = root};
    size_t words = (size_t)e.size < WORDS ? WORDS : (size_t)e.size;
    const char *wrong = NULL;

    e.in = malloc(words * sizeof *e.in);
    e.out = malloc(words * sizeof *e.out);
    if (e.in == NULL || e.out == NULL || !make_parities(words))
        wrong = "malloc";
    for (unsigned i = 0; wrong == NULL && i < sizeof all / sizeof all[0]; i++)
        if (!all[i].call(&e))
            wrong = all[i].name;
    free(e.in);
    free(e.out);
    return wrong;
}
