/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages that have been put and not yet received: by the key of each, the time of its
 * arrival. */
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

/* Adds a message. Its key is not 0, and is not in the table yet. Returns false if there is no
 * memory. */
bool loggp_pending_add(struct pending *p, uint64_t key, double there_ns);
/* Finds a message, and removes it if `remove` is set. Returns false if there is none. */
bool loggp_pending_take(struct pending *p, uint64_t key, bool remove, double *there_ns);

#endif
