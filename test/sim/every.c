/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/sim/every.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 3u /* of a vector */

/* Blocks are of bytes, as thousands of ranks have all blocks at the same time. */
typedef uint8_t byte;

/* What thousands of ranks share, since they are in one process. */
static struct {
    size_t ranks;
    size_t *parity[2];   /* the counts of irregular calls: parity[k][r] = (k + r) % 2 */
    int64_t *sum[WORDS]; /* [ranks + 1] sums of what ranks 0..r-1 bring */
} known;

struct every {
    ncoll_group *group;
    int rank, size, root;
    int64_t in[WORDS], out[WORDS];
    byte *blocks_in, *blocks_out; /* [size] */
};

/* What a rank brings in some place. Sums over a million ranks do not overflow. */
static int64_t brought(int rank, size_t at)
{
    uint64_t word = ((uint64_t)rank << 20 ^ at) * UINT64_C(0x9e3779b97f4a7c15);

    return (int64_t)((word ^ word >> 29) % 1000003);
}

static byte brought_byte(int rank, size_t at)
{
    return (byte)brought(rank, at);
}

static void bring(struct every *e)
{
    for (size_t i = 0; i < WORDS; i++)
        e->in[i] = brought(e->rank, i);
    memset(e->out, 0, sizeof e->out);
}

/* Brings n blocks of a byte. */
static void bring_blocks(struct every *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        e->blocks_in[i] = brought_byte(e->rank, i);
    memset(e->blocks_out, 0, (size_t)e->size);
}

void every_free(void)
{
    for (size_t i = 0; i < 2; i++)
        free(known.parity[i]);
    for (size_t i = 0; i < WORDS; i++)
        free(known.sum[i]);
    memset(&known, 0, sizeof known);
}

static bool make_known(size_t ranks)
{
    bool ok = true;

    if (ranks <= known.ranks)
        return true;
    every_free();
    for (size_t k = 0; k < 2 && ok; k++) {
        ok = (known.parity[k] = malloc(ranks * sizeof(size_t))) != NULL;
        for (size_t r = 0; ok && r < ranks; r++)
            known.parity[k][r] = (k + r) % 2;
    }
    for (size_t i = 0; i < WORDS && ok; i++) {
        ok = (known.sum[i] = calloc(ranks + 1, sizeof(int64_t))) != NULL;
        for (size_t r = 0; ok && r < ranks; r++)
            known.sum[i][r + 1] = known.sum[i][r] + brought((int)r, i);
    }
    known.ranks = ranks;
    return ok;
}

/* ------------------------------------------------------------------ vectors ------------------- */

static bool barrier(struct every *e)
{
    return ncoll_barrier(e->group, NCOLL_BLOCK) == NCOLL_OK;
}

static bool bcast(struct every *e)
{
    bring(e);
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
        if (e->out[i] != known.sum[i][end])
            return false;
    return true;
}

static bool reduce(struct every *e)
{
    bring(e);
    return ncoll_reduce(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, e->root,
                        NCOLL_BLOCK) == NCOLL_OK &&
           (e->rank != e->root || is_sum(e, e->size));
}

static bool allreduce(struct every *e)
{
    bring(e);
    return ncoll_allreduce(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
               NCOLL_OK &&
           is_sum(e, e->size);
}

static bool scan(struct every *e)
{
    bring(e);
    return ncoll_scan(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
               NCOLL_OK &&
           is_sum(e, e->rank + 1);
}

static bool exscan(struct every *e)
{
    bring(e);
    return ncoll_exscan(e->group, e->in, e->out, WORDS, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
               NCOLL_OK &&
           (e->rank == 0 || is_sum(e, e->rank));
}

/* ------------------------------------------------------------------ blocks -------------------- */

/* OUT has one byte of each rank, or of those that have a count. */
static bool has_all(const struct every *e, const size_t *counts, size_t at)
{
    const byte *next = e->blocks_out;

    for (int r = 0; r < e->size; r++)
        if ((counts == NULL || counts[r] > 0) && *next++ != brought_byte(r, at))
            return false;
    return true;
}

/* The sum of what all ranks bring in some place. */
static byte sum_of_all(const struct every *e, size_t at)
{
    byte sum = 0;

    for (int r = 0; r < e->size; r++)
        sum = (byte)(sum + brought_byte(r, at));
    return sum;
}

static bool gather(struct every *e)
{
    bring_blocks(e, 1);
    return ncoll_gather(e->group, e->blocks_in, e->blocks_out, 1, NCOLL_UINT8, e->root,
                        NCOLL_BLOCK) == NCOLL_OK &&
           (e->rank != e->root || has_all(e, NULL, 0));
}

static bool gatherv(struct every *e)
{
    bring_blocks(e, 1);
    return ncoll_gatherv(e->group, e->blocks_in, e->blocks_out, known.parity[0], NULL, NCOLL_UINT8,
                         e->root, NCOLL_BLOCK) == NCOLL_OK &&
           (e->rank != e->root || has_all(e, known.parity[0], 0));
}

static bool allgather(struct every *e)
{
    bring_blocks(e, 1);
    return ncoll_allgather(e->group, e->blocks_in, e->blocks_out, 1, NCOLL_UINT8, NCOLL_BLOCK) ==
               NCOLL_OK &&
           has_all(e, NULL, 0);
}

static bool allgatherv(struct every *e)
{
    bring_blocks(e, 1);
    return ncoll_allgatherv(e->group, e->blocks_in, e->blocks_out, known.parity[0], NULL,
                            NCOLL_UINT8, NCOLL_BLOCK) == NCOLL_OK &&
           has_all(e, known.parity[0], 0);
}

static bool scatter(struct every *e)
{
    bring_blocks(e, (size_t)e->size);
    return ncoll_scatter(e->group, e->blocks_in, e->blocks_out, 1, NCOLL_UINT8, e->root,
                         NCOLL_BLOCK) == NCOLL_OK &&
           e->blocks_out[0] == brought_byte(e->root, (size_t)e->rank);
}

static bool scatterv(struct every *e)
{
    bring_blocks(e, (size_t)e->size);
    return ncoll_scatterv(e->group, e->blocks_in, known.parity[0], NULL, e->blocks_out, NCOLL_UINT8,
                          e->root, NCOLL_BLOCK) == NCOLL_OK &&
           (known.parity[0][e->rank] == 0 ||
            e->blocks_out[0] == brought_byte(e->root, (size_t)e->rank / 2));
}

static bool reduce_scatter(struct every *e)
{
    bring_blocks(e, (size_t)e->size);
    return ncoll_reduce_scatter(e->group, e->blocks_in, e->blocks_out, known.parity[0], NCOLL_UINT8,
                                NCOLL_SUM, NCOLL_BLOCK) == NCOLL_OK &&
           (known.parity[0][e->rank] == 0 ||
            e->blocks_out[0] == sum_of_all(e, (size_t)e->rank / 2));
}

static bool reduce_scatter_block(struct every *e)
{
    bring_blocks(e, (size_t)e->size);
    return ncoll_reduce_scatter_block(e->group, e->blocks_in, e->blocks_out, 1, NCOLL_UINT8,
                                      NCOLL_SUM, NCOLL_BLOCK) == NCOLL_OK &&
           e->blocks_out[0] == sum_of_all(e, (size_t)e->rank);
}

static bool alltoall(struct every *e)
{
    bring_blocks(e, (size_t)e->size);
    return ncoll_alltoall(e->group, e->blocks_in, e->blocks_out, 1, NCOLL_UINT8, NCOLL_BLOCK) ==
               NCOLL_OK &&
           has_all(e, NULL, (size_t)e->rank);
}

/* Blocks go from even ranks to odd ones, and from odd ranks to even ones. */
static bool alltoallv(struct every *e)
{
    const size_t *counts = known.parity[e->rank % 2];

    bring_blocks(e, (size_t)e->size);
    return ncoll_alltoallv(e->group, e->blocks_in, counts, NULL, e->blocks_out, counts, NULL,
                           NCOLL_UINT8, NCOLL_BLOCK) == NCOLL_OK &&
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
    const char *wrong = NULL;

    e.blocks_in = malloc((size_t)e.size);
    e.blocks_out = malloc((size_t)e.size);
    if (e.blocks_in == NULL || e.blocks_out == NULL || !make_known((size_t)e.size))
        wrong = "malloc";
    for (unsigned i = 0; wrong == NULL && i < sizeof all / sizeof all[0]; i++)
        if (!all[i].call(&e))
            wrong = all[i].name;
    free(e.blocks_in);
    free(e.blocks_out);
    return wrong;
}
