/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/mixed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/verify/draw.h"
#include "test/verify/memory.h"
#include "test/verify/mixed_draw.h"

static bool fault(struct mixed *m, unsigned rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fault(struct mixed *m, unsigned rank, const char *format, ...)
{
    int n = snprintf(m->fault, sizeof m->fault, "rank %u of %u: ", rank, m->P);
    va_list args;

    va_start(args, format);
    vsnprintf(m->fault + n, sizeof m->fault - (size_t)n, format, args);
    va_end(args);
    return false;
}

static bool planted(const struct mixed *m, enum mischief mischief)
{
    return m->mischief == mischief;
}

static bool synchronises(const struct mixed *m, uint64_t e)
{
    bool in_part = planted(m, MISCHIEF_part_promised_to_synchronise) &&
                   is_in_parts(&m->calls[e].shape) &&
                   m->calls[e].algorithm->properties & SYNCHRONISES;

    return m->calls[e].properties & SYNCHRONISES || in_part ||
           planted(m, MISCHIEF_synchronises_promised_wrongly);
}

/* ------------------------------------------------------------------ messages ------------------ */

static void send(struct mixed *m, unsigned to, struct flight flight)
{
    struct inbox *inbox = &m->inboxes[to];

    if (inbox->count == inbox->capacity) {
        inbox->capacity = 2 * inbox->capacity + 16;
        inbox->flights = reallocate(inbox->flights, inbox->capacity, sizeof *inbox->flights);
    }
    inbox->flights[inbox->count++] = flight;
}

/* Returns what the receiver lets a message of call e do. */
static enum placeable placeable(const struct mixed *m, unsigned to, uint64_t e, unsigned slot)
{
    return m->of[e].placeable[(size_t)to * m->calls[e].footprint.slots + slot];
}

static bool in_place(const struct mixed *m, unsigned rank, uint64_t e)
{
    return m->of[e].in_place >> rank & 1;
}

/* From the start of the first of its runs to the end of all. */
static bool is_under_way(const struct mixed *m, unsigned rank, const struct long_call *c)
{
    const struct member *member = &m->members[rank];

    for (unsigned e = c->first; e < c->first + c->epochs; e++)
        if (!member->calls[e].finished)
            return member->started >= c->first;
    return false;
}

static bool place_in_out(struct mixed *m, unsigned to, const struct flight *flight)
{
    const struct long_call *c = &m->of[flight->out_of];

    m->placed++;
    if (c->first != m->of[flight->number].first)
        return fault(m, to, "a message of call %u lands in the OUT of call %u",
                     (unsigned)flight->number, c->first);
    if (!is_under_way(m, to, c))
        return fault(m, to, "a message lands in the OUT of call %u, which is not under way",
                     c->first);
    if (in_place(m, to, c->first) &&
        placeable(m, to, c->first, flight->slot) != PLACEABLE_IN_PLACE_TOO)
        return fault(m, to, "a message of call %u lands where IN may be read",
                     (unsigned)flight->number);
    return true;
}

/* Up to which call all neighbours of a rank have finished; it is one of them. */
static uint64_t finished_by_neighbours(const struct mixed *m, unsigned rank)
{
    const struct nodes *nodes = &m->placement.nodes;
    uint64_t least = UINT64_MAX;

    for (unsigned l = 0; l < ranks_on(nodes, node_of(nodes, rank)); l++) {
        unsigned near = rank_on(nodes, node_of(nodes, rank), l);
        uint64_t finished = m->members[near].credits.finished;
        least = finished < least ? finished : least;
    }
    return least;
}

static struct stamp *stamp_of(const struct mixed *m, unsigned rank, uint64_t e, unsigned slot)
{
    return &m->members[rank].stamps[e % CREDIT_SETS * m->slots + slot];
}

static bool arrive(struct mixed *m, unsigned to, const struct flight *flight)
{
    struct member *member = &m->members[to];
    uint64_t e = flight->number;

    m->members[flight->from].calls[e].sending--;
    if (e > CREDIT_SETS && !member->calls[e - CREDIT_SETS].finished)
        return fault(m, to, "a put of call %u comes before call %u has finished", (unsigned)e,
                     (unsigned)(e - CREDIT_SETS));
    if (e > CREDIT_SETS && m->calls[e - CREDIT_SETS].properties & SHARES &&
        finished_by_neighbours(m, to) < e - CREDIT_SETS)
        return fault(m, to, "a put of call %u comes before its neighbours have finished call %u",
                     (unsigned)e, (unsigned)(e - CREDIT_SETS));
    *stamp_of(m, to, e, flight->slot) = (struct stamp){e, flight->peer_read};
    return flight->out_of == 0 || place_in_out(m, to, flight);
}

/* Any of the messages to a rank arrives. False if there is none. */
static bool deliver(struct mixed *m, unsigned to)
{
    struct inbox *inbox = &m->inboxes[to];

    if (inbox->count == 0)
        return false;
    unsigned i = (unsigned)(draw(&m->seed) % inbox->count);
    struct flight flight = inbox->flights[i];
    inbox->flights[i] = inbox->flights[--inbox->count];
    switch (flight.kind) {
    case FLIGHT_PUT:
        arrive(m, to, &flight);
        return true;
    case FLIGHT_CREDIT:
        if (planted(m, MISCHIEF_credit_taken_for_another_ranks))
            flight.from = (flight.from + 1) % m->P;
        ncoll__credit_on_credit(&m->members[to].credits, flight.from, flight.number);
        return true;
    default:
        m->members[to].boxes[flight.from][m->of[flight.number].number % ADVERTISEMENTS] =
            (unsigned)flight.number;
        return true;
    }
}

/* ------------------------------------------------------------------ advertisements ------------ */

/* True if the rank would let the message be placed, whoever has put it. */
static bool is_listed(const struct mixed *m, unsigned rank, unsigned e, unsigned slot)
{
    enum placeable it = placeable(m, rank, e, slot);
    bool apart =
        !in_place(m, rank, e) || planted(m, MISCHIEF_advertisement_in_place_to_where_in_is_read);

    return it == PLACEABLE_IN_PLACE_TOO || (it == PLACEABLE_APART && apart);
}

/* Advertises, when the first run of a call starts, to those of whom some message may be placed. */
static void advertise(struct mixed *m, unsigned rank, unsigned e)
{
    const struct program *program = &m->calls[e].ranks[rank];
    unsigned advertised = 0;

    if (e > m->n_calls || m->of[e].first != e || !(m->of[e].advertises >> rank & 1))
        return;
    for (unsigned i = 0; i < program->count; i++) {
        const struct step *s = &program->steps[i];
        if (s->kind != STEP_WAIT || advertised >> s->peer & 1 || !is_listed(m, rank, e, s->slot))
            continue;
        advertised |= 1u << s->peer;
        send(m, s->peer, (struct flight){.kind = FLIGHT_ADVERTISEMENT, .from = rank, .number = e});
        m->advertisements++;
    }
}

/* The call in whose OUT a put of run e lands, by what the sender finds in the box; 0: in none. */
static unsigned follow(const struct mixed *m, unsigned rank, const struct step *s, unsigned e)
{
    unsigned first = m->members[rank].boxes[s->peer][m->of[e].number % ADVERTISEMENTS];
    unsigned more = planted(m, MISCHIEF_advertisement_for_too_many_epochs) ? ADVERTISEMENTS : 0;
    bool any = planted(m, MISCHIEF_advertisement_of_another_call_followed);

    if (first == 0 || (!any && (e < first || e >= first + m->of[first].epochs + more)))
        return 0;
    bool listed =
        s->slot < m->calls[first].footprint.slots && is_listed(m, s->peer, first, s->slot);
    return listed && s->count > 0 ? first : 0;
}

/* ------------------------------------------------------------------ calls --------------------- */

/* Notes what the rank sees in the windows of its neighbours. */
static void ask_neighbours(struct mixed *m, unsigned rank)
{
    bool blindly = planted(m, MISCHIEF_credit_without_asking_neighbours);

    if (m->members[rank].credits.unseen != 0)
        ncoll__credit_on_seen(&m->members[rank].credits,
                              blindly ? UINT64_MAX : finished_by_neighbours(m, rank));
}

/* True if call e cannot start yet, for want of a credit that its neighbours hold up. */
static bool waits_for_neighbours(struct mixed *m, unsigned rank, uint64_t e)
{
    const struct program *program = &m->calls[e].ranks[rank];
    bool waits = false;

    ask_neighbours(m, rank);
    for (unsigned i = 0; i < program->count; i++)
        waits |= program->steps[i].kind == STEP_WAIT &&
                 ncoll__credit_waits_for_neighbours(&m->members[rank].credits,
                                                    program->steps[i].peer, e);
    return waits;
}

static void send_credit(struct mixed *m, unsigned rank, unsigned q, uint64_t due)
{
    ncoll__credit_on_sent(&m->members[rank].credits, q, due);
    if (planted(m, MISCHIEF_credit_for_one_call_too_many))
        due += CREDIT_RUNS;
    send(m, q, (struct flight){.kind = FLIGHT_CREDIT, .from = rank, .number = due});
    m->credits++;
}

/* Before the first step of call e: of the set that it uses. False: it has to wait. */
static bool settle(struct mixed *m, unsigned rank, uint64_t e)
{
    struct member *member = &m->members[rank];
    uint16_t *by = &member->peer_read_from[e % CREDIT_SETS],
             *to = &member->peer_read_by[e % CREDIT_SETS];

    ask_neighbours(m, rank);
    for (unsigned q = 0; q < m->P; q++) {
        if (*by >> q & 1 && ncoll__credit_waits_for_neighbours(&member->credits, q, e))
            return false;
        uint64_t due = ncoll__credit_due_at_start(&member->credits, q, e);
        bool told = planted(m, MISCHIEF_no_credit_to_those_who_were_read) ||
                    planted(m, MISCHIEF_no_credit_is_sent);
        if (*by >> q & 1 && due != 0 && !told)
            send_credit(m, rank, q, due);
    }
    *by = 0;
    for (unsigned q = 0; q < m->P; q++) {
        if (!(*to >> q & 1))
            continue;
        if (!ncoll__credit_may_put(&member->credits, q, e) &&
            !planted(m, MISCHIEF_scratch_written_without_asking))
            return false;
        if (!m->members[q].calls[e - CREDIT_SETS].finished)
            fault(m, rank, "call %u writes scratch that rank %u reads since call %u", (unsigned)e,
                  q, (unsigned)(e - CREDIT_SETS));
    }
    *to = 0;
    return member->calls[e].settled = true;
}

/* To each rank that puts to this one in call e. */
static void send_credits(struct mixed *m, unsigned rank, uint64_t e, bool at_start)
{
    const struct program *program = &m->calls[e].ranks[rank];
    struct credits *credits = &m->members[rank].credits;

    for (unsigned i = 0; i < program->count; i++) {
        unsigned q = program->steps[i].peer;
        if (program->steps[i].kind != STEP_WAIT || planted(m, MISCHIEF_no_credit_is_sent) ||
            (at_start && planted(m, MISCHIEF_no_credit_at_the_start)))
            continue;
        ask_neighbours(m, rank);
        uint64_t due = at_start ? ncoll__credit_due_at_start(credits, q, e)
                                : ncoll__credit_due_at_end(credits, q, e);
        if (due != 0)
            send_credit(m, rank, q, due);
    }
}

/* The run of the part before on the same segment, if this one follows it; else 0. */
static uint64_t part_before(const struct mixed *m, uint64_t e)
{
    const struct long_call *c = &m->of[m->of[e].first];
    bool follows = is_in_parts(&m->calls[e].shape) && m->calls[e].properties & PARTS_FOLLOW;

    return follows && e >= c->first + c->segments ? e - c->segments : 0;
}

/* True if a run may start, by the rule of lib/run/advance.c. */
static bool may_start(const struct mixed *m, unsigned rank, uint64_t e)
{
    const struct credits *credits = &m->members[rank].credits;

    if (planted(m, MISCHIEF_start_without_asking))
        return e <= credits->finished + 2 * CREDIT_SETS;
    return ncoll__credit_may_start(credits, e) &&
           (part_before(m, e) <= credits->finished ||
            planted(m, MISCHIEF_part_does_not_wait_for_the_one_before));
}

static bool start(struct mixed *m, unsigned rank)
{
    struct member *member = &m->members[rank];
    uint64_t e = member->started + 1;

    if (e > m->n_calls || !may_start(m, rank, e) || waits_for_neighbours(m, rank, e))
        return false;
    if (part_before(m, e) > 0 && !member->calls[part_before(m, e)].finished)
        fault(m, rank, "call %u starts before call %u, the part before it, has ended", (unsigned)e,
              (unsigned)part_before(m, e));
    member->started = e;
    ncoll__credit_on_start(&member->credits, e, synchronises(m, e));
    if (m->calls[e].properties & SHARES && !planted(m, MISCHIEF_shared_call_not_noted))
        ncoll__credit_on_start_shared(&member->credits, e);
    send_credits(m, rank, e, true);
    advertise(m, rank, (unsigned)e + planted(m, MISCHIEF_advertisement_before_its_call));
    if (e > CREDIT_SETS &&
        (!member->calls[e - CREDIT_SETS].finished || member->calls[e - CREDIT_SETS].sending > 0))
        fault(m, rank, "call %u starts before call %u needs its set no more", (unsigned)e,
              (unsigned)(e - CREDIT_SETS));
    return true;
}

static void finish(struct mixed *m, unsigned rank, uint64_t e)
{
    m->members[rank].calls[e].finished = true;
    ncoll__credit_on_finish(&m->members[rank].credits, e, synchronises(m, e));
    send_credits(m, rank, e, false);
}

static bool may_go_on(const struct mixed *m, unsigned rank, uint64_t e, const struct step *s)
{
    const struct member *member = &m->members[rank];

    if (s->kind == STEP_WAIT)
        return stamp_of(m, rank, e, s->slot)->number == e;
    if (s->kind == STEP_LOOK)
        return stamp_of(m, s->at, e, s->slot)->number == e;
    return s->kind != STEP_PUT || planted(m, MISCHIEF_put_without_asking) ||
           ncoll__credit_may_put(&member->credits, s->peer, e);
}

/* One step of a call, or its end. False if it has to wait. */
static bool advance(struct mixed *m, unsigned rank, uint64_t e)
{
    struct member *member = &m->members[rank];
    const struct program *program = &m->calls[e].ranks[rank];
    const struct step *s = &program->steps[member->calls[e].next];

    if (member->calls[e].finished)
        return false;
    if (!member->calls[e].settled) {
        uint64_t credits = m->credits;
        bool settled = settle(m, rank, e);
        if (m->credits > credits) /* by which others may go on, whatever comes of this one */
            return true;
        if (!settled)
            return false;
    }
    if (member->calls[e].next == program->count) {
        bool reads_late =
            planted(m, MISCHIEF_credit_before_its_puts_are_read) ||
            (planted(m, MISCHIEF_synchronising_call_leaves_puts_unread) && synchronises(m, e));
        if (member->calls[e].sending > 0 && !reads_late)
            return false;
        finish(m, rank, e);
        return true;
    }
    if (!may_go_on(m, rank, e, s))
        return false;
    if (s->kind == STEP_PUT) {
        bool peer_read = m->peer_reads && s->count > 0 && draw(&m->seed) % 2 == 0;
        if (peer_read)
            member->peer_read_by[e % CREDIT_SETS] |= (uint16_t)(1u << s->peer);
        m->peer_read += peer_read;
        send(m, s->peer,
             (struct flight){.from = rank,
                             .slot = s->slot,
                             .out_of = peer_read ? 0 : follow(m, rank, s, (unsigned)e),
                             .peer_read = peer_read,
                             .number = e});
        member->calls[e].sending++;
        m->puts++;
    }
    if (s->kind == STEP_WAIT && stamp_of(m, rank, e, s->slot)->peer_read)
        member->peer_read_from[e % CREDIT_SETS] |= (uint16_t)(1u << s->peer);
    member->calls[e].next++;
    return true;
}

/* ------------------------------------------------------------------ interleaving -------------- */

/* One thing that a rank can do: any of its calls, or the next one. False if there is nothing. */
static bool act(struct mixed *m, unsigned rank)
{
    struct member *member = &m->members[rank];
    uint64_t first = member->credits.finished + 1, n = member->started + 2 - first;
    uint64_t from = draw(&m->seed) % n;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t e = first + (from + i) % n;
        if (e > member->started ? start(m, rank) : advance(m, rank, e))
            return true;
    }
    return false;
}

/* Half of the runs pick any that can go on; in the others one goes on for as long as it can, before
 * those that come after it, so that some get as far ahead of others as they may. */
static bool go_on(struct mixed *m)
{
    unsigned n = 2 * m->P, first = m->orderly ? 0 : (unsigned)(draw(&m->seed) % n);

    if (m->orderly && draw(&m->seed) % 32 == 0)
        mixed_shuffle(m);
    for (unsigned i = 0; i < n; i++) {
        unsigned actor = m->actors[(first + i) % n];
        if (actor < m->P ? act(m, actor) : deliver(m, actor - m->P))
            return true;
    }
    return false;
}

/* True if all calls have finished everywhere; else the first that has not. */
static bool all_finished(struct mixed *m)
{
    for (uint64_t e = 1; e <= m->n_calls; e++)
        for (unsigned rank = 0; rank < m->P; rank++)
            if (!m->members[rank].calls[e].finished)
                return fault(m, rank, "deadlock in call %u (%s), step %u", (unsigned)e,
                             m->calls[e].algorithm->name, m->members[rank].calls[e].next);
    return true;
}

bool mixed_run(struct mixed *m, uint64_t seed, const struct algorithm *only, enum mischief mischief)
{
    m->mischief = mischief;
    m->seed = seed;
    m->fault[0] = '\0';
    mixed_draw(m, only);
    while (m->fault[0] == '\0' && go_on(m))
        continue;
    m->runs++;
    m->made += m->n_calls;
    return m->fault[0] == '\0' && all_finished(m);
}

bool mixed_runs(unsigned runs, uint64_t seed, const struct algorithm *only)
{
    struct mixed *m = allocate(1, sizeof *m);
    unsigned wrong = 0;

    for (unsigned i = 0; i < runs; i++)
        if (!mixed_run(m, seed + i, only, NO_MISCHIEF)) {
            wrong++;
            if (wrong <= 20)
                printf("WRONG seed %llu: %s\n", (unsigned long long)(seed + i), m->fault);
        }
    printf("seeds %llu..%llu: %u mixed sequences, %u wrong; %llu calls, %llu puts, %llu credits, "
           "%llu advertisements, %llu messages placed in OUT, %llu peer reads\n",
           (unsigned long long)seed, (unsigned long long)(seed + runs - 1), runs, wrong,
           (unsigned long long)m->made, (unsigned long long)m->puts, (unsigned long long)m->credits,
           (unsigned long long)m->advertisements, (unsigned long long)m->placed,
           (unsigned long long)m->peer_read);
    mixed_free(m);
    free(m);
    return wrong == 0;
}
