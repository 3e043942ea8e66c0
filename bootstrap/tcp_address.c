/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_address.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a port; *end becomes the end of its digits. Returns 0 if there is no port from 1 to
 * 65535. */
static int port_of(const char *text, const char **end)
{
    size_t digits = strspn(text, "0123456789");
    long port = digits >= 1 && digits <= 5 ? strtol(text, NULL, 10) : 0;

    *end = text + digits;
    return port >= 1 && port <= 65535 ? (int)port : 0;
}

/* Reads one port, or a range of ports such as "7000-7007". */
static bool parse_ports(const char *text, struct tcp_address *address)
{
    const char *end;
    int first = port_of(text, &end), last = first;

    if (*end == '-')
        last = port_of(end + 1, &end);
    if (first == 0 || last < first || *end != '\0')
        return false;
    address->first = first;
    address->ports = last - first + 1;
    return true;
}

void ncoll__tcp_address_turn(struct tcp_address *address, int which)
{
    address->which = which % address->ports;
    snprintf(address->port, sizeof address->port, "%d", address->first + address->which);
}

void ncoll__tcp_address_apply(const struct tcp_address *address, struct addrinfo *found)
{
    in_port_t port = htons((uint16_t)(address->first + address->which));

    for (struct addrinfo *a = found; a != NULL; a = a->ai_next)
        if (a->ai_family == AF_INET6)
            ((struct sockaddr_in6 *)(void *)a->ai_addr)->sin6_port = port;
        else if (a->ai_family == AF_INET)
            ((struct sockaddr_in *)(void *)a->ai_addr)->sin_port = port;
}

void ncoll__tcp_address_ports(const struct tcp_address *address, char text[16])
{
    int len = snprintf(text, 16, "%d", address->first);

    if (address->ports > 1)
        snprintf(text + len, (size_t)(16 - len), "-%d", address->first + address->ports - 1);
}

bool ncoll__tcp_address_parse(const char *text, struct tcp_address *address)
{
    const char *colon = strrchr(text, ':');
    const char *host = text, *end = colon;

    if (colon == NULL || !parse_ports(colon + 1, address))
        return false;
    if (text[0] == '[') {
        host++;
        end--;
        if (end <= host || *end != ']')
            return false;
    } else if (memchr(host, ':', (size_t)(end - host)) != NULL) {
        return false; /* a bare IPv6 address: it is not clear which colon precedes the port */
    }
    size_t len = (size_t)(end - host);
    if (len == 0 || len >= sizeof address->host || strcspn(host, " \t/[]") < len)
        return false;
    memcpy(address->host, host, len);
    address->host[len] = '\0';
    ncoll__tcp_address_turn(address, 0);
    return true;
}
