/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tcp.h"

#define ATTEMPT_MS 2000 /* limit for one address, before the next one is tried */
#define PAUSE_MS   20   /* pause between attempts */
#define AWAY_MS    100  /* the same, if another job may listen at one of the ports */

/* Resolves the host name. Tries again after errors that may pass, until the deadline. Returns
 * NCOLL_OK or an error. */
static int resolve(const struct tcp *tcp, struct addrinfo **found)
{
    const struct tcp_address *address = &tcp->address;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int error;

    while ((error = getaddrinfo(address->host, address->port, &hints, found)) == EAI_AGAIN) {
        int tick_ms = ncoll__tcp_tick_ms(tcp);
        if (tick_ms == 0)
            break;
        poll(NULL, 0, tick_ms);
    }
    if (error == 0)
        return NCOLL_OK;
    return tcp->events.fail(tcp->events.arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_ADDRESS), 0,
                            "set NCOLL_ROOT to a name or address of rank 0's host that this host "
                            "can resolve",
                            "host %s of NCOLL_ROOT: %s", address->host,
                            error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
}

/* Returns true if the connection is connected to itself: if nothing listens at a port of this host,
 * connect() may choose the same port for its own end. */
static bool is_to_itself(int fd)
{
    struct sockaddr_storage own = {0}, other = {0};
    socklen_t own_len = sizeof own, other_len = sizeof other;

    return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
           getpeername(fd, (struct sockaddr *)&other, &other_len) == 0 && own_len == other_len &&
           memcmp(&own, &other, own_len) == 0;
}

/* Waits for the connection. Returns 0 or an errno. */
static int wait_connected(const struct tcp *tcp, int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLOUT};
    int error = 0, tick_ms;
    socklen_t len = sizeof error;

    for (int waited_ms = 0; poll(&poller, 1, 0) <= 0; waited_ms += tick_ms) {
        tick_ms = ncoll__tcp_tick_ms(tcp);
        if (tick_ms == 0 || waited_ms >= ATTEMPT_MS)
            return ETIMEDOUT;
        poll(&poller, 1, tick_ms);
    }
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error == 0 && is_to_itself(fd))
        error = ECONNREFUSED;
    return error;
}

/* Tries to connect to one address. Returns 0 and the socket, or an errno. */
static int attempt(const struct tcp *tcp, const struct addrinfo *to, int *out)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;

    if (fd < 0)
        return errno;
    if (connect(fd, to->ai_addr, to->ai_addrlen) != 0)
        error = errno;
    if (error == 0 || error == EINPROGRESS)
        error = wait_connected(tcp, fd);
    if (error != 0) {
        close(fd);
        return error;
    }
    *out = fd;
    return 0;
}

/* Tries all addresses of the host, one port after the other, from the selected one to the last.
 * Returns 0 and the socket, or an errno. */
static int attempt_ports(struct tcp *tcp, struct addrinfo *found, int *fd)
{
    struct tcp_address *address = &tcp->address;
    int error = ETIMEDOUT;

    for (int which = address->which; which < address->ports; which++) {
        ncoll__tcp_address_turn(address, which);
        ncoll__tcp_address_apply(address, found);
        for (const struct addrinfo *to = found; to != NULL; to = to->ai_next) {
            error = attempt(tcp, to, fd);
            if (error == 0)
                return 0;
        }
    }
    return error;
}

static void remind(struct tcp *tcp, int error)
{
    char ports[16];

    ncoll__tcp_address_ports(&tcp->address, ports);
    if (ncoll__reminder_due(&tcp->reminder, tcp->events.now_ns(tcp->events.arg),
                            tcp->stall_warn_ns))
        tcp->events.log(tcp->events.arg, NCOLL_LOG_WARN,
                        "rank 0 was not reached at %s port %s within %.1f s (%s); it is tried for "
                        "%g s (NCOLL_BOOTSTRAP_TIMEOUT)",
                        tcp->address.host, ports, (double)tcp->reminder.after_ns / 1e9,
                        strerror(error), tcp->timeout_s);
}

int ncoll__tcp_connect(struct tcp *tcp, int *fd)
{
    struct addrinfo *found;
    int error = ETIMEDOUT;
    char ports[16];

    int rc = resolve(tcp, &found);
    if (rc != NCOLL_OK)
        return rc;
    do {
        int pause_ms = tcp->address.which > 0 ? AWAY_MS : PAUSE_MS;
        error = attempt_ports(tcp, found, fd);
        if (error == 0)
            goto free_found;
        ncoll__tcp_address_turn(&tcp->address, 0);
        remind(tcp, error);
        poll(NULL, 0, pause_ms);
    } while (ncoll__tcp_tick_ms(tcp) > 0);
    ncoll__tcp_address_ports(&tcp->address, ports);
    rc = tcp->events.fail(tcp->events.arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, UNREACHABLE), 0,
                          "see that rank 0 runs on that host and that no firewall is between; or "
                          "raise NCOLL_BOOTSTRAP_TIMEOUT",
                          "rank 0 was not reached at %s port %s within %g s: %s", tcp->address.host,
                          ports, tcp->timeout_s, strerror(error));

free_found:
    freeaddrinfo(found);
    return rc;
}
