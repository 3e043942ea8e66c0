/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "tools/explain/explain.h"
#include "tools/explain/memory.h"

static void list_add(struct list *list, struct value *value)
{
    if (list->count == list->capacity) {
        struct value **grown = allocate(2 * list->count + 4, sizeof(struct value *));
        if (list->count > 0)
            memcpy(grown, list->values, list->count * sizeof(struct value *));
        list->values = grown;
        list->capacity = 2 * list->count + 4;
    }
    list->values[list->count++] = value;
}

static struct value *read_value(struct actor *actor, struct ref ref, size_t i)
{
    struct value *v = ref.buffer == BUF_IN        ? actor->in
                      : ref.buffer == BUF_OUT     ? actor->out
                      : ref.buffer == BUF_SCRATCH ? actor->scratch[ref.offset + i]
                                                  : actor->landed[ref.slot].values[ref.offset + i];
    if (v->rank == actor->g.rank && v->round < actor->round)
        v->kept = true;
    return v;
}

static void compute(struct actor *actor, const struct step *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct value *v = read_value(actor, s->a, i);
        if (s->kind != STEP_COPY) {
            struct value *made = allocate(1, sizeof *made);
            *made = (struct value){.kind = s->kind,
                                   .rank = actor->g.rank,
                                   .round = actor->round,
                                   .a = v,
                                   .b = read_value(actor, s->b, i)};
            v = made;
        }
        if (s->dst.buffer == BUF_OUT)
            actor->out = v;
        else
            actor->scratch[s->dst.offset + i] = v;
    }
}

static void put(struct symbols *t, struct actor *actor, const struct step *s)
{
    struct list *message = &t->actors[s->peer].landed[s->slot];

    message->values = allocate(s->count + 1, sizeof *message->values);
    message->count = (unsigned)s->count;
    for (size_t i = 0; i < s->count; i++) {
        message->values[i] = read_value(actor, s->a, i);
        message->values[i]->kept = true;
    }
}

/* False: nothing has come yet. */
static bool receive(struct actor *actor, const struct step *s)
{
    struct list *message = &actor->landed[s->slot];
    struct entry *entry = &actor->entries[actor->round];

    if (message->values == NULL)
        return false;
    for (unsigned i = 0; i < message->count; i++)
        list_add(&entry->got, message->values[i]);
    entry->senders[entry->n_senders++] = s->peer;
    return true;
}

static bool made_now(const struct actor *actor, const struct value *v)
{
    return v != NULL && v->kind != STEP_COPY && v->rank == actor->g.rank &&
           v->round == actor->round;
}

/* The result comes first, then what scratch holds, in its order. */
static void end_round(struct symbols *t, struct actor *actor)
{
    struct entry *entry = &actor->entries[actor->round];
    size_t scratch = t->algorithm->footprint(&actor->g).scratch;

    if (made_now(actor, actor->out)) {
        actor->out->kept = true;
        list_add(&entry->made, actor->out);
    }
    for (size_t i = 0; i < scratch; i++)
        if (made_now(actor, actor->scratch[i]) && actor->scratch[i] != actor->out)
            list_add(&entry->made, actor->scratch[i]);
    free(actor->steps.steps);
    actor->round++;
    actor->next = 0;
    actor->ended = !write_round(t->algorithm, &actor->g, actor->round - 1, &actor->steps);
}

/* False if the rank could do nothing. */
static bool advance(struct symbols *t, struct actor *actor)
{
    bool moved = false;

    while (!actor->ended) {
        if (actor->next == actor->steps.count) {
            end_round(t, actor);
            moved = true;
            continue;
        }
        const struct step *s = &actor->steps.steps[actor->next];
        if (s->kind == STEP_PUT)
            put(t, actor, s);
        else if (s->kind != STEP_WAIT)
            compute(actor, s);
        else if (!receive(actor, s))
            return moved;
        actor->next++;
        moved = true;
    }
    return moved;
}

static unsigned rounds_of(const struct algorithm *a, struct shape g)
{
    unsigned most = 0;

    for (g.rank = 0; g.rank < g.size; g.rank++) {
        struct round round;
        unsigned r = 0;
        for (; write_round(a, &g, r, &round); r++)
            free(round.steps);
        free(round.steps);
        most = r > most ? r : most;
    }
    return most;
}

void symbols_run(struct symbols *t, const struct algorithm *algorithm, const struct shape *g)
{
    struct footprint f = algorithm->footprint(g);
    bool moved = true;

    *t = (struct symbols){.algorithm = algorithm, .P = g->size, .rounds = rounds_of(algorithm, *g)};
    t->actors = allocate(t->P, sizeof *t->actors);
    for (unsigned p = 0; p < t->P; p++) {
        struct actor *actor = &t->actors[p];
        actor->g = *g;
        actor->g.rank = p;
        actor->in = allocate(1, sizeof *actor->in);
        *actor->in = (struct value){.kind = STEP_COPY, .rank = p, .kept = true};
        actor->scratch = allocate(f.scratch, sizeof *actor->scratch);
        actor->landed = allocate(f.slots, sizeof *actor->landed);
        actor->entries = allocate(t->rounds + 1, sizeof *actor->entries);
        for (unsigned r = 0; r <= t->rounds; r++)
            actor->entries[r].senders = allocate(f.slots, sizeof(unsigned));
        end_round(t, actor); /* round 0: x */
    }
    while (moved) {
        moved = false;
        for (unsigned p = 0; p < t->P; p++)
            moved |= advance(t, &t->actors[p]);
    }
    for (unsigned p = 0; p < t->P; p++)
        free(t->actors[p].steps.steps);
}
