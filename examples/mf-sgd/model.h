/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model: a rating r of movie i by user u is predicted as
 *
 *     mean + b_u + c_i + p_u . q_i
 *
 * with biases b, c and vectors p, q of factors, and its loss is
 *
 *     (e^2 + decay (b_u^2 + c_i^2 + |p_u|^2 + |q_i|^2)) / 2,   e = r - prediction
 *
 * (Koren, Bell and Volinsky, "Matrix Factorization Techniques for Recommender Systems", IEEE Computer
 * 42(8), 2009). A row is a vector of factors, with the bias behind it.
 */
#ifndef NCOLL_EXAMPLES_MF_SGD_MODEL_H
#define NCOLL_EXAMPLES_MF_SGD_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ratings.h"

#define FACTORS_MAX 64

/*
 * Sums over ratings are sums of integers, since their result does not depend on the order: so the
 * model has the same bits for every number of ranks. Numbers are multiples of 1 / FIXED_ONE.
 */
#define FIXED_ONE 0x1p40
/* Updates that are as large as this one mean that the iteration has diverged. */
#define FIXED_MAX (INT64_C(1) << 50)

/* The ratings of some users, for training or to measure the error with. */
struct share {
    int32_t first_user, users;
    int64_t n;
    struct rating *all; /* [n] by user */
};

struct model {
    unsigned factors;
    double mean;
    int32_t first_user, users, movies;
    double *user;  /* [users] rows, of the users of this rank */
    double *movie; /* [movies] rows */
    double *start; /* [movies] rows at the beginning */
    double *step;  /* [movies] by which the sum of gradients of a batch is multiplied */
    int64_t *sent; /* [movies] rows: the sum of all updates by this rank, in fixed point */
};

struct steps {
    double user_rate;  /* step along the gradient of one rating, for users */
    double movie_rate; /* step along the mean gradient of a batch, for movies */
    double decay;
    double batch; /* share of the ratings that an iteration uses */
    uint64_t seed;
};

/* Elements of `sent`, `movie` and `start`. */
static inline size_t model_elements(const struct model *m)
{
    return (size_t)m->movies * (m->factors + 1);
}

/*
 * Makes the model of the users of a share. sums[0]: half stars of all ratings of all ranks; sums[1]:
 * number of these ratings; sums[2 + i]: number of those of movie i. Returns false if there is no memory.
 */
bool model_make(const struct share *share, int32_t movies, unsigned factors,
                const struct steps *steps, const int64_t *sums, struct model *out);
void model_free(struct model *m);

/* Adds this rank's part to sums: see model_make(). */
void model_count(const struct share *share, int64_t *sums);

/* Returns the prediction for rows of a user and a movie. */
double model_predict(const double *user, const double *movie, unsigned factors, double mean);

/* Computes the gradient of the loss of one rating: [factors + 1] for the user, and for the movie.
 * Returns e. */
double model_gradient(const double *user, const double *movie, unsigned factors, double mean,
                      double stars, double decay, double *of_user, double *of_movie);

/*
 * Makes an iteration on a batch of the share, which follows from seed and iteration. Users make a step
 * at each rating. Steps of movies go to m->sent, and are no part of the model until model_use().
 * Returns false if the iteration has diverged.
 */
bool model_train(struct model *m, const struct share *share, const struct steps *steps,
                 uint64_t iteration);

/* Sets the movies to what they were at the beginning, plus the updates of all ranks. */
void model_use(struct model *m, const int64_t *updates);

/* Returns the sum of the squared errors of a share, in units of 2^-30 stars^2. Predictions are taken
 * to be within the scale. */
int64_t model_error(const struct model *m, const struct share *share);
#define ERROR_ONE 0x1p30

#endif
