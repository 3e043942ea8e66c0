/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contributions of earlier calls: the stale-synchronous and the partial allreduce
 * (include/ncoll_eventual.h). docs/ARCHITECTURE.md has the design.
 *
 * An object belongs to a group of its own. Each of its calls is a run of that group, which takes
 * an epoch, so that order, requests, time-outs, positions, stalls, mismatches and failures are those
 * of all calls. A call with slack 0 is an ordinary allreduce of the group. All others exchange no
 * messages in the group's window, but in *mailboxes*, in a second window of the group.
 *
 *   object.c    makes, connects and frees an object
 *   mailbox.c   mailboxes: what may be sent when, and what is read
 *   stamp.c     what a message says of its contribution, compared with what this rank has called
 *   content.c   which contributions the messages of a schedule contain
 *   ssp.c       runs a schedule on mailboxes: the stale-synchronous allreduce
 *   partial.c   the partial allreduce
 *   calls.c     clocks, runs and results of calls
 */
#ifndef NCOLL_LIB_STALE_STALE_H
#define NCOLL_LIB_STALE_STALE_H

#include "algos/schedule.h"
#include "lib/base/group.h"
#include "lib/compute/op.h"
#include "lib/plan/plan.h"
#include "lib/stale/stamp.h"
#include "ncoll_eventual.h"

/* A rank that this one exchanges messages with. Its messages to this rank are numbered from 1, in
 * the order in which it sends them, whatever their mailboxes are. */
struct correspondent {
    unsigned rank; /* in the group */
    struct endpoint *to;
    bool sends_any;       /* long puts to it may come from any memory */
    uint64_t sent, heard; /* number of the last message to it, and its latest credit */
    uint64_t seen, told;  /* largest number that has come from it, and the latest credit to it */
    bool moved;           /* a message of it has been dropped since the last credit */
    bool due;             /* the next credit found no room */
    unsigned *ins, n_ins; /* its mailboxes here */
};

/* A message that has been taken. */
struct mail {
    struct stamp stamp;
    const unsigned char *data;
    /* 2 bytes for each rank: its clock - stamp.min + 1; 0: no contribution. NULL: the sender's alone */
    const unsigned char *ages;
};

/* A mailbox of this rank. */
struct inbox {
    unsigned from; /* index of the correspondent */
    unsigned slot;
    size_t len_bytes;
    unsigned place, next; /* of the last message that has been taken; of the one after it */
    bool taken, holds;    /* some message has been; it is held: its place must not be written */
    struct mail last;     /* the one that was taken last */
    struct mail in_use;   /* stale-synchronous: the one that the run of `use_epoch` uses, */
    uint64_t use_epoch;
    unsigned char *copy; /* or its copy, if a later one has been taken meanwhile */
    uint64_t clock;      /* partial: that of the latest message */
    uint64_t used;       /* partial: that of the latest message that this call has used */
};

/* A mailbox of another rank, seen from its sender. */
struct outbox {
    unsigned to; /* index of the correspondent */
    unsigned slot;
    size_t len_bytes;
    unsigned place;    /* of the next message */
    uint64_t *numbers; /* [D] the number of the message that was put last into each place, or 0 */
    unsigned char *buffer;  /* the message that is withheld, or is being put together */
    bool withheld, refused; /* refused: for lack of room, not of a credit */
    size_t withheld_bytes;
    struct stamp stamp; /* of the latest message, sent or not */
};

/* The contributions that a message, or the result, is made of. */
struct content {
    unsigned *slots, n_slots; /* all that has come in these slots */
    bool own;                 /* and the own one */
    /* in the run of `epoch`: the oldest and, with clocks, that of each rank */
    uint64_t epoch, min;
};

/* A call that has been made, by its clock. */
struct past_call {
    uint64_t clock;
    uint32_t slack;
    uint16_t hash;
    bool checked; /* hash and epoch are known: its run has started */
    uint64_t epoch;
    int rank; /* a claim: the rank that has told it */
};

struct ncoll_stale {
    uint64_t magic;
    struct ncoll_group *group;
    struct ncoll_stale *next; /* of the context */
    ncoll_stale_params params;
    size_t count, element;
    ncoll_type type;
    ncoll_op op_name;
    struct op op;
    const struct algorithm *algorithm; /* NULL: partial */
    unsigned plan_slack;               /* the slack in its signature */
    struct plan plan;                  /* of its calls on mailboxes; it has no instructions */
    struct program program;
    const void *checked_in, *checked_out; /* buffers that have been checked */
    struct known_call known;              /* the blocking call */

    /* clocks */
    uint64_t blocking_clock; /* of the blocking call with slack 0 */
    uint64_t clock, restart; /* of the last call begun; of the last one with slack 0 */
    struct past_call *own,
        *claims;              /* by clock mod n_own: own calls; mod n_claims: what others tell */
    uint64_t claimed;         /* the largest clock that others have told */
    unsigned n_own, n_claims; /* powers of two */

    /* the schedule */
    struct step *steps;
    unsigned n_steps;
    struct content *contents; /* the last one is that of the result */
    unsigned n_contents;
    unsigned *content_of; /* [n_steps], for puts */
    unsigned char *scratch;

    /* mailboxes */
    struct window_shape shape;
    /* places of a mailbox, a power of two; those in use if none waits; messages for each credit */
    unsigned D, cached, lag;
    bool withholds; /* there are so few places that a message may have to be withheld: mailbox.c */
    unsigned slots; /* mailboxes of a rank */
    size_t stride, ages_bytes;
    unsigned depth; /* most messages in flight from one rank */
    struct correspondent *peers;
    unsigned n_peers;
    struct inbox *ins; /* [slots] */
    struct outbox *outs;
    unsigned n_ins, n_outs;
    unsigned *out_of;  /* [n_steps], for puts */
    unsigned *ins_by;  /* the memory of all correspondents' lists */
    uint64_t *numbers; /* that of all outboxes */
    unsigned n_withheld, n_refused, n_due;
    bool ends, stopped; /* nothing is read any more; nothing is sent any more */

    /* the call that runs */
    uint64_t epoch, at, floor; /* its epoch; its clock; the oldest clock that may be used */
    uint64_t first;            /* the oldest one since the last call with slack 0 */
    uint32_t slack;            /* or the quorum */
    uint16_t hash;             /* history hash */
    unsigned tries, waits_in;  /* waits_in: index of an inbox; NO_SLOT: none */
    uint64_t wait_ns, waited_ns;
    unsigned fresh;
    uint64_t min;
    uint64_t *clocks;             /* [2 size] of results: see ncoll__stale_clocks() */
    uint64_t *told;               /* those of the present call */
    uint64_t latest;              /* largest clock of a call whose result has been told */
    uint64_t *sum;                /* [size] clocks of a message that is put together */
    const struct content *sum_of; /* the contributions in `sum` */
};

/* Returns where the clocks of a call's result belong. Calls with slack 0 run beside the others, and a
 * call may end before earlier ones. Only the result of the latest call is valid then. */
static inline uint64_t *ncoll__stale_clocks(struct ncoll_stale *s, uint64_t clock)
{
    if (clock < s->latest)
        return s->clocks + s->group->size;
    s->latest = clock;
    return s->clocks;
}

#define STALE_MAGIC UINT64_C(0x6e636f6c6c73746c)

/* ------------------------------------------------------------------ object.c ----------------- */

/* Finds out what an object takes: algorithm, mailboxes, the shape of their window. Needs no
 * memory. Returns NCOLL_OK or an error, which is recorded. */
int ncoll__stale_measure(struct ncoll_group *parent, struct ncoll_stale *s);
/* Makes the object for a group, whose second window has been made: g->stale. Returns NCOLL_OK or an
 * error, which is recorded. */
int ncoll__stale_make(struct ncoll_group *g, const struct ncoll_stale *measured);
/* Lists the ranks of the group to connect. NULL: no memory. The caller releases the list. */
unsigned *ncoll__stale_list_peers(const struct ncoll_stale *s);
/* Looks up the connections, once they have been made, and admits the senders. */
int ncoll__stale_wire(struct ncoll_stale *s);
/* The group is being freed: this rank reads no mailbox any more, so all may be overwritten. Returns
 * NCOLL_OK when all that this rank has withheld is sent, so that nothing is sent any more;
 * NCOLL_TIMEOUT: call again; or an error. */
int ncoll__stale_end(struct ncoll_group *g);
/* Nothing is sent any more. */
void ncoll__stale_stop(struct ncoll_group *g);
/* Frees the object of a group, if it has one. */
void ncoll__stale_release(struct ncoll_group *g);

/* ------------------------------------------------------------------ stamp.c ------------------ */

/* Notes the start of the run, that of the present call. Returns NCOLL_OK or NCOLL_ERR_MISMATCH. */
int ncoll__past_start(struct ncoll_stale *s, const struct run *run);
/* Finds the signature, without history hash, of a call on mailboxes that this rank has started in that
 * epoch, however long ago it was. Returns false if there was none, or if no rank can be so far behind. */
bool ncoll__past_signature(const struct ncoll_stale *s, uint64_t epoch, struct signature *out);
/* Compares a call that begins with what others have told of theirs. */
void ncoll__past_begin(struct ncoll_stale *s, const struct past_call *own);
/* Compares a message with the calls of this rank. Returns NCOLL_OK or NCOLL_ERR_MISMATCH. */
int ncoll__past_check(struct ncoll_stale *s, const struct inbox *in, const struct stamp *stamp);

/* ------------------------------------------------------------------ calls.c ------------------ */

/* Counts a call that begins. Returns its clock; *floor: the oldest clock that it may use. */
static inline uint64_t ncoll__stale_count(struct ncoll_stale *s, unsigned slack, uint64_t *floor)
{
    uint64_t clock = ++s->clock;
    struct past_call *own = &s->own[clock & (s->n_own - 1)];

    *floor = s->restart + 1;
    if (slack == 0 && !s->params.partial)
        s->restart = clock;
    own->clock = clock;
    own->slack = slack;
    own->checked = false;
    if (__builtin_expect(s->claimed >= clock, 0))
        ncoll__past_begin(s, own);
    return clock;
}
/* Prepares the plan for a call that is about to start its run. */
void ncoll__stale_prepare(struct ncoll_group *g, struct call *c);
/* Advances a run: as ncoll__run_advance() in lib/run/call.h. */
int ncoll__stale_advance(struct ncoll_group *g, struct run *run, unsigned looks);
/* Fills in the result of a call that has ended with NCOLL_OK, if the user wants it. */
void ncoll__stale_result(struct ncoll_stale *s, const struct call *c);

/* Sends what was withheld and can be sent now, of all objects of the context. */
void ncoll__stale_progress(struct ncoll_context *ctx);

/* True for the runs of calls on mailboxes. */
static inline bool ncoll__is_stale(const struct call *c)
{
    return (c->args.sync & SYNC_STALE) != 0;
}

/* Questions of lib/watch: the rank and the mailbox that a run waits for; false: none. */
bool ncoll__stale_waits_for(const struct ncoll_group *g, unsigned *peer, uint32_t *slot);
/* True if the run can go on. */
bool ncoll__stale_has_come(struct ncoll_group *g);
/* True if this rank has not made the contribution that a rank of the world waits for. */
bool ncoll__stale_owes(const struct ncoll_group *g, int teller, const struct position *p);
/* Compares all stamps that have come with the calls of this rank. */
void ncoll__stale_check(struct ncoll_group *g);

/* ------------------------------------------------------------------ mailbox.c ---------------- */

/* Return true if there is a newer message; then it is held, and those before it are dropped. */
bool ncoll__mail_newest(struct ncoll_stale *s, struct inbox *in);
bool ncoll__mail_next(struct ncoll_stale *s, struct inbox *in);
/* This rank waits for a message: takes the newest ones of all other mailboxes of its sender. Returns
 * NCOLL_OK or an error. */
int ncoll__mail_take_ahead(struct ncoll_stale *s, const struct inbox *awaited);
/* Drops the message that is held. */
void ncoll__mail_drop(struct ncoll_stale *s, struct inbox *in);
/* True if there is a message that has not been taken. */
bool ncoll__mail_has(const struct ncoll_stale *s, const struct inbox *in);
/* Reads the stamps of all of these, one with each call. *i: 0 before the first call; out: keeps the
 * stamp between calls. Returns false if there is no other one. */
bool ncoll__mail_peek(const struct ncoll_stale *s, const struct inbox *in, unsigned *i,
                      struct stamp *out);

/* Sends a message, or withholds it; with ages, these are s->sum. Returns NCOLL_OK or an error. */
int ncoll__mail_send(struct ncoll_stale *s, struct outbox *out, const void *data,
                     struct stamp stamp, bool ages);
/* Adds a contribution to what is withheld, or sends it. Returns NCOLL_OK or an error. */
int ncoll__mail_add(struct ncoll_stale *s, struct outbox *out, const void *data,
                    struct stamp stamp);
/* Send what was withheld and can be sent now. */
int ncoll__mail_flush(struct ncoll_stale *s);
/* Gives credits that are due; with `all`, whatever can be given. */
int ncoll__mail_credits(struct ncoll_stale *s, bool all);

/* ------------------------------------------------------------------ content.c ---------------- */

/* Finds the contents of all puts and of the result. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__contents(struct ncoll_stale *s);
void ncoll__contents_free(struct ncoll_stale *s);

/* ------------------------------------------------------------------ ssp.c, partial.c --------- */

int ncoll__ssp_advance(struct ncoll_stale *s, struct run *run, unsigned looks);
int ncoll__partial_advance(struct ncoll_stale *s, struct run *run, unsigned looks);

#endif
