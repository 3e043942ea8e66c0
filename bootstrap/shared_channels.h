/* SPDX-License-Identifier: BSD-3-Clause */
/* Mappings of a file that threads share: each part of the file is mapped once, and stays mapped for
 * as long as a thread uses it. So threads that synchronise by words in it use the same
 * addresses. */
#ifndef NCOLL_BOOTSTRAP_SHARED_CHANNELS_H
#define NCOLL_BOOTSTRAP_SHARED_CHANNELS_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

struct mapped_channel;

struct shared_channels {
    pthread_mutex_t lock;
    struct mapped_channel *first; /* list of the mappings that are in use */
};

/* Returns the mapping of `bytes` bytes of the file at offset `at`, and makes it if there is none;
 * NULL with errno: that failed. */
void *ncoll__channels_take(struct shared_channels *s, int fd, off_t at, size_t bytes);
/* Gives back a mapping that ncoll__channels_take() has returned. Its last user unmaps it. */
void ncoll__channels_drop(struct shared_channels *s, void *memory, size_t bytes);

#endif
