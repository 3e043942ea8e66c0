/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: compressed collectives. See snippets.h. */
#include "snippets.h"

static void compressed(ncoll_group *group)
{
    float in[COUNT] = {0}, out[COUNT];

    in[5] = 2;
    /* [ncoll_allreduce_compressed, ncoll_compressor_create, ncoll_codec_topk] Only 1 % of each vector is
     * sent. The rest is added to the vector of the next call: */
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

static void half(ncoll_group *group)
{
    float weights[COUNT] = {0};

    if (ncoll_group_rank(group) == 0)
        weights[COUNT - 1] = 0.5F;
    /* [ncoll_bcast_compressed, ncoll_codec_round16, ncoll_compressor_free] The weights of a model go from
     * rank 0 to all ranks in half of the bytes. Rank 0 gets the rounded weights, too: */
    ncoll_codec codec = {.size = sizeof codec};
    ncoll_compressor *compressor;
    int status = ncoll_codec_round16(&codec, NCOLL_BFLOAT16);
    if (status == NCOLL_OK)
        status = ncoll_compressor_create(group, &codec, COUNT, NCOLL_FLOAT, 0, &compressor);
    if (status == NCOLL_OK)
        status = ncoll_bcast_compressed(group, compressor, weights, weights, COUNT, NCOLL_FLOAT, 0,
                                        NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_compressor_free(&compressor);
    /* [] */
    EXPECT(status == NCOLL_OK && weights[COUNT - 1] == 0.5F);
}

static void checkpoint(ncoll_group *group)
{
    float in[COUNT] = {1, 2, 3}, out[COUNT], residual[COUNT];
    ncoll_codec codec = {.size = sizeof codec};
    ncoll_compressor *compressor;
    int status;

    EXPECT(ncoll_codec_topk(&codec, 1.0 / COUNT) == NCOLL_OK);
    EXPECT(ncoll_compressor_create(group, &codec, COUNT, NCOLL_FLOAT, 1, &compressor) == NCOLL_OK);
    EXPECT(ncoll_allreduce_compressed(group, compressor, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM,
                                      NCOLL_BLOCK) == NCOLL_OK);
    /* [ncoll_compressor_residual] A checkpoint has the residual of each rank, too, which later calls
     * would still have sent: */
    status = ncoll_compressor_residual(compressor, residual); /* COUNT elements; write them */
    /* [] */
    EXPECT(status == NCOLL_OK && residual[1] == 2 && residual[2] == 0);

    /* [ncoll_compressor_reset] Go on from a checkpoint, or begin anew: */
    int from_checkpoint = 1; /* the residual was read from a file */
    status = ncoll_compressor_reset(compressor, from_checkpoint ? residual : NULL);
    /* [] */
    EXPECT(status == NCOLL_OK && ncoll_compressor_residual(compressor, out) == NCOLL_OK);
    EXPECT(out[1] == 2 && ncoll_compressor_free(&compressor) == NCOLL_OK);
}

void show_compressed(ncoll_context *ctx, ncoll_group *group)
{
    (void)ctx;
    compressed(group);
    half(group);
    checkpoint(group);
}
