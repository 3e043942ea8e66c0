/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/lanes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/verify/draw.h"
#include "test/verify/memory.h"

static bool fault(struct lanes *l, unsigned rank, unsigned e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool fault(struct lanes *l, unsigned rank, unsigned e, const char *format, ...)
{
    int n = snprintf(l->fault, sizeof l->fault, "%u lanes, rank %u, run %u: ", l->S, rank, e);
    va_list args;

    va_start(args, format);
    vsnprintf(l->fault + n, sizeof l->fault - (size_t)n, format, args);
    va_end(args);
    return false;
}

static bool planted(const struct lanes *l, enum lane_mischief mischief)
{
    return l->mischief == mischief;
}

/* ------------------------------------------------------------------ sets ---------------------- */

static unsigned set_of(const struct lanes *l, unsigned e)
{
    if (planted(l, LANE_lanes_share_a_set))
        return e % CREDIT_SETS & ~1u;
    if (planted(l, LANE_sets_for_one_lane_too_few))
        return e % (CREDIT_SETS - 1);
    if (planted(l, LANE_sets_as_many_as_fewer_lanes_ask_for)) /* 4 lanes do not show it */
        return e % (2 * l->S);
    return e % CREDIT_SETS;
}

static unsigned scratch_set_of(const struct lanes *l, unsigned e)
{
    return planted(l, LANE_scratch_shared_by_two_lanes) ? e % (CREDIT_SETS / 2) : set_of(l, e);
}

/* The latest run before e with the same set; 0: none. */
static unsigned before(const struct lanes *l, unsigned e,
                       unsigned (*set)(const struct lanes *l, unsigned e))
{
    unsigned earlier = e - 1;

    while (earlier > 0 && set(l, earlier) != set(l, e))
        earlier--;
    return earlier;
}

/* Writes the sets of all runs; one more is for what is planted. */
static void write_sets(struct lanes *l)
{
    for (unsigned e = 1; e <= l->N + 1; e++)
        l->sets[e] = (struct lane_sets){
            .set = (run_number)set_of(l, e),
            .before = (run_number)before(l, e, set_of),
            .scratch_before = (run_number)before(l, e, scratch_set_of),
        };
}

/* ------------------------------------------------------------------ what is known ------------- */

static struct knowledge *row_of(const struct lanes *l, unsigned row)
{
    return (struct knowledge *)(l->rows + row * knowledge_bytes(l->P));
}

static unsigned new_row(struct lanes *l)
{
    if (l->n_free_rows > 0)
        return l->free_rows[--l->n_free_rows];
    if (l->n_rows == l->rows_allocated) {
        l->rows_allocated = 2 * l->rows_allocated + 256;
        l->row_users = reallocate(l->row_users, l->rows_allocated, sizeof *l->row_users);
        l->free_rows = reallocate(l->free_rows, l->rows_allocated, sizeof *l->free_rows);
    }
    if ((l->n_rows + 1) * knowledge_bytes(l->P) > l->rows_bytes) {
        l->rows_bytes = 2 * l->rows_bytes + 256 * knowledge_bytes(l->P);
        l->rows = reallocate(l->rows, l->rows_bytes, 1);
    }
    return l->n_rows++;
}

static void leave_row(struct lanes *l, unsigned row)
{
    if (--l->row_users[row] == 0)
        l->free_rows[l->n_free_rows++] = row;
}

/* Keeps what is known now, as a row that stays for one more message. */
static unsigned snapshot(struct lanes *l, unsigned rank, unsigned e)
{
    struct lane *lane = lane_of(l, rank, e);

    if (!l->outline->synchronises)
        return NO_ROW;
    if (lane->snapshot == NO_ROW) {
        lane->snapshot = new_row(l);
        l->row_users[lane->snapshot] = 1;
        memcpy(row_of(l, lane->snapshot), known_of(l, rank, e), knowledge_bytes(l->P));
    }
    l->row_users[lane->snapshot]++;
    return lane->snapshot;
}

/* The run knows more, or has ended. */
static void leave_snapshot(struct lanes *l, struct lane *lane)
{
    if (lane->snapshot != NO_ROW)
        leave_row(l, lane->snapshot);
    lane->snapshot = NO_ROW;
}

/* True if all that q put from somewhere in run `earlier` is known to have been consumed. */
static bool knows_passed_on(const struct lanes *l, const struct knowledge *known, unsigned q,
                            enum origin from, unsigned earlier, unsigned *by)
{
    unsigned shift = l->folded ? q : 0;

    for (const struct event *s = lanes_begin(l, q); s < lanes_end(l, q); s++)
        if (s->kind == EVENT_PUT && s->from == from) {
            *by = (s->peer + shift) % l->P;
            if (knowledge_of(known, *by) < earlier)
                return false;
        }
    return true;
}

/* True if all that look at slots of q are known to have ended run `earlier`. */
static bool knows_looked(const struct lanes *l, const struct knowledge *known, unsigned q,
                         unsigned earlier, unsigned *by)
{
    for (unsigned i = l->outline->first_looker[q]; i < l->outline->first_looker[q + 1]; i++) {
        *by = l->outline->lookers[i];
        if (knowledge_of(known, *by) < earlier)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ credits ------------------- */

static void wake(struct lanes *l, unsigned rank)
{
    if (!l->is_ready[rank]) {
        l->is_ready[rank] = true;
        l->ready[l->n_ready++] = rank;
    }
}

static void deliver(struct lanes *l, unsigned i)
{
    struct lane_credit c = l->under_way[i];

    l->under_way[i] = l->under_way[--l->n_under_way];
    ncoll__credit_on_credit(&l->credits[c.to], c.mate, c.number);
    wake(l, c.to);
}

static bool send_credit(struct lanes *l, unsigned rank, const struct event *wait, unsigned e,
                        uint64_t number)
{
    if (l->outline->synchronises)
        return fault(l, rank, e, "owes a credit to rank %u, which should need none", wait->peer);
    ncoll__credit_on_sent(&l->credits[rank], wait->mate, number);
    if (planted(l, LANE_credit_for_lanes_under_way))
        number = l->begun[rank];
    for (uint64_t earlier = 1; earlier <= number; earlier++)
        if (!lane_of(l, rank, (unsigned)earlier)->finished)
            return fault(l, rank, e, "sends a credit for run %u, which has not finished",
                         (unsigned)earlier);
    if (l->n_under_way == l->under_way_allocated) {
        l->under_way_allocated = 2 * l->under_way_allocated + 64;
        l->under_way = reallocate(l->under_way, l->under_way_allocated, sizeof *l->under_way);
    }
    l->under_way[l->n_under_way++] = (struct lane_credit){wait->peer, wait->back, number};
    l->sent++;
    if (l->delivery == CREDITS_AT_ONCE ||
        (l->delivery == CREDITS_AT_RANDOM && draw(&l->seed) % 2 == 0))
        deliver(l, (unsigned)(draw(&l->seed) % l->n_under_way));
    return true;
}

/* To each rank that puts to this one. */
static bool send_credits(struct lanes *l, unsigned rank, unsigned e, bool at_start)
{
    struct credits *credits = &l->credits[rank];

    for (const struct event *s = lanes_begin(l, rank); s < lanes_end(l, rank); s++) {
        if (s->kind != EVENT_WAIT)
            continue;
        uint64_t due = at_start ? ncoll__credit_due_at_start(credits, s->mate, e)
                                : ncoll__credit_due_at_end(credits, s->mate, e);
        if (due != 0 && !send_credit(l, rank, s, e, due))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ steps --------------------- */

static bool may_put(struct lanes *l, unsigned rank, const struct event *s, unsigned e)
{
    return ncoll__credit_may_put(&l->credits[rank], s->mate, e) ||
           planted(l, LANE_put_of_a_lane_without_asking) ||
           planted(l, LANE_lane_more_than_there_are);
}

/* True if rank knows in run e that its put finds the set free: because all ranks were known to have
 * finished with it when e began, or by what came since, or by a credit; that says so of all that
 * the receiver has passed on, too, since its run has finished. */
static bool check_set_free(struct lanes *l, unsigned rank, unsigned e, const struct event *s)
{
    unsigned earlier = l->sets[e].before, by = s->peer;

    if (!l->outline->synchronises)
        return ncoll__credit_of(&l->credits[rank], s->mate)->heard >= earlier ||
               fault(l, rank, e, "puts to rank %u in the set of run %u without its credit", s->peer,
                     earlier);
    const struct knowledge *known = known_of(l, rank, e);
    if (known->floor >= earlier)
        return true;
    return (knowledge_of(known, s->peer) >= earlier &&
            knows_passed_on(l, known, s->peer, FROM_ARRIVED, earlier, &by) &&
            knows_looked(l, known, s->peer, earlier, &by)) ||
           fault(l, rank, e,
                 "puts to rank %u in the set of run %u, which rank %u may not have finished",
                 s->peer, earlier, by);
}

static struct lane_slot *inbox_of(const struct lanes *l, unsigned rank, unsigned e, unsigned number)
{
    size_t receiver = l->folded ? 0 : rank;

    return &l->inbox[(receiver * CREDIT_SETS + l->sets[e].set) * l->outline->waits + number];
}

static bool put(struct lanes *l, unsigned rank, unsigned e, const struct event *s)
{
    unsigned to = e + (planted(l, LANE_message_to_the_next_lane) && e % 2 == 0);
    struct lane_slot *slot = inbox_of(l, s->peer, to, s->number);

    if (!check_set_free(l, rank, e, s))
        return false;
    if (slot->run != 0 && (!slot->waited || slot->looks > 0))
        return fault(l, rank, e, "puts over a message of run %u", slot->run);
    *slot = (struct lane_slot){.run = (run_number)to, .row = snapshot(l, rank, e)};
    wake(l, l->folded ? 0 : s->peer);
    if (l->outline->looking) {
        slot->looks = (uint16_t)l->outline->looks[s - l->outline->events];
        l->row_users[slot->row] += slot->looks;
        for (unsigned i = l->outline->first_looker[s->peer];
             i < l->outline->first_looker[s->peer + 1]; i++)
            wake(l, l->outline->lookers[i]);
    }
    return true;
}

/* Takes what came with a message, for one of the ranks that it is for. */
static void take_row(struct lanes *l, unsigned rank, unsigned e, unsigned row, unsigned by)
{
    knowledge_merge(known_of(l, rank, e), row_of(l, row), l->P, by);
    leave_row(l, row);
    leave_snapshot(l, lane_of(l, rank, e));
}

/* False: it has not come, or is wrong. */
static bool look(struct lanes *l, unsigned rank, unsigned e, const struct event *s)
{
    struct lane_slot *slot = inbox_of(l, s->peer, e, s->number);

    if (slot->run != e)
        return slot->run > e && fault(l, rank, e, "looks at rank %u, where run %u has put since",
                                      s->peer, slot->run);
    if (slot->looks-- == 0)
        return fault(l, rank, e, "looks at rank %u once too often", s->peer);
    l->edges++;
    take_row(l, rank, e, slot->row, 0);
    return true;
}

/* False: it has not come, or is wrong. */
static bool wait(struct lanes *l, unsigned rank, unsigned e, const struct event *s)
{
    struct lane_slot *slot = inbox_of(l, rank, e, s->number);

    if (slot->run != e)
        return false;
    if (slot->waited)
        return fault(l, rank, e, "waits for rank %u, where it has waited", s->peer);
    slot->waited = true;
    l->edges++;
    if (slot->row == NO_ROW)
        return true;
    take_row(l, rank, e, slot->row, l->folded ? s->peer : 0);
    return true;
}

/* Data that an earlier run has put from there has been read when that run has ended; of a schedule
 * that synchronises, when those that it was for have. Which runs have ended here is known when a
 * run begins. */
static bool write_scratch(struct lanes *l, unsigned rank, unsigned e)
{
    unsigned earlier = l->sets[e].scratch_before, by = rank;
    bool is_free = earlier == 0 || earlier + l->begins <= e;

    if (is_free && l->outline->synchronises)
        is_free = knows_passed_on(l, known_of(l, rank, e), rank, FROM_SCRATCH, earlier, &by);
    return is_free ||
           fault(l, rank, e, "writes the scratch of run %u, which rank %u may not have read",
                 earlier, by);
}

/* One step of a run. False: it has to wait, or is wrong. */
static bool step(struct lanes *l, unsigned rank, unsigned e, const struct event *s)
{
    switch (s->kind) {
    case EVENT_PUT:
        return may_put(l, rank, s, e) && put(l, rank, e, s);
    case EVENT_WAIT:
        return wait(l, rank, e, s);
    case EVENT_LOOK:
        return look(l, rank, e, s);
    default:
        return write_scratch(l, rank, e);
    }
}

/* ------------------------------------------------------------------ runs ---------------------- */

static bool begin(struct lanes *l, unsigned rank, unsigned e)
{
    if (e > l->N || e > l->credits[rank].finished + l->begins)
        return false;
    l->begun[rank] = e;
    if (l->outline->synchronises) {
        unsigned top = e > l->begins ? e - l->begins : 0;
        knowledge_begin(known_of(l, rank, e), l->P, rank, *settled_of(l, rank, top),
                        (run_number)top);
    }
    ncoll__credit_on_start(&l->credits[rank], e, l->outline->synchronises);
    send_credits(l, rank, e, true);
    return true;
}

/* Finds what the ends of all runs up to each that has come to its end know together: of every rank
 * that it has entered the run, and so ended the one S before. */
static bool settle(struct lanes *l, unsigned rank, unsigned from, unsigned to)
{
    for (unsigned e = from; e <= to && l->outline->synchronises; e++) {
        const struct knowledge *known = known_of(l, rank, e);
        run_number floor = knowledge_floor(known, l->P);
        if (floor < known->top)
            return fault(l, rank, e, "the run may end before all have entered it");
        *settled_of(l, rank, e) = floor;
    }
    return true;
}

static void finish(struct lanes *l, unsigned rank, unsigned e)
{
    struct credits *credits = &l->credits[rank];
    unsigned from = (unsigned)credits->finished + 1;

    lane_of(l, rank, e)->finished = true;
    leave_snapshot(l, lane_of(l, rank, e));
    ncoll__credit_on_finish(credits, e, l->outline->synchronises);
    if (settle(l, rank, from, (unsigned)credits->finished))
        send_credits(l, rank, e, false);
}

/* Advances the run as far as it can. Returns whether it has ended. */
static bool advance(struct lanes *l, unsigned rank, unsigned e)
{
    struct lane *lane = lane_of(l, rank, e);
    const struct event *steps = lanes_begin(l, rank);
    unsigned count = (unsigned)(lanes_end(l, rank) - steps);

    while (planted(l, LANE_lane_ends_before_its_last_message) && count > 0 &&
           steps[count - 1].kind != EVENT_PUT)
        count--;
    while (lane->next < count && step(l, rank, e, &steps[lane->next]))
        lane->next++;
    if (lane->next < count || l->fault[0] != '\0')
        return false;
    finish(l, rank, e);
    return true;
}

/* Begins what may begin, goes on with what has begun: the oldest run first, or the youngest. */
static void act(struct lanes *l, unsigned rank)
{
    bool moved = true, youngest_first = l->delivery == CREDITS_LAST;

    while (moved && l->fault[0] == '\0') {
        unsigned first = (unsigned)l->credits[rank].finished + 1;
        moved = false;
        while (begin(l, rank, l->begun[rank] + 1))
            moved = true;
        unsigned last = l->begun[rank];
        for (unsigned i = first; i <= last && l->fault[0] == '\0'; i++) {
            unsigned e = youngest_first ? first + last - i : i;
            bool held_up = planted(l, LANE_lane_waits_for_a_later_one) && e < last;
            if (!lane_of(l, rank, e)->finished && !held_up)
                moved |= advance(l, rank, e);
        }
    }
}

/* ------------------------------------------------------------------ all of it ----------------- */

static bool all_finished(struct lanes *l)
{
    for (unsigned e = 1; e <= l->N; e++)
        for (unsigned rank = 0; rank < l->ranks; rank++)
            if (!lane_of(l, rank, e)->finished)
                return fault(l, rank, e, "deadlock in step %u", lane_of(l, rank, e)->next);
    return true;
}

static unsigned begins(const struct lanes *l)
{
    return planted(l, LANE_lane_starts_before_its_set_is_free) ? 2 * CREDIT_SETS
           : planted(l, LANE_lane_more_than_there_are)         ? l->S + 1
                                                               : l->S;
}

bool lanes_run(struct lanes *l, const struct outline *outline, unsigned S, bool folded,
               enum delivery delivery, enum lane_mischief mischief)
{
    l->outline = outline;
    l->P = outline->P;
    l->folded = folded;
    l->ranks = folded ? 1 : l->P;
    l->S = S;
    l->N = CREDIT_SETS + S + 1;
    l->delivery = delivery;
    l->mischief = mischief;
    l->begins = begins(l);
    l->kept = l->begins + 1;
    l->seed = l->P * LANES_MAX + S;
    l->fault[0] = '\0';
    write_sets(l);
    lanes_prepare(l);
    for (unsigned rank = l->ranks; rank-- > 0;)
        wake(l, rank);
    while (l->fault[0] == '\0' && (l->n_ready > 0 || l->n_under_way > 0)) {
        if (l->n_ready == 0) {
            deliver(l, (unsigned)(draw(&l->seed) % l->n_under_way));
            continue;
        }
        unsigned rank = l->ready[--l->n_ready];
        l->is_ready[rank] = false;
        act(l, rank);
    }
    l->runs += l->N;
    return l->fault[0] == '\0' && all_finished(l);
}

bool lanes_all(struct lanes *l, const struct outline *outline, bool each_way)
{
    unsigned deliveries = each_way && !outline->synchronises ? DELIVERIES : 1;

    for (unsigned S = 1; S <= LANES_MAX; S++) {
        if (outline->symmetric &&
            !lanes_run(l, outline, S, true, CREDITS_AT_ONCE, NO_LANE_MISCHIEF))
            return false;
        for (unsigned i = 0; i < deliveries && (!outline->symmetric || each_way); i++)
            if (!lanes_run(l, outline, S, false, (enum delivery)(l->turn++ % DELIVERIES),
                           NO_LANE_MISCHIEF))
                return false;
    }
    return true;
}
