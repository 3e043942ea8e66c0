/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the network of a job among those that all of its nodes have. */
#include "transport/verbs/network.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ what a node has ----------- */

/* Copies the first bits of an address. */
static void copy_bits(const union ibv_gid *gid, unsigned bits, uint8_t prefix[16])
{
    memset(prefix, 0, 16);
    for (unsigned i = 0; i < bits && i < 128; i++)
        prefix[i / 8] |= gid->raw[i / 8] & (uint8_t)(0x80 >> i % 8);
}

struct network ncoll__network_of(const struct candidate *c)
{
    struct network n = {.kind = (uint8_t)c->kind,
                        .is_soft = c->is_soft,
                        .pkey = c->pkey,
                        .mbit_per_s = c->mbit_per_s,
                        .bits = c->kind == GID_IB ? 64 : c->prefix_bits,
                        .number = (uint32_t)c->port};

    copy_bits(&c->gid, n.bits, n.prefix);
    memcpy(n.port, c->device, sizeof n.port);
    return n;
}

/* ------------------------------------------------------------------ the choice ---------------- */

bool ncoll__pkeys_meet(uint16_t a, uint16_t b)
{
    return a == 0 || b == 0 || (((a ^ b) & 0x7fff) == 0 && ((a | b) & 0x8000) != 0);
}

static bool is_link_local(const struct network *n)
{
    return n->kind == GID_ROCE2_LINK_LOCAL;
}

bool ncoll__networks_meet(const struct network *a, const struct network *b, bool routed)
{
    if (is_link_local(a) != is_link_local(b) ||
        !ncoll__gid_kinds_meet((enum gid_kind)a->kind, (enum gid_kind)b->kind) ||
        !ncoll__pkeys_meet(a->pkey, b->pkey))
        return false;
    if (routed || a->bits == 0 || b->bits == 0)
        return true;
    return a->bits == b->bits && memcmp(a->prefix, b->prefix, sizeof a->prefix) == 0;
}

static bool is_limited(const struct network *n)
{
    return n->pkey != 0 && (n->pkey & 0x8000) == 0;
}

/* True if network a of a node is better than network b: hardware comes before software, then full
 * membership in the partition before limited membership, then the higher rate. */
static bool is_better_there(const struct network *a, const struct network *b)
{
    if (a->is_soft != b->is_soft)
        return b->is_soft != 0;
    if (is_limited(a) != is_limited(b))
        return is_limited(b);
    return a->mbit_per_s > b->mbit_per_s;
}

const struct network *ncoll__network_there(const struct network *from,
                                           const struct node_networks *node, bool routed)
{
    const struct network *best = NULL;

    for (unsigned i = 0; i < node->n; i++)
        if (ncoll__networks_meet(from, &node->list[i], routed) &&
            (best == NULL || is_better_there(&node->list[i], best)))
            best = &node->list[i];
    return best;
}

/* Finds the matching networks of all nodes for c->network, a network of the first node. Sets in *c
 * the lowest rate, is_soft if any node uses software, and the number of nodes that are limited
 * members of the partition. Returns false if a node has no such network, or if it is the second
 * limited member; *without is that node. */
static bool all_have(struct network_choice *c, const struct node_networks *nodes, unsigned n,
                     const struct node_networks **without)
{
    struct network all = c->network;

    c->limited = is_limited(&all);
    for (unsigned i = 1; i < n; i++) {
        const struct network *there = ncoll__network_there(&c->network, &nodes[i], c->routed);
        if (there == NULL || (c->limited += is_limited(there)) > 1) {
            *without = &nodes[i];
            return false;
        }
        all.is_soft |= there->is_soft;
        if (all.mbit_per_s == 0 || (there->mbit_per_s != 0 && there->mbit_per_s < all.mbit_per_s))
            all.mbit_per_s = there->mbit_per_s;
    }
    c->network = all;
    return true;
}

/* True if choice x is better than y. As for ports (device_rule.c), link-local addresses come last,
 * and software after hardware. Then one subnet is better than several, fewer limited members than
 * more, and a higher rate than a lower one. */
static bool is_better(const struct network_choice *x, const struct network_choice *y)
{
    const struct network *a = &x->network, *b = &y->network;

    if (is_link_local(a) != is_link_local(b))
        return is_link_local(b);
    if (a->is_soft != b->is_soft)
        return b->is_soft != 0;
    if (x->routed != y->routed)
        return y->routed;
    if (x->limited != y->limited)
        return x->limited < y->limited;
    if (a->mbit_per_s != b->mbit_per_s)
        return a->mbit_per_s > b->mbit_per_s;
    if ((a->bits == 0) != (b->bits == 0))
        return a->bits != 0;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return memcmp(a->prefix, b->prefix, sizeof a->prefix) < 0;
}

/* True if two nodes have networks that reach each other. */
static bool nodes_meet(const struct node_networks *a, const struct node_networks *b)
{
    for (unsigned i = 0; i < a->n; i++)
        if (ncoll__network_there(&a->list[i], b, true) != NULL)
            return true;
    return false;
}

/* Finds two nodes that have no network in common; if there are none, leaves *a and *b as they
 * are. */
static void find_strangers(const struct node_networks *nodes, unsigned n,
                           const struct node_networks **a, const struct node_networks **b)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = i + 1; k < n; k++)
            if (!nodes_meet(&nodes[i], &nodes[k])) {
                *a = &nodes[i];
                *b = &nodes[k];
                return;
            }
}

bool ncoll__network_choose(const struct node_networks *nodes, unsigned n,
                           struct network_choice *out, const struct node_networks **a,
                           const struct node_networks **b)
{
    bool found = false;

    *a = *b = &nodes[0];
    for (int routed = 0; routed < 2; routed++)
        for (unsigned i = 0; i < nodes[0].n; i++) {
            struct network_choice c = {nodes[0].list[i], routed != 0, 0};
            if (!all_have(&c, nodes, n, b))
                continue;
            if (c.network.pkey != 0) /* full membership, which limited members reach as well */
                c.network.pkey |= 0x8000;
            if (!found || is_better(&c, out))
                *out = c;
            found = true;
        }
    if (!found)
        find_strangers(nodes, n, a, b);
    return found;
}

/* ------------------------------------------------------------------ in words ------------------ */

const char *ncoll__network_text(const struct network *n, char text[NETWORK_TEXT])
{
    union ibv_gid gid;
    char address[46], subnet[64] = "";

    memcpy(gid.raw, n->prefix, sizeof gid.raw);
    ncoll__gid_text(&gid, address);
    if (n->bits > 0 && n->kind == GID_ROCE2_IPV4 && n->bits >= 96)
        snprintf(subnet, sizeof subnet, ", %s/%u", strrchr(address, ':') + 1, n->bits - 96);
    else if (n->bits > 0)
        snprintf(subnet, sizeof subnet, ", %s/%u", address, n->bits);
    int at =
        snprintf(text, NETWORK_TEXT, "%s%s", ncoll__gid_kind_text((enum gid_kind)n->kind), subnet);
    if (n->pkey != 0 && n->pkey != 0xffff)
        at += snprintf(text + at, NETWORK_TEXT - (size_t)at, ", partition 0x%04x%s", n->pkey,
                       is_limited(n) ? " as a limited member" : "");
    snprintf(text + at, NETWORK_TEXT - (size_t)at, " (%s port %u)", n->port, n->number);
    return text;
}
