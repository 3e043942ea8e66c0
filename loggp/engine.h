/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a rank in the engine, and of each lane of a rank (an actor). */
#ifndef NCOLL_LOGGP_ENGINE_H
#define NCOLL_LOGGP_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "loggp/rounds.h"

#define KEEP_FROM 32 /* rounds of this many actions and more are kept while their actor waits */

struct actor {
    uint64_t waits_for; /* key of the message that the actor waits for; 0: none */
    unsigned run, round, next;
    unsigned n_kept;
    struct action *kept;
};

struct rank {
    double now_ns, card_free_ns;
};

/* Returns the number of segments into which the vector or the blocks are cut. */
static inline size_t loggp_segments_of(const struct loggp_job *job)
{
    size_t count = longest_block(&job->shape);

    return job->segment == 0 || count <= job->segment ? 1
                                                      : (count + job->segment - 1) / job->segment;
}

#endif
