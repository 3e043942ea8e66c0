/* SPDX-License-Identifier: BSD-3-Clause */
/* The relay: carries offers to the ranks that need them, over the base peers. See relay.c. */
#ifndef NCOLL_LIB_GROUP_RELAY_H
#define NCOLL_LIB_GROUP_RELAY_H

#include "lib/base/group.h"
#include "lib/compute/op.h"

/* A letter: an offer on its way from one rank of the group to another. */
struct letter {
    uint32_t from, to;
    struct offer offer;
};

struct relay {
    struct ncoll_group *group;
    struct letter *letters; /* letters at this rank that have to go on */
    unsigned n_letters, capacity;
    struct letter *arrived; /* [n_wanted] letters for this rank; `sorted`: by sender */
    unsigned n_arrived, n_wanted;
    unsigned rounds; /* number of rounds in a pass */
    unsigned most;   /* the most letters that a rank may have to send in one round */
    unsigned room;   /* the most letters in a message of this pass */
    unsigned passes; /* number of passes that have begun */
    unsigned round;  /* the present round of this pass */
    /* the most letters that the previous pass has left at one rank, as far as this rank knows */
    uint32_t left;
    int64_t *first, *last; /* the message of round 0, and the one made after the last round */
    struct op op;
    /* the plan of every pass, if all have the same room; NULL: each has its own */
    struct plan *plan;
    bool sorted, failed; /* failed: there was no memory, so that letters are missing */
};

/* LETTERS_IN_SLOT: letters that fit into a slot. LETTERS_FIRST: room of the first pass if it is not
 * known how many letters meet at a rank. */
#define LETTERS_IN_SLOT 4u
#define LETTERS_FIRST   32u
/* Words of a message with this number of letters. */
#define LETTER_WORDS        (sizeof(struct letter) / sizeof(int64_t))
#define RELAY_WORDS(number) (1 + LETTER_WORDS * (number))

/* Returns the most letters that a rank may have to send in a round, if each rank writes to ranks at
 * these distances to the right; distances NULL: at any distances. */
unsigned ncoll__relay_most(unsigned size, const unsigned *distances, unsigned n_distances);

/* Makes a relay for up to n_wanted letters from this rank and as many to it. most: see struct
 * relay. Returns NULL if there is no memory. */
struct relay *ncoll__relay_new(struct ncoll_group *g, unsigned n_wanted, unsigned most);
/* Frees a relay, and leaves its plan. NULL is allowed. */
void ncoll__relay_free(struct ncoll_context *ctx, struct relay *r);
/* Adds a letter to a rank of the group. Returns its offer, which the caller fills in. */
struct offer *ncoll__relay_add(struct relay *r, unsigned to);

/* Returns the number of letters for which messages of the next pass should have room. */
unsigned ncoll__relay_next_room(const struct relay *r);
/* Sets the arguments of the call for the next passes. Messages have room for `room` letters, or for
 * as many as fit the window. Returns NCOLL_OK, or an error, which is recorded. */
int ncoll__relay_call(struct relay *r, unsigned room, struct signature purpose,
                      struct call_args *args);
/* Begins a pass: makes its first message. The call must not have started. */
void ncoll__relay_begin(struct relay *r);
/* True if the pass that has ended was the last one. All ranks get the same answer. */
bool ncoll__relay_is_over(const struct relay *r);
/* Returns the offer that a rank has sent to this one; NULL: none. */
const struct offer *ncoll__relay_find(struct relay *r, unsigned from);

#endif
