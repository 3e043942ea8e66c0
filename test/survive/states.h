/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of a rank in which a fault of its device may meet it: the steps of a call, of
 * connecting peers, and of its life. The fabric asks for the state at each request, message and
 * call (test/fabric/faults.c).
 */
#ifndef NCOLL_TEST_SURVIVE_STATES_H
#define NCOLL_TEST_SURVIVE_STATES_H

#include <stdbool.h>

#include "ncoll.h"

/* X(name, in words) */
#define STATES(X)                                                                                  \
    X(CREATING, "creating the context")                                                            \
    X(MAKING, "making a group")                                                                    \
    X(FREEING, "freeing a group")                                                                  \
    X(AGREEING, "wiring: agreeing on room")                                                        \
    X(EXCHANGING, "wiring: exchanging offers")                                                     \
    X(MEETING, "wiring: meeting peers")                                                            \
    X(CONNECTING, "wiring: connecting")                                                            \
    X(GIVING_CREDITS, "a run: giving credits")                                                     \
    X(PUTTING_SHORT, "a run: putting a short message")                                             \
    X(PUTTING_LONG, "a run: putting a long message")                                               \
    X(AWAITING, "a run: waiting for a message")                                                    \
    X(WORKING, "a run: reducing or copying")                                                       \
    X(ENDING, "a run: ending")                                                                     \
    X(BETWEEN, "between runs")                                                                     \
    X(LEAVING, "leaving")

enum state {
#define X(name, text) STATE_##name,
    STATES(X)
#undef X
        N_STATES
};

const char *state_text(enum state state);

/* Kinds of moments: a request ("post"), a message ("receive"), or the call of a function of libibverbs, by its
 * name. Returns the number of a kind, -1: there are too many. */
#define MOMENTS_OF_KINDS 40
int moment_kind(const char *name);

/* How often each kind has occurred in each state, on all ranks since states_count(); shared memory. */
struct census {
    _Atomic unsigned long seen[N_STATES][MOMENTS_OF_KINDS];
};
void states_count(struct census *census);

/* In a rank: its life begins; it leaves. Its context is found when it is made. */
void states_begin(void);
void states_leave(void);

#endif
