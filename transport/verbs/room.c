/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/room.h"

#include <stdint.h>

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

void ncoll__room_return(struct room *r, unsigned places)
{
    r->taken -= places;
    r->to_come++;
}
