/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/transport.h"

#include <string.h>

extern const struct transport_ops ncoll__transport_shm;
#ifdef NCOLL_HAVE_VERBS
extern const struct transport_ops ncoll__transport_verbs, ncoll__transport_shm_verbs;
#endif

const struct transport_ops *const ncoll__transports[] = {
    &ncoll__transport_shm,
#ifdef NCOLL_HAVE_VERBS
    &ncoll__transport_verbs,
    &ncoll__transport_shm_verbs,
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
