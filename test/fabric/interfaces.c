/* SPDX-License-Identifier: BSD-3-Clause */
/* The network interfaces of a node, as far as programs ask for the addresses behind GIDs: the functions of the C
 * library are replaced, and add them to those of this machine. Interface i of a node has the number
 * FIRST + i. */
#include "test/fabric/fabric.h"

#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 100000u

/* Calls f for each GID of this node that has an interface, until it returns true. */
static bool for_gids(bool (*f)(const struct fabric_gid *g, unsigned number, void *arg), void *arg)
{
    unsigned number = 0;

    for (unsigned d = 0; d < fabric.personality.n_devices; d++)
        for (unsigned p = 0; p < fabric.personality.devices[d].n_ports; p++) {
            const struct fabric_port *port = &fabric.personality.devices[d].ports[p];
            for (unsigned i = 0; i < port->n_gids; i++, number++)
                if (port->gids[i].interface[0] != '\0' && f(&port->gids[i], number, arg))
                    return true;
        }
    return false;
}

struct search {
    const struct fabric_gid *gid;
    unsigned number;
    char *name;
};

static bool is_gid(const struct fabric_gid *g, unsigned number, void *arg)
{
    struct search *s = arg;

    s->number = number;
    return g == s->gid;
}

static bool is_number(const struct fabric_gid *g, unsigned number, void *arg)
{
    struct search *s = arg;

    if (number == s->number)
        snprintf(s->name, IF_NAMESIZE, "%s", g->interface);
    return number == s->number;
}

unsigned fabric_interface_of(const struct fabric_gid *gid)
{
    struct search s = {.gid = gid};

    return for_gids(is_gid, &s) ? FIRST + s.number : 0;
}

char *if_indextoname(unsigned index, char name[IF_NAMESIZE])
{
    char *(*real)(unsigned, char *) =
        (char *(*)(unsigned, char *))dlsym(RTLD_NEXT, "if_indextoname");
    struct search s = {.number = index - FIRST, .name = name};

    return index >= FIRST && for_gids(is_number, &s) ? name : real(index, name);
}

/* ------------------------------------------------------------------ addresses ----------------- */

struct one {
    struct ifaddrs entry;
    struct sockaddr_storage address, mask;
    char name[IF_NAMESIZE];
};

/* A list that was handed out; those of this machine follow the own ones. */
struct list {
    struct list *next;
    struct ifaddrs *machines;
    unsigned n;
    struct one own[DEVICES_MOST * PORTS_MOST * GIDS_MOST];
};
static struct list *lists;

static void set_mask(unsigned char *mask, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++)
        mask[i / 8] |= (unsigned char)(0x80 >> i % 8);
}

static bool add(const struct fabric_gid *g, unsigned number, void *arg)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct list *l = arg;
    struct one *o = &l->own[l->n];

    (void)number;
    if (g->bits == 0)
        return false;
    if (memcmp(g->gid.raw, mapped, sizeof mapped) == 0) {
        struct sockaddr_in *at = (void *)&o->address, *mask = (void *)&o->mask;
        at->sin_family = mask->sin_family = AF_INET;
        memcpy(&at->sin_addr, g->gid.raw + 12, 4);
        set_mask((unsigned char *)&mask->sin_addr, g->bits);
    } else {
        struct sockaddr_in6 *at = (void *)&o->address, *mask = (void *)&o->mask;
        at->sin6_family = mask->sin6_family = AF_INET6;
        memcpy(&at->sin6_addr, g->gid.raw, 16);
        set_mask((unsigned char *)&mask->sin6_addr, g->bits);
    }
    snprintf(o->name, sizeof o->name, "%s", g->interface);
    o->entry = (struct ifaddrs){.ifa_name = o->name,
                                .ifa_flags = IFF_UP,
                                .ifa_addr = (struct sockaddr *)&o->address,
                                .ifa_netmask = (struct sockaddr *)&o->mask};
    if (l->n > 0)
        l->own[l->n - 1].entry.ifa_next = &o->entry;
    l->n++;
    return false;
}

int getifaddrs(struct ifaddrs **out)
{
    int (*real)(struct ifaddrs **) = (int (*)(struct ifaddrs **))dlsym(RTLD_NEXT, "getifaddrs");
    struct list *l = calloc(1, sizeof *l);

    if (real(out) != 0 || l == NULL) {
        free(l);
        return -1;
    }
    for_gids(add, l);
    if (l->n == 0) {
        free(l);
        return 0;
    }
    l->machines = l->own[l->n - 1].entry.ifa_next = *out;
    *out = &l->own[0].entry;
    fabric_enter();
    l->next = lists;
    lists = l;
    fabric_leave();
    return 0;
}

void freeifaddrs(struct ifaddrs *at)
{
    void (*real)(struct ifaddrs *) = (void (*)(struct ifaddrs *))dlsym(RTLD_NEXT, "freeifaddrs");
    struct list **link = &lists, *own;

    fabric_enter();
    while (*link != NULL && at != &(*link)->own[0].entry)
        link = &(*link)->next;
    if ((own = *link) != NULL)
        *link = own->next;
    fabric_leave();
    real(own != NULL ? own->machines : at);
    free(own);
}
