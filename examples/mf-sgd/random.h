/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random numbers as a function of what they are for: a seed and two numbers, such as a user and an
 * iteration. So they do not depend on how the work is distributed, nor on the order in which it is
 * done.
 */
#ifndef NCOLL_EXAMPLES_MF_SGD_RANDOM_H
#define NCOLL_EXAMPLES_MF_SGD_RANDOM_H

#include <math.h>
#include <stdint.h>

/* Purposes, so that the same two numbers give different values for each. */
enum random_use {
    RANDOM_ACTIVITY = 1, /* of a user */
    RANDOM_MOVIE,        /* the movies that a user rates */
    RANDOM_TASTE,        /* true factors of users, and of movies */
    RANDOM_NOISE,
    RANDOM_HELD_OUT,
    RANDOM_START, /* first factors of the model */
    RANDOM_BATCH,
    RANDOM_PACE, /* time of an iteration */
    RANDOM_LATE,
};

/* The step of splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint64_t random_bits(uint64_t seed, enum random_use use, uint64_t a, uint64_t b)
{
    return random_mix(random_mix(random_mix(seed + ((uint64_t)use << 56)) ^ a) ^ b);
}

/* 0 <= x < 1 */
static inline double random_uniform(uint64_t seed, enum random_use use, uint64_t a, uint64_t b)
{
    return (double)(random_bits(seed, use, a, b) >> 11) * 0x1p-53;
}

/* Standard normal (Box and Muller 1958). */
static inline double random_normal(uint64_t seed, enum random_use use, uint64_t a, uint64_t b)
{
    double u = random_uniform(seed, use, a, 2 * b), v = random_uniform(seed, use, a, 2 * b + 1);

    return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

#endif
