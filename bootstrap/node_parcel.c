/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/node_parcel.h"

#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint32_t)
#define RUN  32u /* words that one mask describes */

struct head {
    int32_t rank;
    uint32_t len;
};

static size_t words_of(size_t len)
{
    return (len + WORD - 1) / WORD;
}

/* Sets the number of words of a blob; new words are zero. Returns false if there is no memory. */
static bool resize(struct last_blob *last, size_t n)
{
    if (n > last->room) {
        uint32_t *grown = realloc(last->words, n * WORD);
        if (grown == NULL)
            return false;
        last->words = grown;
        last->room = n;
    }
    if (n > last->n)
        memset(last->words + last->n, 0, (n - last->n) * WORD);
    last->n = n;
    return true;
}

void ncoll__last_blob_free(struct last_blob *last)
{
    free(last->words);
    *last = (struct last_blob){0};
}

static uint32_t word_at(const void *bytes, size_t len, size_t w)
{
    size_t left = len - w * WORD;
    uint32_t word = 0;

    memcpy(&word, (const char *)bytes + w * WORD, left < WORD ? left : WORD);
    return word;
}

void ncoll__node_parcel_add(struct blob *parcel, struct last_blob *last, int rank,
                            const void *bytes, size_t len)
{
    struct head head = {rank, (uint32_t)len};
    size_t n = words_of(len);

    if (len > UINT32_MAX || !resize(last, n)) {
        parcel->failed = true;
        return;
    }
    ncoll__blob_add(parcel, &head, sizeof head);
    for (size_t first = 0; first < n; first += RUN) {
        uint32_t differ[1 + RUN] = {0}; /* [0]: the mask; then the words that differ */
        size_t found = 0;
        for (size_t i = 0; i < RUN && first + i < n; i++) {
            uint32_t word = word_at(bytes, len, first + i);
            if (word == last->words[first + i])
                continue;
            differ[0] |= UINT32_C(1) << i;
            differ[1 + found++] = word;
            last->words[first + i] = word;
        }
        ncoll__blob_add(parcel, differ, (1 + found) * WORD);
    }
}

static bool take(struct parcel_reader *r, void *to, size_t len)
{
    if (r->len - r->at < len)
        return false;
    memcpy(to, r->bytes + r->at, len);
    r->at += len;
    return true;
}

enum parcel_end ncoll__node_parcel_next(struct parcel_reader *r, int *rank, const void **bytes,
                                        size_t *len)
{
    struct head head;
    uint32_t mask;

    if (r->at == r->len)
        return PARCEL_END;
    if (!take(r, &head, sizeof head))
        return PARCEL_WRONG;
    size_t n = words_of(head.len);
    if ((r->len - r->at) / WORD < (n + RUN - 1) / RUN) /* too short for the masks alone */
        return PARCEL_WRONG;
    if (!resize(&r->last, n))
        return PARCEL_NO_MEMORY;
    for (size_t first = 0; first < n; first += RUN) {
        if (!take(r, &mask, sizeof mask) || (n - first < RUN && mask >> (n - first) != 0))
            return PARCEL_WRONG;
        for (size_t i = 0; i < RUN && first + i < n; i++)
            if ((mask >> i & 1) != 0 && !take(r, &r->last.words[first + i], WORD))
                return PARCEL_WRONG;
    }
    *rank = head.rank;
    *bytes = n > 0 ? (const void *)r->last.words : "";
    *len = head.len;
    return PARCEL_BLOB;
}
