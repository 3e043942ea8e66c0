/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks. The ranks of a job have to use ports that reach each other, so the whole job chooses
 * one network. One rank of each node publishes the networks that the ports of the node are on
 * (struct network). All ranks then choose the same one of those that every node has, by the same
 * rule. Each rank chooses a port on this network (device_rule.c).
 */
#ifndef NCOLL_TRANSPORT_VERBS_NETWORK_H
#define NCOLL_TRANSPORT_VERBS_NETWORK_H

#include "transport/verbs/device.h"

/* A network that a port is on; wire format between ranks of one build. */
struct network {
    uint8_t kind; /* enum gid_kind */
    uint8_t is_soft;
    uint16_t pkey;       /* 0: not known */
    uint32_t mbit_per_s; /* of the fastest port; 0: not known */
    uint8_t prefix[16];  /* the prefix of the InfiniBand or IP subnet: its first `bits` bits */
    uint32_t bits;       /* 0: not known */
    char port[IBV_SYSFS_NAME_MAX]; /* device and number of the fastest port, for texts */
    uint32_t number;
};

/* The networks of one node. */
struct node_networks {
    const struct network *list;
    unsigned n;
    int rank; /* the rank of the node that has published them */
};

/* Returns the network of a candidate that can be used. */
struct network ncoll__network_of(const struct candidate *c);
/* True if ports with these partition keys reach each other: full members of a partition reach all
 * its members, limited members only full ones. Key 0: not known; then the ports may reach each
 * other. */
bool ncoll__pkeys_meet(uint16_t a, uint16_t b);
/* True if ports on the two networks reach each other: the networks are of one kind and have the
 * same subnet. routed: the subnets may differ. */
bool ncoll__networks_meet(const struct network *a, const struct network *b, bool routed);

/* The network that a job has chosen. */
struct network_choice {
    struct network network;
    bool routed;      /* the nodes are on different subnets */
    unsigned limited; /* number of nodes that are only limited members of the partition: 0 or 1 */
};

/* Returns the best network of a node that can be reached from `from`; NULL: there is none. */
const struct network *ncoll__network_there(const struct network *from,
                                           const struct node_networks *node, bool routed);

/* Chooses a network that all nodes have. Returns false if there is none. Then *a and *b are two
 * nodes that have no network in common; if every two nodes have one, they are the first node and a
 * node that lacks a network of the first. */
bool ncoll__network_choose(const struct node_networks *nodes, unsigned n,
                           struct network_choice *out, const struct node_networks **a,
                           const struct node_networks **b);

/* Describes a network in words: kind, subnet, partition and port. Returns text. */
#define NETWORK_TEXT 160
const char *ncoll__network_text(const struct network *n, char text[NETWORK_TEXT]);

#endif
