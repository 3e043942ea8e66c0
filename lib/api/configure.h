/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of a context. */
#ifndef NCOLL_LIB_API_CONFIGURE_H
#define NCOLL_LIB_API_CONFIGURE_H

#include "lib/base/context.h"

/* Resolves params and environment into ctx->settings. Strings still belong to the caller or the
 * environment. */
int ncoll__configure_early(struct ncoll_context *ctx, const ncoll_params *params);
/* Replaces the strings by copies that the context owns, and checks them. */
int ncoll__configure(struct ncoll_context *ctx);
void ncoll__configure_free(struct ncoll_context *ctx);

#endif
