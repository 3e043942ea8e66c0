/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for ncoll's own tools, which the public interface does not have: the choice of an
 * algorithm, the bare exchange loop, the settings. This header is not installed. */
#ifndef NCOLL_LIB_INSPECT_H
#define NCOLL_LIB_INSPECT_H

#include "algos/schedule.h"
#include "lib/base/startup.h"
#include "ncoll.h"

/* The source of the choice of an algorithm. */
enum choice_from {
    FROM_FIT,     /* the algorithm fits the operation, the counts and the size best */
    FROM_SETTING, /* the user has set it: environment or parameters */
    FROM_TOOL,    /* a tool has forced it: ncoll__group_force() */
    FROM_RULE,    /* a rule that a person wrote: see lib/choose/rules.h */
    FROM_TABLE,   /* the tuning table */
    FROM_TRIAL,   /* the first-call trial: see lib/run/trial.c */
    FROM_MODEL,   /* the cost model: the least estimated time */
};

/* The choice for a call, and its reason. */
struct choice {
    const struct algorithm *algorithm;
    unsigned radix;
    size_t segment; /* elements that one run of the schedule handles; count if one run is enough */
    uint64_t segments;
    unsigned lanes; /* segments of the call that run at the same time */
    unsigned parts; /* number of parts of each segment: see algos/schedule.h */
    enum choice_from from;
    /* The reason in words, such as "short data", in static storage; or, with FROM_RULE, the text
     * that says where the rule was written, which the context owns. */
    const char *why;
};

/* Returns the source of the choice as a word, such as "table". */
const char *ncoll__choice_from(const struct choice *choice);
/* Writes the source and the reason of the choice, such as "model: fewest rounds". Returns text. */
#define CHOICE_TEXT 128
const char *ncoll__choice_why(const struct choice *choice, char text[CHOICE_TEXT]);

/* Chooses the algorithm of a call. count, type and op are ignored for COLL_BARRIER. */
int ncoll__choose(ncoll_group *group, enum collective collective, size_t count, ncoll_type type,
                  ncoll_op op, struct choice *out);

/* Chooses as if there were no rules and no tuning table: by the cost model. */
int ncoll__choose_untuned(ncoll_group *group, enum collective collective, size_t count,
                          ncoll_type type, ncoll_op op, struct choice *out);

/* Chooses the algorithm of a collective with counts, such as allgatherv. counts has P numbers. */
int ncoll__choose_with_counts(ncoll_group *group, enum collective collective, const size_t *counts,
                              ncoll_type type, struct choice *out);

/*
 * Predicts the time in nanoseconds of a call with `count` elements of `element` bytes each, by the
 * algorithm chosen for it. It simulates the schedule on all ranks with the cost model by which
 * algorithms are chosen: LogGP, and context switches if ranks share cores. The result is meant for
 * comparing choices. Returns -1 if there are more than 256 ranks, or no memory.
 */
double ncoll__predict(ncoll_group *group, enum collective collective, size_t count, size_t element,
                      const struct choice *choice);

/*
 * Returns a hash of the schedule that a call with this choice runs, over the steps of all ranks.
 * Choices with equal hashes run the same schedule in the same way, even if their names differ.
 * Returns 0 if the hash is not known: there are more than 256 ranks, or no memory.
 */
uint64_t ncoll__schedule_mark(ncoll_group *group, enum collective collective, size_t count,
                              const struct choice *choice);

/* Returns the nodes of the group's ranks; NULL if all ranks share one node. The group owns the
 * result. */
const struct nodes *ncoll__group_nodes(const ncoll_group *group);

/*
 * Forces the algorithm (NULL: the library chooses) and the radix (0: the library chooses) of the
 * following calls on the group. All ranks call it with the same arguments. NCOLL_ERR_ARGUMENT: the
 * name is unknown, or the radix is invalid.
 */
int ncoll__group_force(ncoll_group *group, enum collective collective, const char *algorithm,
                       unsigned radix);

/* Forces the bytes of a segment (0: the library chooses; SIZE_MAX: as long as the window allows)
 * and the number of segments that run at the same time (1 to 4; 0: the library chooses).
 * ncoll__group_force() resets both. */
int ncoll__group_force_segments(ncoll_group *group, enum collective collective,
                                size_t segment_bytes, unsigned lanes);

/* Forces the largest number of slots that a run may use (0: all that the window has), so that short
 * calls are done in parts, too. ncoll__group_force() resets it. */
int ncoll__group_force_slots(ncoll_group *group, enum collective collective, unsigned slots);

/* Runs struct transport_ops.raw_exchange between ranks 2i and 2i+1 of the group, in all pairs at
 * once. It connects the pairs if necessary. It is collective over the group, and no other call may
 * be unfinished. If len_bytes is not 0, it begins and ends with a barrier. NCOLL_ERR_UNSUPPORTED:
 * the group has an odd number of ranks, or the transport has no such exchange. */
int ncoll__raw_exchange(ncoll_group *group, unsigned writes, size_t len_bytes, unsigned iterations,
                        uint64_t *samples_ns);

/* Returns the times and counts of the context's creation on this rank. */
struct startup_costs ncoll__startup_costs(const ncoll_context *ctx);

/* A waiting rank begins to block (lib/run/waiting.h) if foreign processes had its core for at least
 * this part of the time: 1 / 4. */
#define WAITING_LOST_PART 4u
/* With at least this many ranks per core, a waiting rank always blocks at once: see
 * lib/run/waiting.h. */
#define WAITING_CROWDED 32.0
/*
 * Returns the time in ns for which a waiting rank spins before it yields; 0: it yields at once.
 * setting_ns: the value of NCOLL_SPIN; less than 0: the library chooses. oversubscribed: ranks
 * share cores. blocks: a foreign process shares the core, so that the rank blocks after it has
 * spun, in place of yielding.
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

/* Reads the rules that the environment names, as rank 0 of a job does, and calls each() for each
 * rule. where: the place where the rule was written; text: the rule as a line of a rule file.
 * Returns NCOLL_OK, or an error, which *error then describes. */
int ncoll__rules_view(void (*each)(void *arg, const char *where, const char *text), void *arg,
                      ncoll_error *error);

#endif
