/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_link.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x314c434e) /* "NCL1" on the wire */

struct wire_head {
    uint32_t magic;
    uint16_t type, how;
    uint32_t rank, len;
    uint64_t number;
};
_Static_assert(sizeof(struct wire_head) == TCP_HEAD, "wire format");

static void pack(const struct tcp_frame *frame, unsigned char *bytes)
{
    struct wire_head head = {
        .magic = htole32(MAGIC),
        .type = htole16((uint16_t)frame->type),
        .how = htole16((uint16_t)frame->how),
        .rank = htole32((uint32_t)frame->rank),
        .len = htole32(frame->len),
        .number = htole64(frame->number),
    };
    memcpy(bytes, &head, sizeof head);
}

static bool unpack(const unsigned char *bytes, uint32_t body_max, struct tcp_frame *frame)
{
    struct wire_head head;

    memcpy(&head, bytes, sizeof head);
    *frame = (struct tcp_frame){
        .type = le16toh(head.type),
        .how = le16toh(head.how),
        .rank = (int)le32toh(head.rank),
        .len = le32toh(head.len),
        .number = le64toh(head.number),
    };
    return le32toh(head.magic) == MAGIC && frame->type >= TCP_HELLO && frame->type <= TCP_DIRECT &&
           frame->len <= body_max;
}

void ncoll__tcp_link_open(struct tcp_link *link, int fd, uint32_t body_max)
{
    /* with these settings a host that vanishes is noticed after about 5 + 3 * 2 seconds */
    const int yes = 1, idle_s = 5, interval_s = 2, probes = 3;

    *link = (struct tcp_link){.fd = fd, .body_max = body_max};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void ncoll__tcp_link_count(struct tcp_link *link, struct bootstrap_traffic *traffic)
{
    link->traffic = traffic;
    if (++traffic->sockets > traffic->most_sockets)
        traffic->most_sockets = traffic->sockets;
}

void ncoll__tcp_link_close(struct tcp_link *link, bool goodbye)
{
    char rest[4096];

    if (link->fd < 0)
        return;
    if (goodbye && ncoll__tcp_link_idle(link)) {
        const struct tcp_frame bye = {.type = TCP_BYE, .number = link->ended};
        ncoll__tcp_link_send(link, &bye, NULL);
        ncoll__tcp_link_flush(link);
    }
    /* Closing with unread bytes would send a reset, which may overtake the last frame. */
    shutdown(link->fd, SHUT_WR);
    while (recv(link->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
        ;
    close(link->fd);
    free(link->in.body);
    if (link->traffic != NULL)
        link->traffic->sockets--;
    *link = (struct tcp_link){.fd = -1};
}

/* Receives bytes. Returns their number; 0: there are none now; -1: the connection is over. */
static ssize_t receive_some(struct tcp_link *link, void *bytes, size_t len)
{
    ssize_t n = recv(link->fd, bytes, len, MSG_DONTWAIT);

    if (n > 0) {
        if (link->traffic != NULL)
            link->traffic->bytes_received += (uint64_t)n;
        return n;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* Reads the head that has come, and allocates the body that follows it. */
static enum tcp_receipt begin_body(struct tcp_link *link)
{
    if (!unpack(link->in.head, link->body_max, &link->in.frame))
        return TCP_NONSENSE;
    link->in.body = malloc(link->in.frame.len > 0 ? link->in.frame.len : 1);
    return link->in.body != NULL ? TCP_FRAME : TCP_NO_MEMORY;
}

enum tcp_receipt ncoll__tcp_link_receive(struct tcp_link *link, struct tcp_frame *frame,
                                         unsigned char **body)
{
    size_t *done = &link->in.done;

    while (*done < TCP_HEAD) {
        ssize_t n = receive_some(link, link->in.head + *done, TCP_HEAD - *done);
        if (n <= 0)
            return n < 0 ? TCP_CLOSED : TCP_NOTHING;
        *done += (size_t)n;
        if (*done == TCP_HEAD) {
            enum tcp_receipt receipt = begin_body(link);
            if (receipt != TCP_FRAME)
                return receipt;
        }
    }
    while (*done < TCP_HEAD + link->in.frame.len) {
        size_t at = *done - TCP_HEAD;
        ssize_t n = receive_some(link, link->in.body + at, link->in.frame.len - at);
        if (n <= 0)
            return n < 0 ? TCP_CLOSED : TCP_NOTHING;
        *done += (size_t)n;
    }
    *frame = link->in.frame;
    *body = link->in.body;
    link->in.body = NULL;
    *done = 0;
    if (link->traffic != NULL)
        link->traffic->frames_received++;
    return TCP_FRAME;
}

bool ncoll__tcp_link_idle(const struct tcp_link *link)
{
    return link->out.done == link->out.len;
}

void ncoll__tcp_link_send(struct tcp_link *link, const struct tcp_frame *frame, const void *body)
{
    pack(frame, link->out.head);
    link->out.body = body;
    link->out.len = TCP_HEAD + frame->len;
    link->out.done = 0;
    if (link->traffic != NULL)
        link->traffic->frames_sent++;
}

void ncoll__tcp_link_flush(struct tcp_link *link)
{
    while (!ncoll__tcp_link_idle(link)) {
        size_t done = link->out.done;
        size_t head = done < TCP_HEAD ? TCP_HEAD - done : 0;
        size_t body = link->out.len - done - head;
        struct iovec parts[2] = {{.iov_base = link->out.head + TCP_HEAD - head, .iov_len = head}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
        if (body > 0)
            parts[message.msg_iovlen++] = (struct iovec){
                .iov_base = (void *)(uintptr_t)(link->out.body + (link->out.len - TCP_HEAD - body)),
                .iov_len = body,
            };
        ssize_t n = sendmsg(link->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n > 0 && link->traffic != NULL)
            link->traffic->bytes_sent += (uint64_t)n;
        link->out.done = n < 0 ? link->out.len : done + (size_t)n;
    }
}

bool ncoll__tcp_link_drain(struct tcp_link *link, int wait_ms)
{
    ncoll__tcp_link_flush(link);
    while (!ncoll__tcp_link_idle(link)) {
        if (poll(&(struct pollfd){.fd = link->fd, .events = POLLOUT}, 1, wait_ms) <= 0)
            return false;
        ncoll__tcp_link_flush(link);
    }
    return true;
}
