/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the time that each stage of creation takes. */
#include "lib/job/join.h"
#include "lib/base/context.h"

enum startup_stage ncoll__begin_stage(struct ncoll_context *ctx, enum startup_stage stage)
{
    uint64_t now_ns = ncoll__now_ns(ctx);
    enum startup_stage before = ctx->stage;

    if (ctx->stage_since_ns != 0 && before < STARTUP_STAGES)
        ctx->startup.ns[before] += now_ns - ctx->stage_since_ns;
    ctx->stage = stage;
    ctx->stage_since_ns = now_ns;
    return before;
}
