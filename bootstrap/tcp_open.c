/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the tcp bootstrap. Rank 0 is the root, and all other ranks are leaves, which connect to
 * it. */
#include <string.h>

#include "bootstrap/tcp.h"
#include "bootstrap/tcp_leaf.h"
#include "bootstrap/tcp_root.h"

static int check(const struct bootstrap_config *config)
{
    const struct bootstrap_events *events = &config->events;
    struct tcp_address address;

    if (config->root == NULL)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "set NCOLL_ROOT to the host:port of rank 0, the same on all ranks",
                            "the tcp bootstrap was asked for, but NCOLL_ROOT is not set");
    if (!ncoll__tcp_address_parse(config->root, &address))
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "use host:port, 192.0.2.1:port or [2001:db8::1]:port with a port from "
                            "1 to 65535, or with several, as 7000-7007",
                            "NCOLL_ROOT is \"%s\", which is not host:port", config->root);
    if (config->rank < 0 || config->ranks < 1)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "start each rank with NCOLL_RANK (from 0), NCOLL_SIZE and NCOLL_ROOT",
                            "NCOLL_ROOT is set, but %s not",
                            config->rank >= 0   ? "NCOLL_SIZE is"
                            : config->ranks > 0 ? "NCOLL_RANK is"
                                                : "NCOLL_RANK and NCOLL_SIZE are");
    if (config->rank >= config->ranks)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "ranks are numbered from 0 to NCOLL_SIZE - 1",
                            "NCOLL_RANK is %d, but NCOLL_SIZE is %d", config->rank, config->ranks);
    if (config->key != NULL && strlen(config->key) >= TCP_KEY_BYTES)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "32 random characters will do: openssl rand -hex 16",
                            "NCOLL_KEY has %zu characters, more than %d", strlen(config->key),
                            TCP_KEY_BYTES - 1);
    return NCOLL_OK;
}

static int tcp_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    bool is_root = config->rank <= 0;
    const struct bootstrap_ops *ops = is_root ? &ncoll__tcp_root : &ncoll__tcp_leaf;
    struct bootstrap *b;
    int rc = check(config);

    if (rc != NCOLL_OK || (rc = ops->open(config, &b)) != NCOLL_OK)
        return rc;
    rc = is_root ? ncoll__tcp_join((struct root *)b) : ncoll__tcp_find_root((struct leaf *)b);
    if (rc != NCOLL_OK)
        ops->close(b);
    else
        *out = b;
    return rc;
}

/* Has only open(), which makes a bootstrap with the operations of root or leaf. */
const struct bootstrap_ops ncoll__bootstrap_tcp = {.name = "tcp", .open = tcp_open};
