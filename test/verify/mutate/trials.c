/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plants mistakes, runs the model on what comes of them, and reports which it did not see.
 */
#include "test/verify/mutate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/verify/check.h"
#include "test/verify/memory.h"
#include "test/verify/mutate/kinds.h"
#include "test/verify/patterns.h"
#include "test/verify/splits.h"

static const struct {
    const char *name;
    bool (*plant)(struct site *at);
} kinds[] = {
#define KIND(name) {#name, name},
    MISTAKES(KIND)
#undef KIND
};
#define KINDS (sizeof kinds / sizeof kinds[0])

struct trials {
    struct model model;
    struct schedule schedule, other;
    struct placement placement;
    uint64_t seed;
    unsigned planted, missed; /* of the kind at hand */
    char reason[sizeof((struct model *)0)->fault + 96];
};

/* Plants one mistake of a kind in one schedule, if that has a place for it. */
static void attempt(struct trials *t, size_t kind, const struct algorithm *algorithm,
                    struct shape shape)
{
    struct site at = {.s = &t->schedule, .seed = &t->seed};
    char radix[RADIX_TEXT];

    if (!algorithm_exists(algorithm, &shape))
        return;
    schedule_write(algorithm, &shape, &t->schedule);
    if (!kinds[kind].plant(&at))
        return;
    t->planted++;
    const char *fault = model_run(&t->model, &t->schedule) ? check_promises(&t->schedule, &t->other)
                                                           : t->model.fault;
    if (fault == NULL) {
        t->missed++;
        printf("MISSED %s in %s %s, P = %u, root %u, n = %s, %s, inverse %d, rank %u, step %u\n",
               kinds[kind].name, algorithm->name, collective_name(shape.collective), shape.size,
               shape.root, ncoll__radix_text(shape.radix, radix),
               shape.counts != NULL ? "counts" : "count", shape.inverse, at.rank, at.index);
    } else if (t->planted == 1) {
        snprintf(t->reason, sizeof t->reason, "%s %s, P = %u, n = %s: %s", algorithm->name,
                 collective_name(shape.collective), shape.size,
                 ncoll__radix_text(shape.radix, radix), fault);
    }
}

/* One shape, for whichever of its roots and counts the mistake needs. */
static void attempt_shape(struct trials *t, size_t kind, const struct algorithm *algorithm,
                          struct shape shape)
{
    unsigned P = shape.size, pattern = draw(&t->seed) % (2 * PATTERNS);
    size_t *counts = allocate((size_t)P * P, sizeof *counts);
    size_t *sends = allocate((size_t)P * P, sizeof *sends);

    shape.root = is_rooted(shape.collective) ? (unsigned)(draw(&t->seed) % P) : 0;
    if (algorithm->properties & TAKES_PLACES)
        shape.places = 1 + (unsigned)(draw(&t->seed) % P);
    /* a mistake in the padding of blocks makes no difference */
    bool pads = shape.collective == COLL_ALLTOALL && algorithm->properties & PADS_BLOCKS;
    if (takes_counts(shape.collective) && !pads && pattern < PATTERNS)
        pattern_set(&shape, pattern, counts, sends);
    if (P <= PLACEMENT_P)
        placement_draw(&t->placement, P, &t->seed);
    shape.nodes = P <= PLACEMENT_P ? &t->placement.nodes : NULL;
    attempt(t, kind, algorithm, shape);
    free(counts);
    free(sends);
}

static void attempt_size(struct trials *t, size_t kind, unsigned P)
{
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (unsigned n = 1; n <= 4; n++)
            for (unsigned inverse = 0; inverse < 2; inverse++)
                for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
                    attempt_shape(t, kind, ncoll__algorithms[i],
                                  (struct shape){.collective = c,
                                                 .size = P,
                                                 .radix = n,
                                                 .count = c == COLL_BARRIER ? 0 : 2,
                                                 .inverse = inverse});
}

/* In small sizes; in a large one what they have no place for. */
static void attempt_everywhere(struct trials *t, size_t kind)
{
    static const unsigned sizes[] = {13, 8, 2, 3, 5, 9, 16, 23, 27, 40}, large = 263;

    for (unsigned j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
        attempt_size(t, kind, sizes[j]);
    if (t->planted == 0)
        attempt_size(t, kind, large);
}

static void attempt_at_random(struct trials *t, unsigned registered)
{
    uint64_t a = draw(&t->seed), b = draw(&t->seed), c = draw(&t->seed);
    enum collective collective = COLL_BARRIER + (a >> 32) % (COLLECTIVES - COLL_BARRIER);
    const struct algorithm *algorithm = ncoll__algorithms[b % registered];
    bool list = algorithm->properties & TAKES_LIST && draw(&t->seed) % 2;

    attempt_shape(t, a % KINDS, algorithm,
                  (struct shape){.collective = collective,
                                 .size = 1 + (unsigned)(c % 64),
                                 .radix = list ? draw_list(&t->seed, RADIX_MAX)
                                               : 1 + (unsigned)((c >> 32) % RADIX_MAX),
                                 .count = collective == COLL_BARRIER ? 0 : 2,
                                 .inverse = b >> 63});
}

/* A registry that does not serve all collectives has no place for some mistakes. */
static bool registry_serves_all(unsigned *registered)
{
    unsigned served = 0, all = (1u << COLLECTIVES) - (1u << COLL_BARRIER);

    for (*registered = 0; ncoll__algorithms[*registered] != NULL; ++*registered)
        served |= ncoll__algorithms[*registered]->collectives;
    return (served & all) == all;
}

bool mutations_run(unsigned random, uint64_t seed)
{
    struct trials t = {.seed = seed};
    unsigned planted = 0, missed = 0, nowhere = 0, registered, caught[3], in_parts;
    bool everywhere = registry_serves_all(&registered);

    printf("seed %" PRIu64 "\n", seed);
    for (size_t kind = 0; kind < KINDS; kind++) {
        t.planted = t.missed = 0;
        attempt_everywhere(&t, kind);
        printf("%-30s caught %4u of %4u   %s\n", kinds[kind].name, t.planted - t.missed, t.planted,
               t.planted == 0         ? "NO PLACE"
               : t.planted > t.missed ? t.reason
                                      : "NEVER");
        planted += t.planted;
        missed += t.missed;
        nowhere += t.planted == 0;
    }
    t.planted = t.missed = 0;
    while (t.planted < random)
        attempt_at_random(&t, registered);
    unsigned between = mutations_of_credits(seed, &caught[0]) + mutations_of_lanes(&caught[1]);
    between += mutations_of_described(seed, &caught[2]);
    missed += t.missed + between - caught[0] - caught[1] - caught[2];
    unsigned of_parts = mutations_of_parts(&in_parts);
    missed += of_parts - in_parts;
    between += of_parts;
    unsigned others = mutations_of_outlines(&caught[0]) + mutations_of_placed(&caught[1]);
    nowhere += others - caught[0] - caught[1];
    between += others;
    printf("%zu kinds; %u planted, %u at random; %u missed, %u kinds had no place%s\n",
           KINDS + between, planted, t.planted, missed, nowhere,
           everywhere ? "" : " (the registry does not serve all collectives)");
    model_free(&t.model);
    schedule_free(&t.schedule);
    schedule_free(&t.other);
    return missed == 0 && (nowhere == 0 || !everywhere);
}
