/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte strings that grow piece by piece, for data that goes through the bootstrap. */
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"

void ncoll__blob_add(struct blob *blob, const void *bytes, size_t len)
{
    if (blob->failed)
        return;
    if (blob->len + len > blob->capacity) {
        size_t capacity = 2 * (blob->len + len) + 64;
        unsigned char *grown = realloc(blob->bytes, capacity);
        if (grown == NULL) {
            blob->failed = true;
            return;
        }
        blob->bytes = grown;
        blob->capacity = capacity;
    }
    if (len > 0)
        memcpy(blob->bytes + blob->len, bytes, len);
    blob->len += len;
}

void ncoll__blob_free(struct blob *blob)
{
    free(blob->bytes);
    *blob = (struct blob){0};
}
