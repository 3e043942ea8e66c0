/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks after the peers.
 *
 * A queue pair that has nothing to send does not notice the end of its peer. So a rank that waits
 * sends a ping from time to time: an empty write, which the peer's device acknowledges without the
 * peer's help. The rank pings every connection that has shown no life since the last ping, since
 * the awaited peer may itself wait for a dead rank. For a peer on the same node the process is
 * checked as well, which takes hardly any time.
 *
 * A peer that answers nothing for NCOLL_PEER_TIMEOUT is lost. By default a device repeats
 * unanswered messages for longer than that (NCOLL_TIMEOUT_EXPONENT, NCOLL_RETRIES), so that a cable
 * or a switch that fails for a shorter time does no harm. Only time in which this rank checks its
 * peers counts: after it has computed for a minute, or was stopped, it may not have read an answer
 * yet.
 *
 * A ping may carry a position, which the peer finds in its inbox when it waits itself.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/post.h"
#include "transport/verbs/rail.h"

#define PING_NS UINT64_C(400000000)
/* The interval at which the kernel is asked about processes of this node, and the number of
 * processes asked about at once. */
#define LOOK_NS UINT64_C(5000000)
#define LOOKS   16u

/* ------------------------------------------------------------------ peers that are gone ------- */

/* Checks a peer's process. If the process has ended, the completion queue is polled before the peer
 * is reported as lost: the farewell of the peer may be there, and after its farewell a process may
 * end. */
static void look_at_process(struct verbs *v, struct connection *c)
{
    char why[48];

    if (!c->watched || c->left || c->state == CONNECTION_DEAD || !ncoll__process_ended(&c->process))
        return;
    ncoll__verbs_progress(&v->transport);
    if (c->left)
        return;
    snprintf(why, sizeof why, "process %d ended", (int)c->process.pid);
    ncoll__verbs_lost(v, c, why);
}

/* True if a ping may be sent: the last one has been answered, and there is room. */
static bool may_ping(const struct connection *c)
{
    return c->state == CONNECTION_READY && !c->left && (int32_t)(c->ping - c->completed) <= 0 &&
           send_room(c) > 0;
}

static void look_at_some(struct verbs *v)
{
    for (unsigned i = 0, looks = 0; i < v->n_connections && looks < LOOKS; i++) {
        struct connection *c = v->connections[v->next_look++ % v->n_connections];
        look_at_process(v, c);
        looks += c->watched;
    }
}

/* Counts the time in which a peer has not answered. If that is too long, the peer is lost. */
static void listen_to(struct verbs *v, struct connection *c, uint64_t elapsed_ns)
{
    char why[256], port[64], path[PATH_TEXT];
    bool owes = (int32_t)(c->signalled - c->completed) > 0;

    bool alive = c->completed != c->seen_alive || c->arrived != c->seen_arrived;

    if (c->state != CONNECTION_READY || c->left || !owes || alive) {
        c->silent_ns = 0;
        return;
    }
    c->silent_ns += elapsed_ns;
    if (c->silent_ns < v->config.peer_timeout_ns)
        return;
    double seconds = (double)c->silent_ns / 1e9;
    ncoll__verbs_port_text(v, port, sizeof port);
    if (c->completed == 0 && c->arrived == 0) {
        snprintf(why, sizeof why, "it has never answered, for %.1f s%s: %s", seconds, port,
                 ncoll__verbs_path_text(v, c, path));
        ncoll__verbs_unreached(v, c, why);
        return;
    }
    snprintf(why, sizeof why, "it has not answered for %.1f s (NCOLL_PEER_TIMEOUT)%s", seconds,
             port);
    ncoll__verbs_lost(v, c, why);
}

static void ping(struct verbs *v, struct connection *c, bool suspected)
{
    struct ibv_send_wr wr = {
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = c->peer_inbox, .rkey = c->peer_inbox_rkey},
    };
    bool alive = c->completed != c->seen_alive;

    c->seen_alive = c->completed;
    c->seen_arrived = c->arrived;
    if (may_ping(c) && (!alive || suspected) && verbs_post(v, c, &wr, &wr, 1, true))
        c->ping = c->posted;
}

static uint64_t check_of(const struct position_note *note)
{
    uint64_t words[offsetof(struct position_note, check) / sizeof(uint64_t)], check = 1;

    memcpy(words, note, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        check = (check ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        check ^= check >> 32;
    }
    return check;
}

/* Returns the place in the inbox for a position. A question that this rank passes on must not be
 * overwritten by a question of its own, nor by an answer. */
static enum position_place place_of(const struct verbs *v, const struct position *p)
{
    if (p->kind == POSITION_ANSWERS)
        return PLACE_ANSWER;
    return p->question.rank == v->config.rank ? PLACE_OWN : PLACE_PASSED_ON;
}

/* Sends a ping with a position, if the last one for the same place has been answered. */
bool ncoll__verbs_tell(struct transport *t, struct endpoint *to, const struct position *position)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = (struct connection *)to;
    struct position_note note = {*position, ++c->positions};
    enum position_place place = place_of(v, position);
    struct ibv_sge sge = {.addr = (uintptr_t)&note, .length = sizeof note};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = c->peer_inbox + offsetof(struct inbox, positions) +
                                   place * sizeof c->inbox->positions[0],
                    .rkey = c->peer_inbox_rkey},
    };

    if (c->state != CONNECTION_READY || c->left || send_room(c) == 0 ||
        (int32_t)(c->told_at[place] - c->completed) > 0)
        return false;
    note.check = check_of(&note);
    take_along(c, &wr, sizeof note);
    if (!verbs_post(v, c, &wr, &wr, 1, true))
        return false;
    c->ping = c->told_at[place] = c->posted;
    return true;
}

/* Reads a position from the inbox. The peer may be writing it at this moment; an incomplete
 * position is ignored now, and read the next time. */
static void look_for_position(struct verbs *v, struct connection *c, unsigned place)
{
    const struct transport_events *e = &v->config.events;
    uint64_t words[sizeof(struct position_note) / sizeof(uint64_t)];
    struct position_note note;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = atomic_load_explicit(&c->inbox->positions[place][i], memory_order_relaxed);
    memcpy(&note, words, sizeof note);
    if (note.check == c->seen_check[place] || note.check != check_of(&note))
        return;
    c->seen_check[place] = note.check;
    e->position(e->arg, c->endpoint.rank, &note.position);
}

void ncoll__verbs_check(struct transport *t, int suspect)
{
    struct verbs *v = verbs_of(t);
    uint64_t now_ns = verbs_now_ns(v);

    ncoll__verbs_progress(t);
    if (now_ns >= v->next_look_ns) {
        v->next_look_ns = now_ns + LOOK_NS;
        if (suspect >= 0 && v->by_rank[suspect] != NULL)
            look_at_process(v, v->by_rank[suspect]);
        look_at_some(v);
        for (unsigned i = 0; i < v->n_connections; i++)
            for (unsigned place = 0; place < POSITION_PLACES; place++)
                look_for_position(v, v->connections[i], place);
    }
    uint64_t elapsed_ns = now_ns - v->last_ping_ns;
    if (elapsed_ns >= PING_NS) {
        elapsed_ns = elapsed_ns < 2 * PING_NS ? elapsed_ns : 2 * PING_NS;
        v->last_ping_ns = now_ns;
        for (unsigned i = 0; i < v->n_connections; i++) {
            listen_to(v, v->connections[i], elapsed_ns);
            ncoll__rail_listen(v, v->connections[i], elapsed_ns);
            ping(v, v->connections[i], v->connections[i]->endpoint.rank == suspect);
        }
        ncoll__rail_read_events(v);
        ncoll__verbs_read_events(v);
    }
}

/* ------------------------------------------------------------------ words --------------------- */

/* Sends a control word. Only the first failure counts, so only that one is sent to each peer; it
 * has a place of its own in the inbox. */
void ncoll__verbs_control(struct transport *t, struct endpoint *to, const struct control *message)
{
    struct connection *c = (struct connection *)to;

    if (c->state == CONNECTION_READY && !c->left && !c->told)
        c->told = ncoll__verbs_word(verbs_of(t), c, WORD_FAILURE, 0, message, sizeof *message,
                                    offsetof(struct inbox, failure));
}

/* ------------------------------------------------------------------ leaving ------------------- */

/* The function that fills in this rank's farewells, and its argument. */
struct last_words {
    farewell_fn say; /* NULL: the farewells are all 0 */
    void *arg;
};

/* Tells a peer that this rank leaves, as soon as there is room. Returns true if this message and
 * all earlier ones have arrived, or if the peer has left itself. */
static bool has_left_it(struct verbs *v, struct connection *c, const struct last_words *words)
{
    struct farewell farewell = {0};

    if (c->state != CONNECTION_READY || c->left)
        return true;
    if (!c->said_goodbye && send_room(c) > 0) {
        if (words->say != NULL)
            words->say(words->arg, c->endpoint.rank, &farewell);
        c->said_goodbye = ncoll__verbs_word(v, c, WORD_LEFT, rail_sent(c) % IMM_NUMBER, &farewell,
                                            sizeof farewell, offsetof(struct inbox, left));
    }
    return c->said_goodbye && c->completed == c->posted && rail_is_idle(c);
}

static bool has_left_all(struct verbs *v, const struct last_words *words)
{
    bool all = true;

    for (unsigned i = 0; i < v->n_connections; i++)
        all &= has_left_it(v, v->connections[i], words);
    return all;
}

/* Polls the completion queue once more after this rank's farewells have arrived: if a peer leaves
 * at the same time, at least one of the two finds the farewell of the other there. */
void ncoll__verbs_leave(struct transport *t, farewell_fn say, void *arg)
{
    struct verbs *v = verbs_of(t);
    const struct last_words words = {say, arg};
    uint64_t deadline_ns = verbs_now_ns(v) + v->config.peer_timeout_ns;

    if (v->has_left)
        return;
    v->has_left = true;
    ncoll__verbs_progress(t);
    while (!has_left_all(v, &words) && verbs_now_ns(v) < deadline_ns) {
        ncoll__verbs_progress(t);
        ncoll__rail_hurry(v, deadline_ns - v->config.peer_timeout_ns / 4 * 3);
        if (!has_left_all(v, &words))
            ncoll__verbs_sleep(v, -1, 1000000);
    }
    ncoll__verbs_progress(t);
}

bool ncoll__verbs_farewell(struct transport *t, const struct endpoint *from, struct farewell *out)
{
    const struct connection *c = (const struct connection *)from;

    (void)t;
    if (c->left)
        *out = c->inbox->left;
    return c->left;
}

/* ------------------------------------------------------------------ receiver not ready -------- */

/* True if a hardware counter counts RNR events. Its name depends on the driver. */
static bool counts_rnr(const char *name)
{
    return strcmp(name, "rcvd_rnr_err") == 0 || strcmp(name, "rnr_nak_retry_err") == 0;
}

static uint64_t read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long number = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

uint64_t ncoll__verbs_rnr(const struct verbs *v)
{
    char folder[160], path[sizeof folder + 256];
    uint64_t sum = 0;

    snprintf(folder, sizeof folder, "/sys/class/infiniband/%s/ports/%d/hw_counters",
             v->where.device, v->where.port);
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!counts_rnr(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        sum += read_number(path);
    }
    closedir(dir);
    return sum;
}
