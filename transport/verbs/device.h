/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which device, port and GID to use. All that this machine has are listed; a rule picks one and
 * says of each why, or why not. The rule knows no device, so it can be tested without one.
 */
#ifndef NCOLL_TRANSPORT_VERBS_DEVICE_H
#define NCOLL_TRANSPORT_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>

#include "transport/transport.h"

/* In the order of preference. */
enum gid_kind {
    GID_ROCE2_IPV4,
    GID_ROCE2_IPV6,
    GID_IB,
    GID_ROCE2_LINK_LOCAL, /* does not cross a router, and every port has one, set up or not */
    GID_ROCE1,            /* only if asked for */
    GID_NONE,
};

/* One device, port and GID. */
struct candidate {
    char device[IBV_SYSFS_NAME_MAX];
    int port;      /* from 1; 0: the device could not be opened, see why */
    int gid_index; /* -1: the port has no GID */
    union ibv_gid gid;
    enum gid_kind kind;
    enum ibv_port_state state;
    char interface[IF_NAMESIZE]; /* the network interface, "" if there is none */
    int no_handle;               /* errno of making an address handle to itself; 0: it worked */
    bool far;                    /* known not to be near the cores of this process */
    bool chosen;
    char why[128]; /* for or against it */
};

/* What the user asked for. */
struct device_wish {
    const char *device; /* NULL: any */
    int port;           /* 0: any */
    int gid_index;      /* -1: any */
};

const char *ncoll__gid_kind_text(enum gid_kind kind);
/* Whether ports with GIDs of these kinds can reach each other. */
bool ncoll__gid_kinds_meet(enum gid_kind a, enum gid_kind b);
/* "::ffff:10.0.0.1" into text. Returns text. */
const char *ncoll__gid_text(const union ibv_gid *gid, char text[46]);

/* The rule: marks the chosen one of n candidates, says why of each. Returns it, or NULL. */
struct candidate *ncoll__device_choose(struct candidate *list, unsigned n,
                                       const struct device_wish *wish);

/* Calls show for every candidate of this machine, after the rule has been applied. Returns how many
 * there are, or -errno. */
int ncoll__verbs_survey(const struct device_wish *wish,
                        void (*show)(void *arg, const struct candidate *candidate), void *arg);

/* The chosen one. NCOLL_OK, or the error that says what stands in the way. */
int ncoll__device_find(const struct device_wish *wish, const struct transport_events *events,
                       struct candidate *out);

/* Marks the candidates whose device is not near the cores that this process may use. */
void ncoll__device_mark_far(struct candidate *list, unsigned n);

#endif
