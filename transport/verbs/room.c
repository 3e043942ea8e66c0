/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/room.h"

#include <stdint.h>

#include "transport/verbs/verbs.h"

static uint64_t least_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t ab = a < b ? a : b, cd = c < d ? c : d;

    return ab < cd ? ab : cd;
}

/* Returns the number of entries that all send queues together get beyond the minimum. */
static unsigned spare_sends(unsigned ranks)
{
    unsigned spare = SENDS_SPARE;

    if (ranks <= SMALL_JOB)
        return UINT32_MAX;
    for (; ranks >= 2048; ranks /= 2)
        spare += SENDS_SPARE;
    return spare;
}

/* Returns the most used receives, of all queues, that may wait to be posted again. */
static unsigned waiting(const struct rooms *r)
{
    return (r->grows ? QUEUES_MOST : 1) * RECEIVE_BATCH;
}

/* Returns the number of completions that are for receives: half of them, less a batch for each
 * further receive queue. */
static unsigned completions_of_receives(const struct room_limits *limits, bool many)
{
    unsigned half = limits->completions / 2;

    return many && half > FIRST_RECEIVES ? half - (QUEUES_MOST - 1) * RECEIVE_BATCH : half;
}

void ncoll__rooms_divide(unsigned ranks, const struct room_limits *limits, struct rooms *out)
{
    unsigned peers = ranks > 1 ? ranks - 1 : 1;
    uint64_t come =
        (uint64_t)peers * (UNCONFIRMED_MAX + WORDS_IN_FLIGHT + limits->batch) + RECEIVE_BATCH;
    uint64_t go = (uint64_t)peers * SENDS_PER_RANK;
    bool many = limits->many_queues && ranks > SMALL_JOB;

    come = least_of(come, RECEIVES_MAX, limits->receives, completions_of_receives(limits, many));
    *out = (struct rooms){
        .receives = {.places = come > RECEIVE_BATCH ? (unsigned)come - RECEIVE_BATCH : 0,
                     .to_come = peers,
                     .least = UNCONFIRMED_LEAST + WORDS_IN_FLIGHT + limits->batch},
        .grows = many && come > FIRST_RECEIVES,
        .n_queues = 1,
        .send_spare = spare_sends(ranks),
    };
    out->places = out->grows ? FIRST_RECEIVES - RECEIVE_BATCH : out->receives.places;
    out->queued = out->places;
    go = go > SENDS_MAX ? go : SENDS_MAX;
    go = least_of(go, (uint64_t)peers * SEND_DEPTH,
                  limits->completions - out->receives.places - waiting(out), UINT32_MAX);
    out->sends = (struct room){.places = (unsigned)go, .to_come = peers, .least = SEND_LEAST};
}

/* A connection takes at most the minimum and 1/PART of the entries that others do not need, or its
 * fair share, if that is more. */
#define PART 16u

/* Returns the number of entries to keep for other connections. If there are not enough for all
 * ranks, it supposes that some of them will not connect. */
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

/* ------------------------------------------------------------------ connections --------------- */

/* A connection takes at most 1/QUEUE_PART of the free entries of a queue, or the minimum if that is
 * more, if the device may have several receive queues. */
#define QUEUE_PART 32u

static void begin_queue(struct rooms *r, unsigned left)
{
    bool last = r->n_queues + 1 == QUEUES_MOST || r->queued > left;

    r->places = last ? left : r->queued;
    r->queued += r->places;
    r->taken = 0;
    r->n_queues++;
}

/* Takes receives for a connection. Its share is limited by r->receives, which counts for all queues
 * together, so that all connections get the minimum. Entries that remain in a queue when the next
 * one begins are not lost: the last queue gets all that remain. */
static unsigned take_receives(struct rooms *r, unsigned wish)
{
    unsigned left = r->receives.places - r->receives.taken, least = r->receives.least;
    unsigned share = ncoll__room_take(&r->receives, wish), most = share;

    if (share == 0)
        return 0;
    if (r->grows) {
        if (r->places - r->taken < least)
            begin_queue(r, left);
        most = (r->places - r->taken) / QUEUE_PART;
        most = most > least ? most : least;
        most = most < share ? most : share;
    }
    r->receives.taken -= share - most;
    r->taken += most;
    return most;
}

bool ncoll__rooms_take(struct rooms *r, unsigned wish, struct share *out)
{
    struct rooms after = *r;
    unsigned least = r->sends.least, deepest = least + r->send_spare / 2;

    *out = (struct share){
        .receives = take_receives(&after, wish),
        .sends = ncoll__room_take_power(&after.sends, deepest < SEND_DEPTH ? deepest : SEND_DEPTH),
    };
    if (out->receives == 0 || out->sends == 0)
        return false;
    after.send_spare -= out->sends - least;
    *r = after;
    return true;
}

unsigned ncoll__rooms_completions(const struct rooms *r)
{
    unsigned peers = r->receives.places / r->receives.least; /* the most that have room */

    if (peers > r->receives.to_come)
        peers = r->receives.to_come;
    uint64_t deepest = (uint64_t)peers * SEND_DEPTH;
    uint64_t usual = (uint64_t)peers * r->sends.least + r->send_spare;
    uint64_t sent = least_of(deepest, usual, r->sends.places, UINT32_MAX);
    return r->receives.places + waiting(r) + (unsigned)sent;
}

unsigned ncoll__completions_grown(unsigned need, unsigned depth)
{
    unsigned more = depth + depth / 4;

    return need > more ? need : more;
}
