/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up a tree and down again: a reduction or a gather to rank 0, then a broadcast of its result.
 *
 * The k-nomial tree, k = n + 1, of knomial.c: J. Pjesivac-Grbovic, T. Angskun, G. Bosilca,
 * G. E. Fagg, E. Gabriel, J. J. Dongarra: Performance Analysis of MPI Collective Operations,
 * Cluster Computing 10, 2007 (with the binomial tree, n = 1).
 *
 * P = 6, n = 1:
 *
 *   up     1 to 0, 3 to 2, 5 to 4     0: x0 o x1     2: x2 o x3     4: x4 o x5
 *          2 to 0                     0: (x0 o x1) o (x2 o x3)
 *          4 to 0                     0: ((x0 o x1) o (x2 o x3)) o (x4 o x5)
 *   down   0 to 4, 2, 1; 4 to 5; 2 to 3
 *
 * It takes 2 (P-1) messages in all, where dissemination needs about P log P. This pays if there are
 * more ranks than processors: the work of ranks that share a processor adds up, and each wait costs
 * a context switch. A rank combines ranges in rank order, so the operation need not commute. All
 * ranks get the value that rank 0 has computed. An allgather sends all P blocks down, from OUT if
 * they lie side by side there, which suits short blocks.
 */
#include "algos/choice.h"
#include "algos/trees.h"

#define SLOT_DOWN 0u
#define SLOT_UP   1u

/* Returns the number of elements in the blocks of all ranks. */
static size_t all_elements(const struct shape *g)
{
    return blocks_before(g, g->size);
}

/* Returns the footprint of an allgather: that of a gather, whose slots begin with 0, and one more
 * slot for the message that comes down. */
static struct footprint allgather_footprint(const struct shape *g)
{
    struct shape at_root = *g;

    at_root.rank = 0;
    struct node root = ncoll__tree_node(&at_root, knomial_share, 0);
    struct footprint needs = ncoll__gather_footprint(&root);
    needs.slots++;
    needs.message = all_elements(g);
    if (!has_counts(g) && !g->separate)
        needs.sent = needs.message;
    else
        needs.scratch = needs.message;
    return needs;
}

static struct footprint footprint(const struct shape *g)
{
    if (g->size == 1)
        return (struct footprint){0};
    if (g->collective == COLL_ALLGATHER)
        return allgather_footprint(g);
    return (struct footprint){
        .slots = SLOT_UP + ncoll__tree_widest(g, knomial_share),
        .scratch = ncoll__tree_is_deep(g, knomial_share) ? g->count : 0,
        .message = g->count,
        .sent = g->count,
    };
}

/* Copies each block between OUT and `packed`, where all blocks are contiguous. pack: from OUT. */
static void copy_blocks(const struct shape *g, struct ref packed, bool pack, struct round *out)
{
    struct stride blocks = by_blocks(1),
                  further = by_elements(has_counts(g) ? 0 : (ptrdiff_t)g->count);
    struct step step = {.kind = STEP_COPY,
                        .dst = pack ? packed : out_block(0, 0),
                        .a = pack ? out_block(0, 0) : packed,
                        .count = g->count,
                        .dst_by = pack ? further : blocks,
                        .a_by = pack ? blocks : further};

    step.b = step.a;
    step.b_by = step.a_by;
    if (has_counts(g))
        ncoll__emit_uneven(out, g, step, g->size);
    else
        ncoll__emit_repeated(out, step, g->size);
}

static void all_blocks_down(const struct node *t, struct round *out)
{
    const struct shape *g = t->g;
    unsigned slot = ncoll__tree_widest(g, knomial_share);
    size_t all = all_elements(g);
    struct ref packed = t->v != 0 ? arrived_at(slot, 0) : scratch_at(0);
    bool irregular = has_counts(g) || g->separate;

    if (t->v != 0)
        emit_wait(out, t->parent, slot, all);
    else if (irregular)
        copy_blocks(g, packed, true, out);
    else
        packed = out_block(0, 0);
    for (unsigned i = t->children; i-- > 0;)
        emit_put(out, ncoll__tree_branch(t, i).rank, slot, packed, all);
    if (t->v != 0 && irregular)
        copy_blocks(g, packed, false, out);
    else if (t->v != 0)
        emit_copy(out, out_block(0, 0), packed, all);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct node t = ncoll__tree_node(g, knomial_share, 0);
    bool allgather = g->collective == COLL_ALLGATHER;

    if (r > 1 || (r == 1 && g->size == 1))
        return false;
    if (r == 0 && allgather)
        ncoll__tree_gather(&t, out);
    else if (r == 0)
        ncoll__tree_up(&t, SLOT_UP, out_at(0), out);
    else if (allgather)
        all_blocks_down(&t, out);
    else
        ncoll__tree_down(&t, SLOT_DOWN, out_at(0), out);
    return true;
}

/* A tree replaces another algorithm only if its estimated time is lower by this factor, since its
 * critical path depends on the order in which ranks that share a core happen to run. For many ranks
 * the factor is 1: other algorithms then have several rounds, in which each rank waits for others,
 * and suffer more if a foreign process uses the cores, since each round may take a time slice of
 * the scheduler. In a tree one rank waits for several messages at once. */
#define GAIN           0.8
#define GAIN_OF_ROUNDS 1.0
/* Blocks that arrive together at the root go down as one message, which saves some copying. */
#define GAIN_OF_BLOCKS 0.9

static struct fit fit(const struct shape *g, const struct situation *s)
{
    if (g->collective == COLL_ALLREDUCE && ncoll__reads_slices(g, s) &&
        ncoll__root_is_quicker(g, s))
        return (struct fit){.strength = FIT_READ, .why = "ranks read each other's memory"};
    double gain = g->collective == COLL_ALLGATHER ? GAIN_OF_BLOCKS : GAIN;
    if (fewest_rounds(g->size, RADIX_MAX) > 1)
        gain = GAIN_OF_ROUNDS;
    else if (g->collective == COLL_ALLGATHER && s->any.message_ns >= SWITCH_NS)
        gain = 1;
    return (struct fit){.gain = s->ranks_per_core > 1 ? gain : 0,
                        .why = "fewest messages; ranks share cores"};
}

/* In an allgather each rank gets all blocks on the way down. */
static double cost(const struct shape *g, const struct situation *s)
{
    size_t bytes = g->collective == COLL_ALLGATHER ? (size_t)s->bytes_of_all : s->bytes;

    return ncoll__tree_ns(ncoll__pace(&s->far, bytes, s->ranks_per_core), g->size, g->radix);
}

const struct algorithm ncoll__tree = {
    .name = "tree",
    .summary = "k-nomial tree, k = n+1: up to rank 0 and down again",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | USES_RADIX | PACKS_UNEVEN,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = cost,
};
