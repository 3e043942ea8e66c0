/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame READY, by which rank 0 tells a leaf the address of its parent in the tree of
 * tcp_relay.h. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "bootstrap/tcp_root.h"

void ncoll__tcp_ready_pack(const struct ready *ready, unsigned char body[READY_BYTES])
{
    body[0] = (unsigned char)ready->where;
    body[1] = 0;
    body[2] = (unsigned char)(ready->port & 0xff);
    body[3] = (unsigned char)(ready->port >> 8);
    memcpy(body + 4, ready->address, sizeof ready->address);
    memcpy(body + 20, ready->secret, sizeof ready->secret);
}

bool ncoll__tcp_ready_unpack(const unsigned char *body, size_t len, struct ready *ready)
{
    if (len != READY_BYTES)
        return false;
    ready->where = (enum parent_where)body[0];
    ready->port = (uint16_t)(body[2] | body[3] << 8);
    memcpy(ready->address, body + 4, sizeof ready->address);
    memcpy(ready->secret, body + 20, sizeof ready->secret);
    return body[0] == PARENT_NONE || body[0] == PARENT_WITH_ROOT || body[0] == PARENT_IPV4 ||
           body[0] == PARENT_IPV6;
}

/* Finds the address of the rank at the other end of a connection, as rank 0 sees it. */
static enum parent_where find_address(int fd, unsigned char address[16])
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a;
    socklen_t len = sizeof a;

    if (getpeername(fd, &a.any, &len) != 0)
        return PARENT_NONE;
    if (a.any.sa_family == AF_INET) {
        memcpy(address, &a.v4.sin_addr, 4);
        return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127 ? PARENT_WITH_ROOT : PARENT_IPV4;
    }
    if (a.any.sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&a.v6.sin6_addr))
        return PARENT_NONE;
    memcpy(address, &a.v6.sin6_addr, 16);
    if (IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr))
        return PARENT_WITH_ROOT;
    if (!IN6_IS_ADDR_V4MAPPED(&a.v6.sin6_addr))
        return PARENT_IPV6;
    memmove(address, address + 12, 4);
    return address[0] == 127 ? PARENT_WITH_ROOT : PARENT_IPV4;
}

void ncoll__tcp_write_ready(const struct root *root, struct leaf_link *leaf)
{
    int rank = ncoll__tcp_parent(leaf->rank);
    const struct leaf_link *parent = rank > 0 ? root->leaves[rank] : NULL;
    struct ready ready = {.where = PARENT_NONE};

    memcpy(ready.secret, root->secret, sizeof ready.secret);
    if (parent != NULL && parent->link.fd >= 0 && parent->port != 0) {
        ready.where = find_address(parent->link.fd, ready.address);
        ready.port = parent->port;
    }
    ncoll__tcp_ready_pack(&ready, leaf->ready);
}
