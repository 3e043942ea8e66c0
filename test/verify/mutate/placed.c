/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes about what may be placed in OUT: the model gets one message more than lib/plan/placed.h
 * allows.
 */
#include "test/verify/mutate.h"

#include <stdio.h>
#include <stdlib.h>

#include "test/verify/check.h"
#include "test/verify/memory.h"

struct trial {
    struct model model;
    struct schedule schedule;
    struct placed *listed;
    unsigned n_listed, rank;
    struct program *program; /* of the rank */
};

static size_t start_in_out(const struct trial *t, struct ref ref)
{
    const struct side *out = &t->model.places[t->rank].out;
    return (out->form == FORM_BLOCKS ? side_start(out, ref.block) : 0) + ref.offset;
}

/* Looks into the model's notes of the rank: all messages that may be placed, in place or not. */
static void list(struct trial *t)
{
    size_t slots = t->schedule.footprint.slots;

    t->n_listed = 0;
    for (size_t slot = 0; slot < slots; slot++) {
        const struct placed *l = &t->model.placed[t->rank * slots + slot];
        if (l->count > 0)
            t->listed[t->n_listed++] = *l;
    }
}

/* Each kind sets the mistaken message, or says that there is no place for it on the rank. */

static bool where_in_is_read(struct trial *t)
{
    enum collective c = t->schedule.shape.collective;

    if (c == COLL_ALLTOALL || c == COLL_REDUCE_SCATTER) /* never in place */
        return false;
    for (unsigned i = 0; i < t->n_listed; i++)
        if (t->listed[i].apart) {
            t->model.mistaken = t->listed[i];
            return true;
        }
    return false;
}

static bool where_another_step_writes(struct trial *t)
{
    const struct side *in = &t->model.places[t->rank].in;

    for (unsigned i = 0; i < t->n_listed && in->size > 0; i++)
        for (unsigned j = 0; j < t->program->count; j++) {
            struct step step = t->program->steps[j];
            if (step.kind != STEP_COPY || step.a.buffer != BUF_ARRIVED ||
                step.a.slot != t->listed[i].slot)
                continue;
            step.a = step.b = in_at(0);
            step.count = 1;
            program_insert(t->program, 0, step);
            t->model.mistaken = t->listed[i];
            return true;
        }
    return false;
}

/* The first step that reads a message and writes OUT, and is as asked. */
static bool by_step(struct trial *t, bool (*fits)(const struct step *s, size_t message))
{
    for (unsigned i = 0, w; i < t->program->count; i++) {
        const struct step *s = &t->program->steps[i];
        if (s->kind == STEP_PUT || s->kind == STEP_WAIT || s->a.buffer != BUF_ARRIVED ||
            s->dst.buffer != BUF_OUT)
            continue;
        for (w = 0; w < i; w++)
            if (t->program->steps[w].kind == STEP_WAIT && t->program->steps[w].slot == s->a.slot)
                break;
        if (w == i || !fits(s, t->program->steps[w].count))
            continue;
        t->model.mistaken =
            (struct placed){.slot = s->a.slot, .at = start_in_out(t, s->dst), .count = s->count};
        return true;
    }
    return false;
}

static bool is_part(const struct step *s, size_t message)
{
    return s->kind == STEP_COPY && s->a.offset == 0 && s->count < message;
}

static bool is_combined(const struct step *s, size_t message)
{
    return s->kind == STEP_REDUCE && s->a.offset == 0 && s->count == message;
}

static bool part_of_a_message(struct trial *t)
{
    return by_step(t, is_part);
}

static bool what_is_combined(struct trial *t)
{
    return by_step(t, is_combined);
}

static const struct kind {
    const char *name;
    enum placed_as in; /* the layout in which it is a mistake */
    bool (*plant)(struct trial *t);
} kinds[] = {
    {"lands_where_in_is_read", PLACED_IN_PLACE, where_in_is_read},
    {"lands_where_another_step_writes", PLACED_APART, where_another_step_writes},
    {"lands_in_part", PLACED_APART, part_of_a_message},
    {"lands_but_is_combined", PLACED_APART, what_is_combined},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Plants a mistake on the first rank that has a place for it. */
static bool plant(struct trial *t, const struct kind *kind, const struct algorithm *algorithm,
                  const struct shape *shape)
{
    schedule_write(algorithm, shape, &t->schedule);
    t->model.mistaken.count = 0;
    t->model.placed_as = PLACED_APART;
    if (!model_run(&t->model, &t->schedule))
        return false;
    t->listed = reallocate(t->listed, t->schedule.footprint.slots + 1, sizeof *t->listed);
    for (t->rank = 0; t->rank < shape->size; t->rank++) {
        t->program = &t->schedule.ranks[t->rank];
        list(t);
        if (kind->plant(t)) {
            t->model.mistaken_rank = t->rank;
            t->model.placed_as = kind->in;
            return true;
        }
    }
    return false;
}

static void attempt(struct trial *t, const struct kind *kind, unsigned *planted, unsigned *missed,
                    char reason[256])
{
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (enum collective c = COLL_BARRIER + 1; c < COLLECTIVES; c++)
            for (unsigned P = 2; P <= 13; P++) {
                struct shape shape = {
                    .collective = c, .size = P, .radix = 1 + P % 3, .count = 2 + P % 2};
                if (!algorithm_exists(ncoll__algorithms[i], &shape) ||
                    !plant(t, kind, ncoll__algorithms[i], &shape))
                    continue;
                ++*planted;
                if (!model_run(&t->model, &t->schedule)) {
                    snprintf(reason, 256, "%s", t->model.fault);
                    continue;
                }
                ++*missed;
                printf("MISSED %s in %s %s, P = %u, rank %u\n", kind->name,
                       ncoll__algorithms[i]->name, collective_name(c), P, t->rank);
            }
}

unsigned mutations_of_placed(unsigned *caught)
{
    struct trial t = {0};

    *caught = 0;
    for (unsigned k = 0; k < KINDS; k++) {
        unsigned planted = 0, missed = 0;
        char reason[256] = "";
        attempt(&t, &kinds[k], &planted, &missed, reason);
        printf("%-32s caught %4u of %4u   %s\n", kinds[k].name, planted - missed, planted, reason);
        *caught += planted > 0 && missed == 0;
    }
    model_free(&t.model);
    schedule_free(&t.schedule);
    free(t.listed);
    return KINDS;
}
