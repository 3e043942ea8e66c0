/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes and decodes the table of addresses (addresses.h). The entry of an address consists of:
 *
 *     kind      1 byte. Bit 0: a length follows; from bit 2 on: the codes of up to three words
 *     length    2 bytes, only if it differs from that of the previous address
 *     codes     2 bits for each word (4 bytes) of the address, only if it has more than three words
 *     data      for each word as many bytes as its code announces
 *
 * The code compares a word with the same word of the previous rank's address:
 *
 *     SAME    equal; no data
 *     NEXT    larger by 1, as numbers of processes often are; no data
 *     NEAR    the data is the difference, a signed number of 2 bytes
 *     WHOLE   the data is the word itself
 *
 * Words beyond the end of an address are 0. Each 16th address is compared with an empty one.
 */
#include "lib/base/addresses.h"

#include <string.h>

#include "lib/base/context.h"

#define EVERY     16
#define WORD      sizeof(uint32_t)
#define WORDS_MAX (UINT16_MAX / WORD)

enum code { SAME, NEXT, NEAR, WHOLE };

static size_t words_of(size_t len)
{
    return (len + WORD - 1) / WORD;
}

/* Pointers to the parts of an entry. in_kind: the codes lie in the kind, else in `codes`. */
struct entry_parts {
    unsigned char *kind, *codes, *data;
    bool in_kind;
};

static struct entry_parts parts_of(unsigned char *entry, size_t words)
{
    unsigned char *codes = entry + 1 + ((entry[0] & 1) ? sizeof(uint16_t) : 0);
    bool in_kind = words <= 3;

    return (struct entry_parts){entry, codes, codes + (in_kind ? 0 : (words + 3) / 4), in_kind};
}

static enum code code_at(const struct entry_parts *e, size_t i)
{
    return (enum code)(e->in_kind ? e->kind[0] >> (2 + 2 * i) & 3
                                  : e->codes[i / 4] >> i % 4 * 2 & 3);
}

static void set_code(const struct entry_parts *e, size_t i, enum code code)
{
    if (e->in_kind)
        e->kind[0] |= (unsigned char)((unsigned)code << (2 + 2 * i));
    else
        e->codes[i / 4] |= (unsigned char)((unsigned)code << i % 4 * 2);
}

/* Clears the previous address, so that the next one is compared with zeros. */
static void forget(struct addresses *a)
{
    a->len = 0;
    for (size_t w = 0; w < a->words; w++)
        a->one[w] = 0;
}

/* Replaces an array by a longer one with the same contents, and releases the old one. Returns false
 * if there is no memory. */
static bool lengthen(struct ncoll_context *ctx, void **array, size_t used, size_t bytes)
{
    void *longer = ncoll__allocate(ctx, bytes);

    if (longer == NULL)
        return false;
    if (used > 0)
        memcpy(longer, *array, used);
    ncoll__release(ctx, *array);
    *array = longer;
    return true;
}

/* Makes room for the entry of an address of len bytes. Returns false if there is none. */
static bool make_room(struct ncoll_context *ctx, size_t len)
{
    struct addresses *a = &ctx->addresses;
    size_t words = words_of(len), most = 1 + sizeof(uint16_t) + (words + 3) / 4 + words * WORD;
    size_t starts = ((size_t)ctx->ranks + EVERY - 1) / EVERY;

    if (words > WORDS_MAX || a->used + most > UINT32_MAX)
        return false;
    if (a->starts == NULL && (a->starts = ncoll__allocate(ctx, starts * sizeof *a->starts)) == NULL)
        return false;
    if (words > a->words) {
        if (!lengthen(ctx, (void **)&a->one, a->words * WORD, words * WORD))
            return false;
        a->words = words;
    }
    if (a->used + most > a->room) {
        size_t room = a->room + a->room / 4 + 2 * most;
        if (!lengthen(ctx, (void **)&a->bytes, a->used, room))
            return false;
        a->room = room;
    }
    return true;
}

static uint32_t word_of(const void *address, size_t len, size_t w)
{
    size_t rest = w * WORD < len ? len - w * WORD : 0;
    uint32_t word = 0;

    if (rest > 0)
        memcpy(&word, (const char *)address + w * WORD, rest < WORD ? rest : WORD);
    return word;
}

/* Encodes a word, given the same word of the previous address. Writes the data to *at, moves *at
 * behind it, and returns the code. */
static enum code write_word(uint32_t word, uint32_t before, unsigned char **at)
{
    int64_t ahead = (int64_t)word - before;
    int16_t near = (int16_t)ahead;

    if (ahead == 0 || ahead == 1)
        return ahead == 0 ? SAME : NEXT;
    if (near == ahead) {
        memcpy(*at, &near, sizeof near);
        *at += sizeof near;
        return NEAR;
    }
    memcpy(*at, &word, WORD);
    *at += WORD;
    return WHOLE;
}

bool ncoll__address_add(struct ncoll_context *ctx, const void *address, size_t len)
{
    struct addresses *a = &ctx->addresses;
    size_t words = words_of(len);
    uint16_t length = (uint16_t)len;

    if (!make_room(ctx, len))
        return false;
    if (a->count % EVERY == 0) {
        forget(a);
        a->starts[a->count / EVERY] = (uint32_t)a->used;
    }
    unsigned char *entry = a->bytes + a->used;
    entry[0] = len != a->len;
    if (len != a->len)
        memcpy(entry + 1, &length, sizeof length);
    struct entry_parts e = parts_of(entry, words);
    for (unsigned char *code = e.codes; code < e.data; code++)
        *code = 0;
    for (size_t w = 0; w < a->words; w++) {
        uint32_t word = word_of(address, len, w);
        if (w < words)
            set_code(&e, w, write_word(word, a->one[w], &e.data));
        a->one[w] = word;
    }
    a->len = len;
    a->used = (size_t)(e.data - a->bytes);
    a->count++;
    return true;
}

static void read_word(uint32_t *word, enum code code, unsigned char **at)
{
    int16_t near;

    switch (code) {
    case SAME:
        break;
    case NEXT:
        ++*word;
        break;
    case NEAR:
        memcpy(&near, *at, sizeof near);
        *word += (uint32_t)near;
        *at += sizeof near;
        break;
    case WHOLE:
        memcpy(word, *at, WORD);
        *at += WORD;
        break;
    }
}

/* Decodes an entry into a->one, which has to hold the previous address. Returns the next entry. */
static unsigned char *read_entry(struct addresses *a, unsigned char *entry)
{
    uint16_t length = (uint16_t)a->len;

    if (entry[0] & 1)
        memcpy(&length, entry + 1, sizeof length);
    a->len = length;
    size_t words = words_of(length);
    struct entry_parts e = parts_of(entry, words);
    for (size_t w = 0; w < a->words; w++)
        if (w < words)
            read_word(&a->one[w], code_at(&e, w), &e.data);
        else
            a->one[w] = 0;
    return e.data;
}

const void *ncoll__address_of(struct ncoll_context *ctx, int rank, size_t *len)
{
    struct addresses *a = &ctx->addresses;

    *len = 0;
    if (rank < 0 || rank >= a->count)
        return NULL;
    forget(a);
    unsigned char *entry = a->bytes + a->starts[rank / EVERY];
    for (int r = rank / EVERY * EVERY; r <= rank; r++)
        entry = read_entry(a, entry);
    *len = a->len;
    return a->len > 0 ? a->one : NULL;
}

void ncoll__addresses_free(struct ncoll_context *ctx)
{
    ncoll__release(ctx, ctx->addresses.bytes);
    ncoll__release(ctx, ctx->addresses.starts);
    ncoll__release(ctx, ctx->addresses.one);
    ctx->addresses = (struct addresses){0};
}
