/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/shared_channels.h"

#include <stdlib.h>
#include <sys/mman.h>

struct mapped_channel {
    struct mapped_channel *next;
    off_t at;
    void *memory;
    int users;
};

static struct mapped_channel *map(int fd, off_t at, size_t bytes)
{
    struct mapped_channel *m = malloc(sizeof *m);

    if (m == NULL)
        return NULL;
    *m = (struct mapped_channel){.at = at};
    m->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    if (m->memory == MAP_FAILED) {
        free(m);
        return NULL;
    }
    return m;
}

void *ncoll__channels_take(struct shared_channels *s, int fd, off_t at, size_t bytes)
{
    pthread_mutex_lock(&s->lock);
    struct mapped_channel *m = s->first;
    while (m != NULL && m->at != at)
        m = m->next;
    if (m == NULL && (m = map(fd, at, bytes)) != NULL) {
        m->next = s->first;
        s->first = m;
    }
    if (m != NULL)
        m->users++;
    void *memory = m != NULL ? m->memory : NULL;
    pthread_mutex_unlock(&s->lock);
    return memory;
}

void ncoll__channels_drop(struct shared_channels *s, void *memory, size_t bytes)
{
    pthread_mutex_lock(&s->lock);
    struct mapped_channel **link = &s->first, *m;
    while ((*link)->memory != memory)
        link = &(*link)->next;
    m = *link;
    if (--m->users == 0) {
        *link = m->next;
        munmap(m->memory, bytes);
        free(m);
    }
    pthread_mutex_unlock(&s->lock);
}
