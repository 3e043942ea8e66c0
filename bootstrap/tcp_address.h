/* SPDX-License-Identifier: BSD-3-Clause */
/* The address in NCOLL_ROOT: "host:port", "1.2.3.4:port" or "[v6]:port". In place of one port there
 * may be a range, as in "host:7000-7007": rank 0 takes the first one that is free. */
#ifndef NCOLL_BOOTSTRAP_TCP_ADDRESS_H
#define NCOLL_BOOTSTRAP_TCP_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>

struct tcp_address {
    char host[256];
    char port[8]; /* the selected port: decimal digits, 1..65535 */
    /* the first port, the number of ports, and the index of the selected one, from 0 */
    int first, ports, which;
};

/* Parses an address. Returns false if it has another form. */
bool ncoll__tcp_address_parse(const char *text, struct tcp_address *address);

/* Selects the port with index `which`; indices beyond the last port begin again at the first. */
void ncoll__tcp_address_turn(struct tcp_address *address, int which);
/* Writes the selected port into the addresses that getaddrinfo() has found for the host. */
void ncoll__tcp_address_apply(const struct tcp_address *address, struct addrinfo *found);
/* Writes the port or the range of ports as a text: "7000" or "7000-7007". */
void ncoll__tcp_address_ports(const struct tcp_address *address, char text[16]);

#endif
