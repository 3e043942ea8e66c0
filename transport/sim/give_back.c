/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thousands of windows are in one process. A job may ask that they take no more memory than their
 * ranks need (sim_config.gives_back): bulk memory and scratch of finished epochs go back to the
 * kernel, and read as zeroes from then on. So this also finds a rank that reads what it has no right
 * to read any more.
 *
 * The ranks of a group are at most EPOCHS epochs apart, so what comes next to the memory of epoch e
 * is of epoch e + EPOCHS, and no peer may send that before this rank has finished e. If it comes
 * before the memory was given back, the memory stays. The rank itself writes its scratch only for the
 * runs that have not ended, which are RUNS at most. Both may still be the source of messages on their
 * way: then nothing is given back yet. If neighbours read the window, what has come in stays until all
 * ranks have finished its epoch.
 *
 * The slots of an alltoall on thousands of ranks take more than all other memory of a window. A page
 * has the same slots of all epochs, so it goes back when the latest message there is of a finished
 * epoch. The first slots, which most calls use, stay.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "transport/sim/sim_transport.h"

#define RUNS 4u /* see lib/base/credit.h */

/* Gives back what was used of the memory of an epoch, `bytes` at base, in whole pages: but not a page
 * that has other memory as well. */
static void drop(unsigned char *base, size_t bytes, size_t *used)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)base;
    uintptr_t from = (at + page - 1) / page * page, end = (at + *used + page - 1) / page * page;
    uintptr_t last = (at + bytes) / page * page;

    end = end < last ? end : last;
    if (*used > 0 && from < end)
        madvise(base + (from - at), end - from, MADV_DONTNEED);
    *used = 0;
}

/* Returns the first epoch after `done` of the last n ones. */
static uint64_t first_after(uint64_t done, uint64_t last, uint64_t n)
{
    uint64_t least = last > n ? last - n : 0;

    return (done > least ? done : least) + 1;
}

/* Returns the latest epoch whose messages nobody needs any more. */
static uint64_t needed_by_nobody(const struct sim_window *w)
{
    uint64_t last = w->window.epoch;

    if (!w->viewed)
        return last;
    return last > EPOCHS ? last - EPOCHS : 0;
}

static void give_bulk_back(struct sim_window *w)
{
    size_t bytes = w->window.shape.bulk_bytes;
    uint64_t over = needed_by_nobody(w);

    for (unsigned set = 0; set < EPOCHS; set++)
        if (w->bulk_used[set] > 0 && w->bulk_epochs[set] <= over)
            drop(w->window.bulk + set * bytes, bytes, &w->bulk_used[set]);
}

static void give_slots_back(struct sim_window *w)
{
    uint64_t over = needed_by_nobody(w);
    unsigned used = 1;

    for (unsigned i = 1; i < w->slot_groups; i++) {
        size_t bytes = SLOT_GROUP * EPOCHS * sizeof(struct slot), all = bytes;
        if (w->slots_used[i] != 0 && w->slots_used[i] <= over) {
            drop((unsigned char *)(w->window.slots + (size_t)i * SLOT_GROUP * EPOCHS), bytes, &all);
            w->slots_used[i] = 0;
        }
        used = w->slots_used[i] != 0 ? i + 1 : used;
    }
    w->slot_groups = used;
}

void ncoll__sim_give_back(struct sim_window *w)
{
    const struct window_shape *s = &w->window.shape;
    uint64_t last = w->window.epoch;

    if (!ncoll__sim->config.gives_back || w->long_on_way > 0 || w->scratch_back == last)
        return;
    give_bulk_back(w);
    for (uint64_t e = first_after(w->scratch_back, last, RUNS); e <= last; e++)
        drop(w->window.scratch + e % EPOCHS * s->scratch_bytes, s->scratch_bytes,
             &w->scratch_used[e % EPOCHS]);
    w->scratch_back = last;
    give_slots_back(w);
}

void ncoll__sim_use_bulk(struct sim_window *w, uint64_t epoch, size_t end)
{
    size_t *used = &w->bulk_used[epoch % EPOCHS];

    ncoll__sim_give_back(w);
    w->bulk_epochs[epoch % EPOCHS] = epoch;
    *used = end > *used ? end : *used;
}

void ncoll__sim_use_slot(struct sim_window *w, uint64_t epoch, unsigned slot)
{
    unsigned group = slot / SLOT_GROUP;

    w->slots_used[group] = epoch > w->slots_used[group] ? epoch : w->slots_used[group];
    w->slot_groups = group >= w->slot_groups ? group + 1 : w->slot_groups;
}

void ncoll__sim_use_scratch(struct sim_window *w, uint64_t epoch, const void *src, size_t bytes)
{
    const struct window_shape *s = &w->window.shape;
    const unsigned char *base = w->window.scratch + epoch % EPOCHS * s->scratch_bytes, *from = src;
    size_t *used = &w->scratch_used[epoch % EPOCHS];

    if (from < base || from >= base + s->scratch_bytes)
        return;
    size_t end = (size_t)(from - base) + bytes;
    *used = end > *used ? end : *used;
}
