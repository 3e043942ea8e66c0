/* SPDX-License-Identifier: BSD-3-Clause */
#include "algos/concatenation.h"

#include "algos/parts.h"
#include "algos/radix.h"

/* Returns the number of elements in `vectors` vectors, the first of which is that of the rank at
 * this distance to the right. */
static size_t elements(const struct shape *g, size_t distance, size_t vectors)
{
    return has_counts(g) ? parts_from(g, distance, vectors) : vectors * g->count;
}

/* Returns the largest number of elements in any `vectors` neighbouring vectors. */
static size_t most_elements(const struct shape *g, size_t vectors)
{
    return has_counts(g) ? longest_parts(g, vectors) : vectors * g->count;
}

static size_t piece_vectors(const struct shape *g, size_t w, unsigned i)
{
    size_t missing = g->size > i * w ? g->size - i * w : 0;
    return missing < w ? missing : w;
}

/* Returns the number of vectors in the longest message. */
static size_t longest_message(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    size_t last = piece_vectors(g, power(g->radix, k - 1), 1);
    size_t earlier = k > 1 ? power(g->radix, k - 2) : 0;

    return last > earlier ? last : earlier;
}

/* Returns the number of vectors that are kept in scratch, in the order of distance, since some
 * message sends them together. An allreduce keeps all vectors but those of the last round: it reads
 * them after writing OUT, which may be the memory of IN. */
static size_t kept(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);

    if (g->collective == COLL_ALLREDUCE)
        return power(g->radix, k - 1);
    return k > 1 ? longest_message(g) : 0;
}

struct footprint ncoll__concatenation_footprint(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);

    if (k == 0)
        return (struct footprint){0};
    return (struct footprint){
        .slots = messages_in(g->radix, k - 1) + (unsigned)((g->size - 1) / power(g->radix, k - 1)),
        .scratch = most_elements(g, kept(g)),
        .message = most_elements(g, longest_message(g)),
        .sent = most_elements(g, 1),
    };
}

struct piece ncoll__concatenation_piece(const struct shape *g, unsigned l, unsigned i)
{
    size_t w = power(g->radix, l - 1);
    struct piece piece = {
        .distance = i * w,
        .vectors = piece_vectors(g, w, i),
        .slot = messages_in(g->radix, l - 1) + i - 1,
    };

    if (piece.vectors > 0)
        piece.elements = elements(g, piece.distance, piece.vectors);
    return piece;
}

/* Copies to scratch those vectors of a piece that are kept. */
static void keep(const struct shape *g, const struct piece *piece, struct round *out)
{
    size_t begin = piece->distance, end = begin + piece->vectors;

    end = end < kept(g) ? end : kept(g);
    if (begin < end)
        emit_copy(out, scratch_at(elements(g, 0, begin)), arrived_at(piece->slot, 0),
                  elements(g, begin, end - begin));
}

void ncoll__concatenation_send(const struct shape *g, unsigned l, struct round *out)
{
    for (unsigned i = 1; i <= radix_of_round(g->radix, l); i++) {
        struct piece piece = ncoll__concatenation_piece(g, l, i);
        if (piece.vectors > 0)
            emit_put(out, left(g, piece.distance), piece.slot, l == 1 ? in_at(0) : scratch_at(0),
                     elements(g, 0, piece.vectors));
    }
    if (l == 1 && kept(g) > 0)
        emit_copy(out, scratch_at(0), in_at(0), elements(g, 0, 1));
}

void ncoll__concatenation_receive(const struct shape *g, unsigned l, struct round *out)
{
    for (unsigned i = 1; i <= radix_of_round(g->radix, l); i++) {
        struct piece piece = ncoll__concatenation_piece(g, l, i);
        if (piece.vectors == 0)
            continue;
        emit_wait(out, right(g, piece.distance), piece.slot, piece.elements);
        keep(g, &piece, out);
    }
}

void ncoll__concatenation_round(const struct shape *g, unsigned l, struct round *out)
{
    ncoll__concatenation_send(g, l, out);
    ncoll__concatenation_receive(g, l, out);
}

struct ref ncoll__concatenation_vector(const struct shape *g, unsigned q)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    size_t w = power(g->radix, k - 1);
    size_t distance = (q + g->size - g->rank) % g->size;

    if (distance < w)
        return scratch_at(distance * g->count);
    return arrived_at(messages_in(g->radix, k - 1) + (unsigned)(distance / w) - 1,
                      distance % w * g->count);
}
