/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plants mistakes, runs the model on what comes of them, and reports which it did not see.
 */
#include "test/verify/mutate.h"

#include <inttypes.h>
#include <stdio.h>

#include "test/verify/model.h"
#include "test/verify/mutate/kinds.h"

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
    struct schedule schedule;
    uint64_t seed;
    unsigned planted, missed; /* of the kind at hand */
    char reason[sizeof((struct model *)0)->fault + 64];
};

/* Plants one mistake of a kind in one schedule, if that has a place for it. */
static void attempt(struct trials *t, size_t kind, const struct algorithm *algorithm,
                    enum collective collective, struct shape shape)
{
    struct site at = {.s = &t->schedule, .seed = &t->seed};

    shape.collective = collective;
    if (!(algorithm->collectives & 1u << collective) || !algorithm_exists(algorithm, &shape))
        return;
    if (collective == COLL_BARRIER)
        shape.count = 0;
    schedule_write(algorithm, &shape, &t->schedule);
    if (!kinds[kind].plant(&at))
        return;
    t->planted++;
    if (model_run(&t->model, &t->schedule)) {
        t->missed++;
        printf("MISSED %s in %s, collective %d, P = %u, n = %u, inverse %d, rank %u, step %u\n",
               kinds[kind].name, algorithm->name, collective, shape.size, shape.radix,
               shape.inverse, at.rank, at.index);
    } else if (t->planted == 1) {
        snprintf(t->reason, sizeof t->reason, "%s, P = %u, n = %u: %s", algorithm->name, shape.size,
                 shape.radix, t->model.fault);
    }
}

static void attempt_everywhere(struct trials *t, size_t kind)
{
    static const unsigned sizes[] = {13, 8, 2, 3, 5, 9, 16, 23, 27, 40};

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (unsigned j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
            for (unsigned n = 1; n <= 4; n++)
                for (unsigned inverse = 0; inverse < 2; inverse++)
                    for (unsigned c = COLL_BARRIER; c <= COLL_ALLREDUCE; c++)
                        attempt(t, kind, ncoll__algorithms[i], c,
                                (struct shape){
                                    .size = sizes[j], .radix = n, .count = 2, .inverse = inverse});
}

static void attempt_at_random(struct trials *t, unsigned registered)
{
    uint64_t a = draw(&t->seed), b = draw(&t->seed), c = draw(&t->seed);

    attempt(t, a % KINDS, ncoll__algorithms[b % registered], 1 + (a >> 32) % 2,
            (struct shape){.size = 1 + (unsigned)(c % 64),
                           .radix = 1 + (unsigned)((c >> 32) % RADIX_MAX),
                           .count = 2,
                           .inverse = b >> 63});
}

bool mutations_run(unsigned random, uint64_t seed)
{
    struct trials t = {.seed = seed};
    unsigned planted = 0, missed = 0, registered = 0;

    printf("seed %" PRIu64 "\n", seed);
    for (size_t kind = 0; kind < KINDS; kind++) {
        t.planted = t.missed = 0;
        attempt_everywhere(&t, kind);
        printf("%-30s caught %4u of %4u   %s\n", kinds[kind].name, t.planted - t.missed, t.planted,
               t.planted > t.missed ? t.reason : "NEVER");
        planted += t.planted;
        missed += t.missed + (t.planted == 0);
    }
    t.planted = t.missed = 0;
    while (ncoll__algorithms[registered] != NULL)
        registered++;
    while (t.planted < random)
        attempt_at_random(&t, registered);
    printf("%zu kinds; %u planted, %u at random; %u missed\n", KINDS, planted, t.planted,
           missed + t.missed);
    missed += t.missed;
    model_free(&t.model);
    schedule_free(&t.schedule);
    return missed == 0;
}
