/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes about roots, blocks, counts, and IN and OUT in the same memory.
 */
#include <stdlib.h>

#include "test/verify/mutate/kinds.h"
#include "test/verify/places.h"

static bool in_blocks(const struct schedule *s, struct ref ref)
{
    return (ref.buffer == BUF_IN && in_form(s->shape.collective) == FORM_BLOCKS) ||
           (ref.buffer == BUF_OUT && out_form(s->shape.collective) == FORM_BLOCKS);
}

static bool reads_in(const struct step *step)
{
    return step->kind != STEP_WAIT && step->kind != STEP_LOOK && step->a.buffer == BUF_IN &&
           step->count > 0;
}

static bool reads_in_block(const struct schedule *s, const struct step *step)
{
    return reads_in(step) && in_blocks(s, step->a);
}

static bool writes_out_block(const struct schedule *s, const struct step *step)
{
    return is_local(step) && step->dst.buffer == BUF_OUT && in_blocks(s, step->dst);
}

static bool copies_a_later_block(const struct schedule *s, const struct step *step)
{
    return s->shape.counts != NULL && writes_out_block(s, step) && step->dst.block > 0;
}

static bool puts_from_out(const struct schedule *s, const struct step *step)
{
    return a_put(s, step) && step->a.buffer == BUF_OUT && step->count > 0;
}

static struct shape shape_of(const struct site *at)
{
    return shape_on_rank(&at->s->shape, at->rank);
}

/* Any rank that has, or lacks, an OUT. */
static bool pick_rank(struct site *at, bool with_out)
{
    unsigned P = at->s->shape.size, first = (unsigned)(draw(at->seed) % P);

    for (unsigned i = 0; i < P; i++) {
        at->rank = (first + i) % P;
        at->program = &at->s->ranks[at->rank];
        struct shape g = shape_of(at);
        if (has_out(&g) == with_out)
            return true;
    }
    return false;
}

/* A rank's own place in OUT if that is where its IN lies, in place. */
static bool own_place(const struct site *at, struct ref *out)
{
    struct shape g = shape_of(at);
    enum data_form in_is = in_form(g.collective);

    if (!has_in(&g) || !has_out(&g) || in_is != FORM_VECTOR || block_count(&g, g.rank) == 0)
        return false;
    *out = out_form(g.collective) == FORM_BLOCKS ? out_block(g.rank, 0) : out_at(0);
    return true;
}

/* A program that begins by copying IN to scratch, and sends that alone, as a node of a tree does
 * whose children have nothing, might as well send IN: what a leaf does. */
static void send_from_in(struct program *p)
{
    struct step first = p->count == 2 ? p->steps[0] : (struct step){0};
    struct step *put = &p->steps[1];

    if (first.kind != STEP_COPY || first.a.buffer != BUF_IN || first.dst.buffer != BUF_SCRATCH ||
        put->kind != STEP_PUT || put->a.buffer != BUF_SCRATCH ||
        put->a.offset != first.dst.offset || put->count != first.count)
        return;
    put->a = first.a;
    program_remove(p, 0);
}

static bool does_the_same(const struct program *program, const struct program *other)
{
    struct program mine = {0}, theirs = {0};

    for (unsigned i = 0; i < program->count; i++)
        program_add(&mine, program->steps[i]);
    for (unsigned i = 0; i < other->count; i++)
        program_add(&theirs, other->steps[i]);
    send_from_in(&mine);
    send_from_in(&theirs);
    bool same = program_equals(&mine, &theirs);
    free(mine.steps);
    free(theirs.steps);
    return same;
}

/* One rank takes the call for another one: another root, or other counts. False if that is all the
 * same to it. */
static bool write_rank_anew(struct site *at, struct shape other)
{
    struct program program = {0};

    at->rank = (unsigned)(draw(at->seed) % other.size);
    other = shape_on_rank(&other, at->rank);
    program_of(at->s->algorithm, &other, false, &program);
    if (does_the_same(&program, &at->s->ranks[at->rank])) {
        free(program.steps);
        return false;
    }
    free(at->s->ranks[at->rank].steps);
    at->s->ranks[at->rank] = program;
    return true;
}

bool other_root_on_one_rank(struct site *at)
{
    struct shape other = at->s->shape;

    if (!is_rooted(other.collective) || other.size < 2)
        return false;
    other.root = (other.root + 1) % other.size;
    return write_rank_anew(at, other);
}

bool other_counts_on_one_rank(struct site *at)
{
    struct shape other = at->s->shape;
    size_t counts[64];

    if (other.counts == NULL || other.sends != NULL || other.size > 64)
        return false;
    for (unsigned q = 0; q < other.size; q++)
        counts[q] = other.counts[q] + 1;
    other.counts = counts;
    return write_rank_anew(at, other) && other.size > 1;
}

/* One rank takes the call for one of more, or fewer, ranks. */
bool other_places_on_one_rank(struct site *at)
{
    struct shape other = at->s->shape;

    if (other.places == 0 || other.size < 2)
        return false;
    other.places = other.places < other.size ? other.places + 1 : other.places - 1;
    return write_rank_anew(at, other);
}

/* Any rank that has no place. */
static bool pick_left_out(struct site *at)
{
    for (at->rank = 0; at->rank < at->s->shape.size; at->rank++) {
        struct shape g = shape_of(at);
        at->program = &at->s->ranks[at->rank];
        if (!takes_part(&g))
            return true;
    }
    return false;
}

/* It waits for a message that nobody puts: the root waits for none in that slot. */
bool rank_without_a_place_waits(struct site *at)
{
    unsigned root = at->s->shape.root;

    if (!pick_left_out(at) || at->s->footprint.slots == 0)
        return false;
    program_add(at->program, (struct step){.kind = STEP_WAIT, .peer = root, .count = 2});
    return true;
}

/* Its buffers are not touched. */
bool rank_without_a_place_writes(struct site *at)
{
    if (!pick_left_out(at))
        return false;
    program_add(at->program,
                (struct step){
                    .kind = STEP_COPY, .dst = out_at(0), .a = in_at(0), .b = in_at(0), .count = 1});
    return true;
}

bool in_from_wrong_block(struct site *at)
{
    if (at->s->shape.size == 1 || !pick(at, reads_in_block))
        return false;
    at->step->a.block = (at->step->a.block + 1) % at->s->shape.size;
    return true;
}

bool out_to_wrong_block(struct site *at)
{
    if (at->s->shape.size == 1 || !pick(at, writes_out_block))
        return false;
    at->step->dst.block = (at->step->dst.block + 1) % at->s->shape.size;
    return true;
}

/* Takes blocks as if those with counts lay side by side for a step, too. */
bool blocks_taken_for_a_vector(struct site *at)
{
    if (!pick(at, copies_a_later_block))
        return false;
    struct shape g = shape_of(at);
    for (; at->step->dst.block > 0; at->step->dst.block--)
        at->step->dst.offset += g.counts[at->step->dst.block - 1];
    return true;
}

/* True if rank p has an empty block for rank q, of which both know. */
static bool has_nothing_for(const struct shape *g, unsigned p, unsigned q)
{
    if (!has_no_message(g, 0))
        return false;
    if (g->sends != NULL)
        return g->sends[(size_t)p * g->size + q] == 0;
    return g->collective == COLL_GATHER ? q == g->root && g->counts[p] == 0
                                        : p == g->root && g->counts[q] == 0;
}

bool put_of_nothing(struct site *at)
{
    const struct shape *g = &at->s->shape;

    for (at->rank = 0; at->rank < g->size; at->rank++)
        for (unsigned q = 0; q < g->size; q++)
            if (q != at->rank && has_nothing_for(g, at->rank, q) && at->s->footprint.slots > 0) {
                program_insert(&at->s->ranks[at->rank], 0,
                               (struct step){.kind = STEP_PUT, .peer = q, .slot = 0});
                return true;
            }
    return false;
}

/* Right with IN and OUT apart: what is put in the place of OUT where IN lies is overwritten in the
 * end, but before that IN is read once more. */
bool in_spoilt_in_place(struct site *at)
{
    struct ref own;
    unsigned slot = SLOTS_MAX;

    if (!pick_rank(at, true) || !own_place(at, &own))
        return false;
    for (at->index = 0; at->index < at->program->count; at->index++) {
        at->step = &at->program->steps[at->index];
        if (slot < SLOTS_MAX && reads_in(at->step))
            break;
        if (a_data_wait(at->s, at->step))
            slot = at->step->slot;
    }
    if (at->index == at->program->count || at->step->a.offset > 0)
        return false;
    struct ref placed = arrived_at(slot, 0);
    program_insert(
        at->program, at->index,
        (struct step){.kind = STEP_COPY, .dst = own, .a = placed, .b = placed, .count = 1});
    return true;
}

/* Right in place only. */
bool own_part_not_copied(struct site *at)
{
    struct ref own;

    if (!pick_rank(at, true) || !own_place(at, &own))
        return false;
    for (at->index = 0; at->index < at->program->count; at->index++) {
        at->step = &at->program->steps[at->index];
        if (at->step->kind == STEP_COPY && at->step->a.buffer == BUF_IN &&
            at->step->dst.buffer == BUF_OUT) {
            program_remove(at->program, at->index);
            return true;
        }
    }
    return false;
}

static void add_write(struct site *at, struct ref dst)
{
    program_add(
        at->program,
        (struct step){.kind = STEP_COPY, .dst = dst, .a = in_at(0), .b = in_at(0), .count = 1});
}

bool out_written_where_there_is_none(struct site *at)
{
    if (at->s->shape.collective == COLL_EXSCAN || in_form(at->s->shape.collective) == FORM_NONE ||
        !pick_rank(at, false))
        return false;
    add_write(at, out_at(0));
    return true;
}

bool exscan_gives_rank_0_something(struct site *at)
{
    if (at->s->shape.collective != COLL_EXSCAN)
        return false;
    at->program = &at->s->ranks[at->rank = 0];
    add_write(at, out_at(0));
    return true;
}

bool out_written_beyond_its_end(struct site *at)
{
    if (out_form(at->s->shape.collective) != FORM_VECTOR || !pick_rank(at, true))
        return false;
    struct shape g = shape_of(at);
    add_write(at, out_at(block_count(&g, g.rank)));
    return true;
}

bool sent_out_overwritten(struct site *at)
{
    if (!pick(at, puts_from_out))
        return false;
    struct ref out = at->step->a;
    program_insert(at->program, at->index + 1,
                   (struct step){.kind = STEP_COPY, .dst = out, .a = out, .b = out, .count = 1});
    return true;
}

/* The last to be combined is followed by the rank's own, which an exscan leaves out. */
bool prefix_too_long(struct site *at)
{
    if (at->s->shape.collective != COLL_EXSCAN || !pick_rank(at, true))
        return false;
    for (at->index = at->program->count; at->index-- > 0;) {
        at->step = &at->program->steps[at->index];
        if (at->step->kind == STEP_COPY && at->step->dst.buffer == BUF_OUT) {
            at->step->kind = STEP_REDUCE;
            at->step->b = in_at(at->step->dst.offset);
            return true;
        }
    }
    return false;
}

bool scan_for_exscan(struct site *at)
{
    if (at->s->shape.collective != COLL_SCAN)
        return false;
    at->s->shape.collective = COLL_EXSCAN;
    return true;
}

bool exscan_for_scan(struct site *at)
{
    if (at->s->shape.collective != COLL_EXSCAN)
        return false;
    at->s->shape.collective = COLL_SCAN;
    return true;
}

/* In these somebody depends on nobody, or nobody on somebody; but two ranks may depend on each
 * other. */
bool promise_to_synchronise(struct site *at)
{
    enum collective c = at->s->shape.collective;

    if (at->s->shape.size <= 2 || (!is_rooted(c) && c != COLL_SCAN && c != COLL_EXSCAN))
        return false;
    at->s->properties |= SYNCHRONISES;
    return true;
}

/* A root has peers that others have not, whatever the distances. */
/* In the ring nothing comes back to a rank of its block but in an allreduce. */
bool promise_to_acknowledge(struct site *at)
{
    at->s->acknowledges = true;
    return at->s->shape.size > 1 && at->s->shape.counts == NULL &&
           at->s->shape.collective != COLL_ALLREDUCE &&
           at->s->algorithm == ncoll__algorithm_find("ring");
}

static bool a_copy_of_the_result(const struct schedule *s, const struct step *step)
{
    return s->acknowledges && s->shape.size == 2 && step->kind == STEP_COPY &&
           step->a.buffer == BUF_SCRATCH && step->dst.buffer == BUF_OUT;
}

/* The result is combined once more, from the same operands, when it has been put. */
bool read_after_the_acknowledgement(struct site *at)
{
    if (!pick(at, a_copy_of_the_result))
        return false;
    unsigned i = at->index;
    while (i > 0 && at->program->steps[i].kind != STEP_REDUCE)
        i--;
    struct ref dst = at->step->dst;
    *at->step = at->program->steps[i];
    at->step->dst = dst;
    return at->step->kind == STEP_REDUCE;
}

bool promise_of_same_distances(struct site *at)
{
    at->s->properties |= SAME_DISTANCES;
    return at->s->shape.size > 3 && !has_no_message(&at->s->shape, 0) &&
           at->s->algorithm == ncoll__algorithm_find("flat");
}

/* Combining in rank order needs a tree that does not turn with the root; by half of the ranks it
 * may. */
bool promise_to_rotate(struct site *at)
{
    at->s->properties |= ROTATES;
    return at->s->shape.size > 3 && at->s->shape.root != 0 &&
           2 * at->s->shape.root != at->s->shape.size &&
           at->s->algorithm == ncoll__algorithm_find("ordered-tree");
}
