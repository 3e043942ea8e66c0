/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes in looks at neighbours' slots.
 */
#include "test/verify/mutate/kinds.h"

static bool a_look(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_LOOK;
}

static bool a_data_look(const struct schedule *s, const struct step *step)
{
    return a_look(s, step) && step->count > 0;
}

static bool a_shared_wait(const struct schedule *s, const struct step *step)
{
    return a_wait(s, step) && step->shared_wait;
}

static bool an_unshared_wait(const struct schedule *s, const struct step *step)
{
    return a_wait(s, step) && !step->shared_wait;
}

static bool reads_near(const struct schedule *s, const struct step *step)
{
    return is_local(step) && step->count > 0 && s->shape.count > 0 &&
           (step->a.buffer == BUF_NEIGHBOUR || step->b.buffer == BUF_NEIGHBOUR);
}

bool look_missing(struct site *at)
{
    if (!pick(at, a_data_look))
        return false;
    program_remove(at->program, at->index);
    return true;
}

/* Looks at another neighbour of the same node, if there is one. */
bool look_at_wrong_neighbour(struct site *at)
{
    const struct nodes *nodes = at->s->shape.nodes;

    if (!pick(at, a_data_look))
        return false;
    unsigned node = node_of(nodes, at->rank), M = ranks_on(nodes, node);
    at->step->at = rank_on(nodes, node, (local_of(nodes, at->step->at) + 1) % M);
    return true;
}

bool look_at_wrong_slot(struct site *at)
{
    if (at->s->footprint.slots < 2 || !pick(at, a_data_look))
        return false;
    at->step->slot = (at->step->slot + 1) % at->s->footprint.slots;
    return true;
}

bool look_for_wrong_peer(struct site *at)
{
    if (!pick(at, a_look))
        return false;
    at->step->peer = (at->step->peer + 1) % at->s->shape.size;
    return true;
}

bool look_at_another_node(struct site *at)
{
    const struct nodes *nodes = at->s->shape.nodes;

    if (!pick(at, a_look))
        return false;
    at->step->at = rank_on(nodes, (node_of(nodes, at->rank) + 1) % nodes->count, 0);
    return true;
}

bool look_at_itself(struct site *at)
{
    if (!pick(at, a_look))
        return false;
    at->step->at = at->rank;
    return true;
}

bool look_for_too_much(struct site *at)
{
    if (!pick(at, a_data_look))
        return false;
    at->step->count++;
    return true;
}

bool look_without_synchronising(struct site *at)
{
    if (!pick(at, a_look))
        return false;
    at->s->properties &= ~(unsigned)SYNCHRONISES;
    return true;
}

bool look_without_promise(struct site *at)
{
    if (!pick(at, a_look))
        return false;
    at->s->properties &= ~(unsigned)SHARES;
    return true;
}

bool look_where_windows_are_not_shared(struct site *at)
{
    static struct nodes apart;

    if (!pick(at, a_look))
        return false;
    apart = *at->s->shape.nodes;
    apart.shared = false;
    at->s->shape.nodes = &apart;
    return true;
}

bool look_that_the_wait_does_not_say(struct site *at)
{
    if (!pick(at, a_shared_wait))
        return false;
    at->step->shared_wait = false;
    return true;
}

bool wait_shared_with_nobody(struct site *at)
{
    if (!pick(at, an_unshared_wait))
        return false;
    at->step->shared_wait = true;
    return true;
}

/* The device of this rank does not know where it lies. */
bool neighbours_message_put(struct site *at)
{
    if (!pick(at, reads_near))
        return false;
    struct ref near = at->step->a.buffer == BUF_NEIGHBOUR ? at->step->a : at->step->b;
    for (unsigned i = 0; i < at->program->count; i++) {
        struct step put = at->program->steps[i];
        if (put.kind != STEP_PUT || put.count == 0)
            continue;
        put.a = near;
        program_remove(at->program, i);
        program_insert(at->program, at->program->count, put);
        return true;
    }
    return false;
}

bool neighbours_message_written(struct site *at)
{
    if (!pick(at, reads_near))
        return false;
    at->step->dst = at->step->a.buffer == BUF_NEIGHBOUR ? at->step->a : at->step->b;
    return true;
}

/* The message that it takes is another rank's, or nobody's. */
bool neighbours_message_read_elsewhere(struct site *at)
{
    if (!pick(at, reads_near))
        return false;
    struct ref *near = at->step->a.buffer == BUF_NEIGHBOUR ? &at->step->a : &at->step->b;
    near->offset++;
    return true;
}

/* The only put of a program, if it has no elements; NULL if there is none such. */
static const struct step *only_word(const struct program *program)
{
    const struct step *word = NULL;
    unsigned puts = 0;

    for (unsigned i = 0; i < program->count; i++)
        if (program->steps[i].kind == STEP_PUT && ++puts == 1)
            word = &program->steps[i];
    return puts == 1 && word->count == 0 ? word : NULL;
}

/* A rank that neither leads nor is looked at enters without saying so to anybody: in a barrier, or
 * with an empty block. */
bool neighbour_without_data_left_out(struct site *at)
{
    enum collective c = at->s->shape.collective;

    if ((c != COLL_BARRIER && c != COLL_ALLGATHER) || !pick(at, a_look))
        return false;
    const struct step *word = only_word(at->program);
    if (word == NULL)
        return false;
    struct step put = *word;
    program_remove(at->program, (unsigned)(word - at->program->steps));
    for (unsigned p = 0; p < at->s->shape.size; p++) {
        struct program *other = &at->s->ranks[p];
        for (unsigned j = other->count; j-- > 0;) {
            const struct step *s = &other->steps[j];
            if ((s->kind == STEP_WAIT && p == put.peer && s->slot == put.slot) ||
                (s->kind == STEP_LOOK && s->at == put.peer && s->slot == put.slot))
                program_remove(other, j);
        }
    }
    return true;
}
