/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Noise: the detours of each rank's processor. They follow from the seed and the rank, and not from
 * what the rank does or when the simulator comes to it.
 */
#ifndef NCOLL_LOGGP_NOISE_H
#define NCOLL_LOGGP_NOISE_H

#include "loggp/loggp.h"

/* One rank. */
struct noisy {
    struct loggp_detour next, stall; /* start_ns HUGE_VAL: none */
    double shift_ns;                 /* of the trace */
    uint64_t drawn;                  /* detours so far */
};

struct noises {
    const struct loggp_noise *noise;
    uint64_t seed;
    struct noisy *ranks; /* NULL: there is no noise */
    double *entry_ns;    /* when each rank enters; NULL: all at 0 */
    double last_entry_ns;
};

/* False: no memory. */
bool loggp_noises_init(struct noises *n, const struct loggp_noise *noise, uint64_t seed,
                       unsigned ranks);
void loggp_noises_free(struct noises *n);

/* For loggp_noises_work(). */
double loggp_noises_interrupt(struct noises *n, unsigned rank, double at_ns, double work_ns);

/* Returns when a rank that begins so much work has done it. Times of a rank never go back. */
static inline double loggp_noises_work(struct noises *n, unsigned rank, double at_ns,
                                       double work_ns)
{
    return n->ranks == NULL ? at_ns + work_ns : loggp_noises_interrupt(n, rank, at_ns, work_ns);
}

#endif
