/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "bootstrap/pmi.h"

void ncoll__pmi_key(const struct pmi *p, int rank, size_t piece, char key[PMI_KEY_MOST])
{
    snprintf(key, PMI_KEY_MOST, "ncoll.%u.%" PRIu64 ".%d.%zu", p->context, p->k, rank, piece);
}

int ncoll__pmi_no_memory(struct pmi *p, size_t bytes)
{
    return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                          "no memory to exchange %zu bytes with the other ranks", bytes);
}
