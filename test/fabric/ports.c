/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of ports in use, and the events that devices report to the processes that have opened them. */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The devices that this process has opened. */
static struct context *open_ones;
static bool was_down[DEVICES_MOST][PORTS_MOST];
static uint32_t seen_lids[DEVICES_MOST][PORTS_MOST], seen_gids[DEVICES_MOST][PORTS_MOST];

static struct shared_port *port_of(uint32_t node, uint32_t device, unsigned port)
{
    return &fabric.state->ports[node % NODES_MOST][device % DEVICES_MOST][(port - 1) % PORTS_MOST];
}

static unsigned index_of(const struct fabric_device *d)
{
    return (unsigned)(d - fabric.personality.devices);
}

struct shared_port *fabric_shared_port(const struct fabric_device *d, unsigned port)
{
    return port_of(fabric.node, index_of(d), port);
}

struct shared_port *fabric_port_of_qp(const struct shared_qp *q)
{
    return port_of(q->node, q->device, q->port);
}

bool fabric_is_down(const struct shared_port *p)
{
    uint64_t until_ns = atomic_load_explicit(&p->down_until_ns, memory_order_relaxed);

    return until_ns != 0 && fabric_now_ns() < until_ns && fabric_lives(atomic_load(&p->down_by));
}

/* ------------------------------------------------------------------ events -------------------- */

void fabric_opened(struct context *c)
{
    fabric_enter();
    c->next = open_ones;
    open_ones = c;
    fabric_leave();
}

void fabric_closed(struct context *c)
{
    struct context **link = &open_ones;

    fabric_enter();
    while (*link != NULL && *link != c)
        link = &(*link)->next;
    if (*link == c)
        *link = c->next;
    fabric_leave();
}

void fabric_event(struct ibv_context *verbs, enum ibv_event_type type, unsigned port)
{
    struct context *c = (struct context *)verbs;
    uint64_t event = (uint64_t)type << 8 | port;

    if (write(c->event_fd, &event, sizeof event) != sizeof event && errno != EAGAIN)
        c->lost_events++;
}

static void tell(struct context *c, unsigned port)
{
    unsigned d = index_of(c->device), i = port - 1;
    const struct shared_port *p = fabric_shared_port(c->device, port);
    bool down = fabric_is_down(p);
    uint32_t lids = atomic_load(&p->lids), gids = atomic_load(&p->gids);

    if (down != was_down[d][i])
        fabric_event(&c->verbs, down ? IBV_EVENT_PORT_ERR : IBV_EVENT_PORT_ACTIVE, port);
    if (lids != seen_lids[d][i])
        fabric_event(&c->verbs, IBV_EVENT_LID_CHANGE, port);
    if (gids != seen_gids[d][i])
        fabric_event(&c->verbs, IBV_EVENT_GID_CHANGE, port);
    was_down[d][i] = down;
    seen_lids[d][i] = lids;
    seen_gids[d][i] = gids;
}

void fabric_look_at_ports(void)
{
    if (atomic_load_explicit(&fabric.state->port_changes, memory_order_relaxed) == 0)
        return;
    for (struct context *c = open_ones; c != NULL; c = c->next)
        for (unsigned port = 1; port <= c->device->n_ports; port++)
            tell(c, port);
}

/* ------------------------------------------------------------------ changes ------------------- */

void fabric_port_changes(struct qp *q, enum ibv_event_type type, unsigned ms)
{
    struct shared_port *p = fabric_shared_port(q->device, q->attr.port_num);

    atomic_fetch_add(&fabric.state->port_changes, 1);
    if (type == IBV_EVENT_PORT_ERR)
        atomic_store(&p->down_by, fabric.process);
    if (type == IBV_EVENT_PORT_ERR)
        atomic_store(&p->down_until_ns, ms == 0 ? UINT64_MAX : fabric_now_ns() + ms * 1000000ull);
    else
        atomic_fetch_add(type == IBV_EVENT_LID_CHANGE ? &p->lids : &p->gids, 1);
}
