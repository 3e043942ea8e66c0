/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and freeing groups: the layer between the public calls and the parent's runs. */
#ifndef NCOLL_LIB_CREATION_H
#define NCOLL_LIB_CREATION_H

#include "lib/base/signature.h"
#include "lib/base/group.h"
#include "lib/group/wiring.h"

struct creation_args {
    enum group_call kind;
    int color, key;   /* this rank's color and key; color -1: this rank is in no new group */
    const int *ranks; /* the user's array */
    int n_ranks;
    uint64_t hash; /* hash of the arguments that must be the same on all ranks */
    /* Shape of the second window of a copied group, for mailboxes (lib/stale); n_slots 0: there is
     * none. The first window of a group with mailboxes is as large as that of the parent, so that
     * calls with slack 0 run as on the parent. */
    struct window_shape mail;
    const struct ncoll_stale *wanted; /* description of the object to make; NULL: none */
};

/* A rank's contribution to the allgather of color and key that splits a group. */
struct record {
    int32_t color, key;
    uint32_t created; /* groups that the rank has helped to make: see name_of() in creation.c */
};
#define RECORD_NUMBERS (sizeof(struct record) / sizeof(int32_t))

/* The state of making or freeing a group. */
struct creation {
    struct creation_args args;
    struct ncoll_group *group; /* the new group; NULL: this rank is in none */
    struct record own;
    /* [size of the parent] records of all ranks, for a split; NULL: another kind of call, or no
     * longer needed */
    struct record *all;
    int *ranks;                          /* copy of args.ranks; NULL: there is none */
    struct ncoll_stale *wanted;          /* copy of args.wanted; NULL: there is none */
    struct relay *relay;                 /* carries the offers of connections to the base peers */
    unsigned peers[BASE_PEERS], n_peers; /* base peers: their ranks in the parent */
    int world_peers[BASE_PEERS];         /* base peers: their ranks in the world */
    bool no_room;                        /* this rank's device has no room for the connections */
    ncoll_error error;                   /* the reason why this rank cannot make its part */
    struct vote {
        /* 0: this rank can make its part; else a status in the upper half, NO_ROOM and the rank
         * that failed in the lower half. The lowest verdict of all ranks counts */
        int64_t verdict;
        /* on the first rank of the group: record.created; on all others INT64_MAX, so that the
         * minimum is that of the first rank. For groups whose members are known without a gather */
        int64_t created;
    } own_vote, agreed;
    /* time since which this rank has waited for a free window; 0: it has not waited */
    uint64_t short_since_ns;
    struct call calls[4], pass; /* pass: a further pass of the relay */
    struct call *wire, *last;   /* in `calls`: the first pass of the relay, and the last call */
    struct hooked *hooked;      /* see struct call */
};

/* Makes a group, or goes on with making one after a time-out. Sets *out on NCOLL_OK. */
int ncoll__group_create(struct ncoll_group *parent, const struct creation_args *args,
                        ncoll_group **out, int64_t timeout_ns);
/* Plans the first n calls of c->calls, then queues them. Queues none if one of them cannot be
 * planned. Returns NCOLL_OK or an error. */
int ncoll__creation_queue(struct ncoll_group *g, struct creation *c, unsigned n);
/* Returns NCOLL_OK if no blocking call is unfinished on the group but one with these arguments;
 * else NCOLL_ERR_BUSY, which is recorded. */
int ncoll__creation_check(struct ncoll_group *g, const struct creation_args *args);
/* Records the error that an object of lib/stale is being made from the group. Returns
 * NCOLL_ERR_BUSY. */
int ncoll__making_busy(struct ncoll_group *g);

/* freeing.c */
/* Frees a group together with its other members. The group is gone unless the call returns
 * NCOLL_TIMEOUT, or an error that does not break the job. */
int ncoll__group_end(struct ncoll_group *g, int64_t timeout_ns);

/* group.c: frees the windows of a group. quiet: no rank writes to them any more. */
void ncoll__group_give_window(struct ncoll_group *g, bool quiet);
/* Return true if a window for one more group is free, and if a group that still has its window is
 * being freed. */
bool ncoll__group_has_window(const struct ncoll_context *ctx);
bool ncoll__groups_are_ending(const struct ncoll_context *ctx);
/* group.c: frees the state of making or freeing a group. */
void ncoll__creation_free(struct ncoll_context *ctx, struct creation *c);
/* Makes a group without connections and without `magic`, so that it is not a valid handle yet.
 * bytes: of its window. The group owns `members` from now on, also after an error; NULL: all ranks
 * of the job. Returns NCOLL_OK or an error. */
int ncoll__group_make(struct ncoll_context *ctx, int rank, int size, int *members, size_t bytes,
                      unsigned least_slots, struct ncoll_group **out);
/* Makes the second window of a group, for mailboxes. Returns NCOLL_OK or an error. */
int ncoll__group_add_mail(struct ncoll_group *g, const struct window_shape *shape);
/* Frees a group. quiet: no rank writes to its windows any more. */
void ncoll__group_free(struct ncoll_group *g, bool quiet);

/* Makes the group of all ranks, without connections. Returns NCOLL_OK or an error. */
int ncoll__world_create(struct ncoll_context *ctx);
/* Frees all groups, also those with unfinished calls. */
void ncoll__groups_free(struct ncoll_context *ctx);

/* Sets the unfinished call that makes a group from g, or frees g; NULL: it has ended. */
static inline void ncoll__set_creating(struct ncoll_group *g, struct creation *c)
{
    g->ctx->pending += (unsigned)(c != NULL) - (unsigned)(g->creating != NULL);
    g->creating = c;
}

#endif
