/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates the memory of a run of the engine before it begins. */
#include "loggp/engine.h"
#include "loggp/pending.h"

#define SAMPLE_RANKS 15

/* Returns how many bytes the first round of a rank occupies: for messages in the table, which is at
 * most half full and is copied when it grows, and for a long round that is kept while the rank
 * waits. */
static double round_memory(struct rounds *r, struct shape g, unsigned rank)
{
    double bytes = 0;

    g.rank = rank;
    if (loggp_rounds_make(r, &g, 0) != ROUND_MADE)
        return 0;
    for (unsigned i = 0; i < r->count; i++)
        bytes += r->actions[i].kind == ACTION_PUT ? 3 * sizeof(struct pending_entry) : 0;
    return bytes + (r->count >= KEEP_FROM ? (double)r->count * sizeof(struct action) : 0);
}

double loggp_memory(const struct loggp_job *job)
{
    struct rounds r = {.algorithm = job->algorithm, .element_bytes = job->element_bytes};
    unsigned P = job->shape.size, lanes = job->lanes > 0 ? job->lanes : 1;
    double own = lanes * sizeof(struct actor) + sizeof(struct rank) + sizeof(unsigned);
    own += job->shape.counts != NULL ? (double)loggp_segments_of(job) * sizeof(size_t) : 0;
    double sorted[SAMPLE_RANKS];

    for (unsigned i = 0; i < SAMPLE_RANKS; i++) {
        double bytes = round_memory(&r, job->shape, (unsigned)((uint64_t)i * P / SAMPLE_RANKS));
        unsigned at = i;
        for (; at > 0 && sorted[at - 1] > bytes; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = bytes;
    }
    loggp_rounds_free(&r);
    /* One rank may need much more than all others, so each rank counts as the median of the sample,
     * and the largest of the sample is added once. */
    return P * (own + lanes * sorted[SAMPLE_RANKS / 2]) + sorted[SAMPLE_RANKS - 1];
}
