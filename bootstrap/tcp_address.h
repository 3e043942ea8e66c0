/* SPDX-License-Identifier: BSD-3-Clause */
/* The address in NCOLL_ROOT: "host:port", "1.2.3.4:port" or "[v6]:port". In place of a port there may
 * be several, as in "host:7000-7007": rank 0 takes the first one that is free. */
#ifndef NCOLL_BOOTSTRAP_TCP_ADDRESS_H
#define NCOLL_BOOTSTRAP_TCP_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>

struct tcp_address {
    char host[256];
    char port[8]; /* the one that is tried: decimal digits, 1..65535 */
    int first, ports,
        which; /* the first port, how many there are, and which one is tried, from 0 */
};

/* Parses an address. Returns false if it has another form. */
bool ncoll__tcp_address_parse(const char *text, struct tcp_address *address);

/* Turns to one of the ports; numbers beyond the last begin again. */
void ncoll__tcp_address_turn(struct tcp_address *address, int which);
/* Puts the port that is tried into what the host was resolved to. */
void ncoll__tcp_address_apply(const struct tcp_address *address, struct addrinfo *found);
/* Writes the ports, as "7000" or "7000-7007". */
void ncoll__tcp_address_ports(const struct tcp_address *address, char text[16]);

#endif
