/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds rank 0 from a leaf: connects, joins the job, and waits until all ranks have joined. */
#include <poll.h>
#include <stdio.h>

#include "bootstrap/tcp_leaf.h"

/* The pause between attempts to find the root; it doubles each time. */
#define PAUSE_MS      20
#define PAUSE_MOST_MS 500

/* The longest time, in nanoseconds, in which a leaf tries to reach its parent in the tree of
 * tcp_relay.h. */
#define PARENT_NS UINT64_C(3000000000)

/* If there are several ports, a leaf goes on to the next one when it has heard nothing at one for
 * this time, in nanoseconds; the time doubles each time. */
#define HEAR_NS UINT64_C(1000000000)

/* The longest sleep of a leaf that waits for the root, in milliseconds. Any frame wakes it. */
#define WAIT_MS 200

/* The longest time, in nanoseconds, that a leaf which gives up waits for the answer of rank 0. */
#define ANSWER_NS UINT64_C(3000000000)

static int fail_open(struct leaf *leaf)
{
    const struct bootstrap_events *events = &leaf->tcp.events;
    const struct tcp_address *address = &leaf->tcp.address;
    int others = leaf->missing.count - 1;
    char more[48] = "", ports[16];

    ncoll__tcp_address_ports(address, ports);

    if (leaf->refusal.status != 0)
        return events->fail(events->arg, BECAUSE_OF(leaf->refusal.status, leaf->refusal.reason),
                            leaf->refusal.rank, TCP_REMEDY_REFUSED, "%s", leaf->refusal.cause);
    if (!leaf->accepted && leaf->turned_away[0] != '\0')
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, WRONG_KEY), 0,
                            "see that no other job uses that address, and that all ranks have the "
                            "same NCOLL_ROOT and NCOLL_KEY",
                            "rank 0 was not reached at %s port %s within %g s: what answers there "
                            "is not of this job: %s",
                            address->host, ports, leaf->tcp.timeout_s, leaf->turned_away);
    if (leaf->link.fd < 0)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, UNREACHABLE), 0,
                            "see what rank 0 has printed",
                            "rank 0 at %s port %s closed the connection before all ranks had come",
                            address->host, ports);
    if (leaf->missing.count == 0)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, UNREACHABLE), 0,
                            "see that ncoll's rank 0 listens there, and what it has printed",
                            "%s port %s accepted the connection, but nothing was heard from rank 0 "
                            "within %g s",
                            address->host, ports, leaf->tcp.timeout_s);
    if (others > 0)
        snprintf(more, sizeof more, " and %d more", others);
    return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, PEER_MISSING), leaf->missing.rank,
                        "see that all ranks are started with the same NCOLL_ROOT, or raise "
                        "NCOLL_BOOTSTRAP_TIMEOUT",
                        "rank %d%s did not come within %g s", leaf->missing.rank, more,
                        leaf->tcp.timeout_s);
}

/* Gives up at the deadline. Tells that to rank 0, which answers with the reason that it gives to
 * all ranks: it may know of a process that came and did not fit. Returns an error; NCOLL_OK: the
 * last rank has just come. */
static int give_up(struct leaf *leaf)
{
    const struct tcp *tcp = &leaf->tcp;
    const struct tcp_frame frame = {.type = TCP_GIVES_UP,
                                    .number = (uint64_t)(tcp->timeout_s * 1e9)};
    uint64_t end = tcp->events.now_ns(tcp->events.arg) + ANSWER_NS;
    bool asked = false;

    while (leaf->accepted && !leaf->ready && leaf->refusal.status == 0 && leaf->link.fd >= 0 &&
           tcp->events.now_ns(tcp->events.arg) < end) {
        if (!asked && ncoll__tcp_link_idle(&leaf->link)) {
            ncoll__tcp_link_send(&leaf->link, &frame, NULL);
            asked = true;
        }
        ncoll__tcp_link_flush(&leaf->link);
        poll(&(struct pollfd){.fd = leaf->link.fd, .events = POLLIN}, 1, PAUSE_MS);
        ncoll__tcp_leaf_progress(leaf);
    }
    return leaf->ready ? NCOLL_OK : fail_open(leaf);
}

/* If the process that listens at one of several ports has said nothing for too long, closes the
 * connection and returns true. */
static bool is_silent(struct leaf *leaf, uint64_t since_ns)
{
    const struct tcp *tcp = &leaf->tcp;

    if (tcp->address.ports == 1 || leaf->accepted || leaf->link.fd < 0 ||
        tcp->events.now_ns(tcp->events.arg) - since_ns < leaf->hear_ns)
        return false;
    snprintf(leaf->turned_away, sizeof leaf->turned_away, "it says nothing");
    ncoll__tcp_link_close(&leaf->link, false);
    leaf->hear_ns *= 2;
    return true;
}

/* Introduces this rank to the root, and waits until all ranks have joined. NCOLL_TIMEOUT: the other
 * side was not the root. */
static int join(struct leaf *leaf)
{
    const struct tcp_frame hello = {
        .type = TCP_HELLO,
        .how = TCP_PROTOCOL,
        .rank = leaf->tcp.base.rank,
        .number = (uint64_t)leaf->tcp.base.ranks,
    };
    uint64_t since_ns = leaf->tcp.events.now_ns(leaf->tcp.events.arg);
    int wait_ms;

    ncoll__tcp_link_send(&leaf->link, &hello, NULL);
    for (;;) {
        /* computed before receiving, so that frames that have come in time count */
        wait_ms = ncoll__tcp_left_ms(&leaf->tcp, WAIT_MS);
        ncoll__tcp_leaf_progress(leaf);
        if (leaf->ready)
            return NCOLL_OK;
        if (is_silent(leaf, since_ns) || (leaf->link.fd < 0 && !leaf->accepted))
            return NCOLL_TIMEOUT;
        if (leaf->refusal.status != 0 || leaf->link.fd < 0)
            return fail_open(leaf);
        if (wait_ms == 0)
            return give_up(leaf);
        ncoll__tcp_leaf_wait(leaf, wait_ms);
    }
}

/* Waits until this rank is connected to its parent, for at most PARENT_NS. A rank without a parent
 * gets its parcels from rank 0. */
static void reach_parent(struct leaf *leaf)
{
    const struct tcp *tcp = &leaf->tcp;
    uint64_t now_ns = tcp->events.now_ns(tcp->events.arg), end = now_ns + PARENT_NS;

    while (ncoll__tcp_relay_connects(&leaf->relay) && leaf->link.fd >= 0 && now_ns < end) {
        ncoll__tcp_leaf_wait(leaf, ncoll__tcp_wait_ms(end - now_ns));
        ncoll__tcp_leaf_progress(leaf);
        now_ns = tcp->events.now_ns(tcp->events.arg);
    }
    if (ncoll__tcp_relay_connects(&leaf->relay))
        ncoll__tcp_relay_leave_parent(&leaf->relay);
}

static void warn_turned_away(struct leaf *leaf)
{
    const struct bootstrap_events *events = &leaf->tcp.events;

    if (!leaf->warned)
        events->log(events->arg, NCOLL_LOG_WARN,
                    "what answers at %s port %s is not rank 0 of this job: %s; this rank goes on "
                    "trying for at most %g s",
                    leaf->tcp.address.host, leaf->tcp.address.port, leaf->turned_away,
                    leaf->tcp.timeout_s);
    leaf->warned = true;
}

/* Connects again and again until the root is found. Another process may have the root's address for
 * a while. */
int ncoll__tcp_find_root(struct leaf *leaf)
{
    struct tcp_address *address = &leaf->tcp.address;
    int fd, rc, pause_ms = PAUSE_MS, tick_ms;

    leaf->hear_ns = HEAR_NS;
    for (;;) {
        rc = ncoll__tcp_connect(&leaf->tcp, &fd);
        if (rc != NCOLL_OK)
            return leaf->turned_away[0] != '\0' ? fail_open(leaf) : rc;
        ncoll__tcp_link_open(&leaf->link, fd, PROOF_BYTES);
        ncoll__tcp_link_count(&leaf->link, &leaf->tcp.traffic);
        ncoll__tcp_relay_open(&leaf->relay, &leaf->tcp, fd);
        rc = join(leaf);
        if (rc == NCOLL_OK)
            reach_parent(leaf);
        if (rc != NCOLL_TIMEOUT)
            return rc;
        ncoll__tcp_address_turn(address, address->which + 1);
        if (address->which > 0) /* the next port may be that of rank 0 */
            continue;
        warn_turned_away(leaf);
        for (int ms = 0; ms < pause_ms; ms += tick_ms) {
            if ((tick_ms = ncoll__tcp_tick_ms(&leaf->tcp)) == 0)
                return fail_open(leaf);
            poll(NULL, 0, tick_ms);
        }
        pause_ms = pause_ms < PAUSE_MOST_MS ? 2 * pause_ms : PAUSE_MOST_MS;
    }
}
