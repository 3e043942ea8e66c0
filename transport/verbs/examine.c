/* SPDX-License-Identifier: BSD-3-Clause */
/* Examines RDMA devices: opens them, and asks for their ports and GIDs. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/device.h"
#include "transport/verbs/device_table.h"

#define GIDS_MAX 1024

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

bool ncoll__needs_grh(const struct ibv_port_attr *port)
{
    return port->link_layer == IBV_LINK_LAYER_ETHERNET || (port->flags & IBV_QPF_GRH_REQUIRED) != 0;
}

int ncoll__try_handle(struct ibv_pd *pd, unsigned port, const struct ibv_port_attr *attr,
                      const union ibv_gid *gid, int gid_index)
{
    struct ibv_ah_attr ah = {
        .dlid = attr->lid,
        .port_num = (uint8_t)port,
        .is_global = ncoll__needs_grh(attr),
        .grh = {.dgid = *gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64},
    };
    struct ibv_ah *handle;

    if (pd == NULL)
        return ENOMEM;
    errno = 0;
    handle = ibv_create_ah(pd, &ah);
    if (handle == NULL)
        return errno != 0 ? errno : EIO;
    ibv_destroy_ah(handle);
    return 0;
}

/* ------------------------------------------------------------------ one device ---------------- */

/* Returns the rate of a port, whose speed and width have the codes of InfiniBand's PortInfo; 0: not
 * known. */
static uint32_t mbit_per_s(const struct ibv_port_attr *port)
{
    static const struct {
        unsigned code, mbit_per_s;
    } lanes[] = {{1, 2500},   {2, 5000},   {4, 10000},  {8, 10000},
                 {16, 14000}, {32, 25000}, {64, 50000}, {128, 100000}},
      widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
    unsigned lane = 0, width = 0;

    for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++)
        lane = port->active_speed == lanes[i].code ? lanes[i].mbit_per_s : lane;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
        width = port->active_width == widths[i].code ? widths[i].mbit_per_s : width;
    return lane * width;
}

static void add_gid(struct device_table *t, struct ibv_pd *pd, const struct ibv_port_attr *port,
                    const struct ibv_gid_entry *entry)
{
    struct gid_row row = {
        .gid = entry->gid, .index = (int32_t)entry->gid_index, .kind = kind_of(entry)};

    if (entry->ndev_ifindex != 0 && if_indextoname(entry->ndev_ifindex, row.interface) == NULL)
        row.interface[0] = '\0';
    if (row.kind != GID_IB)
        row.prefix_bits = ncoll__subnet_bits(row.interface, &row.gid);
    if (port->state == IBV_PORT_ACTIVE)
        row.no_handle =
            ncoll__try_handle(pd, entry->port_num, port, &row.gid, (int)entry->gid_index);
    ncoll__table_add_gid(t, row);
}

static void add_port(struct device_table *t, struct ibv_context *device, struct ibv_pd *pd,
                     unsigned number, const struct ibv_gid_entry *entries, ssize_t n)
{
    struct ibv_port_attr port;

    if (ibv_query_port(device, (uint8_t)number, &port) != 0)
        port = (struct ibv_port_attr){.state = IBV_PORT_NOP};
    struct port_row row = {.number = number,
                           .state = port.state,
                           .mbit_per_s = mbit_per_s(&port),
                           .link_layer = port.link_layer,
                           .lid = port.lid,
                           .needs_grh = ncoll__needs_grh(&port)};
    for (; row.n_pkeys < port.pkey_tbl_len && row.n_pkeys < PKEYS_MOST; row.n_pkeys++) {
        __be16 pkey;
        if (ibv_query_pkey(device, (uint8_t)number, row.n_pkeys, &pkey) != 0)
            break;
        row.pkeys[row.n_pkeys] = ntohs(pkey);
    }
    for (ssize_t i = n; i-- > 0;) /* backwards: the first GID of the port decides */
        if (entries[i].port_num == number && kind_of(&entries[i]) == GID_IB)
            row.subnet_prefix = be64toh(entries[i].gid.global.subnet_prefix);
    ncoll__table_add_port(t, row);
    for (ssize_t i = 0; i < n; i++)
        if (entries[i].port_num == number)
            add_gid(t, pd, &port, &entries[i]);
}

/* Tries to make a small queue pair of the type that connections use. Returns the feature that the
 * device lacks. */
static enum device_lack try_queues(struct ibv_device *device, struct ibv_pd *pd)
{
    enum device_lack lacks = LACKS_NOTHING;

    if (device->transport_type == IBV_TRANSPORT_IWARP)
        return LACKS_WRITE_WITH_IMMEDIATE;
    if (pd == NULL)
        return LACKS_NOTHING; /* ncoll__try_handle() will report the missing domain */
    struct ibv_cq *cq = ibv_create_cq(pd->context, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr pair = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    errno = 0;
    struct ibv_qp *qp = cq != NULL ? ibv_create_qp(pd, &pair) : NULL;
    if (cq != NULL && qp == NULL && (errno == EOPNOTSUPP || errno == ENOSYS))
        lacks = LACKS_RC;
    if (qp != NULL)
        ibv_destroy_qp(qp);
    if (cq != NULL)
        ibv_destroy_cq(cq);
    return lacks;
}

static void examine(struct device_table *t, struct ibv_device *device,
                    struct ibv_gid_entry *entries)
{
    struct device_row row = {0};
    char cores[CORES_TEXT];
    struct ibv_device_attr attr;

    snprintf(row.name, sizeof row.name, "%s", ibv_get_device_name(device));
    row.numa_node = ncoll__device_place(row.name, cores);
    struct ibv_context *context = ibv_open_device(device);
    row.error = context != NULL ? ibv_query_device(context, &attr) : errno;
    if (context == NULL && row.error == 0)
        row.error = EIO;
    struct ibv_pd *pd = row.error == 0 ? ibv_alloc_pd(context) : NULL;
    if (row.error == 0) {
        row.lacks = try_queues(device, pd);
        row.is_soft = attr.vendor_id == RXE_VENDOR_ID;
    }
    ncoll__table_add_device(t, row, cores);
    if (row.error == 0) {
        ssize_t n = ibv_query_gid_table(context, entries, GIDS_MAX, 0);
        for (unsigned port = 1; port <= attr.phys_port_cnt; port++)
            add_port(t, context, pd, port, entries, n);
    }
    if (pd != NULL)
        ibv_dealloc_pd(pd);
    if (context != NULL)
        ibv_close_device(context);
}

void ncoll__device_examine(struct device_table *t, struct ibv_device *device)
{
    struct ibv_gid_entry *entries = calloc(GIDS_MAX, sizeof *entries);

    if (entries != NULL)
        examine(t, device, entries);
    else
        t->devices.failed = true;
    free(entries);
}

/* ------------------------------------------------------------------ all devices --------------- */

bool ncoll__verbs_examine(struct blob *out)
{
    struct device_table table = {0};
    int n;

    struct ibv_device **devices = ibv_get_device_list(&n);
    if (devices == NULL)
        return false;
    for (int i = 0; i < n; i++)
        ncoll__device_examine(&table, devices[i]);
    ibv_free_device_list(devices);
    bool ok = !ncoll__table_failed(&table);
    if (ok)
        ncoll__table_write(&table, out);
    ncoll__table_free(&table);
    return ok && !out->failed;
}
