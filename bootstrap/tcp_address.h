/* SPDX-License-Identifier: BSD-3-Clause */
/* The address in NCOLL_ROOT: "host:port", "1.2.3.4:port" or "[v6]:port". */
#ifndef NCOLL_BOOTSTRAP_TCP_ADDRESS_H
#define NCOLL_BOOTSTRAP_TCP_ADDRESS_H

#include <stdbool.h>

struct tcp_address {
    char host[256];
    char port[8]; /* decimal digits, 1..65535 */
};

/* Parses an address. Returns false if it has another form. */
bool ncoll__tcp_address_parse(const char *text, struct tcp_address *address);

#endif
