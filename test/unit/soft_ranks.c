/* SPDX-License-Identifier: BSD-3-Clause */
#include "soft_ranks.h"

#include <stdio.h>
#include <string.h>

#include "test/support/crew.h"

uint64_t clock_ns;

static uint64_t now_ns(void *arg)
{
    (void)arg;
    return clock_ns;
}

static void on_gone(void *arg, int rank, enum control_kind how, const char *why)
{
    struct side *s = arg;

    if (how == CONTROL_PEER_LEFT || s->gone >= 0)
        return;
    s->gone = rank;
    snprintf(s->why, sizeof s->why, "%s", why);
}

static void on_control(void *arg, int from_rank, const struct control *message)
{
    (void)arg, (void)from_rank, (void)message;
}

static void on_position(void *arg, int from_rank, const struct position *position)
{
    (void)arg, (void)from_rank, (void)position;
}

static int on_fail(void *arg, int what, int peer, const char *remedy, const char *cause, ...)
{
    struct side *s = arg;
    va_list args;

    (void)peer, (void)remedy;
    va_start(args, cause);
    vsnprintf(s->error, sizeof s->error, cause, args);
    va_end(args);
    return because_status(what);
}

__attribute__((format(printf, 3, 4))) static void on_log(void *arg, ncoll_log_level level,
                                                         const char *format, ...)
{
    struct side *s = arg;
    va_list args;

    if (level > NCOLL_LOG_WARN)
        return;
    va_start(args, format);
    vsnprintf(s->warning, sizeof s->warning, format, args);
    va_end(args);
    s->warnings++;
}

/* ------------------------------------------------------------------ ranks --------------------- */

static int open_with(struct side *s, struct transport_config config, const char *transport)
{
    *s = (struct side){.rank = config.rank,
                       .ranks = config.ranks,
                       .ops = ncoll__transport_find(transport),
                       .gone = -1};
    config.peer_timeout_ns = UINT64_C(5000000000);
    config.events = (struct transport_events){.arg = s,
                                              .peer_gone = on_gone,
                                              .control = on_control,
                                              .position = on_position,
                                              .fail = on_fail,
                                              .log = on_log,
                                              .now_ns = now_ns};
    return s->ops->open(&config, &s->t);
}

int open_side(struct side *s, int rank, int ranks)
{
    /* nobody watches processes */
    return open_with(
        s, (struct transport_config){.rank = rank, .ranks = ranks, .node = (uint64_t)rank},
        "verbs");
}

int open_side_on(struct side *s, int rank, int ranks, const uint64_t *nodes)
{
    return open_with(s,
                     (struct transport_config){
                         .rank = rank, .ranks = ranks, .node = nodes[rank], .nodes = nodes},
                     "shm+verbs");
}

int make_window(struct side *s, unsigned id)
{
    struct window_shape shape = {.id = id,
                                 .rank = (unsigned)s->rank,
                                 .ranks = (unsigned)s->ranks,
                                 .n_slots = SLOTS,
                                 .bulk_bytes = 4096,
                                 .scratch_bytes = 4096};

    return s->ops->window_create(s->t, &shape, &s->window);
}

void close_side(struct side *s)
{
    if (s->t != NULL)
        s->ops->close(s->t);
    s->t = NULL;
}

int offer(struct side *s, int peer, unsigned depth, struct offer *out)
{
    return s->ops->offer(s->t, s->window, peer, depth, out);
}

void accept_from(struct side *s, struct side *peer, const struct offer *from)
{
    struct blob blob = {0};

    assert_int_equal(peer->ops->describe(peer->t, &blob), NCOLL_OK);
    assert_int_equal(s->ops->accept(s->t, s->window, peer->rank, blob.bytes, blob.len, from),
                     NCOLL_OK);
    ncoll__blob_free(&blob);
}

void connect_sides(struct side *a, struct side *b, unsigned depth)
{
    struct offer to_a, to_b;
    int rc_a, rc_b;

    assert_int_equal(offer(a, b->rank, depth, &to_b), NCOLL_OK);
    assert_int_equal(offer(b, a->rank, depth, &to_a), NCOLL_OK);
    accept_from(a, b, &to_a);
    accept_from(b, a, &to_b);
    a->ops->met(a->t, b->rank);
    b->ops->met(b->t, a->rank);
    do {
        clock_ns += MS;
        rc_a = a->ops->ready(a->t, &b->rank, 1);
        rc_b = b->ops->ready(b->t, &a->rank, 1);
    } while (rc_a == NCOLL_TIMEOUT || rc_b == NCOLL_TIMEOUT);
    assert_true(rc_a == NCOLL_OK && rc_b == NCOLL_OK);
}

struct connection *connection(const struct side *s, int peer)
{
    return (struct connection *)s->ops->endpoint(s->t, peer);
}

void admit_sides(struct side *a, struct side *b)
{
    const struct window_extent all = {SLOTS, 4096, 4096};
    struct side *sides[] = {a, b};

    for (int s = 0; s < 2; s++)
        assert_int_equal(sides[s]->ops->extend(sides[s]->t, sides[s]->window, &all), NCOLL_OK);
    a->ops->admit(a->t, a->window, b->rank);
    b->ops->admit(b->t, b->window, a->rank);
    for (int i = 0; i < 4; i++) /* keys and answers, both ways */
        sides[i % 2]->ops->progress(sides[i % 2]->t);
}

void pair(struct side sides[2], int ranks, unsigned depth)
{
    for (int r = 0; r < 2; r++) {
        assert_int_equal(open_side(&sides[r], r, ranks), NCOLL_OK);
        assert_int_equal(make_window(&sides[r], 0), NCOLL_OK);
    }
    connect_sides(&sides[0], &sides[1], depth);
    admit_sides(&sides[0], &sides[1]);
}

unsigned char *scratch_of(const struct side *s, uint64_t epoch)
{
    return s->window->scratch + epoch % EPOCHS * s->window->shape.scratch_bytes;
}

int send_one(struct side *s, int peer, unsigned number, size_t len)
{
    struct put put = {
        .to = s->ops->endpoint(s->t, peer),
        .window = s->window,
        .epoch = 1 + number / SLOTS,
        .signature = {7, 7},
        .slot = number % SLOTS,
        .src = scratch_of(s, 1 + number / SLOTS),
        .len_bytes = len,
        .answered = true,
    };

    return put.to->by->ops->put(put.to->by, &put);
}

void expect_no_overrun(void)
{
    assert_int_equal(soft.rnr, 0);
    assert_int_equal(soft.overruns, 0);
}

void expect_receives(const struct side *s)
{
    const struct verbs *v = verbs_of(s->t);
    unsigned posted = 0;

    for (unsigned i = 0; i < v->n_queues; i++) {
        const struct receive_queue *q = &v->queues[i];
        assert_true(q->posted >= q->need + (q->need > 0 ? RECEIVE_BATCH : 0));
        posted += q->posted;
    }
    assert_int_equal(soft.queues, v->n_queues);
    assert_int_equal(soft.receives, posted);
    assert_true(posted <= RECEIVES_MAX + QUEUES_MOST * RECEIVE_BATCH);
    assert_true((unsigned)v->cq->cqe >= posted + v->rooms.sends.taken);
}

static uint64_t sleeps(struct side *s)
{
    struct transport_counters counters;

    s->ops->counters(s->t, &counters);
    return counters.sleeps;
}

void expect_sleep(struct side *s)
{
    const struct awaited awaited = {1, 0};
    uint64_t end = crew_now_ns() + 1000 * MS, cpu = crew_cpu_us(), slept = sleeps(s);

    for (unsigned round = 0; crew_now_ns() < end; round++) {
        s->ops->progress(s->t);
        s->ops->wait(s->t, s->window, &awaited, 1, round, 50 * MS);
    }
    slept = sleeps(s) - slept;
    assert_in_range(crew_cpu_us() - cpu, 0, 10000);
    assert_in_range(slept, 1, 25);
}

int fresh(void **state)
{
    (void)state;
    soft_reset();
    return 0;
}

int nothing_left(void **state)
{
    (void)state;
    assert_int_equal(soft.objects, 0);
    return 0;
}
