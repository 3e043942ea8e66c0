/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of GIDs, and the user's conditions for a GID (NCOLL_GID). */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/device.h"

const char *ncoll__gid_kind_text(enum gid_kind kind)
{
    switch (kind) {
    case GID_ROCE2_IPV4:
        return "RoCE v2, IPv4";
    case GID_ROCE2_IPV6:
        return "RoCE v2, IPv6";
    case GID_IB:
        return "InfiniBand";
    case GID_ROCE2_LINK_LOCAL:
        return "RoCE v2, link-local";
    case GID_ROCE1:
        return "RoCE v1";
    case GID_NONE:
        break;
    }
    return "no GID";
}

static bool is_ipv6(enum gid_kind kind)
{
    return kind == GID_ROCE2_IPV6 || kind == GID_ROCE2_LINK_LOCAL;
}

bool ncoll__gid_kinds_meet(enum gid_kind a, enum gid_kind b)
{
    return a == b || (is_ipv6(a) && is_ipv6(b));
}

const char *ncoll__gid_text(const union ibv_gid *gid, char text[46])
{
    if (inet_ntop(AF_INET6, gid->raw, text, 46) == NULL)
        text[0] = '\0';
    return text;
}

/* ------------------------------------------------------------------ NCOLL_GID ----------------- */

/* The value of NCOLL_GID: conditions, separated by commas, that all have to hold. */

/* Reads an address, or a range of addresses such as 10.1.0.0/16 or fd00::/8. */
static bool read_range(char *word, struct gid_wish *out)
{
    char *slash = strchr(word, '/'), *end = NULL, mapped[64];
    bool again = out->has_range;
    bool v6 = strchr(word, ':') != NULL;
    unsigned long most = v6 ? 128 : 32, bits = most;

    if (slash != NULL) {
        *slash = '\0';
        bits = strtoul(slash + 1, &end, 10);
        if (end == slash + 1 || *end != '\0' || bits > most)
            return false;
    }
    snprintf(mapped, sizeof mapped, "%s%s", v6 ? "" : "::ffff:", word);
    if (inet_pton(AF_INET6, mapped, &out->range) != 1)
        return false;
    out->bits = (unsigned)bits + (v6 ? 0 : 96);
    out->has_range = true;
    return !again;
}

static bool read_word(char *word, struct gid_wish *out)
{
    char *end;
    long index = strtol(word, &end, 10);

    if (*word == '\0')
        return false;
    if (*end == '\0') {
        bool again = out->index >= 0;
        out->index = (int)index;
        return !again && index >= -1 && index <= UINT16_MAX;
    }
    if (strcmp(word, "roce1") == 0 || strcmp(word, "roce2") == 0) {
        bool again = out->version != 0;
        out->version = word[4] - '0';
        return !again;
    }
    if (strpbrk(word, ":/") != NULL || (strchr(word, '.') != NULL && end != word))
        return read_range(word, out);
    if (out->interface[0] != '\0' || strlen(word) >= sizeof out->interface)
        return false;
    memcpy(out->interface, word, strlen(word) + 1);
    return true;
}

bool ncoll__gid_wish_read(const char *text, struct gid_wish *out)
{
    char word[64];

    *out = (struct gid_wish){.index = -1};
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, ",");
        if (len >= sizeof word)
            return false;
        memcpy(word, text, len);
        word[len] = '\0';
        if (!read_word(word, out) || (text[len] == ',' && text[len + 1] == '\0'))
            return false;
        text += len + (text[len] == ',');
    }
    return true;
}

static bool is_in(const union ibv_gid *gid, const union ibv_gid *range, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++)
        if (((gid->raw[i / 8] ^ range->raw[i / 8]) & 0x80 >> i % 8) != 0)
            return false;
    return true;
}

bool ncoll__gid_fits(const struct gid_wish *wish, const struct candidate *c)
{
    if (wish->index >= 0 && wish->index != c->gid_index)
        return false;
    if (wish->interface[0] != '\0' && strcmp(wish->interface, c->interface) != 0)
        return false;
    if (wish->version != 0 && (c->kind == GID_IB || (wish->version == 1) != (c->kind == GID_ROCE1)))
        return false;
    return !wish->has_range || is_in(&c->gid, &wish->range, wish->bits);
}

bool ncoll__gid_is_wished(const struct gid_wish *wish)
{
    return wish->index >= 0 || wish->interface[0] != '\0' || wish->version != 0 || wish->has_range;
}
