/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking after the peers.
 *
 * A queue pair that has nothing to send does not notice that its peer is gone. So a rank that waits
 * sends a ping now and then, an empty write that the peer's device answers without the peer's help,
 * over every connection that has shown no life since the last one: the peer that it waits for may
 * itself be waiting for the one that died. A ping to a dead peer fails after the retry time (see
 * direct.c). A peer on the same node is watched by its process as well, which takes no time.
 *
 * A ping may bring a position along, which the peer finds in its inbox when it waits itself.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/verbs.h"

#define PING_NS UINT64_C(400000000)
/* How often to ask the kernel about processes of this node, and of how many at once. */
#define LOOK_NS UINT64_C(5000000)
#define LOOKS   16u
/* The longest that close() waits for what is on its way. */
#define LEAVE_NS UINT64_C(1000000000)

/* ------------------------------------------------------------------ peers that are gone ------- */

void ncoll__verbs_lost(struct verbs *v, struct connection *c, const char *why)
{
    if (c->state == CONNECTION_DEAD)
        return;
    c->state = CONNECTION_DEAD;
    c->completed = c->posted;
    v->config.events.peer_gone(v->config.events.arg, c->endpoint.rank,
                               c->left ? CONTROL_PEER_LEFT : CONTROL_PEER_FAILED, why);
}

/* Whatever this rank sends from now on, it has failed itself. */
void ncoll__verbs_all_lost(struct verbs *v, const char *why)
{
    bool any = false;

    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        any |= c->state != CONNECTION_DEAD;
        c->state = CONNECTION_DEAD;
        c->completed = c->posted;
    }
    if (any)
        v->config.events.peer_gone(v->config.events.arg, v->config.rank, CONTROL_PEER_FAILED, why);
}

/* A process that said goodbye first may end as it likes. It is asked before the completion queue is
 * read, where its goodbye may lie. */
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

/* The last one has been answered. */
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

static void ping(struct verbs *v, struct connection *c, bool suspected)
{
    struct ibv_send_wr wr = {
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = c->peer_inbox, .rkey = c->peer_inbox_rkey},
    };
    bool alive = c->completed != c->seen_alive;

    c->seen_alive = c->completed;
    if (may_ping(c) && (!alive || suspected) && ncoll__verbs_post(v, c, &wr, &wr, 1, true))
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

/* A ping that says something. */
bool ncoll__verbs_tell(struct transport *t, struct endpoint *to, const struct position *position)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = (struct connection *)to;
    struct position_note note = {*position, ++c->positions};
    struct ibv_sge sge = {.addr = (uintptr_t)&note, .length = sizeof note};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = c->peer_inbox + offsetof(struct inbox, position),
                    .rkey = c->peer_inbox_rkey},
    };

    if (!may_ping(c))
        return false;
    note.check = check_of(&note);
    take_along(c, &wr, sizeof note);
    if (!ncoll__verbs_post(v, c, &wr, &wr, 1, true))
        return false;
    c->ping = c->posted;
    return true;
}

/* It may be written at this very moment: what is not whole will be by the next look. */
static void look_for_position(struct verbs *v, struct connection *c)
{
    const struct transport_events *e = &v->config.events;
    uint64_t words[sizeof(struct position_note) / sizeof(uint64_t)];
    struct position_note note;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = atomic_load_explicit(&c->inbox->position[i], memory_order_relaxed);
    memcpy(&note, words, sizeof note);
    if (note.check == c->seen_check || note.check != check_of(&note))
        return;
    c->seen_check = note.check;
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
            look_for_position(v, v->connections[i]);
    }
    if (now_ns >= v->next_ping_ns) {
        v->next_ping_ns = now_ns + PING_NS;
        for (unsigned i = 0; i < v->n_connections; i++)
            ping(v, v->connections[i], v->connections[i]->endpoint.rank == suspect);
        ncoll__verbs_read_events(v);
    }
}

/* ------------------------------------------------------------------ words --------------------- */

/* Of failures only the first one is told: it is what counts, and has a box of its own. */
void ncoll__verbs_control(struct transport *t, struct endpoint *to, const struct control *message)
{
    struct connection *c = (struct connection *)to;

    if (c->state == CONNECTION_READY && !c->left && !c->told)
        c->told = ncoll__verbs_word(verbs_of(t), c, WORD_FAILURE, message, sizeof *message,
                                    offsetof(struct inbox, failure));
}

void ncoll__verbs_word_came(struct verbs *v, struct connection *c, uint32_t imm)
{
    const struct transport_events *e = &v->config.events;

    switch (imm_word(imm)) {
    case WORD_HELLO:
        if (c->state == CONNECTION_MEETING)
            c->state = CONNECTION_READY;
        break;
    case WORD_CONFIRMED: /* the number is cut; it is less than that ahead */
        c->confirmed += (imm_number(imm) - c->confirmed) % IMM_NUMBER;
        break;
    case WORD_FAILURE:
        e->control(e->arg, c->endpoint.rank, &c->inbox->failure);
        break;
    case WORD_LEFT:
        c->left = true;
        e->control(e->arg, c->endpoint.rank, &c->inbox->left);
        break;
    case WORD_RAW:
        c->raw_arrived++;
        break;
    }
}

/* ------------------------------------------------------------------ leaving ------------------- */

/* Says goodbye as soon as there is room for it. Whether the peer has got that, and all before it.
 * One that has left itself has got all that it needed. */
static bool has_left_it(struct verbs *v, struct connection *c)
{
    const struct control goodbye = {.kind = CONTROL_PEER_LEFT, .rank = {v->config.rank, -1}};

    if (c->state != CONNECTION_READY || c->left)
        return true;
    if (!c->said_goodbye)
        c->said_goodbye = ncoll__verbs_word(v, c, WORD_LEFT, &goodbye, sizeof goodbye,
                                            offsetof(struct inbox, left));
    return c->said_goodbye && c->completed == c->posted;
}

static bool has_left_all(struct verbs *v)
{
    bool all = true;

    for (unsigned i = 0; i < v->n_connections; i++)
        all &= has_left_it(v, v->connections[i]);
    return all;
}

void ncoll__verbs_leave(struct verbs *v)
{
    uint64_t deadline_ns = verbs_now_ns(v) + LEAVE_NS;

    ncoll__verbs_progress(&v->transport);
    while (!has_left_all(v) && verbs_now_ns(v) < deadline_ns) {
        ncoll__verbs_progress(&v->transport);
        if (!has_left_all(v))
            ncoll__verbs_sleep(v, -1, 1000000);
    }
}

/* ------------------------------------------------------------------ receiver not ready -------- */

/* Drivers differ in what they call it. */
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
