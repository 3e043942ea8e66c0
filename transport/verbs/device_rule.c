/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule that picks device, port and GID. It assumes no GID index: GID 0 of a RoCE port is
 * usually the link-local address, which no router forwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/device.h"
#include "transport/verbs/network.h"

/* Finds the partition key that connections will use, and sets it in the candidate. wish 0: the
 * first key with full membership, since limited members do not reach each other, or else the first
 * key. wish not 0: a key of this partition, with full membership if possible. Returns false if
 * there is no such key; but with wish 0 true if the keys of the port are not known. */
static bool find_pkey(struct candidate *c, int wish)
{
    int best = -1;

    for (unsigned i = 0; i < c->n_pkeys; i++) {
        bool full = (c->pkeys[i] & 0x8000) != 0;
        if ((c->pkeys[i] & 0x7fff) == 0 || (wish != 0 && (c->pkeys[i] ^ wish) & 0x7fff))
            continue;
        if (best < 0 || (full && !(c->pkeys[best] & 0x8000)))
            best = (int)i;
    }
    c->pkey_index = best < 0 ? 0 : best;
    c->pkey = best < 0 ? 0 : c->pkeys[best];
    return best >= 0 || (c->n_pkeys == 0 && wish == 0);
}

static const char *lack_text(enum device_lack lack)
{
    switch (lack) {
    case LACKS_WRITE_WITH_IMMEDIATE:
        return "the device is iWARP, which has no write with immediate; if it can do RoCE, set it "
               "up so";
    case LACKS_RC:
        return "the device has no reliable connections (RC), as Amazon's EFA; use "
               "NCOLL_TRANSPORT=shm on one node";
    case LACKS_NOTHING:
        break;
    }
    return "";
}

/* The most ports that the ranks of a node take in turn. */
#define PORTS_DEALT 32u

/* ------------------------------------------------------------------ names --------------------- */

/* An entry of a list of devices, such as "mlx5_0:1". */
struct entry {
    const char *name;
    size_t len;
    unsigned long port; /* 0: any */
};

/* Takes the next entry off a list. Returns false at its end. */
static bool next_entry(const char **list, struct entry *out)
{
    size_t len = strcspn(*list, ",");

    if (len == 0)
        return false;
    const char *colon = memchr(*list, ':', len);
    *out = (struct entry){*list, colon != NULL ? (size_t)(colon - *list) : len,
                          colon != NULL ? strtoul(colon + 1, NULL, 10) : 0};
    *list += len + ((*list)[len] == ',');
    return true;
}

static bool is_called(const struct entry *e, const char *device)
{
    return strlen(device) == e->len && memcmp(device, e->name, e->len) == 0;
}

/* True if an entry names a candidate. An entry names the device of exactly that name; if there is
 * none, it names all devices whose names begin with it. */
static bool names(const struct entry *e, const struct candidate *c, const struct candidate *list,
                  unsigned n)
{
    /* a device that could not be opened has no port */
    if (e->port != 0 && c->port != 0 && (unsigned long)c->port != e->port)
        return false;
    if (is_called(e, c->device))
        return true;
    for (unsigned i = 0; i < n; i++)
        if (is_called(e, list[i].device))
            return false;
    return strncmp(c->device, e->name, e->len) == 0;
}

/* True if the user's list of devices admits a candidate. "mlx5_0:1,mlx5_2" admits the devices in
 * the list, "^mlx5_bond" all others. */
static bool admits(const char *wish, const struct candidate *c, const struct candidate *list,
                   unsigned n)
{
    bool others = *wish == '^', named = false;
    struct entry e;

    for (wish += others; next_entry(&wish, &e);)
        named = named || names(&e, c, list, n);
    return named != others;
}

bool ncoll__device_list_is_well(const char *wish)
{
    if (*wish == '^' && *++wish == '\0')
        return false;
    if (strpbrk(wish, "^ \t\n") != NULL)
        return false;
    for (struct entry e; *wish != '\0';) {
        const char *before = wish;
        if (!next_entry(&wish, &e) || e.len == 0 || e.len >= IBV_SYSFS_NAME_MAX)
            return false;
        size_t digits = strspn(e.name + e.len + (e.name[e.len] == ':'), "0123456789");
        if (e.name[e.len] == ':' &&
            (e.port == 0 || e.port > 255 || e.len + 1 + digits != strcspn(before, ",")))
            return false;
        if (*wish == '\0' && wish[-1] == ',')
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the rule ------------------ */

/* True if a port is on the network of the job. Sets the partition key to that of the job's
 * partition, unless the user has set one. */
static bool is_of(struct candidate *c, const struct device_wish *wish)
{
    const struct network_choice *choice = wish->network;

    if (wish->pkey == 0 && c->n_pkeys > 0 && choice->network.pkey != 0 &&
        !find_pkey(c, choice->network.pkey))
        return false;
    struct network own = ncoll__network_of(c);
    return ncoll__networks_meet(&own, &choice->network, choice->routed);
}

/* True if a candidate cannot be used, or does not meet the user's conditions; writes the reason. */
static bool rejected(struct candidate *c, const struct device_wish *wish,
                     const struct candidate *list, unsigned n)
{
    if (wish->device != NULL && !admits(wish->device, c, list, n)) {
        bool list_of = strpbrk(wish->device, ",^") != NULL;
        snprintf(c->why, sizeof c->why,
                 list_of ? "\"%s\" was asked for" : "device %s was asked for", wish->device);
    } else if (wish->other_than != NULL && strcmp(c->device, wish->other_than) == 0) {
        snprintf(c->why, sizeof c->why, "it is the first card");
    } else if (c->port == 0) {
        /* the reason why the device could not be opened has been written already */
    } else if (wish->port != 0 && wish->port != c->port) {
        snprintf(c->why, sizeof c->why, "port %d was asked for", wish->port);
    } else if (!ncoll__gid_fits(&wish->gid, c)) {
        snprintf(c->why, sizeof c->why, "GID \"%s\" was asked for",
                 wish->gid_text != NULL ? wish->gid_text : "");
    } else if (c->gid_index > UINT8_MAX) {
        snprintf(c->why, sizeof c->why, "an address vector holds GID indices up to 255");
    } else if (c->lacks != LACKS_NOTHING) {
        snprintf(c->why, sizeof c->why, "%s", lack_text(c->lacks));
    } else if (c->state != IBV_PORT_ACTIVE) {
        snprintf(c->why, sizeof c->why, "the port is %s", ibv_port_state_str(c->state));
    } else if (c->kind == GID_NONE) {
        snprintf(c->why, sizeof c->why, "the port has no GID");
    } else if (c->kind == GID_ROCE1 && wish->gid.index < 0 && wish->gid.version != 1) {
        snprintf(c->why, sizeof c->why, "RoCE v1 is used only if it is asked for");
    } else if (c->no_handle != 0) {
        snprintf(c->why, sizeof c->why, "no address handle can be made: %s",
                 strerror(c->no_handle));
    } else if (!find_pkey(c, wish->pkey)) {
        if (wish->pkey != 0)
            snprintf(c->why, sizeof c->why, "the port has no partition key 0x%04x",
                     (unsigned)wish->pkey);
        else
            snprintf(c->why, sizeof c->why, "the port has no partition key");
    } else if (wish->network != NULL && !is_of(c, wish)) {
        char text[NETWORK_TEXT];
        snprintf(c->why, sizeof c->why, "the nodes of the job have in common: %s",
                 ncoll__network_text(&wish->network->network, text));
    } else {
        return false;
    }
    return true;
}

bool ncoll__device_usable(struct candidate *c, const struct candidate *list, unsigned n,
                          const struct device_wish *wish)
{
    return !rejected(c, wish, list, n);
}

static bool reaches_router(const struct candidate *c)
{
    return c->kind < GID_ROCE2_LINK_LOCAL;
}

/* True if candidate a is better than b. The first difference decides, in this order: an address
 * other than a link-local one of RoCE v2; hardware; full membership in the partition; the rate; on
 * InfiniBand the lower subnet prefix, so that all ranks choose the same one of several networks;
 * nearness; the kind of address. */
static bool is_better(const struct candidate *a, const struct candidate *b)
{
    if (reaches_router(a) != reaches_router(b))
        return reaches_router(a);
    if (a->is_soft != b->is_soft)
        return b->is_soft;
    if (((a->pkey ^ b->pkey) & 0xffff) == 0x8000)
        return (a->pkey & 0x8000) != 0;
    if (a->mbit_per_s != b->mbit_per_s)
        return a->mbit_per_s > b->mbit_per_s;
    if (a->kind == GID_IB && b->kind == GID_IB && a->subnet_prefix != b->subnet_prefix)
        return a->subnet_prefix < b->subnet_prefix;
    if (a->far != b->far)
        return b->far;
    return a->kind < b->kind;
}

/* The subnet prefix of an InfiniBand network for which no other one was set. */
#define DEFAULT_PREFIX UINT64_C(0xfe80000000000000)

/* True if two ports are equally good and on the same network, so that ranks may use either one.
 * RoCE ports, and InfiniBand ports with the default prefix, do not tell which network they are on.
 * But if the user has named devices, InfiniBand ports with the default prefix count as one
 * network. */
static bool are_alike(const struct candidate *a, const struct candidate *b,
                      const struct device_wish *wish)
{
    bool known = wish->device != NULL || a->subnet_prefix != DEFAULT_PREFIX;

    return known && a->kind == GID_IB && a->pkey == b->pkey && !is_better(a, b) && !is_better(b, a);
}

/* Returns the candidate of this rank: the ranks of a node take the best port, and those that are as
 * good, in turn. */
static struct candidate *deal_out(struct candidate *list, unsigned n, struct candidate *best,
                                  const struct device_wish *wish)
{
    struct candidate *ports[PORTS_DEALT];
    unsigned count = 0;

    for (unsigned i = 0; i < n && count < PORTS_DEALT; i++) {
        struct candidate *c = &list[i], *before = count > 0 ? ports[count - 1] : NULL;
        bool same_port =
            before != NULL && before->port == c->port && strcmp(before->device, c->device) == 0;
        if (!same_port && !rejected(c, wish, list, n) && (c == best || are_alike(c, best, wish)))
            ports[count++] = c;
    }
    return count > 0 ? ports[wish->local_rank % count] : best;
}

static void say_why_not(struct candidate *c, const struct candidate *best,
                        const struct device_wish *wish)
{
    if (c->is_soft && !best->is_soft)
        snprintf(c->why, sizeof c->why, "this is software, %s is not", best->device);
    else if (reaches_router(c) && c->mbit_per_s != best->mbit_per_s)
        snprintf(c->why, sizeof c->why, "%s has %u Gbit/s, this port %u", best->device,
                 best->mbit_per_s / 1000, c->mbit_per_s / 1000);
    else if (c->kind == GID_IB && best->kind == GID_IB && c->subnet_prefix != best->subnet_prefix)
        snprintf(c->why, sizeof c->why, "%s has the lower subnet prefix", best->device);
    else if (c->far && !best->far)
        snprintf(c->why, sizeof c->why, "%s is nearer to the cores of this process", best->device);
    else if (c->kind != best->kind)
        snprintf(c->why, sizeof c->why, "%s is preferred", ncoll__gid_kind_text(best->kind));
    else if (are_alike(c, best, wish) &&
             (c->port != best->port || strcmp(c->device, best->device) != 0))
        snprintf(c->why, sizeof c->why, "as good as %s port %d; ranks of a node take turns",
                 best->device, best->port);
    else
        snprintf(c->why, sizeof c->why, "as good as %s port %d GID %d, which comes first",
                 best->device, best->port, best->gid_index);
}

struct candidate *ncoll__device_choose(struct candidate *list, unsigned n,
                                       const struct device_wish *wish)
{
    struct candidate *best = NULL;

    for (unsigned i = 0; i < n; i++) {
        struct candidate *c = &list[i];
        if (!rejected(c, wish, list, n) && (best == NULL || is_better(c, best)))
            best = c;
    }
    if (best == NULL)
        return NULL;
    best = deal_out(list, n, best, wish);
    for (unsigned i = 0; i < n; i++)
        if (&list[i] != best && !rejected(&list[i], wish, list, n))
            say_why_not(&list[i], best, wish);
    best->chosen = true;
    bool asked = wish->device != NULL || wish->port != 0 || ncoll__gid_is_wished(&wish->gid) ||
                 wish->pkey != 0;
    snprintf(best->why, sizeof best->why, "%s%s, port active%s", asked ? "as asked for: " : "",
             ncoll__gid_kind_text(best->kind), best->far ? "; far from this process" : "");
    return best;
}
