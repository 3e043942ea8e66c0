/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions of the tools that the public interface does not answer: the choice of an algorithm, the
 * bare exchange loop, the settings. Not installed. */
#ifndef NCOLL_LIB_INSPECT_H
#define NCOLL_LIB_INSPECT_H

#include "algos/schedule.h"
#include "lib/base/startup.h"
#include "ncoll.h"

/* The source of the choice of an algorithm. */
enum choice_from {
    FROM_FIT,     /* the algorithm fits the operation, the counts and the size best */
    FROM_SETTING, /* environment or parameters */
    FROM_TOOL,    /* ncoll__group_force() */
    FROM_RULE,    /* a rule that a person wrote: see lib/choose/rules.h */
    FROM_TABLE,   /* the tuning table */
    FROM_TRIAL,   /* the trial in the first call */
    FROM_MODEL,   /* an estimate of what messages cost */
};

/* The choice for a call, and its reason. */
struct choice {
    const struct algorithm *algorithm;
    unsigned radix;
    size_t segment; /* elements that one run of the schedule handles; count if one run is enough */
    uint64_t segments;
    unsigned lanes; /* segments of the call that run at the same time */
    unsigned parts; /* that each segment is done in: see algos/schedule.h */
    enum choice_from from;
    /* "short data", "fewest rounds", ... in static storage; or the place of a rule, which belongs to
     * the context */
    const char *why;
};

/* Returns a word such as "table". */
const char *ncoll__choice_from(const struct choice *choice);
/* Writes a text such as "model: fewest rounds". Returns text. */
#define CHOICE_TEXT 128
const char *ncoll__choice_why(const struct choice *choice, char text[CHOICE_TEXT]);

/* Chooses the algorithm of a call. count, type and op are ignored for COLL_BARRIER. */
int ncoll__choose(ncoll_group *group, enum collective collective, size_t count, ncoll_type type,
                  ncoll_op op, struct choice *out);

/* Chooses without rules and without the tuning table: by the model. */
int ncoll__choose_untuned(ncoll_group *group, enum collective collective, size_t count,
                          ncoll_type type, ncoll_op op, struct choice *out);

/* Chooses for a collective with counts[P], such as allgatherv. */
int ncoll__choose_with_counts(ncoll_group *group, enum collective collective, const size_t *counts,
                              ncoll_type type, struct choice *out);

/*
 * Predicts the time in nanoseconds of a call with `count` elements of `element` bytes each, by the
 * algorithm chosen for it. It simulates the schedule on all ranks with the cost model of the
 * selection: LogGP, and context switches if ranks share cores. The result is meant for comparing
 * choices. -1: there are more than 256 ranks, or no memory.
 */
double ncoll__predict(ncoll_group *group, enum collective collective, size_t count, size_t element,
                      const struct choice *choice);

/*
 * Returns a hash of the schedule that such a call runs, on all ranks. Choices with equal hashes run
 * the same schedule in the same way, even if their names differ. 0: not known, as there are more
 * than 256 ranks, or no memory.
 */
uint64_t ncoll__schedule_mark(ncoll_group *group, enum collective collective, size_t count,
                              const struct choice *choice);

/* Returns the nodes of the group's ranks; NULL if all share one. They belong to the group. */
const struct nodes *ncoll__group_nodes(const ncoll_group *group);

/*
 * Forces the algorithm (NULL: as chosen) and the radix (0: as chosen) of the following calls on the
 * group. All ranks call it alike. NCOLL_ERR_ARGUMENT: the name is unknown, or the radix is invalid.
 */
int ncoll__group_force(ncoll_group *group, enum collective collective, const char *algorithm,
                       unsigned radix);

/* Forces the bytes of a segment (0: as chosen; SIZE_MAX: as long as fits) and the number of
 * segments that run at the same time (1 to 4; 0: as chosen). ncoll__group_force() resets both. */
int ncoll__group_force_segments(ncoll_group *group, enum collective collective,
                                size_t segment_bytes, unsigned lanes);

/* Forces the most slots that a run may use (0: as many as there are), so that short calls are done in
 * parts, too. ncoll__group_force() resets it. */
int ncoll__group_force_slots(ncoll_group *group, enum collective collective, unsigned slots);

/* Runs struct transport_ops.raw_exchange between ranks 2i and 2i+1 of the group, all pairs at once;
 * it connects the pairs if necessary. Collective over the group, with no other call unfinished;
 * with data it begins and ends with a barrier. NCOLL_ERR_UNSUPPORTED: the group has an odd number
 * of ranks. */
int ncoll__raw_exchange(ncoll_group *group, unsigned writes, size_t len_bytes, unsigned iterations,
                        uint64_t *samples_ns);

/* Returns what the creation of the context has cost this rank. */
struct startup_costs ncoll__startup_costs(const ncoll_context *ctx);

/* A rank blocks at once if foreign processes have had its core for so much of the time: 1/4. */
#define WAITING_LOST_PART 4u
/* From so many ranks per core on ranks always block at once: see lib/run/waiting.h. */
#define WAITING_CROWDED 32.0
/*
 * Returns for how long a waiting rank spins before it yields; 0: it yields at once. setting_ns is that of
 * NCOLL_SPIN, less than 0: chosen. oversubscribed: ranks share cores. blocks: beside a foreign
 * process, where a rank blocks in place of yielding.
 */
uint64_t ncoll__waiting_spin_ns(int64_t setting_ns, bool oversubscribed, bool blocks);

/* One NCOLL_ variable with its value and the origin of that value. */
struct setting_view {
    const char *variable; /* "NCOLL_RADIX" */
    const char *meaning;  /* one line */
    const char *others;   /* similar settings of UCX and NCCL; NULL: there is none */
    const char *origin;   /* "environment", "parameters", "default" */
    char value[256];
};

/* Gets the index-th variable; returns false past the last. params may be NULL. */
bool ncoll__setting_view(const ncoll_params *params, unsigned index, struct setting_view *out);

/* Reads the rules that the environment names, as rank 0 of a job does, and hands each one to the
 * function: the place where it was written, and its text in the form of a file. Returns NCOLL_OK or
 * an error, which is then in *error. */
int ncoll__rules_view(void (*each)(void *arg, const char *where, const char *text), void *arg,
                      ncoll_error *error);

#endif
