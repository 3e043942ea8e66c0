/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes how long rounds take by the LogGP model that is used to choose algorithms. The simulator
 * of schedules (loggp/) runs the call; messages within a node may have costs of their own. Two
 * things are left out: the time of computation, and ranks that share cores. The library's own
 * prediction for a call (ncoll-info --choices) includes both.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "loggp/loggp.h"
#include "tools/explain/explain.h"

struct ends {
    double *ns; /* by round: the time when the last rank ends it */
    unsigned rounds;
};

static void note_end(void *arg, unsigned round, double ns)
{
    struct ends *ends = arg;

    if (round >= ends->rounds) { /* by 1 at most: a rank ends its rounds in their order */
        ends->ns = realloc(ends->ns, (round + 1) * sizeof *ends->ns);
        if (ends->ns == NULL)
            err(EXIT_FAILURE, NULL);
        ends->ns[ends->rounds++] = 0;
    }
    ends->ns[round] = ns > ends->ns[round] ? ns : ends->ns[round];
}

void explain_costs(const struct algorithm *a, const struct shape *g, const struct costs *costs)
{
    struct ends ends = {0};
    struct loggp_job job = {
        .algorithm = a,
        .shape = *g,
        .element_bytes = g->count > 0 ? (double)costs->bytes / (double)g->count : 0,
        .costs = {.far = loggp_cost_of(costs->far), .near = loggp_cost_of(costs->near)},
        .round_ended = note_end,
        .round_arg = &ends,
    };
    struct loggp_result result;
    double before = 0;

    enum loggp_status status = loggp_run(&job, &result);
    if (status != LOGGP_OK)
        errx(EXIT_FAILURE, "cannot run %s on %u ranks: %s", a->name, g->size,
             status == LOGGP_STUCK ? "ranks wait for messages that nobody sends" : "out of memory");
    if (g->count > 0)
        printf("us, of %zu bytes:\n", costs->bytes);
    else
        printf("us:\n");
    for (unsigned r = 0; r < ends.rounds; r++) {
        /* A rank may end a round while others are still in the one before. */
        double end = ends.ns[r] > before ? ends.ns[r] : before;
        printf("round %u: %.3f, ends at %.3f\n", r + 1, (end - before) / 1e3, end / 1e3);
        before = end;
    }
    free(ends.ns);
}
