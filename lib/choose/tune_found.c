/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the results of trials, which are made in the first calls of a job, for later jobs, in the
 * file that the user has named. */
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/choose/fit.h"
#include "lib/choose/select.h"
#include "lib/plan/arguments.h"
#include "lib/choose/tune.h"

static bool is_kept(const struct ncoll_context *ctx)
{
    const char *named = ctx->settings.tune_file;

    return ctx->rank == 0 && ctx->settings.tune == NCOLL_TUNE_TRIAL && named != NULL &&
           *named != '\0';
}

/* Makes a rule for sizes from half of the measured size to one and a half times that size. */
static struct tune_rule rule_of(const struct ncoll_group *g, const struct call_args *args,
                                const struct op *op, const struct choice *choice, double ns)
{
    uint64_t bytes = args->count * ncoll__element_bytes(g->ctx, args);
    bool same_bits = ncoll__needs_same_bits(g, args, op);

    if (args->collective == COLL_BARRIER)
        bytes = 0;
    return (struct tune_rule){
        .collective = args->collective,
        .same_bits = same_bits,
        .from_bytes = bytes - bytes / 2,
        .to_bytes = bytes + bytes / 2,
        .algorithm = choice->algorithm,
        .radix = choice->radix,
        .lanes = choice->lanes,
        .ns = ns > 0 && ns < 1e11 ? (uint64_t)ns : 0,
    };
}

void ncoll__tune_found(struct ncoll_group *g, const struct call_args *args, double ns)
{
    struct ncoll_context *ctx = g->ctx;
    struct choice choice;
    struct op op = {0};

    if (!is_kept(ctx) || ctx->n_found == FOUND_MAX || ncoll__is_asked(g, args))
        return;
    if ((reduces(args->collective) &&
         ncoll__op_resolve(ctx, args->op, args->type, &op) != NCOLL_OK) ||
        ncoll__select(g, args, &op, 0, &choice) != NCOLL_OK)
        return;
    struct tune_found *found = &ctx->found[ctx->n_found++];
    ncoll__tune_here(ctx, &found->key);
    found->key.ranks = (uint64_t)g->size;
    found->key.node_ranks = ncoll__tune_node_ranks(g);
    found->rule = rule_of(g, args, &op, &choice, ns);
}

void ncoll__tune_keep(struct ncoll_context *ctx)
{
    char path[PATH_MAX], why[TUNE_WHY];

    for (unsigned i = 0; i < ctx->n_found; i++)
        if (ncoll__tune_path(ctx->settings.tune_file, path) &&
            !ncoll__tune_write_found(ctx, path, &ctx->found[i].key, &ctx->found[i].rule, why)) {
            ncoll__log(ctx, NCOLL_LOG_WARN, "what the trial found is not kept in %s: %s", path,
                       why);
            return;
        }
}
