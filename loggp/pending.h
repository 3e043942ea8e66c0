/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages that have been put and not yet received: the time of arrival of each, found by its
 * key. */
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
/* Sets *there_ns to the time of arrival of a message, and removes the message if `remove` is set.
 * Returns false if no message has this key. */
bool loggp_pending_take(struct pending *p, uint64_t key, bool remove, double *there_ns);

#endif
