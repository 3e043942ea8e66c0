/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/lanes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/verify/draw.h"
#include "test/verify/memory.h"

#define NO_SNAPSHOT UINT32_MAX

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

/* ------------------------------------------------------------------ what is known ------------- */

static struct lane *lane_of(const struct lanes *l, unsigned rank, unsigned e)
{
    return &l->lanes[(size_t)rank * l->N + e - 1];
}

static run_number *known_of(const struct lanes *l, unsigned rank, unsigned e)
{
    return l->known + ((size_t)rank * l->N + e - 1) * l->P;
}

static run_number *settled_of(const struct lanes *l, unsigned rank, unsigned e)
{
    return l->settled + ((size_t)rank * (l->N + 1) + e) * l->P;
}

static void merge(run_number *restrict into, const run_number *restrict from, unsigned P)
{
    for (unsigned q = 0; q < P; q++)
        into[q] = into[q] > from[q] ? into[q] : from[q];
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
    if (((size_t)l->n_rows + 1) * l->P > l->rows_bytes) {
        l->rows_bytes = 2 * l->rows_bytes + 256 * (size_t)l->P;
        l->rows = reallocate(l->rows, l->rows_bytes, 1);
    }
    return l->n_rows++;
}

static void leave_row(struct lanes *l, unsigned row)
{
    if (--l->row_users[row] == 0)
        l->free_rows[l->n_free_rows++] = row;
}

/* What is known now, as a row that stays for one more message. */
static unsigned snapshot(struct lanes *l, unsigned rank, unsigned e)
{
    struct lane *lane = lane_of(l, rank, e);

    if (lane->snapshot == NO_SNAPSHOT) {
        lane->snapshot = new_row(l);
        l->row_users[lane->snapshot] = 1;
        memcpy(l->rows + (size_t)lane->snapshot * l->P, known_of(l, rank, e), l->P);
    }
    l->row_users[lane->snapshot]++;
    return lane->snapshot;
}

/* The run knows more, or has ended. */
static void leave_snapshot(struct lanes *l, struct lane *lane)
{
    if (lane->snapshot != NO_SNAPSHOT)
        leave_row(l, lane->snapshot);
    lane->snapshot = NO_SNAPSHOT;
}

/* Whether all that q put from a buffer in run `earlier` is known to have been consumed. */
static bool knows_passed_on(const struct lanes *l, const run_number *known, unsigned q,
                            enum buffer from, unsigned earlier, unsigned *by)
{
    const struct program *program = &l->schedule->ranks[q];

    for (unsigned i = 0; i < program->count; i++) {
        const struct step *s = &program->steps[i];
        if (s->kind == STEP_PUT && s->a.buffer == from && s->count > 0 &&
            known[s->peer] < earlier) {
            *by = s->peer;
            return false;
        }
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
    ncoll__credit_on_credit(&l->credits[c.to], c.from, c.number);
    wake(l, c.to);
}

static bool send_credit(struct lanes *l, unsigned rank, unsigned to, unsigned e, uint64_t number)
{
    if (l->synchronises)
        return fault(l, rank, e, "owes a credit to rank %u, which should need none", to);
    ncoll__credit_on_sent(&l->credits[rank], to, number);
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
    l->under_way[l->n_under_way++] = (struct lane_credit){rank, to, number};
    l->sent++;
    if (l->delivery == CREDITS_AT_ONCE ||
        (l->delivery == CREDITS_AT_RANDOM && draw(&l->seed) % 2 == 0))
        deliver(l, (unsigned)(draw(&l->seed) % l->n_under_way));
    return true;
}

/* To each rank that puts to this one. */
static bool send_credits(struct lanes *l, unsigned rank, unsigned e, bool at_start)
{
    const struct program *program = &l->schedule->ranks[rank];
    struct credits *credits = &l->credits[rank];

    for (unsigned i = 0; i < program->count; i++) {
        unsigned q = program->steps[i].peer;
        if (program->steps[i].kind != STEP_WAIT)
            continue;
        uint64_t due = at_start ? ncoll__credit_due_at_start(credits, q, e)
                                : ncoll__credit_due_at_end(credits, q, e);
        if (due != 0 && !send_credit(l, rank, q, e, due))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ steps --------------------- */

static bool may_put(struct lanes *l, unsigned rank, unsigned to, unsigned e)
{
    return ncoll__credit_may_put(&l->credits[rank], to, e) ||
           planted(l, LANE_put_of_a_lane_without_asking) ||
           planted(l, LANE_lane_more_than_there_are);
}

/* Whether rank knows in run e that its put finds the set free. A credit that was heard says so of
 * what it says, and so of all that the receiver has passed on: it has finished. */
static bool check_set_free(struct lanes *l, unsigned rank, unsigned e, const struct step *s)
{
    const run_number *known = known_of(l, rank, e);
    unsigned earlier = before(l, e, set_of), by = s->peer;

    if (earlier == 0 || l->heard[(size_t)rank * l->P + s->peer] >= earlier)
        return true;
    if (known[s->peer] < earlier || (l->synchronises && l->passes_on[s->peer] &&
                                     !knows_passed_on(l, known, s->peer, BUF_LANDED, earlier, &by)))
        return fault(l, rank, e,
                     "puts to rank %u in the set of run %u, which rank %u may not have "
                     "finished",
                     s->peer, earlier, by);
    return true;
}

static bool put(struct lanes *l, unsigned rank, unsigned e, const struct step *s)
{
    unsigned to = e + (planted(l, LANE_message_to_the_next_lane) && e % 2 == 0);
    size_t set = (size_t)s->peer * CREDIT_SETS + set_of(l, to);
    struct lane_slot *slot = &l->inbox[set * l->slots + s->slot];

    if (!check_set_free(l, rank, e, s))
        return false;
    if (slot->run != 0 && !slot->waited)
        return fault(l, rank, e, "puts over a message of run %u", slot->run);
    *slot = (struct lane_slot){.run = (run_number)to, .row = snapshot(l, rank, e)};
    wake(l, s->peer);
    return true;
}

/* What an earlier run has put from there has been read when that run has ended; of a schedule that
 * synchronises, when those that it was for have. */
static bool write_scratch(struct lanes *l, unsigned rank, unsigned e)
{
    const run_number *known = known_of(l, rank, e);
    unsigned earlier = before(l, e, scratch_set_of), by = rank;

    lane_of(l, rank, e)->scratch_written = true;
    if (known[rank] < earlier ||
        (l->synchronises && !knows_passed_on(l, known, rank, BUF_SCRATCH, earlier, &by)))
        return fault(l, rank, e, "writes the scratch of run %u, which rank %u may not have read",
                     earlier, by);
    return true;
}

/* One step of a run. False: it has to wait, or is wrong. */
static bool step(struct lanes *l, unsigned rank, unsigned e, const struct step *s)
{
    struct lane *lane = lane_of(l, rank, e);

    if (s->kind == STEP_PUT)
        return may_put(l, rank, s->peer, e) && put(l, rank, e, s);
    if (s->kind != STEP_WAIT)
        return s->dst.buffer != BUF_SCRATCH || lane->scratch_written || write_scratch(l, rank, e);

    size_t set = (size_t)rank * CREDIT_SETS + set_of(l, e);
    struct lane_slot *slot = &l->inbox[set * l->slots + s->slot];
    if (slot->run != e)
        return false;
    if (slot->waited)
        return fault(l, rank, e, "waits for slot %u, where it has waited", s->slot);
    slot->waited = true;
    merge(known_of(l, rank, e), l->rows + (size_t)slot->row * l->P, l->P);
    leave_row(l, slot->row);
    leave_snapshot(l, lane);
    l->edges++;
    return true;
}

/* ------------------------------------------------------------------ runs ---------------------- */

static bool begin(struct lanes *l, unsigned rank, unsigned e)
{
    unsigned S = l->S;

    if (planted(l, LANE_lane_starts_before_its_set_is_free))
        S = 2 * CREDIT_SETS;
    else if (planted(l, LANE_lane_more_than_there_are))
        S++;
    if (e > l->N || e > l->credits[rank].finished + S)
        return false;
    lane_of(l, rank, e)->begun = true;
    l->begun[rank] = e;
    memcpy(known_of(l, rank, e), settled_of(l, rank, e > S ? e - S : 0), l->P);
    ncoll__credit_on_start(&l->credits[rank], e, l->synchronises);
    send_credits(l, rank, e, true);
    return true;
}

/* What the ends of all runs up to each that has come to its end know together. */
static void settle(struct lanes *l, unsigned rank, unsigned from, unsigned to)
{
    for (unsigned e = from; e <= to; e++) {
        run_number *row = settled_of(l, rank, e);
        memcpy(row, settled_of(l, rank, e - 1), l->P);
        merge(row, known_of(l, rank, e), l->P);
        row[rank] = (run_number)e;
    }
}

static void finish(struct lanes *l, unsigned rank, unsigned e)
{
    struct credits *credits = &l->credits[rank];
    unsigned from = (unsigned)credits->finished + 1;

    lane_of(l, rank, e)->finished = true;
    leave_snapshot(l, lane_of(l, rank, e));
    ncoll__credit_on_finish(credits, e, l->synchronises);
    settle(l, rank, from, (unsigned)credits->finished);
    send_credits(l, rank, e, false);
}

/* As far as the run can. Returns whether it has ended. */
static bool advance(struct lanes *l, unsigned rank, unsigned e)
{
    struct lane *lane = lane_of(l, rank, e);
    const struct program *program = &l->schedule->ranks[rank];
    unsigned count = program->count;

    while (planted(l, LANE_lane_ends_before_its_last_message) && count > 0 &&
           program->steps[count - 1].kind != STEP_PUT)
        count--;
    while (lane->next < count && step(l, rank, e, &program->steps[lane->next]))
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

static void make_room(struct lanes *l)
{
    size_t P = l->P, N = LANE_RUNS, inbox = P * CREDIT_SETS * l->slots;

    if (P > l->P_allocated) {
        l->credits = reallocate(l->credits, P, sizeof *l->credits);
        l->told = reallocate(l->told, P * P, sizeof *l->told);
        l->heard = reallocate(l->heard, P * P, sizeof *l->heard);
        l->begun = reallocate(l->begun, P, sizeof *l->begun);
        l->lanes = reallocate(l->lanes, P * N, sizeof *l->lanes);
        l->known = reallocate(l->known, P * N * P, sizeof *l->known);
        l->settled = reallocate(l->settled, P * (N + 1) * P, sizeof *l->settled);
        l->ready = reallocate(l->ready, P, sizeof *l->ready);
        l->is_ready = reallocate(l->is_ready, P, sizeof *l->is_ready);
        l->passes_on = reallocate(l->passes_on, P, sizeof *l->passes_on);
        l->P_allocated = P;
    }
    if (inbox > l->inbox_allocated) {
        l->inbox = reallocate(l->inbox, inbox, sizeof *l->inbox);
        l->inbox_allocated = inbox;
    }
}

static void prepare(struct lanes *l)
{
    size_t P = l->P;

    make_room(l);
    memset(l->told, 0, P * P * sizeof *l->told);
    memset(l->heard, 0, P * P * sizeof *l->heard);
    memset(l->begun, 0, P * sizeof *l->begun);
    memset(l->lanes, 0, P * l->N * sizeof *l->lanes);
    memset(l->inbox, 0, P * CREDIT_SETS * l->slots * sizeof *l->inbox);
    memset(l->is_ready, 0, P * sizeof *l->is_ready);
    l->n_rows = l->n_free_rows = l->n_under_way = l->n_ready = 0;
    for (unsigned rank = 0; rank < P; rank++) {
        l->credits[rank] =
            (struct credits){.told = l->told + rank * P, .heard = l->heard + rank * P};
        memset(settled_of(l, rank, 0), 0, P * sizeof *l->settled);
        for (unsigned e = 1; e <= l->N; e++)
            lane_of(l, rank, e)->snapshot = NO_SNAPSHOT;
        l->passes_on[rank] = false;
        for (unsigned i = 0; i < l->schedule->ranks[rank].count; i++) {
            const struct step *s = &l->schedule->ranks[rank].steps[i];
            l->passes_on[rank] |= s->kind == STEP_PUT && s->a.buffer == BUF_LANDED;
        }
    }
    for (unsigned rank = (unsigned)P; rank-- > 0;)
        wake(l, rank);
}

static bool all_finished(struct lanes *l)
{
    for (unsigned e = 1; e <= l->N; e++)
        for (unsigned rank = 0; rank < l->P; rank++)
            if (!lane_of(l, rank, e)->finished)
                return fault(l, rank, e, "deadlock in step %u", lane_of(l, rank, e)->next);
    return true;
}

bool lanes_run(struct lanes *l, const struct schedule *schedule, unsigned S, enum delivery delivery,
               enum lane_mischief mischief)
{
    l->schedule = schedule;
    l->P = schedule->shape.size;
    l->S = S;
    l->N = LANE_RUNS;
    l->slots = schedule->footprint.slots;
    l->synchronises = (schedule->properties & SYNCHRONISES) != 0;
    l->delivery = delivery;
    l->mischief = mischief;
    l->seed = l->P * LANES_MAX + S;
    l->fault[0] = '\0';
    prepare(l);
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

bool lanes_all(struct lanes *l, const struct schedule *schedule, enum lanes_extent extent)
{
    bool each = extent == LANES_EACH, credits = !(schedule->properties & SYNCHRONISES);
    unsigned more = each && credits ? DELIVERIES - 1 : 0;

    for (unsigned S = each ? 1 : LANES_MAX; S <= LANES_MAX; S++)
        for (unsigned i = 0; i <= (S == LANES_MAX ? more : 0); i++)
            if (!lanes_run(l, schedule, S, (enum delivery)(l->turn++ % DELIVERIES),
                           NO_LANE_MISCHIEF))
                return false;
    return true;
}

void lanes_free(struct lanes *l)
{
    free(l->credits);
    free(l->told);
    free(l->heard);
    free(l->begun);
    free(l->lanes);
    free(l->known);
    free(l->settled);
    free(l->rows);
    free(l->row_users);
    free(l->free_rows);
    free(l->inbox);
    free(l->under_way);
    free(l->ready);
    free(l->is_ready);
    free(l->passes_on);
    *l = (struct lanes){0};
}
