/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of the matrix. All ranks go through the same runs in the same order and can compute each
 * other's input.
 *
 * Successive runs use three sets of values in turn: slots and scratch are reused every other call,
 * so what an earlier call has left there is never the value that is right now.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inspect.h"
#include "lib/op.h"
#include "matrix.h"

#define SETS       3
#define TIMEOUT_NS INT64_C(30000000000)
#define REPORTS    10u /* wrong results that a rank prints */

const size_t matrix_counts[MATRIX_COUNTS] = {1, 2, 255, 256, 1000, 65537};

struct worker {
    const struct matrix *matrix;
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    struct user_op user_numbers[USER_OPS];

    /* of the operation and count that are being run */
    const struct operation *operation;
    ncoll_op op;
    ncoll_type type;
    size_t count, bytes;
    unsigned char *in[SETS], *out;
    struct reference expected[SETS];
    unsigned n_runs, vectors; /* runs of this vector, vectors so far */

    unsigned reports;
};

size_t matrix_index(const struct matrix *m, int ranks, unsigned operation, unsigned count,
                    unsigned radix)
{
    size_t index = (size_t)(ranks - 1) * m->n_operations + operation;
    return (index * MATRIX_COUNTS + count) * MATRIX_RADIX + radix - 1;
}

static uint64_t hash(const unsigned char *bytes, size_t len)
{
    uint64_t h = len, word = 0;

    for (; len >= sizeof word; bytes += sizeof word, len -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
        h ^= h >> 28;
    }
    word = 0;
    memcpy(&word, bytes, len);
    return (h ^ word) * UINT64_C(0x9fb21c651e98df25);
}

/* ------------------------------------------------------------------ vectors ------------------ */

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        abort();
    return memory;
}

static void prepare(struct worker *w)
{
    unsigned char *theirs = allocate(w->bytes);

    w->n_runs = 0;
    w->out = allocate(w->bytes);
    for (unsigned set = 0; set < SETS; set++) {
        reference_open(&w->expected[set], w->operation, w->count);
        w->in[set] = allocate(w->bytes);
        for (int r = 0; r < w->ranks; r++) {
            uint64_t stream = (w->vectors * SETS + set) * RANKS_MAX + (unsigned)r;
            reference_values(w->operation, theirs, w->count,
                             random_stream(w->matrix->seed, stream));
            reference_add(&w->expected[set], theirs);
            if (r == w->rank)
                memcpy(w->in[set], theirs, w->bytes);
        }
    }
    free(theirs);
}

static void release(struct worker *w)
{
    for (unsigned set = 0; set < SETS; set++) {
        reference_close(&w->expected[set]);
        free(w->in[set]);
    }
    free(w->out);
}

/* ------------------------------------------------------------------ runs --------------------- */

static void report(struct worker *w, const struct choice *choice, const char *place,
                   const char *what)
{
    atomic_fetch_add(&w->matrix->tally->wrong, 1);
    if (w->reports++ < REPORTS)
        fprintf(stderr, "rank %d of %d: %s, n = %u, %zu elements of %zu bytes, %s%s: %s\n", w->rank,
                w->ranks, choice->algorithm->name, choice->radix, w->count, w->operation->size,
                w->operation->name, place, what);
}

static void check(struct worker *w, const struct choice *choice, unsigned set, const char *place,
                  const void *result)
{
    size_t size = w->operation->size;
    size_t i = reference_wrong(&w->expected[set], result);
    char what[64];
    uint64_t got = 0;

    if (i == w->count)
        return;
    memcpy(&got, (const char *)result + i * size, size);
    snprintf(what, sizeof what, "element %zu is wrong (bits %llx)", i, (unsigned long long)got);
    report(w, choice, place, what);
}

/* One allreduce. false: the library reported an error, so nothing more can be run. */
static bool run(struct worker *w, const struct choice *choice, bool in_place, bool chosen)
{
    struct tally *tally = w->matrix->tally;
    unsigned set = w->n_runs % SETS;
    const void *in = in_place ? w->out : w->in[set];
    const char *place = in_place ? ", in place" : "";
    bool same_bits =
        chosen || !w->operation->rounds || choice->algorithm->properties & GIVES_SAME_BITS;

    if (in_place)
        memcpy(w->out, w->in[set], w->bytes);
    else
        memset(w->out, 0xa5, w->bytes);
    int rc = ncoll_allreduce(w->world, in, w->out, w->count, w->type, w->op, TIMEOUT_NS);
    if (rc != NCOLL_OK) {
        report(w, choice, place, rc == NCOLL_TIMEOUT ? "hangs" : ncoll_last_error(w->ctx)->text);
        return false;
    }
    check(w, choice, set, place, w->out);
    tally->hashes[w->vectors % 2][w->n_runs++][w->rank] = same_bits ? hash(w->out, w->bytes) : 0;
    if (w->rank == 0)
        atomic_fetch_add(&tally->runs, 1);
    return true;
}

/* What an algorithm may ask for and this operation does not have. */
static unsigned lacks(const struct operation *o)
{
    struct op op = {0};

    if (o->def != NULL) {
        op.commutative = o->def->flags & NCOLL_OP_COMMUTATIVE;
        op.idempotent = o->def->flags & NCOLL_OP_IDEMPOTENT;
    } else {
        ncoll__op_builtin(o->op, o->type, &op);
    }
    return (op.commutative ? 0 : NEEDS_COMMUTATIVE) | (op.idempotent ? 0 : NEEDS_IDEMPOTENT);
}

/* Whether refusing to run it would be a mistake. */
static bool should_serve(const struct worker *w, const char *name, unsigned radix)
{
    const struct algorithm *a = ncoll__algorithm_find(name);
    struct shape shape = {.collective = COLL_ALLREDUCE,
                          .size = (unsigned)ncoll_group_size(w->world),
                          .radix = radix,
                          .count = 1};
    bool should = algorithm_exists(a, &shape) && !(a->properties & lacks(w->operation));

    if (should)
        fprintf(stderr, "%s with n = %u is refused, but exists\n", name, radix);
    return should;
}

/* By one algorithm, NULL: the library's choice. */
static bool run_algorithm(struct worker *w, const char *name, unsigned radix, unsigned places)
{
    struct choice choice;

    if (ncoll__group_force(w->world, COLL_ALLREDUCE, name, radix) != NCOLL_OK)
        return false;
    int rc = ncoll__choose(w->world, COLL_ALLREDUCE, w->count, w->type, w->op, &choice);
    if (rc == NCOLL_ERR_UNSUPPORTED && name != NULL)
        return !should_serve(w, name, radix);
    if (rc != NCOLL_OK) {
        fprintf(stderr, "%s\n", ncoll_last_error(w->ctx)->text);
        return false;
    }
    for (unsigned in_place = 0; in_place < 2; in_place++)
        if (places & 1u << in_place && !run(w, &choice, in_place, name == NULL))
            return false;
    return true;
}

/*
 * One combination. Samples are run by the library's choice and by one algorithm more, the one in
 * place and the other not; which, is drawn by the seed.
 */
static bool run_combination(struct worker *w, size_t index, unsigned radix)
{
    struct random draw = random_stream(w->matrix->seed, index);
    bool sample = w->matrix->picked != NULL;
    unsigned place = 1u << random_below(&draw, 2), algorithms = 0;

    while (ncoll__algorithms[algorithms] != NULL)
        algorithms++;
    uint64_t only = random_below(&draw, algorithms);
    if (w->rank == 0)
        atomic_fetch_add(&w->matrix->tally->combinations, 1);
    if (!run_algorithm(w, NULL, radix, sample ? place : 3))
        return false;
    for (unsigned i = 0; i < algorithms; i++)
        if (!sample || i == only)
            if (!run_algorithm(w, ncoll__algorithms[i]->name, radix, sample ? 3 - place : 3))
                return false;
    return true;
}

/* Compares every rank's results with those of rank 0. */
static bool compare_bits(struct worker *w)
{
    const uint64_t(*hashes)[RANKS_MAX] = w->matrix->tally->hashes[w->vectors++ % 2];

    if (ncoll_barrier(w->world, TIMEOUT_NS) != NCOLL_OK) {
        fprintf(stderr, "%s\n", ncoll_last_error(w->ctx)->text);
        return false;
    }
    for (unsigned i = 0; i < w->n_runs; i++) {
        if (hashes[i][w->rank] == hashes[i][0])
            continue;
        atomic_fetch_add(&w->matrix->tally->wrong, 1);
        if (w->reports++ < REPORTS)
            fprintf(stderr, "%zu elements of %zu bytes, %s: rank %d of %d has other bits than 0\n",
                    w->count, w->operation->size, w->operation->name, w->rank, w->ranks);
    }
    return true;
}

/* Types that the user creates have higher numbers than any other. */
static bool on_card(const struct operation *o)
{
    return (o->type != 0 ? o->type : TYPE_USER) < TYPES_LIMIT;
}

/* All radixes of one operation and count. */
static bool run_vector(struct worker *w, unsigned operation, unsigned count)
{
    const struct matrix *m = w->matrix;
    const unsigned char *picked = m->picked;
    size_t first = matrix_index(m, w->ranks, operation, count, 1);
    bool well = true;

    if (!on_card(&m->operations[operation]) ||
        (picked != NULL && memchr(picked + first, 1, MATRIX_RADIX) == NULL))
        return true;
    w->operation = &m->operations[operation];
    w->op = w->operation->op;
    w->type = w->operation->type;
    if (w->operation->def != NULL) {
        w->op = w->user_numbers[operation - m->n_builtin].op;
        w->type = w->user_numbers[operation - m->n_builtin].type;
    }
    w->count = matrix_counts[count];
    w->bytes = w->count * w->operation->size;
    prepare(w);
    for (unsigned radix = 1; well && radix <= MATRIX_RADIX; radix++)
        if (picked == NULL || picked[first + radix - 1])
            well = run_combination(w, first + radix - 1, radix);
    well = well && compare_bits(w);
    release(w);
    return well;
}

int matrix_rank(const ncoll_params *params, void *arg)
{
    struct worker w = {.matrix = arg, .rank = params->rank, .ranks = params->ranks};
    ncoll_error error;
    bool well = true;

    if (ncoll_context_create(params, &w.ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    w.world = ncoll_world(w.ctx);
    well = user_ops_register(w.ctx, w.user_numbers) == NCOLL_OK;
    for (unsigned operation = 0; well && operation < w.matrix->n_operations; operation++)
        for (unsigned count = 0; well && count < MATRIX_COUNTS; count++)
            well = run_vector(&w, operation, count);
    ncoll_context_destroy(w.ctx);
    return well ? 0 : 1;
}
