/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board: memory that a parent shares with the ranks it forks, where they leave blobs for each
 * other and where the parent notes which of them have ended. Ranks that are threads use it as well
 * (thread_board.h).
 *
 * A rank may open several contexts, one after another or side by side. The i-th context that a rank
 * opens on the board uses the board's channel i; so all ranks open their contexts in the same
 * order.
 *
 * There are three pieces of memory, all made before the first fork:
 *
 *     header    anonymous mapping; the state of the whole board, and the ranks that have ended
 *     channels  memfd of struct channel, [i] at i * channel bytes; grows as contexts are opened
 *     blobs     memfd where the blobs lie
 *
 * Blobs. The blobs of even exchanges of a channel lie in one row, those of odd exchanges in another
 * one: that of rank r at r * SHORT_BLOB. A rank reads the blobs of all ranks, and would have a page
 * fault for every few of them if each had pages of its own. A rank whose blob is longer takes pages
 * for it, which later blobs of the same row use, too; and new ones if a blob outgrows them.
 *
 * Lifetime of a blob. A rank that starts exchange k+1 has seen the end of exchange k. So all ranks
 * have started k, and none reads blobs of k-1 any more (they are valid until the next
 * exchange_start). So the places of k-1 are free for k+1, while those of k are still being read.
 *
 * Memory order. Each rank alone writes its `started` and its extents, before it adds itself to
 * `arrived` with release order. A rank that acquires `arrived` >= k * ranks therefore sees the k-th
 * extent of every rank. The count is exact, since no rank starts k+1 before all have started k.
 *
 * Waiting. A rank that waits for an exchange sleeps on `news`, a futex. It reads `news`, then tests
 * whether the exchange has ended, and sleeps only if `news` has not changed since. `news` is raised
 * after each change that such a rank waits for: by the last rank of an exchange, by a rank that
 * closes, and by the parent when a process has ended.
 */
#ifndef NCOLL_BOOTSTRAP_FORK_BOARD_H
#define NCOLL_BOOTSTRAP_FORK_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/shared_channels.h"
#include "ncoll.h"

/* The longest blob, in bytes, that lies in a row. */
#define SHORT_BLOB 512u

/* A blob in the blobs file. capacity: bytes of the pages that its rank has for it; 0: it lies in the
 * row. */
struct extent {
    uint64_t offset, len, capacity;
};

#define ROOT_CAUSE_UNKNOWN 0    /* no rank has been named yet */
#define ROOT_CAUSE_NO_RANK (-1) /* the failure is not that of one rank */

/* One rank's part of a channel, on its own cache lines. */
struct channel_rank {
    _Alignas(64) _Atomic uint64_t started; /* number of exchanges that this rank has started */
    _Atomic uint32_t closed;               /* this rank has closed its context */
    _Atomic int32_t root_cause;            /* announced root cause: a rank + 1, or ROOT_CAUSE_... */
    struct extent blob[2];                 /* blobs of the last even and the last odd exchange */
};
_Static_assert(sizeof(struct channel_rank) == 64, "a rank's part is one cache line");

struct channel {
    _Alignas(64) _Atomic uint64_t arrived; /* number of exchanges started, summed over all ranks */
    _Atomic int closed;                    /* number of ranks that have closed their context */
    _Atomic uint64_t rows[2];              /* where the rows begin; 0: not known yet */
    struct channel_rank ranks[];
};

/* How a rank ended. code: as in ncoll_fork_ranks(), or GIVEN_UP (thread_board.h). */
struct end {
    int rank, code;
};

struct board_header {
    _Atomic uint64_t blobs_end;         /* bytes of the blobs file that are in use */
    _Alignas(64) _Atomic uint32_t news; /* futex; see "Waiting" above */
    /* number of `ends`; raised after the next one was written */
    _Atomic int n_ends;
    struct end ends[]; /* [ranks] in the order in which they were noticed */
};

/* One rank's end of the board: its view of it. After the fork each process has its own copy of this
 * structure, with its own rank in it. */
struct ncoll_fork_board {
    int rank, ranks; /* rank is -1 in the parent */
    _Atomic unsigned contexts;
    int channels_fd, blobs_fd;
    struct board_header *header;
    struct shared_channels *shared;     /* shared by threads; NULL: each rank maps channels */
    struct ncoll_thread_board *threads; /* NULL: the ranks are processes */
};

/* Makes the board. Returns 0 or an errno. */
int ncoll__board_create(int ranks, struct ncoll_fork_board *board);
void ncoll__board_destroy(struct ncoll_fork_board *board);
/* Notes that a rank has ended. There is one caller at a time: the parent, or one of the threads,
 * under a lock. */
void ncoll__board_note_end(struct ncoll_fork_board *board, struct end end);
/* Returns true if the end of `rank` was noted. */
bool ncoll__board_has_end(const struct ncoll_fork_board *board, int rank);

/* Maps the channel of the next context. Returns 0 or an errno. */
int ncoll__channel_open(struct ncoll_fork_board *board, struct channel **channel);
/* Unmaps the channel, and notes that this rank has closed it. The last rank that does so gives the
 * channel's memory back. */
void ncoll__channel_close(struct ncoll_fork_board *board, struct channel *channel);

/* Publishes this rank's blob of exchange k, counted from 1. Returns 0 or an errno. */
int ncoll__channel_publish(struct ncoll_fork_board *board, struct channel *channel, uint64_t k,
                           const void *blob, size_t len);
/* The blobs of one exchange, as they lie in the blobs file. */
struct blobs {
    const unsigned char *base; /* NULL: not mapped */
    uint64_t offset, bytes;    /* the part of the file that is mapped */
};

/* Maps the blobs of exchange k, which has ended. Returns 0 or an errno. */
int ncoll__blobs_map(struct ncoll_fork_board *board, const struct channel *channel, uint64_t k,
                     struct blobs *blobs);
void ncoll__blobs_unmap(struct blobs *blobs);

/* Sleeps until the board's `news` differs from `seen`, but at most for ns nanoseconds. */
void ncoll__board_wait(struct ncoll_fork_board *board, uint32_t seen, uint64_t ns);

#endif
