/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes between calls: each is planted in sequences of mixed calls until one goes wrong.
 */
#include "test/verify/mutate.h"

#include <stdio.h>
#include <stdlib.h>

#include "test/verify/memory.h"
#include "test/verify/mixed.h"

#define RUNS 2000 /* most of them are caught by the tenth */

static const struct {
    const char *name;
    enum mischief mischief;
} mischiefs[] = {
#define MISCHIEF(name) {#name, MISCHIEF_##name},
    MISCHIEFS(MISCHIEF)
#undef MISCHIEF
};

unsigned mutations_of_credits(uint64_t seed, unsigned *caught)
{
    struct mixed *m = allocate(1, sizeof *m);
    unsigned n = sizeof mischiefs / sizeof mischiefs[0];

    *caught = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned run = 0;
        while (run < RUNS && mixed_run(m, seed + run, NULL, mischiefs[i].mischief))
            run++;
        *caught += run < RUNS;
        printf("%-38s caught by sequence %u   %s\n", mischiefs[i].name, run + 1,
               run < RUNS ? m->fault : "NEVER");
    }
    mixed_free(m);
    free(m);
    return n;
}
