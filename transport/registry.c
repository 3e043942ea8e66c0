/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

extern const struct transport_ops ncoll__transport_shm;
#ifdef NCOLL_HAVE_VERBS
extern const struct transport_ops ncoll__transport_verbs, ncoll__transport_mixed;
#endif

const struct transport_ops *const ncoll__transports[] = {
    &ncoll__transport_shm,
#ifdef NCOLL_HAVE_VERBS
    &ncoll__transport_verbs,
    &ncoll__transport_mixed,
#endif
    NULL,
};

const struct transport_ops *ncoll__transport_find(const char *name)
{
    for (unsigned i = 0; ncoll__transports[i] != NULL; i++)
        if (strcmp(ncoll__transports[i]->name, name) == 0)
            return ncoll__transports[i];
    return NULL;
}

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
