/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the frequency of this machine's time-stamp counter in kHz.
 *
 * Guests count time by it, since emulated code reads the host's own counter. Left to themselves
 * they measure it at boot against an emulated timer, and on a busy host that can be wrong by a
 * factor of two: then their clocks drift apart by minutes and Slurm's credentials count as expired.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define READINGS    1000
#define INTERVAL_NS 200000000

struct reading {
    uint64_t ticks;
    int64_t ns;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Both clocks at one moment: of many readings the one that was least interrupted. */
static struct reading read_both(void)
{
    struct reading best = {0, 0};
    int64_t best_ns = INT64_MAX;

    for (int i = 0; i < READINGS; i++) {
        int64_t before = now_ns();
        uint64_t ticks = __rdtsc();
        int64_t after = now_ns();
        if (after - before < best_ns) {
            best_ns = after - before;
            best = (struct reading){ticks, before + best_ns / 2};
        }
    }
    return best;
}

int main(void)
{
    const struct timespec interval = {.tv_nsec = INTERVAL_NS};
    struct reading first = read_both();

    nanosleep(&interval, NULL);
    struct reading last = read_both();
    printf("%.0f\n", (double)(last.ticks - first.ticks) / (double)(last.ns - first.ns) * 1e6);
    return 0;
}
