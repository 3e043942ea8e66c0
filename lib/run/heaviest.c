/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/run/heaviest.h"

#include <string.h>

#include "lib/base/system.h"

#define WORD_BITS 64

/* ------------------------------------------------------------------ memory -------------------- */

static size_t words_of(const struct heaviest *h)
{
    return h->count / WORD_BITS + (h->count % WORD_BITS != 0);
}

/* Returns the bytes that the index of an element takes in a message. */
static size_t number_bytes(const struct heaviest *h)
{
    return h->count <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* True if the set in a message consists of bits, not of indices. */
static bool has_bits(const struct heaviest *h)
{
    return words_of(h) * sizeof(uint64_t) <= h->chosen * number_bytes(h);
}

/* Returns the offset of the set in a message. */
static size_t set_at(const struct heaviest *h)
{
    return (h->chosen * h->element + 7) / 8 * 8;
}

size_t ncoll__heaviest_bytes(const struct heaviest *h)
{
    if (!h->lists || h->chosen == 0)
        return h->chosen * h->element;
    return set_at(h) + (has_bits(h) ? words_of(h) * sizeof(uint64_t) : h->chosen * number_bytes(h));
}

bool ncoll__heaviest_take(struct ncoll_context *ctx, struct heaviest *h)
{
    h->len_bytes = ncoll__heaviest_bytes(h);
    h->set = ncoll__allocate(ctx, (words_of(h) + 1) * sizeof *h->set);
    h->in = ncoll__allocate(ctx, h->len_bytes + 1);
    h->out = h->lists ? h->in : ncoll__allocate(ctx, h->len_bytes + 1);
    return h->set != NULL && h->in != NULL && h->out != NULL;
}

void ncoll__heaviest_give(struct ncoll_context *ctx, struct heaviest *h)
{
    if (h->out != h->in)
        ncoll__release(ctx, h->out);
    ncoll__release(ctx, h->in);
    ncoll__release(ctx, h->set);
}

/* ------------------------------------------------------------------ choosing ------------------ */

/* Returns a number that grows with the weight. It is the same for -0.0 and 0.0. */
static uint64_t order_of(double weight)
{
    uint64_t bits, sign = UINT64_C(1) << 63;

    weight += 0.0;
    memcpy(&bits, &weight, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

#define DIGIT_BITS 11u
#define DIGITS     (1u << DIGIT_BITS)

/* The least order_of() of all chosen elements, and the number of elements with just this value that
 * are chosen. */
struct limit {
    uint64_t order;
    size_t equal;
};

/* Returns the number of elements whose bits are in word w of the set. */
static size_t elements_in(const struct heaviest *h, size_t w)
{
    size_t rest = h->count - w * WORD_BITS;
    return rest < WORD_BITS ? rest : WORD_BITS;
}

/* Makes a candidate of each element that earlier calls have not delivered: sets its bit in
 * h->set. */
static void set_candidates(struct heaviest *h, const uint8_t *in)
{
    for (size_t w = 0; w < words_of(h); w++) {
        uint64_t bits = 0;
        for (size_t k = 0; k < elements_in(h, w); k++)
            bits |= (uint64_t)(in == NULL || in[w * WORD_BITS + k] == 0) << k;
        h->set[w] = bits;
    }
}

/* Counts the candidates by one digit of their order_of(), which begins at bit `shift`. Candidates
 * that differ from the limit in the digits above it (the bits `above`) are removed. The code has no
 * branches that depend on weights, since these are as good as random. */
static void count_digits(struct heaviest *h, const double *weights, uint64_t limit, uint64_t above,
                         unsigned shift, size_t number[DIGITS])
{
    uint64_t digit = (~above) >> shift;

    for (size_t w = 0; w < words_of(h); w++) {
        uint64_t still = 0;
        for (uint64_t bits = h->set[w]; bits != 0; bits &= bits - 1) {
            unsigned k = (unsigned)__builtin_ctzll(bits);
            uint64_t order = order_of(weights[w * WORD_BITS + k]);
            uint64_t alike = (order & above) == limit;
            number[order >> shift & digit] += alike;
            still |= alike << k;
        }
        h->set[w] = still;
    }
}

/* Finds the limit digit by digit, the highest digit first: counts the candidates by their next
 * digit, and goes down from the greatest value of this digit until there are enough elements. After
 * a few digits few candidates are left. */
static struct limit find_limit(struct heaviest *h, const double *weights, const uint8_t *in)
{
    struct limit limit = {.equal = h->chosen};
    unsigned shift = 64;

    set_candidates(h, in);
    while (shift > 0) {
        unsigned bits = shift < DIGIT_BITS ? shift : DIGIT_BITS, digit = (1u << bits) - 1;
        uint64_t above = shift < 64 ? UINT64_MAX << shift : 0;
        size_t number[DIGITS] = {0};
        shift -= bits;
        count_digits(h, weights, limit.order, above, shift, number);
        while (digit > 0 && number[digit] < limit.equal)
            limit.equal -= number[digit--];
        limit.order |= (uint64_t)digit << shift;
    }
    return limit;
}

void ncoll__heaviest_choose(struct heaviest *h, const double *weights, const uint8_t *in)
{
    if (h->chosen == 0) {
        memset(h->set, 0, words_of(h) * sizeof *h->set);
        return;
    }
    struct limit limit = find_limit(h, weights, in);
    for (size_t w = 0; w < words_of(h); w++) {
        uint64_t chosen = 0;
        for (size_t k = 0; k < elements_in(h, w); k++) {
            size_t i = w * WORD_BITS + k;
            uint64_t order = order_of(weights[i]);
            bool is_new = in == NULL || in[i] == 0;
            bool equal = is_new & (order == limit.order) & (limit.equal > 0);
            limit.equal -= equal;
            chosen |= (uint64_t)((is_new & (order > limit.order)) | equal) << k;
        }
        h->set[w] = chosen;
    }
}

/* ------------------------------------------------------------------ packing ------------------- */

/* Moves the chosen elements of a vector to a packed copy, or back. It is inlined for elements of
 * the usual lengths. */
static inline __attribute__((always_inline)) void move(const struct heaviest *h,
                                                       unsigned char *vector, unsigned char *packed,
                                                       bool pack, size_t element)
{
    for (size_t w = 0; w < words_of(h); w++)
        for (uint64_t bits = h->set[w]; bits != 0; bits &= bits - 1) {
            size_t i = w * WORD_BITS + (unsigned)__builtin_ctzll(bits);
            if (pack)
                memcpy(packed, vector + i * element, element);
            else
                memcpy(vector + i * element, packed, element);
            packed += element;
        }
}

static void move_any(const struct heaviest *h, void *vector, void *packed, bool pack)
{
    switch (h->element) {
    case 4:
        move(h, vector, packed, pack, 4);
        break;
    case 8:
        move(h, vector, packed, pack, 8);
        break;
    default:
        move(h, vector, packed, pack, h->element);
    }
}

static void write_numbers(const struct heaviest *h, unsigned char *at)
{
    for (size_t w = 0; w < words_of(h); w++)
        for (uint64_t bits = h->set[w]; bits != 0; bits &= bits - 1) {
            uint64_t i = w * WORD_BITS + (unsigned)__builtin_ctzll(bits);
            uint32_t short_i = (uint32_t)i;
            bool is_short = number_bytes(h) == sizeof short_i;
            memcpy(at, is_short ? (void *)&short_i : (void *)&i, number_bytes(h));
            at += number_bytes(h);
        }
}

void ncoll__heaviest_pack(struct heaviest *h, const void *vector)
{
    unsigned char *packed = h->in;

    /* the vector is only read; the cast drops const because move_any() writes to it when it
     * unpacks */
    move_any(h, (void *)(uintptr_t)vector, packed, true);
    if (!h->lists || h->chosen == 0)
        return;
    if (has_bits(h))
        memcpy(packed + set_at(h), h->set, words_of(h) * sizeof *h->set);
    else
        write_numbers(h, packed + set_at(h));
}

void ncoll__heaviest_read_set(struct heaviest *h)
{
    const unsigned char *at = (unsigned char *)h->out + set_at(h);

    if (h->chosen > 0 && has_bits(h)) {
        memcpy(h->set, at, words_of(h) * sizeof *h->set);
        return;
    }
    memset(h->set, 0, words_of(h) * sizeof *h->set);
    for (size_t n = 0; n < h->chosen; n++, at += number_bytes(h)) {
        uint64_t i = 0;
        uint32_t short_i;
        memcpy(number_bytes(h) == sizeof short_i ? (void *)&short_i : (void *)&i, at,
               number_bytes(h));
        if (number_bytes(h) == sizeof short_i)
            i = short_i;
        h->set[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
    }
}

void ncoll__heaviest_unpack(struct heaviest *h, void *vector)
{
    if (h->chosen > 0)
        move_any(h, vector, h->out, false);
}

void ncoll__heaviest_mark(const struct heaviest *h, uint8_t *marks)
{
    for (size_t w = 0; w < words_of(h); w++)
        for (uint64_t bits = h->set[w]; bits != 0; bits &= bits - 1)
            marks[w * WORD_BITS + (unsigned)__builtin_ctzll(bits)] = 1;
}
