/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways in which a rank waits: it spins, yields its core after each look, or blocks at once.
 *
 * A rank that has a core of its own spins, ranks that share a core yield. That is right as long as
 * only ranks use the core: a yield is then a switch to another rank, which brings the message
 * nearer. A foreign process that computes changes that. A yield gives it the core for a whole slice
 * of the scheduler, some milliseconds, and a rank that spins is put behind it when its own slice is
 * used up. A rank that blocks gets the core back as soon as a message wakes it, since it has used
 * little of its share.
 *
 * So each rank measures how long it is away from its core when it waits. After a long absence it
 * measures every absence for a while. If absences take a good part of the time, and other ranks of
 * the node were not the cause, the rank blocks: at once if it used to yield; if it used to spin,
 * after spinning for as long as blocking takes. After a time it tries its usual way. If that was
 * too early, it blocks for several times as long, up to two seconds.
 *
 * If very many ranks share a core, yields are switches to ranks that mostly wait as well. So from
 * RANKS_MANY ranks per core on a wait has few yields before it blocks, and from WAITING_CROWDED on
 * it blocks at once. Then ranks need not find out who has their core, for which each rank would
 * have to look at dozens of others.
 *
 * Ranks decide for themselves: the message that a rank waits for wakes it in any case.
 */
#ifndef NCOLL_LIB_RUN_WAITING_H
#define NCOLL_LIB_RUN_WAITING_H

#include <limits.h>

#include "lib/base/group.h"
#include "lib/inspect.h"

/* The number of times that a call looks at its flags before it does anything else, on a rank that
 * spins, yields, or blocks at once. */
#define LOOKS_SPINS  1000u
#define LOOKS_YIELDS 16u
#define LOOKS_BLOCKS 0u

/* The number of passes between two readings of the clock, on a rank that spins. A reading costs
 * about as much as a message between cores. */
#define PASSES_SPINS 64u

/* With at least RANKS_MANY ranks per core, a wait yields FEW_YIELDS times before it blocks.
 * Measured on 2 cores: a barrier of 32 ranks takes 150 us with 16 yields and 200 to 790 us with
 * 256; one of 128 ranks takes 2.0 ms with either, and 1.5 ms if ranks block at once. */
#define RANKS_MANY 8.0
#define FEW_YIELDS 16u

/* The value of `round` in transport_ops.wait() with which the transport blocks, and does not
 * yield. */
#define ROUND_BLOCKS UINT_MAX

/* Sets the usual way. Called when the settings, and the numbers of ranks per core, are known. */
void ncoll__waiting_begin(struct ncoll_context *ctx);

/* Notes that the rank, while it waited, was away from its core for away_ns, up to now_ns. */
void ncoll__waiting_away(struct ncoll_context *ctx, uint64_t now_ns, uint64_t away_ns);

/* Goes back to the usual way if the rank blocks, and has done so for long enough to try it
 * again. */
void ncoll__waiting_try(struct ncoll_context *ctx, uint64_t now_ns);

/* The longest time in ns for which a transport may give up the core between two looks. */
#define LOOK_NS 1000000

/* Yields once between two looks at a flag, for a rank that does not spin. */
static inline void ncoll__waiting_yield(struct ncoll_group *g, const struct awaited *awaited)
{
    struct transport *t = g->ctx->transport;

    t->ops->wait(t, g->window, awaited, 1, 0, LOOK_NS);
}

/* Yields as ncoll__waiting_yield() does, and measures the absence. Returns false if the rank should
 * block from now on. */
bool ncoll__waiting_yield_timed(struct ncoll_group *g, const struct awaited *awaited);

/* wait.c: true if this rank waits for something: a group has unfinished calls, or a message is
 * withheld. *soon: it waits for an event that may wake nobody. */
bool ncoll__waits_for_anything(const struct ncoll_context *ctx, bool *soon);

/* descriptor.c: makes the descriptor on which the program sleeps. Returns NCOLL_OK or an error. */
int ncoll__descriptor_open(struct ncoll_context *ctx);
void ncoll__descriptor_close(struct ncoll_context *ctx);
/* Makes the descriptor ready for a sleep of the program. Returns NCOLL_OK: the program may sleep;
 * NCOLL_TIMEOUT: it has to test its calls first; or the error that has ended its calls. */
int ncoll__descriptor_arm(struct ncoll_context *ctx);

#endif
