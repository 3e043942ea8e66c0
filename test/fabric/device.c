/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, their ports and addresses, and what a program makes of them that no other process sees. */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_query_port

static struct ibv_device devices[DEVICES_MOST];
static unsigned contexts; /* of this process */

bool fabric_devices_read(void)
{
    if (!fabric_personality_read(getenv("FABRIC"), fabric.node, &fabric.personality))
        return false;
    for (unsigned i = 0; i < fabric.personality.n_devices; i++) {
        const struct fabric_device *d = &fabric.personality.devices[i];
        devices[i].node_type = d->iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
        devices[i].transport_type = d->iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
        snprintf(devices[i].name, sizeof devices[i].name, "%s", d->name);
        snprintf(devices[i].dev_name, sizeof devices[i].dev_name, "uverbs%u", i);
    }
    return true;
}

__attribute__((constructor)) static void begin(void)
{
    if (!fabric_join() || !fabric_devices_read() || !fabric_faults_read(-1))
        _exit(2);
    fabric_nodes_begin();
}

void *fabric_new(size_t bytes)
{
    return calloc(1, bytes);
}

/* ------------------------------------------------------------------ the list ------------------ */

struct ibv_device **ibv_get_device_list(int *n)
{
    if (fabric_fault_call("get_device_list") != 0)
        return NULL;
    unsigned count = fabric.personality.n_devices;
    struct ibv_device **list = calloc(count + 1, sizeof(struct ibv_device *));

    for (unsigned i = 0; list != NULL && i < count; i++)
        list[i] = &devices[i];
    if (n != NULL)
        *n = list != NULL ? (int)count : 0;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *d)
{
    return d->name;
}

__be64 ibv_get_device_guid(struct ibv_device *d)
{
    return htobe64(0x0002c90300000000u + (uint64_t)fabric.node * 256 + (uint64_t)(d - devices));
}

/* FABRIC_FORK=old: as on a kernel before 5.12. */
static bool forks_as_of_old(void)
{
    const char *how = getenv("FABRIC_FORK");

    return how != NULL && strcmp(how, "old") == 0;
}

int ibv_fork_init(void)
{
    if (forks_as_of_old() && !fabric.fork_safe && fabric.used)
        return EINVAL;
    fabric.fork_safe = forks_as_of_old();
    return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return !forks_as_of_old() ? IBV_FORK_UNNEEDED
           : fabric.fork_safe ? IBV_FORK_ENABLED
                              : IBV_FORK_DISABLED;
}

/* ------------------------------------------------------------------ one device ---------------- */

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
    int fds[2];

    fabric_process();
    if (fabric_fault_call("open_device") != 0)
        return NULL;
    struct context *c = fabric_new(sizeof *c);
    if (c == NULL)
        return NULL;
    if (pipe2(fds, O_CLOEXEC) != 0) {
        free(c);
        return NULL;
    }
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    c->event_fd = fds[1];
    fabric_enter();
    contexts++;
    fabric_leave();
    c->device = &fabric.personality.devices[d - devices];
    c->verbs = (struct ibv_context){.device = d,
                                    .ops = {.poll_cq = fabric_poll_cq,
                                            .req_notify_cq = fabric_req_notify_cq,
                                            .post_srq_recv = fabric_post_srq_recv,
                                            .post_send = fabric_post_send,
                                            .post_recv = fabric_post_recv},
                                    .cmd_fd = -1,
                                    .async_fd = fds[0],
                                    .num_comp_vectors = 1};
    fabric_opened(c);
    fabric_made();
    return &c->verbs;
}

/* Without a context nothing is kept of other processes, so that a program that looks for what it has
 * left open finds nothing. */
int ibv_close_device(struct ibv_context *c)
{
    fabric_closed((struct context *)c);
    close(c->async_fd);
    close(((struct context *)c)->event_fd);
    free(c);
    fabric_gone();
    fabric_enter();
    if (--contexts == 0) {
        fabric_close_bells();
        fabric_unmap_all();
    }
    fabric_leave();
    return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
    int fault = fabric_fault_call("query_device");
    if (fault != 0)
        return fault;
    const struct fabric_device *d = fabric_device_of(c);

    *attr = (struct ibv_device_attr){
        .phys_port_cnt = (uint8_t)d->n_ports,
        .node_guid = ibv_get_device_guid(c->device),
        .vendor_id = d->vendor,
        .vendor_part_id = d->part,
        .max_qp = d->max_qp,
        .max_qp_wr = d->max_qp_wr,
        .max_sge = SGES_MOST,
        .max_cq = d->max_cq,
        .max_cqe = d->max_cqe,
        .max_mr = d->max_mr,
        .max_mr_size = d->max_mr_size,
        .max_pd = 1 << 15,
        .max_qp_rd_atom = 16,
        .max_qp_init_rd_atom = 16,
        .max_srq = d->no_srq ? 0 : 1 << 15,
        .max_srq_wr = d->no_srq ? 0 : d->max_srq_wr,
        .max_srq_sge = d->no_srq ? 0 : 1,
        .max_pkeys = PKEYS_MOST,
    };
    snprintf(attr->fw_ver, sizeof attr->fw_ver, "fabric");
    return 0;
}

static const struct fabric_port *port_of(const struct ibv_context *c, unsigned port)
{
    const struct fabric_device *d = fabric_device_of(c);

    return port >= 1 && port <= d->n_ports ? &d->ports[port - 1] : NULL;
}

int ibv_query_port(struct ibv_context *c, uint8_t number, struct _compat_ibv_port_attr *compat)
{
    int fault = fabric_fault_call("query_port");
    if (fault != 0)
        return fault;
    struct ibv_port_attr *attr = (struct ibv_port_attr *)(void *)compat;
    const struct fabric_port *p = port_of(c, number);

    if (p == NULL)
        return EINVAL;
    /* the caller has zeroed the fields that are not part of the compatible structure */
    const struct shared_port *now = fabric_shared_port(fabric_device_of(c), number);
    bool down = fabric_is_down(now);
    attr->state = down ? IBV_PORT_DOWN : p->state;
    attr->max_mtu = p->mtu;
    attr->active_mtu = p->mtu;
    attr->gid_tbl_len = (int)p->n_gids;
    attr->max_msg_sz = 1u << 30;
    attr->pkey_tbl_len = (uint16_t)p->n_pkeys;
    attr->lid = (uint16_t)(p->lid + 256 * atomic_load(&now->lids));
    attr->sm_lid = p->link_layer == IBV_LINK_LAYER_INFINIBAND;
    attr->active_width = (uint8_t)p->width;
    attr->active_speed = (uint8_t)p->lane;
    attr->phys_state = down || p->state == IBV_PORT_DOWN ? 3 : 5;
    attr->link_layer = p->link_layer;
    attr->flags = p->needs_grh ? IBV_QPF_GRH_REQUIRED : 0;
    return 0;
}

int ibv_query_gid(struct ibv_context *c, uint8_t number, int index, union ibv_gid *gid)
{
    if (fabric_fault_call("query_gid") != 0)
        return -1;
    const struct fabric_port *p = port_of(c, number);

    if (p == NULL || index < 0 || (unsigned)index >= p->n_gids) {
        errno = EINVAL;
        return -1;
    }
    *gid = p->gids[index].gid;
    return 0;
}

static struct ibv_gid_entry entry_of(const struct fabric_port *p, unsigned port, unsigned index)
{
    return (struct ibv_gid_entry){.gid = p->gids[index].gid,
                                  .gid_index = index,
                                  .port_num = port,
                                  .gid_type = p->gids[index].type,
                                  .ndev_ifindex = fabric_interface_of(&p->gids[index])};
}

int _ibv_query_gid_ex(struct ibv_context *c, uint32_t number, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
    const struct fabric_port *p = port_of(c, number);

    (void)flags;
    if (p == NULL || index >= p->n_gids || entry_size < sizeof *entry)
        return ENODATA;
    *entry = entry_of(p, number, index);
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries, size_t max,
                             uint32_t flags, size_t entry_size)
{
    const struct fabric_device *d = fabric_device_of(c);
    size_t n = 0;

    (void)flags, (void)entry_size;
    for (unsigned port = 1; port <= d->n_ports; port++)
        for (unsigned i = 0; i < d->ports[port - 1].n_gids && n < max; i++)
            entries[n++] = entry_of(&d->ports[port - 1], port, i);
    return (ssize_t)n;
}

int ibv_query_pkey(struct ibv_context *c, uint8_t number, int index, __be16 *pkey)
{
    if (fabric_fault_call("query_pkey") != 0)
        return -1;
    const struct fabric_port *p = port_of(c, number);

    if (p == NULL || index < 0 || (unsigned)index >= p->n_pkeys) {
        errno = EINVAL;
        return -1;
    }
    *pkey = htobe16(p->pkeys[index]);
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *c, uint8_t number, __be16 pkey)
{
    const struct fabric_port *p = port_of(c, number);

    for (unsigned i = 0; p != NULL && i < p->n_pkeys; i++)
        if (p->pkeys[i] == be16toh(pkey))
            return (int)i;
    return -1;
}

/* ------------------------------------------------------------------ events -------------------- */

int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *event)
{
    uint64_t what;

    if (read(c->async_fd, &what, sizeof what) != sizeof what)
        return -1;
    *event = (struct ibv_async_event){.event_type = (enum ibv_event_type)(what >> 8),
                                      .element.port_num = (int)(what & 255)};
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

/* ------------------------------------------------------------------ domains, handles ---------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    if (fabric_fault_call("alloc_pd") != 0)
        return NULL;
    struct pd *pd = fabric_new(sizeof *pd);

    if (pd == NULL)
        return NULL;
    pd->verbs.context = c;
    fabric_lock(&fabric.state->lock);
    pd->number = ++fabric.state->pds;
    fabric_unlock(&fabric.state->lock);
    fabric_made();
    return &pd->verbs;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    fabric_gone();
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    if (fabric_fault_call("create_ah") != 0)
        return NULL;
    struct ibv_qp_attr path = {.ah_attr = *attr, .port_num = attr->port_num};
    struct ah *ah = NULL;

    int error = fabric_path_check(fabric_device_of(pd->context), &path);
    if (error == 0 && (ah = fabric_new(sizeof *ah)) != NULL) {
        *ah = (struct ah){.verbs = {.context = pd->context, .pd = pd}, .attr = *attr};
        fabric_made();
    }
    if (error != 0)
        errno = error;
    return ah != NULL ? &ah->verbs : NULL;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    fabric_gone();
    return 0;
}
