/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/keep.h"

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
    keep->blobs[rank] = (struct kept){bytes, len};
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

void ncoll__keep_clear(struct keep *keep)
{
    for (int r = 0; r < keep->ranks && keep->count > 0; r++) {
        if (keep->blobs[r].bytes == NULL)
            continue;
        free(keep->blobs[r].bytes);
        keep->blobs[r] = (struct kept){0};
        keep->count--;
    }
}
