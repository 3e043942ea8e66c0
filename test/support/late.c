/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/group.h"
#include "test/support/seed.h"

#define HELD_MAX 64u

/* A message that is on its way. */
struct held {
    enum { HELD_PUT, HELD_CREDIT, HELD_ADVERTISEMENT } kind;
    struct put put; /* of others: to, window and epoch, or the box */
    struct advertisement advertisement;
    const struct memory *memory;
    const void *out;
    unsigned char payload[SLOT_PAYLOAD];
};

static struct late {
    const struct transport_ops *real;
    struct transport_ops ops;
    struct held held[HELD_MAX]; /* in order, from `first` on, round */
    unsigned first, count;
    struct random random;
} late;

/* ------------------------------------------------------------------ sending ------------------- */

static bool lies_in(const void *at, size_t len, const unsigned char *base, size_t bytes)
{
    size_t before = (size_t)((const unsigned char *)at - base);
    return before <= bytes && len <= bytes - before;
}

/* Refuses what a device would refuse. */
static void check_source(const struct put *put)
{
    const struct window *w = put->window;
    const struct memory *m = put->memory;

    if (put->len_bytes <= SLOT_PAYLOAD ||
        put->route == ROUTE_SINGLE_COPY || /* which the device does not read */
        (m != NULL && lies_in(put->src, put->len_bytes, m->base, m->bytes)) ||
        (m == NULL &&
         (lies_in(put->src, put->len_bytes, w->scratch, EPOCHS * w->shape.scratch_bytes) ||
          lies_in(put->src, put->len_bytes, w->bulk, EPOCHS * w->shape.bulk_bytes))))
        return;
    fprintf(stderr, "a put of %zu bytes comes from memory that the transport does not know\n",
            put->len_bytes);
    abort();
}

static struct held *hold(void)
{
    return late.count == HELD_MAX ? NULL : &late.held[(late.first + late.count++) % HELD_MAX];
}

static int put(struct transport *t, const struct put *put)
{
    struct held *h = hold();

    (void)t;
    check_source(put);
    if (h == NULL)
        return NCOLL_TIMEOUT;
    h->kind = HELD_PUT;
    h->put = *put;
    if (put->advertisement != NULL) {
        h->advertisement = *put->advertisement;
        h->put.advertisement = &h->advertisement;
    }
    if (put->len_bytes > 0 && put->len_bytes <= SLOT_PAYLOAD)
        memcpy(h->payload, put->src, put->len_bytes);
    return NCOLL_OK;
}

static int credit(struct transport *t, struct endpoint *to, const struct window *w, uint64_t epoch)
{
    struct held *h = hold();

    (void)t;
    if (h == NULL)
        return NCOLL_TIMEOUT;
    h->kind = HELD_CREDIT;
    h->put = (struct put){.to = to, .window = w, .epoch = epoch};
    return NCOLL_OK;
}

static int advertise(struct transport *t, struct endpoint *to, const struct window *w, unsigned box,
                     const struct memory *m, const void *out, struct advertisement *advertisement)
{
    struct held *h = hold();

    (void)t;
    if (h == NULL)
        return NCOLL_TIMEOUT;
    h->kind = HELD_ADVERTISEMENT;
    h->put = (struct put){.to = to, .window = w, .slot = box};
    h->advertisement = *advertisement;
    h->memory = m;
    h->out = out;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ reading ------------------- */

static int send(struct transport *t, struct held *h)
{
    switch (h->kind) {
    case HELD_CREDIT:
        return late.real->credit(t, h->put.to, h->put.window, h->put.epoch);
    case HELD_ADVERTISEMENT:
        return late.real->advertise(t, h->put.to, h->put.window, h->put.slot, h->memory, h->out,
                                    &h->advertisement);
    default:
        return late.real->put(t, &h->put);
    }
}

static void deliver(struct transport *t, unsigned n)
{
    for (; n > 0 && late.count > 0; n--, late.count--) {
        struct held *h = &late.held[late.first];
        late.first = (late.first + 1) % HELD_MAX;
        if (h->put.len_bytes <= SLOT_PAYLOAD)
            h->put.src = h->payload;
        int rc = send(t, h);
        if (rc != NCOLL_OK && rc != NCOLL_ERR_PEER)
            abort();
    }
}

static void progress(struct transport *t)
{
    deliver(t, (unsigned)random_below(&late.random, 3));
}

static bool drained(struct transport *t, bool users_only)
{
    (void)t;
    for (unsigned i = 0; i < late.count; i++) {
        const struct held *h = &late.held[(late.first + i) % HELD_MAX];
        if (h->put.len_bytes > SLOT_PAYLOAD && (h->put.memory != NULL || !users_only))
            return false;
    }
    return true;
}

static bool wait(struct transport *t, struct window *w, const struct awaited *awaited, unsigned n,
                 unsigned round, int64_t timeout_ns)
{
    if (late.count > 0)
        deliver(t, 1);
    else
        return late.real->wait(t, w, awaited, n, round, timeout_ns);
    return false;
}

static bool arrived(struct transport *t, struct window *w)
{
    deliver(t, HELD_MAX);
    return late.real->arrived == NULL || late.real->arrived(t, w);
}

static void window_destroy(struct transport *t, struct window *w, bool quiet)
{
    deliver(t, HELD_MAX);
    late.real->window_destroy(t, w, quiet);
}

static void memory_release(struct transport *t, struct memory *m)
{
    deliver(t, HELD_MAX);
    late.real->memory_release(t, m);
}

static void leave(struct transport *t, farewell_fn say, void *arg)
{
    deliver(t, HELD_MAX);
    late.real->leave(t, say, arg);
}

static void close(struct transport *t)
{
    deliver(t, HELD_MAX);
    late.real->close(t);
}

void late_install(ncoll_context *ctx, uint64_t seed)
{
    struct transport *t = ctx->transport;

    late = (struct late){.real = t->ops, .ops = *t->ops, .random = random_stream(seed, 0)};
    late.ops.put = put;
    late.ops.credit = credit;
    late.ops.advertise = advertise;
    late.ops.progress = progress;
    late.ops.drained = drained;
    late.ops.arrived = arrived;
    late.ops.wait = wait;
    late.ops.window_destroy = window_destroy;
    late.ops.memory_release = memory_release;
    late.ops.leave = leave;
    late.ops.close = close;
    t->ops = &late.ops;
    t->sends_any_memory = t->at_once = false;
}

ncoll_params late_params(const char *transport, bool *is_late)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.zero_copy_bytes = params.show_bytes = 1;
    *is_late = transport != NULL && strcmp(transport, "late") == 0;
    if (transport != NULL)
        params.transport = *is_late ? "shm" : transport;
    return params;
}
