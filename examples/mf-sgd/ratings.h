/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ratings of movies by users, which are read from a file in a format of MovieLens, or made up with
 * the statistics of MovieLens.
 *
 * Source: Harper and Konstan, "The MovieLens Datasets: History and Context", ACM Transactions on
 * Interactive Intelligent Systems 5(4), 2015.
 */
#ifndef NCOLL_EXAMPLES_MF_SGD_RATINGS_H
#define NCOLL_EXAMPLES_MF_SGD_RATINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HALVES_MAX 10 /* five stars */

struct rating {
    int32_t user, movie; /* from 0, without gaps */
    int32_t halves;      /* half stars, 1..HALVES_MAX */
};

static inline double rating_stars(const struct rating *r)
{
    return r->halves / 2.0;
}

struct ratings {
    int32_t users, movies;
    int64_t n;
    struct rating *all; /* [n] by user, and by movie within a user */
};

/*
 * Reads one of these formats, which the first line with a rating decides:
 *
 *     userId,movieId,rating,timestamp      ratings.csv of MovieLens 20M, 25M and later; this header
 *                                          may be absent
 *     1::1193::5::978300760                ratings.dat of 1M and 10M
 *     196<tab>242<tab>3<tab>881250949      u.data of 100K
 *
 * The timestamp may be absent. Users and movies get numbers in the order of their ids. Memory grows
 * with the ratings that were read. Errors call the file `name`. Returns false after writing
 * "NAME:LINE: what is wrong" to error; *out is not set then.
 */
bool ratings_read(FILE *in, const char *name, struct ratings *out, char *error, size_t size);

/* Sizes of ratings that are made up. */
struct ratings_shape {
    int32_t users, movies;
    int64_t n;
};

/* Each user has rated at least so many movies, as in all MovieLens datasets. */
#define RATINGS_OF_USER 20

/*
 * Makes up ratings. There have to be at least 2 RATINGS_OF_USER movies, and n has to be from
 * RATINGS_OF_USER users to users movies / 4; about so many are made, and a user rates half of the
 * movies at most. The same seed gives the same ratings. Returns false if there is no memory.
 */
bool ratings_generate(const struct ratings_shape *shape, uint64_t seed, struct ratings *out);

/* Writes them as csv, with users and movies counted from 1. Returns false on failure; see errno. */
bool ratings_write(const struct ratings *r, FILE *out);

void ratings_free(struct ratings *r);

#endif
