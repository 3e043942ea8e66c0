/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The number of entries for connections that have not proved to be children, in addition to one
 * entry for each child. */
#define STRANGERS 16

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* ------------------------------------------------------------------ opening ------------------ */

/* Returns the number of ranks whose parent is `rank`. */
static int children_of(int rank, int ranks)
{
    int64_t first = (int64_t)rank * ncoll__tcp_fan_out + 1, left = ranks - first;

    return left <= 0 ? 0 : left < ncoll__tcp_fan_out ? (int)left : ncoll__tcp_fan_out;
}

/* Listens at any free port, on all addresses: rank 0 may see this host at another address than
 * other hosts do. Returns the port; 0: that has failed. */
static uint16_t listen_anywhere(struct relay *relay, int family)
{
    union address a = {.v6 = {.sin6_family = AF_INET6}};
    socklen_t len = sizeof a.v6;
    const int no = 0;

    if (family != AF_INET6) {
        a.v4 = (struct sockaddr_in){.sin_family = AF_INET};
        len = sizeof a.v4;
    }
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return 0;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, &a.any, len) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, &a.any, &len) != 0) {
        close(fd);
        return 0;
    }
    relay->listener = fd;
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

void ncoll__tcp_relay_open(struct relay *relay, struct tcp *tcp, int root_fd)
{
    int n = children_of(tcp->base.rank, tcp->base.ranks);
    union address own = {0};
    socklen_t len = sizeof own;

    ncoll__tcp_relay_close(relay);
    relay->tcp = tcp;
    if (n == 0 || getsockname(root_fd, &own.any, &len) != 0)
        return;
    relay->children = calloc((size_t)(n + STRANGERS), sizeof *relay->children);
    if (relay->children == NULL)
        return;
    relay->n_children = n + STRANGERS;
    for (int i = 0; i < relay->n_children; i++)
        relay->children[i].link.fd = -1;
    relay->port = listen_anywhere(relay, own.any.sa_family);
}

static void stop_listening(struct relay *relay)
{
    if (relay->listener >= 0)
        close(relay->listener);
    relay->listener = -1;
}

void ncoll__tcp_relay_close(struct relay *relay)
{
    stop_listening(relay);
    for (int i = 0; i < relay->n_children; i++)
        ncoll__tcp_link_close(&relay->children[i].link, false);
    free(relay->children);
    ncoll__tcp_link_close(&relay->parent.link, false);
    explicit_bzero(relay->key, sizeof relay->key);
    *relay = (struct relay){.tcp = relay->tcp, .listener = -1, .parent.link.fd = -1};
}

/* ------------------------------------------------------------------ the parent --------------- */

void ncoll__tcp_relay_leave_parent(struct relay *relay)
{
    ncoll__tcp_link_close(&relay->parent.link, false);
    relay->parent.state = LINK_NONE;
}

/* Finds the address of the parent. Returns its length; 0: there is none. */
static socklen_t address_of(const struct ready *ready, int root_fd, union address *a)
{
    socklen_t len = sizeof *a;

    *a = (union address){0};
    switch (ready->where) {
    case PARENT_NONE:
        return 0;
    case PARENT_IPV4:
        a->v4.sin_family = AF_INET;
        memcpy(&a->v4.sin_addr, ready->address, sizeof a->v4.sin_addr);
        len = sizeof a->v4;
        break;
    case PARENT_IPV6:
        a->v6.sin6_family = AF_INET6;
        memcpy(&a->v6.sin6_addr, ready->address, sizeof a->v6.sin6_addr);
        len = sizeof a->v6;
        break;
    case PARENT_WITH_ROOT:
        if (getpeername(root_fd, &a->any, &len) != 0)
            return 0;
        break;
    }
    if (a->any.sa_family == AF_INET6)
        a->v6.sin6_port = htons(ready->port);
    else
        a->v4.sin_port = htons(ready->port);
    return len;
}

void ncoll__tcp_relay_ready(struct relay *relay, const struct ready *ready, int root_fd)
{
    union address a;
    socklen_t len = address_of(ready, root_fd, &a);
    size_t at = (size_t)snprintf(relay->key, sizeof relay->key, "%s", relay->tcp->key);

    for (unsigned i = 0; i < NONCE_BYTES; i++, at += 2)
        snprintf(relay->key + at, sizeof relay->key - at, "%02x", ready->secret[i]);
    relay->ready = true;
    if (len == 0)
        return;
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, &a.any, len) != 0 && errno != EINPROGRESS) {
        close(fd);
        return;
    }
    ncoll__tcp_link_open(&relay->parent.link, fd, PROOF_BYTES);
    ncoll__tcp_link_count(&relay->parent.link, &relay->tcp->traffic);
    relay->parent.state = LINK_CONNECTS;
}

bool ncoll__tcp_relay_connects(const struct relay *relay)
{
    return relay->parent.state == LINK_CONNECTS || relay->parent.state == LINK_PROVES;
}

bool ncoll__tcp_relay_has_parent(const struct relay *relay)
{
    return relay->parent.state == LINK_JOINED;
}

/* Sends HELLO to the parent once the connection is there. Returns false if it cannot be made. */
static bool greet_parent(struct relay *relay)
{
    const struct tcp *tcp = relay->tcp;
    const struct tcp_frame hello = {
        .type = TCP_HELLO,
        .how = TCP_PROTOCOL,
        .rank = tcp->base.rank,
        .number = (uint64_t)tcp->base.ranks,
    };
    struct pollfd polled = {.fd = relay->parent.link.fd, .events = POLLOUT};
    int error = 0;
    socklen_t len = sizeof error;

    if (poll(&polled, 1, 0) <= 0)
        return true;
    if (getsockopt(relay->parent.link.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0)
        return false;
    relay->parent.state = LINK_PROVES;
    ncoll__tcp_link_send(&relay->parent.link, &hello, NULL);
    ncoll__tcp_link_flush(&relay->parent.link);
    return true;
}

/* Answers the parent's challenge. */
static bool prove(struct relay *relay, const unsigned char *challenge)
{
    const struct tcp_claim *own = &relay->tcp->own;
    struct tcp_link *link = &relay->parent.link;
    struct tcp_frame frame = {.type = TCP_PROOF};
    unsigned char tag[TAG_BYTES];

    if (!ncoll__tcp_link_idle(link) || !ncoll__tcp_nonce(relay->parent.nonce))
        return false;
    memcpy(relay->parent.challenge, challenge, NONCE_BYTES);
    ncoll__tcp_tag(TCP_LEAF, relay->key, challenge, relay->parent.nonce, own, tag);
    frame.len = (uint32_t)ncoll__tcp_proof_pack(relay->parent.nonce, tag, own, relay->parent.proof);
    ncoll__tcp_link_send(link, &frame, relay->parent.proof);
    ncoll__tcp_link_flush(link);
    return true;
}

static bool is_proof_of_parent(const struct relay *relay, const unsigned char *theirs)
{
    unsigned char tag[TAG_BYTES];

    ncoll__tcp_tag(TCP_ROOT, relay->key, relay->parent.challenge, relay->parent.nonce,
                   &relay->tcp->own, tag);
    return ncoll__tags_are_equal(tag, theirs);
}

/* Handles a frame of the parent and takes over its body. Returns false if the parent must not send
 * this frame. */
static bool handle(struct relay *relay, const struct tcp_frame *frame, unsigned char *body)
{
    bool legal = false;

    if (relay->parent.state == LINK_JOINED && frame->type == TCP_BLOBS &&
        frame->number == relay->tcp->k)
        return ncoll__tcp_keep_parcel(relay->tcp, body, frame->len);
    if (relay->parent.state == LINK_PROVES && frame->type == TCP_CHALLENGE &&
        frame->len == NONCE_BYTES) {
        legal = prove(relay, body);
    } else if (relay->parent.state == LINK_PROVES && frame->type == TCP_ACCEPTED &&
               frame->len == TAG_BYTES && is_proof_of_parent(relay, body)) {
        relay->parent.state = LINK_JOINED;
        relay->parent.link.body_max = TCP_PARCEL_MAX;
        legal = true;
    }
    free(body);
    return legal;
}

/* Receives frames of the parent, as far as they have come. Returns false if the connection is
 * lost. */
static bool hear_parent(struct relay *relay)
{
    struct tcp_frame frame;
    unsigned char *body;

    if (relay->parent.state == LINK_NONE)
        return true;
    if (relay->parent.state == LINK_CONNECTS) {
        if (!greet_parent(relay))
            return false;
        if (relay->parent.state == LINK_CONNECTS)
            return true;
    }
    ncoll__tcp_link_flush(&relay->parent.link);
    for (;;) {
        enum tcp_receipt receipt = ncoll__tcp_link_receive(&relay->parent.link, &frame, &body);
        if (receipt == TCP_NOTHING)
            return true;
        if (receipt != TCP_FRAME || !handle(relay, &frame, body))
            return false;
    }
}

/* ------------------------------------------------------------------ the children ------------- */

/* Finds an entry for a new connection: a free one, or else one that is not of a child, whose
 * connection it closes. NULL: there is none. */
static struct relay_child *find_place(struct relay *relay)
{
    struct relay_child *place = NULL;

    for (int i = 0; i < relay->n_children; i++) {
        struct relay_child *c = &relay->children[i];
        if (c->link.fd < 0)
            return c;
        if (!c->joined)
            place = c;
    }
    if (place != NULL)
        ncoll__tcp_link_close(&place->link, false);
    return place;
}

static void accept_some(struct relay *relay)
{
    while (relay->ready && relay->listener >= 0) {
        int fd = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct relay_child *c = fd >= 0 ? find_place(relay) : NULL;
        if (c == NULL) {
            if (fd >= 0)
                close(fd);
            return;
        }
        *c = (struct relay_child){0};
        ncoll__tcp_link_open(&c->link, fd, PROOF_BYTES);
        ncoll__tcp_link_count(&c->link, &relay->tcp->traffic);
    }
}

/* Checks the proof of a child, and answers it with this rank's own proof. Returns false if the
 * other side is no child of this rank. */
static bool accept_child(struct relay *relay, struct relay_child *c, const unsigned char *body,
                         size_t len)
{
    const struct tcp_frame accepted = {.type = TCP_ACCEPTED, .len = TAG_BYTES};
    const struct bootstrap *b = &relay->tcp->base;
    unsigned char nonce[NONCE_BYTES], tag[TAG_BYTES], right[TAG_BYTES];

    if (!ncoll__tcp_proof_unpack(body, len, nonce, tag, &c->claim))
        return false;
    ncoll__tcp_tag(TCP_LEAF, relay->key, c->challenge, nonce, &c->claim, right);
    if (!ncoll__tags_are_equal(tag, right) || c->claim.ranks != (uint64_t)b->ranks ||
        c->claim.rank <= b->rank || c->claim.rank >= b->ranks ||
        ncoll__tcp_parent(c->claim.rank) != b->rank)
        return false;
    ncoll__tcp_tag(TCP_ROOT, relay->key, c->challenge, nonce, &c->claim, c->proof);
    c->joined = true;
    ncoll__tcp_link_send(&c->link, &accepted, c->proof);
    ncoll__tcp_link_flush(&c->link);
    return true;
}

static bool challenge(struct relay_child *c, const struct tcp_frame *hello)
{
    const struct tcp_frame frame = {.type = TCP_CHALLENGE, .len = NONCE_BYTES};

    if (hello->how != TCP_PROTOCOL || !ncoll__tcp_nonce(c->challenge))
        return false;
    c->greeted = true;
    c->claim.rank = hello->rank;
    c->claim.ranks = hello->number;
    ncoll__tcp_link_send(&c->link, &frame, c->challenge);
    ncoll__tcp_link_flush(&c->link);
    return true;
}

static void hear_child(struct relay *relay, struct relay_child *c)
{
    struct tcp_frame frame;
    unsigned char *body;

    while (c->link.fd >= 0) {
        enum tcp_receipt receipt = ncoll__tcp_link_receive(&c->link, &frame, &body);
        bool legal = false;
        if (receipt == TCP_NOTHING)
            return;
        if (receipt == TCP_FRAME) {
            if (frame.type == TCP_HELLO && !c->greeted)
                legal = challenge(c, &frame);
            else if (frame.type == TCP_PROOF && c->greeted && !c->joined &&
                     ncoll__tcp_link_idle(&c->link))
                legal = accept_child(relay, c, body, frame.len);
            free(body);
        }
        if (!legal)
            ncoll__tcp_link_close(&c->link, false);
    }
}

/* Sends parcels to a child, as far as it takes them now. */
static void tell_child(struct relay *relay, struct relay_child *c)
{
    const struct keep *keep = &relay->tcp->keep;

    while (c->link.fd >= 0) {
        ncoll__tcp_link_flush(&c->link);
        if (!c->joined || !ncoll__tcp_link_idle(&c->link) || c->told >= keep->n_whole)
            return;
        const struct whole *parcel = &keep->whole[c->told++];
        const struct tcp_frame frame = {
            .type = TCP_BLOBS, .len = (uint32_t)parcel->len, .number = relay->tcp->k};
        ncoll__tcp_link_send(&c->link, &frame, parcel->bytes);
    }
}

bool ncoll__tcp_relay_progress(struct relay *relay)
{
    bool kept = hear_parent(relay);

    accept_some(relay);
    for (int i = 0; i < relay->n_children; i++) {
        hear_child(relay, &relay->children[i]);
        tell_child(relay, &relay->children[i]);
    }
    if (!kept)
        ncoll__tcp_relay_leave_parent(relay);
    return kept;
}

void ncoll__tcp_relay_begin(struct relay *relay)
{
    for (int i = 0; i < relay->n_children; i++)
        relay->children[i].told = 0;
}

bool ncoll__tcp_relay_has_told(const struct relay *relay)
{
    for (int i = 0; i < relay->n_children; i++) {
        const struct relay_child *c = &relay->children[i];
        if (c->link.fd >= 0 && c->joined &&
            (c->told < relay->tcp->keep.n_whole || !ncoll__tcp_link_idle(&c->link)))
            return false;
    }
    return true;
}

void ncoll__tcp_relay_is_complete(struct relay *relay)
{
    if (relay->listener < 0)
        return;
    stop_listening(relay);
    for (int i = 0; i < relay->n_children; i++)
        if (!relay->children[i].joined)
            ncoll__tcp_link_close(&relay->children[i].link, false);
}

/* ------------------------------------------------------------------ waiting ------------------ */

int ncoll__tcp_relay_polls(const struct relay *relay)
{
    return 2 + relay->n_children;
}

static struct pollfd poll_of(const struct tcp_link *link, bool connects)
{
    bool idle = ncoll__tcp_link_idle(link) && !connects;

    return (struct pollfd){.fd = link->fd, .events = idle ? POLLIN : POLLIN | POLLOUT};
}

int ncoll__tcp_relay_fill(const struct relay *relay, struct pollfd *polls)
{
    int n = 0;

    if (relay->listener >= 0 && relay->ready)
        polls[n++] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
    if (relay->parent.state != LINK_NONE)
        polls[n++] = poll_of(&relay->parent.link, relay->parent.state == LINK_CONNECTS);
    for (int i = 0; i < relay->n_children; i++)
        if (relay->children[i].link.fd >= 0)
            polls[n++] = poll_of(&relay->children[i].link, false);
    return n;
}
