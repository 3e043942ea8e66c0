/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How rank 0 collects its leaves: listens, hears of each connection which rank it is, and stops
 * listening once all have come. If that cannot be (somebody started the ranks with different sizes,
 * or two with one number, or one is missing) all that have come are told why.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tcp_root.h"

#define SILENCE_NS UINT64_C(2000000000) /* a stranger may keep, when others wait for its place */
#define LINGER_NS                                                                                  \
    UINT64_C(1000000000) /* for ranks that come after it is clear that it is in vain */

static uint64_t now_ns(const struct root *root)
{
    return root->tcp.events.now_ns(root->tcp.events.arg);
}

__attribute__((format(printf, 4, 5))) static void refuse(struct root *root, ncoll_status status,
                                                         int rank, const char *cause, ...)
{
    va_list args;

    if (root->join.refusal.status != 0)
        return;
    root->join.refusal.status = status;
    root->join.refusal.rank = rank;
    va_start(args, cause);
    vsnprintf(root->join.refusal.cause, sizeof root->join.refusal.cause, cause, args);
    va_end(args);
}

/* ------------------------------------------------------------------ listening ---------------- */

/*
 * On all addresses of the host: what the name in NCOLL_ROOT means here, 127.0.1.1 perhaps, need not
 * be what it means to the others. IPv6 sockets take IPv4 as well.
 */
static int listen_on(int family, uint16_t port, int *out)
{
    const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    const void *any = family == AF_INET6 ? (const void *)&v6 : (const void *)&v4;
    socklen_t len = family == AF_INET6 ? sizeof v6 : sizeof v4;
    const int yes = 1, no = 0;

    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, any, len) != 0 || listen(fd, SOMAXCONN) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    *out = fd;
    return 0;
}

static int start_listening(struct root *root)
{
    const struct bootstrap_events *events = &root->tcp.events;
    uint16_t port = (uint16_t)strtoul(root->tcp.address.port, NULL, 10);
    int *listener = &root->join.listener;

    int error = listen_on(AF_INET6, port, listener);
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)
        error = listen_on(AF_INET, port, listener);
    if (error == 0) {
        if (ncoll__tcp_root_watch(root, *listener, 0, false))
            return NCOLL_OK;
        error = errno;
        close(*listener);
    }
    return events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, -1,
                        "choose another port for NCOLL_ROOT, and see that only one process has "
                        "NCOLL_RANK=0",
                        "rank 0 cannot listen on port %s: %s", root->tcp.address.port,
                        strerror(error));
}

/* A place for a new connection, if need be that of one that has said nothing for long. */
static struct stranger *find_place(struct root *root)
{
    for (int i = 0; i < STRANGERS_MAX; i++) {
        struct stranger *s = &root->join.strangers[i];
        if (s->link.fd >= 0 && now_ns(root) - s->since_ns > SILENCE_NS)
            ncoll__tcp_link_close(&s->link, false);
        if (s->link.fd < 0)
            return s;
    }
    return NULL;
}

static void accept_some(struct root *root)
{
    struct stranger *s;

    while ((s = find_place(root)) != NULL) {
        int fd = accept4(root->join.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                refuse(root, NCOLL_ERR_RESOURCE, -1,
                       "rank 0 cannot accept %d connections: %s (ulimit -n)",
                       root->tcp.base.ranks - 1, strerror(errno));
            return;
        }
        ncoll__tcp_link_open(&s->link, fd, 0);
        s->since_ns = now_ns(root);
        int index = root->tcp.base.ranks + (int)(s - root->join.strangers);
        if (!ncoll__tcp_root_watch(root, fd, index, false))
            ncoll__tcp_link_close(&s->link, false);
    }
}

/* ------------------------------------------------------------------ introductions ------------ */

static void name_of(int fd, char *name, size_t size)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;

    if (getpeername(fd, (struct sockaddr *)&address, &len) != 0 ||
        getnameinfo((struct sockaddr *)&address, len, name, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST) != 0)
        snprintf(name, size, "an unknown host");
}

/* false: with this one the job cannot be. */
static bool welcome(struct root *root, const struct tcp_frame *hello, const char *from)
{
    int ranks = root->tcp.base.ranks, rank = hello->rank;
    char other[NI_MAXHOST];

    if (root->join.refusal.status != 0)
        return false;
    if (hello->how != TCP_PROTOCOL) {
        refuse(root, NCOLL_ERR_BOOTSTRAP, -1,
               "the ncoll of a rank at %s speaks bootstrap protocol %u, that of rank 0 %d", from,
               hello->how, TCP_PROTOCOL);
    } else if (hello->number != (uint64_t)ranks) {
        refuse(root, NCOLL_ERR_BOOTSTRAP, rank > 0 && rank < ranks ? rank : -1,
               "rank %d at %s was started for a job of %" PRIu64 " ranks, rank 0 for one of %d",
               rank, from, hello->number, ranks);
    } else if (rank < 1 || rank >= ranks) {
        refuse(root, NCOLL_ERR_BOOTSTRAP, -1, "a process at %s says that it is rank %d of %d", from,
               rank, ranks);
    } else if (root->leaves[rank].joined) {
        name_of(root->leaves[rank].link.fd, other, sizeof other);
        refuse(root, NCOLL_ERR_BOOTSTRAP, rank, "two processes, at %s and %s, are both rank %d",
               other, from, rank);
    } else {
        return true;
    }
    return false;
}

static void send_refusal(struct root *root, struct tcp_link *link)
{
    const struct tcp_frame frame = {
        .type = TCP_REFUSED,
        .how = (unsigned)-root->join.refusal.status,
        .rank = root->join.refusal.rank,
        .len = (uint32_t)strlen(root->join.refusal.cause),
    };

    if (link->fd < 0 || !ncoll__tcp_link_idle(link))
        return;
    ncoll__tcp_link_send(link, &frame, root->join.refusal.cause);
    ncoll__tcp_link_flush(link);
}

static void hear_stranger(struct root *root, int index)
{
    struct tcp_link *link = &root->join.strangers[index].link;
    const struct bootstrap_events *events = &root->tcp.events;
    int ranks = root->tcp.base.ranks;
    struct tcp_frame frame;
    unsigned char *body;
    char from[NI_MAXHOST];

    enum tcp_receipt receipt = ncoll__tcp_link_receive(link, &frame, &body);
    if (receipt == TCP_NOTHING)
        return;
    name_of(link->fd, from, sizeof from);
    if (receipt == TCP_FRAME)
        free(body);
    if (receipt != TCP_FRAME || frame.type != TCP_HELLO) {
        if (receipt != TCP_CLOSED)
            events->log(events->arg, NCOLL_LOG_WARN,
                        "a connection from %s that is not of this job is ignored", from);
        ncoll__tcp_link_close(link, false);
        return;
    }
    if (!welcome(root, &frame, from)) {
        send_refusal(root, link);
        ncoll__tcp_link_close(link, false);
        return;
    }
    struct leaf_link *leaf = &root->leaves[frame.rank];
    leaf->joined = true;
    leaf->link = *link;
    leaf->link.body_max = TCP_BLOB_MAX;
    link->fd = -1;
    root->join.count++;
    if (!ncoll__tcp_root_watch(root, leaf->link.fd, frame.rank, true))
        refuse(root, NCOLL_ERR_SYSTEM, -1, "epoll_ctl: %s", strerror(errno));
    root->complete = root->join.count == ranks - 1 && root->join.refusal.status == 0;
}

void ncoll__tcp_join_event(struct root *root, int index)
{
    if (index == 0)
        accept_some(root);
    else if (root->join.strangers[index - root->tcp.base.ranks].link.fd >= 0)
        hear_stranger(root, index - root->tcp.base.ranks);
}

/* ------------------------------------------------------------------ the whole ---------------- */

/* Somebody went, or time is up. */
static void look_for_hindrance(struct root *root)
{
    int count, missing = ncoll__tcp_root_lowest_missing(root, &count);
    char more[48] = "";

    if (count > 1)
        snprintf(more, sizeof more, " and %d more", count - 1);
    if (root->tcp.departed.count > 0) {
        const struct tcp_departure *d = &root->tcp.departed.list[0];
        if (d->left)
            refuse(root, NCOLL_ERR_BOOTSTRAP, missing,
                   "rank %d%s had not come when rank %d gave up waiting", missing, more, d->rank);
        else
            refuse(root, NCOLL_ERR_BOOTSTRAP, d->rank, "rank %d failed before all ranks had come",
                   d->rank);
    } else if (ncoll__tcp_tick_ms(&root->tcp) == 0) {
        refuse(root, NCOLL_ERR_BOOTSTRAP, missing, "rank %d%s did not come within %g s", missing,
               more, root->tcp.timeout_s);
    }
}

static void stop_listening(struct root *root)
{
    for (int i = 0; i < STRANGERS_MAX; i++)
        ncoll__tcp_link_close(&root->join.strangers[i].link, false);
    close(root->join.listener);
}

/* Those that have come, and those that still come for a while. Returns the error. */
static int refuse_all(struct root *root)
{
    const struct bootstrap_events *events = &root->tcp.events;
    uint64_t end = now_ns(root) + LINGER_NS;
    int tick_ms;

    for (int r = 1; r < root->tcp.base.ranks; r++)
        send_refusal(root, &root->leaves[r].link);
    while (now_ns(root) < end && (tick_ms = ncoll__tcp_tick_ms(&root->tcp)) > 0)
        ncoll__tcp_root_progress(root, tick_ms);
    return events->fail(events->arg, root->join.refusal.status, root->join.refusal.rank,
                        "start all ranks with the same NCOLL_ROOT and NCOLL_SIZE, and each with a "
                        "NCOLL_RANK of its own",
                        "%s", root->join.refusal.cause);
}

int ncoll__tcp_join(struct root *root)
{
    int ranks = root->tcp.base.ranks, rc;

    root->complete = ranks == 1;
    if (root->complete)
        return NCOLL_OK;
    for (int i = 0; i < STRANGERS_MAX; i++)
        root->join.strangers[i].link.fd = -1;
    rc = start_listening(root);
    if (rc != NCOLL_OK)
        return rc;
    while (!root->complete && root->join.refusal.status == 0) {
        ncoll__tcp_root_progress(root, ncoll__tcp_tick_ms(&root->tcp));
        ncoll__tcp_root_note_missing(root);
        if (!root->complete)
            look_for_hindrance(root);
    }
    if (root->join.refusal.status != 0)
        rc = refuse_all(root);
    stop_listening(root);
    return rc;
}
