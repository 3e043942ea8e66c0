/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring: reduce-scatter, allgather, and allreduce as one after the other.
 *
 * P. Patarasu, X. Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, JPDC
 * 69(2), 2009; over notified writes: R. Iakymchuk et al.: Efficient and Eventually Consistent
 * Collective Operations, 2022, section IV, and the pipelined rings of the GASPI-SHAN allreduce.
 *
 *   P  ranks; p  this one, which receives from p-1 and sends to p+1; P - 1 rounds k = 1.. a phase
 *   x_p[q]  block q of p's input, or slice q of its vector
 *   reduce-scatter   p sends its partial result of block p-k, and combines the one that arrives, of
 *                    block p-k-1, with its own block: block q starts at q+1 and is complete at q
 *   allgather        p sends block p-k+1 and gets block p-k
 *
 * P = 4, rank 0:
 *
 *   reduce-scatter   sends x0[3]          combines x3[2] o x0[2]
 *                    sends (x3 o x0)[2]   combines (x2 o x3)[1] o x0[1]
 *                    sends .. [1]         combines ((x1 o x2) o x3)[0] o x0[0]: block 0
 *   allgather        sends block 0        gets block 3
 *                    sends block 3        gets block 2
 *                    sends block 2        gets block 1
 *
 * (In the papers p ends with block p+1, which would be one step more for a reduce-scatter.) Blocks
 * are forwarded from the slots in which they arrived. 2 (P-1) messages of 1/P of the vector are the
 * fewest bytes that an allreduce can send, which suits long vectors. Several segments go round the
 * ring at the same time, to keep all ranks busy. If the call is done in parts, each part has some
 * of the rounds, and begins with data that the part before has left in OUT. Block q is combined
 * from q+1 on around the ring, so the operation has to commute. Each block is combined once, so all
 * ranks get the same bits.
 */
#include "algos/choice.h"
#include "algos/parts.h"
#include "algos/radix.h"

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned rounds(const struct shape *g)
{
    return (g->size - 1) * (scatters(g) + gathers(g));
}

/* Each round is a turn. A reduce-scatter cannot be done in parts: at the end of a part a rank keeps
 * a partial result of another rank's block in OUT, where a reduce-scatter has no room for it. */
static unsigned turns(const struct shape *g)
{
    return gathers(g) ? rounds(g) : 0;
}

static bool exists(const struct shape *g)
{
    return turns_of_part(g, rounds(g)) <= SLOTS_MAX && (g->size <= SLOTS_MAX || is_in_parts(g));
}

static struct footprint footprint(const struct shape *g)
{
    unsigned slots = turns_of_part(g, rounds(g));

    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = slots,
        .scratch = scatters(g) ? longest_parts(g, least(slots, g->size - 2)) : 0,
        .message = longest_parts(g, 1),
        .sent = longest_parts(g, scatters(g) + gathers(g)),
    };
}

/* The turns of this part. A turn is a round of one of the two phases. */
struct span {
    unsigned first, end; /* turns */
    unsigned last;       /* the last k of the reduce-scatter in this part */
};

static struct span span_of(const struct shape *g)
{
    struct span s = {first_turn(g, rounds(g)), end_of_turns(g, rounds(g)), 0};

    s.last = least(s.end, g->size - 1);
    return s;
}

/* Returns the place from which p sends its partial result of block p - k. The partial results of
 * this part lie in scratch, that of the last round first. */
static struct ref partial(const struct shape *g, const struct span *s, unsigned k)
{
    if (k == 1)
        return in_part(g, left(g, 1));
    return scratch_at(parts_from(g, g->size - s->last, s->last - k));
}

static void reduce_scatter(const struct shape *g, const struct span *s, unsigned turn,
                           struct round *out)
{
    unsigned k = turn + 1, q = left(g, k + 1), slot = turn - s->first;
    bool is_kept = k == g->size - 1 || turn + 1 == s->end;
    struct ref result = is_kept ? out_part(g, q) : partial(g, s, k + 1);
    size_t count = parts_from(g, g->size - k - 1, 1), sent = parts_from(g, g->size - k, 1);

    /* the part before has left this partial result in OUT, where this part will write others */
    if (turn > 0 && turn == s->first)
        emit_copy(out, partial(g, s, k), out_part(g, left(g, k)), sent);
    emit_put(out, right(g, 1), slot, partial(g, s, k), sent);
    emit_wait(out, left(g, 1), slot, count);
    emit_reduce(out, result, arrived_at(slot, 0), in_part(g, q), count);
}

static void allgather(const struct shape *g, const struct span *s, unsigned turn, struct round *out)
{
    unsigned k = turn - (rounds(g) - (g->size - 1)) + 1, slot = turn - s->first;
    size_t count = parts_from(g, g->size - k, 1), sent = parts_from(g, g->size - k + 1, 1);

    if (k == 1 && !scatters(g)) {
        emit_put(out, right(g, 1), slot, in_part(g, g->rank), sent);
        emit_copy(out, out_part(g, g->rank), in_part(g, g->rank), sent);
    } else if (k == 1 || turn == s->first) {
        emit_put(out, right(g, 1), slot, out_part(g, left(g, k - 1)), sent);
    }
    emit_wait(out, left(g, 1), slot, count);
    if (turn + 1 < s->end)
        emit_put(out, right(g, 1), slot + 1, arrived_at(slot, 0), count);
    emit_copy(out, out_part(g, left(g, k)), arrived_at(slot, 0), count);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    if (g->size == 1 && r == 0) {
        emit_copy(out, out_part(g, 0), in_part(g, 0), parts_before(g, 1));
        return true;
    }
    struct span s = span_of(g);
    unsigned turn = s.first + r;
    if (turn >= s.end)
        return false;
    if (scatters(g) && turn < g->size - 1)
        reduce_scatter(g, &s, turn, out);
    else
        allgather(g, &s, turn, out);
    return true;
}

static struct fit fit_of_allreduce(const struct shape *g, const struct situation *s)
{
    if (g->size == 2 && s->bytes >= READ_PAIR_BYTES && reads_each_other(s, s->bytes / 2))
        return (struct fit){.strength = FIT_READ, .why = "ranks read each other's memory"};
    bool is_long = g->size > 1 && s->bytes >= LONG_VECTOR_BYTES && ncoll__ring_is_short(g->size, s);
    return (struct fit){.strength = is_long ? FIT_LONGEST : FIT_NONE, .why = "fewest bytes"};
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    size_t scatter_bytes = s->ranks_per_core > 1 ? SHARED_SCATTER_BYTES : SCATTER_BYTES;
    bool is_long = g->collective == COLL_ALLGATHER ? ncoll__ring_pays(g, s)
                                                   : g->size > 2 && s->bytes >= scatter_bytes;

    if (rounds(g) > SLOTS_MAX) /* the plan would be long: only if a user asks for it */
        return (struct fit){.strength = FIT_NONE};
    if (g->collective == COLL_ALLREDUCE)
        return fit_of_allreduce(g, s);
    return (struct fit){.strength = is_long ? FIT_LONG : FIT_NONE, .why = "long data"};
}

const struct algorithm ncoll__ring = {
    .name = "ring",
    .summary = "ring: P-1 rounds of 1/P of the data to scatter, P-1 to gather",
    .source = "Patarasu and Yuan, JPDC 69(2), 2009; Iakymchuk et al., 2022",
    .collectives = 1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER | 1u << COLL_REDUCE_SCATTER,
    .properties =
        SYNCHRONISES | GIVES_SAME_BITS | NEEDS_COMMUTATIVE | SAME_DISTANCES | PARTS_FOLLOW,
    /* the slice that is put from IN is acknowledged by the message that brings its result */
    .acknowledges = 1u << COLL_ALLREDUCE,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .turns = turns,
    .peers = ncoll__peers_two,
    .fit = fit,
};
