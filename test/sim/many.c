/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program: collectives of all kinds, one after the other, on the world and on groups that it is
 * split into; as blocking calls, and as requests of which some are open while others come and go.
 * Ranks are late now and then.
 *
 * Element i of the block for rank b on rank r is w + 1000003 r + 10007 b + 7 i, where w is a word of
 * the call. So sums over ranks have a closed form, and the maximum is that of the last rank.
 */
#include "test/sim/many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"
#include "lib/base/names.h"
#include "test/programs/programs.h"
#include "test/support/seed.h"
#include "transport/sim/sim.h"

#define OPEN        4u
#define WORK        60000u /* about so many calls of ranks are in a job on average */
#define DENSE_RANKS 128    /* with more, few calls have a message from each rank to each other */
#define PATTERN     0x5a5a5a5a5a5a5a5a

/* One side of a call: a vector is one block. */
struct blocks {
    bool used;
    size_t n, *counts, *displs, elements;
    int64_t *at;
};

struct many_call {
    enum collective collective;
    ncoll_op op;
    bool irregular;
    size_t count;
    int root, rank, size;
    int64_t word;
    struct blocks in, out;
    ncoll_request *request;
};

struct many {
    const struct job *job;
    ncoll_context *ctx;
    ncoll_group *world, *part;
    struct random common, own;
    struct many_call *open[OPEN];
    unsigned n_open;
};

/* ------------------------------------------------------------------ blocks -------------------- */

/* Elements that go from one rank to the other; of a vector that goes to all, to any. */
static size_t count_between(const struct many_call *c, int from, int to)
{
    size_t key = (size_t)c->word >> 3;

    if (!c->irregular)
        return c->count;
    if (c->collective == COLL_GATHER || c->collective == COLL_ALLGATHER)
        key += (size_t)from * 5;
    else if (c->collective == COLL_ALLTOALL)
        key += (size_t)from * 5 + (size_t)to * 3;
    else
        key += (size_t)to * 5;
    return key % (2 * c->count + 1);
}

static void *allocate(size_t n, size_t each)
{
    void *memory = calloc(n + 1, each);

    if (memory == NULL)
        abort();
    return memory;
}

static void make_blocks(const struct many_call *c, struct blocks *b, bool is_in, bool used)
{
    enum data_form form = is_in ? in_form(c->collective) : out_form(c->collective);

    b->used = used;
    b->n = form == FORM_NONE ? 0 : form == FORM_BLOCKS ? (size_t)c->size : 1;
    b->counts = allocate(b->n, sizeof *b->counts);
    b->displs = allocate(b->n, sizeof *b->displs);
    for (size_t q = 0; q < b->n; q++) {
        int other = b->n > 1 ? (int)q : c->rank;
        b->counts[q] = is_in ? count_between(c, c->rank, other) : count_between(c, other, c->rank);
        b->displs[q] = b->elements;
        b->elements += b->counts[q];
    }
    b->at = allocate(b->elements, sizeof *b->at);
    for (size_t i = 0; i <= b->elements; i++)
        b->at[i] = PATTERN;
}

static void free_call(struct many_call *c)
{
    for (unsigned i = 0; i < 2; i++) {
        struct blocks *b = i == 0 ? &c->in : &c->out;
        free(b->counts);
        free(b->displs);
        free(b->at);
    }
    free(c);
}

/* ------------------------------------------------------------------ values -------------------- */

static int64_t value(const struct many_call *c, int rank, int block, size_t i)
{
    return c->word + (int64_t)1000003 * rank + (int64_t)10007 * block + (int64_t)(7 * i);
}

static void fill(const struct many_call *c, const struct blocks *b)
{
    for (size_t q = 0; b->used && q < b->n; q++)
        for (size_t i = 0; i < b->counts[q]; i++)
            b->at[b->displs[q] + i] = value(c, c->rank, b->n > 1 ? (int)q : 0, i);
}

static int64_t expected(const struct many_call *c, size_t q, size_t i)
{
    bool blocks = in_form(c->collective) == FORM_BLOCKS;
    int block = blocks ? c->rank : 0, last = c->size - 1;

    if (!reduces(c->collective))
        return value(c, c->out.n > 1 ? (int)q : c->root, block, i);
    if (c->collective == COLL_SCAN || c->collective == COLL_EXSCAN)
        last = c->rank - (c->collective == COLL_EXSCAN);
    if (c->op == NCOLL_MAX)
        return value(c, last, block, i);
    return (last + 1) * value(c, 0, block, i) + (int64_t)1000003 * last * (last + 1) / 2;
}

static bool is_right(const struct many_call *c)
{
    const struct blocks *b = &c->out;

    for (size_t q = 0; b->used && q < b->n; q++)
        for (size_t i = 0; i < b->counts[q]; i++)
            if (b->at[b->displs[q] + i] != expected(c, q, i))
                return false;
    for (size_t i = b->used ? b->elements : 0; i <= b->elements; i++)
        if (b->at[i] != PATTERN)
            return false;
    return true;
}

/* ------------------------------------------------------------------ calls --------------------- */

static struct many_call *draw(struct many *m, ncoll_group *group)
{
    static const size_t counts[] = {0, 1, 1, 1, 3, 3, 17, 100};
    struct many_call *c = allocate(1, sizeof *c);
    uint64_t kind = random_next(&m->common), size = random_next(&m->common);

    c->rank = ncoll_group_rank(group);
    c->size = ncoll_group_size(group);
    c->collective = 1 + (enum collective)(kind % (COLLECTIVES - 1));
    if (c->collective == COLL_ALLTOALL && c->size > DENSE_RANKS && kind >> 32 & 15)
        c->collective = COLL_ALLREDUCE;
    bool blocks = in_form(c->collective) == FORM_BLOCKS || out_form(c->collective) == FORM_BLOCKS;
    c->irregular = blocks && (kind >> 40 & 1) != 0;
    c->count = counts[size % (blocks && c->size > DENSE_RANKS ? 6 : 8)];
    if (!blocks && c->size <= DENSE_RANKS && (size >> 32) % 8 == 0)
        c->count = 3000;
    c->op = kind >> 41 & 1 ? NCOLL_SUM : NCOLL_MAX;
    uint64_t root = random_next(&m->common);
    c->root = is_rooted(c->collective) ? (int)(root % (uint64_t)c->size) : 0;
    c->word = (int64_t)(random_next(&m->common) >> 24);

    struct shape g = {.collective = c->collective,
                      .rank = (unsigned)c->rank,
                      .size = (unsigned)c->size,
                      .root = (unsigned)c->root};
    make_blocks(c, &c->in, true, has_in(&g));
    make_blocks(c, &c->out, false, has_out(&g));
    fill(c, &c->in);
    if (c->collective == COLL_BCAST && c->in.used)
        fill(c, &c->out);
    return c;
}

#define CALL(name, ...)                                                                            \
    (request != NULL ? ncoll_##name##_start(g, __VA_ARGS__, request)                               \
                     : ncoll_##name(g, __VA_ARGS__, NCOLL_BLOCK))

/* Makes the call. request: where it is started; NULL: it blocks. */
static int make(const struct many_call *c, ncoll_group *g, ncoll_request **request)
{
    void *in = c->in.at, *out = c->out.at;
    const size_t *in_counts = c->in.counts, *out_counts = c->out.counts;
    const ncoll_type type = NCOLL_INT64;

    switch (c->collective) {
    case COLL_BARRIER:
        return request != NULL ? ncoll_barrier_start(g, request) : ncoll_barrier(g, NCOLL_BLOCK);
    case COLL_ALLREDUCE:
        return CALL(allreduce, in, out, c->count, type, c->op);
    case COLL_BCAST:
        return CALL(bcast, out, c->count, type, c->root);
    case COLL_REDUCE:
        return CALL(reduce, in, out, c->count, type, c->op, c->root);
    case COLL_GATHER:
        return c->irregular ? CALL(gatherv, in, out, out_counts, c->out.displs, type, c->root)
                            : CALL(gather, in, out, c->count, type, c->root);
    case COLL_SCATTER:
        return c->irregular ? CALL(scatterv, in, in_counts, c->in.displs, out, type, c->root)
                            : CALL(scatter, in, out, c->count, type, c->root);
    case COLL_ALLGATHER:
        return c->irregular ? CALL(allgatherv, in, out, out_counts, c->out.displs, type)
                            : CALL(allgather, in, out, c->count, type);
    case COLL_ALLTOALL:
        return c->irregular ? CALL(alltoallv, in, in_counts, c->in.displs, out, out_counts,
                                   c->out.displs, type)
                            : CALL(alltoall, in, out, c->count, type);
    case COLL_REDUCE_SCATTER:
        return c->irregular ? CALL(reduce_scatter, in, out, in_counts, type, c->op)
                            : CALL(reduce_scatter_block, in, out, c->count, type, c->op);
    case COLL_SCAN:
        return CALL(scan, in, out, c->count, type, c->op);
    default:
        return CALL(exscan, in, out, c->count, type, c->op);
    }
}

/* Returns false after an error, which is said unless it has an excuse. */
static bool is_well(struct many *m, const struct many_call *c, int rc)
{
    const ncoll_error *error = ncoll_last_error(m->ctx);
    const char *what = rc != NCOLL_OK ? error->text : "gives a wrong result";

    if (rc == NCOLL_OK && (c == NULL || is_right(c)))
        return true;
    if (rc != NCOLL_OK && programs_excused(m->job, error))
        return false;
    fprintf(stderr, "rank %d of %d: %s%s of %zu elements, root %d: %s\n",
            ncoll_group_rank(m->world), ncoll_group_size(m->world),
            c != NULL ? ncoll__collective_name(c->collective) : "a group",
            c != NULL && c->irregular ? " with counts" : "", c != NULL ? c->count : 0,
            c != NULL ? c->root : 0, what);
    m->job->tally->wrong++;
    return false;
}

static bool end_call(struct many *m, struct many_call *c, int rc)
{
    if (!is_well(m, c, rc))
        return false;
    m->job->tally->calls += c->rank == 0;
    free_call(c);
    return true;
}

/* Waits for open requests, in an order of this rank's own, until `keep` are left. */
static bool drain(struct many *m, unsigned keep)
{
    while (m->n_open > keep) {
        unsigned i = (unsigned)random_below(&m->own, m->n_open);
        struct many_call *c = m->open[i];
        int rc = ncoll_wait(&c->request, NCOLL_BLOCK);
        if (!end_call(m, c, rc))
            return false;
        m->open[i] = m->open[--m->n_open];
    }
    return true;
}

static bool take_step(struct many *m)
{
    uint64_t kind = random_next(&m->common);
    ncoll_group *group = kind % 3 == 0 && m->part != NULL ? m->part : m->world;
    bool starts = (kind >> 8 & 1) != 0;

    if (random_below(&m->own, 20) == 0)
        sim_sleep(random_below(&m->own, 300000));
    if (m->n_open == OPEN && !drain(m, OPEN / 2))
        return false;
    struct many_call *c = draw(m, group);
    m->open[m->n_open++] = c;
    int rc = make(c, group, starts ? &c->request : NULL);
    if (starts && rc == NCOLL_OK)
        return true;
    /* A blocking call is the last of the list: requests that are older stay open. */
    if (!end_call(m, c, rc))
        return false;
    m->n_open--;
    return true;
}

static bool run(struct many *m, int ranks)
{
    unsigned steps = 1 + (unsigned)random_below(&m->common, 1 + 2 * WORK / (unsigned)ranks);
    uint64_t parts = random_below(&m->common, 3);
    int rank = ncoll_group_rank(m->world);
    bool well = true;

    if (parts > 0) { /* neighbours, or every other rank */
        int color = parts == 1 ? rank * 2 / ranks : rank % 2;
        well = is_well(m, NULL, ncoll_group_split(m->world, color, rank, &m->part, NCOLL_BLOCK));
    }
    while (well && steps-- > 0)
        well = take_step(m);
    well = well && drain(m, 0);
    if (well && m->part != NULL)
        well = is_well(m, NULL, ncoll_group_free(&m->part, NCOLL_BLOCK));
    return well;
}

int many_rank(const ncoll_params *params, void *arg)
{
    const struct job *job = arg;
    struct many m = {.job = job,
                     .common = random_stream(job->seed, 0),
                     .own = random_stream(job->seed, 1 + (uint64_t)params->rank)};
    ncoll_error error;

    if (ncoll_context_create(params, &m.ctx, &error) != NCOLL_OK) {
        if (programs_excused(job, &error))
            return 1;
        fprintf(stderr, "%s\n", error.text);
        job->tally->wrong++;
        return 1;
    }
    m.world = ncoll_world(m.ctx);
    bool well = run(&m, params->ranks);
    ncoll_context_destroy(m.ctx);
    for (unsigned i = 0; i < m.n_open; i++) /* of a call that failed, or that was open then */
        free_call(m.open[i]);
    job->tally->programs += well && params->rank == 0;
    return well ? 0 : 1;
}
