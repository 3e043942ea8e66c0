/* SPDX-License-Identifier: BSD-3-Clause */
/* The paths between ports: which port reaches which, by networks, subnets, addresses, and partitions. */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <string.h>

static const struct fabric_port *port_of(const struct fabric_device *d, unsigned port)
{
    return port >= 1 && port <= d->n_ports ? &d->ports[port - 1] : NULL;
}

static bool is_ipv4(const union ibv_gid *gid)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(gid->raw, mapped, sizeof mapped) == 0;
}

/* RoCE: the two addresses must be of one family. Interfaces and VLANs are not modelled. */
static int check_roce(const struct fabric_port *p, const struct ibv_global_route *grh)
{
    const struct fabric_gid *own = &p->gids[grh->sgid_index];

    if (own->type == IBV_GID_TYPE_IB)
        return EINVAL;
    return is_ipv4(&own->gid) == is_ipv4(&grh->dgid) ? 0 : ENETUNREACH;
}

int fabric_path_check(const struct fabric_device *d, const struct ibv_qp_attr *attr)
{
    const struct ibv_ah_attr *ah = &attr->ah_attr;
    const struct fabric_port *p = port_of(d, ah->port_num);

    if (p == NULL)
        return EINVAL;
    if (ah->is_global && ah->grh.sgid_index >= p->n_gids)
        return EINVAL;
    if (p->link_layer == IBV_LINK_LAYER_ETHERNET)
        return ah->is_global ? check_roce(p, &ah->grh) : EINVAL;
    return ah->is_global || (ah->dlid != 0 && !p->needs_grh) ? 0 : EINVAL;
}

static uint64_t prefix_of(const union ibv_gid *gid)
{
    uint64_t prefix;

    memcpy(&prefix, gid->raw, sizeof prefix);
    return prefix;
}

/* Full members of a partition reach all of it, limited ones only full members. */
static bool pkeys_meet(uint16_t a, uint16_t b)
{
    return (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000) != 0;
}

bool fabric_path_leads(const struct fabric_device *d, const struct ibv_qp_attr *attr,
                       const struct shared_qp *to)
{
    const struct ibv_ah_attr *ah = &attr->ah_attr;
    const struct fabric_port *p = port_of(d, ah->port_num);

    if (p == NULL || p->state != IBV_PORT_ACTIVE || strcmp(p->network, to->network) != 0 ||
        attr->pkey_index >= p->n_pkeys || !pkeys_meet(p->pkeys[attr->pkey_index], to->pkey))
        return false;
    const struct shared_port *there = fabric_port_of_qp(to);
    if (atomic_load_explicit(&fabric.state->port_changes, memory_order_relaxed) != 0 &&
        (fabric_is_down(fabric_shared_port(d, ah->port_num)) || fabric_is_down(there) ||
         (p->link_layer == IBV_LINK_LAYER_ETHERNET ? atomic_load(&there->gids) != to->gids
                                                   : atomic_load(&there->lids) != to->lids)))
        return false;
    bool same_gid = memcmp(&ah->grh.dgid, &to->gid, sizeof to->gid) == 0;
    if (p->link_layer == IBV_LINK_LAYER_ETHERNET)
        return same_gid;
    if (ah->is_global ? !same_gid : to->needs_grh)
        return false;
    /* a router takes what goes to another subnet, by its GID; the LID is that of the router */
    if (p->n_gids > 0 && prefix_of(&p->gids[0].gid) != prefix_of(&to->gid))
        return ah->is_global && ah->dlid == (uint16_t)(to->gid.raw[4] << 8 | to->gid.raw[5]);
    return ah->dlid == to->lid;
}
