/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of RDMA devices with their ports and GIDs, as a process has found them. The table can be
 * sent to other processes. To examine a device, a process opens a context, which costs memory and
 * time in the driver and in the device. So one rank of each node examines all devices, and the
 * others read its table.
 */
#ifndef NCOLL_TRANSPORT_VERBS_DEVICE_TABLE_H
#define NCOLL_TRANSPORT_VERBS_DEVICE_TABLE_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

/* The kinds of GIDs, in the order of preference. */
enum gid_kind {
    GID_ROCE2_IPV4,
    GID_ROCE2_IPV6,
    GID_IB,
    /* works up to the next router; every port has one, even if it was not set up */
    GID_ROCE2_LINK_LOCAL,
    GID_ROCE1, /* used only if the user asks for it */
    GID_NONE,
};

/* Software RoCE (rdma_rxe) has this vendor number. */
#define RXE_VENDOR_ID 0xffffffu

/* The most partition keys of a port that are read. */
#define PKEYS_MOST 128

/* A feature that ncoll needs and that a device lacks. */
enum device_lack { LACKS_NOTHING, LACKS_WRITE_WITH_IMMEDIATE, LACKS_RC };

struct device_row {
    char name[IBV_SYSFS_NAME_MAX];
    int32_t error;     /* errno of an attempt to open the device; 0: it worked */
    int32_t numa_node; /* -1: the system does not tell */
    uint32_t lacks;    /* enum device_lack */
    uint32_t is_soft;  /* 1: it is software RoCE */
    uint32_t first_port, n_ports;
    uint32_t cores_at; /* offset in `masks` */
};

struct port_row {
    uint64_t subnet_prefix; /* of an InfiniBand port; else 0 */
    uint32_t mbit_per_s;    /* 0: not known */
    uint32_t number;        /* from 1 */
    uint32_t state;         /* enum ibv_port_state */
    uint16_t link_layer;    /* IBV_LINK_LAYER_ */
    uint16_t lid;
    uint16_t needs_grh; /* 1: every packet needs a global route header */
    uint16_t n_pkeys;
    uint16_t pkeys[PKEYS_MOST]; /* the first keys of the port's table, in order */
    uint32_t first_gid, n_gids;
    uint32_t reserved;
};

struct gid_row {
    union ibv_gid gid;
    char interface[IF_NAMESIZE]; /* the network interface; "": there is none */
    int32_t index;
    uint32_t kind; /* enum gid_kind */
    /* errno of an attempt to make an address handle for the port's own address; 0: it worked, or
     * the port was down */
    int32_t no_handle;
    uint32_t prefix_bits; /* RoCE: the length of the subnet's prefix in the GID; 0: not known */
};

/* The rows of the table, in an array for each kind. A zeroed table is empty. */
struct device_table {
    struct blob devices, ports, gids;
    /* for each device the mask of the cores near it, as a C string in the format of the kernel */
    struct blob masks;
};

static inline unsigned table_n_devices(const struct device_table *t)
{
    return (unsigned)(t->devices.len / sizeof(struct device_row));
}

static inline const struct device_row *table_device(const struct device_table *t, unsigned i)
{
    return (const struct device_row *)(const void *)t->devices.bytes + i;
}

static inline const struct port_row *table_port(const struct device_table *t, unsigned i)
{
    return (const struct port_row *)(const void *)t->ports.bytes + i;
}

static inline const struct gid_row *table_gid(const struct device_table *t, unsigned i)
{
    return (const struct gid_row *)(const void *)t->gids.bytes + i;
}

/* Returns the mask of the cores near a device, such as "00000000,0000ff00"; "": not known. */
static inline const char *table_cores(const struct device_table *t, const struct device_row *row)
{
    return (const char *)t->masks.bytes + row->cores_at;
}

/* Append a device, a port of the last device, and a GID of the last port. They set the fields of
 * the rows that refer to other rows, and copy `cores`. */
void ncoll__table_add_device(struct device_table *t, struct device_row row, const char *cores);
void ncoll__table_add_port(struct device_table *t, struct port_row row);
void ncoll__table_add_gid(struct device_table *t, struct gid_row row);
/* True if there was no memory for a part of the table. */
bool ncoll__table_failed(const struct device_table *t);
void ncoll__table_free(struct device_table *t);

/* Returns the row of a device by its name, or -1. */
int ncoll__table_find(const struct device_table *t, const char *name);

/* Appends the table to a blob. */
void ncoll__table_write(const struct device_table *t, struct blob *out);
/* Reads a table that another process has written. Returns false if the bytes are no valid table, or
 * if there is no memory. */
bool ncoll__table_read(struct device_table *t, const void *bytes, size_t len);

/* Opens a device for a moment, and appends it with its ports and GIDs. */
void ncoll__device_examine(struct device_table *t, struct ibv_device *device);
/* True if packets of a port need a global route header. */
bool ncoll__needs_grh(const struct ibv_port_attr *port);
/* Returns the length in bits of the subnet prefix in a RoCE GID, from the addresses of its network
 * interface; 0: not known. */
unsigned ncoll__subnet_bits(const char *interface, const union ibv_gid *gid);
/* Tries to make an address handle for the port's own address with a GID. Returns 0 or errno. */
int ncoll__try_handle(struct ibv_pd *pd, unsigned port, const struct ibv_port_attr *attr,
                      const union ibv_gid *gid, int gid_index);
/* Appends the table of all devices that this process sees. Returns false if they cannot be
 * listed. */
bool ncoll__verbs_examine(struct blob *out);
/* Keeps the memory of devices from forked children: `before` of struct transport_ops. In
 * device.c. */
void ncoll__verbs_before(const struct transport_config *config);

#endif
