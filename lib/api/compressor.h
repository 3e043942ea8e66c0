/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressors: handles, and freeing them. */
#ifndef NCOLL_LIB_API_COMPRESSOR_H
#define NCOLL_LIB_API_COMPRESSOR_H

#include "lib/base/compressor.h"

static inline bool is_compressor(const struct ncoll_compressor *z)
{
    return z != NULL && z->magic == COMPRESSOR_MAGIC;
}

/* Frees all compressors of the context that the user has not freed. */
void ncoll__compressors_free(struct ncoll_context *ctx);

#endif
