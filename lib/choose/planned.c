/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/choose/planned.h"

#include <stdio.h>

#include "lib/base/group.h"
#include "lib/base/signature.h"
#include "lib/choose/select.h"
#include "lib/inspect.h"
#include "lib/plan/arguments.h"

static void log_plan(struct ncoll_group *g, const struct plan *plan, const struct choice *choice)
{
    char call[192], why[CHOICE_TEXT], parts[32] = "";

    if (g->ctx->settings.log_level < NCOLL_LOG_DEBUG)
        return;
    if (plan->parts > 1)
        snprintf(parts, sizeof parts, ", %u parts each", plan->parts);
    ncoll__log(g->ctx, NCOLL_LOG_DEBUG,
               "plan: %s on %d rank%s, %s%llu segment%s of %zu element%s, %u at once%s, %u peer%s; "
               "chosen by "
               "%s",
               ncoll__signature_text(plan->signature, call, sizeof call), g->size,
               g->size == 1 ? "" : "s", plan->key.internal ? "for the library itself, " : "",
               (unsigned long long)plan->segments, plan->segments == 1 ? "" : "s", plan->segment,
               plan->segment == 1 ? "" : "s", plan->lanes, parts, plan->n_peers,
               plan->n_peers == 1 ? "" : "s", ncoll__choice_why(choice, why));
}

static int make(struct ncoll_group *g, const struct call_args *args, size_t longest,
                struct plan **out)
{
    struct op op = {0};
    struct choice choice;
    int rc = NCOLL_OK;

    if (args->own_op != NULL)
        op = *args->own_op;
    else if (reduces(args->collective))
        rc = ncoll__op_resolve(g->ctx, args->op, args->type, &op);
    if (rc == NCOLL_OK)
        rc = ncoll__select(g, args, &op, longest, &choice);
    if (rc == NCOLL_OK)
        rc = ncoll__plan_make(g, args, longest, &op, &choice, out);
    if (rc != NCOLL_OK)
        return rc;
    log_plan(g, *out, &choice);
    ncoll__plan_keep(g, args, *out);
    return NCOLL_OK;
}

int ncoll__plan(struct ncoll_group *g, const struct call_args *args, size_t longest,
                struct plan **out)
{
    struct plan *plan = ncoll__plan_find(g, args, longest);
    int rc = plan == NULL ? make(g, args, longest, &plan) : NCOLL_OK;

    if (rc != NCOLL_OK)
        return rc;
    plan->users++;
    *out = plan;
    return NCOLL_OK;
}
