/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of one rank of a job over verbs, by the library's own functions over a transport that
 * moves nothing: what the device has to know of the window, what the heap holds behind the plans of a
 * barrier, a short allreduce and a bcast, and what connecting their peers sends. Without arguments the
 * program also checks the limits of what is pinned and of all that there is.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/choose/planned.h"
#include "lib/group/relay.h"
#include "lib/group/wiring.h"
#include "lib/plan/arguments.h"
#include "lib/plan/compile.h"
#include "lib/plan/plan.h"
#include "test/support/planner.h"
#include "test/support/seed.h"
#include "transport/verbs/verbs.h"

#define PAGE     4096u
#define PER_NODE 16u

/* Bytes of the entries of queues in mlx5. The bytes of a send queue are a power of two; so is the number of
 * entries of other queues, which have one more than is asked for. */
#define RECEIVE_BYTES    32u
#define COMPLETION_BYTES 64u
#define SEND_BYTES       320u

static const char usage[] =
    "usage: ncoll-rank-memory [RANKS ...]\n"
    "\n"
    "Prints the memory of one rank of such jobs over verbs, 16 ranks on a node, in KiB, as far as "
    "a\n"
    "barrier, an allreduce and a bcast of 8 bytes use it, and what connects their peers.\n"
    "Registered with the device: advertisements and slots, bulk memory, scratch, and inboxes of\n"
    "peers. Pinned: these, and queues, which the device's driver allocates, here with 32 bytes "
    "for\n"
    "a receive, 64 for a completion and 320 for a place in a send queue, as mlx5 does.\n"
    "Besides: pages of tables with an entry for each rank; connections; the heap, now and at "
    "most;\n"
    "what is kept of all addresses.\n"
    "Then the address space of the window, connected peers, and what connecting them sends.\n";

/* ------------------------------------------------------------------ the heap ------------------ */

#define ROOM 16u
struct meter {
    size_t now, most;
};

static void *allocate(void *arg, size_t bytes)
{
    struct meter *meter = arg;
    unsigned char *memory = malloc(ROOM + bytes);

    if (memory == NULL)
        return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    meter->now += bytes;
    meter->most = meter->now > meter->most ? meter->now : meter->most;
    return memory + ROOM;
}

static void release(void *arg, void *memory)
{
    struct meter *meter = arg;
    size_t bytes;

    if (memory == NULL)
        return;
    memcpy(&bytes, (unsigned char *)memory - ROOM, sizeof bytes);
    meter->now -= bytes;
    free((unsigned char *)memory - ROOM);
}

/* ------------------------------------------------------------------ one rank ------------------ */

struct figures {
    struct window_extent extent; /* of the window that the device knows */
    size_t slots, bulk, scratch, inboxes, registered, queues, pinned;
    size_t tables, connections, heap, heap_most, addresses, all, window;
    unsigned peers;
    size_t messages, bytes; /* that connecting sends */
};

/* Notes what a plan pins of the window, as ncoll__verbs_extend() would. */
static void extend(const ncoll_group *g, const struct plan *plan, struct figures *f)
{
    const struct window_shape *s = &g->window->shape;
    struct window_extent from = f->extent;
    struct window_extent to = ncoll__extent_grown(s, from, ncoll__plan_extent(plan));

    f->slots += ncoll__extent_bytes(s, (struct window_extent){from.slots, 0, 0},
                                    (struct window_extent){to.slots, 0, 0});
    f->bulk += ncoll__extent_bytes(s, (struct window_extent){0, from.bulk_bytes, 0},
                                   (struct window_extent){0, to.bulk_bytes, 0});
    f->scratch += ncoll__extent_bytes(s, (struct window_extent){0, 0, from.scratch_bytes},
                                      (struct window_extent){0, 0, to.scratch_bytes});
    f->extent = to;
}

static bool take_plan(ncoll_group *g, const struct call_args *args, struct figures *f)
{
    struct plan *plan;

    if (ncoll__plan(g, args, 0, &plan) != NCOLL_OK)
        return false;
    for (unsigned p = 0; p < plan->n_programs; p++)
        for (unsigned i = 0; i < plan->programs[p].count; i++) {
            const struct instruction *s = &plan->programs[p].instructions[i];
            f->messages += s->kind == STEP_PUT;
            f->bytes += s->kind == STEP_PUT ? s->len_bytes : 0;
        }
    extend(g, plan, f);
    ncoll__plan_leave(g, plan);
    return true;
}

/* What takes the offers to the peers of a plan; passes that only find that nothing is left have the
 * room of a slot. */
static bool relay(ncoll_group *g, const struct plan *plan, struct figures *f)
{
    const unsigned *distances = ncoll__peers_by_distance(plan);
    unsigned most = ncoll__relay_most((unsigned)g->size, distances, plan->n_peers);
    unsigned rooms[] = {distances != NULL ? most : LETTERS_FIRST, LETTERS_IN_SLOT};
    struct relay *r = ncoll__relay_new(g, plan->n_peers, most);
    bool well = r != NULL;

    for (unsigned i = 0; well && i < (distances != NULL ? 1u : 2u); i++) {
        struct call_args args;
        well = ncoll__relay_call(r, rooms[i], (struct signature){1, 1}, &args) == NCOLL_OK &&
               take_plan(g, &args, f);
    }
    ncoll__relay_free(g->ctx, r);
    return well;
}

/* The agreement that all have room, the relay, and the barrier when all have accepted. */
static bool wire(ncoll_group *g, const struct plan *plan, struct figures *f)
{
    int64_t word = 0;
    struct signature purpose = {1, 1};
    struct call_args room = ncoll__base_call(COLL_ALLREDUCE, &word, &word, 1, purpose);
    struct call_args met = ncoll__base_call(COLL_BARRIER, NULL, NULL, 0, purpose);

    return take_plan(g, &room, f) && relay(g, plan, f) && take_plan(g, &met, f) &&
           ncoll__peers_now_wired(g, plan) == NCOLL_OK;
}

/* Notes peers, and the messages that each may have in flight to this rank. */
static void note_peers(const unsigned *peers, unsigned n, unsigned depth, unsigned *depths,
                       struct figures *f)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned *known = &depths[peers[i]];
        f->peers += *known == 0;
        *known = *known > depth ? *known : depth > 0 ? depth : 1;
    }
}

static bool call(ncoll_group *g, enum collective collective, unsigned *depths, struct figures *f)
{
    struct call_args args = {.collective = collective,
                             .count = collective == COLL_BARRIER ? 0 : 1,
                             .type = NCOLL_INT64,
                             .op = NCOLL_SUM};
    struct plan *plan;

    if (ncoll__plan(g, &args, 0, &plan) != NCOLL_OK)
        return false;
    note_peers(plan->peers, plan->n_peers, plan->depth, depths, f);
    extend(g, plan, f);
    bool well = ncoll__peers_wired(g, plan) || wire(g, plan, f);
    ncoll__plan_leave(g, plan); /* the group keeps it for the next such call */
    return well;
}

/* The first part of the window. */
static void begin(const struct window_shape *s, struct figures *f)
{
    f->extent = ncoll__extent_first(s);
    f->slots = ncoll__extent_bytes(s, (struct window_extent){0}, f->extent);
    f->window = window_bytes(s);
}

/* Addresses as ranks have them, whose nodes have nothing in common but their network. */
static bool keep_addresses(struct ncoll_context *ctx)
{
    struct random random = random_stream(1, 0);
    struct verbs_description d = {
        .mtu = IBV_MTU_4096, .link_layer = 2, .gid = {[10] = 0xff, 0xff, 10}};
    bool well = true;

    for (int r = 0; r < ctx->ranks && well; r++) {
        if (r % (int)PER_NODE == 0) {
            d.node = random_next(&random);
            d.pid_namespace = random_next(&random);
            d.pid = (int32_t)random_below(&random, 1 << 22);
            memcpy(d.gid + 13, &d.node, 3);
        }
        d.pid++;
        well = ncoll__address_add(ctx, &d, sizeof d);
    }
    return well;
}

/* Returns the bytes of the pages of a table with an entry for each rank that have one of a peer. */
static size_t pages_of(const unsigned *depths, size_t ranks, size_t entry)
{
    size_t page = SIZE_MAX, bytes = 0;

    for (size_t r = 0; r < ranks; r++)
        if (depths[r] > 0 && r * entry / PAGE != page) {
            page = r * entry / PAGE;
            bytes += PAGE;
        }
    return bytes;
}

static size_t power_of_two(size_t at_least)
{
    size_t power = 1;

    while (power < at_least)
        power *= 2;
    return power;
}

struct queues {
    size_t receive_bytes, send_bytes;
    size_t completions; /* the length of the queue */
    unsigned posted;    /* receives */
};

static void add_receives(const struct rooms *rooms, struct queues *q)
{
    q->receive_bytes += power_of_two(rooms->places + RECEIVE_BATCH + 1) * RECEIVE_BYTES;
    q->posted += RECEIVE_BATCH;
}

/* Adds one connection to the queues: a share of the receives, as many posted as its peer can have in
 * flight, and a place among completions for each of these and of its sends. */
static void add_connection(struct rooms *rooms, unsigned depth, struct queues *q)
{
    unsigned before = rooms->n_queues;
    struct share share;

    if (!ncoll__rooms_take(rooms, UNCONFIRMED_MAX + WORDS_IN_FLIGHT, &share))
        return;
    if (rooms->n_queues > before)
        add_receives(rooms, q);
    unsigned allowed = share.receives - WORDS_IN_FLIGHT, sends = rooms->sends.taken;
    q->posted +=
        WORDS_IN_FLIGHT + (allowed < depth + MORE_IN_FLIGHT ? allowed : depth + MORE_IN_FLIGHT);
    if (q->posted + sends > q->completions)
        q->completions =
            power_of_two(ncoll__completions_grown(q->posted + sends, q->completions) + 1) - 1;
    q->send_bytes += power_of_two(share.sends * SEND_BYTES);
}

/* Returns the bytes of the queues of a rank that is connected to its peers, on a device that limits
 * none of them: the shared receive queues, the completion queue, which has grown until all fit, and
 * the send queues. */
static size_t queues_of(unsigned ranks, const unsigned *depths)
{
    const struct room_limits limits = {
        .receives = INT32_MAX, .completions = INT32_MAX, .many_queues = true};
    struct queues q = {.completions = CQ_DEPTH};
    struct rooms rooms;

    ncoll__rooms_divide(ranks, &limits, &rooms);
    add_receives(&rooms, &q);
    for (unsigned r = 0; r < ranks; r++)
        if (depths[r] > 0)
            add_connection(&rooms, depths[r], &q);
    return q.receive_bytes + (q.completions + 1) * COMPLETION_BYTES + q.send_bytes;
}

/* The peers have been noted. */
static void add_up(const struct window_shape *s, const unsigned *depths, struct figures *f)
{
    /* the credits of the window, and the transport's table of connections */
    f->tables = pages_of(depths, s->ranks, sizeof(uint64_t)) +
                pages_of(depths, s->ranks, sizeof(struct connection *));
    f->inboxes = window_round_up(f->peers * sizeof(struct inbox), PAGE);
    f->connections = f->peers * (sizeof(struct connection) + sizeof(struct view) +
                                 sizeof(struct verbs_description));
    f->queues = queues_of((unsigned)s->ranks, depths);
    f->registered = f->slots + f->bulk + f->scratch + f->inboxes;
    f->pinned = f->registered + f->queues;
}

static bool measure(unsigned ranks, struct figures *f)
{
    struct meter meter = {0};
    const struct planner_job job = {.rank = ranks / 3,
                                    .ranks = ranks,
                                    .fabric = PLANNER_VERBS,
                                    .per_node = PER_NODE,
                                    .allocate = allocate,
                                    .release = release,
                                    .allocate_arg = &meter};
    struct planner *p = planner_new(&job);
    unsigned *depths = calloc(ranks, sizeof *depths); /* of peers; 0: it is none */
    unsigned base[BASE_PEERS];
    bool well = p != NULL && depths != NULL;

    *f = (struct figures){0};
    if (well) {
        ncoll_group *g = planner_world(p);
        begin(&g->window->shape, f);
        note_peers(base, ncoll__base_peers((unsigned)g->rank, ranks, base), BASE_DEPTH, depths, f);
        well = call(g, COLL_BARRIER, depths, f) && call(g, COLL_ALLREDUCE, depths, f) &&
               call(g, COLL_BCAST, depths, f);
        add_up(&g->window->shape, depths, f);
        if (!well)
            fprintf(stderr, "%u ranks: %s\n", ranks, planner_error(p));
    }
    f->heap = meter.now;
    if (well)
        well = keep_addresses(planner_world(p)->ctx);
    f->addresses = meter.now - f->heap;
    f->heap_most = meter.most;
    if (p != NULL)
        ncoll__addresses_free(planner_world(p)->ctx);
    f->all = f->pinned + f->tables + f->connections + f->heap + f->addresses;
    free(depths);
    planner_free(p);
    return well && meter.now == 0;
}

/* ------------------------------------------------------------------ the table ----------------- */

static size_t kib(size_t bytes)
{
    return (bytes + 1023) / 1024;
}

static void print_title(void)
{
    printf("%8s %7s %7s %7s %7s %10s %7s %7s %7s %7s %8s %8s %9s %8s %9s %6s %8s %9s\n", "ranks",
           "slots", "bulk", "scratch", "inboxes", "registered", "queues", "pinned", "tables",
           "conns", "heap", "at most", "addresses", "all", "window", "peers", "messages", "bytes");
}

static void print_row(unsigned ranks, const struct figures *f)
{
    printf("%8u %7zu %7zu %7zu %7zu %10zu %7zu %7zu %7zu %7zu %8zu %8zu %9zu %8zu %9zu %6u %8zu "
           "%9zu\n",
           ranks, kib(f->slots), kib(f->bulk), kib(f->scratch), kib(f->inboxes), kib(f->registered),
           kib(f->queues), kib(f->pinned), kib(f->tables), kib(f->connections), kib(f->heap),
           kib(f->heap_most), kib(f->addresses), kib(f->all), kib(f->window), f->peers, f->messages,
           f->bytes);
}

#define MB 1000000u

/* Limits in bytes, and of the messages that connecting sends: 8 for each round of a barrier between
 * pairs. In KiB: the present heap, and the most that it and addresses take, and a quarter more. */
static const struct limit {
    unsigned ranks;
    size_t pinned, all, messages, heap, heap_most;
} limits[] = {{1024, 2 * MB, 12 * MB, 80, 100, 128},
              {16384, 4 * MB, 16 * MB, 112, 170, 580},
              {1u << 20, 8 * MB, 64 * MB, 160, 5600, 36200}};

static bool is_within(const struct limit *l, const struct figures *f)
{
    bool within = f->pinned <= l->pinned && f->all <= l->all && f->messages <= l->messages &&
                  kib(f->heap) <= l->heap && kib(f->heap_most) <= l->heap_most;

    if (!within)
        printf(
            "FAILED: %u ranks: %zu bytes pinned, %zu in all, %zu messages, heap %zu, at most %zu "
            "KiB; the limits are %zu, %zu, %zu, %zu, %zu\n",
            l->ranks, f->pinned, f->all, f->messages, kib(f->heap), kib(f->heap_most), l->pinned,
            l->all, l->messages, l->heap, l->heap_most);
    return within;
}

int main(int argc, char **argv)
{
    struct figures f;
    bool well = true;

    for (int i = 1; i < argc; i++)
        if (strtoul(argv[i], NULL, 10) < 2 || strtoul(argv[i], NULL, 10) > 1u << 20) {
            fputs(usage, stderr);
            return 2;
        }
    print_title();
    for (int i = 1; i < argc; i++) {
        unsigned ranks = (unsigned)strtoul(argv[i], NULL, 10);
        well &= measure(ranks, &f);
        print_row(ranks, &f);
    }
    for (unsigned i = 0; argc == 1 && i < sizeof limits / sizeof limits[0]; i++) {
        well &= measure(limits[i].ranks, &f);
        print_row(limits[i].ranks, &f);
        well &= is_within(&limits[i], &f);
    }
    return well ? 0 : 1;
}
