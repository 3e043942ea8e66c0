/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of the matrix. All go through the same combinations in the same order. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/signature.h"
#include "lib/inspect.h"
#include "matrix.h"
#include "test/support/crew.h"
#include "test/support/hang.h"
#include "test/support/late.h"

#define BYTES_MAX ((size_t)2 << 20)
/* Each rank has several mailboxes of so many bytes for each other one. */
#define STALE_BYTES_MAX ((size_t)64 << 10)
#define TIMEOUT_NS      (HANG_FACTOR * INT64_C(60000000000))
#define REPORTS         5u /* wrong results that a rank prints */

enum way { WAY_BLOCK, WAY_RESUME, WAY_WAIT, WAY_TEST, WAYS };
static const char *const ways[] = {"blocking", "resumed", "request", "request, tested"};

struct worker {
    const struct matrix *matrix;
    const ncoll_params *params; /* of its contexts */
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    struct repertoire repertoire;
    struct random own;        /* of this rank */
    unsigned reports, boards; /* so far */
};

/* A combination, alike on all ranks. */
struct combination {
    uint64_t index;
    const struct pair *pair;
    unsigned radix;
    unsigned slots; /* that a run may use: few of them make parts; 0: all */
    bool served;    /* by the algorithm */
    enum way way;
    struct exercise_spec spec;
};

/* ------------------------------------------------------------------ drawing ------------------ */

static bool serves(const struct algorithm *a, const struct exercise_spec *s)
{
    return !reduces(s->collective) ||
           ((s->piece->commutative || !(a->properties & NEEDS_COMMUTATIVE)) &&
            (s->piece->idempotent || !(a->properties & NEEDS_IDEMPOTENT)));
}

static bool takes_places(const struct pair *pair)
{
    return pair->algorithm != NULL && pair->algorithm->properties & TAKES_PLACES;
}

/* Algorithms for a part of the ranks get calls of 1 to P - 1 of them; one rank has none. */
static void draw_part(struct exercise_spec *spec, struct random *random, int ranks)
{
    spec->of = NCOLL_THRESHOLD_RANKS;
    spec->fraction =
        ranks > 1 ? (double)(1 + random_below(random, (uint64_t)ranks - 1)) / ranks : 0;
}

/* One that exists, from a random one on; 0: there is none. */
static unsigned draw_radix(struct worker *w, struct random *random, const struct pair *pair,
                           const struct exercise_spec *spec)
{
    uint64_t first = random_below(random, 8);
    struct shape shape = {.collective = spec->collective,
                          .size = (unsigned)w->ranks,
                          .root = (unsigned)spec->root,
                          .count = spec->count,
                          .nodes = ncoll__group_nodes(w->world)};

    if (takes_places(pair))
        shape.places = (unsigned)(spec->fraction * w->ranks + 0.5);
    if (pair->algorithm == NULL)
        return random_below(random, 2) ? (unsigned)first + 1 : 0;
    if (pair->algorithm->properties & TAKES_LIST && random_below(random, 4) == 0)
        shape.radix = ncoll__radix_list((unsigned[]){1 + (unsigned)first,
                                                     1 + (unsigned)random_below(random, 3),
                                                     1 + (unsigned)random_below(random, 3)},
                                        3);
    if (shape.radix != 0 && algorithm_exists(pair->algorithm, &shape))
        return shape.radix;
    for (unsigned i = 0; i < RADIX_MAX; i++) {
        shape.radix = (unsigned)(first + i) % RADIX_MAX + 1;
        if (algorithm_exists(pair->algorithm, &shape))
            return shape.radix;
    }
    return 0;
}

static struct combination draw(struct worker *w, uint64_t index)
{
    const struct matrix *m = w->matrix;
    struct random random = random_stream(m->seed, index << 8 | (unsigned)w->ranks);
    struct combination c = {.index = index, .pair = &m->pairs[index % m->n_pairs]};

    c.spec.collective = c.pair->collective;
    bool unserved = random_below(&random, 32) == 0; /* has to be refused */
    for (unsigned tries = 0; tries < 20; tries++) {
        c.spec.piece = &w->repertoire.pieces[random_below(&random, w->repertoire.n)];
        if (c.pair->compressed)
            exercise_compress(&c.spec, &w->repertoire, c.pair->collective, &random);
        if (c.pair->stale)
            exercise_let_stale(&c.spec, &w->repertoire, &random);
        exercise_draw(&c.spec, &random, w->ranks, c.pair->stale ? STALE_BYTES_MAX : BYTES_MAX);
        if (takes_places(c.pair))
            draw_part(&c.spec, &random, w->ranks);
        c.served = c.pair->algorithm == NULL || serves(c.pair->algorithm, &c.spec);
        if (c.served || unserved)
            break;
    }
    c.radix = draw_radix(w, &random, c.pair, &c.spec);
    c.way = (enum way)random_below(&random, WAYS);
    c.slots = random_below(&random, 3) == 0 ? 1 + (unsigned)random_below(&random, 6) : 0;
    return c;
}

/* ------------------------------------------------------------------ every allreduce ---------- */

#define EVERY_RADIX 8u

static const size_t every_count[] = {1, 2, 255, 256, 1000, 65537};
#define EVERY_COUNTS (sizeof every_count / sizeof every_count[0])

static uint64_t every_end(const struct worker *w)
{
    return w->repertoire.n * EVERY_RADIX * EVERY_COUNTS;
}

/* The first pair from a place on that does it with this radix; the library's own choice always
 * does. */
static const struct pair *every_pair(const struct worker *w, uint64_t first,
                                     const struct exercise_spec *spec, unsigned radix)
{
    struct shape shape = {.collective = COLL_ALLREDUCE,
                          .size = (unsigned)w->ranks,
                          .radix = radix,
                          .count = spec->count,
                          .nodes = ncoll__group_nodes(w->world)};

    for (;; first++) {
        const struct pair *pair = &w->matrix->pairs[first % w->matrix->n_pairs];
        if (pair->collective == COLL_ALLREDUCE && !pair->compressed && !pair->stale &&
            (pair->algorithm == NULL ||
             (serves(pair->algorithm, spec) && algorithm_exists(pair->algorithm, &shape))))
            return pair;
    }
}

size_t matrix_board_bytes(void)
{
    const struct operation widest = {.type = NCOLL_COMPLEX_DOUBLE, .rounds = true};
    size_t most = 0;

    for (unsigned i = 0; i < EVERY_COUNTS; i++)
        most = every_count[i] > most ? every_count[i] : most;
    return reference_bytes(&widest, most);
}

/* All ranks draw the same. */
static bool every_takes(const struct worker *w, uint64_t index)
{
    const struct matrix *m = w->matrix;
    struct random random = random_stream(~m->seed, index << 8 | (unsigned)w->ranks);

    return m->sample == 0 || m->only != UINT64_MAX ||
           random_below(&random, every_end(w)) < m->sample;
}

static struct combination every(struct worker *w, uint64_t index)
{
    struct random random = random_stream(w->matrix->seed, index << 8 | (unsigned)w->ranks);
    struct combination c = {.index = index, .served = true};

    c.spec.collective = COLL_ALLREDUCE;
    c.spec.count = every_count[index % EVERY_COUNTS];
    c.radix = (unsigned)(index / EVERY_COUNTS % EVERY_RADIX) + 1;
    c.spec.piece = &w->repertoire.pieces[index / EVERY_COUNTS / EVERY_RADIX];
    c.spec.in_place = random_below(&random, 2) == 0;
    c.spec.values_stream = random_next(&random);
    c.pair = every_pair(w, random_below(&random, w->matrix->n_pairs), &c.spec, c.radix);
    c.way = (enum way)random_below(&random, WAYS);
    c.spec.board = w->matrix->boards[w->boards++ % 2];
    return c;
}

/* ------------------------------------------------------------------ running ------------------ */

static void report(struct worker *w, const struct combination *c, const struct exercise *x,
                   const char *what)
{
    char text[160], radix[RADIX_TEXT];

    atomic_fetch_add(&w->matrix->tally->wrong, 1);
    if (w->reports++ < REPORTS)
        fprintf(stderr,
                "rank %d: %s, by %s, n = %s, %s: %s\n"
                "    repeat: -P %d --seed %llu --only %llu%s\n",
                w->rank, exercise_text(x, text, sizeof text),
                c->pair->algorithm != NULL ? c->pair->algorithm->name : "choice",
                ncoll__radix_text(c->radix, radix), ways[c->way], what, w->ranks,
                (unsigned long long)w->matrix->seed, (unsigned long long)c->index,
                w->matrix->every   ? " --every"
                : w->matrix->alone ? " --alone"
                                   : "");
}

static int drive(struct worker *w, struct exercise *x, enum way way)
{
    uint64_t end_ns = crew_now_ns() + (uint64_t)TIMEOUT_NS;
    ncoll_request *request = NULL;
    int rc;

    if (way == WAY_BLOCK)
        return exercise_call(x, w->world, EXERCISE_CALL, TIMEOUT_NS, NULL);
    if (way == WAY_RESUME) {
        while ((rc = exercise_call(x, w->world, EXERCISE_CALL,
                                   (int64_t)random_below(&w->own, 3) * 20000, NULL)) ==
                   NCOLL_TIMEOUT &&
               crew_now_ns() < end_ns)
            sched_yield();
        return rc;
    }
    if ((rc = exercise_call(x, w->world, EXERCISE_START, 0, &request)) != NCOLL_OK)
        return rc;
    if (way == WAY_WAIT)
        return ncoll_wait(&request, TIMEOUT_NS);
    while ((rc = ncoll_test(&request)) == NCOLL_TIMEOUT && crew_now_ns() < end_ns)
        sched_yield();
    return rc;
}

/* The results of all ranks must have the same bits where the library or the algorithm says so. */
static bool compare_bits(struct worker *w, const struct combination *c, const struct exercise *x)
{
    const struct algorithm *a = c->pair->algorithm;
    uint64_t hashes[RANKS_MAX], hash;

    if (c->spec.collective != COLL_ALLREDUCE || w->matrix->alone ||
        (c->spec.piece->operation.rounds && !exercise_is_synchronous(&c->spec)) ||
        (c->spec.piece->operation.rounds && a != NULL && !(a->properties & GIVES_SAME_BITS)))
        return true;
    hash = exercise_hash(x);
    if (ncoll_allgather(w->world, &hash, hashes, 1, NCOLL_UINT64, TIMEOUT_NS) != NCOLL_OK) {
        report(w, c, x, ncoll_last_error(w->ctx)->text);
        return false;
    }
    if (hash != hashes[0])
        report(w, c, x, "has other bits than rank 0");
    return true;
}

/* False: the library reported an error, so nothing more can be run. */
static bool run(struct worker *w, const struct combination *c)
{
    struct tally *tally = w->matrix->tally;
    struct exercise x;
    char text[128];
    const char *wrong;

    exercise_open(&x, &c->spec, w->matrix->seed, w->ctx, w->rank, w->ranks);
    if (random_below(&w->own, 32) == 0)
        usleep((useconds_t)random_below(&w->own, 500));
    int rc = drive(w, &x, c->way);
    bool refused = rc == NCOLL_ERR_UNSUPPORTED && !c->served, well = true;
    if (rc == NCOLL_OK && !c->served)
        report(w, c, &x, "should have been refused");
    else if (rc == NCOLL_OK && (wrong = exercise_wrong(&x, text, sizeof text)) != NULL)
        report(w, c, &x, wrong);
    else if (rc != NCOLL_OK && !refused)
        report(w, c, &x, rc == NCOLL_TIMEOUT ? "hangs" : ncoll_last_error(w->ctx)->text);
    if (rc == NCOLL_OK)
        well = compare_bits(w, c, &x);
    exercise_close(&x);
    if (w->rank == 0) {
        atomic_fetch_add(refused ? &tally->refused : &tally->combinations, 1);
        atomic_fetch_add(&tally->runs[c->pair - w->matrix->pairs], !refused);
    }
    return well && (rc == NCOLL_OK || rc == NCOLL_ERR_UNSUPPORTED);
}

static bool create(struct worker *w)
{
    ncoll_error error;

    if (ncoll_context_create(w->params, &w->ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return false;
    }
    w->world = ncoll_world(w->ctx);
    w->rank = ncoll_group_rank(w->world);
    w->ranks = ncoll_group_size(w->world);
    w->own = random_stream(w->matrix->seed, UINT64_MAX - (unsigned)w->rank);
    if (w->matrix->late)
        late_install(w->ctx, random_next(&w->own));
    return repertoire_open(&w->repertoire, w->ctx) == NCOLL_OK;
}

/* Leaves as soon as the call has ended here, and comes back. */
static bool leave(struct worker *w, uint64_t index)
{
    ncoll_context_destroy(w->ctx);
    w->ctx = NULL;
    if (!create(w))
        return false;
    w->own = random_stream(w->matrix->seed ^ index, UINT64_MAX - (unsigned)w->rank);
    return true;
}

static bool run_all(struct worker *w)
{
    const struct matrix *m = w->matrix;

    uint64_t first = m->only != UINT64_MAX ? m->only : 0;
    uint64_t end = m->only != UINT64_MAX ? m->only + 1 : m->every ? every_end(w) : m->sample;

    for (uint64_t i = first; i < end; i++) {
        if (m->every && !every_takes(w, i))
            continue;
        struct combination c = m->every ? every(w, i) : draw(w, i);
        const char *name = c.pair->algorithm != NULL ? c.pair->algorithm->name : NULL;
        if (name != NULL && c.radix == 0)
            continue; /* does not exist for so many ranks */
        if (ncoll__group_force(w->world, c.spec.collective, name,
                               name != NULL || m->every ? c.radix : 0) != NCOLL_OK ||
            ncoll__group_force_slots(w->world, c.spec.collective, c.slots) != NCOLL_OK)
            return false;
        if (!run(w, &c) || (m->alone && !leave(w, i)))
            return false;
    }
    return true;
}

int matrix_rank(const ncoll_params *params, void *arg)
{
    struct worker w = {.matrix = arg, .params = params};

    bool well = create(&w) && run_all(&w);
    ncoll_context_destroy(w.ctx);
    return well ? 0 : 1;
}

/* Adds the mistakes that the others found to those of this rank. */
static bool add_up(struct worker *w)
{
    struct tally *tally = w->matrix->tally;
    uint64_t mine = tally->wrong, all[RANKS_MAX];

    if (ncoll_allgather(w->world, &mine, all, 1, NCOLL_UINT64, TIMEOUT_NS) != NCOLL_OK)
        return false;
    for (int r = 0; r < w->ranks; r++)
        atomic_fetch_add(&tally->wrong, r != w->rank ? all[r] : 0);
    return true;
}

int matrix_launched_rank(const ncoll_params *params, struct matrix *m, int *rank)
{
    struct worker w = {.matrix = m, .params = params};

    bool well = create(&w);
    if (well && w.ranks > RANKS_MAX) {
        fprintf(stderr, "%d ranks are more than %d\n", w.ranks, RANKS_MAX);
        well = false;
    }
    well = well && ncoll_bcast(w.world, &m->seed, 1, NCOLL_UINT64, 0, TIMEOUT_NS) == NCOLL_OK &&
           run_all(&w) && add_up(&w);
    *rank = w.rank;
    ncoll_context_destroy(w.ctx);
    return well ? 0 : 1;
}
