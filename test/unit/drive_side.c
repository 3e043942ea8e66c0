/* SPDX-License-Identifier: BSD-3-Clause */
#include "drive_side.h"

#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t drive_now_ns(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void on_gone(void *arg, int rank, enum control_kind how, const char *why)
{
    struct side *s = arg;

    (void)why;
    if (how == CONTROL_PEER_FAILED)
        s->gone = rank;
}

static void on_control(void *arg, int from_rank, const struct control *message)
{
    struct side *s = arg;

    s->words++;
    s->word[from_rank] = *message;
}

static void on_position(void *arg, int from_rank, const struct position *position)
{
    struct side *s = arg;

    s->position[from_rank] = *position;
}

static int on_fail(void *arg, int what, int peer, const char *remedy, const char *cause, ...)
{
    const struct side *s = arg;
    va_list args;

    va_start(args, cause);
    fprintf(stderr, "rank %d: error %d, peer %d: ", s->rank, (int)because_status(what), peer);
    vfprintf(stderr, cause, args);
    fprintf(stderr, "; %s\n", remedy != NULL ? remedy : "");
    va_end(args);
    return because_status(what);
}

static void on_log(void *arg, ncoll_log_level level, const char *format, ...)
{
    (void)arg, (void)level, (void)format;
}

/* ------------------------------------------------------------------ connecting ---------------- */

void meet(struct side *s)
{
    int all = ++s->meetings * s->ranks;

    atomic_fetch_add(&s->board->arrived, 1);
    while (atomic_load(&s->board->arrived) < all)
        sched_yield();
}

static void show(struct side *s, struct text *text, struct blob *blob)
{
    REQUIRE(!blob->failed && blob->len <= sizeof text->bytes);
    memcpy(text->bytes, blob->bytes, blob->len);
    text->len = blob->len;
    ncoll__blob_free(blob);
}

void open_transport(struct side *s)
{
    struct transport_config config = {
        .rank = s->rank,
        .ranks = s->job,
        .node = 1,
        .wiring = getenv("NCOLL_WIRING"),
        .timeout_exponent = 18,
        .retries = 7,
        .peer_timeout_ns = UINT64_C(5000000000),
        .ranks_per_core = s->ranks / (double)sysconf(_SC_NPROCESSORS_ONLN),
        .events = {s, on_gone, on_control, on_position, on_fail, on_log, drive_now_ns},
    };
    struct blob blob = {0};

    REQUIRE(s->ops->open(&config, &s->transport) == NCOLL_OK);
    REQUIRE(s->ops->describe(s->transport, &blob) == NCOLL_OK);
    show(s, &s->board->description[s->rank], &blob);
}

void connect_window(struct side *s, unsigned id)
{
    int peers[RANKS_MAX], rc;
    unsigned n = 0;
    struct window_shape shape = {.id = id,
                                 .rank = (unsigned)s->rank,
                                 .ranks = (unsigned)s->ranks,
                                 .n_slots = SLOTS,
                                 .bulk_bytes = BULK_BYTES,
                                 .scratch_bytes = BULK_BYTES};

    REQUIRE(s->ops->window_create(s->transport, &shape, &s->window) == NCOLL_OK);
    for (int r = 0; r < s->ranks; r++)
        if (r != s->rank)
            peers[n++] = r;
    for (unsigned i = 0; i < n; i++)
        REQUIRE(s->ops->offer(s->transport, s->window, peers[i],
                              2 * EPOCHS, /* messages and credits */
                              &s->board->offer[s->rank][peers[i]]) == NCOLL_OK);
    meet(s);
    usleep((unsigned)s->rank * 2000); /* not all at once */
    for (unsigned i = 0; i < n; i++) {
        const struct text *d = &s->board->description[peers[i]];
        REQUIRE(s->ops->accept(s->transport, s->window, peers[i], d->bytes, d->len,
                               &s->board->offer[peers[i]][s->rank]) == NCOLL_OK);
    }
    meet(s); /* all have accepted */
    for (unsigned i = 0; i < n && s->ops->met != NULL; i++)
        s->ops->met(s->transport, peers[i]);
    while ((rc = s->ops->ready(s->transport, peers, n)) == NCOLL_TIMEOUT)
        usleep(200);
    REQUIRE(rc == NCOLL_OK);
    if (s->ops->extend != NULL)
        REQUIRE(s->ops->extend(s->transport, s->window,
                               &(struct window_extent){SLOTS, BULK_BYTES, BULK_BYTES}) == NCOLL_OK);
    for (unsigned i = 0; i < n && s->ops->admit != NULL; i++)
        s->ops->admit(s->transport, s->window, peers[i]);
    meet(s);
}
