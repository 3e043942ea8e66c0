/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressors: making and freeing them, and their residuals. */
#include "lib/api/compressor.h"

#include <math.h>
#include <string.h>

#include "lib/api/calls.h"
#include "lib/base/entry.h"
#include "lib/base/signature.h"
#include "lib/compute/codec.h"
#include "lib/run/compressed.h"

#define WORD sizeof(uint64_t)

/* ------------------------------------------------------------------ the codec ----------------- */

static int check_codec(struct ncoll_context *ctx, const ncoll_codec *codec)
{
    const unsigned known = NCOLL_CODEC_CHUNKS | NCOLL_CODEC_FIXED | NCOLL_CODEC_SURE;
    const char *wrong = codec == NULL                  ? "it is NULL"
                        : codec->size != sizeof *codec ? "its size is not sizeof(ncoll_codec)"
                        : codec->name == NULL          ? "it has no name"
                        : (codec->flags & ~known) != 0 ? "it has an unknown flag"
                        : codec->bound == NULL         ? "it has no bound()"
                        : codec->encode == NULL        ? "it has no encode()"
                        : codec->decode == NULL        ? "it has no decode()"
                                                       : NULL;

    if (wrong == NULL)
        return NCOLL_OK;
    return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                       "set size, name, flags and functions, or use ncoll_codec_topk() or "
                       "ncoll_codec_round16()",
                       "the codec is not valid: %s", wrong);
}

/* Returns the level that stands for the fraction of a top-k codec: see OP_CODEC in signature.h. */
static unsigned level_of(double fraction)
{
    double level = round(-8 * log2(fraction));

    return level < CODEC_LEVELS - 1 ? (unsigned)level : CODEC_LEVELS - 1;
}

static unsigned op_of(const ncoll_codec *codec)
{
    double fraction;
    ncoll_type to = ncoll__codec_rounds_to(codec);

    if (ncoll__codec_is_topk(codec, &fraction))
        return OP_CODEC_TOPK + level_of(fraction);
    return OP_CODEC + (to == NCOLL_BFLOAT16 ? CODEC_BFLOAT16
                       : to == NCOLL_HALF   ? CODEC_HALF
                                            : CODEC_USER);
}

/* Returns a hash, of 16 bits, of what must be the same on all ranks. */
static unsigned definition_of(const struct ncoll_compressor *z)
{
    const size_t numbers[] = {z->name.hash, z->codec.flags,  z->codec.parameters,
                              z->bound,     z->bound_longer, z->bound_shorter};

    return (unsigned)(ncoll__signature_hash(numbers, sizeof numbers / sizeof *numbers) >> 48);
}

/* ------------------------------------------------------------------ memory -------------------- */

static bool take(struct ncoll_compressor *z, void *memory, size_t n, size_t size)
{
    void **out = memory;
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX)
        return false;
    *out = ncoll__allocate(z->ctx, bytes);
    return *out != NULL;
}

/* Allocates the heads and counts of blocks, for a codec without NCOLL_CODEC_FIXED. Returns false if
 * there is no memory. */
static bool take_lengths(struct ncoll_compressor *z, size_t ranks)
{
    bool taken = take(z, &z->own_heads, ranks, WORD) && take(z, &z->got_heads, ranks, WORD) &&
                 take(z, &z->send_words, ranks, WORD) && take(z, &z->got_words, ranks, WORD) &&
                 take(z, &z->at, ranks, WORD);

    for (size_t q = 0; taken && q < ranks; q++)
        z->at[q] = q * z->block + 1;
    return taken;
}

static bool take_memory(struct ncoll_compressor *z)
{
    size_t ranks = (size_t)z->group->size, longest = ncoll__compressed_part(z, 0).count, own;
    size_t whole = 1 + z->bound / WORD + 1;
    bool chunks = z->codec.flags & NCOLL_CODEC_CHUNKS;
    bool decodes = z->feedback || chunks || z->codec.add == NULL;

    if (__builtin_mul_overflow(z->n_chunks, z->block, &own))
        return false;
    return take(z, &z->own, own > whole ? own : whole, WORD) &&
           (!__builtin_mul_overflow(ranks, z->block, &own)) && take(z, &z->got, own, WORD) &&
           (z->fixed || take_lengths(z, ranks)) &&
           (!z->feedback || (take(z, &z->residual, z->count, z->element) &&
                             take(z, &z->residual_next, z->count, z->element))) &&
           (!decodes || take(z, &z->decoded, longest, z->element)) &&
           (!chunks ||
            (take(z, &z->sum, longest, z->element) && take(z, &z->lost, longest, z->element)));
}

static void free_compressor(struct ncoll_compressor *z)
{
    void *const all[] = {z->own,           z->got,       z->own_heads, z->got_heads,
                         z->send_words,    z->got_words, z->at,        z->residual,
                         z->residual_next, z->decoded,   z->sum,       z->lost};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        ncoll__release(z->ctx, all[i]);
    z->magic = 0;
    ncoll__release(z->ctx, z);
}

/* ------------------------------------------------------------------ making -------------------- */

static bool find_bound(const struct ncoll_compressor *z, size_t count, size_t *bound)
{
    *bound = count > 0 ? z->codec.bound(count, z->type, &z->codec) : 0;
    return *bound <= PTRDIFF_MAX / 2;
}

/* Asks the codec how long encoded vectors and chunks can be. */
static int find_bounds(struct ncoll_compressor *z)
{
    size_t shorter = z->count / z->n_chunks, longer = shorter + (z->count % z->n_chunks > 0);

    if (!find_bound(z, z->count, &z->bound) || !find_bound(z, longer, &z->bound_longer) ||
        !find_bound(z, shorter, &z->bound_shorter))
        return ncoll__fail(
            z->ctx, NCOLL_ERR_ARGUMENT, -1,
            "use a codec for this type, such as the built-in ones for float and double",
            "codec \"%s\" does not take %zu elements of type %s", z->name.text, z->count,
            ncoll__type_name(z->type));
    size_t most = z->n_chunks == 1                     ? z->bound
                  : z->bound_longer > z->bound_shorter ? z->bound_longer
                                                       : z->bound_shorter;
    z->block = 1 + (most + WORD - 1) / WORD;
    return NCOLL_OK;
}

static int check(struct ncoll_group *g, const ncoll_codec *codec, size_t count, ncoll_type type,
                 int feedback, ncoll_compressor **out)
{
    struct ncoll_context *ctx = g->ctx;
    size_t element = ncoll_context_type_size(ctx, type), bytes;
    int rc = check_codec(ctx, codec);

    if (rc != NCOLL_OK)
        return rc;
    if (out == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer for the compressor",
                           "compressor is NULL");
    if (element == 0)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "use a type of ncoll.h",
                           "type %u is unknown", type);
    if (__builtin_mul_overflow(count, element, &bytes) || bytes > PTRDIFF_MAX)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "check the count",
                           "%zu elements of %zu bytes are more than memory can hold", count,
                           element);
    if (feedback != 0 && !ncoll__residual_has(type))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "make the compressor without feedback",
                           "elements of type %s cannot be added, as error feedback does",
                           ncoll__type_name(type));
    return NCOLL_OK;
}

int ncoll_compressor_create(ncoll_group *group, const ncoll_codec *codec, size_t count,
                            ncoll_type type, int feedback, ncoll_compressor **compressor)
{
    struct ncoll_compressor *z;
    int rc;

    if (!is_group(group))
        return NCOLL_ERR_HANDLE;
    ENTER(group->ctx);
    if ((rc = check(group, codec, count, type, feedback, compressor)) != NCOLL_OK)
        return rc;
    if ((z = ncoll__allocate(group->ctx, sizeof *z)) == NULL)
        return ncoll__fail(group->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a compressor");
    z->ctx = group->ctx;
    z->group = group;
    z->codec = *codec;
    z->name = ncoll__user_name(codec->name);
    z->codec.name = z->name.text;
    z->count = count;
    z->type = type;
    z->element = ncoll_context_type_size(group->ctx, type);
    z->feedback = feedback != 0;
    z->fixed = (codec->flags & NCOLL_CODEC_FIXED) != 0;
    z->n_chunks = codec->flags & NCOLL_CODEC_CHUNKS ? (unsigned)group->size : 1;
    if ((rc = find_bounds(z)) == NCOLL_OK && !take_memory(z))
        rc = ncoll__fail(z->ctx, NCOLL_ERR_MEMORY, -1, NULL,
                         "no memory for a compressor of %zu elements", count);
    if (rc != NCOLL_OK) {
        free_compressor(z);
        return rc;
    }
    z->op = op_of(codec);
    z->definition = definition_of(z);
    z->magic = COMPRESSOR_MAGIC;
    z->next = z->ctx->compressors;
    z->ctx->compressors = z;
    *compressor = z;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ using, freeing ------------ */

static int busy(const struct ncoll_compressor *z)
{
    return ncoll__fail(z->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                       "finish that call first",
                       "a call with the compressor (codec \"%s\") is unfinished", z->name.text);
}

int ncoll_compressor_free(ncoll_compressor **compressor)
{
    struct ncoll_compressor *z = compressor != NULL ? *compressor : NULL, **link;

    if (!is_compressor(z))
        return NCOLL_ERR_HANDLE;
    ENTER(z->ctx);
    if (ncoll__compressor_is_busy(z))
        return busy(z);
    for (const struct ncoll_request *r = z->ctx->requests; r != NULL; r = r->next)
        if (r->magic == REQUEST_MAGIC && r->known.args.compressor == z)
            return ncoll__fail(z->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                               "ncoll_request_free() it first",
                               "a persistent request uses the compressor (codec \"%s\")",
                               z->name.text);
    for (link = &z->ctx->compressors; *link != z;)
        link = &(*link)->next;
    *link = z->next;
    free_compressor(z);
    *compressor = NULL;
    return NCOLL_OK;
}

void ncoll__compressors_free(struct ncoll_context *ctx)
{
    for (struct ncoll_compressor *z = ctx->compressors, *next; z != NULL; z = next) {
        next = z->next;
        free_compressor(z);
    }
    ctx->compressors = NULL;
}

static int check_residual(const struct ncoll_compressor *z)
{
    if (!z->feedback)
        return ncoll__fail(z->ctx, NCOLL_ERR_ARGUMENT, -1, "make the compressor with feedback",
                           "the compressor (codec \"%s\") has no residual", z->name.text);
    return ncoll__compressor_is_busy(z) ? busy(z) : NCOLL_OK;
}

int ncoll_compressor_residual(ncoll_compressor *z, void *out)
{
    if (!is_compressor(z))
        return NCOLL_ERR_HANDLE;
    ENTER(z->ctx);
    int rc = check_residual(z);
    if (rc != NCOLL_OK)
        return rc;
    if (out == NULL && z->count > 0)
        return ncoll__fail(z->ctx, NCOLL_ERR_ARGUMENT, -1, "pass a buffer",
                           "out is NULL where %zu elements are needed", z->count);
    if (z->count > 0)
        memcpy(out, z->residual, z->count * z->element);
    return NCOLL_OK;
}

int ncoll_compressor_reset(ncoll_compressor *z, const void *residual)
{
    if (!is_compressor(z))
        return NCOLL_ERR_HANDLE;
    ENTER(z->ctx);
    int rc = check_residual(z);
    if (rc != NCOLL_OK)
        return rc;
    if (residual != NULL)
        memcpy(z->residual, residual, z->count * z->element);
    else
        memset(z->residual, 0, z->count * z->element);
    return NCOLL_OK;
}
