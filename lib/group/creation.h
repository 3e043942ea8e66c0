/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and freeing groups: the layer between the public calls and the parent's runs. */
#ifndef NCOLL_LIB_CREATION_H
#define NCOLL_LIB_CREATION_H

#include "lib/base/signature.h"
#include "lib/base/group.h"
#include "lib/group/wiring.h"

struct creation_args {
    enum group_call kind;
    int color, key;   /* color of this rank's group and its key there; color -1: in no group */
    const int *ranks; /* the user's array */
    int n_ranks;
    uint64_t hash; /* hash of the arguments that must be the same on all ranks */
    /* The second window of a copy, for mailboxes (lib/stale); n_slots 0: it gets none. Then its first
     * window is like that of the parent, so that its calls are those of the parent. */
    struct window_shape mail;
    const struct ncoll_stale *wanted; /* the object with mailboxes; NULL: none */
};

/* A rank's contribution to the allgather of color and key that splits a group. */
struct record {
    int32_t color, key;
    uint32_t created; /* number of groups that it has helped to make, for the name */
};
#define RECORD_NUMBERS (sizeof(struct record) / sizeof(int32_t))

/* The state of making or freeing a group. */
struct creation {
    struct creation_args args;
    struct ncoll_group *group; /* the group that is made; NULL: this rank is in none */
    struct record own;
    /* [size of the parent] what all ranks bring to a split; NULL: the members are known */
    struct record *all;
    int *ranks;                          /* copy of the list of ranks; NULL: there is none */
    struct ncoll_stale *wanted;          /* copy of args.wanted; NULL: there is none */
    struct relay *relay;                 /* takes the offers to the base peers */
    unsigned peers[BASE_PEERS], n_peers; /* base peers: their ranks in the parent */
    int world_peers[BASE_PEERS];         /* base peers: their ranks in the world */
    bool no_room;                        /* this rank's device has none for the connections */
    ncoll_error error;                   /* the reason why this rank cannot make its part */
    struct vote {
        /* 0, or a status together with NO_ROOM and the rank that has it; the lowest value wins */
        int64_t verdict;
        /* the field of struct record, on the first rank of a group that all know without a gather;
         * larger on all other ranks, so that the minimum is that of the first rank */
        int64_t created;
    } own_vote, agreed;
    /* since when there is no window for the group; 0: there was one at once */
    uint64_t short_since_ns;
    struct call calls[4], pass; /* pass: one more pass of the relay */
    struct call *wire, *last;   /* among these: the first pass of the relay, and the last call */
    struct hooked *hooked;      /* see struct call */
};

/* Makes a group, or goes on with making one after a time-out. Sets *out on NCOLL_OK. */
int ncoll__group_create(struct ncoll_group *parent, const struct creation_args *args,
                        ncoll_group **out, int64_t timeout_ns);
/* Plans the calls, then queues them. Nothing is queued if one of them cannot be planned. */
int ncoll__creation_queue(struct ncoll_group *g, struct creation *c, unsigned n);
/* Returns NCOLL_OK if no other blocking call is unfinished on the group. */
int ncoll__creation_check(struct ncoll_group *g, const struct creation_args *args);
/* Records that an object of lib/stale is being made from the group. Returns NCOLL_ERR_BUSY. */
int ncoll__making_busy(struct ncoll_group *g);

/* freeing.c */
/* Frees a group together with its other members. The group is gone unless the call returns
 * NCOLL_TIMEOUT, or an error that does not break the job. */
int ncoll__group_end(struct ncoll_group *g, int64_t timeout_ns);

/* group.c: frees the group's window. quiet: no rank writes to it any more. */
void ncoll__group_give_window(struct ncoll_group *g, bool quiet);
/* Return true if there is a window for one more group, and if some groups are being freed. */
bool ncoll__group_has_window(const struct ncoll_context *ctx);
bool ncoll__groups_are_ending(const struct ncoll_context *ctx);
/* group.c: frees the state of making or freeing a group. */
void ncoll__creation_free(struct ncoll_context *ctx, struct creation *c);
/* Makes a group without connections or magic. It becomes the owner of `members`; NULL: the
 * world. */
int ncoll__group_make(struct ncoll_context *ctx, int rank, int size, int *members, size_t bytes,
                      unsigned least_slots, struct ncoll_group **out);
/* Makes the second window of a group, for mailboxes. */
int ncoll__group_add_mail(struct ncoll_group *g, const struct window_shape *shape);
/* Frees a group. quiet: no rank writes to its window any more. */
void ncoll__group_free(struct ncoll_group *g, bool quiet);

/* Makes the group of all ranks, without connections. Returns NCOLL_OK or an error. */
int ncoll__world_create(struct ncoll_context *ctx);
/* Frees all groups, also those with unfinished calls. */
void ncoll__groups_free(struct ncoll_context *ctx);

/* Notes what makes or frees a group now, or NULL when that has ended. */
static inline void ncoll__set_creating(struct ncoll_group *g, struct creation *c)
{
    g->ctx->pending += (unsigned)(c != NULL) - (unsigned)(g->creating != NULL);
    g->creating = c;
}

#endif
