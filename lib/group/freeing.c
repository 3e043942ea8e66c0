/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frees groups, by two barriers of the group. After the first, no rank has an unfinished call. The
 * second starts when the device reports that all earlier messages have arrived, including credits
 * that no rank waits for and keys of the window. After it no rank writes to the window any more. In
 * shared memory the first barrier is enough: a store has arrived when it is done, the receiver of
 * each barrier message waits for it, and a rank gives its credits before it sends its first barrier
 * message.
 *
 * Before the first barrier a rank sends the messages to mailboxes that it has withheld (lib/stale).
 * The readers have given credits for all of them if they are freeing the group too, since they read
 * no messages any more.
 */
#include "lib/choose/planned.h"
#include "lib/group/creation.h"
#include "lib/plan/arguments.h"
#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/stale/stale.h"
#include "lib/watch/failure.h"

/* Called when the last barrier has ended: no rank writes to the window any more. Frees it for the
 * next group, even if the user has not finished the call that frees this group. */
static void has_ended(struct ncoll_group *g, struct call *call)
{
    if (call->status == NCOLL_OK)
        ncoll__group_give_window(g, true);
}

/* Prepares the second barrier: all messages sent before the first one must have arrived. */
static int prepare_leave(struct ncoll_group *g, struct call *call)
{
    struct transport *t = g->ctx->transport;

    (void)call;
    if (t->ops->arrived == NULL)
        return NCOLL_OK;
    bool mail = g->mail == NULL || t->ops->arrived(t, g->mail);
    return t->ops->arrived(t, g->window) && mail ? NCOLL_OK : NCOLL_TIMEOUT;
}

/* Prepares the first barrier of a group with mailboxes: sends the messages that are still withheld,
 * since other ranks may need them for their unfinished calls. This is done when freeing can no
 * longer fail for lack of memory. */
static int prepare_end(struct ncoll_group *g, struct call *call)
{
    (void)call;
    return ncoll__stale_end(g);
}

/* Returns the collective of an unfinished call, or of a request that has ended and that the user
 * has not waited for; COLLECTIVES: there is none. */
static enum collective unfinished_on(const struct ncoll_group *g)
{
    if (g->first != NULL)
        return g->first->args.collective;
    for (const struct ncoll_request *r = g->ctx->requests; r != NULL; r = r->next)
        if (r->group == g && r->magic == REQUEST_MAGIC && r->started)
            return r->call.args.collective;
    return COLLECTIVES;
}

static int start_freeing(struct ncoll_group *g)
{
    struct signature signature =
        ncoll__signature_with(ncoll__group_signature(GROUP_FREE, g->stale != NULL), PURPOSE_LEAVE);
    enum collective unfinished = unfinished_on(g);
    struct creation *c;
    int rc = ncoll__failure(g->ctx);

    if (rc != NCOLL_OK)
        return rc;
    if (g->making != NULL)
        return ncoll__making_busy(g);
    if (unfinished != COLLECTIVES)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                           "wait for it first", "%s is unfinished on the group",
                           ncoll__collective_name(unfinished));
    if ((c = ncoll__allocate(g->ctx, sizeof *c)) == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to free a group");
    c->args.kind = GROUP_FREE;
    unsigned n = g->ctx->transport->at_once ? 1 : 2;
    for (unsigned i = 0; i < n; i++) {
        c->calls[i].args = ncoll__base_call(COLL_BARRIER, NULL, NULL, 0, signature);
        c->calls[i].alone = true;
    }
    if (n > 1) {
        c->calls[1].prepare = prepare_leave;
        c->calls[1].last = true;
    }
    c->calls[n - 1].ended = has_ended;
    if (g->stale != NULL)
        c->calls[0].prepare = prepare_end;
    if (g->ctx->hooks.any && g->stale == NULL)
        rc = ncoll__hooked_group_begins(g, GROUP_FREE, &c->hooked);
    if (rc == NCOLL_OK)
        rc = ncoll__creation_queue(g, c, n);
    if (rc == NCOLL_OK) {
        ncoll__set_creating(g, c);
        return NCOLL_OK;
    }
    ncoll__hooked_ends(g->ctx, &c->hooked, rc);
    ncoll__creation_free(g->ctx, c);
    return rc;
}

int ncoll__group_end(struct ncoll_group *g, int64_t timeout_ns)
{
    const struct creation_args args = {.kind = GROUP_FREE};
    /* in a group that has failed, unfinished calls never end, so they are not waited for */
    int rc = ncoll__is_broken(g) ? ncoll__failure(g->ctx) : ncoll__creation_check(g, &args);

    if (rc == NCOLL_OK && g->creating == NULL)
        rc = start_freeing(g);
    if (rc == NCOLL_OK)
        rc = ncoll__call_drive(g, g->creating->last, timeout_ns);
    if (rc == NCOLL_TIMEOUT)
        return ncoll__timed_out(g, timeout_ns);
    if (rc == NCOLL_ERR_BUSY)
        return rc;
    if (g->creating != NULL)
        ncoll__hooked_ends(g->ctx, &g->creating->hooked, rc);
    if (rc != NCOLL_OK && g->ctx->failure.kind == CONTROL_NONE)
        return rc;
    ncoll__group_free(g, rc == NCOLL_OK);
    return rc;
}
