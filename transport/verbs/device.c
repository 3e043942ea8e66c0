/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the RDMA devices, ports and GIDs of this machine.
 */
#include "transport/verbs/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIDS_MAX 1024

struct candidates {
    struct candidate *list;
    unsigned n, capacity;
    bool failed; /* there was no memory */
};

static void add(struct candidates *all, const struct candidate *candidate)
{
    if (all->n == all->capacity) {
        unsigned capacity = 2 * all->capacity + 8;
        struct candidate *grown = realloc(all->list, capacity * sizeof *grown);
        if (grown == NULL) {
            all->failed = true;
            return;
        }
        all->list = grown;
        all->capacity = capacity;
    }
    all->list[all->n++] = *candidate;
}

static enum gid_kind kind_of(const struct ibv_gid_entry *entry)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    const unsigned char *raw = entry->gid.raw;

    if (entry->gid_type == IBV_GID_TYPE_IB)
        return GID_IB;
    if (entry->gid_type == IBV_GID_TYPE_ROCE_V1)
        return GID_ROCE1;
    if (memcmp(raw, mapped, sizeof mapped) == 0)
        return GID_ROCE2_IPV4;
    return raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80 ? GID_ROCE2_LINK_LOCAL : GID_ROCE2_IPV6;
}

/* Tries whether the port can send to its own address by this GID. Returns errno. */
static int try_handle(struct ibv_pd *pd, const struct candidate *c,
                      const struct ibv_port_attr *port)
{
    struct ibv_ah_attr attr = {
        .dlid = port->lid,
        .port_num = (uint8_t)c->port,
        .is_global = port->link_layer == IBV_LINK_LAYER_ETHERNET,
        .grh = {.dgid = c->gid, .sgid_index = (uint8_t)c->gid_index, .hop_limit = 64},
    };
    struct ibv_ah *handle;

    if (pd == NULL)
        return ENOMEM;
    errno = 0;
    handle = ibv_create_ah(pd, &attr);
    if (handle == NULL)
        return errno != 0 ? errno : EIO;
    ibv_destroy_ah(handle);
    return 0;
}

static void add_port(struct candidates *all, struct ibv_context *device, struct ibv_pd *pd,
                     struct candidate model, const struct ibv_gid_entry *entries, ssize_t n)
{
    struct ibv_port_attr port;
    bool any = false;

    if (ibv_query_port(device, (uint8_t)model.port, &port) != 0)
        port = (struct ibv_port_attr){.state = IBV_PORT_NOP};
    model.state = port.state;
    for (ssize_t i = 0; i < n; i++) {
        struct candidate c = model;
        if ((int)entries[i].port_num != model.port)
            continue;
        c.gid_index = (int)entries[i].gid_index;
        c.gid = entries[i].gid;
        c.kind = kind_of(&entries[i]);
        if (entries[i].ndev_ifindex != 0 &&
            if_indextoname(entries[i].ndev_ifindex, c.interface) == NULL)
            c.interface[0] = '\0';
        if (c.state == IBV_PORT_ACTIVE)
            c.no_handle = try_handle(pd, &c, &port);
        add(all, &c);
        any = true;
    }
    if (!any)
        add(all, &model);
}

static void add_device(struct candidates *all, struct ibv_device *device,
                       struct ibv_gid_entry *entries)
{
    struct candidate model = {.gid_index = -1, .kind = GID_NONE};
    struct ibv_device_attr attr;

    snprintf(model.device, sizeof model.device, "%s", ibv_get_device_name(device));
    struct ibv_context *context = ibv_open_device(device);
    int error = context != NULL ? ibv_query_device(context, &attr) : errno;
    if (context == NULL || error != 0) {
        snprintf(model.why, sizeof model.why, "cannot open it: %s", strerror(error));
        add(all, &model);
    } else {
        struct ibv_pd *pd = ibv_alloc_pd(context);
        ssize_t n = ibv_query_gid_table(context, entries, GIDS_MAX, 0);
        for (model.port = 1; model.port <= attr.phys_port_cnt; model.port++)
            add_port(all, context, pd, model, entries, n);
        if (pd != NULL)
            ibv_dealloc_pd(pd);
    }
    if (context != NULL)
        ibv_close_device(context);
}

/* Lists all candidates. Returns 0 or errno. Having no device is not an error. */
static int list_all(struct candidates *all)
{
    struct ibv_gid_entry *entries = calloc(GIDS_MAX, sizeof *entries);
    int n;

    if (entries == NULL)
        return ENOMEM;
    errno = 0;
    struct ibv_device **devices = ibv_get_device_list(&n);
    if (devices == NULL) {
        free(entries);
        return errno == ENOSYS ? 0 : errno; /* ENOSYS: no RDMA in this kernel, or not loaded */
    }
    for (int i = 0; i < n; i++)
        add_device(all, devices[i], entries);
    ibv_free_device_list(devices);
    free(entries);
    if (n > 1)
        ncoll__device_mark_far(all->list, all->n);
    return all->failed ? ENOMEM : 0;
}

int ncoll__verbs_survey(const struct device_wish *wish,
                        void (*show)(void *arg, const struct candidate *candidate), void *arg)
{
    struct candidates all = {0};
    int error = list_all(&all), n = (int)all.n;

    if (error == 0) {
        ncoll__device_choose(all.list, all.n, wish);
        for (unsigned i = 0; i < all.n; i++)
            show(arg, &all.list[i]);
    }
    free(all.list);
    return error == 0 ? n : -error;
}

/* ------------------------------------------------------------------ for open() ---------------- */

/* Lists the candidates with their reasons, as in "rxe0 port 1 GID 0: the port is DOWN; ...", as far
 * as they fit; GIDs with the same reason share a line. */
static void tell_all(const struct candidates *all, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < all->n && len < size; i++) {
        const struct candidate *c = &all->list[i], *before = i > 0 ? c - 1 : NULL;
        if (before != NULL && strcmp(c->why, before->why) == 0 && c->port == before->port &&
            strcmp(c->device, before->device) == 0)
            continue;
        len += (size_t)snprintf(text + len, size - len, "%s%s port %d: %s", i > 0 ? "; " : "",
                                c->device, c->port, c->why);
    }
}

static int nothing_chosen(const struct candidates *all, const struct device_wish *wish,
                          const struct transport_events *e)
{
    char text[320];
    bool active = false;

    for (unsigned i = 0; i < all->n; i++)
        active = active || all->list[i].state == IBV_PORT_ACTIVE;
    tell_all(all, text, sizeof text);
    if (all->n == 0)
        return e->fail(e->arg, NCOLL_ERR_DEVICE, -1,
                       "see `rdma link`; for software RoCE: `rdma link add rxe0 type rxe netdev "
                       "eth0`; on one node use NCOLL_TRANSPORT=shm",
                       "this machine has no RDMA device");
    if (!active)
        return e->fail(e->arg, NCOLL_ERR_DEVICE, -1,
                       "see `rdma link`, and `ip link` for RoCE: its network interface must be up",
                       "no RDMA port is ACTIVE: %s", text);
    if (wish->device != NULL || wish->port != 0 || wish->gid_index >= 0)
        return e->fail(e->arg, NCOLL_ERR_DEVICE, -1,
                       "change NCOLL_DEVICE, NCOLL_PORT, NCOLL_GID, or unset them; ncoll-info "
                       "lists what there is",
                       "what was asked for cannot be used: %s", text);
    return e->fail(e->arg, NCOLL_ERR_DEVICE, -1, "see ncoll-info, and `rdma link`",
                   "no RDMA port has an address that can be used: %s", text);
}

int ncoll__device_find(const struct device_wish *wish, const struct transport_events *e,
                       struct candidate *out)
{
    struct candidates all = {0};
    struct candidate *best;
    int error = list_all(&all), rc = NCOLL_OK;

    if (error != 0)
        rc = e->fail(e->arg, error == ENOMEM ? NCOLL_ERR_MEMORY : NCOLL_ERR_SYSTEM, -1, NULL,
                     "cannot list the RDMA devices: %s", strerror(error));
    else if ((best = ncoll__device_choose(all.list, all.n, wish)) == NULL)
        rc = nothing_chosen(&all, wish, e);
    else
        *out = *best;
    free(all.list);
    return rc;
}
