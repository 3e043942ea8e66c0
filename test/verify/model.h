/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model: carries out a schedule on all ranks at once, symbolically, and says what is wrong.
 *
 * Why one order of execution is enough. A schedule has no choice in it: every step is carried out
 * in program order, a wait names one slot, and each slot has one put and one wait (which is
 * checked). A step that can go on stays so whatever the other ranks do, so steps of different ranks
 * commute: either every order ends, with the same values, or none does. What could make the values
 * depend on the order all the same is memory that is written while another rank may still read it;
 * so for each such pair the model asks that one happens before the other, by a chain of program
 * order and put-wait edges. That relation is a property of the schedule and not of the run in which
 * it is computed: it holds under any interleaving.
 *
 * Happens-before is kept as vector clocks. Only puts carry knowledge away from a rank, so a rank's
 * time is the number of puts that it has issued, in all calls; C_p[q] is how many of q's puts p
 * knows of. An event of q that followed t of its puts is known to p if C_p[q] > t.
 *
 * What lies between calls is checked here for schedules that promise to SYNCHRONISE only: one call
 * at a time, with two sets of slots and scratch in turn. The others are run once: it is credits
 * that keep their calls apart, which is the business of mixed.c.
 *
 * A message that neighbours of its receiver look at has one put and one wait as any other, and any
 * number of looks. Who looks learns what the sender knew, as who waits does; and a put to a window
 * asks that all ranks of that node are known to have consumed what they looked at.
 *
 * Groups of more than ORDER_P ranks are run once, too, and so are schedules that are not written
 * out: it is lanes.c that looks whether they synchronise, since clocks would fill the memory. Much
 * data, in groups of more than TRACE_P, is traced only if the caller asks for `all_data`. Else puts
 * and waits are matched all the same, deadlocks are seen, and slots and messages counted, but what
 * a step reads and writes is not looked at. For all that is left out the smaller sizes have to do.
 *
 * PORTIONS bound the memory for values of collectives that combine. A schedule is run once for each
 * portion of the elements of IN, and only what holds an element of the portion has an expression.
 * The rest is VALUE_OTHER. The operands of a right step have the same element. If they have not,
 * the step is wrong in the runs for the portions of both, since there an operand with an expression
 * meets another element. So if no run shows a mistake, each element has the expression that it
 * would have in a single run for all of them. Order between calls does not depend on values, and is
 * looked at with the first portion only.
 */
#ifndef NCOLL_TEST_VERIFY_MODEL_H
#define NCOLL_TEST_VERIFY_MODEL_H

#include "lib/plan/placed.h"
#include "test/verify/places.h"
#include "test/verify/schedules.h"
#include "test/verify/values.h"

#define CALLS         3 /* successive ones; the last uses what the first used, with two halves */
#define ORDER_P       1024
#define TRACE_P       512
#define CELLS_MAX     ((size_t)1 << 18)   /* traced in groups of more than TRACE_P ranks */
#define PORTION_BYTES ((size_t)384 << 20) /* the values of a portion, roughly */

#define NO_ROW UINT32_MAX

typedef uint16_t tick;

/* A message, known by its receiver and slot. */
struct message {
    bool put, waited;
    bool shared_wait, looked; /* the wait says that neighbours wait for it, too; one has looked */
    unsigned sender, count;
    size_t values;    /* index of its first value, in the first call */
    unsigned known;   /* row of what the sender knew */
    tick sent;        /* the sender's puts, with this one */
    tick waited_tick; /* the receiver's puts before its wait */
    /* For a message from IN in a schedule that acknowledges, see acknowledgements.c: */
    bool read_in_place;
    size_t cell; /* the first that it was put from */
    tick read;   /* the receiver's puts up to its last read of it */
    tick heard;  /* how many of these the sender knows of when it overwrites that, or ends */
};

/* A slot that a rank has looked at. */
struct looked {
    unsigned at, slot;
};

/* One rank. */
struct actor {
    unsigned part, next; /* of its program (schedule_part()), and step there */
    bool blocked;
    unsigned for_peer, in_rank, in_slot; /* blocked: for whose message, and where */
    unsigned looks, neighbours; /* slots that it has looked at in this call, of how many ranks */
    tick puts;
    unsigned snapshot;    /* row of what it knows; NO_ROW: knows more since the last put */
    bool scratch_written; /* in this call */
    tick consumed[CALLS]; /* its puts before it last waited or read a message */
    unsigned *vital;      /* steps that further calls are checked for, see model.c */
    unsigned n_vital, next_vital;
    unsigned window_free; /* rank + 1 of the peer last seen to be done with an earlier call */
    struct footprint used;
};

/* Puts from one buffer, of all ranks in an earlier call. */
struct sources {
    struct source {
        unsigned peer;
        tick waited_tick;
    } * all;
    unsigned *first; /* [P + 1]: of each rank's */
};

/* Marks of a cell: sent from there, as IN, OUT or scratch; written, as OUT or scratch; not read
 * since. */
enum mark {
    MARK_SENT_IN = 1,
    MARK_SENT_OUT = 2,
    MARK_SENT_SCRATCH = 4,
    MARK_WRITTEN = 8,
    MARK_UNREAD = 16,
    MARK_ADVERTISED = 32, /* a message may land there any time */
    MARK_PLACED = 64,     /* it has */
};

/*
 * Messages that land in OUT (lib/plan/placed.h). From the start of the call until the wait for
 * such a message nobody can tell what is in its place, so nothing may be read or written there;
 * after it nothing may be written. The step that would copy it is left out, and who reads the
 * message reads it in OUT.
 */
enum placed_as {
    PLACED_NONE,
    PLACED_IN_PLACE, /* IN and OUT in place where they can be; those that may land then */
    PLACED_APART,    /* IN and OUT apart; all that may land */
};

struct model {
    const struct schedule *schedule;
    unsigned P, call, calls;
    bool *has_place; /* [P]: the rank takes part */
    bool all_data;   /* of the caller: the data is traced, however much it is */
    bool traced;     /* the data is */
    struct portion {
        size_t first, end; /* elements of IN */
    } portion;
    size_t portion_most; /* of the caller: elements of a portion; 0: as the memory allows */
    enum placed_as placed_as;
    struct placed *placed;  /* P x slots: by receiver and slot; count 0: it does not land */
    struct placed mistaken; /* one more, of mistaken_rank, that should not; count 0: none */
    unsigned mistaken_rank;
    uint64_t n_placed;     /* counted over all runs */
    struct placed *listed; /* of one rank */
    size_t placed_allocated, listed_allocated;

    struct actor *actors;
    tick *clocks; /* P x P */
    tick *rows;   /* snapshots of a clock, P ticks each */
    unsigned n_rows;
    struct message *messages[CALLS]; /* P x slots */
    size_t n_messages;
    unsigned *ready, first_ready, n_ready;     /* a ring of P */
    const struct program *part;                /* the part that a rank executes */
    struct program room;                       /* that part, if it is not written */
    struct looked *looked;                     /* model_looks_most() of each rank, if ranks look */
    unsigned *vital;                           /* of all ranks */
    struct sources from_arrived, from_scratch; /* that have to be free now */

    struct values values;  /* of collectives that combine */
    struct places *places; /* of each rank */
    size_t *starts;        /* of their blocks, with counts */
    size_t in_longest;     /* elements of the longest IN */
    unsigned *cells;       /* a value each: P x footprint.scratch, then all IN and OUT */
    uint8_t *marks;        /* of the cells: enum mark */
    unsigned *carried;     /* values in messages */
    size_t n_carried, carried_allocated;
    size_t cells_allocated, messages_allocated[CALLS], vital_allocated, starts_allocated;
    size_t looked_allocated;
    size_t sources_allocated[2];
    size_t rows_bytes, clocks_allocated;
    unsigned P_allocated;

    uint64_t steps, edges; /* counted over all runs */
    char fault[256];       /* of the latest run */
};

/* False: m->fault says why. */
bool model_run(struct model *m, const struct schedule *schedule);
/* What the caller has set stays, and what was counted over all runs. */
void model_free(struct model *m);

/* In model_memory.c: everything as it is before the first call, with the portion that begins at
 * element `first`. */
void model_prepare(struct model *m, const struct schedule *schedule, size_t first);

/* In data.c: the symbolic effect of a local step, of what is put. In results.c: what came of it. */
bool model_fault(struct model *m, unsigned rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool model_local_step(struct model *m, unsigned rank, const struct step *s);
bool model_put_data(struct model *m, unsigned rank, const struct step *s, struct message *message);
bool model_check_results(struct model *m);
/* In footprint.c: a rank has used so many slots, and a message of so many elements; all that was
 * used is what is needed. */
void model_note_message(struct footprint *used, unsigned slots, size_t count);
bool model_check_footprint(struct model *m);
/* In acknowledgements.c: a step reads messages; a put leaves its data in IN; a step overwrites
 * cells; the call has ended. */
void model_note_reads(struct model *m, unsigned rank, const struct step *s);
void model_read_in_place(struct model *m, struct message *message, size_t cell);
void model_note_overwriting(struct model *m, unsigned rank, size_t cell, size_t count);
bool model_check_acknowledgements(struct model *m);
/* In placed.c: what may land on each rank; what has, with the wait for it. */
void model_prepare_placed(struct model *m);
bool model_place(struct model *m, unsigned rank, unsigned slot, const struct message *message);

/* True if order between calls is checked. */
static inline bool model_is_ordered(const struct model *m)
{
    return (m->schedule->properties & SYNCHRONISES) != 0 && m->P <= ORDER_P &&
           m->schedule->written && m->portion.first == 0;
}

/* The value of an element of a rank's IN. Collectives that only copy need nothing to be known of
 * their values: these are numbered by rank and element. */
static inline unsigned model_leaf_of_copy(const struct model *m, unsigned rank, size_t element)
{
    return (unsigned)(1 + rank * m->in_longest + element);
}

/* A rank may look at so many slots. */
static inline size_t model_looks_most(const struct model *m)
{
    return (size_t)NEIGHBOURS_MAX * m->schedule->footprint.slots;
}

static inline struct looked *model_looked(const struct model *m, unsigned rank)
{
    return &m->looked[rank * model_looks_most(m)];
}

/* True if the expressions of an element are looked at in this run. */
static inline bool model_in_portion(const struct model *m, size_t element)
{
    return element >= m->portion.first && element < m->portion.end;
}

static inline unsigned model_leaf(struct model *m, unsigned rank, size_t element)
{
    if (!reduces(m->schedule->shape.collective))
        return model_leaf_of_copy(m, rank, element);
    return model_in_portion(m, element) ? value_leaf(&m->values, rank, (unsigned)element)
                                        : VALUE_OTHER;
}

static inline struct message *model_message(const struct model *m, unsigned call, unsigned receiver,
                                            unsigned slot)
{
    return &m->messages[call][(size_t)receiver * m->schedule->footprint.slots + slot];
}

#endif
