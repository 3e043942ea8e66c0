/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records calls, and the steps of runs, in the trace (lib/base/trace.h). A rank is in one step at a
 * time, so a step begins where the one before it has ended: one reading of the clock is enough for
 * both.
 */
#include "lib/run/traced.h"

#include "lib/base/trace.h"

static uint64_t advance_clock(struct ncoll_group *g)
{
    return g->ctx->trace->now_ns = ncoll__now_ns(g->ctx);
}

void ncoll__traced_advances(struct ncoll_group *g)
{
    advance_clock(g);
}

void ncoll__traced_begins(struct ncoll_group *g, struct call *c)
{
    c->begun_ns = advance_clock(g);
}

static enum trace_kind kind_of(const struct instruction *i)
{
    switch (i->kind) {
    case STEP_PUT:
        return TRACE_PUT;
    case STEP_WAIT:
        return TRACE_WAIT;
    case STEP_LOOK:
        return TRACE_LOOK;
    case STEP_COPY:
        return TRACE_COPY;
    case STEP_REPEATED:
        return i->repeated == STEP_COPY ? TRACE_COPY : TRACE_COMBINE;
    case STEP_REDUCE:
    case STEP_TAKEOUT:
        break;
    }
    return TRACE_COMBINE;
}

/* Returns the world rank of the peer of an instruction; for a LOOK it is the neighbour that owns
 * the slot; -1: there is none. */
static int peer_of(struct ncoll_group *g, const struct run *run, const struct instruction *i)
{
    switch (i->kind) {
    case STEP_PUT:
    case STEP_WAIT:
        return ncoll__world_rank(g, i->peer);
    case STEP_LOOK:
        return ncoll__world_rank(g, run->call->plan->neighbours[i->neighbour].rank);
    default:
        return -1;
    }
}

static size_t bytes_of(const struct instruction *i)
{
    return i->len_bytes * (i->kind == STEP_REPEATED ? (size_t)i->more + 1 : 1);
}

static void add_step(struct ncoll_group *g, const struct run *run, const struct instruction *i,
                     enum trace_kind kind, uint64_t begin_ns, uint64_t end_ns)
{
    *ncoll__trace_add(g->ctx->trace) = (struct trace_event){.begin_ns = begin_ns,
                                                            .end_ns = end_ns,
                                                            .group = g->name,
                                                            .epoch = run->epoch,
                                                            .bytes = bytes_of(i),
                                                            .peer = peer_of(g, run, i),
                                                            .slot = i->slot,
                                                            .kind = (uint8_t)kind};
}

void ncoll__traced_step(struct ncoll_group *g, const struct run *run, const struct instruction *i,
                        int rc)
{
    uint64_t *blocked = &g->blocked_since_ns[run->epoch % LANES];
    uint64_t begin_ns = g->ctx->trace->now_ns, since_ns = *blocked;
    enum trace_kind kind = kind_of(i);

    if (rc == NCOLL_TIMEOUT && since_ns == 0)
        *blocked = begin_ns;
    uint64_t now_ns = advance_clock(g);
    if (rc != NCOLL_OK)
        return;
    *blocked = 0;
    if (since_ns != 0 && kind == TRACE_PUT)
        add_step(g, run, i, TRACE_CREDIT, since_ns, begin_ns);
    else if (since_ns != 0)
        begin_ns = since_ns;
    add_step(g, run, i, kind, begin_ns, now_ns);
}

void ncoll__traced_ends(struct ncoll_group *g, const struct call *c, uint64_t epoch, int status)
{
    const struct plan *plan = c->plan;

    *ncoll__trace_add(g->ctx->trace) =
        (struct trace_event){.begin_ns = c->begun_ns,
                             .end_ns = advance_clock(g),
                             .group = g->name,
                             .epoch = epoch,
                             .bytes = plan->longer_bytes,
                             .number = c->number,
                             .peer = -1,
                             .radix = plan->radix,
                             .status = (int16_t)status,
                             .kind = c->args.internal ? TRACE_OWN : TRACE_CALL,
                             .collective = (uint8_t)c->args.collective,
                             .algorithm = plan->algorithm};
}
