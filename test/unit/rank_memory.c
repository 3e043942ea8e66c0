/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of one rank of a job over verbs, by the library's own functions over a transport that
 * moves nothing: what a window pins, what the heap holds behind the plans of a barrier, a short
 * allreduce and a bcast, and what connecting their peers sends. Without arguments the program also
 * checks that no figure is above the bound that it has now.
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
#ifdef NCOLL_HAVE_VERBS
#include "transport/verbs/verbs.h"
#define ADDRESS_BYTES (sizeof(struct verbs_description) + sizeof(struct connection *))
#else
#define ADDRESS_BYTES 56u /* as with verbs */
#endif

static const char usage[] =
    "usage: ncoll-rank-memory [RANKS ...]\n"
    "\n"
    "Prints the memory of one rank of such jobs over verbs, 16 ranks on a node, in KiB: window by\n"
    "part (all of it is pinned), heap behind the plans of a barrier, an allreduce and a bcast of "
    "8\n"
    "bytes, what is kept of all addresses; then connected peers, and what connecting them sends.\n"
    "Queue pairs, and the posted receives (2 MiB at most), come on top.\n";

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
    size_t slots, acknowledgements, credits, advertisements, bulk, scratch, window;
    size_t heap, heap_most, addresses, all;
    unsigned peers;
    size_t messages, bytes; /* that connecting sends */
};

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

static void note_peers(const unsigned *peers, unsigned n, bool *is_peer, struct figures *f)
{
    for (unsigned i = 0; i < n; i++) {
        f->peers += !is_peer[peers[i]];
        is_peer[peers[i]] = true;
    }
}

static bool call(ncoll_group *g, enum collective collective, bool *is_peer, struct figures *f)
{
    struct call_args args = {.collective = collective,
                             .count = collective == COLL_BARRIER ? 0 : 1,
                             .type = NCOLL_INT64,
                             .op = NCOLL_SUM};
    struct plan *plan;

    if (ncoll__plan(g, &args, 0, &plan) != NCOLL_OK)
        return false;
    note_peers(plan->peers, plan->n_peers, is_peer, f);
    bool well = ncoll__peers_wired(g, plan) || wire(g, plan, f);
    ncoll__plan_leave(g, plan); /* the group keeps it for the next such call */
    return well;
}

static void read_window(const struct window_shape *s, struct figures *f)
{
    f->slots = window_got_at(s);
    f->acknowledgements = window_credits_at(s) - window_got_at(s);
    f->credits = window_advertisements_at(s) - window_credits_at(s);
    f->advertisements = window_bulk_at(s) - window_advertisements_at(s);
    f->bulk = window_bytes(s) - window_bulk_at(s);
    f->scratch = EPOCHS * s->scratch_bytes;
    f->window = window_bytes(s) + f->scratch;
}

static bool measure(unsigned ranks, struct figures *f)
{
    struct meter meter = {0};
    const struct planner_job job = {.rank = ranks / 3,
                                    .ranks = ranks,
                                    .fabric = PLANNER_VERBS,
                                    .per_node = 16,
                                    .allocate = allocate,
                                    .release = release,
                                    .allocate_arg = &meter};
    struct planner *p = planner_new(&job);
    bool *is_peer = calloc(ranks, sizeof *is_peer);
    unsigned base[BASE_PEERS];
    bool well = p != NULL && is_peer != NULL;

    *f = (struct figures){.addresses = ranks * (ADDRESS_BYTES + sizeof(uint32_t))};
    if (well) {
        ncoll_group *g = planner_world(p);
        read_window(&g->window->shape, f);
        note_peers(base, ncoll__base_peers((unsigned)g->rank, ranks, base), is_peer, f);
        well = call(g, COLL_BARRIER, is_peer, f) && call(g, COLL_ALLREDUCE, is_peer, f) &&
               call(g, COLL_BCAST, is_peer, f);
        if (!well)
            fprintf(stderr, "%u ranks: %s\n", ranks, planner_error(p));
    }
    f->heap = meter.now;
    f->heap_most = meter.most;
    f->all = f->window + f->heap + f->addresses;
    free(is_peer);
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
    printf("%8s %7s %5s %7s %7s %9s %9s %9s %8s %8s %9s %9s %6s %9s %9s\n", "ranks", "slots",
           "acks", "credits", "adverts", "bulk", "scratch", "pinned", "heap", "at most",
           "addresses", "all", "peers", "messages", "bytes");
}

static void print_row(unsigned ranks, const struct figures *f)
{
    printf("%8u %7zu %5zu %7zu %7zu %9zu %9zu %9zu %8zu %8zu %9zu %9zu %6u %9zu %9zu\n", ranks,
           kib(f->slots), kib(f->acknowledgements), kib(f->credits), kib(f->advertisements),
           kib(f->bulk), kib(f->scratch), kib(f->window), kib(f->heap), kib(f->heap_most),
           kib(f->addresses), kib(f->all), f->peers, f->messages, f->bytes);
}

/* KiB: the present figures, and a quarter more for what plans hold and connecting sends. */
static const struct bound {
    unsigned ranks;
    size_t pinned_without_bulk, heap, heap_most, messages;
} bounds[] = {
    {1024, 4800, 100, 128, 75}, {16384, 9100, 170, 580, 105}, {1u << 20, 17200, 5600, 36200, 150}};

static bool is_within(const struct bound *b, const struct figures *f)
{
    bool within = kib(f->window - f->bulk - f->scratch) <= b->pinned_without_bulk &&
                  kib(f->heap) <= b->heap && kib(f->heap_most) <= b->heap_most &&
                  f->messages <= b->messages;

    if (!within)
        printf(
            "FAILED: %u ranks: window %zu without bulk memory and scratch, heap %zu, at most %zu "
            "KiB, %zu messages; bounds %zu, %zu, %zu, %zu\n",
            b->ranks, kib(f->window - f->bulk - f->scratch), kib(f->heap), kib(f->heap_most),
            f->messages, b->pinned_without_bulk, b->heap, b->heap_most, b->messages);
    return within;
}

int main(int argc, char **argv)
{
    struct figures f;
    bool well = true;

    print_title();
    for (int i = 1; i < argc; i++) {
        unsigned long ranks = strtoul(argv[i], NULL, 10);
        if (ranks < 2 || ranks > 1u << 20) {
            fputs(usage, stderr);
            return 2;
        }
        well &= measure((unsigned)ranks, &f);
        print_row((unsigned)ranks, &f);
    }
    for (unsigned i = 0; argc == 1 && i < sizeof bounds / sizeof bounds[0]; i++) {
        well &= measure(bounds[i].ranks, &f);
        print_row(bounds[i].ranks, &f);
        well &= is_within(&bounds[i], &f);
    }
    return well ? 0 : 1;
}
