/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a time-line in the JSON form of Chrome's trace viewer, which Perfetto reads as well
 * ("Trace Event Format"). Each rank has a track; events that neither follow nor contain each other
 * are drawn in further lanes of that track.
 */
#ifndef NCOLL_TOOLS_TIMELINE_CHROME_H
#define NCOLL_TOOLS_TIMELINE_CHROME_H

#include <stdint.h>
#include <stdio.h>

struct chrome {
    FILE *file;
    unsigned written; /* number of events */
};

/* A moment of a track. */
struct chrome_at {
    unsigned rank, lane;
    int64_t ns; /* since the start of the time-line */
};

void chrome_begin(struct chrome *c, FILE *file);
/* Names the track of a rank. */
void chrome_track(struct chrome *c, unsigned rank);
/* An event from `at` to end_ns. `details` is the inside of a JSON object, as "bytes": 8. */
void chrome_event(struct chrome *c, const struct chrome_at *at, int64_t end_ns, const char *name,
                  const char *details);
/* An arrow from one event to another: a message. */
void chrome_arrow(struct chrome *c, uint64_t number, const struct chrome_at *from,
                  const struct chrome_at *to);
void chrome_end(struct chrome *c);

/* ------------------------------------------------------------------ lanes --------------------- */

#define LANES_MAX   16u
#define LANES_DEPTH 16u

/* The events of one rank that are open at some time, in each lane. */
struct lanes {
    int64_t ends[LANES_MAX][LANES_DEPTH];
    unsigned open[LANES_MAX];
};

/* Returns the lane of an event. Events come in the order of their beginnings; of those that begin
 * together the longest is first. If there is no lane left, the last one is taken. */
unsigned lanes_take(struct lanes *lanes, int64_t begin_ns, int64_t end_ns);

#endif
