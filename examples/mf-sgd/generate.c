/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes up ratings with the statistics of MovieLens.
 *
 * - Users: each has rated 20 movies at least (Harper and Konstan 2015, section 3). The number of
 *   further ones is log-normal, here with a standard deviation of 1.4 for its logarithm: fits of the
 *   distribution in MovieLens 1M to 32M are from 1.39 to 1.61, plus 19 (LensKit Codex, "MovieLens",
 *   lenskit.org). Its scale follows from the number of ratings that is wanted.
 * - Movies: popularity falls with a power of the rank, after a flatter beginning (Zipf-Mandelbrot).
 *   The Gini coefficient of the ratings per movie is 0.63 in MovieLens 100K and 1M (LensKit Codex).
 * - Ratings: 0.5 to 5 stars in half steps, mean 3.5, standard deviation 1.05. A rating is the mean plus
 *   a bias of the user, a bias of the movie, the product of their factors, and noise; movies that many
 *   have rated are liked more.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "ratings.h"

#define MEAN           3.54
#define USER_BIAS      0.42 /* standard deviations */
#define MOVIE_BIAS     0.40
#define TASTE          0.50 /* of the product of factors */
#define NOISE          0.80
#define TRUE_FACTORS   6
#define ACTIVITY_SIGMA 1.4
#define POPULARITY     2.0  /* exponent */
#define POPULARITY_LAG 0.06 /* of all movies: the flatter beginning */

/* ------------------------------------------------------------------ how many ----------------- */

static int32_t ratings_of(double scale, double activity, int32_t most)
{
    double n = RATINGS_OF_USER + floor(scale * activity);

    return n < most ? (int32_t)n : most;
}

/* Fills in how many movies each user has rated, so that there are about n ratings. */
static void set_counts(const struct ratings_shape *shape, uint64_t seed, int32_t *counts)
{
    double low = 0, high = 1e9;
    int32_t most = shape->movies / 2;

    for (int step = 0; step < 60; step++) {
        double scale = (low + high) / 2;
        int64_t sum = 0;
        for (int32_t u = 0; u < shape->users; u++) {
            double z = random_normal(seed, RANDOM_ACTIVITY, (uint64_t)u, 0);
            counts[u] = ratings_of(scale, exp(ACTIVITY_SIGMA * z), most);
            sum += counts[u];
        }
        *(sum > shape->n ? &high : &low) = scale;
    }
}

/* ------------------------------------------------------------------ which movies ------------- */

/* sums[m] gets the popularity of movies 0 to m together; sums[movies - 1] is 1. */
static void set_popularity(int32_t movies, double *sums)
{
    double sum = 0;

    for (int32_t m = 0; m < movies; m++)
        sums[m] = sum += pow(m + 1 + POPULARITY_LAG * movies, -POPULARITY);
    for (int32_t m = 0; m < movies; m++)
        sums[m] /= sum;
}

static int32_t movie_at(const double *sums, int32_t movies, double x)
{
    int32_t low = 0, high = movies - 1;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (sums[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Draws the movies of a user, each once. rated[m] is set for those. */
static void draw_movies(const double *sums, int32_t movies, uint64_t seed, int32_t user,
                        int32_t count, bool *rated)
{
    memset(rated, 0, (size_t)movies * sizeof *rated);
    for (uint64_t draw = 0; count > 0; draw++) {
        int32_t m =
            movie_at(sums, movies, random_uniform(seed, RANDOM_MOVIE, (uint64_t)user, draw));
        count -= !rated[m];
        rated[m] = true;
    }
}

/* ------------------------------------------------------------------ which rating ------------- */

/* True factors and biases of users have even numbers, those of movies odd ones. */
static double taste(uint64_t seed, int32_t user, int32_t movie)
{
    double sum = 0;

    for (uint64_t f = 0; f < TRUE_FACTORS; f++)
        sum += random_normal(seed, RANDOM_TASTE, 2 * (uint64_t)user, f) *
               random_normal(seed, RANDOM_TASTE, 2 * (uint64_t)movie + 1, f);
    return TASTE / sqrt(TRUE_FACTORS) * sum;
}

static int32_t rate(const struct ratings_shape *shape, uint64_t seed, int32_t user, int32_t movie)
{
    uint64_t u = 2 * (uint64_t)user, m = 2 * (uint64_t)movie + 1;
    /* -0.35 for a movie that few rate, 0.35 for one that many rate; more ratings are of the latter */
    double liked = 0.7 * (0.25 - (double)movie / shape->movies);
    double stars = MEAN + liked + USER_BIAS * random_normal(seed, RANDOM_TASTE, u, TRUE_FACTORS) +
                   MOVIE_BIAS * random_normal(seed, RANDOM_TASTE, m, TRUE_FACTORS) +
                   taste(seed, user, movie) +
                   NOISE * random_normal(seed, RANDOM_NOISE, (uint64_t)user, (uint64_t)movie);
    long halves = lround(2 * stars);

    return halves < 1 ? 1 : halves > HALVES_MAX ? HALVES_MAX : (int32_t)halves;
}

bool ratings_generate(const struct ratings_shape *shape, uint64_t seed, struct ratings *out)
{
    struct ratings r = {.users = shape->users, .movies = shape->movies};
    int32_t *counts = calloc((size_t)shape->users, sizeof *counts);
    double *sums = calloc((size_t)shape->movies, sizeof *sums);
    bool *rated = calloc((size_t)shape->movies, sizeof *rated);
    int64_t at = 0;

    if (counts != NULL && sums != NULL && rated != NULL) {
        set_counts(shape, seed, counts);
        set_popularity(shape->movies, sums);
        for (int32_t u = 0; u < shape->users; u++)
            r.n += counts[u];
        r.all = calloc((size_t)r.n, sizeof *r.all);
    }
    for (int32_t u = 0; r.all != NULL && u < shape->users; u++) {
        draw_movies(sums, shape->movies, seed, u, counts[u], rated);
        for (int32_t m = 0; m < shape->movies; m++)
            if (rated[m])
                r.all[at++] = (struct rating){u, m, rate(shape, seed, u, m)};
    }
    free(counts);
    free(sums);
    free(rated);
    if (r.all == NULL)
        return false;
    *out = r;
    return true;
}
