/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events that the device reports about itself. Most are only logged, since connections notice their
 * effects, too. If a port goes down and comes back before connections give up (health.c), nothing
 * is lost. After a failure of the device itself no request completes any more, and only the
 * event reveals it.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/verbs.h"

enum meaning { IT_IS_OVER, A_PROBLEM, NEWS };

static enum meaning meaning_of(enum ibv_event_type type)
{
    switch (type) {
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
        return IT_IS_OVER;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_PORT_ERR:
        return A_PROBLEM;
    default:
        return NEWS;
    }
}

static bool is_of_other_port(const struct verbs *v, const struct ibv_async_event *event)
{
    return (event->event_type == IBV_EVENT_PORT_ERR ||
            event->event_type == IBV_EVENT_PORT_ACTIVE) &&
           event->element.port_num != v->where.port;
}

static void handle(struct verbs *v, const struct ibv_async_event *event)
{
    const struct transport_events *e = &v->config.events;
    const char *text = ibv_event_type_str(event->event_type);
    enum meaning meaning = meaning_of(event->event_type);
    char why[128];

    if (is_of_other_port(v, event))
        return;
    e->log(e->arg, meaning == NEWS ? NCOLL_LOG_INFO : NCOLL_LOG_WARN,
           "verbs: device %s, port %d reports: %s", v->where.device, v->where.port, text);
    if (meaning != IT_IS_OVER)
        return;
    snprintf(why, sizeof why, "its device %s reports: %s", v->where.device, text);
    ncoll__verbs_all_lost(v, why);
}

void ncoll__verbs_read_events(struct verbs *v)
{
    struct pollfd pollfd = {.fd = v->device->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    while (poll(&pollfd, 1, 0) == 1 && ibv_get_async_event(v->device, &event) == 0) {
        handle(v, &event);
        ibv_ack_async_event(&event);
    }
}

const char *ncoll__verbs_port_text(const struct verbs *v, char *text, size_t size)
{
    struct ibv_port_attr port;
    uint8_t number = (uint8_t)v->where.port;
    union ibv_gid gid;

    text[0] = '\0';
    if (ibv_query_port(v->device, number, &port) != 0)
        return text;
    if (port.state != IBV_PORT_ACTIVE && port.state != IBV_PORT_ACTIVE_DEFER)
        snprintf(text, size, " (this rank's own port is %s)", ibv_port_state_str(port.state));
    else if (port.lid != v->port.lid)
        snprintf(text, size, " (the LID of this rank's own port has changed)");
    else if (ibv_query_gid(v->device, number, v->where.gid_index, &gid) == 0 &&
             memcmp(&gid, &v->where.gid, sizeof gid) != 0)
        snprintf(text, size, " (the GID of this rank's own port has changed)");
    return text;
}
