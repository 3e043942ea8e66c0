/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's memory, and the routes of messages that depend on it. */
#ifndef NCOLL_LIB_MEMORY_H
#define NCOLL_LIB_MEMORY_H

#include "lib/base/group.h"
#include "lib/plan/plan.h"

/* ------------------------------------------------------------------ memory.c ----------------- */

/* Returns the region, allocated or registered by the user, that contains all of these bytes; NULL
 * if there is none. */
struct memory *ncoll__memory_find(const struct ncoll_context *ctx, const void *at, size_t bytes);
void ncoll__memories_free(struct ncoll_context *ctx);
/* Finds the regions that contain the buffers of a call that begins (c->memories). */
void ncoll__call_find_memories(struct ncoll_group *g, struct call *c);

/* ------------------------------------------------------------------ advertise.c -------------- */

_Static_assert(ADVERTISEMENTS == LANES, "as many calls as can have started runs at once");

/* Advertises OUT, in a call that begins, to the ranks that put to this one. */
void ncoll__advertise(struct ncoll_group *g, struct call *c);

/* ------------------------------------------------------------------ route.c ------------------ */

void ncoll__routes_find(struct ncoll_group *g, struct run *run);
/* Determines the routes that a new run can use for its long puts (run->can). If the library knows
 * neither the memory of IN nor that of OUT, and receivers may not get it by single copies, all such
 * puts need a copy in scratch. */
static inline void ncoll__routes_begin(struct ncoll_group *g, struct run *run)
{
    const struct call *c = run->call;

    run->returned = 0;
    if (c->memories[BASE_IN] == NULL && c->memories[BASE_OUT] == NULL &&
        !(c->plan->routes & MAY_SINGLE_COPY))
        run->can[BASE_IN] = run->can[BASE_OUT] = NEEDS_COPY;
    else
        ncoll__routes_find(g, run);
}
void ncoll__routes_free(struct ncoll_group *g);
/* Chooses the route of a put, and fills in its source. */
void ncoll__route(struct ncoll_group *g, struct run *run, const struct instruction *i,
                  struct put *put, struct advertisement *advertisement);
/* Notes after a put that its data stays in this rank's memory until the receiver has read it. */
void ncoll__routed(struct ncoll_group *g, const struct run *run, const struct instruction *i,
                   const struct put *put);

/* A rank that still needs memory of this one. */
struct holder {
    unsigned rank; /* rank of the group */
    /* slot of a message that it has not copied yet; NO_SLOT: it still reads scratch */
    unsigned slot;
    /* reaches the epoch of the run when the rank has copied the message; NULL: it reads scratch */
    const _Atomic uint64_t *word;
};
/* Finds a rank that still needs memory that the run is about to overwrite or to give back. Before
 * the first step that is scratch, which peers have read in an earlier run of the same set; after
 * the last step it is memory of the user. Returns false if there is none. */
bool ncoll__find_holder(struct ncoll_group *g, struct run *run, struct holder *out);

/* Handles the message of a raised slot: notes its place in message_of(), and copies it from the
 * sender if that is its route. Returns NCOLL_OK or an error. */
int ncoll__receive(struct ncoll_group *g, struct run *run, const struct instruction *i);

/* ------------------------------------------------------------------ peer_read.c -------------- */

int ncoll__find_at_peer(struct ncoll_group *g, struct run *run, const struct instruction *i,
                        struct message *m);
/* Returns NCOLL_OK if all data that the run has read in other ranks' memory was valid; or the
 * failure of a sender, which may have overwritten the data. */
int ncoll__check_reads(struct ncoll_group *g, const struct run *run);
/* The next three functions work on the words of struct readers (lib/base/group.h). `ranks` has a
 * bit for each rank of the group, and *any has a bit for each set of slots. */

/* Finds the first rank whose bit is set in `ranks`. If there is none, returns false and clears the
 * bit of the set in *any. */
bool ncoll__first_reader(const struct readers *s, const uint64_t *ranks, unsigned *any,
                         unsigned set, unsigned *rank);
/* Sets the bit of a rank in `ranks`, and the bit of the set in *any. */
void ncoll__note_reader(uint64_t *ranks, unsigned *any, unsigned set, unsigned rank);
/* Clears the bit of a rank in `ranks`. */
void ncoll__clear_reader(uint64_t *ranks, unsigned rank);
bool ncoll__holds_scratch(struct ncoll_group *g, uint64_t epoch, struct holder *out);

/* ------------------------------------------------------------------ single_copy.c ------------ */

/* True if puts of the plan from the user's memory may be single copies. memory: its region; NULL if
 * the transport does not know it. */
bool ncoll__may_single_copy(struct ncoll_group *g, struct plan *plan, const struct memory *memory);
int ncoll__single_copy(struct ncoll_group *g, struct run *run, const struct instruction *i,
                       struct message *m);
bool ncoll__holds_users(struct ncoll_group *g, struct run *run, struct holder *out);
/* True if other ranks may still read the user's memory in a call that has not ended. */
bool ncoll__lets_others_read(struct ncoll_context *ctx);

#endif
