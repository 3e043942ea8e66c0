/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that have been put and not been received yet: when each is there, by its key. */
#ifndef NCOLL_LOGGP_PENDING_H
#define NCOLL_LOGGP_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash table with open addressing. */
struct pending {
    struct pending_entry {
        uint64_t key; /* 0: free */
        double there_ns;
    } * entries;
    size_t count, mask;
};

bool loggp_pending_init(struct pending *p);
void loggp_pending_free(struct pending *p);

/* Keys are not 0, and none is added twice. False: no memory. */
bool loggp_pending_add(struct pending *p, uint64_t key, double there_ns);
/* False: there is none. remove: it is no longer there after that. */
bool loggp_pending_take(struct pending *p, uint64_t key, bool remove, double *there_ns);

#endif
