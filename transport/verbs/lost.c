/* SPDX-License-Identifier: BSD-3-Clause */
/* Lost connections: a single one, or all of them together with the device. Also describes the two
 * ends of a connection in words. */
#include <stdio.h>
#include <string.h>

#include "transport/verbs/rail.h"

/* Ends a connection. From now on the device sends nothing on it, so the sources of its messages may
 * be overwritten, and answers nothing, so that the peer notices, too. */
static void end(struct verbs *v, struct connection *c)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};

    c->state = CONNECTION_DEAD;
    c->completed = c->posted;
    if (c->qp != NULL)
        (void)ibv_modify_qp(c->qp, &error, IBV_QP_STATE); /* a device that failed may refuse */
    ncoll__rail_end(v, c);
}

static void lost(struct verbs *v, struct connection *c, enum control_kind how, const char *why)
{
    if (c->state == CONNECTION_DEAD)
        return;
    end(v, c);
    v->config.events.peer_gone(v->config.events.arg, c->endpoint.rank,
                               c->left ? CONTROL_PEER_LEFT : how, why);
}

void ncoll__verbs_lost(struct verbs *v, struct connection *c, const char *why)
{
    lost(v, c, CONTROL_PEER_FAILED, why);
}

void ncoll__verbs_unreached(struct verbs *v, struct connection *c, const char *why)
{
    lost(v, c, CONTROL_PEER_UNREACHED, why);
}

/* Ends all connections, and reports that this rank itself has failed: it cannot send any more. */
void ncoll__verbs_all_lost(struct verbs *v, const char *why)
{
    bool any = false;

    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        any |= c->state != CONNECTION_DEAD;
        end(v, c);
    }
    if (any)
        v->config.events.peer_gone(v->config.events.arg, v->config.rank, CONTROL_PEER_FAILED, why);
}

/* A peer that has left could write to this rank, so this rank could have written to the peer. The
 * check of this, which may never end now, is not needed any more. */
void ncoll__verbs_left_before_ready(struct connection *c)
{
    if (c->left && c->state == CONNECTION_MEETING)
        c->state = CONNECTION_READY;
}

/* Writes "10.0.0.1" for "::ffff:10.0.0.1"; an InfiniBand port has a LID in addition. */
static void address_text(const union ibv_gid *gid, uint16_t lid, char text[64])
{
    static const char mapped[] = "::ffff:";
    char address[46];

    ncoll__gid_text(gid, address);
    bool v4 = strncmp(address, mapped, sizeof mapped - 1) == 0;
    int n = snprintf(text, 64, "%s", address + (v4 ? sizeof mapped - 1 : 0));
    if (lid != 0)
        snprintf(text + n, 64 - (size_t)n, " LID %u", lid);
}

const char *ncoll__verbs_path_text(const struct verbs *v, const struct connection *c,
                                   char text[PATH_TEXT])
{
    char mine[64], theirs[64] = "an address that is not known yet";
    union ibv_gid gid;

    address_text(&v->where.gid, v->port.lid, mine);
    if (c->peer != NULL) {
        memcpy(gid.raw, c->peer->gid, sizeof gid.raw);
        address_text(&gid, c->peer->lid, theirs);
    }
    snprintf(text, PATH_TEXT, "%s port %d, %s, to %s", v->where.device, v->where.port, mine,
             theirs);
    return text;
}
