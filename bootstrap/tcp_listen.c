/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the addresses on which rank 0 listens: those that the host in NCOLL_ROOT stands for, and
 * no others. There are two exceptions, in which it listens on all addresses of its host. The name
 * may mean a loopback address on this host, as Debian's 127.0.1.1 for its own name, but another
 * address on other hosts. Or the name may mean no address of this host, as behind a network address
 * translation. In all cases the proofs of tcp_proof.h keep strangers out.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tcp_root.h"

/* Listens on one address. Returns 0 or an errno. */
static int listen_on(struct root *root, const struct sockaddr *address, socklen_t len)
{
    const int yes = 1;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    /* an IPv6 wildcard accepts IPv4 as well, and ::ffff:192.0.2.1 is an IPv4 address */
    const int v6_only =
        address->sa_family == AF_INET6 && !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_V4MAPPED(v6);
    int error = 0;

    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    if (bind(fd, address, len) != 0 || listen(fd, SOMAXCONN) != 0 ||
        !ncoll__tcp_root_watch(root, fd, 0, false))
        error = errno;
    if (error != 0)
        close(fd);
    else
        root->join.listeners[root->join.n_listeners++] = fd;
    return error;
}

static int listen_on_all(struct root *root, uint16_t port)
{
    const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};

    int error = listen_on(root, (const struct sockaddr *)(const void *)&v6, sizeof v6);
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)
        error = listen_on(root, (const struct sockaddr *)(const void *)&v4, sizeof v4);
    return error;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    const struct sockaddr_in *v4 = (const void *)address;
    return address->sa_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

static bool is_number(const char *host)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    struct addrinfo *found;

    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

/* Returns the reason to listen on all addresses instead of those of the host name; NULL: there is
 * none. */
static const char *why_all(const struct root *root, const struct addrinfo *found)
{
    const char *host = root->tcp.address.host;
    bool here_only = found != NULL && !is_number(host) && strncasecmp(host, "localhost", 9) != 0;

    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
        here_only &= is_loopback(a->ai_addr);
    if (found == NULL)
        return "cannot be resolved here";
    return here_only ? "means this host only on this host itself" : NULL;
}

/* Returns true if the address occurs earlier in the list: files of host names may have it twice. */
static bool comes_before(const struct addrinfo *found, const struct addrinfo *a)
{
    for (; found != a; found = found->ai_next)
        if (found->ai_addrlen == a->ai_addrlen &&
            memcmp(found->ai_addr, a->ai_addr, a->ai_addrlen) == 0)
            return true;
    return false;
}

/* Listens on the addresses of the host name. Returns 0 or an errno; EADDRNOTAVAIL: this host has
 * none of them. */
static int listen_on_named(struct root *root, const struct addrinfo *found)
{
    int error = EADDRNOTAVAIL;

    for (const struct addrinfo *a = found; a != NULL && root->join.n_listeners < LISTENERS_MAX;
         a = a->ai_next) {
        if (comes_before(found, a))
            continue;
        int own = listen_on(root, a->ai_addr, a->ai_addrlen);
        if (own == EADDRINUSE) { /* all or none: ranks may connect to any of the addresses */
            ncoll__tcp_stop_listening(root);
            return own;
        }
        error = own == 0 || error == EADDRNOTAVAIL ? own : error;
    }
    return root->join.n_listeners > 0 ? 0 : error;
}

static int try_to_listen(struct root *root, const struct addrinfo *found, bool *said)
{
    const struct bootstrap_events *events = &root->tcp.events;
    uint16_t port = (uint16_t)strtoul(root->tcp.address.port, NULL, 10);
    const char *why = why_all(root, found);

    int error = why == NULL ? listen_on_named(root, found) : 0;
    if (error == EADDRNOTAVAIL)
        why = "is no address of this host";
    if (why == NULL)
        return error;
    if (!*said)
        events->log(events->arg, error != 0 ? NCOLL_LOG_WARN : NCOLL_LOG_INFO,
                    "host %s, which NCOLL_ROOT names, %s: rank 0 listens on all addresses of its "
                    "host instead",
                    root->tcp.address.host, why);
    *said = true;
    return listen_on_all(root, port);
}

/* Tries one port after the other. Returns 0 or an errno; EADDRINUSE: none is free. */
static int try_ports(struct root *root, struct addrinfo *found, bool *said)
{
    struct tcp_address *address = &root->tcp.address;
    int error = EADDRINUSE;

    for (int i = 0; i < address->ports && error == EADDRINUSE; i++) {
        ncoll__tcp_address_turn(address, i);
        ncoll__tcp_address_apply(address, found);
        error = try_to_listen(root, found, said);
    }
    return error;
}

int ncoll__tcp_listen(struct root *root)
{
    const struct bootstrap_events *events = &root->tcp.events;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct tcp_address *address = &root->tcp.address;
    struct addrinfo *found = NULL;
    bool said = false, waits = false;
    int error, tick_ms;
    char ports[16];

    ncoll__tcp_address_ports(address, ports);
    if (getaddrinfo(address->host, address->port, &hints, &found) != 0)
        found = NULL;
    while ((error = try_ports(root, found, &said)) == EADDRINUSE &&
           (tick_ms = ncoll__tcp_tick_ms(&root->tcp)) > 0) {
        if (!waits)
            events->log(
                events->arg, NCOLL_LOG_WARN,
                "port %s of NCOLL_ROOT is another process's, of an earlier job perhaps: rank "
                "0 waits for it for at most %g s",
                ports, root->tcp.timeout_s);
        waits = true;
        poll(NULL, 0, tick_ms);
    }
    if (found != NULL)
        freeaddrinfo(found);
    if (error == 0)
        return NCOLL_OK;
    return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_ADDRESS), -1,
                        "choose another port for NCOLL_ROOT, and see that only one process has "
                        "NCOLL_RANK=0",
                        "rank 0 cannot listen on %s port %s: %s", address->host, ports,
                        strerror(error));
}

void ncoll__tcp_stop_listening(struct root *root)
{
    for (int i = 0; i < root->join.n_listeners; i++)
        close(root->join.listeners[i]);
    root->join.n_listeners = 0;
}
