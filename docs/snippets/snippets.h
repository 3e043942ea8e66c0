/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The EXAMPLES of the manual pages in section 3: docs/man3.py copies what lies between the line with
 * the names of pages and `[]`. The test `snippets` runs them on four ranks.
 */
#ifndef SNIPPETS_H
#define SNIPPETS_H

#include <ncoll.h>
#include <ncoll_eventual.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                     \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { RANKS = 4, COUNT = 1000 };

/* Each runs the examples of its file; all ranks call it. */
void show_collectives(ncoll_context *ctx, ncoll_group *group);
void show_requests(ncoll_context *ctx, ncoll_group *group);
void show_contexts(ncoll_context *ctx, ncoll_group *group);
void show_groups(ncoll_context *ctx, ncoll_group *group);
void show_data(ncoll_context *ctx, ncoll_group *group);
void show_eventual(ncoll_context *ctx, ncoll_group *group);
void show_compressed(ncoll_context *ctx, ncoll_group *group);

#endif
