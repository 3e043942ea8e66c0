/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0 reads the ratings or makes them up, and gives each rank those of some adjacent users, about as
 * many to each. One rating in ten is held out of training, to measure the error with.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../cg/support.h"
#include "mf.h"
#include "random.h"

#define ROOT     0
#define HELD_OUT 10

#define RATING_WORDS (sizeof(struct rating) / sizeof(int32_t))

/* Facts of the ratings that the root sends to all ranks. */
struct outline {
    int64_t ok, users, movies;
};

static bool read_file(const char *file, struct ratings *out)
{
    char error[512];
    FILE *in = fopen(file, "re");

    if (in == NULL)
        snprintf(error, sizeof error, "%s: %s", file, strerror(errno));
    bool ok = in != NULL && ratings_read(in, file, out, error, sizeof error);
    if (in != NULL)
        fclose(in);
    if (!ok)
        fprintf(stderr, "%s\n", error);
    return ok;
}

static bool get_whole(const struct mf_options *options, struct ratings *out)
{
    if (options->file != NULL)
        return read_file(options->file, out);
    bool ok = ratings_generate(&options->shape, options->steps.seed, out);
    if (!ok)
        failure_no_memory();
    return ok;
}

/* bounds[2 r], bounds[2 r + 1]: the first user of rank r, and its first rating. */
static void cut(const struct ratings *whole, int ranks, int64_t *bounds)
{
    int64_t at = 0;

    for (int r = 0; r < ranks; r++) {
        while (at < whole->n && (at < whole->n * r / ranks ||
                                 (at > 0 && whole->all[at].user == whole->all[at - 1].user)))
            at++;
        bounds[2 * r] = at < whole->n ? whole->all[at].user : whole->users;
        bounds[2 * r + 1] = at;
    }
    bounds[2 * ranks] = whole->users;
    bounds[2 * ranks + 1] = whole->n;
}

static bool is_held_out(const struct rating *r, uint64_t seed)
{
    return random_bits(seed, RANDOM_HELD_OUT, (uint64_t)r->user, (uint64_t)r->movie) % HELD_OUT ==
           0;
}

/* Divides the rank's ratings, whose memory becomes p->train.all. */
static int hold_out(struct problem *p, struct rating *all, int64_t n, uint64_t seed)
{
    int64_t held = 0;

    for (int64_t k = 0; k < n; k++)
        held += is_held_out(&all[k], seed);
    p->train.all = all;
    p->test.all = calloc((size_t)held + 1, sizeof *p->test.all);
    if (p->test.all == NULL)
        return NCOLL_ERR_MEMORY;
    for (int64_t k = 0; k < n; k++)
        if (is_held_out(&all[k], seed))
            p->test.all[p->test.n++] = all[k];
        else
            all[p->train.n++] = all[k];
    return NCOLL_OK;
}

/* Called when all ranks have the outline: each gets the bounds of all, and its ratings. */
static int distribute(const struct mf_options *options, struct problem *p,
                      const struct ratings *whole)
{
    size_t ranks = (size_t)p->ranks;
    int64_t *bounds = calloc(2 * ranks + 2, sizeof *bounds);
    size_t *counts = calloc(2 * ranks, sizeof *counts), *displs = counts + ranks;
    struct rating *all = NULL;
    int64_t n = 0;
    int status = NCOLL_ERR_MEMORY;

    if (bounds == NULL || counts == NULL)
        goto out;
    if (p->rank == ROOT)
        cut(whole, p->ranks, bounds);
    status = ncoll_bcast(p->world, bounds, 2 * ranks + 2, NCOLL_INT64, ROOT, NCOLL_BLOCK);
    if (status != NCOLL_OK)
        goto out;
    for (size_t r = 0; r < ranks; r++) {
        displs[r] = (size_t)bounds[2 * r + 1] * RATING_WORDS;
        counts[r] = (size_t)bounds[2 * r + 3] * RATING_WORDS - displs[r];
    }
    n = (int64_t)(counts[p->rank] / RATING_WORDS);
    all = calloc((size_t)n + 1, sizeof *all);
    if (all == NULL) {
        status = NCOLL_ERR_MEMORY;
        goto out;
    }
    status =
        ncoll_scatterv(p->world, whole->all, counts, displs, all, NCOLL_INT32, ROOT, NCOLL_BLOCK);
    p->train.first_user = p->test.first_user = (int32_t)bounds[2 * p->rank];
    p->train.users = p->test.users = (int32_t)(bounds[2 * p->rank + 2] - bounds[2 * p->rank]);
out:
    free(bounds);
    free(counts);
    if (status == NCOLL_OK)
        return hold_out(p, all, n, options->steps.seed);
    free(all);
    return status;
}

/* Makes the model, for which ranks count their ratings together. */
static int make_model(const struct mf_options *options, struct problem *p)
{
    size_t n = 3 + (size_t)p->movies;
    int64_t *sums = calloc(n, sizeof *sums);
    int status = NCOLL_ERR_MEMORY;

    if (sums == NULL)
        return status;
    model_count(&p->train, sums);
    sums[n - 1] = p->test.n;
    status = ncoll_allreduce(p->world, sums, sums, n, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    p->trained = sums[1];
    p->held_out = sums[n - 1];
    if (status == NCOLL_OK &&
        !model_make(&p->train, p->movies, options->factors, &options->steps, sums, &p->model))
        status = NCOLL_ERR_MEMORY;
    free(sums);
    return status;
}

int problem_make(const struct mf_options *options, ncoll_context *ctx, struct problem *out)
{
    ncoll_group *world = ncoll_world(ctx);
    struct problem p = {
        .ctx = ctx,
        .world = world,
        .rank = ncoll_group_rank(world),
        .ranks = ncoll_group_size(world),
    };
    struct ratings whole = {0};
    struct outline outline = {0};

    if (p.rank == ROOT)
        outline = (struct outline){get_whole(options, &whole), whole.users, whole.movies};
    int status = ncoll_bcast(world, &outline, 3, NCOLL_INT64, ROOT, NCOLL_BLOCK);
    p.users = (int32_t)outline.users;
    p.movies = (int32_t)outline.movies;
    if (status == NCOLL_OK && !outline.ok) {
        status = NCOLL_ERR_ARGUMENT; /* the root has printed the reason */
    } else {
        if (status == NCOLL_OK)
            status = distribute(options, &p, &whole);
        if (status == NCOLL_OK)
            status = make_model(options, &p);
        failure_of_call(ctx, status);
        if (status == NCOLL_OK && (p.held_out == 0 || p.trained == 0))
            status =
                failure_say(NCOLL_ERR_ARGUMENT,
                            "too few ratings: one in %d is held out to measure the error with, "
                            "which leaves %" PRId64 " and %" PRId64,
                            HELD_OUT, p.trained, p.held_out);
    }
    ratings_free(&whole);
    if (status == NCOLL_OK)
        *out = p;
    else
        problem_free(&p);
    return status;
}

void problem_free(struct problem *p)
{
    free(p->train.all);
    free(p->test.all);
    model_free(&p->model);
    *p = (struct problem){0};
}
