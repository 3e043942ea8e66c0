/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/room.h"

#include <stdint.h>

#include "transport/verbs/verbs.h"

static uint64_t least_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t ab = a < b ? a : b, cd = c < d ? c : d;

    return ab < cd ? ab : cd;
}

void ncoll__rooms_divide(unsigned ranks, unsigned max_receives, unsigned max_completions,
                         unsigned batch, struct room *receives, struct room *sends)
{
    unsigned peers = ranks > 1 ? ranks - 1 : 1;
    uint64_t come = (uint64_t)peers * (UNCONFIRMED_MAX + WORDS_IN_FLIGHT + batch) + RECEIVE_BATCH;
    uint64_t go = (uint64_t)peers * SENDS_PER_RANK;

    come = least_of(come, RECEIVES_MAX, max_receives, max_completions / 2);
    go = go > SENDS_MAX ? go : SENDS_MAX;
    go = least_of(go, (uint64_t)peers * SEND_DEPTH, max_completions - come, UINT32_MAX);
    *receives = (struct room){
        .places = come > RECEIVE_BATCH ? (unsigned)come - RECEIVE_BATCH : 0,
        .to_come = peers,
        .least = UNCONFIRMED_LEAST + WORDS_IN_FLIGHT + batch,
    };
    *sends = (struct room){.places = (unsigned)go, .to_come = peers, .least = SEND_LEAST};
}

/* A connection takes at most this part of the spare room, or its fair share if that is more. */
#define PART 16u

/* Returns the room to keep for other ranks. If there is not enough for all ranks, some of them will
 * not connect. */
static unsigned kept(unsigned left, unsigned others, unsigned least)
{
    uint64_t needed = (uint64_t)others * least;

    return needed + least <= left ? (unsigned)needed : left / 2;
}

unsigned ncoll__room_take(struct room *r, unsigned wish)
{
    unsigned left = r->places - r->taken;
    unsigned others = r->to_come > 0 ? r->to_come - 1 : 0;

    if (left < r->least)
        return 0;
    unsigned spare = left - kept(left, others, r->least), fair = left / (others + 1);
    unsigned share = spare > r->least ? r->least + (spare - r->least) / PART : r->least;
    share = share < fair ? fair : share;
    share = share < wish ? share : wish;
    r->taken += share;
    r->to_come = others;
    return share;
}

unsigned ncoll__room_take_power(struct room *r, unsigned wish)
{
    unsigned share = ncoll__room_take(r, wish), power = 1;

    if (share == 0)
        return 0;
    while (2 * power <= share)
        power *= 2;
    r->taken -= share - power;
    return power;
}

void ncoll__room_return(struct room *r, unsigned places)
{
    r->taken -= places;
    r->to_come++;
}
