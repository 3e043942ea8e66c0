/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes an object of lib/stale in two steps. The first makes a copy of the group, as
 * ncoll_group_dup() does, with a second window. The second is a barrier of this copy, before which
 * each sender is connected to the readers of its mailboxes. If a rank has no room for these
 * connections, it tells all ranks, and no rank gets an object.
 */
#include "lib/group/mailboxes.h"

#include "lib/base/failure.h"
#include "lib/base/signature.h"
#include "lib/group/creation.h"
#include "lib/group/wiring.h"
#include "lib/plan/arguments.h"
#include "lib/run/call.h"
#include "lib/watch/failure.h"

/* The state of making an object, after its group has been made. The parent owns it. */
struct making {
    struct call call;
    uint64_t hash;
    struct ncoll_stale *object;
    bool connects;
};

static struct signature signature_of(enum purpose purpose, uint64_t hash)
{
    return ncoll__signature_with(ncoll__group_signature(GROUP_DUP, hash), purpose);
}

/* ------------------------------------------------------------------ connecting --------------- */

static int start_connecting(struct ncoll_group *g, struct call *c, struct making *m)
{
    struct ncoll_stale *s = m->object;
    unsigned *peers = ncoll__stale_list_peers(s);

    if (peers == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for mailboxes");
    int rc = g->ctx->wiring->start(g, g->mail, c, peers, NULL, s->n_peers, s->depth,
                                   signature_of(PURPOSE_WIRE, m->hash));
    ncoll__release(g->ctx, peers);
    m->connects = true;
    c->state = CALL_WIRING;
    return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
}

static int prepare(struct ncoll_group *g, struct call *c)
{
    struct making *m = c->arg;
    int rc;

    if (g->size > 1 && !m->connects)
        return start_connecting(g, c, m);
    rc = g->size > 1 ? ncoll__wiring_test(g) : NCOLL_OK;
    if (rc == NCOLL_ERR_UNSUPPORTED && ncoll__wiring_is_refused(g)) {
        int full = ncoll__world_rank(g, (unsigned)g->wiring.agreed);
        return ncoll__fail(g->ctx, BECAUSE(rc, QUEUES_FULL), full,
                           "use a ring, a hypercube, or a smaller group",
                           "the device of rank %d has no room in its queues for the connections of "
                           "its mailboxes",
                           full);
    }
    if (rc == NCOLL_OK)
        rc = ncoll__stale_wire(m->object);
    if (rc == NCOLL_OK)
        c->state = CALL_QUEUED;
    return rc;
}

/* ------------------------------------------------------------------ making ------------------- */

static int begin(struct ncoll_group *parent, struct ncoll_group *g, uint64_t hash)
{
    struct making *m = ncoll__allocate(g->ctx, sizeof *m);
    int rc = m != NULL ? NCOLL_OK
                       : ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for mailboxes");

    if (rc == NCOLL_OK) {
        g->sync = NCOLL_LOOSE;
        g->unusual = true;
        *m = (struct making){.hash = hash, .object = g->stale};
        m->call.args =
            ncoll__base_call(COLL_BARRIER, NULL, NULL, 0, signature_of(PURPOSE_LEAVE, hash));
        m->call.alone = true;
        m->call.prepare = prepare;
        m->call.arg = m;
        rc = ncoll__call_queue_own(g, &m->call, NULL);
    }
    if (rc == NCOLL_OK) {
        parent->making = m;
        return NCOLL_OK;
    }
    ncoll__release(g->ctx, m);
    /* the other ranks are connecting already, and would wait for this one */
    return ncoll__break_job(g->ctx);
}

/* Frees the group again, after all ranks have learned that some rank has no room. The recorded
 * error stays that of the refusal. Returns NCOLL_ERR_UNSUPPORTED, NCOLL_TIMEOUT or another
 * error. */
static int undo(struct ncoll_group *parent, int64_t timeout_ns)
{
    struct making *m = parent->making;
    struct ncoll_context *ctx = parent->ctx;
    ncoll_error refusal = ctx->error;
    int rc = ncoll__group_end(m->object->group, timeout_ns);

    if (rc == NCOLL_TIMEOUT)
        return rc;
    parent->making = NULL;
    ncoll__release(ctx, m);
    if (rc != NCOLL_OK)
        return rc;
    ctx->error = refusal;
    return NCOLL_ERR_UNSUPPORTED;
}

static int go_on(struct ncoll_group *parent, struct ncoll_stale **out, int64_t timeout_ns)
{
    struct making *m = parent->making;
    struct ncoll_group *g = m->object->group;
    int rc =
        m->call.state == CALL_ENDED ? m->call.status : ncoll__call_drive(g, &m->call, timeout_ns);

    if (rc == NCOLL_TIMEOUT)
        return ncoll__timed_out(g, timeout_ns);
    if (rc == NCOLL_ERR_UNSUPPORTED)
        return undo(parent, timeout_ns);
    parent->making = NULL;
    if (rc == NCOLL_OK) {
        m->object->magic = STALE_MAGIC;
        *out = m->object;
    }
    ncoll__release(parent->ctx, m);
    return rc;
}

int ncoll__stale_create(struct ncoll_group *parent, const struct ncoll_stale *wanted, uint64_t hash,
                        struct ncoll_stale **out, int64_t timeout_ns)
{
    const struct creation_args args = {.kind = GROUP_DUP,
                                       .key = parent->rank,
                                       .hash = hash,
                                       .mail = wanted->shape,
                                       .wanted = wanted};
    struct ncoll_group *g;
    int rc;

    if (parent->making != NULL && parent->making->hash != hash)
        return ncoll__making_busy(parent);
    if (parent->making == NULL) {
        if ((rc = ncoll__group_create(parent, &args, &g, timeout_ns)) != NCOLL_OK)
            return rc;
        if ((rc = begin(parent, g, hash)) != NCOLL_OK)
            return rc;
    }
    return go_on(parent, out, timeout_ns);
}
