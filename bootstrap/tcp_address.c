/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    long port = digits >= 1 && digits <= 5 && text[digits] == '\0' ? strtol(text, NULL, 10) : 0;

    return port >= 1 && port <= 65535;
}

bool ncoll__tcp_address_parse(const char *text, struct tcp_address *address)
{
    const char *colon = strrchr(text, ':');
    const char *host = text, *end = colon;

    if (colon == NULL || !is_port(colon + 1))
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
    snprintf(address->port, sizeof address->port, "%s", colon + 1);
    return true;
}
