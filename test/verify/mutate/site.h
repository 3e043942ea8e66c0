/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The place in a schedule where a mistake is planted, and what a place can be asked for.
 */
#ifndef NCOLL_TEST_VERIFY_MUTATE_SITE_H
#define NCOLL_TEST_VERIFY_MUTATE_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "test/verify/draw.h"
#include "test/verify/schedules.h"

/* A schedule to be spoilt, and the step that was picked. */
struct site {
    struct schedule *s;
    uint64_t *seed;
    unsigned rank, index;
    struct program *program;
    struct step *step;
};

typedef bool (*predicate)(const struct schedule *s, const struct step *step);

/* The first step that fits, from a random place on; false if there is none. */
bool pick(struct site *at, predicate fits);

bool is_local(const struct step *step);

/* True if each contribution has to arrive exactly once. */
bool counts_once(const struct schedule *s);

bool a_put(const struct schedule *s, const struct step *step);
bool a_wait(const struct schedule *s, const struct step *step);
bool a_data_wait(const struct schedule *s, const struct step *step);
bool a_scratch_put(const struct schedule *s, const struct step *step);
bool a_local(const struct schedule *s, const struct step *step);

#endif
