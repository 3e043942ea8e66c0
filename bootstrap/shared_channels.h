/* SPDX-License-Identifier: BSD-3-Clause */
/* Mappings of a file that threads share: each part is mapped once, and stays for as long as a thread
 * uses it. Threads that synchronise by words in it use the same addresses then. */
#ifndef NCOLL_BOOTSTRAP_SHARED_CHANNELS_H
#define NCOLL_BOOTSTRAP_SHARED_CHANNELS_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

struct mapped_channel;

struct shared_channels {
    pthread_mutex_t lock;
    struct mapped_channel *first; /* a list of those that are in use */
};

/* Returns the mapping of `bytes` bytes of the file at offset `at`, which it makes if there is none;
 * NULL with errno: there can be none. */
void *ncoll__channels_take(struct shared_channels *s, int fd, off_t at, size_t bytes);
/* Gives the mapping back that take() returned. The last one that does unmaps it. */
void ncoll__channels_drop(struct shared_channels *s, void *memory, size_t bytes);

#endif
