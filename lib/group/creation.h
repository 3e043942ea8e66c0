/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and freeing groups, between the public calls and the runs of the parent's schedules. */
#ifndef NCOLL_LIB_CREATION_H
#define NCOLL_LIB_CREATION_H

#include "lib/failure/card.h"
#include "lib/internal.h"

struct creation_args {
    enum group_call kind;
    int color, key; /* of the group that this rank is in, and its place there; color -1: in none */
    const int *ranks; /* as the user gave them */
    int n_ranks;
    uint64_t hash; /* of what must be the same on all ranks */
};

/* Makes a group, or goes on with the one that timed out. Sets *out on NCOLL_OK. */
int ncoll__group_create(struct ncoll_group *parent, const struct creation_args *args,
                        ncoll_group **out, int64_t timeout_ns);
/* Frees a group with all its members. It is gone unless NCOLL_TIMEOUT comes back, or an error that
 * does not break the job. */
int ncoll__group_end(struct ncoll_group *g, int64_t timeout_ns);
void ncoll__creation_free(struct ncoll_context *ctx, struct creation *c);

/* group.c: a group without connections, or magic; takes the members over, NULL: the world. */
int ncoll__group_make(struct ncoll_context *ctx, int rank, int size, int *members, size_t bytes,
                      struct ncoll_group **out);
/* quiet: nobody writes to its window any more. */
void ncoll__group_free(struct ncoll_group *g, bool quiet);

#endif
