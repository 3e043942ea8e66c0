/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define START  0.25 /* standard deviation of the first factors */
#define DAMPED 5.0  /* ratings in a batch of which a movie has to have more to make whole steps */
#define E_MAX  1e6

bool model_make(const struct share *share, int32_t movies, unsigned factors,
                const struct steps *steps, const int64_t *sums, struct model *out)
{
    size_t row = factors + 1, users = (size_t)share->users, n_movies = (size_t)movies;
    struct model m = {
        .factors = factors,
        .mean = sums[1] > 0 ? (double)sums[0] / 2 / (double)sums[1] : 0,
        .first_user = share->first_user,
        .users = share->users,
        .movies = movies,
        .user = calloc(users * row + 1, sizeof *m.user),
        .movie = calloc(n_movies * row, sizeof *m.movie),
        .start = calloc(n_movies * row, sizeof *m.start),
        .step = calloc(n_movies, sizeof *m.step),
        .sent = calloc(n_movies * row, sizeof *m.sent),
    };

    if (m.user == NULL || m.movie == NULL || m.start == NULL || m.step == NULL || m.sent == NULL) {
        model_free(&m);
        return false;
    }
    /* Users have even numbers, movies odd ones. Biases begin with 0. */
    for (size_t u = 0; u < users; u++)
        for (size_t f = 0; f < factors; f++)
            m.user[u * row + f] = START * random_normal(steps->seed, RANDOM_START,
                                                        2 * ((uint64_t)share->first_user + u), f);
    for (size_t i = 0; i < n_movies; i++) {
        for (size_t f = 0; f < factors; f++)
            m.start[i * row + f] = START * random_normal(steps->seed, RANDOM_START, 2 * i + 1, f);
        m.step[i] = steps->movie_rate / (steps->batch * (double)sums[2 + i] + DAMPED);
    }
    memcpy(m.movie, m.start, n_movies * row * sizeof *m.movie);
    *out = m;
    return true;
}

void model_free(struct model *m)
{
    free(m->user);
    free(m->movie);
    free(m->start);
    free(m->step);
    free(m->sent);
    *m = (struct model){0};
}

void model_count(const struct share *share, int64_t *sums)
{
    for (int64_t k = 0; k < share->n; k++) {
        sums[0] += share->all[k].halves;
        sums[1]++;
        sums[2 + share->all[k].movie]++;
    }
}

double model_predict(const double *user, const double *movie, unsigned factors, double mean)
{
    double sum = mean + user[factors] + movie[factors];

    for (unsigned f = 0; f < factors; f++)
        sum += user[f] * movie[f];
    return sum;
}

double model_gradient(const double *user, const double *movie, unsigned factors, double mean,
                      double stars, double decay, double *of_user, double *of_movie)
{
    double e = stars - model_predict(user, movie, factors, mean);

    for (unsigned f = 0; f < factors; f++) {
        of_user[f] = decay * user[f] - e * movie[f];
        of_movie[f] = decay * movie[f] - e * user[f];
    }
    of_user[factors] = decay * user[factors] - e;
    of_movie[factors] = decay * movie[factors] - e;
    return e;
}

/* Wraps around, since model_train() finds afterwards that a sum is too large. */
static void add_fixed(int64_t *sum, double value)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)llrint(value * FIXED_ONE));
}

bool model_train(struct model *m, const struct share *share, const struct steps *steps,
                 uint64_t iteration)
{
    size_t row = m->factors + 1;
    double of_user[FACTORS_MAX + 1], of_movie[FACTORS_MAX + 1];

    for (int64_t k = 0; k < share->n; k++) {
        const struct rating *r = &share->all[k];
        uint64_t who = (uint64_t)r->user << 32 | (uint32_t)r->movie;
        if (random_uniform(steps->seed, RANDOM_BATCH, iteration, who) >= steps->batch)
            continue;
        double *user = m->user + (size_t)(r->user - m->first_user) * row;
        const double *movie = m->movie + (size_t)r->movie * row;
        int64_t *sent = m->sent + (size_t)r->movie * row;
        double e = model_gradient(user, movie, m->factors, m->mean, rating_stars(r), steps->decay,
                                  of_user, of_movie);
        if (!(fabs(e) < E_MAX))
            return false;
        for (size_t f = 0; f < row; f++) {
            user[f] -= steps->user_rate * of_user[f];
            add_fixed(&sent[f], -m->step[r->movie] * of_movie[f]);
        }
    }
    for (size_t i = 0; i < model_elements(m); i++)
        if (m->sent[i] >= FIXED_MAX || m->sent[i] <= -FIXED_MAX)
            return false;
    return true;
}

void model_use(struct model *m, const int64_t *updates)
{
    for (size_t i = 0; i < model_elements(m); i++)
        m->movie[i] = m->start[i] + (double)updates[i] / FIXED_ONE;
}

int64_t model_error(const struct model *m, const struct share *share)
{
    size_t row = m->factors + 1;
    int64_t sum = 0;

    for (int64_t k = 0; k < share->n; k++) {
        const struct rating *r = &share->all[k];
        double stars = model_predict(m->user + (size_t)(r->user - m->first_user) * row,
                                     m->movie + (size_t)r->movie * row, m->factors, m->mean);
        double e = rating_stars(r) - fmin(fmax(stars, 0.5), HALVES_MAX / 2.0);
        sum += llrint(e * e * ERROR_ONE);
    }
    return sum;
}
