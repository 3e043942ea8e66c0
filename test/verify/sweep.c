/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Goes through the registry: whatever is listed there is checked, for every collective, size, radix
 * and root that it is for.
 */
#include "test/verify/sweep.h"

#include <stdlib.h>

#include "test/verify/chosen.h"
#include "test/verify/draw.h"
#include "test/verify/memory.h"
#include "test/verify/splits.h"

#define RADIX_USUAL  8
#define RADIX_WIDE_P 64
#define LISTS        6  /* of radices, up to there; one for each larger size */
#define ROOTS_P      33 /* up to here every root, from here on a few */
#define ROOTS_LIGHT  9  /* up to here every root has all that is checked, from here on a few */
#define LARGE_P      5000
#define PLACES_P     12 /* of a sample: up to here every number of places, from here on a few */

#define LARGE_PLACEMENTS 40
#define SAMPLED_SPLIT_P  8  /* a sample leaves no split out up to here */
#define SPLIT_LARGE_P    96 /* of these up to here with vectors to split, too */

static bool is_typical_root(unsigned P, unsigned root)
{
    uint64_t seed = P;
    return root <= 1 || root + 1 == P || root == draw(&seed) % P;
}

static void check_roots(struct checker *c, const struct algorithm *algorithm, struct shape shape)
{
    unsigned roots = is_rooted(shape.collective) ? shape.size : 1;

    for (shape.root = 0; shape.root < roots; shape.root++) {
        bool typical = is_typical_root(shape.size, shape.root);
        if (typical || shape.size <= ROOTS_P)
            check(c, algorithm, &shape, !typical && shape.size > ROOTS_LIGHT);
    }
}

/* Lists of radices. */
static void check_lists(struct checker *c, const struct algorithm *algorithm, struct shape shape,
                        uint64_t seed)
{
    unsigned lists = shape.size <= RADIX_WIDE_P ? LISTS : 1;

    seed += shape.size;
    for (unsigned i = 0; i < lists && algorithm->properties & TAKES_LIST; i++) {
        shape.radix = draw_list(&seed, i % 2 == 0 ? 3 : RADIX_USUAL);
        if (radix_is_list(shape.radix) && algorithm_exists(algorithm, &shape))
            check_roots(c, algorithm, shape);
    }
}

/* True if a size is checked with the radix: of the large ones, above some size, one for each. */
static bool is_usual_radix(unsigned P, unsigned n)
{
    return P <= RADIX_WIDE_P || n <= RADIX_USUAL || (n - P) % (RADIX_MAX - RADIX_USUAL) == 0;
}

static void check_radices(struct checker *c, const struct sweep *sweep,
                          const struct algorithm *algorithm, struct shape shape, uint64_t seed)
{
    unsigned first = sweep->radix > 0 ? sweep->radix : 1;
    unsigned last = sweep->radix > 0 ? sweep->radix : RADIX_MAX;

    if (!(algorithm->properties & USES_RADIX))
        last = first;
    for (shape.radix = first; shape.radix <= last; shape.radix++)
        if ((sweep->radix > 0 || is_usual_radix(shape.size, shape.radix)) &&
            algorithm_exists(algorithm, &shape))
            check_roots(c, algorithm, shape);
    if (sweep->radix == 0)
        check_lists(c, algorithm, shape, seed);
}

static bool is_wanted(const struct sweep *sweep, const struct algorithm *algorithm,
                      enum collective c)
{
    return algorithm->collectives & 1u << c && (sweep->only == NULL || sweep->only == algorithm) &&
           (sweep->collective == 0 || sweep->collective == c);
}

/* Looks at a few ranks: the first and last ones, the root and its neighbours, some more. */
static bool has_few_steps(struct checker *c, const struct algorithm *algorithm, struct shape shape,
                          uint64_t *seed)
{
    unsigned P = shape.size, root = shape.root, log = 1, most = 0;
    unsigned some[] = {
        0, root, 1, P - 1, (root + 1) % P, (root + P - 1) % P, P / 2, (unsigned)(draw(seed) % P)};

    while (1u << log < P)
        log++;
    for (unsigned l = 1; l <= radix_length(shape.radix); l++)
        most = radix_of_round(shape.radix, l) > most ? radix_of_round(shape.radix, l) : most;
    for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++)
        if (check_steps(c, algorithm, &shape, some[i]) > 4 * (most + 2) * log)
            return false;
    return true;
}

/* Sizes are as likely to lie between P and 2 P whatever P is. */
static unsigned large_size(const struct sweep *sweep, uint64_t *seed)
{
    unsigned octave = (unsigned)(draw(seed) % 4), first = sweep->max_p + 1, last = LARGE_P;

    while (octave-- > 0 && last / 2 > first)
        last /= 2;
    return first < last ? first + (unsigned)(draw(seed) % (last - first + 1)) : last;
}

static unsigned large_radix(uint64_t *seed)
{
    unsigned most = draw(seed) % 4 == 0 ? RADIX_MAX : RADIX_USUAL;
    return 1 + (unsigned)(draw(seed) % most);
}

void sweep_large(const struct sweep *sweep, uint64_t *seed, struct checker *checker)
{
    unsigned P = large_size(sweep, seed);

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++) {
            const struct algorithm *algorithm = ncoll__algorithms[i];
            struct shape shape = {.collective = c,
                                  .size = P,
                                  .radix = large_radix(seed),
                                  .count = c == COLL_BARRIER ? 0 : 1,
                                  .inverse = draw(seed) % 2};
            if (algorithm->properties & TAKES_LIST && draw(seed) % 2)
                shape.radix = draw_list(seed, RADIX_USUAL);
            shape.root = is_rooted(c) ? (unsigned)(draw(seed) % P) : 0;
            if (algorithm->properties & TAKES_PLACES)
                shape.places = 1 + (unsigned)(draw(seed) % P);
            if (is_wanted(sweep, algorithm, c) && algorithm_exists(algorithm, &shape) &&
                has_few_steps(checker, algorithm, shape, seed))
                check_alone(checker, algorithm, &shape);
        }
}

/* ------------------------------------------------------------------ places -------------------- */

/* Lists the ranks in a random order, the root first. */
static void draw_ranks(const struct shape *g, size_t *rank_at, uint64_t *seed)
{
    for (unsigned v = 0; v < g->size; v++)
        rank_at[v] = (g->root + v) % g->size;
    for (unsigned v = g->size; v-- > 2;) {
        unsigned w = 1 + (unsigned)(draw(seed) % v);
        size_t rank = rank_at[v];
        rank_at[v] = rank_at[w];
        rank_at[w] = rank;
    }
}

/* One number of places, in the order from the root and, for every other one, in a random one. */
static void check_some_places(struct checker *c, const struct algorithm *algorithm,
                              struct shape shape, bool light, uint64_t *seed)
{
    size_t *rank_at = allocate(shape.size, sizeof *rank_at);

    check(c, algorithm, &shape, light);
    if (light && draw(seed) % 2 == 0) {
        free(rank_at);
        return;
    }
    draw_ranks(&shape, rank_at, seed);
    shape.rank_at = rank_at;
    check(c, algorithm, &shape, true);
    free(rank_at);
}

/* Up to ROOTS_P ranks, of a sample PLACES_P, every root with every number of places; above, a few of
 * both. One radix after another. */
static void check_places(struct checker *c, const struct sweep *sweep,
                         const struct algorithm *algorithm, struct shape shape, uint64_t seed)
{
    unsigned first = sweep->radix > 0 ? sweep->radix : 1, P = shape.size;
    unsigned radices = sweep->radix > 0 ? 1 : RADIX_USUAL, n = (unsigned)(draw(&seed) % radices);

    for (shape.root = 0; shape.root < P; shape.root++) {
        bool typical = is_typical_root(P, shape.root),
             all = P <= (sweep->sampled ? PLACES_P : ROOTS_P);
        for (shape.places = 1; shape.places <= P && (all || typical); shape.places++) {
            bool is_end = shape.places <= 2 || shape.places + 1 >= P || shape.places == P / 2;
            if (!all && !is_end && draw(&seed) % P > 4)
                continue;
            shape.radix = first + n++ % radices;
            check_some_places(c, algorithm, shape, !typical || shape.places < P, &seed);
        }
    }
}

void sweep_size(const struct sweep *sweep, unsigned P, uint64_t seed, struct checker *checker)
{
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++) {
            const struct algorithm *algorithm = ncoll__algorithms[i];
            struct shape shape = {
                .collective = c, .size = P, .count = c == COLL_BARRIER ? 0 : 1, .inverse = true};
            if (!is_wanted(sweep, algorithm, c))
                continue;
            if (algorithm->properties & TAKES_PLACES)
                check_places(checker, sweep, algorithm, shape, seed + P);
            else
                check_radices(checker, sweep, algorithm, shape, seed);
        }
}

/* ------------------------------------------------------------------ nodes --------------------- */

/* Others are none the wiser for knowing of nodes. */
static bool needs_nodes(const struct algorithm *algorithm, struct shape shape)
{
    bool exists = algorithm_exists(algorithm, &shape);

    shape.nodes = NULL;
    return exists && !algorithm_exists(algorithm, &shape);
}

static void check_on_nodes(struct checker *c, const struct sweep *sweep,
                           const struct algorithm *algorithm, struct shape shape, uint64_t seed)
{
    unsigned first = sweep->radix > 0 ? sweep->radix : 1;
    unsigned last = sweep->radix > 0 ? sweep->radix : RADIX_USUAL;

    if (is_rooted(shape.collective))
        for (shape.root = 1; shape.root < shape.size; shape.root++) {
            shape.radix = first + (unsigned)((shape.root + seed) % (last - first + 1));
            check(c, algorithm, &shape, true);
        }
    if (!(algorithm->properties & USES_RADIX))
        last = first;
    shape.root = 0;
    for (shape.radix = first; shape.radix <= last; shape.radix++)
        check(c, algorithm, &shape, shape.radix > first);
    shape.radix = draw_list(&seed, RADIX_USUAL);
    if (sweep->radix == 0 && algorithm->properties & TAKES_LIST && radix_is_list(shape.radix))
        check(c, algorithm, &shape, true);
}

/* One radix, root and count. */
static void check_on_large_nodes(struct checker *c, const struct algorithm *algorithm,
                                 struct shape shape, uint64_t seed)
{
    bool split = reduces(shape.collective) && shape.size <= SPLIT_LARGE_P && draw(&seed) % 2;

    shape.radix = 1 + (unsigned)(draw(&seed) % RADIX_MAX);
    shape.root = is_rooted(shape.collective) ? (unsigned)(draw(&seed) % shape.size) : 0;
    shape.count = split ? 2 * shape.size + 1 : shape.count;
    check_alone(c, algorithm, &shape);
}

static void sweep_placement(const struct sweep *sweep, const struct placement *p, uint64_t seed,
                            struct checker *checker)
{
    checker->tally->placements++;
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++) {
            struct shape shape = {.collective = c,
                                  .size = p->P,
                                  .radix = 1,
                                  .count = c == COLL_BARRIER ? 0 : 1,
                                  .inverse = true,
                                  .nodes = &p->nodes};
            if (!is_wanted(sweep, ncoll__algorithms[i], c) ||
                !needs_nodes(ncoll__algorithms[i], shape))
                continue;
            if (p->P <= SPLIT_P)
                check_on_nodes(checker, sweep, ncoll__algorithms[i], shape, seed);
            else
                check_on_large_nodes(checker, ncoll__algorithms[i], shape, seed);
        }
}

static unsigned ranks_of(const struct split *s)
{
    unsigned P = 0;

    for (unsigned k = 0; k < s->nodes; k++)
        P += s->ranks[k];
    return P;
}

static bool is_large(const struct split *s)
{
    return ranks_of(s) > SAMPLED_SPLIT_P;
}

static unsigned count_large_splits(void)
{
    struct split split = {.nodes = 0};
    unsigned n = 0;

    for (unsigned i = 0; split_next(&split) || i == 0; i++)
        n += is_large(&split);
    return n;
}

void sweep_splits(const struct sweep *sweep, unsigned j, unsigned J, unsigned n, uint64_t seed,
                  struct checker *checker)
{
    struct split split = {.nodes = 0};
    struct sample sample = {.left = count_large_splits(), .seed = seed};
    unsigned drawn =
        n > 0 ? (unsigned)((uint64_t)LARGE_PLACEMENTS * n / sample.left) + 1 : LARGE_PLACEMENTS;

    sample.wanted = n > 0 ? n : sample.left;
    for (unsigned i = 0, taken = 0; split_next(&split) || i == 0; i++) {
        if (is_large(&split) && !sample_takes(&sample))
            continue;
        bool is_mine = taken++ % J == j;
        for (enum placing placing = 0; placing < PLACINGS && is_mine; placing++) {
            struct placement placement;
            uint64_t own = seed + i * PLACINGS + placing;
            split_place(&split, placing, &own, &placement);
            sweep_placement(sweep, &placement, own, checker);
        }
    }
    for (unsigned i = j; i < drawn; i += J) {
        struct placement placement;
        uint64_t own = seed + SPLIT_P * i;
        placement_draw(&placement, SPLIT_P + 1 + (unsigned)(draw(&own) % (PLACEMENT_P - SPLIT_P)),
                       &own);
        sweep_placement(sweep, &placement, own, checker);
    }
}

/* ------------------------------------------------------------------ large jobs ---------------- */

static const unsigned per_node[] = {1, 16, 128};
#define NODES_OF_JOBS (sizeof per_node / sizeof per_node[0])

/* Returns the shape in a job before n that differs from this one by the nodes only. NULL: none. */
static const struct shape *find_earlier(struct chosen *const jobs[], unsigned n, unsigned k)
{
    const struct shape *shape = &jobs[n]->shapes[k];

    for (unsigned before = 0; before < n; before++)
        for (unsigned i = 0; jobs[before] != NULL && i < jobs[before]->count; i++) {
            const struct shape *other = &jobs[before]->shapes[i];
            if (jobs[before]->algorithms[i] == jobs[n]->algorithms[k] &&
                other->collective == shape->collective && other->radix == shape->radix &&
                other->separate == shape->separate && other->root == shape->root)
                return other;
        }
    return NULL;
}

/* The share of process j of J in job n. Of a sample only the schedule that is drawn has all that
 * takes long: of those for which something does, one. */
static void check_job(const struct sweep *sweep, struct chosen *const jobs[], unsigned n,
                      unsigned j, unsigned J, bool all_of_it, uint64_t seed,
                      struct checker *checker)
{
    const struct chosen *job = jobs[n];
    unsigned large = 0, drawn = 0;

    for (unsigned k = 0; k < job->count && !all_of_it; k++)
        if (check_is_large(checker, job->algorithms[k], &job->shapes[k]) &&
            draw(&seed) % ++large == 0)
            drawn = k;
    for (unsigned k = j; k < job->count; k += J) {
        const struct algorithm *algorithm = job->algorithms[k];
        const struct shape *shape = &job->shapes[k];
        if (!is_wanted(sweep, algorithm, shape->collective))
            continue;
        if (all_of_it || k == drawn)
            check_chosen(checker, algorithm, shape, find_earlier(jobs, n, k));
        else if (check_is_long(checker, algorithm, shape))
            checker->tally->left_out++;
        else
            check_alone(checker, algorithm, shape);
    }
    checker->tally->wrong += j == 0 ? job->wrong : 0;
}

void sweep_chosen(const struct sweep *sweep, unsigned j, unsigned J, bool all_jobs, uint64_t seed,
                  struct checker *checker)
{
    static const unsigned sizes[] = {1024, 4097, LARGE_P};
    uint64_t own = seed;
    unsigned drawn = (unsigned)(draw(&own) % 9), job = 0;

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct chosen *jobs[NODES_OF_JOBS] = {NULL};
        for (unsigned n = 0; n < NODES_OF_JOBS; n++)
            if (job++ == drawn || all_jobs) {
                jobs[n] = chosen_new(sizes[i], per_node[n], seed + i);
                check_job(sweep, jobs, n, j, J, all_jobs, own, checker);
            }
        for (unsigned n = 0; n < NODES_OF_JOBS; n++)
            if (jobs[n] != NULL)
                chosen_free(jobs[n]);
    }
}
