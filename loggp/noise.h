/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Noise: the detours of each rank's processor. They follow from the seed and the rank, and not from
 * what the rank does or when the simulator comes to it.
 */
#ifndef NCOLL_LOGGP_NOISE_H
#define NCOLL_LOGGP_NOISE_H

#include "loggp/loggp.h"

/* The noise of one rank. */
struct noisy {
    struct loggp_detour next, stall; /* start_ns HUGE_VAL: there is no such detour */
    double shift_ns;                 /* where the rank begins in the trace or interval of noise */
    uint64_t drawn;                  /* number of detours that have been drawn so far */
};

struct noises {
    const struct loggp_noise *noise;
    uint64_t seed;
    struct noisy *ranks; /* NULL: there is no noise */
    double *entry_ns;    /* when each rank enters; NULL: all enter at 0 */
    double last_entry_ns;
};

/* Returns false if there is no memory. */
bool loggp_noises_init(struct noises *n, const struct loggp_noise *noise, uint64_t seed,
                       unsigned ranks);
void loggp_noises_free(struct noises *n);

/* Does what loggp_noises_work() does, if there is noise. */
double loggp_noises_interrupt(struct noises *n, unsigned rank, double at_ns, double work_ns);

/* Returns the time at which a rank has done work that takes work_ns and begins at at_ns. at_ns must
 * not decrease from one call for a rank to the next. */
static inline double loggp_noises_work(struct noises *n, unsigned rank, double at_ns,
                                       double work_ns)
{
    return n->ranks == NULL ? at_ns + work_ns : loggp_noises_interrupt(n, rank, at_ns, work_ns);
}

#endif
