/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's control: puts meet waits, and everything is used again only after it was consumed.
 */
#include "test/verify/model.h"

#include <stdio.h>
#include <string.h>

#include "test/verify/memory.h"

/* ------------------------------------------------------------------ happens-before ------------ */

static tick *clock_of(const struct model *m, unsigned rank)
{
    return m->clocks + (size_t)rank * m->P;
}

/* Keeps what the rank knows, as a row that stays; puts in a row share it. */
static unsigned snapshot(struct model *m, unsigned rank)
{
    struct actor *actor = &m->actors[rank];
    size_t row = m->P * sizeof *m->rows;

    if (actor->snapshot != NO_ROW || !model_is_ordered(m))
        return actor->snapshot;
    if ((m->n_rows + 1) * row > m->rows_bytes) {
        m->rows_bytes = 2 * m->rows_bytes + 256 * row;
        m->rows = reallocate(m->rows, m->rows_bytes, 1);
    }
    memcpy(m->rows + (size_t)m->n_rows * m->P, clock_of(m, rank), row);
    return actor->snapshot = m->n_rows++;
}

static void merge(tick *restrict clock, const tick *restrict row, unsigned P)
{
    for (unsigned q = 0; q < P; q++)
        clock[q] = clock[q] > row[q] ? clock[q] : row[q];
}

static void learn(struct model *m, unsigned rank, const struct message *message)
{
    if (!model_is_ordered(m))
        return;
    tick *clock = clock_of(m, rank);
    merge(clock, m->rows + (size_t)message->known * m->P, m->P);
    if (clock[message->sender] < message->sent)
        clock[message->sender] = message->sent;
    m->actors[rank].snapshot = NO_ROW;
}

/* True if what q did after `puts` of its puts happens before rank's next step. */
static bool knows(const struct model *m, unsigned rank, unsigned q, tick puts)
{
    return q == rank || clock_of(m, rank)[q] > puts;
}

/* True if all that q put from a buffer in the call before this one with the same half is known to
 * rank to be consumed. */
static bool knows_sources_free(const struct model *m, unsigned rank, unsigned q, enum buffer buffer)
{
    const struct sources *sources = buffer == BUF_ARRIVED ? &m->from_arrived : &m->from_scratch;

    for (unsigned i = sources->first[q]; i < sources->first[q + 1]; i++)
        if (!knows(m, rank, sources->all[i].peer, sources->all[i].waited_tick))
            return false;
    return true;
}

/* The number of ranks on p's node, if they may look at each other's slots. 0: they may not. */
static unsigned neighbours(const struct model *m, unsigned p)
{
    const struct nodes *nodes = m->schedule->shape.nodes;

    if (nodes == NULL || !(m->schedule->properties & SHARES))
        return 0;
    return ranks_on(nodes, node_of(nodes, p));
}

static unsigned neighbour(const struct model *m, unsigned p, unsigned local)
{
    const struct nodes *nodes = m->schedule->shape.nodes;

    return rank_on(nodes, node_of(nodes, p), local);
}

/* Checks what neighbours looked at, in the window of any of them. */
static bool check_seen(struct model *m, unsigned rank, const struct step *s, unsigned earlier)
{
    unsigned n = neighbours(m, s->peer);

    for (unsigned i = 0; i < n; i++) {
        unsigned near = neighbour(m, s->peer, i);
        if (near != s->peer && !knows(m, rank, near, m->actors[near].consumed[earlier]))
            return model_fault(m, rank,
                               "slot %u of rank %u is used again before rank %u has looked at it",
                               s->slot, s->peer, near);
    }
    return true;
}

/* The slots and bulk area that a put writes were last used `halves` calls ago, and all of that has
 * to be consumed: where messages of another call lie in the bulk area depends on that call. */
static bool check_window_free(struct model *m, unsigned rank, const struct step *s)
{
    struct actor *actor = &m->actors[rank];
    unsigned halves = m->schedule->halves, earlier = m->call - halves;

    if (m->call < halves || actor->window_free == s->peer + 1)
        return true;
    if (!knows(m, rank, s->peer, m->actors[s->peer].consumed[earlier]) ||
        !knows_sources_free(m, rank, s->peer, BUF_ARRIVED))
        return model_fault(m, rank, "slot %u of rank %u is used again before it is consumed",
                           s->slot, s->peer);
    if (!check_seen(m, rank, s, earlier))
        return false;
    actor->window_free = s->peer + 1;
    return true;
}

/* The scratch that a rank writes was last used `halves` calls ago, and puts from it have to be
 * consumed. */
static bool check_scratch_free(struct model *m, unsigned rank)
{
    m->actors[rank].scratch_written = true;
    if (m->call < m->schedule->halves)
        return true;
    return knows_sources_free(m, rank, rank, BUF_SCRATCH) ||
           model_fault(m, rank, "scratch is used again before what was put from it is consumed");
}

/* ------------------------------------------------------------------ steps --------------------- */

static void set_ready(struct model *m, unsigned rank)
{
    m->ready[(m->first_ready + m->n_ready++) % m->P] = rank;
}

/* Takes the latest, while its memory is in the cache; or the earliest, so that ranks go on side by
 * side, and the parts of their programs that they are in need not be made often. */
static unsigned take_ready(struct model *m)
{
    unsigned earliest = m->first_ready;

    m->n_ready--;
    if (m->schedule->written)
        return m->ready[(earliest + m->n_ready) % m->P];
    m->first_ready = (earliest + 1) % m->P;
    return m->ready[earliest];
}

/* The rank waits for a message, its own or a neighbour's. */
static bool block(struct model *m, unsigned rank, unsigned receiver, const struct step *s)
{
    struct actor *actor = &m->actors[rank];

    actor->blocked = true;
    actor->for_peer = s->peer;
    actor->in_rank = receiver;
    actor->in_slot = s->slot;
    return true;
}

/* Wakes the ranks that were blocked for the message. */
static void wake(struct model *m, unsigned rank, unsigned receiver, unsigned slot)
{
    struct actor *actor = &m->actors[rank];

    if (!actor->blocked || actor->in_slot != slot || actor->in_rank != receiver)
        return;
    actor->blocked = false;
    set_ready(m, rank);
}

static void wake_all(struct model *m, unsigned receiver, unsigned slot)
{
    unsigned n = neighbours(m, receiver);

    wake(m, receiver, receiver, slot);
    for (unsigned i = 0; i < n; i++)
        wake(m, neighbour(m, receiver, i), receiver, slot);
}

static bool put(struct model *m, unsigned rank, const struct step *s)
{
    struct actor *actor = &m->actors[rank];

    if (s->peer >= m->P || s->peer == rank)
        return model_fault(m, rank, "puts to rank %u", s->peer);
    if (s->slot >= m->schedule->footprint.slots)
        return model_fault(m, rank, "puts to slot %u, beyond the footprint", s->slot);
    struct message *message = model_message(m, m->call, s->peer, s->slot);
    if (message->put)
        return model_fault(m, rank, "puts to slot %u of rank %u, as rank %u did", s->slot, s->peer,
                           message->sender);
    if (has_no_message(&m->schedule->shape, s->count))
        return model_fault(m, rank, "puts a message of no elements");
    if (!check_window_free(m, rank, s))
        return false;
    *message = (struct message){
        .put = true,
        .sender = rank,
        .count = (unsigned)s->count,
        .known = snapshot(m, rank),
        .sent = ++actor->puts,
    };
    if (model_is_ordered(m))
        clock_of(m, rank)[rank] = actor->puts;
    if (s->a.buffer == BUF_ARRIVED)
        actor->consumed[m->call] = actor->puts;
    model_note_message(&actor->used, 0, s->count);
    model_note_message(&m->actors[s->peer].used, s->slot + 1, s->count);
    if (m->call == 0 && s->count > 0 && m->traced && !model_put_data(m, rank, s, message))
        return false;
    wake_all(m, s->peer, s->slot);
    model_note_reads(m, rank, s);
    return true;
}

/* True if the message is what a wait or look for it says. */
static bool check_message(struct model *m, unsigned rank, const struct step *s,
                          const struct message *message)
{
    if (message->sender != s->peer)
        return model_fault(m, rank, "waits for rank %u in slot %u, where rank %u puts", s->peer,
                           s->slot, message->sender);
    if (message->count != s->count)
        return model_fault(m, rank, "waits for %zu elements in slot %u, where %u are put", s->count,
                           s->slot, message->count);
    return true;
}

static void note_look(struct model *m, unsigned rank, const struct step *s)
{
    struct actor *actor = &m->actors[rank];
    struct looked *looked = model_looked(m, rank);
    bool again = false, before = false;

    for (unsigned i = 0; i < actor->looks; i++) {
        again |= looked[i].at == s->at && looked[i].slot == s->slot;
        before |= looked[i].at == s->at;
    }
    actor->neighbours += !before;
    if (!again && actor->looks < model_looks_most(m))
        looked[actor->looks++] = (struct looked){s->at, s->slot};
}

static bool look(struct model *m, unsigned rank, const struct step *s)
{
    struct actor *actor = &m->actors[rank];
    const struct nodes *nodes = m->schedule->shape.nodes;

    if (!(m->schedule->properties & SHARES) || !(m->schedule->properties & SYNCHRONISES))
        return model_fault(m, rank, "looks at a slot of rank %u without a promise of that", s->at);
    if (nodes == NULL || !nodes->shared || s->at >= m->P || s->at == rank ||
        node_of(nodes, s->at) != node_of(nodes, rank))
        return model_fault(m, rank, "looks at a slot of rank %u, which is no neighbour", s->at);
    if (s->slot >= m->schedule->footprint.slots)
        return model_fault(m, rank, "looks at slot %u, beyond the footprint", s->slot);
    struct message *message = model_message(m, m->call, s->at, s->slot);
    if (!message->put)
        return block(m, rank, s->at, s);
    if (!check_message(m, rank, s, message))
        return false;
    note_look(m, rank, s);
    message->looked = true;
    actor->consumed[m->call] = actor->puts;
    learn(m, rank, message);
    m->edges++;
    return true;
}

static bool wait(struct model *m, unsigned rank, const struct step *s)
{
    struct actor *actor = &m->actors[rank];

    if (s->slot >= m->schedule->footprint.slots)
        return model_fault(m, rank, "waits for slot %u, beyond the footprint", s->slot);
    struct message *message = model_message(m, m->call, rank, s->slot);
    if (!message->put)
        return block(m, rank, rank, s);
    if (message->waited)
        return model_fault(m, rank, "waits for slot %u twice", s->slot);
    if (!check_message(m, rank, s, message))
        return false;
    message->waited = true;
    message->shared_wait = s->shared_wait;
    message->waited_tick = message->read = actor->consumed[m->call] = actor->puts;
    learn(m, rank, message);
    m->edges++;
    return m->placed_as == PLACED_NONE || !m->traced || model_place(m, rank, s->slot, message);
}

static bool reads_message(const struct step *s)
{
    return s->a.buffer == BUF_ARRIVED || s->b.buffer == BUF_ARRIVED ||
           s->a.buffer == BUF_NEIGHBOUR || s->b.buffer == BUF_NEIGHBOUR;
}

static bool local(struct model *m, unsigned rank, const struct step *s)
{
    struct actor *actor = &m->actors[rank];

    if (reads_message(s))
        actor->consumed[m->call] = actor->puts;
    if (s->dst.buffer == BUF_SCRATCH && !actor->scratch_written && !check_scratch_free(m, rank))
        return false;
    model_note_reads(m, rank, s);
    return m->call > 0 || !m->traced || model_local_step(m, rank, s);
}

/* All calls are checked for order, but only the first for data: for the others it is enough to look
 * at puts, waits, the first write to scratch, and the first of successive reads of messages. */
static void note_if_vital(struct model *m, unsigned rank, const struct step *s, bool scratch_before)
{
    struct actor *actor = &m->actors[rank];
    const struct step *steps = m->part->steps;
    bool control = s->kind == STEP_PUT || s->kind == STEP_WAIT || s->kind == STEP_LOOK;
    bool reads = !control && reads_message(s);
    const struct step *latest = actor->n_vital > 0 ? &steps[actor->vital[actor->n_vital - 1]] : s;

    if (control || scratch_before != actor->scratch_written || (reads && latest->kind == STEP_PUT))
        actor->vital[actor->n_vital++] = (unsigned)(s - steps);
}

static bool step_once(struct model *m, unsigned rank, const struct step *s)
{
    struct actor *actor = &m->actors[rank];
    bool scratch_before = actor->scratch_written;
    bool right = s->kind == STEP_PUT    ? put(m, rank, s)
                 : s->kind == STEP_WAIT ? wait(m, rank, s)
                 : s->kind == STEP_LOOK ? look(m, rank, s)
                                        : local(m, rank, s);

    if (right && !actor->blocked) {
        m->steps++;
        if (m->call == 0 && m->calls > 1)
            note_if_vital(m, rank, s, scratch_before);
    }
    return right;
}

static bool step(struct model *m, unsigned rank)
{
    const struct step *s = &m->part->steps[m->actors[rank].next];
    bool right = true;

    if (s->more == 0)
        return step_once(m, rank, s);
    for (unsigned k = 0; k <= s->more && right; k++) {
        struct step one = ncoll__step_of(s, k);
        right = step_once(m, rank, &one);
    }
    return right;
}

/* Until the end of the part or a message that has not come. */
static bool advance_part(struct model *m, unsigned rank)
{
    struct actor *actor = &m->actors[rank];
    unsigned count = m->call == 0 ? m->part->count : actor->n_vital;

    for (; actor->next_vital < count; actor->next_vital++) {
        actor->next = m->call == 0 ? actor->next_vital : actor->vital[actor->next_vital];
        if (!step(m, rank))
            return false;
        if (actor->blocked)
            return true;
    }
    return true;
}

/* Until the end of the call or a message that has not come. */
static bool advance(struct model *m, unsigned rank)
{
    struct actor *actor = &m->actors[rank];

    while ((m->part = schedule_part(m->schedule, rank, actor->part, &m->room)) != NULL) {
        if (!advance_part(m, rank))
            return false;
        if (actor->blocked)
            return true;
        actor->part++;
        actor->next_vital = 0;
    }
    return true;
}

/* ------------------------------------------------------------------ calls --------------------- */

static bool check_all_ended(struct model *m)
{
    for (unsigned rank = 0; rank < m->P; rank++) {
        const struct actor *actor = &m->actors[rank];
        if (actor->blocked)
            return model_fault(m, rank, "deadlock: waits for slot %u from rank %u", actor->in_slot,
                               actor->for_peer);
    }
    for (unsigned rank = 0; rank < m->P; rank++)
        for (unsigned slot = 0; slot < m->schedule->footprint.slots; slot++) {
            const struct message *message = model_message(m, m->call, rank, slot);
            if (message->put && !message->waited)
                return model_fault(m, rank, "nothing waits for slot %u, where rank %u puts", slot,
                                   message->sender);
            if (message->shared_wait != message->looked)
                return model_fault(m, rank, "neighbours %s at slot %u, which its wait %s",
                                   message->looked ? "look" : "do not look", slot,
                                   message->looked ? "does not say" : "says");
        }
    return true;
}

/* A rank has entered when it has issued a put; the end of the call has to come after that. */
static bool check_synchronises(struct model *m)
{
    for (unsigned rank = 0; rank < m->P && model_is_ordered(m); rank++)
        for (unsigned q = 0; q < m->P; q++)
            if (!knows(m, rank, q, 0))
                return model_fault(m, rank, "the call may end before rank %u has entered", q);
    return true;
}

/* Lists what was put from a buffer in an earlier call, which has ended: for each rank, to whom, and
 * when that was waited for. Asked for by every put, so it does not lie among the messages. */
static void list_sources(struct model *m, unsigned call, enum buffer buffer, struct sources *out)
{
    unsigned n = 0;

    for (unsigned q = 0; q < m->P; q++) {
        const struct actor *actor = &m->actors[q];
        out->first[q] = n;
        for (unsigned i = 0; i < actor->n_vital; i++) {
            const struct step *s = &m->schedule->ranks[q].steps[actor->vital[i]];
            if (s->kind == STEP_PUT && s->a.buffer == buffer && s->count > 0)
                out->all[n++] =
                    (struct source){s->peer, model_message(m, call, s->peer, s->slot)->waited_tick};
        }
    }
    out->first[m->P] = n;
}

static bool run_call(struct model *m)
{
    if (m->call >= m->schedule->halves) {
        list_sources(m, m->call - m->schedule->halves, BUF_ARRIVED, &m->from_arrived);
        list_sources(m, m->call - m->schedule->halves, BUF_SCRATCH, &m->from_scratch);
    }
    memset(m->messages[m->call], 0, m->n_messages * sizeof *m->messages[0]);
    m->first_ready = m->n_ready = 0;
    for (unsigned rank = m->P; rank-- > 0;) {
        m->actors[rank].part = m->actors[rank].next = m->actors[rank].next_vital = 0;
        m->actors[rank].looks = m->actors[rank].neighbours = 0;
        m->actors[rank].scratch_written = false;
        m->actors[rank].consumed[m->call] = 0;
        m->actors[rank].window_free = 0;
        set_ready(m, rank);
    }
    while (m->n_ready > 0)
        if (!advance(m, take_ready(m)))
            return false;
    return check_all_ended(m) &&
           (m->call > 0 || (check_synchronises(m) && model_check_acknowledgements(m) &&
                            (!m->traced || model_check_results(m))));
}

/* ------------------------------------------------------------------ runs ---------------------- */

/* All calls of a rank have to fit its clock. */
static bool check_ticks(struct model *m)
{
    for (unsigned rank = 0; rank < m->P && model_is_ordered(m); rank++) {
        unsigned puts = 0;
        for (unsigned i = 0; i < m->schedule->ranks[rank].count; i++)
            puts += m->schedule->ranks[rank].steps[i].kind == STEP_PUT;
        if (puts * CALLS > (tick)-1)
            return model_fault(m, rank, "%u puts are more than the model can count", puts);
    }
    return true;
}

bool model_run(struct model *m, const struct schedule *schedule)
{
    size_t first = 0;

    do {
        model_prepare(m, schedule, first);
        if (!check_ticks(m))
            return false;
        for (m->call = 0; m->call < m->calls; m->call++)
            if (!run_call(m))
                return false;
        if (m->placed_as == PLACED_NONE && !model_check_footprint(m))
            return false;
        first = m->portion.end;
    } while (first < m->in_longest);
    return true;
}
