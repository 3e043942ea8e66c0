/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's memory in calls, and messages that are read at their senders. */
#ifndef NCOLL_LIB_MEMORY_H
#define NCOLL_LIB_MEMORY_H

#include "lib/internal.h"

/* ------------------------------------------------------------------ memory.c ----------------- */

/* What the user has allocated or registered that has all of these bytes; NULL: nothing. */
struct memory *ncoll__memory_find(const struct ncoll_context *ctx, const void *at, size_t bytes);
void ncoll__memories_free(struct ncoll_context *ctx);
/* Looks up the memory of a call that begins. */
void ncoll__call_find_memories(struct ncoll_group *g, struct call *c);

/* ------------------------------------------------------------------ invite.c ----------------- */

_Static_assert(BOXES == LANES, "as many calls as can have started runs at once");

/* Tells those who put to this rank in a call that begins where its OUT is. */
void ncoll__invite(struct ncoll_group *g, struct call *c);
/* Whether the put's receiver has invited it into its OUT: fills in what the put needs for that. */
bool ncoll__is_invited(const struct ncoll_group *g, const struct run *run, unsigned peer,
                       struct put *put, struct invitation *invitation);

/* ------------------------------------------------------------------ show.c ------------------- */

/* Whether a rank of the group may show, or lend, to this one: if it is another of the node. */
bool ncoll__reads(const struct ncoll_group *g, unsigned rank);
/* Whether long messages between this rank and another one of the group may be shown. */
bool ncoll__may_show(const struct ncoll_group *g, unsigned rank);
/* Room for what is noted of that. NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__shown_prepare(struct ncoll_group *g);
void ncoll__shown_free(struct ncoll_group *g);
/* Fills in the put of something that may be shown or lent: whether it is, in this run. */
void ncoll__show(const struct ncoll_group *g, const struct run *run, const struct instruction *i,
                 struct put *put);
/* It has been put. */
void ncoll__shown_to(struct ncoll_group *g, const struct run *run, const struct instruction *i,
                     const struct put *put);
/* Finds the message that a wait has seen, if it is shown. NCOLL_OK or an error. */
int ncoll__find_shown(struct ncoll_group *g, struct run *run, const struct instruction *i);
/* Copies it to bulk memory, as if it had come there. */
void ncoll__fetch_shown(struct ncoll_group *g, const struct run *run, unsigned slot);
/* Whether what a run has read at other ranks was what they put: NCOLL_OK or the failure. */
int ncoll__shown_stayed(struct ncoll_group *g, const struct run *run);
/* The first rank noted for a set; false: there is none, which is noted. */
bool ncoll__shown_first(const struct shown *s, const uint64_t *ranks, unsigned *any, unsigned set,
                        unsigned *rank);
void ncoll__shown_clear(uint64_t *ranks, unsigned rank);
/* Whether scratch that was shown keeps run `epoch` from starting, and who has not said that it has
 * read it. */
bool ncoll__shown_keeps(const struct ncoll_group *g, uint64_t epoch, unsigned *rank);

/* ------------------------------------------------------------------ lend.c ------------------- */

/* What a run that begins may lend. */
void ncoll__lend_begin(struct ncoll_group *g, struct run *run);
/* Whether a put of the run is lent, from where. NULL: it is not. */
const void *ncoll__lent_from(const struct ncoll_group *g, const struct run *run,
                             const struct instruction *i);
/* Fetches the message that a wait has seen, which is lent. NCOLL_OK or an error. */
int ncoll__fetch_lent(struct ncoll_group *g, struct run *run, const struct instruction *i);
/* The first put of the run that is lent and has not been fetched, and the word that will say so;
 * NULL: all have. What has been is noted. */
const struct instruction *ncoll__lent_out(struct ncoll_group *g, struct run *run,
                                          const _Atomic uint64_t **word);
/* Whether a call that has not ended may have shown, or lent, memory of the user's. */
bool ncoll__has_lent(struct ncoll_context *ctx);

/* The slot of a message that is shown; NULL: this rank has it. */
static inline const struct slot *ncoll__shown_in(const struct ncoll_group *g, const struct run *run,
                                                 unsigned slot)
{
    const struct slot *s = window_slot(g->window, run->epoch, slot);
    return s->where == AT_SENDER ? s : NULL;
}

#endif
