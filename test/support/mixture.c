/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/mixture.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Type, operation, how two values combine. All are exact. Types and operations occur in several
 * rows, so that calls are made which differ in one of them only. */
#define KINDS(X)                                                                                   \
    X(0, NCOLL_INT64, int64_t, NCOLL_SUM, a + b)                                                   \
    X(1, NCOLL_INT64, int64_t, NCOLL_BXOR, a ^ b)                                                  \
    X(2, NCOLL_DOUBLE, double, NCOLL_SUM, a + b)                                                   \
    X(3, NCOLL_DOUBLE, double, NCOLL_MAX, a > b ? a : b)                                           \
    X(4, NCOLL_UINT8, uint8_t, NCOLL_SUM, a + b)                                                   \
    X(5, NCOLL_UINT8, uint8_t, NCOLL_MAX, a > b ? a : b)
#define N_KINDS 6

static const struct {
    ncoll_type type;
    ncoll_op op;
} kinds[N_KINDS] = {
#define KIND_ROW(kind, type, ctype, op, expression) {type, op},
    KINDS(KIND_ROW)
#undef KIND_ROW
};

/* A call that is driven, and the vectors that stay the same while it is unfinished. */
struct driven {
    struct mixture *mixture;
    struct rank *r;
    const struct item *item;
    const void *in;
    void *out;
};

/* ------------------------------------------------------------------ values ------------------- */

/* Small, so that doubles stay exact; another one in every call, for every rank and element. */
static uint32_t value(uint64_t number, int rank, size_t i)
{
    struct random random = {number << 20 ^ (uint64_t)rank << 40 ^ i};

    return (uint32_t)(random_next(&random) >> 40);
}

#define KIND_FUNCTIONS(kind, type, ctype, op, expression)                                          \
    static void fill_##kind(void *vector, size_t count, uint64_t number, int rank)                 \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            ((ctype *)vector)[i] = (ctype)value(number, rank, i);                                  \
    }                                                                                              \
    static bool right_##kind(const void *vector, size_t count, uint64_t number, int ranks)         \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            ctype a = (ctype)value(number, 0, i);                                                  \
            for (int rank = 1; rank < ranks; rank++) {                                             \
                ctype b = (ctype)value(number, rank, i);                                           \
                a = expression;                                                                    \
            }                                                                                      \
            if (((const ctype *)vector)[i] != a)                                                   \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }
KINDS(KIND_FUNCTIONS)

static void fill(const struct item *item, void *vector, uint64_t number, int rank)
{
    switch (item->kind) {
#define KIND_CASE(kind, type, ctype, op, expression)                                               \
    case kind:                                                                                     \
        fill_##kind(vector, item->count, number, rank);                                            \
        break;
        KINDS(KIND_CASE)
#undef KIND_CASE
    }
}

static bool is_right(const struct item *item, const void *vector, uint64_t number, int ranks)
{
    switch (item->kind) {
#define KIND_CASE(kind, type, ctype, op, expression)                                               \
    case kind:                                                                                     \
        return right_##kind(vector, item->count, number, ranks);
        KINDS(KIND_CASE)
#undef KIND_CASE
    }
    return false;
}

/* ------------------------------------------------------------------ ways --------------------- */

static int call(struct driven *d, int64_t timeout_ns)
{
    const struct item *s = d->item;

    if (s->barrier)
        return ncoll_barrier(d->r->world, timeout_ns);
    return ncoll_allreduce(d->r->world, d->in, d->out, s->count, kinds[s->kind].type,
                           kinds[s->kind].op, timeout_ns);
}

static int start(struct driven *d, ncoll_request **request)
{
    const struct item *s = d->item;

    if (s->barrier)
        return ncoll_barrier_start(d->r->world, request);
    return ncoll_allreduce_start(d->r->world, d->in, d->out, s->count, kinds[s->kind].type,
                                 kinds[s->kind].op, request);
}

/* Does the program's own work between calls, or makes room for another rank's. */
static void compute(struct driven *d)
{
    atomic_fetch_add(&d->mixture->resumed, 1);
    if (random_below(&d->r->own, 4) == 0)
        sched_yield();
    for (volatile uint64_t work = random_below(&d->r->own, 500); work > 0; work--)
        ;
}

static int64_t short_time(struct rank *r)
{
    return random_below(&r->own, 8) == 0 ? 1000000 : 1000 + (int64_t)random_below(&r->own, 50000);
}

static int drive_call(struct driven *d, enum way way)
{
    int64_t timeout_ns = way == WAY_BLOCK ? NCOLL_BLOCK : NCOLL_TEST;
    int rc;

    do {
        if (way == WAY_SHORT)
            timeout_ns = short_time(d->r);
        rc = call(d, timeout_ns);
        if (rc == NCOLL_TIMEOUT)
            compute(d);
    } while (rc == NCOLL_TIMEOUT);
    return rc;
}

static int drive_request(struct driven *d, enum way way)
{
    ncoll_request *request;
    int rc = start(d, &request);

    if (rc != NCOLL_OK)
        return rc;
    for (uint64_t n = random_below(&d->r->own, 50); way == WAY_PROGRESS && n > 0; n--) {
        if ((rc = ncoll_progress(d->r->ctx)) != NCOLL_OK)
            return rc;
        compute(d);
    }
    if (way == WAY_PROGRESS)
        return ncoll_wait(&request, NCOLL_BLOCK);
    do {
        rc = way == WAY_ASK ? ncoll_test(&request) : ncoll_wait(&request, short_time(d->r));
        if (rc == NCOLL_TIMEOUT)
            compute(d);
    } while (rc == NCOLL_TIMEOUT);
    return rc;
}

/* ------------------------------------------------------------------ items -------------------- */

/* Mostly around what fits a slot, and few different ones, so that calls follow on each other that
 * differ in one thing only. */
static size_t draw_count(struct random *random)
{
    static const size_t counts[] = {0, 1, 30, 31};
    uint64_t i = random_below(random, 5);

    return i < 4 ? counts[i] : random_below(random, MIXTURE_COUNT);
}

struct item mixture_draw(struct rank *r)
{
    struct item item = {.barrier = random_below(&r->common, 3) == 0};

    if (item.barrier)
        return item;
    item.kind = (unsigned)random_below(&r->common, N_KINDS);
    item.in_place = random_below(&r->common, 2);
    item.count = draw_count(&r->common);
    return item;
}

int mixture_call(struct mixture *m, struct rank *r, uint64_t number, const struct item *item,
                 enum way way)
{
    _Alignas(8) unsigned char in[8 * MIXTURE_COUNT], out[8 * MIXTURE_COUNT];
    struct driven d = {m, r, item, item->in_place ? out : in, out};

    fill(item, item->in_place ? out : in, number, r->rank);
    atomic_fetch_add(&m->entered, 1);
    int rc = way < WAY_ASK ? drive_call(&d, way) : drive_request(&d, way);
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK(atomic_load(&m->entered) >= (number + 1) * (uint64_t)r->ranks);
    if (!item->barrier)
        CHECK(is_right(item, out, number, r->ranks));
    return 0;
}

int mixture_run(struct mixture *m, struct rank *r, uint64_t calls)
{
    for (uint64_t number = 0; number < calls; number++) {
        struct item item = mixture_draw(r);
        if (random_below(&r->own, 64) == 0)
            usleep((useconds_t)random_below(&r->own, 300));
        if (mixture_call(m, r, number, &item, (enum way)random_below(&r->own, WAYS)) != 0) {
            fprintf(stderr, "call %llu: %s of %zu, kind %u\n", (unsigned long long)number,
                    item.barrier ? "barrier" : "allreduce", item.count, item.kind);
            return 1;
        }
    }
    return 0;
}
