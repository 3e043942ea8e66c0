/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes of lanes: each is planted in schedules of the registry until one goes wrong.
 */
#include "test/verify/lanes.h"

#include <stdio.h>

#include "test/verify/check.h"
#include "test/verify/mutate.h"

static const struct {
    const char *name;
    enum lane_mischief mischief;
} mischiefs[] = {
#define MISCHIEF(name) {#name, LANE_##name},
    LANE_MISCHIEFS(MISCHIEF)
#undef MISCHIEF
};

/* The schedules in whose lanes a mistake is planted: the first schedule that shows it is
 * printed. */
struct planting {
    struct lanes lanes;
    struct schedule schedule;
    struct outline outline;
    unsigned planted, caught, differ;
    char reason[sizeof((struct lanes *)0)->fault + 96];
};

/* True if 4 lanes, or fewer, show it. Rank 0 has to stand for all with mistakes, too. */
static bool is_caught(struct planting *p, enum lane_mischief mischief)
{
    bool folds = p->outline.symmetric, whole, folded;

    for (unsigned S = LANES_MAX; S > 0; S--) {
        folded = folds && !lanes_run(&p->lanes, &p->outline, S, true, CREDITS_AT_RANDOM, mischief);
        whole = !lanes_run(&p->lanes, &p->outline, S, false, CREDITS_AT_RANDOM, mischief);
        p->differ += folds && folded != whole;
        if (whole)
            return true;
    }
    return false;
}

static void attempt(struct planting *p, const struct algorithm *algorithm, struct shape shape,
                    enum lane_mischief mischief)
{
    if (!algorithm_exists(algorithm, &shape))
        return;
    schedule_write(algorithm, &shape, &p->schedule);
    outline_of(&p->schedule, &p->outline);
    p->planted++;
    if (is_caught(p, mischief) && p->caught++ == 0)
        snprintf(p->reason, sizeof p->reason, "%s %s, P = %u: %s", algorithm->name,
                 collective_name(shape.collective), shape.size, p->lanes.fault);
}

static void attempt_everywhere(struct planting *p, enum lane_mischief mischief)
{
    static const unsigned sizes[] = {8, 13, 5, 67};

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (unsigned j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
            for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
                attempt(p, ncoll__algorithms[i],
                        (struct shape){.collective = c,
                                       .size = sizes[j],
                                       .radix = 1,
                                       .count = c == COLL_BARRIER ? 0 : 2,
                                       .inverse = true},
                        mischief);
}

unsigned mutations_of_lanes(unsigned *caught)
{
    struct planting p = {0};
    unsigned n = sizeof mischiefs / sizeof mischiefs[0];

    *caught = 0;
    for (unsigned i = 0; i < n; i++) {
        p.planted = p.caught = p.differ = 0;
        attempt_everywhere(&p, mischiefs[i].mischief);
        *caught += p.caught > 0 && p.differ == 0;
        if (p.differ > 0)
            printf("MISSED %s in %u schedules of which rank 0 does not stand for all\n",
                   mischiefs[i].name, p.differ);
        printf("%-38s caught in %u of %u   %s\n", mischiefs[i].name, p.caught, p.planted,
               p.caught > 0 ? p.reason : "NEVER");
    }
    lanes_free(&p.lanes);
    schedule_free(&p.schedule);
    outline_free(&p.outline);
    return n;
}
