/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selection: which algorithm runs, with which radix. What the user forced comes first; then the
 * tuning table (lib/tune/), if it knows of such calls; then what the operation needs; then what is
 * preferred (select_preferred.c), and a LogP-like estimate of the radix (select_radix.c).
 */
#include "lib/plan/select.h"

#include <stdio.h>
#include <string.h>

#include "lib/failure/card.h"
#include "lib/plan/compile.h"
#include "lib/plan/estimate.h"
#include "lib/inspect.h"
#include "lib/internal.h"
#include "lib/api/settings.h"
#include "lib/tune/tune.h"

int ncoll__op_resolve(struct ncoll_context *ctx, ncoll_op op, ncoll_type type, struct op *out)
{
    if (op >= OP_USER && op - OP_USER < ctx->ops.count) {
        const ncoll_op_def *def = &ctx->ops.defs[op - OP_USER];
        bool commutative = def->flags & NCOLL_OP_COMMUTATIVE;
        *out = (struct op){
            .combine = def->combine,
            .inverse = commutative ? def->inverse : NULL,
            .arg = def->arg,
            .commutative = commutative,
            .idempotent = def->flags & NCOLL_OP_IDEMPOTENT,
            .exact = !ncoll__type_is_float(type),
        };
        return NCOLL_OK;
    }
    if (ncoll__op_builtin(op, type, out))
        return NCOLL_OK;
    if (ncoll__op_known(op))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, ncoll__type_advice(type),
                           "operation %s is not defined for %s", ncoll__op_name(op),
                           ncoll__type_name(type));
    return ncoll__fail(
        ctx, NCOLL_ERR_ARGUMENT, -1,
        "use one of NCOLL_SUM..NCOLL_SUM_REPRODUCIBLE or what ncoll_op_create() gave",
        "operation %u is unknown", op);
}

/* ------------------------------------------------------------------ algorithm ----------------- */

static int pick_algorithm(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                          size_t bytes, struct choice *out, bool *asked_for)
{
    const char *asked = *ncoll__algorithm_setting(&g->ctx->settings, args->collective);

    out->algorithm = args->algorithm;
    out->from = FROM_TOOL;
    out->why = "asked for";
    if (!args->internal) {
        out->algorithm = g->forced[args->collective].algorithm;
        if (out->algorithm == NULL && asked != NULL) {
            out->algorithm = ncoll__algorithm_find(asked); /* known: checked at creation */
            out->from = FROM_SETTING;
        }
    }
    *asked_for = out->algorithm != NULL;
    if (!*asked_for) {
        out->algorithm = ncoll__algorithm_find(ncoll__preferred(g, args, op, bytes, &out->why));
        out->from = FROM_RULE;
    }
    if (ncoll__serves(out->algorithm, args, op))
        return NCOLL_OK;
    return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                       "leave the choice to ncoll, or see `ncoll-explain list`",
                       "algorithm %s does not serve this %s (operation or counts)",
                       out->algorithm->name, ncoll__collective_name(args->collective));
}

/* ------------------------------------------------------------------ radix --------------------- */

/* A list from the settings is for all calls: algorithms that take one number go by its first. */
static unsigned setting_for(const struct ncoll_context *ctx, const struct algorithm *algorithm)
{
    unsigned radix = ctx->settings.radix > 0 ? (unsigned)ctx->settings.radix : 0;

    return algorithm->properties & TAKES_LIST ? radix : radix_of_round(radix, 1);
}

/* What somebody wants it to be; 0: nobody does. */
static unsigned radix_asked(const struct ncoll_group *g, const struct call_args *args,
                            struct choice *out)
{
    unsigned asked = args->internal ? 1 : g->forced[args->collective].radix;
    enum choice_from from = FROM_TOOL;

    if (args->radix != 0)
        return args->radix;
    if (asked == 0) {
        asked = setting_for(g->ctx, out->algorithm);
        from = FROM_SETTING;
    }
    if (asked == 0 && ncoll__trial_is_for(args)) {
        asked = g->tried[args->collective];
        from = FROM_TRIAL;
    }
    if (asked != 0 && out->algorithm->properties & USES_RADIX)
        out->from = from;
    return asked;
}

#define LONG_SCAN_BYTES ((size_t)256 << 10)

static unsigned pick(const struct ncoll_group *g, const struct call_args *args, const struct op *op,
                     const struct shape *shape, size_t bytes, bool asked_for, struct choice *out)
{
    unsigned asked = radix_asked(g, args, out);

    if (asked != 0)
        return asked;
    if (!(out->algorithm->properties & USES_RADIX))
        return 1;
    enum choice_from from = asked_for ? out->from : FROM_MODEL;
    if (args->collective == COLL_BARRIER || args->collective == COLL_ALLREDUCE ||
        strcmp(out->algorithm->name, "knomial") == 0) {
        out->from = from;
        return ncoll__pick_by_estimate(g, args, op, shape, bytes, asked_for, out);
    }
    if (args->collective == COLL_ALLGATHER && !asked_for) {
        out->from = from;
        return ncoll__pick_for_allgather(g, shape, bytes, out);
    }
    if (strcmp(out->algorithm->name, "doubling") == 0) {
        /* what is shown to several is copied once, and where ranks share cores rounds are dear,
         * until it is so much that reading it is what takes the time */
        bool once = g->ctx->places.ranks_per_core > 1 && ncoll__all_show(g, bytes) &&
                    bytes < LONG_SCAN_BYTES;
        out->from = from;
        ncoll__estimate(g, out->algorithm, *shape, once ? 0 : bytes, &asked);
    }
    return asked != 0 ? asked : 1;
}

bool ncoll__is_asked(const struct ncoll_group *g, const struct call_args *args)
{
    return args->algorithm != NULL || g->ctx->settings.radix > 0 ||
           g->forced[args->collective].algorithm != NULL ||
           g->forced[args->collective].radix != 0 ||
           *ncoll__algorithm_setting(&g->ctx->settings, args->collective) != NULL;
}

/* Whether the table knows the call, of which nothing is asked for: algorithm, radix, segments. */
static bool pick_tuned(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                       size_t bytes, struct choice *out, size_t *segment_bytes)
{
    const struct tune_rule *rule =
        ncoll__is_asked(g, args) ? NULL : ncoll__tuned(g, args, op, bytes);

    if (rule == NULL)
        return false;
    out->algorithm = rule->algorithm;
    out->radix = rule->radix;
    out->lanes = rule->lanes;
    out->from = FROM_TABLE;
    out->why = "measured, and the fastest";
    *segment_bytes = rule->segment_bytes;
    return true;
}

static void cut(size_t element, size_t segment_bytes, size_t longest, struct choice *out)
{
    size_t most = segment_bytes / element > 0 ? segment_bytes / element : 1;

    if (segment_bytes > 0 && most < out->segment)
        out->segment = most;
    out->segments = longest == 0 ? 1 : (longest + out->segment - 1) / out->segment;
}

static size_t longest_of(const struct ncoll_group *g, const struct call_args *args)
{
    size_t longest = args->counts == NULL ? args->count : 0;

    for (int q = 0; args->counts != NULL && q < g->size; q++)
        longest = args->counts[q] > longest ? args->counts[q] : longest;
    return longest;
}

int ncoll__select(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                  size_t longest, struct choice *out)
{
    size_t element = ncoll__element_bytes(g->ctx, args), segment_bytes = 0;
    struct shape shape = ncoll__shape(g, args, 1, op->inverse != NULL);
    char radix[RADIX_TEXT];
    bool asked_for;

    if (longest == 0)
        longest = longest_of(g, args);
    *out = (struct choice){.lanes = LANES};
    if (!pick_tuned(g, args, op, longest * element, out, &segment_bytes)) {
        int rc = pick_algorithm(g, args, op, longest * element, out, &asked_for);
        if (rc != NCOLL_OK)
            return rc;
        out->radix = pick(g, args, op, &shape, longest * element, asked_for, out);
        segment_bytes = ncoll__shown_pieces(g, args->collective, longest * element);
    }
    if (!args->internal && g->forced[args->collective].segment_bytes > 0)
        segment_bytes = g->forced[args->collective].segment_bytes;
    if (!args->internal && g->forced[args->collective].lanes > 0)
        out->lanes = g->forced[args->collective].lanes;
    shape.radix = out->radix;
    if (!(out->algorithm->properties & USES_RADIX))
        out->radix = shape.radix = radix_of_round(shape.radix, 1);
    if (radix_is_list(shape.radix) && !(out->algorithm->properties & TAKES_LIST))
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                           "give one number; `ncoll-explain list` says which take a list",
                           "algorithm %s takes one radix, not the list %s", out->algorithm->name,
                           ncoll__radix_text(shape.radix, radix));
    if (!algorithm_exists(out->algorithm, &shape))
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                           "choose another radix or algorithm, or leave the choice to ncoll",
                           "algorithm %s does not exist for %d ranks with n = %s",
                           out->algorithm->name, g->size, ncoll__radix_text(shape.radix, radix));
    out->segment = ncoll__plan_segment(g, out->algorithm, &shape, element, longest);
    if (out->segment == 0)
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                           g == g->ctx->world
                               ? "raise NCOLL_WINDOW, or choose another algorithm"
                               : "raise NCOLL_GROUP_WINDOW, or choose another algorithm",
                           "the window of %zu bytes is too small for algorithm %s with %d ranks",
                           EPOCHS * g->window->shape.bulk_bytes, out->algorithm->name, g->size);
    cut(element, segment_bytes, longest, out);
    if (out->segments > 1 && args->collective == COLL_ALLTOALL &&
        (out->algorithm->properties & REGULAR_ONLY)) {
        out->algorithm = ncoll__algorithm_find(ncoll__last_resort(args->collective));
        out->from = FROM_RULE;
        out->why = "too long for one piece";
        out->radix = shape.radix = radix_of_round(shape.radix, 1);
        out->segment = ncoll__plan_segment(g, out->algorithm, &shape, element, longest);
        out->segments = (longest + out->segment - 1) / out->segment;
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ for the tools ------------- */

int ncoll__choose(ncoll_group *g, enum collective collective, size_t count, ncoll_type type,
                  ncoll_op op, struct choice *out)
{
    struct call_args args = {.collective = collective, .count = count, .type = type, .op = op};
    struct op resolved = {0};

    if (collective == COLL_BARRIER)
        args.count = 0;
    if (reduces(collective)) {
        int rc = ncoll__op_resolve(g->ctx, op, type, &resolved);
        if (rc != NCOLL_OK)
            return rc;
    }
    return ncoll__select(g, &args, &resolved, 0, out);
}

int ncoll__choose_with_counts(ncoll_group *g, enum collective collective, const size_t *counts,
                              ncoll_type type, struct choice *out)
{
    struct call_args args = {.collective = collective, .counts = counts, .type = type};

    return ncoll__select(g, &args, &(struct op){0}, 0, out);
}

const struct nodes *ncoll__group_nodes(const ncoll_group *g)
{
    return g->nodes.count > 1 ? &g->nodes : NULL;
}

int ncoll__group_force(ncoll_group *g, enum collective collective, const char *algorithm,
                       unsigned radix)
{
    const struct algorithm *found = algorithm != NULL ? ncoll__algorithm_find(algorithm) : NULL;

    char text[RADIX_TEXT];

    if ((algorithm != NULL && found == NULL) || (radix != 0 && !ncoll__radix_is_valid(radix)))
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1,
                           "see `ncoll-explain list` for algorithms; the radix is 1 to 16",
                           "no algorithm %s with n = %s", algorithm ? algorithm : "(chosen)",
                           ncoll__radix_text(radix, text));
    if (g->first != NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1, "finish it first",
                           "a collective is unfinished on this group");
    g->forced[collective].algorithm = found;
    g->forced[collective].radix = radix;
    g->forced[collective].segment_bytes = 0;
    g->forced[collective].lanes = 0;
    ncoll__plans_free(g);
    return NCOLL_OK;
}

int ncoll__group_force_segments(ncoll_group *g, enum collective collective, size_t segment_bytes,
                                unsigned lanes)
{
    if (lanes > LANES)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "give 1 to 4, or 0",
                           "%u segments cannot go on at once", lanes);
    if (g->first != NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1, "finish it first",
                           "a collective is unfinished on this group");
    g->forced[collective].segment_bytes = segment_bytes;
    g->forced[collective].lanes = lanes;
    ncoll__plans_free(g);
    return NCOLL_OK;
}

const char *ncoll__choice_from(const struct choice *choice)
{
    static const char *const names[] = {
        [FROM_RULE] = "rule",   [FROM_SETTING] = "setting", [FROM_TOOL] = "tool",
        [FROM_TABLE] = "table", [FROM_TRIAL] = "trial",     [FROM_MODEL] = "model",
    };

    return names[choice->from];
}

const char *ncoll__choice_why(const struct choice *choice, char text[CHOICE_TEXT])
{
    snprintf(text, CHOICE_TEXT, "%s: %s", ncoll__choice_from(choice), choice->why);
    return text;
}
