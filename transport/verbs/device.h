/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of device, port and GID. All candidates of this machine are listed. A rule picks one,
 * and gives the reason for each that it was or was not picked. The rule uses no device, so it can
 * be tested without one. */
#ifndef NCOLL_TRANSPORT_VERBS_DEVICE_H
#define NCOLL_TRANSPORT_VERBS_DEVICE_H

#include "transport/verbs/device_table.h"

/* One device, port and GID. */
struct candidate {
    char device[IBV_SYSFS_NAME_MAX];
    int port;      /* from 1; 0: the device could not be opened, see why */
    int gid_index; /* -1: the port has no GID */
    union ibv_gid gid;
    enum gid_kind kind;
    enum ibv_port_state state;
    char interface[IF_NAMESIZE]; /* the network interface; "": there is none */
    enum device_lack lacks;
    bool is_soft;           /* software RoCE */
    uint64_t subnet_prefix; /* of an InfiniBand port; else 0 */
    unsigned prefix_bits;   /* of a RoCE address: length of its subnet's prefix; 0: not known */
    uint32_t mbit_per_s;    /* 0: not known */
    const uint16_t *pkeys;  /* [n_pkeys] those of the port */
    unsigned n_pkeys;
    int pkey_index; /* the one that connections use; set for the chosen one */
    uint16_t pkey;
    /* errno of making an address handle to its own address; 0: it worked */
    int no_handle;
    bool far; /* known to be far from the cores of this process */
    bool chosen;
    char why[128]; /* reason why it was or was not picked */
};

struct network_choice;

/* Which addresses of a port the user wants: see NCOLL_GID in ncoll.h. */
struct gid_wish {
    int index;                   /* -1: any */
    char interface[IF_NAMESIZE]; /* "": any */
    int version;                 /* of RoCE, 1 or 2; 0: any */
    bool has_range;
    union ibv_gid range; /* its first `bits` bits */
    unsigned bits;
};

/* Reads a wish; NULL or "": there is none. Returns false if it cannot be read. */
bool ncoll__gid_wish_read(const char *text, struct gid_wish *out);
bool ncoll__gid_is_wished(const struct gid_wish *wish);

/* The wishes of the user, and what the job has chosen. */
struct device_wish {
    const char *device;                   /* a list, as in NCOLL_DEVICE; NULL: any */
    int port;                             /* 0: any */
    struct gid_wish gid;                  /* zeroed but for index -1: any */
    const char *gid_text;                 /* as it was written; NULL: any */
    int pkey;                             /* 0: any; with or without the bit of full members */
    unsigned local_rank;                  /* of equal ports, the one at this place, in turn */
    const struct network_choice *network; /* that of the job; NULL: any */
    const char *other_than;               /* for a second card: the first one; NULL: any */
};

/* How NCOLL_GID, and NCOLL_DEVICE, are written. */
extern const char ncoll__gid_remedy[], ncoll__device_remedy[];

/* True if an address is wanted. */
bool ncoll__gid_fits(const struct gid_wish *wish, const struct candidate *c);

const char *ncoll__gid_kind_text(enum gid_kind kind);
/* True if ports with GIDs of these kinds can reach each other. */
bool ncoll__gid_kinds_meet(enum gid_kind a, enum gid_kind b);
/* Writes a GID such as "::ffff:10.0.0.1". Returns text. */
const char *ncoll__gid_text(const union ibv_gid *gid, char text[46]);

/* True if a list of devices can be read: names, or beginnings of names, each with a port or without;
 * with ^ before them, all others. */
bool ncoll__device_list_is_well(const char *wish);

/* Applies the rule: marks the chosen one of n candidates, and writes the reason for each. Returns
 * the chosen one, or NULL. */
struct candidate *ncoll__device_choose(struct candidate *list, unsigned n,
                                       const struct device_wish *wish);

/* True if a candidate, one of a list, can be used, and is what the user wants. Sets its partition key. */
bool ncoll__device_usable(struct candidate *c, const struct candidate *list, unsigned n,
                          const struct device_wish *wish);

/* Calls show() for every candidate of this machine, after applying the rule. Returns how many there
 * are, or -errno. */
int ncoll__verbs_survey(const struct device_wish *wish,
                        void (*show)(void *arg, const struct candidate *candidate), void *arg);

/* Appends the networks that the ports of this node lead to. Returns false if there is none. */
bool ncoll__verbs_networks(const struct transport_config *config, struct blob *out);

struct verbs;
/*
 * Finds the device to use, and opens it: sets v->where and v->device. Returns NCOLL_OK, or an error
 * that explains why there is none. A rank of this node may have examined the devices (v->config);
 * what this rank cannot use as that one could, it examines itself.
 */
int ncoll__device_open(struct verbs *v);

#define CORES_MOST 65536
#define CORES_TEXT (CORES_MOST / 4 + CORES_MOST / 32 + 2)
/* Writes the cores near a device, as the kernel does; "": it does not tell. Returns the NUMA node of
 * the device, or -1. */
int ncoll__device_place(const char *device, char cores[CORES_TEXT]);
/* True if a mask of cores as the kernel writes it, such as "00000000,0000ff00", has one of n cores.
 * *any: it has cores at all. */
bool ncoll__cores_meet(const char *mask, const unsigned long *cores, size_t n, bool *any);

/* The cores that this process may use. */
struct own_cores {
    bool known; /* a sandbox may refuse to tell */
    unsigned long bits[CORES_MOST / (8 * sizeof(unsigned long))];
};
void ncoll__own_cores(struct own_cores *own);
/* True if a device with these cores is known to be far from this process. */
bool ncoll__is_far(const char *cores, const struct own_cores *own);

#endif
