/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board of a node: memory that the ranks of a node share while they join the job. Each rank
 * leaves its blob there, and the leader of the node packs all of them into one parcel for the other
 * nodes. Parcels from other nodes are unpacked on the board, too, so that each is fetched and
 * unpacked only once per node.
 *
 * The leader of a node is its first rank. It makes the board; the others, its mates, map it. A rank
 * that cannot map it has a board of its own, in private memory, and is *apart*: it publishes its
 * blob itself, and fetches itself what it needs.
 *
 * Lifetime of a blob, as on the board of forked ranks (fork_board.h): each rank has two places, for
 * even and odd exchanges. A rank that starts exchange k + 1 has seen the end of exchange k, so all
 * ranks have started k, and none reads blobs of k - 1 any more. A place keeps its room, and gets
 * another one only if a blob outgrows it. There is room for ROOM_PER_RANK bytes a rank, on average;
 * only what is used takes memory. A blob that finds no room is published by its rank, like that of
 * a rank apart.
 *
 * Memory order. A place has one writer: its rank, or the rank that has claimed the parcel of its
 * node. The writer sets `exchange` last, with release order, and readers acquire it.
 */
#ifndef NCOLL_BOOTSTRAP_NODE_BOARD_H
#define NCOLL_BOOTSTRAP_NODE_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/shm/segment.h"

#define ROOM_PER_RANK 4096u
#define BOARD_APART   UINT64_MAX /* value of `started`: the rank is apart */

/* The place of one rank's blob on the board: `room` bytes at offset `at`, of which `len` are
 * used. */
struct board_place {
    uint64_t at;
    uint32_t len, room;
    _Atomic uint64_t exchange; /* the number of the exchange that the blob is of */
};

struct board_memory {
    struct segment_header segment;
    int32_t ranks, nodes, members;
    _Atomic uint32_t news;    /* futex; the leader waits on it for the last mate */
    _Atomic uint64_t arrived; /* exchanges started, summed over the ranks of the node */
    _Atomic uint32_t mates;   /* ranks of the node that are not apart */
    _Atomic uint64_t heap;    /* offset at which free memory begins */
    /* followed by: started[members], parcel[nodes], place[2][ranks], leader[nodes],
     * node_of[ranks] */
};

/* The state of a parcel is 4 k + one of these values in exchange k. While it is below 4 k, no rank
 * of this node has claimed the parcel in exchange k. */
enum parcel_state {
    PARCEL_CLAIMED = 1, /* a rank of this node fetches it */
    PARCEL_HERE,        /* it has been unpacked to the board */
    PARCEL_REFUSED,     /* it could not be got, or has no room: each rank gets it for itself */
};

/* A rank's view of a board. */
struct node_board {
    struct segment segment;
    struct board_memory *memory;
    _Atomic uint64_t *started;     /* [members] exchanges that each member has started */
    _Atomic uint64_t *parcel;      /* [nodes] states: see enum parcel_state */
    struct board_place *places[2]; /* [ranks] for even and for odd exchanges */
    int32_t *leader;               /* [nodes] the first rank of each node */
    int32_t *node_of;              /* [ranks] the node of each rank */
};

/* Makes a board, and zeroes its tables. shared: other processes can map it. members: the number of
 * ranks that use it. Returns 0 or -errno. */
int ncoll__node_board_create(struct node_board *board, int ranks, int nodes, int members,
                             uint64_t nonce, bool shared);
/* Maps the board of another rank. Returns 0 or -errno. */
int ncoll__node_board_attach(struct node_board *board, const struct segment_name *name);
void ncoll__node_board_release(struct node_board *board);

/* Copies a blob of exchange k to the place of its rank. Returns false if there is no room. */
bool ncoll__node_board_put(struct node_board *board, uint64_t k, int rank, const void *bytes,
                           size_t len);
/* Returns the blob of a rank in exchange k; NULL: it is not on the board, or not yet. */
const void *ncoll__node_board_get(const struct node_board *board, uint64_t k, int rank,
                                  size_t *len);

/* Notes that a member has started exchange k, and wakes the leader if it is the last one. */
void ncoll__node_board_arrive(struct node_board *board, int member, uint64_t k);
/* Returns the first member that has not started exchange k; -1: none. *count becomes the number of
 * such members. */
int ncoll__node_board_absent(const struct node_board *board, uint64_t k, int *count);
/* Notes that a member is apart. Called by the leader. */
void ncoll__node_board_set_apart(struct node_board *board, int member);

/* Claims the parcel of a node in exchange k for this rank. Returns 0 if this rank has it now;
 * otherwise the state of the parcel, an enum parcel_state. */
unsigned ncoll__node_board_claim(struct node_board *board, uint64_t k, int node);
/* Sets the final state of a parcel that this rank has claimed. */
void ncoll__node_board_settle(struct node_board *board, uint64_t k, int node,
                              enum parcel_state state);

#endif
