/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/node_board.h"

#include <errno.h>
#include <string.h>

#include "bootstrap/futex.h"

#define ROOM_LEAST     256u
#define ALIGNED(bytes) (((bytes) + 63) / 64 * 64)

/* Sets the pointers to the tables that follow struct board_memory. Returns the offset of the heap,
 * the memory for blobs. */
static size_t lay_out(struct node_board *board, int ranks, int nodes, int members)
{
    unsigned char *base = (unsigned char *)board->memory;
    size_t at = ALIGNED(sizeof *board->memory);

    board->started = (_Atomic uint64_t *)(base + at);
    at += ALIGNED((size_t)members * sizeof *board->started);
    board->parcel = (_Atomic uint64_t *)(base + at);
    at += ALIGNED((size_t)nodes * sizeof *board->parcel);
    for (int i = 0; i < 2; i++) {
        board->places[i] = (struct board_place *)(base + at);
        at += ALIGNED((size_t)ranks * sizeof *board->places[i]);
    }
    board->leader = (int32_t *)(base + at);
    at += ALIGNED((size_t)nodes * sizeof *board->leader);
    board->node_of = (int32_t *)(base + at);
    return at + ALIGNED((size_t)ranks * sizeof *board->node_of);
}

int ncoll__node_board_create(struct node_board *board, int ranks, int nodes, int members,
                             uint64_t nonce, bool shared)
{
    struct node_board size = {0};
    size_t bytes = lay_out(&size, ranks, nodes, members) + (size_t)ranks * ROOM_PER_RANK;

    *board = (struct node_board){0};
    int rc = shared ? ncoll__segment_create(&board->segment, bytes, nonce)
                    : ncoll__segment_stand_in(&board->segment, bytes);
    if (rc != 0)
        return rc;
    struct board_memory *m = (struct board_memory *)board->segment.base;
    board->memory = m;
    m->ranks = ranks;
    m->nodes = nodes;
    m->members = members;
    atomic_store(&m->mates, (uint32_t)members);
    atomic_store(&m->heap, lay_out(board, ranks, nodes, members));
    return 0;
}

int ncoll__node_board_attach(struct node_board *board, const struct segment_name *name)
{
    *board = (struct node_board){0};
    if (name->bytes < sizeof *board->memory)
        return -ESTALE;
    int rc = ncoll__segment_attach(&board->segment, name);
    if (rc != 0)
        return rc;
    board->memory = (struct board_memory *)board->segment.base;
    lay_out(board, board->memory->ranks, board->memory->nodes, board->memory->members);
    return 0;
}

void ncoll__node_board_release(struct node_board *board)
{
    ncoll__segment_release(&board->segment);
    *board = (struct node_board){0};
}

/* ------------------------------------------------------------------ blobs --------------------- */

/* Gives a place room for len bytes, from the heap. Returns false if the heap is full. The room
 * doubles each time, so the rooms that a place has given up are together smaller than its last
 * one. */
static bool make_room(struct node_board *board, struct board_place *place, size_t len)
{
    size_t room = ROOM_LEAST;

    if (len <= place->room && place->room > 0)
        return true;
    while (room < len && room < board->segment.bytes)
        room *= 2;
    if (room < len || room > UINT32_MAX)
        return false;
    uint64_t at = atomic_load(&board->memory->heap);
    do {
        if (at + room > board->segment.bytes)
            return false;
    } while (!atomic_compare_exchange_weak(&board->memory->heap, &at, at + room));
    place->at = at;
    place->room = (uint32_t)room;
    return true;
}

bool ncoll__node_board_put(struct node_board *board, uint64_t k, int rank, const void *bytes,
                           size_t len)
{
    struct board_place *place = &board->places[k % 2][rank];

    if (!make_room(board, place, len))
        return false;
    if (len > 0)
        memcpy((char *)board->memory + place->at, bytes, len);
    place->len = (uint32_t)len;
    atomic_store_explicit(&place->exchange, k, memory_order_release);
    return true;
}

const void *ncoll__node_board_get(const struct node_board *board, uint64_t k, int rank, size_t *len)
{
    const struct board_place *place = &board->places[k % 2][rank];

    if (atomic_load_explicit(&place->exchange, memory_order_acquire) != k)
        return NULL;
    *len = place->len;
    return (const char *)board->memory + place->at;
}

/* ------------------------------------------------------------------ members ------------------- */

void ncoll__node_board_arrive(struct node_board *board, int member, uint64_t k)
{
    struct board_memory *m = board->memory;

    atomic_store_explicit(&board->started[member], k, memory_order_release);
    uint64_t arrived = 1 + atomic_fetch_add(&m->arrived, 1);
    if (arrived < k * atomic_load(&m->mates))
        return;
    atomic_fetch_add(&m->news, 1);
    ncoll__futex_wake(&m->news);
}

int ncoll__node_board_absent(const struct node_board *board, uint64_t k, int *count)
{
    int first = -1;

    *count = 0;
    for (int i = board->memory->members - 1; i >= 0; i--)
        if (atomic_load_explicit(&board->started[i], memory_order_acquire) < k) {
            first = i;
            ++*count;
        }
    return first;
}

void ncoll__node_board_set_apart(struct node_board *board, int member)
{
    atomic_store_explicit(&board->started[member], BOARD_APART, memory_order_release);
    atomic_fetch_sub(&board->memory->mates, 1);
}

/* ------------------------------------------------------------------ parcels ------------------- */

unsigned ncoll__node_board_claim(struct node_board *board, uint64_t k, int node)
{
    uint64_t state = atomic_load_explicit(&board->parcel[node], memory_order_acquire);

    while (state < 4 * k)
        if (atomic_compare_exchange_weak_explicit(&board->parcel[node], &state,
                                                  4 * k + PARCEL_CLAIMED, memory_order_acq_rel,
                                                  memory_order_acquire))
            return 0;
    return (unsigned)(state - 4 * k);
}

void ncoll__node_board_settle(struct node_board *board, uint64_t k, int node,
                              enum parcel_state state)
{
    uint64_t claimed = 4 * k + PARCEL_CLAIMED;

    atomic_compare_exchange_strong_explicit(&board->parcel[node], &claimed, 4 * k + state,
                                            memory_order_release, memory_order_relaxed);
}
