/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "tools/explain/walk.h"

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

static struct actor *actor_of(struct symbols *t, const struct walker *w)
{
    struct actor *actor = &t->actors[w->g.rank];

    actor->round = w->round;
    return actor;
}

/* Returns the values that have arrived in a slot of a rank. `actor` is an element of the array of
 * all actors. */
static struct list *arrived(struct actor *actor, unsigned rank, unsigned slot)
{
    return &(actor - actor->g.rank + rank)->arrived[slot];
}

/* Returns the cells from the given place on. */
static struct value **cells_at(struct actor *actor, struct ref ref)
{
    size_t i = ref.block * actor->g.count + ref.offset;

    return ref.buffer == BUF_IN          ? actor->in + i
           : ref.buffer == BUF_OUT       ? actor->out + i
           : ref.buffer == BUF_SCRATCH   ? actor->scratch + i
           : ref.buffer == BUF_NEIGHBOUR ? arrived(actor, ref.rank, ref.slot)->values + i
                                         : actor->arrived[ref.slot].values + i;
}

static struct value *read_value(struct actor *actor, struct ref ref, size_t i)
{
    struct value *v = cells_at(actor, ref)[i];

    if (v->rank == actor->g.rank && v->round < actor->round)
        v->kept = true;
    return v;
}

static void compute(void *arg, const struct walker *w, const struct step *s)
{
    struct actor *actor = actor_of(arg, w);

    for (size_t i = 0; i < s->count; i++) {
        struct value *v = read_value(actor, s->a, i);
        if (s->kind != STEP_COPY) {
            struct value *made = allocate(1, sizeof *made);
            *made = (struct value){.kind = s->kind,
                                   .rank = actor->g.rank,
                                   .round = actor->round,
                                   .element = v->element,
                                   .a = v,
                                   .b = read_value(actor, s->b, i)};
            v = made;
        }
        cells_at(actor, s->dst)[i] = v;
    }
}

static void put(void *arg, const struct walker *w, const struct step *s)
{
    struct actor *actor = actor_of(arg, w);
    struct list *message = arrived(actor, s->peer, s->slot);

    message->values = allocate(s->count + 1, sizeof *message->values);
    message->count = (unsigned)s->count;
    for (size_t i = 0; i < s->count; i++) {
        message->values[i] = read_value(actor, s->a, i);
        message->values[i]->kept = true;
    }
}

static bool receive(void *arg, const struct walker *w, const struct step *s)
{
    struct actor *actor = actor_of(arg, w);
    struct list *message = arrived(actor, s->kind == STEP_LOOK ? s->at : actor->g.rank, s->slot);
    struct entry *entry = &actor->entries[actor->round];

    if (message->values == NULL)
        return false;
    for (unsigned i = 0; i < message->count; i++)
        list_add(&entry->got, message->values[i]);
    if (entry->senders == NULL)
        entry->senders = allocate(w->steps.count, sizeof *entry->senders);
    entry->senders[entry->n_senders++] = s->peer;
    return true;
}

static void list_if_made_now(struct actor *actor, struct value *v, bool result)
{
    if (v == NULL || v->kind == STEP_COPY || v->rank != actor->g.rank || v->round != actor->round)
        return;
    v->kept |= result;
    if (!v->listed)
        list_add(&actor->entries[actor->round].made, v);
    v->listed = true;
}

/* Lists the result first, then the content of scratch, in its order. */
static void end_round(void *arg, const struct walker *w)
{
    struct symbols *t = arg;
    struct actor *actor = actor_of(t, w);
    size_t scratch = whole_footprint(t->algorithm, &actor->g).scratch;

    for (size_t i = 0; i < actor->n_out; i++)
        list_if_made_now(actor, actor->out[i], true);
    for (size_t i = 0; i < scratch; i++)
        list_if_made_now(actor, actor->scratch[i], false);
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

static size_t elements(const struct shape *g, enum data_form form)
{
    return form == FORM_BLOCKS ? g->size * g->count : form == FORM_VECTOR ? g->count : 0;
}

static void enter(struct symbols *t, struct actor *actor, const struct shape *g, unsigned p)
{
    struct footprint f = whole_footprint(t->algorithm, g);

    actor->g = *g;
    actor->g.rank = p;
    actor->n_in = has_in(&actor->g) ? elements(g, in_form(g->collective)) : 0;
    actor->n_out = has_out(&actor->g) ? elements(g, out_form(g->collective)) : 0;
    actor->in = allocate(actor->n_in, sizeof *actor->in);
    actor->out = allocate(actor->n_out, sizeof *actor->out);
    for (size_t i = 0; i < actor->n_in; i++) {
        actor->in[i] = allocate(1, sizeof **actor->in);
        *actor->in[i] = (struct value){.kind = STEP_COPY, .rank = p, .element = i, .kept = true};
    }
    t->indexed |= actor->n_in > 1;
    actor->scratch = allocate(f.scratch, sizeof *actor->scratch);
    actor->arrived = allocate(f.slots, sizeof *actor->arrived);
    actor->entries = allocate(t->rounds + 1, sizeof *actor->entries);
}

void symbols_run(struct symbols *t, const struct algorithm *algorithm, const struct shape *g)
{
    static const struct walk symbolic = {put, receive, compute, end_round};

    *t = (struct symbols){.algorithm = algorithm, .P = g->size, .rounds = rounds_of(algorithm, *g)};
    t->actors = allocate(t->P, sizeof *t->actors);
    for (unsigned p = 0; p < t->P; p++)
        enter(t, &t->actors[p], g, p);
    walk(algorithm, g, &symbolic, t);
}
