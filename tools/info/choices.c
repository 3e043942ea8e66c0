/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints which algorithm runs for calls, and why. Ranks join a job for this, since the choice
 * depends on their nodes and cores, on the transport, and on the tuning table that rank 0 reads.
 * They make no calls of collectives.
 */
#include <stdlib.h>

#include "examples/cg/support.h"
#include "algos/schedule.h"
#include "tools/inside.h"
#include "tools/info/info.h"
#include "tools/json.h"
#include "tools/launch.h"
#include "tools/table.h"

#define RANKS     4
#define BYTES_MIN ((size_t)8)
#define BYTES_MAX ((size_t)2 << 20)

/* 1.25 and not 1.2502734 */
static json_t *rounded_us(double ns)
{
    return ns < 0 ? json_null() : json_real((double)(long long)(ns / 10 + 0.5) / 100);
}

static json_t *row_of(ncoll_group *world, enum collective collective, size_t bytes,
                      const struct info_choices_wish *wish)
{
    char radix[RADIX_TEXT], why[CHOICE_TEXT];
    size_t element = ncoll_type_size(wish->type);
    struct choice choice;
    const char *name = ncoll__collective_name(collective);

    if (ncoll__choose(world, collective, bytes / element, wish->type, NCOLL_SUM, &choice) !=
        NCOLL_OK)
        return json_pack("{s:s, s:I, s:n}", "collective", name, "bytes", (json_int_t)bytes,
                         "algorithm");
    bool uses = choice.algorithm->properties & USES_RADIX;
    double ns = ncoll__predict(world, collective, bytes / element, element, &choice);
    return json_pack("{s:s, s:I, s:s, s:s?, s:I, s:i, s:o, s:s}", "collective", name, "bytes",
                     (json_int_t)bytes, "algorithm", choice.algorithm->name, "n",
                     uses ? ncoll__radix_text(choice.radix, radix) : NULL, "segments",
                     (json_int_t)choice.segments, "lanes", choice.lanes, "predicted_us",
                     rounded_us(ns), "why", ncoll__choice_why(&choice, why));
}

static int print(ncoll_group *world, const struct info_choices_wish *wish)
{
    static const char *const main_ones[] = {"collective", "bytes", "algorithm", "n", "why", NULL};
    static const char *const all[] = {"collective", "bytes",        "algorithm", "n", "segments",
                                      "lanes",      "predicted_us", "why",       NULL};
    json_t *rows = json_array();
    int status;

    for (int c = COLL_BARRIER; c < COLLECTIVES; c++) {
        if (wish->collectives != 0 && !(wish->collectives & 1u << c))
            continue;
        if (c == COLL_BARRIER)
            json_array_append_new(rows, row_of(world, COLL_BARRIER, 0, wish));
        for (size_t bytes = BYTES_MIN; c != COLL_BARRIER && bytes <= BYTES_MAX; bytes *= 4)
            json_array_append_new(rows, row_of(world, (enum collective)c, bytes, wish));
    }
    if (wish->json) {
        json_t *tree = json_pack("{s:O}", "choices", rows);
        status = json_dump(tree, stdout);
        json_decref(tree);
    } else {
        puts("choices");
        status = info_print_rows(rows, wish->wide ? all : main_ones, wish->wide ? 0 : TABLE_WIDTH,
                                 stdout);
    }
    json_decref(rows);
    return output_written(stdout) ? status : -1;
}

static int rank_main(const ncoll_params *params, void *arg)
{
    const struct info_choices_wish *wish = arg;
    ncoll_params own = *params;
    ncoll_context *ctx;
    ncoll_error error;
    int status = 0;

    own.log = failure_log;
    if (ncoll_context_create(&own, &ctx, &error) != NCOLL_OK) {
        failure_report(&error);
        return EXIT_FAILURE;
    }
    if (ncoll_group_rank(ncoll_world(ctx)) == 0)
        status = print(ncoll_world(ctx), wish);
    if (ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK) != NCOLL_OK)
        status = -1;
    ncoll_context_destroy(ctx);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int info_in_job(struct info_choices_wish *wish, int ranks, ncoll_rank_main body)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    if (wish->transport != NULL)
        setenv("NCOLL_TRANSPORT", wish->transport, 1);
    if (wish->ranks == 0 && launch_is_done()) {
        failure_launched(failure_launcher_rank());
        return body(&params, wish);
    }
    return launch_forked(wish->ranks > 0 ? wish->ranks : ranks, &params, body, wish);
}

int info_choices(struct info_choices_wish *wish)
{
    return info_in_job(wish, RANKS, rank_main);
}
