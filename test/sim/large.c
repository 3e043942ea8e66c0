/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A large job: as many contexts as are asked for are created, make a barrier and an allreduce of 8
 * bytes, and are destroyed. The program prints the time and the memory of a rank.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/group.h"
#include "test/support/crew.h"
#include "test/support/options.h"
#include "transport/sim/sim.h"

static const char usage[] =
    "usage: ncoll-sim-large [-P N] [--node-ranks N] [--seed S]\n"
    "\n"
    "Creates N contexts in this process, under virtual time; default: 1024, 16 on a node.\n";

struct job {
    uint64_t start_ns, created_at_ns; /* real, virtual */
    int created, called;
    double created_s, called_s;
};

static double seconds_since(uint64_t start_ns)
{
    return (double)(crew_now_ns() - start_ns) / 1e9;
}

static size_t resident(const void *from, const void *end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 0;
    const unsigned char *at = (const unsigned char *)from - (uintptr_t)from % page;
    unsigned char in_core;

    for (; at < (const unsigned char *)end; at += page)
        if (mincore((void *)(uintptr_t)at, page, &in_core) == 0 && in_core & 1)
            bytes += page;
    return bytes;
}

static void say_part(const char *name, const void *from, const void *end)
{
    printf("  window: %-15s %9zu KiB, touched %6zu KiB\n", name,
           (size_t)((const char *)end - (const char *)from) >> 10, resident(from, end) >> 10);
}

/* The window of one rank stands for all. */
static void say_window(const struct window *w)
{
    const struct window_shape *s = &w->shape;

    say_part("slots", w->slots, w->got);
    say_part("acknowledgements", w->got, w->credits);
    say_part("credits", w->credits, w->advertisements);
    say_part("advertisements", w->advertisements, w->bulk);
    say_part("bulk memory", w->bulk, w->bulk + EPOCHS * s->bulk_bytes);
    say_part("scratch", w->scratch, w->scratch + EPOCHS * s->scratch_bytes);
}

static int run_rank(const ncoll_params *params, void *arg)
{
    struct job *job = arg;
    int64_t in = params->rank + 1, out = 0, ranks = params->ranks;
    ncoll_context *ctx;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (++job->created == params->ranks) {
        job->created_s = seconds_since(job->start_ns);
        job->created_at_ns = sim_now_ns();
    }
    ncoll_group *world = ncoll_world(ctx);
    int rc = ncoll_barrier(world, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_allreduce(world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (rc != NCOLL_OK)
        fprintf(stderr, "%s\n", ncoll_last_error(ctx)->text);
    bool right = rc == NCOLL_OK && out == ranks * (ranks + 1) / 2;
    if (++job->called == params->ranks) {
        job->called_s = seconds_since(job->start_ns);
        say_window(world->window);
    }
    ncoll_context_destroy(ctx);
    return right ? 0 : 1;
}

static bool parse(int argc, char **argv, uint64_t *ranks, uint64_t *node_ranks, uint64_t *seed)
{
    static const struct option longs[] = {{"node-ranks", required_argument, NULL, 'n'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "P:h", longs, NULL)) != -1)
        if (c == 'P'   ? !option_number(optarg, ranks)
            : c == 'n' ? !option_number(optarg, node_ranks)
            : c == 'S' ? !option_number(optarg, seed)
                       : true)
            return false;
    return optind == argc && *ranks > 0 && *ranks <= 1u << 20 && *node_ranks > 0 &&
           *node_ranks <= *ranks;
}

int main(int argc, char **argv)
{
    uint64_t ranks = 1024, node_ranks = 16, seed = 0;
    struct sim_report report;
    struct rusage used;

    if (!parse(argc, argv, &ranks, &node_ranks, &seed)) {
        fputs(usage, stderr);
        return 2;
    }
    struct sim_config config = {.ranks = (int)ranks,
                                .node_ranks = (int)node_ranks,
                                .seed = seed != 0 ? seed : test_seed(),
                                .jitter_ns = 500};
    struct job job = {.start_ns = crew_now_ns()};
    bool well = sim_run(&config, NULL, run_rank, &job, &report);
    getrusage(RUSAGE_SELF, &used);
    printf("  heap of a rank, at most    %9zu KiB\n  stack of a rank, at most   %9zu KiB\n"
           "  memory of the process      %9ld KiB a rank\n",
           report.rank_heap_bytes >> 10, report.stack_bytes >> 10,
           used.ru_maxrss / (long)config.ranks);
    printf("%d ranks: created after %.1f s (%.3f ms virtual), calls after %.1f s, over after %.1f s"
           " (%.3f ms virtual); processor %.1f s; %" PRIu64 " messages, %" PRIu64 " bytes, %" PRIu64
           " events, hash %016" PRIx64 "%s\n",
           config.ranks, job.created_s, (double)job.created_at_ns / 1e6, job.called_s,
           seconds_since(job.start_ns), (double)report.end_ns / 1e6, (double)crew_cpu_us() / 1e6,
           report.messages, report.message_bytes, report.events, report.hash,
           well ? "" : ": FAILED");
    return well ? 0 : 1;
}
