/* SPDX-License-Identifier: BSD-3-Clause */
#include "states.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/group/creation.h"
#include "lib/plan/compile.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"

static struct ncoll_context *context; /* NULL: there is none yet, or no more */
static bool leaving;
static struct census *counted;

const char *state_text(enum state state)
{
    static const char *const texts[] = {
#define X(name, text) text,
        STATES(X)
#undef X
    };

    return texts[state];
}

int moment_kind(const char *name)
{
    static const char *const known[] = {
        "post",          "receive",    "get_device_list",     "open_device",
        "query_device",  "query_port", "query_gid",           "query_pkey",
        "create_ah",     "alloc_pd",   "create_comp_channel", "create_cq",
        "create_srq",    "create_qp",  "modify_qp",           "reg_mr",
        "resize_cq",     "dereg_mr",   "destroy_qp",          "post_send",
        "post_srq_recv", "post_recv",  "req_notify_cq",       "get_cq_event",
        "poll_cq",
    };
    _Static_assert(sizeof known / sizeof known[0] <= MOMENTS_OF_KINDS, "see MOMENTS_OF_KINDS");

    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], name) == 0)
            return (int)i;
    return -1;
}

/* ------------------------------------------------------------------ the state ----------------- */

/* Returns BETWEEN if the group does not connect peers. */
static enum state state_of_wiring(const struct ncoll_group *g)
{
    switch (g->wiring.state) {
    case WIRING_AGREE:
        return STATE_AGREEING;
    case WIRING_EXCHANGE:
        return STATE_EXCHANGING;
    case WIRING_MEET:
        return STATE_MEETING;
    case WIRING_CONNECT:
    case WIRING_LOST:
        return STATE_CONNECTING;
    case WIRING_IDLE:
        break;
    }
    return STATE_BETWEEN;
}

static enum state state_of_run(const struct run *run)
{
    if (run->credits < run->call->plan->n_senders)
        return STATE_GIVING_CREDITS;
    if (run->next == run->program->count)
        return STATE_ENDING;
    const struct instruction *i = &run->program->instructions[run->next];
    switch (i->kind) {
    case STEP_PUT:
        return i->routes == MAY_SLOT ? STATE_PUTTING_SHORT : STATE_PUTTING_LONG;
    case STEP_WAIT:
    case STEP_LOOK:
        return STATE_AWAITING;
    default:
        return STATE_WORKING;
    }
}

/* The state of the first run that has not ended, of any group; but what the run is for comes first. */
static enum state state_of(const struct ncoll_context *ctx)
{
    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next) {
        enum state wiring = state_of_wiring(g);
        if (wiring != STATE_BETWEEN)
            return wiring;
        if (g->creating != NULL)
            return g->creating->args.kind == GROUP_FREE ? STATE_FREEING : STATE_MAKING;
    }
    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
            if (g->runs[e % LANES].epoch == e && g->runs[e % LANES].call != NULL)
                return state_of_run(&g->runs[e % LANES]);
    return STATE_BETWEEN;
}

/* The fabric calls this. */
__attribute__((visibility("default"))) int fabric_fault_state(const char *moment);
int fabric_fault_state(const char *moment)
{
    enum state state = leaving           ? STATE_LEAVING
                       : context != NULL ? state_of(context)
                                         : STATE_CREATING;
    int kind = moment_kind(moment);

    if (counted != NULL && kind >= 0)
        counted->seen[state][kind]++;
    return (int)state;
}

/* ------------------------------------------------------------------ a rank -------------------- */

void states_count(struct census *census)
{
    counted = census;
}

void states_begin(void)
{
    context = NULL;
    leaving = false;
}

void states_leave(void)
{
    leaving = true;
}

/* The linker puts this in the place of the barrier that ends the creation of a context (--wrap). */
int __real_ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns);
int __wrap_ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns);
int __wrap_ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns)
{
    context = g->ctx;
    int rc = __real_ncoll__first_barrier(g, timeout_ns);
    if (rc != NCOLL_OK)
        context = NULL; /* which is freed now */
    return rc;
}
