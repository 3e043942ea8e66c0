/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tools ask the library beyond its public interface: the choice of an algorithm, the bare
 * exchange loop, the settings. Not installed.
 */
#ifndef NCOLL_LIB_INSPECT_H
#define NCOLL_LIB_INSPECT_H

#include "algos/schedule.h"
#include "ncoll.h"

/* What runs for a call, and why. */
struct choice {
    const struct algorithm *algorithm;
    unsigned radix;
    size_t segment; /* elements that one run of the schedule handles; == count if it fits */
    uint64_t segments;
    const char *why; /* "asked for", "exists for every size", ... static storage */
};

/* count, type and op are ignored for COLL_BARRIER. */
int ncoll__choose(ncoll_group *group, enum collective collective, size_t count, ncoll_type type,
                  ncoll_op op, struct choice *out);

/* The same for a collective with counts[P], as of allgatherv. */
int ncoll__choose_with_counts(ncoll_group *group, enum collective collective, const size_t *counts,
                              ncoll_type type, struct choice *out);

/* Which ranks share a node; NULL if all do. The group's. */
const struct nodes *ncoll__group_nodes(const ncoll_group *group);

/*
 * Force the algorithm (NULL: as chosen) and radix (0: as chosen) of the following calls on the
 * group. All ranks alike. NCOLL_ERR_ARGUMENT for an unknown name, or a radix that is none.
 */
int ncoll__group_force(ncoll_group *group, enum collective collective, const char *algorithm,
                       unsigned radix);

/* struct transport_ops.raw_exchange between ranks 2i and 2i+1 of the group, all pairs at once,
 * connected at need. Collective over the group, with no other call unfinished and a barrier to
 * follow; NCOLL_ERR_UNSUPPORTED if the group has an odd number of ranks. */
int ncoll__raw_exchange(ncoll_group *group, size_t len_bytes, unsigned iterations,
                        uint64_t *samples_ns);

/* One NCOLL_ variable with its value now and where that came from. */
struct setting_view {
    const char *variable; /* "NCOLL_RADIX" */
    const char *meaning;  /* one line */
    const char *origin;   /* "environment", "parameters", "default" */
    char value[256];
};

/* The index-th variable; false past the last. params may be NULL. */
bool ncoll__setting_view(const ncoll_params *params, unsigned index, struct setting_view *out);

#endif
