/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes planted in real schedules. Each kind picks a place where it is certain to be wrong, and
 * says no where the schedule has none.
 */
#include "test/verify/mutate.h"

#include <inttypes.h>
#include <stdio.h>

#include "test/verify/model.h"

static uint64_t draw(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ------------------------------------------------------------------ places -------------------- */

/* A schedule to be spoilt, and the step that was picked. */
struct site {
    struct schedule *s;
    uint64_t *seed;
    unsigned rank, index;
    struct program *program;
    struct step *step;
};

typedef bool (*predicate)(const struct schedule *s, const struct step *step);

/* The first step that fits, from a random place on. */
static bool pick(struct site *at, predicate fits)
{
    unsigned P = at->s->shape.size, first = (unsigned)(draw(at->seed) % P);
    uint64_t start = draw(at->seed);

    for (unsigned i = 0; i < P; i++) {
        at->rank = (first + i) % P;
        at->program = &at->s->ranks[at->rank];
        for (unsigned j = 0; j < at->program->count; j++) {
            at->index = (unsigned)((start + j) % at->program->count);
            at->step = &at->program->steps[at->index];
            if (fits(at->s, at->step))
                return true;
        }
    }
    return false;
}

static bool is_local(const struct step *step)
{
    return step->kind != STEP_PUT && step->kind != STEP_WAIT;
}

static bool same_place(struct ref a, struct ref b)
{
    return a.buffer == b.buffer && a.slot == b.slot && a.offset == b.offset;
}

static bool counts_once(const struct schedule *s)
{
    return !(s->properties & NEEDS_IDEMPOTENT);
}

static bool a_put(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_PUT;
}

static bool a_wait(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_WAIT;
}

static bool a_data_put(const struct schedule *s, const struct step *step)
{
    return a_put(s, step) && step->count > 0;
}

static bool a_data_wait(const struct schedule *s, const struct step *step)
{
    return a_wait(s, step) && step->count > 0;
}

static bool a_scratch_put(const struct schedule *s, const struct step *step)
{
    return a_put(s, step) && step->a.buffer == BUF_SCRATCH && step->count > 0;
}

static bool a_local(const struct schedule *s, const struct step *step)
{
    (void)s;
    return is_local(step);
}

static bool a_takeout(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_TAKEOUT;
}

static bool a_last_reduce(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_REDUCE && step->dst.buffer == BUF_OUT;
}

static bool a_last_reduce_counted(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && a_last_reduce(s, step);
}

static bool a_scratch_operand(const struct schedule *s, const struct step *step)
{
    return a_local(s, step) && step->a.buffer == BUF_SCRATCH;
}

static bool a_first_reduce_counted(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && step->kind == STEP_REDUCE && step->a.buffer == BUF_IN;
}

static bool a_first_write(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && is_local(step) && step->dst.buffer == BUF_SCRATCH &&
           !same_place(step->dst, step->a) && !same_place(step->dst, step->b);
}

static bool an_ordered_reduce(const struct schedule *s, const struct step *step)
{
    return !(s->properties & NEEDS_COMMUTATIVE) && step->kind == STEP_REDUCE;
}

static bool a_same_bits_reduce(const struct schedule *s, const struct step *step)
{
    return s->properties & GIVES_SAME_BITS && a_last_reduce(s, step);
}

static bool a_counted_scratch_put(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && a_scratch_put(s, step) && step->count == s->shape.count &&
           step->a.offset > 0;
}

/* ------------------------------------------------------------------ puts and waits ------------ */

static bool other_slots(const struct site *at)
{
    return at->s->footprint.slots > 1;
}

static void redirect(struct site *at)
{
    unsigned P = at->s->shape.size;
    at->step->peer = (at->step->peer + 1) % P;
    if (at->step->peer == at->rank)
        at->step->peer = (at->step->peer + 1) % P;
}

static bool put_to_wrong_peer(struct site *at)
{
    if (at->s->shape.size < 3 || !pick(at, a_put))
        return false;
    redirect(at);
    return true;
}

static bool wait_for_wrong_peer(struct site *at)
{
    if (at->s->shape.size < 3 || !pick(at, a_wait))
        return false;
    redirect(at);
    return true;
}

static bool put_to_itself(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    at->step->peer = at->rank;
    return true;
}

static bool put_missing(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    program_remove(at->program, at->index);
    return true;
}

static bool wait_missing(struct site *at)
{
    if (!pick(at, a_wait))
        return false;
    program_remove(at->program, at->index);
    return true;
}

static bool put_twice(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    program_insert(at->program, at->index, *at->step);
    return true;
}

static bool wait_twice(struct site *at)
{
    if (!pick(at, a_wait))
        return false;
    program_insert(at->program, at->index, *at->step);
    return true;
}

static bool put_to_wrong_slot(struct site *at)
{
    if (!other_slots(at) || !pick(at, a_put))
        return false;
    at->step->slot = (at->step->slot + 1) % at->s->footprint.slots;
    return true;
}

static bool wait_for_wrong_slot(struct site *at)
{
    if (!other_slots(at) || !pick(at, a_wait))
        return false;
    at->step->slot = (at->step->slot + 1) % at->s->footprint.slots;
    return true;
}

static bool slot_beyond_footprint(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    at->step->slot = at->s->footprint.slots;
    return true;
}

static struct step *put_for(struct schedule *s, unsigned receiver, unsigned slot, unsigned sender)
{
    struct program *p = &s->ranks[sender];
    for (unsigned i = 0; i < p->count; i++)
        if (p->steps[i].kind == STEP_PUT && p->steps[i].peer == receiver &&
            p->steps[i].slot == slot)
            return &p->steps[i];
    return NULL;
}

/* Sender and receiver agree on a slot that the receiver uses already. */
static bool slot_used_again_in_call(struct site *at)
{
    if (!pick(at, a_wait))
        return false;
    for (unsigned i = 0; i < at->program->count; i++) {
        const struct step *other = &at->program->steps[i];
        if (other->kind != STEP_WAIT || i == at->index)
            continue;
        put_for(at->s, at->rank, at->step->slot, at->step->peer)->slot = other->slot;
        at->step->slot = other->slot;
        return true;
    }
    return false;
}

static bool put_too_short(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    at->step->count--;
    return true;
}

static bool wait_for_too_much(struct site *at)
{
    if (!pick(at, a_data_wait))
        return false;
    at->step->count++;
    return true;
}

static bool put_from_wrong_offset(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    at->step->a.offset++;
    return true;
}

static bool put_from_out(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    at->step->a.buffer = BUF_OUT;
    return true;
}

static bool put_from_landed(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    at->step->a = landed_at(0, 0);
    return true;
}

static bool put_of_own_data_only(struct site *at)
{
    if (!pick(at, a_counted_scratch_put))
        return false;
    at->step->a = in_at(0);
    return true;
}

/* All ranks wait before they put. */
static bool everyone_waits_first(struct site *at)
{
    for (unsigned p = 0; p < at->s->shape.size; p++) {
        struct program *program = &at->s->ranks[p];
        unsigned i = 0;
        while (i < program->count && program->steps[i].kind != STEP_WAIT)
            i++;
        if (i == program->count)
            return false;
        struct step first = program->steps[i];
        program_remove(program, i);
        program_insert(program, 0, first);
    }
    return true;
}

/* A message of the last round is neither sent nor waited for. */
static bool barrier_misses_a_rank(struct site *at)
{
    if (at->s->collective != COLL_BARRIER || at->s->shape.size == 1)
        return false;
    pick(at, a_wait);
    at->index = at->program->count - 1;
    struct step last = at->program->steps[at->index];
    struct program *sender = &at->s->ranks[last.peer];
    program_remove(sender,
                   (unsigned)(put_for(at->s, at->rank, last.slot, last.peer) - sender->steps));
    program_remove(at->program, at->index);
    return true;
}

/* ------------------------------------------------------------------ memory -------------------- */

static bool landed_read_before_wait(struct site *at)
{
    if (!pick(at, a_data_wait))
        return false;
    struct step step = *at->step;
    program_remove(at->program, at->index);
    program_add(at->program, step);
    return true;
}

static bool source_overwritten(struct site *at)
{
    if (!pick(at, a_scratch_put))
        return false;
    struct step copy = {
        .kind = STEP_COPY, .dst = at->step->a, .a = in_at(0), .b = in_at(0), .count = 1};
    program_insert(at->program, at->index + 1, copy);
    return true;
}

static bool in_written(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    at->step->dst = in_at(0);
    return true;
}

static bool landed_written(struct site *at)
{
    if (!pick(at, a_data_wait))
        return false;
    struct step step = {.kind = STEP_COPY,
                        .dst = landed_at(at->step->slot, 0),
                        .a = in_at(0),
                        .b = in_at(0),
                        .count = 1};
    program_insert(at->program, at->index + 1, step);
    return true;
}

static bool in_read_after_out(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    program_add(at->program, (struct step){.kind = STEP_REDUCE,
                                           .dst = out_at(0),
                                           .a = out_at(0),
                                           .b = in_at(0),
                                           .count = at->s->shape.count});
    return true;
}

static bool out_read_before_written(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    for (at->index = 0; !is_local(&at->program->steps[at->index]);)
        at->index++;
    at->program->steps[at->index].a = out_at(0);
    return true;
}

static bool out_not_written(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    for (unsigned i = at->program->count; i-- > 0;)
        if (is_local(&at->program->steps[i]) && at->program->steps[i].dst.buffer == BUF_OUT)
            program_remove(at->program, i);
    return true;
}

static bool scratch_not_written(struct site *at)
{
    if (!pick(at, a_first_write))
        return false;
    program_remove(at->program, at->index);
    return true;
}

static bool operand_at_wrong_offset(struct site *at)
{
    if (!pick(at, a_scratch_operand))
        return false;
    at->step->a.offset++;
    return true;
}

static bool one_half_for_all_calls(struct site *at)
{
    at->s->halves = 1;
    return at->s->shape.size > 1;
}

static bool footprint_lacks_a_slot(struct site *at)
{
    return at->s->footprint.slots-- > 0;
}

static bool footprint_lacks_scratch(struct site *at)
{
    return at->s->footprint.scratch-- > 0;
}

static bool footprint_lacks_message(struct site *at)
{
    return at->s->footprint.message-- > 0;
}

static bool footprint_has_a_slot_more(struct site *at)
{
    return at->s->footprint.slots++ < SLOTS_MAX;
}

/* ------------------------------------------------------------------ values -------------------- */

static bool contribution_twice(struct site *at)
{
    if (!pick(at, a_last_reduce_counted))
        return false;
    struct step again = *at->step;
    again.a = out_at(0);
    if (again.b.buffer == BUF_IN)
        return false;
    program_insert(at->program, at->index + 1, again);
    return true;
}

static bool contribution_missing(struct site *at)
{
    if (!pick(at, a_last_reduce_counted))
        return false;
    program_remove(at->program, at->index);
    return true;
}

static bool own_contribution_missing(struct site *at)
{
    if (!pick(at, a_first_reduce_counted))
        return false;
    at->step->kind = STEP_COPY;
    at->step->a = at->step->b;
    return true;
}

static bool operands_swapped(struct site *at)
{
    if (!pick(at, an_ordered_reduce))
        return false;
    struct ref a = at->step->a;
    at->step->a = at->step->b;
    at->step->b = a;
    return true;
}

/* As it would be right for a commutative operation, were the bits not to be the same. */
static bool other_expression_on_one_rank(struct site *at)
{
    if (!pick(at, a_same_bits_reduce))
        return false;
    at->s->properties |= NEEDS_COMMUTATIVE;
    struct ref a = at->step->a;
    at->step->a = at->step->b;
    at->step->b = a;
    return true;
}

static bool takeout_missing(struct site *at)
{
    if (!pick(at, a_takeout))
        return false;
    at->step->kind = STEP_COPY;
    at->step->b = at->step->a;
    return true;
}

static bool takeout_of_too_much(struct site *at)
{
    if (!pick(at, a_takeout))
        return false;
    at->step->b = at->step->a;
    return true;
}

static bool takeout_twice(struct site *at)
{
    if (!pick(at, a_takeout) || at->step->b.buffer == BUF_IN)
        return false;
    struct step again = *at->step;
    again.a = again.dst;
    program_insert(at->program, at->index + 1, again);
    return true;
}

static bool takeout_without_inverse(struct site *at)
{
    if (!pick(at, a_takeout))
        return false;
    at->s->shape.inverse = false;
    return true;
}

static bool step_on_nothing(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    at->step->count = 0;
    return true;
}

#define KIND(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
static const struct {
    const char *name;
    bool (*plant)(struct site *at);
} kinds[] = {
    KIND(put_to_wrong_peer),
    KIND(wait_for_wrong_peer),
    KIND(put_to_itself),
    KIND(put_missing),
    KIND(wait_missing),
    KIND(put_twice),
    KIND(wait_twice),
    KIND(put_to_wrong_slot),
    KIND(wait_for_wrong_slot),
    KIND(slot_beyond_footprint),
    KIND(slot_used_again_in_call),
    KIND(put_too_short),
    KIND(wait_for_too_much),
    KIND(put_from_wrong_offset),
    KIND(put_from_out),
    KIND(put_from_landed),
    KIND(put_of_own_data_only),
    KIND(everyone_waits_first),
    KIND(barrier_misses_a_rank),
    KIND(landed_read_before_wait),
    KIND(source_overwritten),
    KIND(in_written),
    KIND(landed_written),
    KIND(in_read_after_out),
    KIND(out_read_before_written),
    KIND(out_not_written),
    KIND(scratch_not_written),
    KIND(operand_at_wrong_offset),
    KIND(one_half_for_all_calls),
    KIND(footprint_lacks_a_slot),
    KIND(footprint_lacks_scratch),
    KIND(footprint_lacks_message),
    KIND(footprint_has_a_slot_more),
    KIND(contribution_twice),
    KIND(contribution_missing),
    KIND(own_contribution_missing),
    KIND(operands_swapped),
    KIND(other_expression_on_one_rank),
    KIND(takeout_missing),
    KIND(takeout_of_too_much),
    KIND(takeout_twice),
    KIND(takeout_without_inverse),
    KIND(step_on_nothing),
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* ------------------------------------------------------------------ trials -------------------- */

struct trials {
    struct model model;
    struct schedule schedule;
    uint64_t seed;
    unsigned planted, missed; /* of the kind at hand */
    char reason[sizeof((struct model *)0)->fault + 64];
};

/* Plants one mistake of a kind in one schedule, if that has a place for it. */
static void attempt(struct trials *t, size_t kind, const struct algorithm *algorithm,
                    enum collective collective, struct shape shape)
{
    struct site at = {.s = &t->schedule, .seed = &t->seed};

    if (!(algorithm->collectives & 1u << collective) || !algorithm_exists(algorithm, &shape))
        return;
    if (collective == COLL_BARRIER)
        shape.count = 0;
    schedule_write(algorithm, collective, &shape, &t->schedule);
    if (!kinds[kind].plant(&at))
        return;
    t->planted++;
    if (model_run(&t->model, &t->schedule)) {
        t->missed++;
        printf("MISSED %s in %s, collective %d, P = %u, n = %u, inverse %d, rank %u, step %u\n",
               kinds[kind].name, algorithm->name, collective, shape.size, shape.radix,
               shape.inverse, at.rank, at.index);
    } else if (t->planted == 1) {
        snprintf(t->reason, sizeof t->reason, "%s, P = %u, n = %u: %s", algorithm->name, shape.size,
                 shape.radix, t->model.fault);
    }
}

static void attempt_everywhere(struct trials *t, size_t kind)
{
    static const unsigned sizes[] = {13, 8, 2, 3, 5, 9, 16, 23, 27, 40};

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (unsigned j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
            for (unsigned n = 1; n <= 4; n++)
                for (unsigned inverse = 0; inverse < 2; inverse++)
                    for (unsigned c = COLL_BARRIER; c <= COLL_ALLREDUCE; c++)
                        attempt(t, kind, ncoll__algorithms[i], c,
                                (struct shape){
                                    .size = sizes[j], .radix = n, .count = 2, .inverse = inverse});
}

static void attempt_at_random(struct trials *t, unsigned registered)
{
    uint64_t a = draw(&t->seed), b = draw(&t->seed), c = draw(&t->seed);

    attempt(t, a % KINDS, ncoll__algorithms[b % registered], 1 + (a >> 32) % 2,
            (struct shape){.size = 1 + (unsigned)(c % 64),
                           .radix = 1 + (unsigned)((c >> 32) % RADIX_MAX),
                           .count = 2,
                           .inverse = b >> 63});
}

bool mutations_run(unsigned random, uint64_t seed)
{
    struct trials t = {.seed = seed};
    unsigned planted = 0, missed = 0, registered = 0;

    printf("seed %" PRIu64 "\n", seed);
    for (size_t kind = 0; kind < KINDS; kind++) {
        t.planted = t.missed = 0;
        attempt_everywhere(&t, kind);
        printf("%-30s caught %4u of %4u   %s\n", kinds[kind].name, t.planted - t.missed, t.planted,
               t.planted > t.missed ? t.reason : "NEVER");
        planted += t.planted;
        missed += t.missed + (t.planted == 0);
    }
    t.planted = t.missed = 0;
    while (ncoll__algorithms[registered] != NULL)
        registered++;
    while (t.planted < random)
        attempt_at_random(&t, registered);
    printf("%zu kinds; %u planted, %u at random; %u missed\n", KINDS, planted, t.planted,
           missed + t.missed);
    missed += t.missed;
    model_free(&t.model);
    schedule_free(&t.schedule);
    return missed == 0;
}
