/* SPDX-License-Identifier: BSD-3-Clause */
/* The relay: takes offers to the ranks that need them, over the base peers. See relay.c. */
#ifndef NCOLL_LIB_GROUP_RELAY_H
#define NCOLL_LIB_GROUP_RELAY_H

#include "lib/base/group.h"
#include "lib/compute/op.h"

/* An offer on its way, with ranks of the group. */
struct letter {
    uint32_t from, to;
    struct offer offer;
};

struct relay {
    struct ncoll_group *group;
    struct letter *letters; /* letters at this rank that have to go on */
    unsigned n_letters, capacity;
    struct letter *arrived; /* [n_wanted] letters for this rank, by sender once they are sorted */
    unsigned n_arrived, n_wanted;
    unsigned rounds; /* of a pass */
    unsigned most;   /* no rank has more letters to send in one round */
    unsigned room;   /* letters in a message of this pass */
    unsigned passes; /* that have begun */
    unsigned round;  /* of this pass */
    uint32_t left;   /* letters left at some rank by the pass before, as far as this rank knows */
    int64_t *first, *last; /* the message of round 0, and the one that is made after the last */
    struct op op;
    /* the plan of every pass, if all have the same room; NULL: each has its own */
    struct plan *plan;
    bool sorted, failed; /* failed: there was no memory, so that letters are missing */
};

/* The room of a slot, and the room of the first pass if it is not known how many letters meet. */
#define LETTERS_IN_SLOT 4u
#define LETTERS_FIRST   32u
/* Words of a message with this number of letters. */
#define LETTER_WORDS        (sizeof(struct letter) / sizeof(int64_t))
#define RELAY_WORDS(number) (1 + LETTER_WORDS * (number))

/* Returns how many letters a rank has to send in a round at most, if each rank writes to ranks at
 * these distances to the right; distances NULL: at any distances. */
unsigned ncoll__relay_most(unsigned size, const unsigned *distances, unsigned n_distances);

/* Makes a relay for up to n_wanted letters of this rank and as many to it. Returns NULL if there is
 * no memory. */
struct relay *ncoll__relay_new(struct ncoll_group *g, unsigned n_wanted, unsigned most);
/* Also gives back the plan. */
void ncoll__relay_free(struct ncoll_context *ctx, struct relay *r);
/* Adds a letter, and returns the place of its offer. */
struct offer *ncoll__relay_add(struct relay *r, unsigned to);

/* Returns the room that the next pass should have. */
unsigned ncoll__relay_next_room(const struct relay *r);
/* Makes the call of the next passes, with so much room or as much as fits the window. Returns
 * NCOLL_OK, or an error, which is recorded. */
int ncoll__relay_call(struct relay *r, unsigned room, struct signature purpose,
                      struct call_args *args);
/* Begins a pass: makes its first message. The call must not have started. */
void ncoll__relay_begin(struct relay *r);
/* True if the pass that has ended was the last one, which all ranks know. */
bool ncoll__relay_is_over(const struct relay *r);
/* Returns the offer that a rank has sent to this one; NULL: none. */
const struct offer *ncoll__relay_find(struct relay *r, unsigned from);

#endif
