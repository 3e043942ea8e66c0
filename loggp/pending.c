/* SPDX-License-Identifier: BSD-3-Clause */
#include "loggp/pending.h"

#include <stdlib.h>

#define FIRST_SIZE 1024

/* Returns the index at which the search for a key begins, by the last step of splitmix64 (S.
 * Vigna): neighbouring keys get distant places. */
static size_t place_of(const struct pending *p, uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return (size_t)(key ^ key >> 31) & p->mask;
}

bool loggp_pending_init(struct pending *p)
{
    *p =
        (struct pending){.entries = calloc(FIRST_SIZE, sizeof *p->entries), .mask = FIRST_SIZE - 1};
    return p->entries != NULL;
}

void loggp_pending_free(struct pending *p)
{
    free(p->entries);
    *p = (struct pending){0};
}

static void insert(struct pending *p, uint64_t key, double there_ns)
{
    size_t i = place_of(p, key);

    while (p->entries[i].key != 0)
        i = (i + 1) & p->mask;
    p->entries[i] = (struct pending_entry){key, there_ns};
    p->count++;
}

static bool grow(struct pending *p)
{
    struct pending old = *p;

    p->mask = 2 * old.mask + 1;
    p->count = 0;
    p->entries = calloc(p->mask + 1, sizeof *p->entries);
    if (p->entries == NULL) {
        *p = old;
        return false;
    }
    for (size_t i = 0; i <= old.mask; i++)
        if (old.entries[i].key != 0)
            insert(p, old.entries[i].key, old.entries[i].there_ns);
    free(old.entries);
    return true;
}

bool loggp_pending_add(struct pending *p, uint64_t key, double there_ns)
{
    if (2 * p->count > p->mask && !grow(p))
        return false;
    insert(p, key, there_ns);
    return true;
}

/* Closes the gap at i: a later entry moves there, unless the gap is before place_of() its key. */
static void close_gap(struct pending *p, size_t i)
{
    for (size_t j = (i + 1) & p->mask; p->entries[j].key != 0; j = (j + 1) & p->mask) {
        size_t home = place_of(p, p->entries[j].key);
        if (((j - home) & p->mask) < ((j - i) & p->mask))
            continue;
        p->entries[i] = p->entries[j];
        i = j;
    }
    p->entries[i].key = 0;
}

bool loggp_pending_take(struct pending *p, uint64_t key, bool remove, double *there_ns)
{
    size_t i = place_of(p, key);

    while (p->entries[i].key != key) {
        if (p->entries[i].key == 0)
            return false;
        i = (i + 1) & p->mask;
    }
    *there_ns = p->entries[i].there_ns;
    if (remove) {
        close_gap(p, i);
        p->count--;
    }
    return true;
}
