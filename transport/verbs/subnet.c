/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the IP subnet of a GID among the addresses of its network interface. */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "transport/verbs/device_table.h"

static unsigned count_bits(const unsigned char *mask, size_t bytes)
{
    unsigned bits = 0;

    for (size_t i = 0; i < bytes; i++)
        bits += (unsigned)__builtin_popcount(mask[i]);
    return bits;
}

static unsigned bits_of(const struct ifaddrs *a, const union ibv_gid *gid)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (a->ifa_addr == NULL || a->ifa_netmask == NULL)
        return 0;
    if (a->ifa_addr->sa_family == AF_INET && memcmp(gid->raw, mapped, sizeof mapped) == 0) {
        const struct sockaddr_in *own = (const void *)a->ifa_addr,
                                 *mask = (const void *)a->ifa_netmask;
        return memcmp(&own->sin_addr, gid->raw + 12, 4) == 0
                   ? 96 + count_bits((const unsigned char *)&mask->sin_addr, 4)
                   : 0;
    }
    if (a->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *own = (const void *)a->ifa_addr,
                                  *mask = (const void *)a->ifa_netmask;
        return memcmp(&own->sin6_addr, gid->raw, 16) == 0
                   ? count_bits((const unsigned char *)&mask->sin6_addr, 16)
                   : 0;
    }
    return 0;
}

unsigned ncoll__subnet_bits(const char *interface, const union ibv_gid *gid)
{
    struct ifaddrs *all;
    unsigned bits = 0;

    if (*interface == '\0' || getifaddrs(&all) != 0)
        return 0;
    for (const struct ifaddrs *a = all; a != NULL && bits == 0; a = a->ifa_next) {
        size_t len = strcspn(a->ifa_name, ":"); /* "eth0:1": an address of eth0 with a label */
        if (len == strlen(interface) && memcmp(a->ifa_name, interface, len) == 0)
            bits = bits_of(a, gid);
    }
    freeifaddrs(all);
    return bits;
}
