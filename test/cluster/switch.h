/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch: what its ports and its commands share. */
#ifndef NCOLL_TEST_CLUSTER_SWITCH_H
#define NCOLL_TEST_CLUSTER_SWITCH_H

#include <linux/if_ether.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#define PORTS_MAX   16
#define CLIENTS_MAX 4
#define HOSTS_MAX   64

enum scope { SCOPE_NONE, SCOPE_ROCE, SCOPE_ALL };

struct frame {
    struct frame *next;
    uint64_t due_ns;
    bool roce, tagged, ipv6; /* of RoCE frames: with a VLAN tag; over IPv6 */
    size_t len;
    uint8_t bytes[];
};

struct port {
    struct sockaddr_un guest;
    int fd;
    bool connected; /* to guest; poll() then tells when it takes frames again */
    bool blocked;   /* the guest's socket is full */
    enum scope cut;
    struct frame *head, **tail;
    unsigned queued;
    uint64_t frames_in, frames_out, roce_in, roce_out;
};

struct host {
    uint8_t mac[ETH_ALEN];
    unsigned port;
};

struct client {
    int fd; /* -1: free */
    size_t len;
    char line[256];
};

/* A fault strikes a frame in its scope with this probability. */
struct fault {
    double probability;
    enum scope scope;
    uint64_t struck;
};

extern struct switch_state {
    struct port port[PORTS_MAX];
    unsigned ports;
    struct host host[HOSTS_MAX];
    unsigned hosts;
    struct fault loss, duplicate, corrupt, delay;
    uint64_t delay_ns, cut, overflowed;
    uint64_t roce_tagged, roce_ipv6; /* frames that came in */
    uint64_t random;
    int listener;
    struct client client[CLIENTS_MAX];
} sw;

/* switch_control.c */
void control_open(const char *directory);
/* Takes a client at the listener, if there is room for one. */
void client_accept(void);
/* Carries out what has come from a client. */
void client_receive(struct client *c);

#endif
