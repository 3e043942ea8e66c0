/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/keep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool ncoll__keep_init(struct keep *keep, int ranks)
{
    *keep = (struct keep){.blobs = calloc((size_t)ranks, sizeof *keep->blobs), .ranks = ranks};
    return keep->blobs != NULL;
}

void ncoll__keep_free(struct keep *keep)
{
    ncoll__keep_clear(keep);
    free(keep->blobs);
    *keep = (struct keep){0};
}

unsigned char *ncoll__keep_allocate(size_t len)
{
    return malloc(len > 0 ? len : 1);
}

void ncoll__keep_adopt(struct keep *keep, int rank, unsigned char *bytes, size_t len)
{
    keep->blobs[rank] = (struct kept){bytes, len, false};
    keep->count++;
}

bool ncoll__keep_copy(struct keep *keep, int rank, const void *bytes, size_t len)
{
    unsigned char *copy = ncoll__keep_allocate(len);

    if (copy == NULL)
        return false;
    if (len > 0)
        memcpy(copy, bytes, len);
    ncoll__keep_adopt(keep, rank, copy, len);
    return true;
}

bool ncoll__keep_whole(struct keep *keep, unsigned char *bytes, size_t len)
{
    struct whole *grown = realloc(keep->whole, (size_t)(keep->n_whole + 1) * sizeof *grown);

    if (grown == NULL)
        return false;
    keep->whole = grown;
    keep->whole[keep->n_whole++] = (struct whole){bytes, len};
    return true;
}

void ncoll__keep_part(struct keep *keep, int rank, const unsigned char *bytes, size_t len)
{
    keep->blobs[rank] = (struct kept){(unsigned char *)(uintptr_t)bytes, len, true};
    keep->count++;
}

void ncoll__keep_clear(struct keep *keep)
{
    for (int r = 0; r < keep->ranks && keep->count > 0; r++) {
        if (keep->blobs[r].bytes == NULL)
            continue;
        if (!keep->blobs[r].is_part)
            free(keep->blobs[r].bytes);
        keep->blobs[r] = (struct kept){0};
        keep->count--;
    }
    for (int i = 0; i < keep->n_whole; i++)
        free(keep->whole[i].bytes);
    free(keep->whole);
    keep->whole = NULL;
    keep->n_whole = 0;
}
