/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections to rank 0 before it knows whose they are: strangers. There is a limited number of
 * entries for them. A stranger proves itself (tcp_proof.h), or its connection is closed. Nothing
 * that a stranger sends can end the job; it can only occupy an entry as long as no other connection
 * needs it.
 *
 * A process that has proved itself but does not fit (another size, or a rank that has joined
 * already) was started by mistake. With a key it belongs to this job; the job cannot start then,
 * and all ranks are told at once. Without a key it may belong to another job, and only this process
 * is told.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "bootstrap/tcp_root.h"

/* the longest time, in nanoseconds, that a stranger which has sent HELLO keeps its entry if other
 * connections wait; a rank that takes longer connects again */
#define GREETED_NS  UINT64_C(50000000)
#define ACCEPTS_MAX 64 /* connections accepted in a row before other sockets are served */
#define HOST_TEXT   64 /* characters of an address in digits */

/* ------------------------------------------------------------------ entries ------------------ */

static uint64_t now_ns(const struct root *root)
{
    return root->tcp.events.now_ns(root->tcp.events.arg);
}

/* Finds an entry for a new connection: a free one, or that of the connection which has been silent
 * for the longest time, or else that of one which was challenged too long ago. Returns NULL if
 * there is none now. */
static struct stranger *find_place(struct root *root)
{
    /* [0]: the oldest that has sent nothing, [1]: the oldest that has sent HELLO */
    struct stranger *oldest[2] = {NULL, NULL};

    for (int i = 0; i < root->join.n_strangers; i++) {
        struct stranger *s = &root->join.strangers[i];
        if (s->link.fd < 0)
            return s;
        if (oldest[s->greeted] == NULL || s->since_ns < oldest[s->greeted]->since_ns)
            oldest[s->greeted] = s;
    }
    struct stranger *place = oldest[0] != NULL ? oldest[0] : oldest[1];
    root->join.resume_ns = place->since_ns + GREETED_NS;
    if (place->greeted && now_ns(root) < root->join.resume_ns)
        return NULL;
    ncoll__tcp_link_close(&place->link, false);
    return place;
}

/* Closes all connections of strangers to free descriptors. Returns false if there were none. */
static bool make_room(struct root *root)
{
    bool any = false;

    for (int i = 0; i < root->join.n_strangers; i++)
        any |= root->join.strangers[i].link.fd >= 0;
    ncoll__tcp_drop_strangers(root);
    return any;
}

/* Adds the listeners to epoll, or removes them while there is no free entry: connections that wait
 * must not keep rank 0 awake. */
static void watch_listeners(struct root *root, bool watch)
{
    root->join.paused = !watch;
    for (int i = 0; i < root->join.n_listeners; i++)
        if (watch)
            ncoll__tcp_root_watch(root, root->join.listeners[i], 0, false);
        else
            epoll_ctl(root->epoll, EPOLL_CTL_DEL, root->join.listeners[i], NULL);
}

void ncoll__tcp_resume_listening(struct root *root)
{
    if (root->join.paused && now_ns(root) >= root->join.resume_ns)
        watch_listeners(root, true);
}

static void hear(struct root *root, struct stranger *s);

static void accept_some(struct root *root, int listener)
{
    struct pollfd waiting = {.fd = listener, .events = POLLIN};

    for (int i = 0; i < ACCEPTS_MAX && poll(&waiting, 1, 0) == 1; i++) {
        struct stranger *s = find_place(root);
        if (s == NULL) {
            watch_listeners(root, false);
            return;
        }
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if ((errno == EMFILE || errno == ENFILE) && !make_room(root))
                ncoll__tcp_refuse(root, NCOLL_ERR_RESOURCE, -1,
                                  "rank 0 cannot accept %d connections: %s (ulimit -n)",
                                  root->tcp.base.ranks - 1, strerror(errno));
            return;
        }
        *s = (struct stranger){.since_ns = now_ns(root)};
        ncoll__tcp_link_open(&s->link, fd, PROOF_BYTES);
        ncoll__tcp_link_count(&s->link, &root->tcp.traffic);
        int index = root->tcp.base.ranks + (int)(s - root->join.strangers);
        if (!ncoll__tcp_root_watch(root, fd, index, false))
            ncoll__tcp_link_close(&s->link, false);
        else
            hear(root, s); /* its HELLO has probably arrived */
    }
}

void ncoll__tcp_drop_strangers(struct root *root)
{
    for (int i = 0; i < root->join.n_strangers; i++)
        ncoll__tcp_link_close(&root->join.strangers[i].link, false);
}

/* ------------------------------------------------------------------ sending away ------------- */

static void name_of(int fd, char *name, size_t size)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof address;

    if (getpeername(fd, (struct sockaddr *)&address, &len) != 0 ||
        getnameinfo((struct sockaddr *)&address, len, name, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST) != 0)
        snprintf(name, size, "an unknown host");
}

/* Logs a report about a stranger, but the same one only once: a rank with a wrong key comes again
 * and again. */
static void report(struct root *root, const char *text)
{
    const struct bootstrap_events *events = &root->tcp.events;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    for (unsigned i = 0; i < root->join.n_logged; i++)
        if (root->join.logged[i] == hash)
            return;
    if (root->join.n_logged == STRANGERS_LOGGED)
        return;
    root->join.logged[root->join.n_logged++] = hash;
    events->log(events->arg, NCOLL_LOG_WARN, "%s%s", text,
                root->join.n_logged == STRANGERS_LOGGED ? "; no further ones are reported" : "");
}

/* Closes the connection of a stranger, and reports that. cause NULL: the stranger uses another
 * protocol and cannot be told a reason. */
static void drop(struct root *root, struct stranger *s, const char *cause)
{
    char from[HOST_TEXT], text[448];

    name_of(s->link.fd, from, sizeof from);
    snprintf(text, sizeof text, "a connection from %s is ignored: %s", from,
             cause != NULL ? cause : "it is not of an ncoll");
    report(root, text);
    if (cause != NULL) {
        ncoll__tcp_send_refusal(&s->link, NCOLL_ERR_BOOTSTRAP, -1, cause);
        snprintf(root->join.note, sizeof root->join.note, "%s", cause);
    }
    ncoll__tcp_link_close(&s->link, false);
}

/* Refuses a rank that has proved itself but does not fit. The proof of the root goes first, so that
 * the rank believes the reason. */
static void send_away(struct root *root, struct stranger *s, int what, int rank, const char *cause)
{
    const struct tcp_frame accepted = {.type = TCP_ACCEPTED, .len = TAG_BYTES};
    char text[448];

    ncoll__tcp_link_send(&s->link, &accepted, s->proof);
    ncoll__tcp_link_flush(&s->link);
    ncoll__tcp_send_refusal(&s->link, what, rank, cause);
    ncoll__tcp_link_close(&s->link, false);
    snprintf(root->join.note, sizeof root->join.note, "%s", cause);
    if (root->tcp.key[0] != '\0')
        ncoll__tcp_refuse(root, NCOLL_ERR_BOOTSTRAP, rank, "%s", cause);
    if (root->tcp.key[0] != '\0')
        return;
    snprintf(text, sizeof text, "%s; this process is sent away", cause);
    report(root, text);
}

/* ------------------------------------------------------------------ hearing ------------------ */

/* Returns true if `theirs`, the NCOLL_ROOT of a leaf, means this root: it is the same text, or rank
 * 0 has an NCOLL_ROOT that stands for all addresses of its host. */
static bool is_same_root(const struct tcp *tcp, const char *theirs)
{
    struct tcp_address address;

    if (strcasecmp(tcp->own.root, theirs) == 0)
        return true;
    return (strcmp(tcp->address.host, "0.0.0.0") == 0 || strcmp(tcp->address.host, "::") == 0) &&
           ncoll__tcp_address_parse(theirs, &address);
}

/* Checks a stranger's claim. Returns false, with the cause, if it does not fit. */
static bool fits(const struct root *root, const struct stranger *s, char *cause, size_t size)
{
    const struct tcp *tcp = &root->tcp;
    const struct tcp_claim *claim = &s->claim;
    int ranks = tcp->base.ranks;
    char from[HOST_TEXT], other[HOST_TEXT];

    name_of(s->link.fd, from, sizeof from);
    if (claim->job[0] != '\0' && tcp->own.job[0] != '\0' && strcmp(claim->job, tcp->own.job) != 0) {
        snprintf(cause, size, "rank %d at %s is of job %s, rank 0 of job %s", claim->rank, from,
                 claim->job, tcp->own.job);
    } else if (claim->ranks != (uint64_t)ranks) {
        snprintf(cause, size,
                 "rank %d at %s was started for a job of %" PRIu64 " ranks, rank 0 for one of %d",
                 claim->rank, from, claim->ranks, ranks);
    } else if (!is_same_root(tcp, claim->root)) {
        snprintf(cause, size, "rank %d at %s was started with NCOLL_ROOT=%.80s, rank 0 with %.80s",
                 claim->rank, from, claim->root, tcp->own.root);
    } else if (claim->rank < 1 || claim->rank >= ranks) {
        snprintf(cause, size, "a process at %s says that it is rank %d of %d", from, claim->rank,
                 ranks);
    } else if (root->leaves[claim->rank] != NULL) {
        name_of(root->leaves[claim->rank]->link.fd, other, sizeof other);
        snprintf(cause, size, "two processes, at %s and %s, are both rank %d", other, from,
                 claim->rank);
    } else {
        return true;
    }
    return false;
}

/* Turns a stranger into a leaf. */
static void join(struct root *root, struct stranger *s)
{
    const struct tcp_frame accepted = {.type = TCP_ACCEPTED, .len = TAG_BYTES};
    struct leaf_link *leaf = calloc(1, sizeof *leaf);
    int rank = s->claim.rank, ranks = root->tcp.base.ranks;

    if (leaf == NULL) {
        ncoll__tcp_refuse(root, NCOLL_ERR_MEMORY, -1, "rank 0 has no memory for %d ranks", ranks);
        return;
    }
    *leaf = (struct leaf_link){.rank = rank, .link = s->link, .port = s->port};
    memcpy(leaf->proof, s->proof, TAG_BYTES);
    s->link.fd = -1;
    root->leaves[rank] = leaf;
    root->join.count++;
    root->untold = true;
    leaf->link.body_max = TCP_BLOB_MAX;
    ncoll__tcp_link_send(&leaf->link, &accepted, leaf->proof);
    ncoll__tcp_link_flush(&leaf->link);
    if (!ncoll__tcp_root_watch(root, leaf->link.fd, rank, true))
        ncoll__tcp_refuse(root, NCOLL_ERR_SYSTEM, -1, "epoll_ctl: %s", strerror(errno));
    root->complete = root->join.count == ranks - 1 && root->join.refusal.status == 0;
}

static void hear_greeting(struct root *root, struct stranger *s, const struct tcp_frame *hello)
{
    const struct tcp_frame frame = {.type = TCP_CHALLENGE, .len = NONCE_BYTES};
    char cause[128];

    if (hello->how != TCP_PROTOCOL) {
        snprintf(cause, sizeof cause,
                 "the ncoll of a rank speaks bootstrap protocol %u, that of rank 0 %d", hello->how,
                 TCP_PROTOCOL);
        drop(root, s, cause);
        return;
    }
    if (!ncoll__tcp_nonce(s->challenge)) {
        ncoll__tcp_refuse(root, NCOLL_ERR_SYSTEM, -1, "rank 0 has no random bytes: %s",
                          strerror(errno));
        return;
    }
    s->greeted = true;
    s->claim.rank = hello->rank;
    s->claim.ranks = hello->number;
    ncoll__tcp_link_send(&s->link, &frame, s->challenge);
    ncoll__tcp_link_flush(&s->link);
}

static void hear_proof(struct root *root, struct stranger *s, const struct tcp_frame *frame,
                       const unsigned char *body)
{
    unsigned char nonce[NONCE_BYTES], tag[TAG_BYTES], right[TAG_BYTES];
    const char *key = root->tcp.key;
    char cause[320], from[HOST_TEXT];

    if (!ncoll__tcp_proof_unpack(body, frame->len, nonce, tag, &s->claim)) {
        drop(root, s, NULL);
        return;
    }
    s->port = (uint16_t)frame->how;
    ncoll__tcp_tag(TCP_LEAF, key, s->challenge, nonce, &s->claim, right);
    if (!ncoll__tags_are_equal(tag, right)) {
        name_of(s->link.fd, from, sizeof from);
        snprintf(cause, sizeof cause, "rank %d at %s %s", s->claim.rank, from,
                 key[0] != '\0' ? "does not have the NCOLL_KEY of rank 0"
                                : "has an NCOLL_KEY, and rank 0 has none");
        drop(root, s, cause);
        return;
    }
    ncoll__tcp_tag(TCP_ROOT, key, s->challenge, nonce, &s->claim, s->proof);
    if (root->join.refusal.status != 0) {
        send_away(root, s, BECAUSE_OF(NCOLL_ERR_BOOTSTRAP, root->join.refusal.reason),
                  root->join.refusal.rank, root->join.refusal.cause);
        return;
    }
    if (fits(root, s, cause, sizeof cause))
        join(root, s);
    else
        send_away(root, s, NCOLL_ERR_BOOTSTRAP, s->claim.rank > 0 ? s->claim.rank : -1, cause);
}

static void hear(struct root *root, struct stranger *s)
{
    struct tcp_frame frame;
    unsigned char *body;

    while (s->link.fd >= 0) {
        enum tcp_receipt receipt = ncoll__tcp_link_receive(&s->link, &frame, &body);
        if (receipt == TCP_NOTHING)
            return;
        if (receipt == TCP_CLOSED) {
            ncoll__tcp_link_close(&s->link, false);
            return;
        }
        if (receipt == TCP_FRAME && frame.type == TCP_HELLO && !s->greeted)
            hear_greeting(root, s, &frame);
        else if (receipt == TCP_FRAME && frame.type == TCP_PROOF && s->greeted &&
                 ncoll__tcp_link_idle(&s->link))
            hear_proof(root, s, &frame, body);
        else
            drop(root, s, NULL);
        if (receipt == TCP_FRAME)
            free(body);
    }
}

void ncoll__tcp_stranger_event(struct root *root, int index)
{
    if (index == 0)
        for (int i = 0; i < root->join.n_listeners && !root->join.paused; i++)
            accept_some(root, root->join.listeners[i]);
    else
        hear(root, &root->join.strangers[index - root->tcp.base.ranks]);
}
