/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: compressed collectives. See snippets.h. */
#include "snippets.h"

static void compressed(ncoll_group *group)
{
    float in[COUNT] = {0}, out[COUNT];

    in[5] = 2;
    /* [ncoll_allreduce_compressed, ncoll_compressor_create] Of each vector only 1 % is sent; what
     * is left out is added to the vector of the next call: */
    ncoll_codec codec = {.size = sizeof codec};
    ncoll_compressor *compressor;
    int status = ncoll_codec_topk(&codec, 0.01);
    if (status == NCOLL_OK)
        status = ncoll_compressor_create(group, &codec, COUNT, NCOLL_FLOAT, 1, &compressor);
    if (status == NCOLL_OK)
        status = ncoll_allreduce_compressed(group, compressor, in, out, COUNT, NCOLL_FLOAT,
                                            NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out[5] == 2 * RANKS);
    EXPECT(ncoll_compressor_free(&compressor) == NCOLL_OK);
}

void show_compressed(ncoll_context *ctx, ncoll_group *group)
{
    (void)ctx;
    compressed(group);
}
