/* SPDX-License-Identifier: BSD-3-Clause */
/* Which network a job uses, of those that all of its nodes have. */
#include "transport/verbs/network.h"

#include <arpa/inet.h>
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

static bool is_same(const struct network *a, const struct network *b)
{
    return a->kind == b->kind && a->is_soft == b->is_soft && a->pkey == b->pkey &&
           a->bits == b->bits && memcmp(a->prefix, b->prefix, sizeof a->prefix) == 0;
}

void ncoll__networks_add(struct candidate *list, unsigned n, const struct device_wish *wish,
                         struct blob *out)
{
    size_t first = out->len;

    for (unsigned i = 0; i < n; i++) {
        if (!ncoll__device_usable(&list[i], list, n, wish))
            continue;
        struct network own = ncoll__network_of(&list[i]), *known = NULL;
        for (size_t at = first; at < out->len && known == NULL; at += sizeof own)
            if (is_same(&own, (struct network *)(void *)(out->bytes + at)))
                known = (struct network *)(void *)(out->bytes + at);
        if (known == NULL)
            ncoll__blob_add(out, &own, sizeof own);
        else if (own.mbit_per_s > known->mbit_per_s)
            *known = own;
    }
}

/* ------------------------------------------------------------------ the choice ---------------- */

/* Full members of a partition reach all of it, limited ones only full members. */
static bool pkeys_meet(uint16_t a, uint16_t b)
{
    return a == 0 || b == 0 || ((a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000) != 0);
}

bool ncoll__networks_meet(const struct network *a, const struct network *b, bool routed)
{
    if (!ncoll__gid_kinds_meet((enum gid_kind)a->kind, (enum gid_kind)b->kind) ||
        !pkeys_meet(a->pkey, b->pkey))
        return false;
    if (routed || a->bits == 0 || b->bits == 0)
        return true;
    return a->bits == b->bits && memcmp(a->prefix, b->prefix, sizeof a->prefix) == 0;
}

/* Returns the best network of a node that meets this one; NULL: there is none. */
static const struct network *best_there(const struct network *from,
                                        const struct node_networks *node, bool routed)
{
    const struct network *best = NULL;

    for (unsigned i = 0; i < node->n; i++) {
        const struct network *there = &node->list[i];
        if (ncoll__networks_meet(from, there, routed) &&
            (best == NULL || (best->is_soft && !there->is_soft) ||
             (best->is_soft == there->is_soft && there->mbit_per_s > best->mbit_per_s)))
            best = there;
    }
    return best;
}

static bool is_limited(const struct network *n)
{
    return n->pkey != 0 && (n->pkey & 0x8000) == 0;
}

/* Finds out what all nodes have of a network of the first one: its lowest rate, and whether it is
 * software anywhere. Returns false if some node does not have it, or if two have a part of it alone as
 * limited members of its partition; *without is that node. */
static bool all_have(struct network *network, const struct node_networks *nodes, unsigned n,
                     bool routed, const struct node_networks **without)
{
    struct network all = *network;
    unsigned limited = is_limited(network);

    for (unsigned i = 1; i < n; i++) {
        const struct network *there = best_there(network, &nodes[i], routed);
        if (there == NULL || (limited += is_limited(there)) > 1) {
            *without = &nodes[i];
            return false;
        }
        all.is_soft |= there->is_soft;
        all.mbit_per_s = there->mbit_per_s < all.mbit_per_s ? there->mbit_per_s : all.mbit_per_s;
    }
    *network = all;
    return true;
}

/* The same order as for ports, apart from nearness: see device_rule.c. */
static bool is_better(const struct network *a, const struct network *b)
{
    bool a_local = a->kind == GID_ROCE2_LINK_LOCAL, b_local = b->kind == GID_ROCE2_LINK_LOCAL;

    if (a_local != b_local)
        return b_local;
    if (a->is_soft != b->is_soft)
        return b->is_soft != 0;
    if (a->mbit_per_s != b->mbit_per_s)
        return a->mbit_per_s > b->mbit_per_s;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return memcmp(a->prefix, b->prefix, sizeof a->prefix) < 0;
}

bool ncoll__network_choose(const struct node_networks *nodes, unsigned n,
                           struct network_choice *out, const struct node_networks **a,
                           const struct node_networks **b)
{
    bool found = false;

    *a = *b = &nodes[0];
    for (int routed = 0; routed < 2 && !found; routed++)
        for (unsigned i = 0; i < nodes[0].n; i++) {
            struct network network = nodes[0].list[i];
            if (!all_have(&network, nodes, n, routed != 0, b))
                continue;
            if (!found || is_better(&network, &out->network))
                *out = (struct network_choice){network, routed != 0};
            found = true;
        }
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
    if (n->pkey != 0 && (n->pkey & 0x7fff) != 0x7fff)
        at += snprintf(text + at, NETWORK_TEXT - (size_t)at, ", partition 0x%04x", n->pkey);
    snprintf(text + at, NETWORK_TEXT - (size_t)at, " (%s port %u)", n->port, n->number);
    return text;
}
