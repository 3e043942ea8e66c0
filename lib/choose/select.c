/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selection of an algorithm and its radix. An algorithm that the user forces comes first, then the
 * rules that a person has written (ruled.c), then the tuning table (tune.c), if it has an entry for
 * the call. Otherwise the algorithms themselves decide (fit.c): they declare how well they suit the
 * call, and estimate its time. Nothing here depends on a particular algorithm.
 */
#include "lib/choose/select.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/signature.h"
#include "lib/plan/compile.h"
#include "lib/choose/estimate.h"
#include "lib/choose/fit.h"
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/base/settings.h"
#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"
#include "lib/choose/ruled.h"
#include "lib/choose/tune.h"

/* ------------------------------------------------------------------ algorithm ----------------- */

/* Returns the algorithm that the call, a tool or a setting asks for; NULL: none. */
static const struct algorithm *algorithm_asked(const struct candidacy *c, struct choice *out)
{
    const struct call_args *args = c->args;
    const char *setting = *ncoll__algorithm_setting(&c->g->ctx->settings, args->collective);

    out->algorithm = args->algorithm;
    out->from = FROM_TOOL;
    out->why = "asked for";
    if (!args->internal) {
        out->algorithm = c->g->forced[args->collective].algorithm;
        if (out->algorithm == NULL && setting != NULL) {
            /* not NULL: names are checked when the context is created */
            out->algorithm = ncoll__algorithm_find(setting);
            out->from = FROM_SETTING;
        }
    }
    /* an algorithm for calls of all ranks cannot make a call of a part of the ranks */
    if (args->places > 0 && out->algorithm != NULL && !(out->algorithm->properties & TAKES_PLACES))
        out->algorithm = NULL;
    return out->algorithm;
}

static int pick_algorithm(const struct candidacy *c, struct choice *out, bool *asked_for)
{
    const struct algorithm *asked = algorithm_asked(c, out);
    struct candidacy any = *c;

    any.any_peers = true;
    *asked_for = asked != NULL;
    if (!*asked_for) {
        out->from = FROM_FIT;
        return ncoll__choose_fit(c, NULL, out) || ncoll__choose_fit(&any, NULL, out)
                   ? NCOLL_OK
                   : ncoll__refuse_all(c);
    }
    if (ncoll__serves(asked, c->args, c->op))
        return NCOLL_OK;
    return ncoll__fail(c->g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_ALGORITHM), -1,
                       "leave the choice to ncoll, or see `ncoll-explain list`",
                       "algorithm %s does not serve this %s (operation or counts)", asked->name,
                       ncoll__collective_name(c->args->collective));
}

/* ------------------------------------------------------------------ radix --------------------- */

/* Returns the radix that the settings give for all calls; 0: none. For an algorithm that takes a
 * single radix this is the first number of a list. */
static unsigned setting_for(const struct ncoll_context *ctx, const struct algorithm *algorithm)
{
    unsigned radix = ctx->settings.radix > 0 ? (unsigned)ctx->settings.radix : 0;

    return algorithm->properties & TAKES_LIST ? radix : radix_of_round(radix, 1);
}

/* The result depends on the arguments only, not on the plan: on some ranks the plan is made before
 * the trial is over. */
bool ncoll__trial_is_for(const struct call_args *args)
{
    bool kind = args->collective == COLL_BARRIER || args->collective == COLL_ALLREDUCE;

    return kind && !args->internal && args->sync == NCOLL_LOOSE &&
           args->op != NCOLL_SUM_REPRODUCIBLE;
}

/* Returns the radix that the user or a tool asks for; 0: none. */
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

/* Chooses algorithm and radix: those that the user or a tool asks for, else by fits and estimates.
 * *asked_for: an algorithm was asked for. */
static int pick(const struct candidacy *c, bool *asked_for, struct choice *out)
{
    struct shape shape = ncoll__shape(c->g, c->args, 1, c->op->inverse != NULL);
    int rc = pick_algorithm(c, out, asked_for);

    if (rc != NCOLL_OK || (out->radix = radix_asked(c->g, c->args, out)) != 0)
        return rc;
    double ns = ncoll__estimate(c->g, out->algorithm, shape, &c->situation, &out->radix);
    if (ns < 0 || !(out->algorithm->properties & USES_RADIX))
        return NCOLL_OK;
    if (*asked_for)
        return NCOLL_OK;
    out->from = FROM_MODEL;
    if (!ncoll__can_run(c, out->algorithm, out->radix))
        out->radix = 1; /* pick_algorithm() has checked that radix 1 can run */
    ncoll__choose_rival(c, ns, out);
    return NCOLL_OK;
}

/* Chooses by the tuning table. Returns false if the table has no entry for the call, if its
 * algorithm needs more peers than can be connected, or if the user or a tool asks for an algorithm
 * or a radix. */
static bool pick_tuned(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                       size_t bytes, struct choice *out, size_t *segment_bytes)
{
    const struct tune_rule *rule =
        ncoll__is_asked(g, args) ? NULL : ncoll__tuned(g, args, op, bytes);

    if (rule == NULL || ncoll__is_refused(g, rule->algorithm, rule->radix))
        return false;
    struct shape shape = ncoll__shape(g, args, rule->radix, op->inverse != NULL);
    if (!ncoll__within_peers(g, rule->algorithm, &shape))
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

static int check_radix(struct ncoll_group *g, const struct shape *shape,
                       const struct algorithm *algorithm)
{
    char radix[RADIX_TEXT];

    if (radix_is_list(shape->radix) && !(algorithm->properties & TAKES_LIST))
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_ALGORITHM), -1,
                           "give one number; `ncoll-explain list` says which take a list",
                           "algorithm %s takes one radix, not the list %s", algorithm->name,
                           ncoll__radix_text(shape->radix, radix));
    if (!algorithm_exists(algorithm, shape))
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_ALGORITHM), -1,
                           "choose another radix or algorithm, or leave the choice to ncoll",
                           "algorithm %s does not exist for %d ranks with n = %s", algorithm->name,
                           g->size, ncoll__radix_text(shape->radix, radix));
    return NCOLL_OK;
}

/* Chooses the length and the number of segments. The library's own calls have one segment: the
 * window is made large enough for them. */
static int segment(struct ncoll_group *g, const struct call_args *args, const struct shape *shape,
                   size_t longest, size_t segment_bytes, struct choice *out)
{
    size_t element = ncoll__element_bytes(g->ctx, args);

    if (!args->internal)
        out->segment = ncoll__plan_segment(g, out->algorithm, shape, element, longest);
    else if (ncoll__plan_fits_whole(g, out->algorithm, shape, element))
        out->segment = longest > 0 ? longest : 1;
    if (out->segment == 0)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, WINDOW_TOO_SMALL), -1,
                           g == g->ctx->world
                               ? "raise NCOLL_WINDOW, or choose another algorithm"
                               : "raise NCOLL_GROUP_WINDOW, or choose another algorithm",
                           "the window of %zu bytes is too small for algorithm %s with %d ranks",
                           EPOCHS * g->window->shape.bulk_bytes, out->algorithm->name, g->size);
    cut(element, args->internal ? 0 : segment_bytes, longest, out);
    out->parts = shape->parts;
    return NCOLL_OK;
}

/* True if an alltoall is cut only because its algorithm sends several blocks as one message. An
 * algorithm that sends each block by itself is then better. */
static bool is_cut_in_vain(const struct call_args *args, const struct choice *choice)
{
    return choice->segments > 1 && args->collective == COLL_ALLTOALL &&
           (choice->algorithm->properties & PADS_BLOCKS);
}

int ncoll__select(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                  size_t longest, struct choice *out)
{
    size_t segment_bytes = 0;
    struct shape shape = ncoll__shape(g, args, 1, op->inverse != NULL);
    struct candidacy c = {
        .g = g, .args = args, .op = op, .longest = longest > 0 ? longest : longest_of(g, args)};
    bool asked_for = true;
    int rc;

    c.situation = ncoll__situation(g, args, op, c.longest);
    *out = (struct choice){.lanes = LANES};
    if (!ncoll__choose_ruled(&c, out, &segment_bytes) &&
        !pick_tuned(g, args, op, c.situation.bytes, out, &segment_bytes)) {
        if ((rc = pick(&c, &asked_for, out)) != NCOLL_OK)
            return rc;
        segment_bytes = ncoll__peer_read_pieces(g, args->collective, c.situation.bytes);
    }
    if (!args->internal && g->forced[args->collective].segment_bytes > 0)
        segment_bytes = g->forced[args->collective].segment_bytes;
    if (!args->internal && g->forced[args->collective].lanes > 0)
        out->lanes = g->forced[args->collective].lanes;
    if (!(out->algorithm->properties & USES_RADIX))
        out->radix = radix_of_round(out->radix, 1);
    shape.radix = out->radix;
    ncoll__divide_call(g, args, out->algorithm, &shape);
    if ((rc = check_radix(g, &shape, out->algorithm)) != NCOLL_OK ||
        (rc = segment(g, args, &shape, c.longest, segment_bytes, out)) != NCOLL_OK)
        return rc;
    struct choice other = *out;
    if (asked_for || !is_cut_in_vain(args, out) || !ncoll__choose_fit(&c, out->algorithm, &other) ||
        (other.algorithm->properties & PADS_BLOCKS))
        return NCOLL_OK;
    other.from = FROM_FIT;
    other.why = "too long for one piece";
    other.radix = shape.radix = 1;
    ncoll__divide_call(g, args, other.algorithm, &shape);
    *out = other;
    return segment(g, args, &shape, c.longest, 0, out);
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

int ncoll__choose_untuned(ncoll_group *g, enum collective collective, size_t count, ncoll_type type,
                          ncoll_op op, struct choice *out)
{
    struct ncoll_context *ctx = g->ctx;
    ncoll_tune tune = ctx->settings.tune;
    unsigned n_rules = ctx->rules.n;

    ctx->settings.tune = NCOLL_TUNE_MODEL;
    ctx->rules.n = 0;
    int rc = ncoll__choose(g, collective, count, type, op, out);
    ctx->settings.tune = tune;
    ctx->rules.n = n_rules;
    return rc;
}

int ncoll__choose_with_counts(ncoll_group *g, enum collective collective, const size_t *counts,
                              ncoll_type type, struct choice *out)
{
    struct call_args args = {.collective = collective, .counts = counts, .type = type};

    return ncoll__select(g, &args, &(struct op){0}, 0, out);
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
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1, "finish it first",
                           "a collective is unfinished on this group");
    g->forced[collective].algorithm = found;
    g->forced[collective].radix = radix;
    g->forced[collective].segment_bytes = 0;
    g->forced[collective].lanes = 0;
    g->forced[collective].slots = 0;
    ncoll__known_calls_forget(g);
    return NCOLL_OK;
}

int ncoll__group_force_segments(ncoll_group *g, enum collective collective, size_t segment_bytes,
                                unsigned lanes)
{
    if (lanes > LANES)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "give 1 to 4, or 0",
                           "%u segments cannot go on at once", lanes);
    if (g->first != NULL)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1, "finish it first",
                           "a collective is unfinished on this group");
    g->forced[collective].segment_bytes = segment_bytes;
    g->forced[collective].lanes = lanes;
    ncoll__known_calls_forget(g);
    return NCOLL_OK;
}

int ncoll__group_force_slots(ncoll_group *g, enum collective collective, unsigned slots)
{
    if (g->first != NULL)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1, "finish it first",
                           "a collective is unfinished on this group");
    g->forced[collective].slots = slots;
    ncoll__known_calls_forget(g);
    return NCOLL_OK;
}

const char *ncoll__choice_from(const struct choice *choice)
{
    static const char *const names[] = {
        [FROM_FIT] = "fit",     [FROM_SETTING] = "setting", [FROM_TOOL] = "tool",
        [FROM_RULE] = "rule",   [FROM_TABLE] = "table",     [FROM_TRIAL] = "trial",
        [FROM_MODEL] = "model",
    };

    return names[choice->from];
}

const char *ncoll__choice_why(const struct choice *choice, char text[CHOICE_TEXT])
{
    snprintf(text, CHOICE_TEXT, "%s: %s", ncoll__choice_from(choice), choice->why);
    return text;
}
