/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/messages.h"

#include <string.h>

#include "tools/explain/symbols.h"
#include "tools/explain/walk.h"

/* The run that finds the messages, beside the symbolic run that has found what they carry. */
struct finder {
    struct symbols symbols;
    struct messages *out;
    struct message *put; /* [P][slots]; count of a message that has not been put: 0 rounds */
    size_t slots;
};

/* The ranks whose data is in a value. */
static uint32_t data_of(const struct value *v)
{
    switch (v->kind) {
    case STEP_REDUCE:
        return data_of(v->a) | data_of(v->b);
    case STEP_TAKEOUT:
        return data_of(v->a) & ~data_of(v->b);
    default:
        return UINT32_C(1) << v->rank;
    }
}

static void find_data(const struct list *values, struct message *m)
{
    bool combined = false;

    for (unsigned i = 0; i < values->count; i++) {
        m->data |= data_of(values->values[i]);
        combined |= values->values[i]->kind != STEP_COPY;
    }
    m->carries = values->count == 0                  ? CARRIES_NOTHING
                 : combined                          ? CARRIES_COMBINED
                 : m->data == UINT32_C(1) << m->from ? CARRIES_OWN
                                                     : CARRIES_OTHERS;
}

static struct message *put_to(struct finder *f, unsigned to, unsigned slot)
{
    return &f->put[to * f->slots + slot];
}

static void put(void *arg, const struct walker *w, const struct step *s)
{
    struct finder *f = arg;
    struct message *m = put_to(f, s->peer, s->slot);

    *m = (struct message){
        .from = w->g.rank, .to = s->peer, .put_round = w->round, .count = s->count};
    find_data(&f->symbols.actors[s->peer].arrived[s->slot], m);
}

static void add(struct messages *out, const struct message *m)
{
    if (out->n == out->capacity) {
        out->capacity = 2 * out->n + 64;
        struct message *grown = allocate(out->capacity, sizeof *grown);
        if (out->n > 0)
            memcpy(grown, out->all, out->n * sizeof *grown);
        out->all = grown;
    }
    out->all[out->n++] = *m;
}

static bool receive(void *arg, const struct walker *w, const struct step *s)
{
    struct finder *f = arg;
    bool looks = s->kind == STEP_LOOK;
    struct message m = *put_to(f, looks ? s->at : w->g.rank, s->slot);

    if (m.put_round == 0)
        return false;
    m.to = w->g.rank;
    m.seen_round = w->round;
    m.looked_at = looks;
    add(f->out, &m);
    return true;
}

static void end_round(void *arg, const struct walker *w)
{
    (void)arg;
    (void)w;
}

void messages_list(struct messages *out, const struct algorithm *a, const struct shape *g)
{
    static const struct walk finding = {.put = put, .receive = receive, .end_round = end_round};
    struct finder f = {.out = out, .slots = whole_footprint(a, g).slots};

    *out = (struct messages){0};
    symbols_run(&f.symbols, a, g);
    out->rounds = f.symbols.rounds;
    for (unsigned p = 0; p < g->size; p++)
        out->own[p] = f.symbols.actors[p].n_in > 0 ? UINT32_C(1) << p : 0;
    f.put = allocate(g->size * f.slots + 1, sizeof *f.put);
    walk(a, g, &finding, &f);
}
