/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TEST_PORT_H
#define NCOLL_TEST_PORT_H

/* A TCP port of this host that nobody uses just now. */
int free_port(void);

#endif
