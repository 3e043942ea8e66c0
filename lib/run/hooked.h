/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the hooks of a context of the begin and the end of calls: ncoll_context_set_hooks(). */
#ifndef NCOLL_LIB_RUN_HOOKED_H
#define NCOLL_LIB_RUN_HOOKED_H

#include "lib/base/group.h"

/* A call of the user's begins; the context has hooks. Returns NCOLL_OK, or NCOLL_ERR_MEMORY: then it
 * must not begin. */
int ncoll__hooked_begins(struct ncoll_group *g, struct call *c, const struct known_call *k);
/* Does the same for a call that makes or frees a group, of the kind in struct creation_args. Sets
 * *hooked. */
int ncoll__hooked_group_begins(struct ncoll_group *g, int kind, struct hooked **hooked);
/* Notes the algorithm of a call that has just been planned, if the hooks know the call. */
void ncoll__hooked_planned(struct call *c);
/* Tells the end of a call, and sets *hooked to NULL. NULL: the hooks do not know it, or have been told
 * already. */
void ncoll__hooked_ends(struct ncoll_context *ctx, struct hooked **hooked, int status);
/* Frees the memory for calls to come. */
void ncoll__hooked_free(struct ncoll_context *ctx);

/* Returns the bytes of the elements that this rank gives and gets in a call; and the longer of both. */
size_t ncoll__given_bytes(const struct ncoll_group *g, const struct call_args *args);
size_t ncoll__got_bytes(const struct ncoll_group *g, const struct call_args *args);
size_t ncoll__longer_bytes(const struct ncoll_group *g, const struct call_args *args);

#endif
