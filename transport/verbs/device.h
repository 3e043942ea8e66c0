/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of device, port and GID. All candidates of this machine are listed. A rule picks one
 * of them, and writes for each candidate why it was picked or not. The rule reads only the list, so
 * it can be tested without devices. */
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
    const uint16_t *pkeys;  /* [n_pkeys] the partition keys of the port */
    unsigned n_pkeys;
    int pkey_index; /* of the partition key that connections use; set by the rule */
    uint16_t pkey;
    /* errno of an attempt to make an address handle for the port's own address; 0: it worked */
    int no_handle;
    bool far; /* known to be far from the cores of this process */
    bool chosen;
    char why[128]; /* the reason why this candidate was picked or not */
};

struct network_choice;

/* The user's conditions for the GID of a port: see NCOLL_GID in ncoll.h. */
struct gid_wish {
    int index;                   /* -1: any */
    char interface[IF_NAMESIZE]; /* "": any */
    int version;                 /* of RoCE, 1 or 2; 0: any */
    bool has_range;
    union ibv_gid range; /* if has_range: the first `bits` bits of the GID */
    unsigned bits;
};

/* Parses a value of NCOLL_GID; NULL or "": no conditions. Returns false on a syntax error. */
bool ncoll__gid_wish_read(const char *text, struct gid_wish *out);
bool ncoll__gid_is_wished(const struct gid_wish *wish);

/* The user's conditions for a device, and the network that the job has chosen. */
struct device_wish {
    const char *device;   /* a list, as in NCOLL_DEVICE; NULL: any */
    int port;             /* 0: any */
    struct gid_wish gid;  /* zeroed, with index -1: any */
    const char *gid_text; /* `gid` as the user has written it; NULL: any */
    int pkey;             /* 0: any; the top bit (full membership) is ignored */
    unsigned local_rank;  /* ranks of a node use equal ports in turn, by this number */
    const struct network_choice *network; /* the network of the job; NULL: any */
    const char *other_than;               /* a second card must not be this device; NULL: any */
};

/* Advice for errors: the syntax of NCOLL_GID and of NCOLL_DEVICE. */
extern const char ncoll__gid_remedy[], ncoll__device_remedy[];

/* True if the GID of a candidate meets the user's conditions. */
bool ncoll__gid_fits(const struct gid_wish *wish, const struct candidate *c);

const char *ncoll__gid_kind_text(enum gid_kind kind);
/* True if ports with GIDs of these kinds can reach each other. */
bool ncoll__gid_kinds_meet(enum gid_kind a, enum gid_kind b);
/* Writes a GID such as "::ffff:10.0.0.1". Returns text. */
const char *ncoll__gid_text(const union ibv_gid *gid, char text[46]);

/* True if a list of devices has the right syntax: names, or beginnings of names, each with a port
 * or without; a ^ before the list means all other devices. */
bool ncoll__device_list_is_well(const char *wish);

/* Applies the rule: marks the chosen one of n candidates, and writes the reason for each. Returns
 * the chosen candidate; NULL: none can be used. */
struct candidate *ncoll__device_choose(struct candidate *list, unsigned n,
                                       const struct device_wish *wish);

/* True if a candidate of the list can be used and meets the user's conditions. Sets the candidate's
 * partition key. */
bool ncoll__device_usable(struct candidate *c, const struct candidate *list, unsigned n,
                          const struct device_wish *wish);

/* Calls show() for every candidate of this machine, after applying the rule. Returns the number of
 * candidates, or -errno. */
int ncoll__verbs_survey(const struct device_wish *wish,
                        void (*show)(void *arg, const struct candidate *candidate), void *arg);

/* Appends the networks that the usable ports of this node are on, perhaps none. Returns false if
 * the devices cannot be listed, or for lack of memory. */
bool ncoll__verbs_networks(const struct transport_config *config, struct blob *out);

struct verbs;
/*
 * Finds the device to use, and opens it: sets v->where and v->device. Returns NCOLL_OK, or an error
 * that explains why there is none. If another rank of this node has examined the devices
 * (v->config.examined), this rank examines only those that it cannot use as described there.
 */
int ncoll__device_open(struct verbs *v);

#define CORES_MOST 65536
#define CORES_TEXT (CORES_MOST / 4 + CORES_MOST / 32 + 2)
/* Writes the mask of the cores near a device, in the format of the kernel; "": not known. Returns
 * the NUMA node of the device; -1: not known. */
int ncoll__device_place(const char *device, char cores[CORES_TEXT]);
/* True if a mask in the format of the kernel, such as "00000000,0000ff00", and the bit set `cores`
 * of n cores have a core in common. *any: the mask has at least one core. */
bool ncoll__cores_meet(const char *mask, const unsigned long *cores, size_t n, bool *any);

/* The cores that this process may use. */
struct own_cores {
    bool known; /* false: the system refuses to tell, as in some sandboxes */
    unsigned long bits[CORES_MOST / (8 * sizeof(unsigned long))];
};
void ncoll__own_cores(struct own_cores *own);
/* True if a device is known to be far from this process. cores: from ncoll__device_place(). */
bool ncoll__is_far(const char *cores, const struct own_cores *own);

#endif
