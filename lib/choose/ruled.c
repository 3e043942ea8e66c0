/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses algorithms by the rules that a person has written: see rules.h. */
#include "lib/choose/ruled.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/choose/estimate.h"
#include "lib/choose/fit.h"
#include "lib/choose/select.h"
#include "lib/choose/tune.h"
#include "lib/inspect.h"
#include "lib/plan/arguments.h"
#include "lib/plan/compile.h"
#include "lib/topology/levels.h"

static bool is_in(uint64_t value, struct rule_range range)
{
    return value >= range.from && value <= range.to;
}

static bool applies(const struct ncoll_group *g, const struct call_args *args,
                    const uint64_t numbers[RULE_NUMBERS], bool same_bits, size_t bytes,
                    const struct rule *rule)
{
    if (rule->collective != args->collective || !is_in(bytes, rule->bytes) ||
        (rule->same_bits && !same_bits))
        return false;
    for (unsigned i = 0; i < RULE_NUMBERS; i++)
        if (!is_in(numbers[i], rule->numbers[i]))
            return false;
    return *rule->transport == '\0' || strcmp(rule->transport, g->ctx->transport->ops->name) == 0;
}

struct rule *ncoll__rule_for(const struct ncoll_group *g, const struct call_args *args,
                             const struct op *op, size_t bytes)
{
    const struct ncoll_context *ctx = g->ctx;

    if (ctx->rules.n == 0 || args->internal || args->own_op != NULL || args->radix != 0 ||
        args->places > 0 || ncoll__is_asked(g, args))
        return NULL;
    const uint64_t numbers[RULE_NUMBERS] = {
        [RULE_RANKS] = (uint64_t)g->size,
        [RULE_NODES] = g->level == NO_LEVEL ? g->nodes.count : 1,
        [RULE_NODE_RANKS] = ncoll__tune_node_ranks(g),
        [RULE_PER_CORE] = (uint64_t)(ctx->places.ranks_per_core * 1000 + 0.5),
    };
    bool same_bits = ncoll__needs_same_bits(g, args, op);
    for (unsigned i = 0; i < ctx->rules.n; i++)
        if (applies(g, args, numbers, same_bits, bytes, &ctx->rules.all[i]))
            return &ctx->rules.all[i];
    return NULL;
}

/* ------------------------------------------------------------------ checking a rule ----------- */

#define REASON 128

/* Returns why a rule cannot be followed with this radix; NULL: it can. */
static const char *fault(const struct candidacy *c, const struct rule *rule, unsigned radix,
                         char text[REASON])
{
    const struct algorithm *a = rule->algorithm;
    bool same_bits = ncoll__needs_same_bits(c->g, c->args, c->op);
    struct shape shape = ncoll__shape(c->g, c->args, radix, c->op->inverse != NULL);
    char n[RADIX_TEXT];

    if (!ncoll__serves(a, c->args, c->op))
        return "does not serve this operation or these counts";
    if (same_bits && !(a->properties & GIVES_SAME_BITS))
        return "does not give all ranks the same bits, unless NCOLL_ANY_ORDER is 1";
    if (ncoll__is_refused(c->g, a, radix))
        return "takes more connections than the device of some rank has room for";
    if (!algorithm_exists(a, &shape)) {
        if (a->properties & USES_RADIX)
            snprintf(text, REASON, "does not exist for them with n = %s",
                     ncoll__radix_text(radix, n));
        return a->properties & USES_RADIX ? text : "does not exist for them";
    }
    if (!ncoll__within_peers(c->g, a, &shape))
        return "takes more peers than NCOLL_PEERS allows";
    return ncoll__fits_window(c->g, c->args, a, &shape, c->situation.bytes)
               ? NULL
               : "does not fit the window (NCOLL_WINDOW, NCOLL_GROUP_WINDOW)";
}

static unsigned radix_for(const struct candidacy *c, const struct rule *rule)
{
    struct shape shape = ncoll__shape(c->g, c->args, 1, c->op->inverse != NULL);
    unsigned radix = 1;

    if (rule->radix != 0 || !(rule->algorithm->properties & USES_RADIX))
        return rule->radix != 0 ? rule->radix : 1;
    ncoll__estimate(c->g, rule->algorithm, shape, &c->situation, &radix);
    return ncoll__can_run(c, rule->algorithm, radix) ? radix : 1;
}

/* Logs that a rule is not followed, and why. The first message about a rule, on rank 0 of the
 * group, has level info, so that all users see it; all others have level debug. */
static void log_fault(const struct candidacy *c, struct rule *rule, const char *why)
{
    const struct ncoll_group *g = c->g;
    bool first = !rule->said && g->rank == 0;

    rule->said = true;
    ncoll__log(g->ctx, first ? NCOLL_LOG_INFO : NCOLL_LOG_DEBUG,
               "the rule at %s is not followed by %s of %zu bytes on %d ranks: algorithm %s %s",
               rule->where, ncoll__collective_name(c->args->collective), c->situation.bytes,
               g->size, rule->algorithm->name, why);
}

bool ncoll__choose_ruled(const struct candidacy *c, struct choice *out, size_t *segment_bytes)
{
    struct rule *rule = ncoll__rule_for(c->g, c->args, c->op, c->situation.bytes);
    char text[REASON];

    if (rule == NULL)
        return false;
    unsigned radix = radix_for(c, rule);
    const char *why = fault(c, rule, radix, text);
    if (why != NULL) {
        log_fault(c, rule, why);
        return false;
    }
    out->algorithm = rule->algorithm;
    out->radix = radix;
    out->from = FROM_RULE;
    out->why = rule->where;
    if (rule->lanes > 0)
        out->lanes = rule->lanes;
    *segment_bytes = rule->has_segment
                         ? rule->segment_bytes
                         : ncoll__peer_read_pieces(c->g, c->args->collective, c->situation.bytes);
    return true;
}
