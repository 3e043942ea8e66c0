/* SPDX-License-Identifier: BSD-3-Clause */
/* Mistakes in calls that are done in parts: each is planted in each algorithm that can do so, and has
 * to be caught wherever there is a place for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/verify/check.h"
#include "test/verify/mutate.h"
#include "test/verify/parts.h"

#define REASON 384

struct trial {
    const struct algorithm *algorithm;
    struct shape shape; /* in parts */
    struct schedule schedule;
    unsigned slots; /* of a part */
    const char *wrong;
};

static bool is_in_part(const struct trial *t, const struct step *s, unsigned part)
{
    bool message = s->kind == STEP_PUT || s->kind == STEP_WAIT;

    return message && s->slot / t->slots == part;
}

/* Each kind spoils the schedule, or says that there is no place for it. */

static bool part_left_out(struct trial *t)
{
    for (unsigned p = 0; p < t->shape.size; p++) {
        struct program *program = &t->schedule.ranks[p];
        unsigned end = program->count;
        while (end > 0 && !is_in_part(t, &program->steps[end - 1], t->shape.parts - 2))
            end--;
        program->count = end;
    }
    return true;
}

/* The first two parts change places on all ranks. */
static bool parts_in_another_order(struct trial *t)
{
    for (unsigned p = 0; p < t->shape.size; p++) {
        struct program *program = &t->schedule.ranks[p];
        struct program swapped = {0};
        unsigned first = 0, second;
        while (first < program->count && !is_in_part(t, &program->steps[first], 1))
            first++;
        /* a part that follows begins with a copy from OUT */
        while (first > 0 && program->steps[first - 1].kind == STEP_COPY &&
               program->steps[first - 1].a.buffer == BUF_OUT)
            first--;
        second = first;
        while (second < program->count && !is_in_part(t, &program->steps[second], 2))
            second++;
        for (unsigned i = first; i < second; i++)
            program_add(&swapped, program->steps[i]);
        for (unsigned i = 0; i < first; i++)
            program_add(&swapped, program->steps[i]);
        memcpy(program->steps, swapped.steps, second * sizeof *swapped.steps);
        free(swapped.steps);
    }
    return (t->algorithm->properties & PARTS_FOLLOW) != 0;
}

/* What was left in OUT is taken from the scratch of this part, as if that were the last one's. */
static bool scratch_taken_for_that_of_the_part_before(struct trial *t)
{
    for (unsigned p = 0; p < t->shape.size; p++)
        for (unsigned i = 0; i < t->schedule.ranks[p].count; i++) {
            struct step *s = &t->schedule.ranks[p].steps[i];
            if (s->kind != STEP_COPY || s->dst.buffer != BUF_SCRATCH || s->a.buffer != BUF_OUT)
                continue;
            program_remove(&t->schedule.ranks[p], i);
            return true;
        }
    return false;
}

/* A rank does not keep what the next part needs. */
static bool partial_result_not_left_in_out(struct trial *t)
{
    struct program *program = &t->schedule.ranks[0];

    for (unsigned i = 1; i + 1 < program->count; i++) {
        const struct step *s = &program->steps[i];
        bool last = is_in_part(t, s - 1, 0) && !is_in_part(t, s + 1, 0);
        if (last && s->dst.buffer == BUF_OUT && s->kind != STEP_WAIT) {
            program_remove(program, i);
            return true;
        }
    }
    return false;
}

static bool message_to_the_next_part(struct trial *t)
{
    for (unsigned i = 0; i < t->schedule.ranks[1].count; i++) {
        struct step *s = &t->schedule.ranks[1].steps[i];
        if (s->kind == STEP_PUT) {
            s->slot += t->slots;
            return true;
        }
    }
    return false;
}

static bool out_read_in_a_part_that_follows_no_other(struct trial *t)
{
    struct algorithm careless = *t->algorithm;

    if (!(careless.properties & PARTS_FOLLOW))
        return false;
    careless.properties &= ~(unsigned)PARTS_FOLLOW;
    t->wrong = parts_write(&careless, &t->shape, true, &t->schedule);
    t->schedule.algorithm = t->algorithm;
    return true;
}

static bool slot_beyond_the_part(struct trial *t)
{
    struct shape fewer = t->shape;

    fewer.parts--;
    t->wrong = parts_write(t->algorithm, &fewer, false, &t->schedule);
    t->schedule.footprint.slots = t->slots;
    return true;
}

static const struct {
    const char *name;
    bool (*plant)(struct trial *t);
} kinds[] = {
#define KIND(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    KIND(part_left_out),
    KIND(parts_in_another_order),
    KIND(scratch_taken_for_that_of_the_part_before),
    KIND(partial_result_not_left_in_out),
    KIND(message_to_the_next_part),
    KIND(out_read_in_a_part_that_follows_no_other),
    KIND(slot_beyond_the_part),
#undef KIND
};

/* Counts what is planted and what is missed; keeps the first reason. */
static void attempt(struct trial *t, struct model *model, unsigned kind, unsigned counts[2],
                    char reason[REASON])
{
    ncoll__divide(t->algorithm, &t->shape, 3);
    if (!is_in_parts(&t->shape) || t->shape.parts < 3)
        return;
    t->wrong = parts_write(t->algorithm, &t->shape, false, &t->schedule);
    t->slots = t->schedule.footprint.slots / t->shape.parts;
    if (t->wrong != NULL || !kinds[kind].plant(t))
        return;
    counts[0]++;
    if (t->wrong == NULL && !model_run(model, &t->schedule))
        t->wrong = model->fault;
    if (t->wrong == NULL) {
        counts[1]++;
        printf("MISSED %s in %s %s, P = %u\n", kinds[kind].name, t->algorithm->name,
               collective_name(t->shape.collective), t->shape.size);
    } else if (counts[0] == 1) {
        snprintf(reason, REASON, "%s %s, P = %u: %s", t->algorithm->name,
                 collective_name(t->shape.collective), t->shape.size, t->wrong);
    }
}

static void attempt_all(struct trial *t, struct model *model, unsigned kind, unsigned counts[2],
                        char reason[REASON])
{
    static const unsigned sizes[] = {8, 13, 23};

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
            for (unsigned j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
                t->algorithm = ncoll__algorithms[i];
                t->shape =
                    (struct shape){.collective = c, .size = sizes[j], .radix = 1, .count = 50};
                if (t->algorithm->turns != NULL && t->algorithm->collectives & 1u << c)
                    attempt(t, model, kind, counts, reason);
            }
}

unsigned mutations_of_parts(unsigned *caught)
{
    unsigned n = sizeof kinds / sizeof kinds[0];
    struct trial t = {0};
    struct model model = {0};

    *caught = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned counts[2] = {0};
        char reason[REASON] = "";
        attempt_all(&t, &model, i, counts, reason);
        *caught += counts[0] > 0 && counts[1] == 0;
        printf("%-42s caught %3u of %3u   %s\n", kinds[i].name, counts[0] - counts[1], counts[0],
               counts[0] == 0 ? "NO PLACE" : reason);
    }
    model_free(&model);
    schedule_free(&t.schedule);
    return n;
}
