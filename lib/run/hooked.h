/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the hooks of a context of the begin and the end of calls: ncoll_context_set_hooks(). */
#ifndef NCOLL_LIB_RUN_HOOKED_H
#define NCOLL_LIB_RUN_HOOKED_H

#include "lib/base/group.h"

/* Tells the hooks of a context, which must have some, that a call of the user's begins. Returns
 * NCOLL_OK; or NCOLL_ERR_MEMORY: the call must not begin. */
int ncoll__hooked_begins(struct ncoll_group *g, struct call *c, const struct known_call *k);
/* Tells the hooks that a call that makes or frees a group begins. kind: enum group_call. *hooked
 * becomes the record that the end of the call needs. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__hooked_group_begins(struct ncoll_group *g, int kind, struct hooked **hooked);
/* Notes the algorithm of a call that has just been planned, if the hooks know the call. */
void ncoll__hooked_planned(struct call *c);
/* Tells the hooks that a call has ended, and sets *hooked to NULL. If *hooked is NULL already, does
 * nothing: the hooks do not know the call, or know its end. */
void ncoll__hooked_ends(struct ncoll_context *ctx, struct hooked **hooked, int status);
/* Frees the idle records that are kept for further calls. */
void ncoll__hooked_free(struct ncoll_context *ctx);

/* Return the bytes of the elements that this rank gives in a call, the bytes of those that it gets,
 * and the greater of the two. */
size_t ncoll__given_bytes(const struct ncoll_group *g, const struct call_args *args);
size_t ncoll__got_bytes(const struct ncoll_group *g, const struct call_args *args);
size_t ncoll__longer_bytes(const struct ncoll_group *g, const struct call_args *args);

#endif
