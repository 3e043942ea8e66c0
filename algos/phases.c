/* SPDX-License-Identifier: BSD-3-Clause */
#include "algos/phases.h"

static unsigned on_node(const struct shape *whole, unsigned subgroup, unsigned place)
{
    return rank_on(whole->nodes, subgroup, place);
}

struct phase ncoll__phase_on_node(const struct shape *whole, const struct algorithm *algorithm,
                                  enum collective collective, unsigned radix)
{
    const struct nodes *nodes = whole->nodes;
    unsigned node = node_of(nodes, whole->rank);

    return (struct phase){
        .algorithm = algorithm,
        .g = {.collective = collective,
              .rank = local_of(nodes, whole->rank),
              .size = ranks_on(nodes, node),
              .radix = radix,
              .count = whole->count,
              .whole = whole,
              .subgroup = node,
              .inverse = whole->inverse},
        .takes_part = true,
        .whole = whole,
        .member = on_node,
        .block = on_node,
        .subgroup = node,
    };
}

struct phase ncoll__phase_across(const struct shape *whole, const struct algorithm *algorithm,
                                 member_of *member, unsigned subgroup)
{
    unsigned node = node_of(whole->nodes, whole->rank);

    return (struct phase){
        .algorithm = algorithm,
        .g = {.collective = whole->collective,
              .rank = node,
              .size = whole->nodes->count,
              .radix = whole->radix,
              .count = whole->count,
              .whole = whole,
              .subgroup = subgroup,
              .inverse = whole->inverse},
        .takes_part = member(whole, subgroup, node) == whole->rank,
        .whole = whole,
        .member = member,
        .block = member,
        .subgroup = subgroup,
    };
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct footprint ncoll__phase_footprint_on_nodes(const struct phase *on_node)
{
    const struct nodes *nodes = on_node->whole->nodes;
    struct phase phase = *on_node;
    struct footprint most = {0};

    phase.g.rank = 0;
    for (unsigned k = 0; k < nodes->count; k++) {
        if (k > 0 && ranks_on(nodes, k) == phase.g.size)
            continue;
        phase.g.size = ranks_on(nodes, k);
        phase.g.root = on_node->g.root < phase.g.size ? on_node->g.root : 0;
        struct footprint f = ncoll__phase_footprint(&phase);
        most.slots = f.slots > most.slots ? f.slots : most.slots;
        most.scratch = longer(f.scratch, most.scratch);
        most.message = longer(f.message, most.message);
        most.sent = longer(f.sent, most.sent);
    }
    return most;
}

/* ------------------------------------------------------------------ rounds -------------------- */

static struct ref further(struct ref ref, size_t elements)
{
    ref.offset += elements;
    return ref;
}

/* Translates a place in a phase into a place in the whole schedule. */
static struct ref ref_in_whole(const struct phase *p, struct ref ref)
{
    switch (ref.buffer) {
    case BUF_IN:
        return further(p->in, ref.offset);
    case BUF_OUT:
        if (out_form(p->g.collective) == FORM_BLOCKS)
            return out_block(p->block(p->whole, p->subgroup, ref.block), ref.offset);
        return further(p->out, ref.offset);
    case BUF_SCRATCH:
        return further(ref, p->scratch);
    default:
        ref.slot += p->slot;
        if (p->follows) {
            ref.buffer = BUF_NEIGHBOUR;
            ref.rank = p->member(p->whole, p->subgroup, p->g.rank);
        }
        return ref;
    }
}

static struct step step_in_whole(const struct phase *p, struct step s)
{
    if (s.kind == STEP_PUT || s.kind == STEP_WAIT) {
        s.peer = p->member(p->whole, p->subgroup, s.peer);
        s.slot += p->slot;
    }
    if (s.kind == STEP_WAIT && p->follows) {
        s.kind = STEP_LOOK;
        s.at = p->member(p->whole, p->subgroup, p->g.rank);
    } else if (s.kind == STEP_WAIT) {
        s.shared_wait = p->shared_wait;
    }
    bool waits = s.kind == STEP_WAIT || s.kind == STEP_LOOK;
    if (!waits)
        s.a = ref_in_whole(p, s.a);
    if (!waits && s.kind != STEP_PUT) {
        s.b = ref_in_whole(p, s.b);
        s.dst = ref_in_whole(p, s.dst);
    }
    return s;
}

static bool copies_onto_itself(const struct step *s)
{
    return s->kind == STEP_COPY && s->dst.buffer == s->a.buffer && s->dst.block == s->a.block &&
           s->dst.offset == s->a.offset;
}

static void add_to_whole(const struct phase *p, struct round *out, struct step step)
{
    struct step s = step_in_whole(p, step);
    bool message = s.kind == STEP_PUT || s.kind == STEP_WAIT || s.kind == STEP_LOOK;

    if (copies_onto_itself(&s) || (s.kind == STEP_PUT && p->follows))
        return;
    if (message)
        emit(out, s);
    else
        emit_local(out, s.kind, s.dst, s.a, s.b, s.count);
}

bool ncoll__phase_round(const struct phase *phase, unsigned r, struct round *out)
{
    struct round nothing = {0}, *own = phase->takes_part ? out : &nothing;
    unsigned from = own->count, end;
    bool repeats = own->repeats, uneven = own->uneven;

    /* no repeated steps: in the whole schedule the blocks may not lie at regular distances */
    own->repeats = own->uneven = false;
    bool more = phase->algorithm->round(&phase->g, r, own);
    own->repeats = repeats;
    own->uneven = uneven;
    end = own->count;
    own->count = from;
    for (unsigned i = from; more && i < end; i++)
        add_to_whole(phase, own, own->steps[i]);
    return more;
}

unsigned ncoll__phase_rounds(const struct phase *phase)
{
    struct phase silent = *phase;
    unsigned rounds = 0;

    silent.takes_part = false;
    while (ncoll__phase_round(&silent, rounds, NULL))
        rounds++;
    return rounds;
}

bool ncoll__phases_round(const struct phase *phases, unsigned n, unsigned r, struct round *out)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned rounds = ncoll__phase_rounds(&phases[i]);
        if (r < rounds)
            return ncoll__phase_round(&phases[i], r, out);
        r -= rounds;
    }
    return false;
}
