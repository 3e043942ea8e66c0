/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drives a transport by its contract alone, without the library above it:
 *
 *     drive_transport shm|verbs [RANKS [JOB]]
 *
 * Forks ranks that meet in shared memory and connect everybody with everybody. They exchange
 * messages of all lengths through two windows, pass them on from rank to rank with nothing but
 * credits to hold them up, send each other control words, run the bare exchange by twos, and look
 * how one of them is killed. Wiring is taken from NCOLL_WIRING. JOB is what they take for the
 * number of ranks in the job: of a large one, each gets less room.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive_side.h"
#include "test/support/hang.h"

#define PART    ((size_t)BULK_BYTES / RANKS_MAX) /* for the messages of one rank */
#define RUNS    100u /* more epochs than the immediate of verbs can tell apart */
#define RAW     2000u
#define LIMIT_S 120

static const size_t lengths[] = {0, 1, 8, 48, 128, 231, 232, 233, 1000, 4096, 16384, 16385, 100000};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

/* ------------------------------------------------------------------ messages ------------------ */

static void progress(struct side *s)
{
    if (s->ops->progress != NULL)
        s->ops->progress(s->transport);
}

static unsigned char byte_of(uint64_t epoch, int from, int to, size_t i)
{
    return (unsigned char)(epoch * 31 + (unsigned)from * 7 + (unsigned)to * 3 + i);
}

static unsigned slot_of(int from)
{
    return SLOTS - 1 - (unsigned)from;
}

static struct signature signature_of(uint64_t epoch, int from)
{
    return (struct signature){epoch % 3 + 1 + (uint64_t)from * 1000, epoch % 2};
}

/* Until the put is issued. */
static void issue(struct side *s, const struct put *put)
{
    int rc;

    while ((rc = put->to->by->ops->put(put->to->by, put)) == NCOLL_TIMEOUT)
        progress(s);
    REQUIRE(rc == NCOLL_OK);
}

static void send_to(struct side *s, uint64_t epoch, int to, size_t len)
{
    struct window *w = s->window;
    unsigned char *src = w->scratch + epoch % EPOCHS * w->shape.scratch_bytes + (size_t)to * PART;
    const struct put put = {
        .to = s->ops->endpoint(s->transport, to),
        .window = w,
        .epoch = epoch,
        .signature = signature_of(epoch, s->rank),
        .slot = slot_of(s->rank),
        .src = src,
        .len_bytes = len,
        .answered = true, /* before the scratch is used again */
        .bulk_offset = (size_t)s->rank * PART,
    };

    for (size_t i = 0; i < len; i++)
        src[i] = byte_of(epoch, s->rank, to, i);
    issue(s, &put);
}

/* One wait for a slot; NO_SLOT: for whatever comes. */
static void wait_for(struct side *s, uint64_t epoch, unsigned slot, unsigned round,
                     int64_t timeout_ns)
{
    const struct awaited awaited = {epoch, slot};

    s->ops->wait(s->transport, s->window, &awaited, slot != NO_SLOT, round, timeout_ns);
}

static void await(struct side *s, uint64_t epoch, unsigned slot)
{
    for (unsigned round = 0; !window_raised(s->window, epoch, slot); round++) {
        progress(s);
        if (window_raised(s->window, epoch, slot))
            return;
        wait_for(s, epoch, slot, round, 100000000);
        s->ops->check(s->transport, -1);
    }
}

static const unsigned char *arrived(const struct side *s, uint64_t epoch, int from, size_t len)
{
    const struct window *w = s->window;

    if (len <= SLOT_PAYLOAD)
        return window_slot(w, epoch, slot_of(from))->payload;
    return w->bulk + epoch % EPOCHS * w->shape.bulk_bytes + (size_t)from * PART;
}

static void receive_from(struct side *s, uint64_t epoch, int from, size_t len)
{
    await(s, epoch, slot_of(from));
    const unsigned char *got = arrived(s, epoch, from, len);
    REQUIRE(signature_equal(window_slot(s->window, epoch, slot_of(from))->signature,
                            signature_of(epoch, from)));
    for (size_t i = 0; i < len; i++)
        REQUIRE(got[i] == byte_of(epoch, from, s->rank, i));
}

static void exchange_messages(struct side *s)
{
    for (uint64_t epoch = 1; epoch <= RUNS; epoch++) {
        size_t len = lengths[epoch % LENGTHS];
        for (int r = 0; r < s->ranks; r++)
            if (r != s->rank)
                send_to(s, epoch, r, len);
        for (int r = 0; r < s->ranks; r++)
            if (r != s->rank)
                receive_from(s, epoch, r, len);
        s->window->epoch = epoch;
    }
    meet(s);
}

/* ------------------------------------------------------------------ credits ------------------- */

/* Until rank `to` has said, by a credit, that it has no more use for the set of this epoch. */
static void await_credit(struct side *s, uint64_t epoch, int to)
{
    const struct window *w = s->window;

    for (unsigned round = 0; atomic_load(&w->credits[to]) + EPOCHS < epoch; round++) {
        progress(s);
        wait_for(s, epoch, NO_SLOT, round, 1000000);
        s->ops->check(s->transport, -1);
    }
    REQUIRE(atomic_load(&w->credits[to]) < epoch);
}

static void give_credit(struct side *s, uint64_t epoch, int to)
{
    struct endpoint *peer = s->ops->endpoint(s->transport, to);
    int rc;

    while ((rc = peer->by->ops->credit(peer->by, peer, s->window, epoch)) == NCOLL_TIMEOUT)
        progress(s);
    REQUIRE(rc == NCOLL_OK);
}

/* Rank 1 passes on what rank 0 gave it, from where it has arrived. */
static void pass_to(struct side *s, uint64_t epoch, int to, size_t len)
{
    const struct put put = {
        .to = s->ops->endpoint(s->transport, to),
        .window = s->window,
        .epoch = epoch,
        .signature = signature_of(epoch, s->rank),
        .slot = slot_of(s->rank),
        .src = arrived(s, epoch, s->rank - 1, len),
        .len_bytes = len,
        .bulk_offset = (size_t)s->rank * PART,
    };

    issue(s, &put);
}

static void finish(struct side *s, uint64_t epoch)
{
    while (s->ops->drained != NULL && !s->ops->drained(s->transport, false))
        progress(s);
    s->window->epoch = epoch;
}

/* From rank to rank, in one direction only: nothing but credits holds up those in front. */
static void pass_messages(struct side *s)
{
    for (int r = 0; r < s->ranks; r++) /* all have finished these */
        if (r != s->rank)
            give_credit(s, RUNS, r);
    for (uint64_t epoch = RUNS + 1; epoch <= 2 * RUNS; epoch++) {
        size_t len = lengths[epoch % LENGTHS];
        if (s->rank > 0) {
            await(s, epoch, slot_of(s->rank - 1));
            const unsigned char *got = arrived(s, epoch, s->rank - 1, len);
            for (size_t i = 0; i < len; i++)
                REQUIRE(got[i] == byte_of(epoch, 0, 1, i));
        }
        if (s->rank + 1 < s->ranks) {
            await_credit(s, epoch, s->rank + 1);
            if (s->rank == 0)
                send_to(s, epoch, 1, len);
            else
                pass_to(s, epoch, s->rank + 1, len);
        }
        finish(s, epoch);
        if (s->rank > 0)
            give_credit(s, epoch, s->rank - 1);
    }
    meet(s);
}

/* Until nothing more can come to anybody's window. */
static void await_arrival(struct side *s)
{
    while (s->ops->arrived != NULL && !s->ops->arrived(s->transport, s->window))
        progress(s);
    meet(s);
}

/* ------------------------------------------------------------------ words, raw, death --------- */

static void exchange_words(struct side *s)
{
    struct control word = {
        .kind = CONTROL_MISMATCH, .rank = {s->rank, 5}, .signature = {{7, 70}, {8, 80}}};

    for (int r = 0; r < s->ranks; r++) {
        struct endpoint *to = r != s->rank ? s->ops->endpoint(s->transport, r) : NULL;
        if (to != NULL)
            to->by->ops->control(to->by, to, &word);
    }
    while (s->words < (unsigned)s->ranks - 1) {
        s->ops->check(s->transport, -1);
        sched_yield();
    }
    for (int r = 0; r < s->ranks; r++)
        REQUIRE(r == s->rank ||
                (s->word[r].kind == CONTROL_MISMATCH && s->word[r].rank[0] == r &&
                 signature_equal(s->word[r].signature[1], (struct signature){8, 80})));
}

static bool knows_positions(const struct side *s)
{
    for (int r = 0; r < s->ranks; r++)
        if (r != s->rank && s->position[r].epoch == 0)
            return false;
    return true;
}

/* Said again and again, of which only the first need come. */
static void exchange_positions(struct side *s)
{
    struct position own = {
        .group = 3, .epoch = 1000 + (uint64_t)s->rank, .signature = {9, (uint64_t)s->rank}};

    do {
        for (int r = 0; r < s->ranks; r++) {
            struct endpoint *to = r != s->rank ? s->ops->endpoint(s->transport, r) : NULL;
            if (to != NULL)
                to->by->ops->tell(to->by, to, &own);
        }
        s->ops->check(s->transport, -1);
        sched_yield();
    } while (!knows_positions(s));
    for (int r = 0; r < s->ranks; r++)
        REQUIRE(r == s->rank ||
                (s->position[r].group == 3 && s->position[r].epoch == 1000 + (uint64_t)r &&
                 signature_equal(s->position[r].signature, (struct signature){9, (uint64_t)r})));
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void raw(struct side *s)
{
    static uint64_t samples[RAW];
    int peer = s->rank ^ 1;

    if (peer < s->ranks && s->ops->raw_exchange != NULL) {
        REQUIRE(s->ops->raw_exchange(s->transport, s->window, s->ops->endpoint(s->transport, peer),
                                     1, 0, RAW, samples) == NCOLL_OK);
        qsort(samples, RAW, sizeof samples[0], compare);
        if (s->rank == 0)
            printf("bare exchange: median %.2f us, p99 %.2f us\n", (double)samples[RAW / 2] / 1e3,
                   (double)samples[RAW * 99 / 100] / 1e3);
    }
    meet(s);
    /* with data, more than there is room for */
    if (peer < s->ranks && s->ops->raw_exchange != NULL)
        REQUIRE(s->ops->raw_exchange(s->transport, s->window, s->ops->endpoint(s->transport, peer),
                                     1, 5 * EPOCHS * BULK_BYTES / 2, 10, samples) == NCOLL_OK);
    meet(s);
    /* several at once, the last one with data */
    if (peer < s->ranks && s->ops->raw_exchange != NULL)
        REQUIRE(s->ops->raw_exchange(s->transport, s->window, s->ops->endpoint(s->transport, peer),
                                     4, BULK_BYTES, 100, samples) == NCOLL_OK);
    meet(s);
}

static void say_farewell(void *arg, int rank, struct farewell *out)
{
    const struct side *s = arg;

    out->n_groups = 1;
    out->sum = (uint64_t)(s->rank * 100 + rank);
}

/* All but the last one, which has died, leave at the same time: of any two at least one hears the
 * other's farewell. */
static void say_farewells(struct side *s)
{
    struct farewell farewell;

    s->ops->leave(s->transport, say_farewell, s);
    for (int r = 0; r < s->ranks - 1; r++) {
        struct endpoint *from = r != s->rank ? s->ops->endpoint(s->transport, r) : NULL;
        if (from == NULL || !from->by->ops->farewell(from->by, from, &farewell))
            continue;
        REQUIRE(farewell.n_groups == 1 && farewell.sum == (uint64_t)(r * 100 + s->rank));
        atomic_fetch_add(&s->board->farewells[r < s->rank ? r : s->rank][r < s->rank ? s->rank : r],
                         1);
    }
    atomic_fetch_add(&s->board->left, 1);
    while (atomic_load(&s->board->left) < s->ranks - 1)
        sched_yield();
    for (int r = 0; r < s->rank; r++)
        REQUIRE(atomic_load(&s->board->farewells[r][s->rank]) > 0);
}

static void see_the_last_one_die(struct side *s)
{
    uint64_t start_ns = drive_now_ns(NULL);

    if (s->rank == s->ranks - 1)
        raise(SIGKILL);
    while (s->gone < 0) {
        s->ops->check(s->transport, -1);
        wait_for(s, s->window->epoch + 1, 0, 100, 10000000);
        REQUIRE(drive_now_ns(NULL) - start_ns < HANG_FACTOR * UINT64_C(3000000000));
    }
    REQUIRE(s->gone == s->ranks - 1);
}

static int run_rank(struct side *s)
{
    struct transport_counters counters;

    s->gone = -1;
    open_transport(s);
    connect_window(s, 3);
    exchange_messages(s);
    pass_messages(s);
    await_arrival(s);
    s->ops->window_destroy(s->transport, s->window, true);
    connect_window(s, 900 + (unsigned)s->rank); /* a number of its own on each rank */
    exchange_messages(s);
    pass_messages(s);
    exchange_words(s);
    exchange_positions(s);
    meet(s);
    raw(s);
    s->ops->counters(s->transport, &counters);
    REQUIRE(counters.rnr == 0 && counters.connections == (unsigned)s->ranks - 1);
    meet(s);
    see_the_last_one_die(s);
    say_farewells(s);
    s->ops->window_destroy(s->transport, s->window, false);
    s->ops->close(s->transport);
    return 0;
}

int main(int argc, char **argv)
{
    int ranks = argc > 2 ? atoi(argv[2]) : 4, job = argc > 3 ? atoi(argv[3]) : ranks;
    int failed = 0, status;
    const struct transport_ops *ops = argc > 1 ? ncoll__transport_find(argv[1]) : NULL;
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (ops == NULL || ranks < 2 || ranks > RANKS_MAX || job < ranks || board == MAP_FAILED) {
        fprintf(stderr, "usage: drive_transport shm|verbs [RANKS [JOB]]    RANKS: 2..%d\n",
                RANKS_MAX);
        return 2;
    }
    for (int r = 0; r < ranks; r++)
        if (fork() == 0) {
            static struct side side;
            side = (struct side){.rank = r, .ranks = ranks, .job = job, .board = board, .ops = ops};
            hang_after(LIMIT_S);
            exit(run_rank(&side));
        }
    for (int r = 0; r < ranks; r++) {
        wait(&status);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WTERMSIG(status) != SIGKILL;
    }
    printf("%s, %d ranks: %s\n", argv[1], ranks, failed == 0 ? "ok" : "FAILED");
    return failed != 0;
}
