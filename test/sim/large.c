/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A large job: as many contexts as are asked for are created, make a barrier and an allreduce of 8
 * bytes, and are destroyed. With --every they make every collective instead, with checked results:
 * on a copy of the world, on groups by color, on a group of every third rank, and on the world. The
 * program prints the time and the memory of a rank.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/group.h"
#include "test/sim/every.h"
#include "test/support/crew.h"
#include "test/support/options.h"
#include "transport/sim/sim.h"

static const char usage[] =
    "usage: ncoll-sim-large [-P N] [--node-ranks N] [--every] [--peers N] [--most-mib N] "
    "[--most-s N]\n"
    "                       [--seed S]\n"
    "\n"
    "Creates N contexts in this process, under virtual time; default: 1024, 16 on a node.\n"
    "\n"
    "  --every         makes every collective, on the world and on other groups\n"
    "  --peers N       the most peers of a rank, as NCOLL_PEERS\n"
    "  --most-mib N    fails if the process takes more memory\n"
    "  --most-s N      fails if it takes longer\n";

/* Stages of a job, each of which ends when all ranks have come to its end. */
enum { CREATED, COPY_CALLED, COLORS_CALLED, LIST_CALLED, CALLED, STAGES };
static const char *const stages[STAGES] = {"contexts created", "calls on a copy",
                                           "calls on groups by color", "calls on every third rank",
                                           "calls on the world"};

struct options {
    uint64_t ranks, node_ranks, peers, seed, most_mib, most_s;
    bool every;
};

struct job {
    const struct options *options;
    uint64_t start_ns; /* real */
    int *thirds;       /* every third rank */
    int reached[STAGES];
};

static double seconds_since(uint64_t start_ns)
{
    return (double)(crew_now_ns() - start_ns) / 1e9;
}

/* Returns the bytes of pages that are this process's own. A page that was only read is a page of
 * zeros that all share. Bits of /proc/self/pagemap: 63, it is present; 56, no other page table has it. */
static size_t touched(const void *from, const void *end)
{
    const uint64_t own = UINT64_C(1) << 63 | UINT64_C(1) << 56;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 0;
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry;

    for (uintptr_t at = (uintptr_t)from / page; at < ((uintptr_t)end + page - 1) / page; at++)
        if (pread(map, &entry, sizeof entry, (off_t)(at * sizeof entry)) == sizeof entry &&
            (entry & own) == own)
            bytes += page;
    close(map);
    return bytes;
}

static void say_part(const char *name, const void *from, const void *end)
{
    printf("  window: %-15s %9zu KiB, touched %6zu KiB\n", name,
           (size_t)((const char *)end - (const char *)from) >> 10, touched(from, end) >> 10);
}

/* The window of one rank stands for all. */
static void say_window(const struct window *w)
{
    const struct window_shape *s = &w->shape;

    say_part("advertisements", w->advertisements, w->slots);
    say_part("slots", w->slots, w->got);
    say_part("acknowledgements", w->got, w->credits);
    say_part("credits", w->credits, w->credits + s->ranks);
    say_part("bulk memory", w->bulk, w->bulk + EPOCHS * s->bulk_bytes);
    say_part("scratch", w->scratch, w->scratch + EPOCHS * s->scratch_bytes);
}

static long process_mib(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss >> 10;
}

/* Notes that this rank has come to the end of a stage. */
static void reach(struct job *job, int stage, const struct window *w)
{
    if (++job->reached[stage] != (int)job->options->ranks)
        return;
    printf("  %-26s after %6.1f s (%10.3f ms virtual), %6ld MiB\n", stages[stage],
           seconds_since(job->start_ns), (double)sim_now_ns() / 1e6, process_mib());
    if (stage == CALLED)
        say_window(w);
    fflush(stdout);
}

static bool call_short(ncoll_group *world)
{
    int64_t ranks = ncoll_group_size(world), in = ncoll_group_rank(world) + 1, out = 0;

    return ncoll_barrier(world, NCOLL_BLOCK) == NCOLL_OK &&
           ncoll_allreduce(world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) == NCOLL_OK &&
           out == ranks * (ranks + 1) / 2;
}

static bool call_all(ncoll_group *group, int root)
{
    const char *wrong = every_call(group, root);

    if (wrong != NULL)
        fprintf(stderr, "rank %d of %d: %s\n", ncoll_group_rank(group), ncoll_group_size(group),
                wrong);
    return wrong == NULL;
}

/* A group that has just been made: all calls, and the end of the group. */
static bool use(int rc, ncoll_group *group, struct job *job, int stage)
{
    if (rc == NCOLL_OK && group != NULL)
        rc = call_all(group, ncoll_group_size(group) / 2) ? ncoll_group_free(&group, NCOLL_BLOCK)
                                                          : NCOLL_ERR_INTERNAL;
    reach(job, stage, NULL);
    return rc == NCOLL_OK;
}

#define COLORS 100

static bool call_groups(ncoll_group *world, struct job *job)
{
    ncoll_group *group = NULL;
    int rank = ncoll_group_rank(world), size = ncoll_group_size(world);

    int rc = ncoll_group_dup(world, &group, NCOLL_BLOCK);
    if (!use(rc, group, job, COPY_CALLED))
        return false;
    rc = ncoll_group_split(world, rank % COLORS, -rank, &group, NCOLL_BLOCK);
    if (!use(rc, group, job, COLORS_CALLED))
        return false;
    rc = ncoll_group_from_ranks(world, job->thirds, (size + 2) / 3, &group, NCOLL_BLOCK);
    return use(rc, group, job, LIST_CALLED);
}

static int run_rank(const ncoll_params *params, void *arg)
{
    struct job *job = arg;
    ncoll_context *ctx;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    ncoll_group *world = ncoll_world(ctx);
    reach(job, CREATED, NULL);
    bool every = job->options->every;
    bool right = !every || call_groups(world, job);
    right = right && (every ? call_all(world, params->ranks / 3) : call_short(world));
    reach(job, CALLED, world->window);
    if (!right)
        fprintf(stderr, "%s\n", ncoll_last_error(ctx)->text);
    ncoll_context_destroy(ctx);
    return right ? 0 : 1;
}

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {{"node-ranks", required_argument, NULL, 'n'},
                                          {"every", no_argument, NULL, 'e'},
                                          {"peers", required_argument, NULL, 'p'},
                                          {"most-mib", required_argument, NULL, 'm'},
                                          {"most-s", required_argument, NULL, 's'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "P:h", longs, NULL)) != -1)
        if (c == 'e')
            o->every = true;
        else if (c == 'P'   ? !option_number(optarg, &o->ranks)
                 : c == 'n' ? !option_number(optarg, &o->node_ranks)
                 : c == 'p' ? !option_number(optarg, &o->peers)
                 : c == 'm' ? !option_number(optarg, &o->most_mib)
                 : c == 's' ? !option_number(optarg, &o->most_s)
                 : c == 'S' ? !option_number(optarg, &o->seed)
                            : true)
            return false;
    return optind == argc && o->ranks > 0 && o->ranks <= 1u << 20 && o->node_ranks > 0 &&
           o->node_ranks <= o->ranks;
}

static bool is_within(const struct options *o, const struct job *job)
{
    bool fits = process_mib() <= (long)o->most_mib,
         in_time = seconds_since(job->start_ns) <= (double)o->most_s;

    if (!fits)
        printf("FAILED: %ld MiB are more than %" PRIu64 "\n", process_mib(), o->most_mib);
    if (!in_time)
        printf("FAILED: it took more than %" PRIu64 " s\n", o->most_s);
    return fits && in_time;
}

int main(int argc, char **argv)
{
    struct options o = {.ranks = 1024, .node_ranks = 16, .most_mib = 1u << 30, .most_s = 1u << 30};
    struct sim_report report = {0};

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    struct sim_config config = {.ranks = (int)o.ranks,
                                .node_ranks = (int)o.node_ranks,
                                .seed = o.seed != 0 ? o.seed : test_seed(),
                                .jitter_ns = 500,
                                .gives_back = true};
    ncoll_params base;
    ncoll_params_init(&base, sizeof base);
    base.peers = (int)o.peers;
    struct job job = {
        .options = &o, .start_ns = crew_now_ns(), .thirds = calloc(o.ranks, sizeof *job.thirds)};
    for (uint64_t i = 0; job.thirds != NULL && 3 * i < o.ranks; i++)
        job.thirds[i] = (int)(3 * i);
    bool well = job.thirds != NULL && sim_run(&config, &base, run_rank, &job, &report);
    free(job.thirds);
    every_free();
    printf("  heap of a rank, at most    %9zu KiB\n  stack of a rank, at most   %9zu KiB\n"
           "  memory of the process      %9ld KiB a rank\n",
           report.rank_heap_bytes >> 10, report.stack_bytes >> 10,
           (process_mib() << 10) / (long)config.ranks);
    printf("%d ranks: over after %.1f s (%.3f ms virtual); processor %.1f s; %" PRIu64
           " messages, %" PRIu64 " bytes, %" PRIu64 " events, hash %016" PRIx64 "%s\n",
           config.ranks, seconds_since(job.start_ns), (double)report.end_ns / 1e6,
           (double)crew_cpu_us() / 1e6, report.messages, report.message_bytes, report.events,
           report.hash, well ? "" : ": FAILED");
    return well && is_within(&o, &job) ? 0 : 1;
}
