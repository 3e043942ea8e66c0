/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/exercise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/signature.h"

#define GUARD_BYTES 128u
#define FILL        0xa5

/* ------------------------------------------------------------------ drawing ------------------ */

static bool may_be_irregular(enum collective c)
{
    return c != COLL_BARRIER && (in_form(c) == FORM_BLOCKS || out_form(c) == FORM_BLOCKS);
}

void exercise_draw(struct exercise_spec *s, struct random *random, int ranks, size_t bytes_max)
{
    static const size_t counts[] = {0, 0, 1, 1, 1, 3, 3, 3, 255, 255, 255, 1000, 1000};
    uint64_t kind = random_below(random, 32);
    size_t element = s->piece->element;

    s->count = counts[random_below(random, sizeof counts / sizeof counts[0])];
    if (kind == 0 && random_below(random, (uint64_t)ranks) < 3) /* takes long to check */
        s->count = 65537;
    else if (kind < 6)
        s->count = random_below(random, 2000);
    if (s->collective == COLL_BARRIER)
        s->count = 0;
    if (may_be_irregular(s->collective) && s->count * element * (size_t)ranks > bytes_max)
        s->count /= (size_t)ranks;
    while (s->count * element > bytes_max)
        s->count /= 3;
    s->irregular = may_be_irregular(s->collective) && random_below(random, 2) == 0;
    s->gaps = s->irregular && s->collective != COLL_REDUCE_SCATTER && random_below(random, 2) == 0;
    s->in_place = random_below(random, 2) == 0;
    s->root = is_rooted(s->collective) ? (int)random_below(random, (uint64_t)ranks) : 0;
    exercise_draw_threshold(s, random);
    s->shape_stream = random_next(random);
    s->values_stream = random_next(random);
}

enum stream_use { COUNTS, PLACES_IN, PLACES_OUT, BUFFERS, VALUES, WEIGHTS };

static struct random stream_of(const struct exercise *x, enum stream_use use, int a, int b)
{
    uint64_t stream = use != VALUES ? x->spec.shape_stream : x->spec.values_stream;
    uint64_t which = (uint64_t)use << 16 | (unsigned)a << 8 | (unsigned)b;

    return random_stream(x->seed ^ stream, which + 1);
}

/* ------------------------------------------------------------------ counts and displs -------- */

static size_t drawn_count(const struct exercise *x, int a, int b)
{
    struct random random = stream_of(x, COUNTS, a, b);
    size_t count = x->spec.count;

    if (x->spec.shape_stream % 8 == 0) /* one has everything */
        return a == (int)(x->spec.shape_stream >> 8) % x->ranks ? count : 0;
    switch (random_below(&random, 8)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return count;
    case 3:
        return 1;
    default:
        return random_below(&random, 2 * count + 1);
    }
}

/* Elements that go from one rank to the other. */
static size_t count_between(const struct exercise *x, int from, int to)
{
    if (!x->spec.irregular)
        return x->spec.count;
    switch (x->spec.collective) {
    case COLL_ALLTOALL:
        if (x->spec.in_place) /* as much in both directions */
            return drawn_count(x, from < to ? from : to, from < to ? to : from);
        return drawn_count(x, from, to);
    case COLL_GATHER:
    case COLL_ALLGATHER:
        return drawn_count(x, from, 0);
    default:
        return drawn_count(x, to, 0);
    }
}

/* One block after the other; with gaps, in any order, with a few elements left out in between. */
static void place_blocks(struct side *side, bool gaps, struct random random)
{
    unsigned order[EXERCISE_RANKS];
    size_t next = 0;

    for (unsigned i = 0; i < side->n; i++) {
        unsigned j = gaps ? (unsigned)random_below(&random, i + 1) : i;
        order[i] = order[j];
        order[j] = i;
    }
    for (unsigned i = 0; i < side->n; i++) {
        if (gaps)
            next += random_below(&random, 4);
        side->displs[order[i]] = next;
        next += side->counts[order[i]];
    }
}

static void set_counts(struct exercise *x)
{
    enum collective c = x->spec.collective;

    x->in.n = in_form(c) == FORM_BLOCKS ? (unsigned)x->ranks : 1;
    x->out.n = out_form(c) == FORM_BLOCKS ? (unsigned)x->ranks : 1;
    for (unsigned q = 0; q < x->in.n; q++)
        x->in.counts[q] = count_between(x, x->rank, (int)q);
    for (unsigned q = 0; q < x->out.n; q++)
        x->out.counts[q] = count_between(x, (int)q, x->rank);
    if (c == COLL_GATHER || c == COLL_ALLGATHER)
        x->in.counts[0] = count_between(x, x->rank, 0);
    if (c == COLL_SCATTER || c == COLL_REDUCE_SCATTER)
        x->out.counts[0] = count_between(x, 0, x->rank);
    place_blocks(&x->in, x->spec.gaps && x->in.n > 1, stream_of(x, PLACES_IN, x->rank, 0));
    if (c == COLL_ALLTOALL && x->spec.in_place)
        memcpy(x->out.displs, x->in.displs, sizeof x->out.displs);
    else
        place_blocks(&x->out, x->spec.gaps && x->out.n > 1, stream_of(x, PLACES_OUT, x->rank, 0));
}

static size_t bytes_of(const struct exercise *x, const struct side *side)
{
    size_t end = 0;

    for (unsigned q = 0; q < side->n; q++)
        if (side->displs[q] + side->counts[q] > end)
            end = side->displs[q] + side->counts[q];
    return end * x->element;
}

/* ------------------------------------------------------------------ buffers ------------------ */

void *exercise_allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        abort();
    return memory;
}

static void *allocate_as(struct exercise *x, enum area_kind kind, size_t bytes)
{
    void *memory = NULL;
    int rc = NCOLL_OK;

    if (kind == AREA_ALLOCATED)
        rc = ncoll_alloc(x->ctx, bytes, &memory);
    else
        memory = exercise_allocate(bytes);
    if (kind == AREA_REGISTERED)
        rc = ncoll_mem_register(x->ctx, memory, bytes);
    if (rc != NCOLL_OK) {
        fprintf(stderr, "%s\n", ncoll_last_error(x->ctx)->text);
        abort();
    }
    return memory;
}

/* The memory of a call that failed is left to the context. */
static void release(struct exercise *x, struct area *area)
{
    bool known = area->memory != NULL && area->kind != AREA_UNKNOWN;

    if (known && area->kind == AREA_ALLOCATED)
        ncoll_free(x->ctx, area->memory);
    else if (!known || ncoll_mem_deregister(x->ctx, area->memory) == NCOLL_OK)
        free(area->memory);
    free(area->image);
}

/* Half of all areas are known to the library, either way. */
static enum area_kind draw_kind(const struct exercise *x, struct random *random)
{
    static const enum area_kind kinds[] = {AREA_UNKNOWN, AREA_UNKNOWN, AREA_REGISTERED,
                                           AREA_ALLOCATED};
    enum area_kind kind = kinds[random_below(random, 4)];

    return x->ctx != NULL ? kind : AREA_UNKNOWN;
}

/* Starts anywhere that the type may start. */
static void make_area(struct exercise *x, struct area *area, struct side *side,
                      struct random *random)
{
    size_t bytes = bytes_of(x, side);

    side->area = area;
    side->at = GUARD_BYTES + random_below(random, 8) * x->element;
    area->bytes = side->at + bytes + GUARD_BYTES;
    area->kind = draw_kind(x, random);
    area->memory = allocate_as(x, area->kind, area->bytes);
    area->image = exercise_allocate(area->bytes);
}

/* Lets the smaller side share the area of the larger one, in place. */
static void share_area(struct exercise *x, struct side *large, struct side *small)
{
    bool block = large->n > 1 && small->n == 1 && x->spec.collective != COLL_REDUCE_SCATTER;

    small->area = large->area;
    small->at = large->at + (block ? large->displs[x->rank] * x->element : 0);
}

static void make_buffers(struct exercise *x)
{
    struct random random = stream_of(x, BUFFERS, x->rank, 0);
    enum collective c = x->spec.collective;
    struct side *large = x->in.n > 1 ? &x->in : &x->out;
    struct side *small = large == &x->in ? &x->out : &x->in;
    bool together =
        c == COLL_BCAST || (x->spec.in_place && ((x->in.used && x->out.used) || c == COLL_EXSCAN));

    make_area(x, &x->areas[0], large, &random);
    if (together) {
        share_area(x, large, small);
        return;
    }
    make_area(x, &x->areas[1], small, &random);
    x->in.null = (!x->in.used || bytes_of(x, &x->in) == 0) && random_below(&random, 2);
    x->out.null = (!x->out.used || bytes_of(x, &x->out) == 0) && random_below(&random, 2);
}

/* ------------------------------------------------------------------ values ------------------- */

/* Makes the values that rank `from` has in a block: `count` elements from `first` on. */
static void values(const struct exercise *x, int from, int block, void *to, size_t first,
                   size_t count)
{
    reference_values(&x->spec.piece->operation, to, first, count,
                     stream_of(x, VALUES, from, block));
}

static void fill_in(struct exercise *x)
{
    unsigned char *in = x->in.area->memory + x->in.at;

    for (unsigned q = 0; x->in.used && q < x->in.n; q++)
        values(x, x->rank, (int)q, in + x->in.displs[q] * x->element, 0, x->in.counts[q]);
}

static void expect_moved(struct exercise *x)
{
    unsigned char *out = x->out.area->image + x->out.at;

    if (x->spec.of != 0) {
        exercise_expect_threshold(x, values, out);
        return;
    }
    for (unsigned q = 0; q < x->out.n; q++) {
        int from = x->out.n > 1 ? (int)q : x->spec.root;
        int block = x->in.n > 1 ? x->rank : 0;
        values(x, from, block, out + x->out.displs[q] * x->element, 0, x->out.counts[q]);
    }
}

/* Adds the values that ranks 0..last have there. */
static void add_all(const struct exercise *x, struct reference *to, int last, size_t first,
                    size_t count)
{
    void *theirs = exercise_allocate(count * x->element + 1);

    for (int q = 0; q <= last; q++) {
        if (!x->rank_in[q])
            continue;
        values(x, q, x->in.n > 1 ? x->rank : 0, theirs, first, count);
        exercise_pack(x, theirs);
        reference_add(to, theirs);
    }
    free(theirs);
}

static void expect_reduced(struct exercise *x)
{
    enum collective c = x->spec.collective;
    int last = c == COLL_SCAN ? x->rank : c == COLL_EXSCAN ? x->rank - 1 : x->ranks - 1;
    size_t first = 0, count = x->out.counts[0];

    if (x->spec.board == NULL) {
        reference_open(&x->expected, &x->spec.piece->operation,
                       x->spec.of != 0 ? x->elements : count);
        add_all(x, &x->expected, last, 0, count);
        return;
    }
    reference_open_in(&x->expected, &x->spec.piece->operation, count, x->spec.board);
    x->expected.ranks = (unsigned)x->ranks;
    first = count * (size_t)x->rank / (size_t)x->ranks;
    count = count * ((size_t)x->rank + 1) / (size_t)x->ranks - first;
    struct reference part = reference_part(&x->expected, first, count);
    add_all(x, &part, last, first, count);
}

void exercise_refill(struct exercise *x, uint64_t values_stream)
{
    x->spec.values_stream = values_stream;
    for (unsigned i = 0; i < 2; i++)
        if (x->areas[i].bytes > 0)
            memset(x->areas[i].memory, FILL, x->areas[i].bytes);
    fill_in(x);
    for (unsigned i = 0; i < 2; i++)
        if (x->areas[i].bytes > 0)
            memcpy(x->areas[i].image, x->areas[i].memory, x->areas[i].bytes);
    reference_close(&x->expected);
    x->expected = (struct reference){0};
    if (x->spec.codec != 0)
        exercise_expect_compressed(x, values, x->out.area->image + x->out.at);
    else if (x->out.used && reduces(x->spec.collective))
        expect_reduced(x);
    else if (x->out.used)
        expect_moved(x);
}

void exercise_open(struct exercise *x, const struct exercise_spec *spec, uint64_t seed,
                   ncoll_context *ctx, int rank, int ranks)
{
    struct shape shape = {.collective = spec->collective,
                          .rank = (unsigned)rank,
                          .size = (unsigned)ranks,
                          .root = (unsigned)spec->root};

    *x = (struct exercise){.spec = *spec,
                           .seed = seed,
                           .ctx = ctx,
                           .rank = rank,
                           .ranks = ranks,
                           .element = spec->piece->element,
                           .in.used = has_in(&shape),
                           .out.used = has_out(&shape)};
    set_counts(x);
    make_buffers(x);
    exercise_set_threshold(x, stream_of(x, WEIGHTS, 0, 0));
    exercise_refill(x, spec->values_stream);
}

void exercise_close(struct exercise *x)
{
    reference_close(&x->expected);
    exercise_close_compressed(x);
    exercise_close_stale(x);
    exercise_close_threshold(x);
    for (unsigned i = 0; i < 2; i++)
        release(x, &x->areas[i]);
}

/* ------------------------------------------------------------------ results ------------------ */

static const char *wrong_byte(const struct exercise *x, const struct area *area, char *text,
                              size_t size)
{
    const struct side *side = x->out.area == area ? &x->out : &x->in;
    size_t i = 0;

    while (area->memory[i] == area->image[i])
        i++;
    snprintf(text, size, "byte %td from the start of %s is %02x instead of %02x",
             (ptrdiff_t)i - (ptrdiff_t)side->at, side == &x->out ? "out" : "in", area->memory[i],
             area->image[i]);
    return text;
}

/* The result of a reduce, of which the elements that are in are compared with the reference. */
static const char *wrong_element(struct exercise *x, char *text, size_t size)
{
    const unsigned char *out = x->out.area->memory + x->out.at;
    unsigned char *image = x->out.area->image + x->out.at;
    size_t count = x->out.counts[0];
    unsigned char *packed = exercise_allocate(count * x->element + 1);

    memcpy(packed, out, count * x->element);
    exercise_pack(x, packed);
    size_t i = reference_wrong(&x->expected, packed);
    uint64_t bits = 0;
    bool wrong = i < (x->spec.of != 0 ? x->elements : count);
    if (wrong) {
        memcpy(&bits, packed + i * x->element, x->element < 8 ? x->element : 8);
        snprintf(text, size, "element %zu is wrong (bits %llx)", i, (unsigned long long)bits);
    }
    for (size_t k = 0; k < count; k++)
        if (x->spec.of == 0 || x->element_in[k])
            memcpy(image + k * x->element, out + k * x->element, x->element);
    free(packed);
    return wrong ? text : NULL;
}

const char *exercise_wrong(struct exercise *x, char *text, size_t size)
{
    if (exercise_threshold_wrong(x, text, size) != NULL ||
        exercise_stale_wrong(x, text, size) != NULL)
        return text;
    if (x->spec.codec == 0 && x->out.used && reduces(x->spec.collective) &&
        wrong_element(x, text, size) != NULL)
        return text;
    for (unsigned i = 0; i < 2; i++)
        if (x->areas[i].bytes > 0 &&
            memcmp(x->areas[i].memory, x->areas[i].image, x->areas[i].bytes) != 0)
            return wrong_byte(x, &x->areas[i], text, size);
    return NULL;
}

uint64_t exercise_hash(const struct exercise *x)
{
    const unsigned char *bytes = x->out.area->memory + x->out.at;
    size_t len = x->out.counts[0] * x->element;
    uint64_t h = len;

    for (size_t i = 0; i < len; i += sizeof h) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, len - i < sizeof word ? len - i : sizeof word);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32; /* or the highest bits of two words might cancel out */
    }
    return h;
}

const char *exercise_text(const struct exercise *x, char *text, size_t size)
{
    const struct exercise_spec *s = &x->spec;
    char threshold[64];

    snprintf(text, size, "%s%s%s%s of %s%zu elements of %zu bytes, %s, root %d%s%s%s",
             s->codec != 0 ? "compressed " : "", exercise_stale_text(s),
             ncoll__collective_name(s->collective), s->irregular ? "v" : "",
             s->irregular ? "about " : "", s->count, x->element,
             reduces(s->collective) ? s->piece->operation.name : "no operation", s->root,
             s->gaps ? ", displs" : "", s->in_place ? ", in place" : "",
             exercise_threshold_text(s, threshold, sizeof threshold));
    return text;
}
