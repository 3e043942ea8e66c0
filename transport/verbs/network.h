/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks: the ranks of a job have to use ports that reach each other, so the choice between networks is
 * that of the whole job. One rank of each node tells which networks its ports lead to (struct
 * network), all ranks choose one of those that every node has, by the same rule, and each then
 * chooses its port in it (device_rule.c).
 */
#ifndef NCOLL_TRANSPORT_VERBS_NETWORK_H
#define NCOLL_TRANSPORT_VERBS_NETWORK_H

#include "transport/verbs/device.h"

/* A network that a port leads to; wire format between ranks of one build. */
struct network {
    uint8_t kind; /* enum gid_kind */
    uint8_t is_soft;
    uint16_t pkey;       /* 0: not known */
    uint32_t mbit_per_s; /* of the fastest port; 0: not known */
    uint8_t
        prefix[16]; /* the first `bits` bits of an address: InfiniBand's subnet, or that of IP */
    uint32_t bits;  /* 0: not known */
    char port[IBV_SYSFS_NAME_MAX]; /* the fastest port, for texts */
    uint32_t number;
};

/* The networks of one node, as it has told them. */
struct node_networks {
    const struct network *list;
    unsigned n;
    int rank; /* who has told it */
};

/* Returns the network of a candidate that can be used. */
struct network ncoll__network_of(const struct candidate *c);
/* True if ports with these partition keys reach each other: full members of a partition reach all of
 * it, limited ones only full members. 0: not known. */
bool ncoll__pkeys_meet(uint16_t a, uint16_t b);
/* True if ports of the two networks reach each other: they are on the same subnet or, routed, on any two
 * of the kind. */
bool ncoll__networks_meet(const struct network *a, const struct network *b, bool routed);

/* The choice of a job. */
struct network_choice {
    struct network network;
    bool routed;      /* nodes are on different subnets */
    unsigned limited; /* nodes that are limited members of the partition alone: at most one */
};

/* Returns the best network of a node that meets this one; NULL: there is none. */
const struct network *ncoll__network_there(const struct network *from,
                                           const struct node_networks *node, bool routed);

/* Chooses a network that all nodes have. Returns false if there is none; *a and *b are then two nodes that
 * share none or, if any two share one, two that share another one than others do. */
bool ncoll__network_choose(const struct node_networks *nodes, unsigned n,
                           struct network_choice *out, const struct node_networks **a,
                           const struct node_networks **b);

/* Writes "InfiniBand, subnet fe80:: (mlx5_0 port 1)". Returns text. */
#define NETWORK_TEXT 160
const char *ncoll__network_text(const struct network *n, char text[NETWORK_TEXT]);

#endif
