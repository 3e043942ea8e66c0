/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What runs for calls, and why. Ranks join a job for that, since the choice depends on where they
 * are, on the transport, and on the tuning table as rank 0 reads it; none of them makes a call.
 */
#include <stdlib.h>

#include "algos/schedule.h"
#include "lib/failure/card.h"
#include "lib/inspect.h"
#include "tools/bench/failure.h"
#include "tools/info/info.h"
#include "tools/launch.h"
#include "tools/output.h"

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
    json_t *row = json_object();

    int status = ncoll__choose(world, collective, bytes / element, wish->type, NCOLL_SUM, &choice);
    json_object_set_new(row, "collective", json_string(ncoll__collective_name(collective)));
    json_object_set_new(row, "bytes", json_integer((json_int_t)bytes));
    if (status != NCOLL_OK) {
        json_object_set_new(row, "algorithm", json_null());
        return row;
    }
    bool uses = choice.algorithm->properties & USES_RADIX;
    double ns = ncoll__predict(world, collective, bytes / element, element, &choice);
    json_object_set_new(row, "algorithm", json_string(choice.algorithm->name));
    json_object_set_new(row, "n",
                        uses ? json_string(ncoll__radix_text(choice.radix, radix)) : json_null());
    json_object_set_new(row, "segments", json_integer((json_int_t)choice.segments));
    json_object_set_new(row, "lanes", json_integer(choice.lanes));
    json_object_set_new(row, "predicted_us", rounded_us(ns));
    json_object_set_new(row, "why", json_string(ncoll__choice_why(&choice, why)));
    return row;
}

static int print(ncoll_group *world, const struct info_choices_wish *wish)
{
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
        status = json_dumpf(tree, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        fputc('\n', stdout);
        json_decref(tree);
    } else {
        status = info_print("choices", rows, stdout);
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

int info_choices(struct info_choices_wish *wish)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    if (wish->transport != NULL)
        setenv("NCOLL_TRANSPORT", wish->transport, 1);
    if (wish->ranks == 0 && launch_is_done()) {
        failure_launched(failure_launcher_rank());
        return rank_main(&params, wish);
    }
    failure_share();
    return launch_forked(wish->ranks > 0 ? wish->ranks : RANKS, &params, rank_main, wish);
}
