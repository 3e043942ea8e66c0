/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tools ask the library beyond its public interface: the choice of an algorithm, the bare
 * exchange loop, the settings. Not installed.
 */
#ifndef NCOLL_LIB_INSPECT_H
#define NCOLL_LIB_INSPECT_H

#include "algos/schedule.h"
#include "ncoll.h"

/* What a choice goes back to. */
enum choice_from {
    FROM_RULE,    /* what the operation, the counts and the size ask for */
    FROM_SETTING, /* environment or parameters */
    FROM_TOOL,    /* ncoll__group_force() */
    FROM_TABLE,   /* the tuning table */
    FROM_TRIAL,   /* the first call's */
    FROM_MODEL,   /* an estimate of what messages cost */
};

/* What runs for a call, and why. */
struct choice {
    const struct algorithm *algorithm;
    unsigned radix;
    size_t segment; /* elements that one run of the schedule handles; == count if it fits */
    uint64_t segments;
    unsigned lanes; /* segments of the call that go on at once */
    enum choice_from from;
    const char *why; /* "short data", "fewest rounds", ... static storage */
};

/* "table", .. */
const char *ncoll__choice_from(const struct choice *choice);
/* "model: fewest rounds" into text. Returns text. */
#define CHOICE_TEXT 128
const char *ncoll__choice_why(const struct choice *choice, char text[CHOICE_TEXT]);

/* count, type and op are ignored for COLL_BARRIER. */
int ncoll__choose(ncoll_group *group, enum collective collective, size_t count, ncoll_type type,
                  ncoll_op op, struct choice *out);

/* The same for a collective with counts[P], as of allgatherv. */
int ncoll__choose_with_counts(ncoll_group *group, enum collective collective, const size_t *counts,
                              ncoll_type type, struct choice *out);

/*
 * How long a call of `count` elements of `element` bytes each would take by what runs for it, in
 * nanoseconds, by running its schedule on all ranks with the costs of messages that selection goes
 * by: LogGP, and changes of rank where ranks share cores. For comparing choices; -1: more than 256
 * ranks, or no memory.
 */
double ncoll__predict(ncoll_group *group, enum collective collective, size_t count, size_t element,
                      const struct choice *choice);

/*
 * A number for what all ranks do in such a call, by what runs for it: choices of equal numbers run
 * the same schedule in the same way, by whatever names. 0: not known; more than 256 ranks, or no
 * memory.
 */
uint64_t ncoll__schedule_mark(ncoll_group *group, enum collective collective, size_t count,
                              const struct choice *choice);

/* Which ranks share a node; NULL if all do. The group's. */
const struct nodes *ncoll__group_nodes(const ncoll_group *group);

/*
 * Force the algorithm (NULL: as chosen) and radix (0: as chosen) of the following calls on the
 * group. All ranks alike. NCOLL_ERR_ARGUMENT for an unknown name, or a radix that is none.
 */
int ncoll__group_force(ncoll_group *group, enum collective collective, const char *algorithm,
                       unsigned radix);

/* The same of the bytes of a segment (0: as chosen; SIZE_MAX: as long as fits) and of how many
 * segments of a call go on at once (1 to 4; 0: as chosen). Forced again by ncoll__group_force(),
 * which resets both. */
int ncoll__group_force_segments(ncoll_group *group, enum collective collective,
                                size_t segment_bytes, unsigned lanes);

/* struct transport_ops.raw_exchange between ranks 2i and 2i+1 of the group, all pairs at once,
 * connected at need. Collective over the group, with no other call unfinished; with data it begins
 * and ends with a barrier. NCOLL_ERR_UNSUPPORTED if the group has an odd number of ranks. */
int ncoll__raw_exchange(ncoll_group *group, unsigned writes, size_t len_bytes, unsigned iterations,
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
