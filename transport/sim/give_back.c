/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated job has thousands of windows in one process. With sim_config.gives_back they take no
 * more memory than their ranks need: bulk memory and scratch of finished epochs are given back to
 * the kernel, and read as zeroes from then on. This also reveals a rank that reads data of an epoch
 * that it has finished.
 *
 * The ranks of a group are at most EPOCHS epochs apart. So the next message to the memory of epoch
 * e belongs to epoch e + EPOCHS, and no peer may send it before this rank has finished e. If the
 * message comes before the memory was given back, the memory stays. The rank itself writes to
 * scratch only in the runs that have not ended, which are RUNS at most. Bulk memory and scratch may
 * still be the source of messages on their way: then nothing is given back yet. If neighbours may
 * read the window, its messages stay until all ranks have finished their epoch.
 *
 * The slots of an alltoall on thousands of ranks take more than all other memory of a window. A
 * page has the same slots of all epochs, so it is given back when the latest message in it is of a
 * finished epoch. The first slots, which most calls use, stay.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "transport/sim/sim_transport.h"

#define RUNS 4u /* CREDIT_RUNS in lib/base/credit.h */

/* Gives back the first *used bytes of the memory of an epoch, which has `bytes` bytes at base, and
 * sets *used to 0. Only pages that are completely in this memory are given back. */
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

/* Returns the first epoch after `done` among the n epochs up to `last`. */
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
