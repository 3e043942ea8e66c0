/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contributions of earlier calls: the stale-synchronous and the partial allreduce
 * (include/ncoll_eventual.h). docs/ARCHITECTURE.md has the design.
 *
 * Each object has a group of its own. Calls on the object are runs of that group and take epochs.
 * So order, requests, time-outs, positions, stalls, mismatches and failures are handled as for all
 * other calls. A call with slack 0 is an ordinary allreduce of the group. All other calls exchange
 * no messages in the group's window. They use *mailboxes*, in a second window of the group.
 *
 *   object.c    makes, connects and frees an object
 *   mailbox.c   sends, withholds and reads messages in mailboxes
 *   stamp.c     compares the stamps of messages with the calls of this rank
 *   content.c   finds the contributions that each message of a schedule contains
 *   ssp.c       the stale-synchronous allreduce: runs a schedule on mailboxes
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

/* A rank that this rank exchanges messages with. The messages from one rank to another are numbered
 * from 1 in the order of sending, across all mailboxes. */
struct correspondent {
    unsigned rank; /* rank of the group */
    struct endpoint *to;
    bool sends_any; /* long puts to that rank may come from any memory */
    /* number of the last message to that rank, and the latest credit from it */
    uint64_t sent, heard;
    /* largest number of a message taken from that rank, and the latest credit to it */
    uint64_t seen, told;
    bool moved; /* a message from that rank has been dropped since the last credit to it */
    bool due;   /* the transport had no room for the credit, which has to be sent later */
    unsigned *ins, n_ins; /* [n_ins] indices in ncoll_stale.ins of the mailboxes that it sends to */
};

/* A message that has been taken from a mailbox. */
struct mail {
    struct stamp stamp;
    const unsigned char *data;
    /* 2 bytes for each rank of the group: clock of its contribution - stamp.min + 1; 0: there is no
     * contribution of that rank. NULL: the message has no ages (see stamp.sole) */
    const unsigned char *ages;
};

/* A mailbox that this rank reads. */
struct inbox {
    unsigned from; /* index in ncoll_stale.peers of the sender */
    unsigned slot;
    size_t len_bytes;
    unsigned place, next; /* places of the last message taken, and of the message after it */
    /* taken: some message has been taken. holds: the last one is held, so that the sender must not
     * write to its place */
    bool taken, holds;
    struct mail last; /* the last message taken */
    /* stale-synchronous: the message that the run of epoch `use_epoch` uses; it lies in `copy` if a
     * later message has been taken during that run */
    struct mail in_use;
    uint64_t use_epoch;
    unsigned char *copy; /* NULL: no copy has been needed yet */
    uint64_t clock;      /* partial: clock of the latest message taken */
    uint64_t used; /* partial: clock of the latest message used by the present call; 0: none */
};

/* A mailbox of another rank that this rank fills. */
struct outbox {
    unsigned to; /* index in ncoll_stale.peers of the reader */
    unsigned slot;
    size_t len_bytes;
    unsigned place;    /* place of the next message */
    uint64_t *numbers; /* [D] for each place the number of the last message put there; 0: none */
    unsigned char *buffer; /* a message that is withheld or being assembled; NULL: not needed yet */
    /* refused: withheld because the transport had no room, not because there was no credit */
    bool withheld, refused;
    size_t withheld_bytes;
    struct stamp stamp; /* stamp of the latest message, sent or withheld */
};

/* The contributions that a message, or the result, is made of. */
struct content {
    unsigned *slots, n_slots; /* the messages of these slots are included */
    bool own;                 /* this rank's own contribution is included */
    /* min: clock of the oldest contribution, as computed in the run of epoch `epoch` */
    uint64_t epoch, min;
};

/* A call that this rank has made; or a claim: a call that another rank has made, and this rank has
 * not made yet. */
struct past_call {
    uint64_t clock;
    uint32_t slack;
    uint16_t hash;
    bool checked; /* its run has started, so that hash and epoch are known */
    uint64_t epoch;
    int rank; /* of a claim: the rank of the group that has made the call */
};

struct ncoll_stale {
    uint64_t magic;
    struct ncoll_group *group;
    struct ncoll_stale *next; /* next object of the context */
    ncoll_stale_params params;
    size_t count, element;
    ncoll_type type;
    ncoll_op op_name;
    struct op op;
    const struct algorithm *algorithm; /* NULL: the object is for partial allreduces */
    unsigned plan_slack;               /* slack in the signature of `plan` */
    struct plan plan;                  /* plan of the calls on mailboxes; has no instructions */
    struct program program;
    const void *checked_in, *checked_out; /* buffers of the last call that has passed the checks */
    struct known_call known;              /* the blocking call on mailboxes */

    /* clocks: the clock of a call is the number of its iteration */
    uint64_t blocking_clock; /* clock of the blocking call with slack 0 */
    uint64_t clock, restart; /* clocks of the last call begun, and of the last one with slack 0 */
    /* own: calls of this rank, by clock mod n_own; claims: by clock mod n_claims */
    struct past_call *own, *claims;
    uint64_t claimed;         /* largest clock of a claim */
    unsigned n_own, n_claims; /* powers of two */

    /* the schedule */
    struct step *steps;
    unsigned n_steps;
    struct content *contents; /* contents of the puts; the last one is that of the result */
    unsigned n_contents;
    unsigned *content_of; /* [n_steps] for each put the index of its content in `contents` */
    unsigned char *scratch;

    /* mailboxes */
    struct window_shape shape;
    /* D: places of a mailbox, a power of two. cached: places that ranks in lockstep use. lag:
     * messages of a mailbox for which one credit is given */
    unsigned D, cached, lag;
    bool withholds; /* D is so small that messages may have to be withheld: see mailbox.c */
    unsigned slots; /* mailboxes of a rank: one for each slot of the schedule */
    size_t stride, ages_bytes;
    unsigned depth; /* most messages in flight from one rank to another */
    struct correspondent *peers;
    unsigned n_peers;
    struct inbox *ins; /* [slots] */
    struct outbox *outs;
    unsigned n_ins, n_outs;
    unsigned *out_of;  /* [n_steps] for each put the index of its mailbox in `outs` */
    unsigned *ins_by;  /* memory of `ins` of all correspondents */
    uint64_t *numbers; /* memory of `numbers` of all outboxes */
    unsigned n_withheld, n_refused, n_due;
    /* ends: this rank reads no more messages. stopped: this rank sends no more messages */
    bool ends, stopped;

    /* the call that runs */
    uint64_t epoch, at, floor; /* its epoch, its clock, and the oldest clock that it may use */
    uint64_t first;            /* clock of the first call after the last one with slack 0 */
    uint32_t slack;            /* slack of the call; of a partial allreduce the quorum */
    uint16_t hash;             /* history hash */
    /* tries: attempts to send refused messages. waits_in: index in `ins` of the mailbox that the
     * call waits for; NO_SLOT: none */
    unsigned tries, waits_in;
    uint64_t wait_ns, waited_ns;
    unsigned fresh;
    uint64_t min;
    uint64_t *clocks; /* [2 size] clocks in results: see ncoll__stale_clocks(); NULL: not wanted */
    uint64_t *told;   /* the clocks in the result of the present call */
    uint64_t latest;  /* largest clock of a call whose result has been filled in */
    uint64_t *sum;    /* [size] clocks of the contributions in a message that is being assembled */
    const struct content *sum_of; /* the content that `sum` was computed for */
};

/* Returns the memory for the clocks in the result of a call. A call may end before earlier ones,
 * since calls with slack 0 run beside the others. Only the result of the latest call is valid then;
 * earlier calls write to the second half. */
static inline uint64_t *ncoll__stale_clocks(struct ncoll_stale *s, uint64_t clock)
{
    if (clock < s->latest)
        return s->clocks + s->group->size;
    s->latest = clock;
    return s->clocks;
}

#define STALE_MAGIC UINT64_C(0x6e636f6c6c73746c)

/* ------------------------------------------------------------------ object.c ----------------- */

/* Chooses the algorithm of an object, and computes number and length of its mailboxes and the shape
 * of their window. Allocates nothing. Returns NCOLL_OK or an error, which is recorded. */
int ncoll__stale_measure(struct ncoll_group *parent, struct ncoll_stale *s);
/* Makes the object of a group (g->stale), whose second window must exist. Returns NCOLL_OK or an
 * error, which is recorded. */
int ncoll__stale_make(struct ncoll_group *g, const struct ncoll_stale *measured);
/* Returns a list of the n_peers ranks of the group that this rank has to be connected to; NULL: no
 * memory. The caller releases the list. */
unsigned *ncoll__stale_list_peers(const struct ncoll_stale *s);
/* Looks up the endpoints of the peers, which must be connected, and lets the senders put into the
 * mailboxes of this rank. Returns NCOLL_OK or an error. */
int ncoll__stale_wire(struct ncoll_stale *s);
/* Called while the group is being freed: this rank reads its mailboxes no more, and gives credits
 * for all messages. Returns NCOLL_OK when this rank has sent all that it had withheld, and will
 * send no more; NCOLL_TIMEOUT: call again; or an error. */
int ncoll__stale_end(struct ncoll_group *g);
/* Ends the sending: messages and credits that are still withheld are not sent. */
void ncoll__stale_stop(struct ncoll_group *g);
/* Frees the object of a group, if it has one. */
void ncoll__stale_release(struct ncoll_group *g);

/* ------------------------------------------------------------------ stamp.c ------------------ */

/* Notes that the run of the present call starts, and compares the call with a claim for its clock,
 * if there is one. Returns NCOLL_OK or NCOLL_ERR_MISMATCH. */
int ncoll__past_start(struct ncoll_stale *s, const struct run *run);
/* Sets *out to the signature, without history hash, of the call on mailboxes that this rank started
 * in the given epoch. Returns false if there was none, or if it is so old that no rank can still be
 * in that call. */
bool ncoll__past_signature(const struct ncoll_stale *s, uint64_t epoch, struct signature *out);
/* Compares a call that begins with a claim for its clock, if there is one. */
void ncoll__past_begin(struct ncoll_stale *s, const struct past_call *own);
/* Compares the stamp of a message with the call of this rank that has the same clock. If this rank
 * has not made that call yet, keeps the stamp as a claim. Returns NCOLL_OK or
 * NCOLL_ERR_MISMATCH. */
int ncoll__past_check(struct ncoll_stale *s, const struct inbox *in, const struct stamp *stamp);

/* ------------------------------------------------------------------ calls.c ------------------ */

/* Returns the clock of a call that begins. Sets *floor to the oldest clock that a call may use,
 * whatever its slack: the first one after the last call with slack 0. */
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
/* Advances a run on mailboxes, as ncoll__run_advance() in lib/run/call.h advances other runs. */
int ncoll__stale_advance(struct ncoll_group *g, struct run *run, unsigned looks);
/* Fills in the result of a call that has ended with NCOLL_OK, if the user wants it. */
void ncoll__stale_result(struct ncoll_stale *s, const struct call *c);

/* Sends withheld messages and due credits of all objects of the context, as far as possible now. */
void ncoll__stale_progress(struct ncoll_context *ctx);

/* True if the call is one on mailboxes. */
static inline bool ncoll__is_stale(const struct call *c)
{
    return (c->args.sync & SYNC_STALE) != 0;
}

/* For lib/watch: sets the rank of the group and the slot of the mailbox that the present run waits
 * for. Returns false if it waits for none. */
bool ncoll__stale_waits_for(const struct ncoll_group *g, unsigned *peer, uint32_t *slot);
/* For lib/watch and lib/run: true if the message that the present run waits for has come, or if it
 * waits for none. */
bool ncoll__stale_has_come(struct ncoll_group *g);
/* True if world rank `teller`, which waits in position *p, waits for a contribution that this rank
 * has not made yet. */
bool ncoll__stale_owes(const struct ncoll_group *g, int teller, const struct position *p);
/* Compares the stamps of all messages that have come, and were not taken, with the calls of this
 * rank. */
void ncoll__stale_check(struct ncoll_group *g);

/* ------------------------------------------------------------------ mailbox.c ---------------- */

/* Take the newest message of a mailbox, or the next one. It is held from then on, and the messages
 * before it are dropped. Return false if no message has come. */
bool ncoll__mail_newest(struct ncoll_stale *s, struct inbox *in);
bool ncoll__mail_next(struct ncoll_stale *s, struct inbox *in);
/* Called when this rank waits for a message: takes the newest message of each other mailbox that
 * the same sender fills, so that the sender can be given a credit. Returns NCOLL_OK or an error. */
int ncoll__mail_take_ahead(struct ncoll_stale *s, const struct inbox *awaited);
/* Drops the message that a mailbox holds. */
void ncoll__mail_drop(struct ncoll_stale *s, struct inbox *in);
/* True if a message has come that has not been taken. */
bool ncoll__mail_has(const struct ncoll_stale *s, const struct inbox *in);
/* Reads the stamps of all messages that have come and were not taken, one with each call. *i: 0
 * before the first call; counts them. *out: gets the stamp, and must be kept until the next call.
 * Returns false if there are no more. */
bool ncoll__mail_peek(const struct ncoll_stale *s, const struct inbox *in, unsigned *i,
                      struct stamp *out);

/* Sends a message, or withholds it. ages: the clocks of all ranks' contributions, in s->sum, are
 * sent with it. Returns NCOLL_OK or an error. */
int ncoll__mail_send(struct ncoll_stale *s, struct outbox *out, const void *data,
                     struct stamp stamp, bool ages);
/* Sends a contribution to a partial allreduce. If an earlier message is withheld, adds the
 * contribution to it first. Withholds the result if it cannot be sent. Returns NCOLL_OK or an
 * error. */
int ncoll__mail_add(struct ncoll_stale *s, struct outbox *out, const void *data,
                    struct stamp stamp);
/* Sends withheld messages and due credits, as far as possible now. Returns NCOLL_OK or an error. */
int ncoll__mail_flush(struct ncoll_stale *s);
/* Gives each sender a credit if `lag` messages of each of its mailboxes have come since the last
 * one; all: if any message has been dropped since. Returns NCOLL_OK or an error. */
int ncoll__mail_credits(struct ncoll_stale *s, bool all);

/* ------------------------------------------------------------------ content.c ---------------- */

/* Finds the contents of all puts and of the result. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__contents(struct ncoll_stale *s);
void ncoll__contents_free(struct ncoll_stale *s);

/* ------------------------------------------------------------------ ssp.c, partial.c --------- */

int ncoll__ssp_advance(struct ncoll_stale *s, struct run *run, unsigned looks);
int ncoll__partial_advance(struct ncoll_stale *s, struct run *run, unsigned looks);

#endif
