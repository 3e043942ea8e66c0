/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine: a loop that takes the earliest event and lets the rank of this event run. */
#include "transport/sim/engine.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 << 10)
/* The virtual time in which the ranks of a hung job have to return from their functions. */
#define LAST_NS    UINT64_C(100000000000)
#define VIOLATIONS 5u /* the most violations that are printed */

struct sim *ncoll__sim;

void ncoll__sim_violation(const char *format, ...)
{
    va_list args;

    if (ncoll__sim->report.violations++ >= VIOLATIONS)
        return;
    fprintf(stderr, "sim (seed %" PRIu64 "), %.3f us: ", ncoll__sim->config.seed,
            (double)ncoll__sim->now_ns / 1e3);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ------------------------------------------------------------------ turns --------------------- */

static void give_turn(struct sim_rank *r)
{
    struct sim *s = ncoll__sim;

    r->state = RANK_RUNNING;
    r->now_ns = s->now_ns > r->now_ns ? s->now_ns : r->now_ns;
    s->running = r;
    s->report.switches++;
    fiber_switch(&s->fiber, &r->fiber);
    s->running = NULL;
}

static void take_turns(struct sim_rank *r, enum rank_state state, uint64_t at_ns)
{
    struct sim *s = ncoll__sim;

    r->state = state;
    ncoll__sim_push(&s->queue, &r->resume, at_ns);
    fiber_switch(&r->fiber, &s->fiber);
}

void ncoll__sim_sync(struct sim_rank *r)
{
    struct sim *s = ncoll__sim;

    if (s->queue.count > 0 && s->queue.entries[0].at_ns + AHEAD_NS <= r->now_ns)
        take_turns(r, RANK_READY, r->now_ns);
}

void ncoll__sim_block(struct sim_rank *r, uint64_t ns)
{
    take_turns(r, RANK_BLOCKED, r->now_ns + ns);
    r->awaited = NULL;
    r->n_awaited = 0;
}

void ncoll__sim_wake(struct sim_rank *r, uint64_t at_ns)
{
    if (r->state == RANK_BLOCKED && at_ns < r->resume.at_ns)
        ncoll__sim_move(&ncoll__sim->queue, &r->resume, at_ns);
}

uint64_t sim_now_ns(void)
{
    return ncoll__sim->running->now_ns;
}

void sim_sleep(uint64_t ns)
{
    struct sim_rank *r = ncoll__sim->running;

    r->now_ns += ns;
    ncoll__sim_sync(r);
}

bool sim_is_killed(int rank)
{
    return rank == SIM_ANY ? ncoll__sim->wounded : ncoll__sim->ranks[rank].killed;
}

/* ------------------------------------------------------------------ what a rank is handed ----- */

static uint64_t read_clock(void *arg)
{
    struct sim_rank *r = arg;

    return r->now_ns += CLOCK_NS;
}

/* Allocated memory has its length in the ROOM bytes before it. */
#define ROOM 16u
static void *allocate(void *arg, size_t bytes)
{
    struct sim_rank *r = arg;
    struct sim *s = ncoll__sim;
    unsigned char *memory = malloc(ROOM + bytes);

    if (memory == NULL)
        return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    r->heap_bytes += bytes;
    s->heap_bytes += bytes;
    r->heap_most = r->heap_bytes > r->heap_most ? r->heap_bytes : r->heap_most;
    if (s->heap_bytes > s->report.heap_bytes)
        s->report.heap_bytes = s->heap_bytes;
    return memory + ROOM;
}

static void release(void *arg, void *memory)
{
    struct sim_rank *r = arg;
    size_t bytes;

    if (memory == NULL)
        return;
    memory = (unsigned char *)memory - ROOM;
    memcpy(&bytes, memory, sizeof bytes);
    r->heap_bytes -= bytes;
    ncoll__sim->heap_bytes -= bytes;
    free(memory);
}

/* Returns the parameters for the contexts of a rank. Ranks do not spin, as the engine wakes a
 * waiting rank. The hardware levels of the machine that runs the simulator are not used. */
static ncoll_params params_of(struct sim_rank *r)
{
    ncoll_params params = ncoll__sim->base;

    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    params.callbacks = (ncoll_bootstrap_callbacks){.arg = r};
    params.rank = r->rank;
    params.ranks = ncoll__sim->config.ranks;
    params.clock_ns = read_clock;
    params.clock_arg = r;
    params.allocate = allocate;
    params.release = release;
    params.allocate_arg = r;
    params.spin_ns = 0;
    params.level = NCOLL_LEVEL_NONE;
    return params;
}

static void rank_main(void *arg)
{
    struct sim_rank *r = arg;
    struct sim *s = ncoll__sim;
    ncoll_params params = params_of(r);

    r->code = s->body(&params, s->arg);
    r->state = RANK_ENDED;
    s->alive--;
    fiber_leave(&s->fiber);
}

/* ------------------------------------------------------------------ kills --------------------- */

/* Kills a rank. A killed process would be gone, but here the rank runs on without contact to the
 * others, so that it releases its memory: each of its calls fails, and its function returns. */
static void kill_rank(struct sim_rank *r)
{
    struct sim *s = ncoll__sim;

    if (r->killed || r->state == RANK_ENDED)
        return;
    r->killed = s->wounded = true;
    s->kills[s->n_kills++] = r->rank;
    ncoll__sim_cut(r);
    ncoll__sim_wake(r, s->now_ns);
    if (s->over)
        return;
    for (int q = 0; q < s->config.ranks; q++)
        ncoll__sim_notice(r->rank, q);
}

/* Kills all ranks of a job that hangs, so that their functions return. */
static void end_all(void)
{
    struct sim *s = ncoll__sim;

    s->over = s->report.hangs = true;
    fprintf(stderr, "sim (seed %" PRIu64 "): %d of %d ranks have not ended after %.3f s\n",
            s->config.seed, s->alive, s->config.ranks, (double)s->now_ns / 1e9);
    for (int i = 0; i < s->config.ranks; i++)
        kill_rank(&s->ranks[i]);
}

static void draw_kills(void)
{
    struct sim *s = ncoll__sim;

    for (unsigned i = 0; i < s->config.kills; i++) {
        struct sim_rank *r = &s->ranks[sim_random_to(&s->random, (uint64_t)s->config.ranks - 1)];
        uint64_t at_ns = sim_random_to(&s->random, s->config.kill_ns);
        if (r->kill.place == NOT_QUEUED)
            ncoll__sim_push(&s->queue, &r->kill, at_ns);
    }
}

/* ------------------------------------------------------------------ the loop ------------------ */

static void note(uint64_t word)
{
    uint64_t *hash = &ncoll__sim->report.hash;

    *hash = (*hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    *hash ^= *hash >> 29;
}

static void note_event(const struct event *e)
{
    note(e->at_ns);
    note((uint64_t)e->kind << 32 | (uint32_t)e->rank);
    if (e->kind == EVENT_ARRIVAL) {
        const struct sim_message *m = (const struct sim_message *)e;
        note((uint64_t)m->kind << 32 | (uint32_t)m->from);
        note(m->epoch << 16 ^ m->slot);
        note(m->bytes);
    }
}

static void happen(struct event *e)
{
    struct sim *s = ncoll__sim;

    s->report.events++;
    s->now_ns = e->at_ns;
    note_event(e);
    switch (e->kind) {
    case EVENT_RESUME:
        give_turn(&s->ranks[e->rank]);
        break;
    case EVENT_ARRIVAL:
        ncoll__sim_arrive((struct sim_message *)e);
        break;
    case EVENT_KILL:
        kill_rank(&s->ranks[e->rank]);
        break;
    }
}

static void loop(void)
{
    struct sim *s = ncoll__sim;
    uint64_t limit_ns = s->config.limit_ns;
    struct event *e;

    while (s->alive > 0 && (e = ncoll__sim_pop(&s->queue)) != NULL) {
        if (e->at_ns > limit_ns && s->over) {
            fprintf(stderr, "sim: ranks whose calls fail have not returned from their functions\n");
            abort();
        }
        if (e->at_ns > limit_ns) {
            limit_ns = e->at_ns + LAST_NS;
            ncoll__sim_push(&s->queue, e, e->at_ns);
            end_all();
            continue;
        }
        happen(e);
    }
}

/* ------------------------------------------------------------------ life ---------------------- */

void sim_defaults(const struct sim_config *config, struct sim_config *out)
{
    *out = *config;
#define DEFAULT(field, value)                                                                      \
    if (out->field == 0)                                                                           \
    out->field = (value)
    /* about the values of HDR InfiniBand */
    DEFAULT(node_ranks, 1);
    DEFAULT(latency_ns, 1000);
    DEFAULT(near_latency_ns, 400);
    DEFAULT(overhead_ns, 100);
    DEFAULT(gap_ns, 50);
    DEFAULT(bytes_per_us, 24000);
    DEFAULT(depth, 64);
    DEFAULT(notice_ns, 1000000);
    DEFAULT(kill_ns, 1000000);
    DEFAULT(limit_ns, UINT64_C(1000000000000));
    DEFAULT(stack_bytes, STACK_BYTES);
#undef DEFAULT
}

static bool open_stacks(struct sim *s)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (s->config.stack_bytes + page - 1) / page * page;

    s->config.stack_bytes = bytes;
    s->stack_room = bytes + page;
    s->stacks = mmap(NULL, (size_t)s->config.ranks * s->stack_room, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->stacks == MAP_FAILED)
        return false;
    for (int i = 0; i < s->config.ranks; i++)
        if (mprotect(s->stacks + (size_t)i * s->stack_room, page, PROT_NONE) != 0)
            return false;
    return true;
}

static void open_rank(struct sim *s, int rank)
{
    struct sim_rank *r = &s->ranks[rank];
    size_t guard = s->stack_room - s->config.stack_bytes;

    *r = (struct sim_rank){
        .rank = rank,
        .state = RANK_READY,
        .resume = {.place = NOT_QUEUED, .kind = EVENT_RESUME, .rank = rank},
        .kill = {.place = NOT_QUEUED, .kind = EVENT_KILL, .rank = rank},
        .random = s->config.seed ^ ((uint64_t)rank + 1) * UINT64_C(0xd1b54a32d192ed03),
        .root_cause = NOBODY,
    };
    fiber_create(&r->fiber, s->stacks + (size_t)rank * s->stack_room + guard, s->config.stack_bytes,
                 rank_main, r);
    ncoll__sim_push(&s->queue, &r->resume, sim_random_to(&s->random, s->config.jitter_ns));
}

static void open_job(struct sim *s)
{
    s->ranks = calloc((size_t)s->config.ranks, sizeof *s->ranks);
    s->kills = calloc((size_t)s->config.ranks, sizeof *s->kills);
    if (s->ranks == NULL || s->kills == NULL || !open_stacks(s)) {
        fprintf(stderr, "sim: no memory for %d ranks\n", s->config.ranks);
        abort();
    }
    for (int i = 0; i < s->config.ranks; i++)
        open_rank(s, i);
    s->alive = s->config.ranks;
}

/* Returns the depth in bytes to which a rank's stack was used, in whole pages; 0: not measured. */
static size_t depth_of(const struct sim *s, int rank)
{
    const unsigned char *top = (const unsigned char *)s->ranks[rank].fiber.stack;
    size_t page = s->stack_room - s->config.stack_bytes, pages = s->config.stack_bytes / page;
    unsigned char resident[4096];

    if (pages > sizeof resident ||
        mincore((void *)(uintptr_t)top, s->config.stack_bytes, resident) != 0)
        return 0;
    for (size_t i = 0; i < pages; i++)
        if (resident[i] & 1)
            return (pages - i) * page;
    return 0;
}

static void sum_up(struct sim *s)
{
    struct sim_report *report = &s->report;

    report->end_ns = s->now_ns;
    report->first_failed = -1;
    for (int i = 0; i < s->config.ranks; i++) {
        const struct sim_rank *r = &s->ranks[i];
        size_t depth = depth_of(s, i);
        report->killed += r->killed;
        report->failed += !r->killed && r->code != 0;
        if (!r->killed && r->code != 0 && report->first_failed < 0)
            report->first_failed = i;
        if (r->heap_most > report->rank_heap_bytes)
            report->rank_heap_bytes = r->heap_most;
        report->stack_bytes = depth > report->stack_bytes ? depth : report->stack_bytes;
        if (r->heap_bytes > 0)
            ncoll__sim_violation("rank %d has not released %zu bytes", i, r->heap_bytes);
    }
}

static void close_job(struct sim *s)
{
    struct event *e;

    while ((e = ncoll__sim_pop(&s->queue)) != NULL)
        if (e->kind == EVENT_ARRIVAL) {
            free(((struct sim_message *)e)->copy);
            free(e);
        }
    for (int i = 0; i < s->config.ranks; i++)
        for (unsigned k = 0; k < 2; k++)
            free(s->ranks[i].blobs[k].bytes);
    free(s->blobs[0]);
    free(s->blobs[1]);
    ncoll__sim_unbury(UINT_MAX);
    munmap(s->stacks, (size_t)s->config.ranks * s->stack_room);
    free(s->queue.entries);
    free(s->ranks);
    free(s->kills);
}

bool sim_run(const struct sim_config *config, const ncoll_params *base, sim_body body, void *arg,
             struct sim_report *report)
{
    struct sim s = {.body = body, .arg = arg};

    sim_defaults(config, &s.config);
    s.random = s.config.seed;
    ncoll_params_init(&s.base, sizeof s.base);
    if (base != NULL)
        s.base = *base;
    ncoll__sim = &s;
    open_job(&s);
    draw_kills();
    loop();
    if (s.alive > 0) {
        fprintf(stderr, "sim: %d ranks wait for nothing\n", s.alive);
        abort();
    }
    sum_up(&s);
    close_job(&s);
    ncoll__sim = NULL;
    if (report != NULL)
        *report = s.report;
    return s.report.failed == 0 && !s.report.hangs && s.report.violations == 0;
}
