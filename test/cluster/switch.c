/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Ethernet switch between the guests of the virtual cluster, with faults on command.
 *
 *     switch DIRECTORY PORTS [SEED]
 *
 * A guest's card is a unix datagram socket in DIRECTORY, one Ethernet frame a datagram: QEMU of
 * guest N binds guest-N.sock and sends to port-N.sock, which is ours. Frames go where their
 * destination was last seen as a source, else to all. A guest that takes frames too slowly has them
 * queued, as a real port would, and lost only beyond QUEUE_MAX. Frames to one guest keep their
 * order. Commands come to DIRECTORY/control.sock: see switch_control.c.
 *
 * Chance comes from SEED: the same frames in the same order meet the same fate.
 */
#include "switch.h"

#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MAX 65536
#define BATCH     64   /* frames taken from one port before the others get their turn */
#define QUEUE_MAX 8192 /* frames waiting for one guest */
#define ROCE_V2   4791 /* UDP port */
#define VLAN_TAG  4    /* bytes */

struct switch_state sw;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(void)
{
    uint64_t x = sw.random += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* ------------------------------------------------------------------ frames ------------------- */

static unsigned number_at(const struct frame *f, size_t offset)
{
    return (unsigned)f->bytes[offset] << 8 | f->bytes[offset + 1];
}

/* Length of the Ethernet header, with a VLAN tag or without. */
static size_t header_bytes(const struct frame *f)
{
    return number_at(f, 12) == ETH_P_8021Q ? ETH_HLEN + VLAN_TAG : ETH_HLEN;
}

/* Offset of the UDP header, 0 if there is none. */
static size_t udp_offset(const struct frame *f)
{
    size_t header = header_bytes(f), offset = 0;
    const uint8_t *ip = f->bytes + header;

    if (f->len < header + 20)
        return 0;
    unsigned type = number_at(f, header - 2);
    if (type == ETH_P_IP && ip[9] == IPPROTO_UDP)
        offset = header + (ip[0] & 15u) * 4;
    else if (type == ETH_P_IPV6 && ip[6] == IPPROTO_UDP)
        offset = header + 40;
    return offset + 8 <= f->len ? offset : 0;
}

static void look_into(struct frame *f)
{
    size_t udp = udp_offset(f), header = header_bytes(f);

    f->roce = udp != 0 && number_at(f, udp + 2) == ROCE_V2;
    f->tagged = f->roce && header != ETH_HLEN;
    f->ipv6 = f->roce && number_at(f, header - 2) == ETH_P_IPV6;
}

static struct frame *frame_new(const uint8_t *bytes, size_t len)
{
    struct frame *f = malloc(sizeof *f + len);

    if (f == NULL)
        err(1, "frame of %zu bytes", len);
    f->next = NULL;
    f->due_ns = 0;
    f->len = len;
    memcpy(f->bytes, bytes, len);
    look_into(f);
    return f;
}

/* ------------------------------------------------------------------ faults ------------------- */

static bool in_scope(enum scope scope, const struct frame *f)
{
    return scope == SCOPE_ALL || (scope == SCOPE_ROCE && f->roce);
}

static bool strikes(struct fault *fault, const struct frame *f)
{
    if (!in_scope(fault->scope, f) || (double)(next_random() >> 11) * 0x1p-53 >= fault->probability)
        return false;
    fault->struck++;
    return true;
}

/* One bit, behind the addresses: the frame arrives, and a checksum has to find the damage. */
static void flip_bit(struct frame *f)
{
    size_t first = udp_offset(f) != 0 ? udp_offset(f) + 8 : ETH_HLEN;

    if (first < f->len)
        f->bytes[first + next_random() % (f->len - first)] ^= (uint8_t)(1u << next_random() % 8);
}

/* ------------------------------------------------------------------ ports -------------------- */

static void port_put(struct port *p, struct frame *f)
{
    if (in_scope(p->cut, f) || p->queued == QUEUE_MAX) {
        *(in_scope(p->cut, f) ? &sw.cut : &sw.overflowed) += 1;
        free(f);
        return;
    }
    *p->tail = f;
    p->tail = &f->next;
    p->queued++;
}

/* False if the guest takes no more for now. To a guest that is not there, frames are lost. */
static bool port_send(struct port *p, const struct frame *f)
{
    if (!p->connected)
        p->connected = connect(p->fd, (struct sockaddr *)&p->guest, sizeof p->guest) == 0;
    if (!p->connected)
        return true;
    if (send(p->fd, f->bytes, f->len, MSG_DONTWAIT) < 0) {
        if (errno == EAGAIN || errno == ENOBUFS)
            return false;
        p->connected = false;
        return true;
    }
    p->frames_out++;
    p->roce_out += f->roce;
    return true;
}

static void port_flush(struct port *p, uint64_t now)
{
    p->blocked = false;
    while (p->head != NULL && p->head->due_ns <= now && !p->blocked) {
        struct frame *f = p->head;
        p->blocked = !port_send(p, f);
        if (p->blocked)
            break;
        p->head = f->next;
        if (p->head == NULL)
            p->tail = &p->head;
        p->queued--;
        free(f);
    }
}

static struct host *find_host(const uint8_t *mac)
{
    for (unsigned i = 0; i < sw.hosts; i++) {
        if (memcmp(sw.host[i].mac, mac, ETH_ALEN) == 0)
            return &sw.host[i];
    }
    return NULL;
}

static void learn(const uint8_t *mac, unsigned port)
{
    struct host *host = find_host(mac);

    if (host == NULL && sw.hosts < HOSTS_MAX) {
        host = &sw.host[sw.hosts++];
        memcpy(host->mac, mac, ETH_ALEN);
    }
    if (host != NULL)
        host->port = port;
}

static void forward(unsigned from, const struct frame *f)
{
    const struct host *to = find_host(f->bytes);

    for (unsigned i = 0; i < sw.ports; i++) {
        if (i == from || (to != NULL && to->port != i))
            continue;
        struct frame *copy = frame_new(f->bytes, f->len);
        copy->due_ns = f->due_ns;
        port_put(&sw.port[i], copy);
    }
}

/* Does to a frame that came in what the wire does. */
static void carry(unsigned from, struct frame *f, uint64_t now)
{
    learn(f->bytes + ETH_ALEN, from);
    if (in_scope(sw.port[from].cut, f)) {
        sw.cut++;
        return;
    }
    if (strikes(&sw.loss, f))
        return;
    if (strikes(&sw.corrupt, f))
        flip_bit(f);
    f->due_ns = now + (strikes(&sw.delay, f) ? sw.delay_ns : 0);
    forward(from, f);
    if (strikes(&sw.duplicate, f))
        forward(from, f);
}

static void port_receive(unsigned from, uint64_t now)
{
    static uint8_t bytes[FRAME_MAX];
    struct port *p = &sw.port[from];

    for (unsigned i = 0; i < BATCH; i++) {
        ssize_t len = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (len < ETH_HLEN)
            return;
        struct frame *f = frame_new(bytes, (size_t)len);
        p->frames_in++;
        p->roce_in += f->roce;
        sw.roce_tagged += f->tagged;
        sw.roce_ipv6 += f->ipv6;
        carry(from, f, now);
        free(f);
    }
}

static struct sockaddr_un address(const char *directory, const char *name, unsigned n)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (snprintf(a.sun_path, sizeof a.sun_path, "%s/%s-%u.sock", directory, name, n) >=
        (int)sizeof a.sun_path)
        errx(1, "%s: path too long for a socket", directory);
    return a;
}

static void port_open(struct port *p, const char *directory, unsigned n)
{
    struct sockaddr_un own = address(directory, "port", n);
    int size = 8 << 20;

    p->guest = address(directory, "guest", n);
    p->tail = &p->head;
    p->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0 || bind(p->fd, (struct sockaddr *)&own, sizeof own) != 0)
        err(1, "%s", own.sun_path);
    setsockopt(p->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size); /* less is only slower */
}

/* ------------------------------------------------------------------ loop --------------------- */

/* Until the next delayed frame is due; frames of blocked ports wait for poll() to say so. */
static int poll_timeout_ms(uint64_t now)
{
    uint64_t due = UINT64_MAX;

    for (unsigned i = 0; i < sw.ports; i++) {
        const struct port *p = &sw.port[i];
        if (p->head != NULL && !p->blocked && p->head->due_ns < due)
            due = p->head->due_ns;
    }
    if (due == UINT64_MAX)
        return -1;
    return due <= now ? 0 : (int)((due - now + 999999) / 1000000);
}

static void step(void)
{
    struct pollfd set[PORTS_MAX + CLIENTS_MAX + 1];
    unsigned clients = sw.ports, listener = sw.ports + CLIENTS_MAX;

    for (unsigned i = 0; i < sw.ports; i++)
        set[i] = (struct pollfd){sw.port[i].fd, sw.port[i].blocked ? POLLIN | POLLOUT : POLLIN, 0};
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        set[clients + i] = (struct pollfd){sw.client[i].fd, POLLIN, 0};
    set[listener] = (struct pollfd){sw.listener, POLLIN, 0};
    if (poll(set, listener + 1, poll_timeout_ms(now_ns())) < 0 && errno != EINTR)
        err(1, "poll");

    uint64_t now = now_ns();
    for (unsigned i = 0; i < sw.ports; i++) {
        if (set[i].revents & POLLIN)
            port_receive(i, now);
    }
    for (unsigned i = 0; i < sw.ports; i++)
        port_flush(&sw.port[i], now);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        if (sw.client[i].fd >= 0 && set[clients + i].revents != 0)
            client_receive(&sw.client[i]);
    }
    if (set[listener].revents & POLLIN)
        client_accept();
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4)
        errx(2, "usage: switch DIRECTORY PORTS [SEED]");
    long ports = strtol(argv[2], NULL, 10);
    if (ports < 1 || ports > PORTS_MAX)
        errx(2, "PORTS must be 1..%d", PORTS_MAX);
    sw.ports = (unsigned)ports;
    sw.random = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    for (unsigned i = 0; i < sw.ports; i++)
        port_open(&sw.port[i], argv[1], i);
    control_open(argv[1]);
    for (;;)
        step();
}
