/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mixed calls: random sequences of different collectives on one group, under random interleavings,
 * with the credits of lib/base/credit.h.
 *
 * The model looks at one schedule at a time. Here it is asked what lies between calls: several run
 * at once on a rank, messages and credits take as long as they like and overtake each other, and
 * some ranks are slow. Slots and scratch are only looked at as sets, one for each of CREDIT_SETS
 * successive calls; what is in them is the model's business. Wrong is
 *
 *   - a message that comes to a set in which an earlier call of the receiver has not finished;
 *   - the same where a neighbour of the receiver may still look at what came in that call;
 *   - a call that starts with a set from which something of an earlier call is still being sent;
 *   - a message that is placed in the OUT of a call that it is not for, or that is not under way at
 *     the receiver, whose memory is the user's then; or, in place, where IN may still be read;
 *   - scratch that is written while a rank may read there, which it was put to as a peer read
 *     CREDIT_SETS calls ago;
 *   - a part that follows another one, and starts before that has ended on its rank;
 *   - that nothing can go on.
 *
 * Any message may be a peer read (lib/deliver/peer_read.c): ranks of half the runs choose that for
 * each message at random. Then its receiver may read in the sender's scratch until its call has
 * finished.
 *
 * Messages are placed in OUT by the rules of lib/deliver/advertise.c: some ranks, at random,
 * advertise their OUT when a call begins to the ranks that put to them, as far as lib/plan/placed.h
 * allows. An advertisement comes at any time, in any order, into a box that calls share, and a rank
 * that puts follows the one that it finds there then. A call may be long: several runs in a row,
 * each with an epoch, one OUT. To be short, e is called a call below where it is a run.
 *
 * A run of this program follows from its seed alone.
 */
#ifndef NCOLL_TEST_VERIFY_MIXED_H
#define NCOLL_TEST_VERIFY_MIXED_H

#include "lib/base/credit.h"
#include "lib/plan/placed.h"
#include "test/verify/schedules.h"
#include "test/verify/splits.h"
#include "transport/transport.h"

#define MIXED_RANKS 12
#define MIXED_CALLS 48

/* Mistakes that can be planted: of an executor, or of a schedule that promises too much. */
#define MISCHIEFS(X)                                                                               \
    X(no_credit_is_sent)                                                                           \
    X(no_credit_at_the_start)                                                                      \
    X(credit_for_one_call_too_many)                                                                \
    X(credit_before_its_puts_are_read)                                                             \
    X(synchronising_call_leaves_puts_unread)                                                       \
    X(put_without_asking)                                                                          \
    X(start_without_asking)                                                                        \
    X(synchronises_promised_wrongly)                                                               \
    X(credit_taken_for_another_ranks)                                                              \
    X(scratch_written_without_asking)                                                              \
    X(no_credit_to_those_who_were_read)                                                            \
    X(advertisement_of_another_call_followed)                                                      \
    X(advertisement_for_too_many_epochs)                                                           \
    X(advertisement_before_its_call)                                                               \
    X(advertisement_in_place_to_where_in_is_read)                                                  \
    X(credit_without_asking_neighbours)                                                            \
    X(shared_call_not_noted)                                                                       \
    X(part_does_not_wait_for_the_one_before)                                                       \
    X(part_promised_to_synchronise)

enum mischief {
    NO_MISCHIEF,
#define NAME(name) MISCHIEF_##name,
    MISCHIEFS(NAME)
#undef NAME
};

/* A put, a credit or an advertisement under way. */
enum flight_kind { FLIGHT_PUT, FLIGHT_CREDIT, FLIGHT_ADVERTISEMENT };
struct flight {
    enum flight_kind kind;
    unsigned from;
    unsigned slot;   /* of a put */
    unsigned out_of; /* of a put: the call in whose OUT it is placed; 0: it goes to the window */
    bool peer_read;  /* of a put: it stays where it is */
    uint64_t number; /* the put's call, the credit, or the first run of the call advertised */
};

/* The places that a message to a slot may have. */
enum placeable { PLACEABLE_NOT, PLACEABLE_APART, PLACEABLE_IN_PLACE_TOO };

/* The call that a run belongs to. */
struct long_call {
    unsigned first, epochs; /* its runs */
    unsigned segments;      /* that it is cut into: in parts, each part has as many runs */
    unsigned number;
    uint16_t advertises, in_place; /* bits: ranks whose OUT is known to peers, and is IN as well */
    uint8_t *placeable;            /* P x slots: enum lands */
    size_t placeable_allocated;
};
_Static_assert(MIXED_RANKS <= 16, "ranks are bits");

struct inbox {
    struct flight *flights;
    unsigned count, capacity;
};

struct stamp {
    uint64_t number; /* of its call */
    bool peer_read;
};

struct member {
    struct credits credits;
    struct credit_of credit_of[MIXED_RANKS], *credit_page;
    uint64_t started;
    struct {
        unsigned next;    /* step */
        unsigned sending; /* puts that have been issued and not read yet */
        bool settled;     /* its scratch may be written */
        bool finished;
    } calls[MIXED_CALLS + 1];
    uint16_t peer_read_by[CREDIT_SETS];   /* bits: ranks that may read scratch of this set, */
    uint16_t peer_read_from[CREDIT_SETS]; /* and those whose scratch of it this one may read */
    struct stamp *stamps;                 /* [CREDIT_SETS x slots]: of the latest message */
    unsigned boxes[MIXED_RANKS]
                  [ADVERTISEMENTS]; /* the first run of the call that each advertises */
};

struct mixed {
    enum mischief mischief;
    uint64_t seed;
    unsigned P, n_calls, slots;
    struct placement placement;             /* of the ranks on nodes */
    struct schedule calls[MIXED_CALLS + 1]; /* of runs, from 1 */
    struct long_call of[MIXED_CALLS + 1];   /* whose runs they are */
    struct member members[MIXED_RANKS];
    struct inbox inboxes[MIXED_RANKS];
    bool peer_reads;                  /* messages may be peer reads */
    bool orderly;                     /* the first of the actors that can go on does; else any */
    unsigned actors[2 * MIXED_RANKS]; /* members, then inboxes */
    uint64_t runs, made, puts, credits, advertisements, placed, peer_read; /* counted over all */
    char fault[256];
};

/* A run on `only` (NULL: on any of the registry). False: m->fault says why. */
bool mixed_run(struct mixed *m, uint64_t seed, const struct algorithm *only,
               enum mischief mischief);
void mixed_free(struct mixed *m);

/* Runs seed, seed + 1, ..; false if one went wrong. Prints what was done. */
bool mixed_runs(unsigned runs, uint64_t seed, const struct algorithm *only);

#endif
