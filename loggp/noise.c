/* SPDX-License-Identifier: BSD-3-Clause */
#include "loggp/noise.h"

#include <math.h>
#include <stdlib.h>

/* Returns the i-th random number of a rank (splitmix64, S. Vigna). */
static uint64_t draw(const struct noises *n, uint64_t rank, uint64_t i)
{
    uint64_t z = n->seed + ((rank << 32 | i) + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Returns a random number above 0 and up to 1. */
static double draw_part(const struct noises *n, uint64_t rank, uint64_t i)
{
    return (double)((draw(n, rank, i) >> 11) + 1) / 9007199254740992.0;
}

/* True if a rank is in a detour at time 0: drawn, with the probability of any other time. */
static bool starts_inside(const struct noises *n, unsigned rank)
{
    const struct loggp_noise *noise = n->noise;

    return draw_part(n, rank, 1) * (noise->interval_ns + noise->length_ns) <= noise->length_ns;
}

/* Draws the next detour, which does not begin before the last one has ended. */
static void next_detour(const struct noises *n, unsigned rank, struct noisy *r)
{
    const struct loggp_noise *noise = n->noise;
    double ended = r->drawn == 0 ? 0 : r->next.start_ns + r->next.length_ns;
    uint64_t i = r->drawn++;

    switch (noise->kind) {
    case LOGGP_FIXED:
        r->next.start_ns = (double)i * noise->interval_ns - r->shift_ns;
        r->next.length_ns = noise->length_ns;
        return;
    case LOGGP_EXPONENTIAL:
        r->next.start_ns = ended - noise->interval_ns * log(draw_part(n, rank, 2 * i + 2));
        if (i == 0 && starts_inside(n, rank)) /* the rest of a detour is distributed like a whole */
            r->next.start_ns = 0;
        r->next.length_ns = -noise->length_ns * log(draw_part(n, rank, 2 * i + 3));
        return;
    case LOGGP_TRACE:
        r->next = noise->trace[i % noise->n_trace];
        r->next.start_ns += (double)(i / noise->n_trace) * noise->period_ns - r->shift_ns;
        return;
    default:
        r->next.start_ns = HUGE_VAL;
    }
}

static double period_of(const struct loggp_noise *noise)
{
    return noise->kind == LOGGP_FIXED   ? noise->interval_ns
           : noise->kind == LOGGP_TRACE ? noise->period_ns
                                        : 0;
}

/* Draws how_many different ranks, and calls chosen() for each. Different values of salt give
 * different draws. */
static bool choose(struct noises *n, unsigned ranks, unsigned how_many, uint64_t salt,
                   void (*chosen)(struct noises *n, unsigned rank))
{
    bool *is_chosen = calloc(ranks, sizeof *is_chosen);

    if (is_chosen == NULL)
        return false;
    for (uint64_t i = 0; how_many > 0; i++) {
        unsigned rank = (unsigned)(draw(n, salt, i) % ranks);
        if (is_chosen[rank])
            continue;
        is_chosen[rank] = true;
        chosen(n, rank);
        how_many--;
    }
    free(is_chosen);
    return true;
}

static void make_late(struct noises *n, unsigned rank)
{
    n->entry_ns[rank] = n->last_entry_ns = n->noise->late_ns;
}

static void make_stall(struct noises *n, unsigned rank)
{
    n->ranks[rank].stall = (struct loggp_detour){n->noise->stall_at_ns, n->noise->stall_ns};
}

#define SALT_LATE  (UINT64_C(1) << 30)
#define SALT_STALL (UINT64_C(1) << 31)

bool loggp_noises_init(struct noises *n, const struct loggp_noise *noise, uint64_t seed,
                       unsigned ranks)
{
    *n = (struct noises){.noise = noise, .seed = seed};
    if (noise->late > 0) {
        n->entry_ns = calloc(ranks, sizeof *n->entry_ns);
        if (n->entry_ns == NULL || !choose(n, ranks, noise->late, SALT_LATE, make_late))
            return false;
    }
    if (noise->kind == LOGGP_NO_NOISE && noise->stalled == 0)
        return true;
    n->ranks = calloc(ranks, sizeof *n->ranks);
    if (n->ranks == NULL)
        return false;
    for (unsigned rank = 0; rank < ranks; rank++) {
        struct noisy *r = &n->ranks[rank];
        r->stall.start_ns = HUGE_VAL;
        r->shift_ns = period_of(noise) * (1 - draw_part(n, rank, 0));
        next_detour(n, rank, r);
    }
    return noise->stalled == 0 || choose(n, ranks, noise->stalled, SALT_STALL, make_stall);
}

void loggp_noises_free(struct noises *n)
{
    free(n->ranks);
    free(n->entry_ns);
    *n = (struct noises){0};
}

/* If the work would begin during a detour, it begins at the end of the detour. Each detour that
 * begins before the work is done adds its length. */
double loggp_noises_interrupt(struct noises *n, unsigned rank, double at_ns, double work_ns)
{
    struct noisy *r = &n->ranks[rank];
    double end = at_ns + work_ns;

    for (;;) {
        bool is_stall = r->stall.start_ns <= r->next.start_ns;
        struct loggp_detour *d = is_stall ? &r->stall : &r->next;
        double over = d->start_ns + d->length_ns;
        if (d->start_ns >= end)
            return end;
        if (d->start_ns > at_ns)
            end += d->length_ns;
        else if (over > at_ns) {
            end += over - at_ns;
            at_ns = over;
        }
        if (is_stall)
            d->start_ns = HUGE_VAL;
        else
            next_detour(n, rank, r);
    }
}
