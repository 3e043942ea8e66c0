/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks what is chosen in large jobs: all data is traced, and what differs from a schedule that is
 * proven by the nodes of ranks only is compared with that one first.
 */
#include "test/verify/check.h"
#include "test/verify/patterns.h"

#define MORE 3 /* elements of a vector, to see whether it is split */

/* True if all ranks have the same plans for both. */
static bool has_plans_of(struct checker *c, const struct algorithm *algorithm,
                         const struct shape *shape, const struct shape *earlier)
{
    struct program *room[] = {&c->program, &c->other};
    const struct program *a = NULL, *b = NULL;

    schedule_describe(algorithm, earlier, &c->schedule);
    schedule_describe(algorithm, shape, &c->variant);
    for (unsigned p = 0; p < shape->size; p++)
        for (unsigned r = 0; r == 0 || a != NULL; r++) {
            a = schedule_part(&c->schedule, p, r, room[0]);
            b = schedule_part(&c->variant, p, r, room[1]);
            if ((a == NULL) != (b == NULL) || (a != NULL && !program_equals(a, b)))
                return false;
        }
    return footprint_equals(c->schedule.footprint, c->variant.footprint);
}

/* Does not run a schedule whose plans are those of an earlier one. Schedules that look at neighbours
 * always run, since they depend on the nodes themselves. */
static void check_unless_same(struct checker *c, const struct algorithm *algorithm,
                              const struct shape *shape, const struct shape *earlier)
{
    struct shape other = *shape;

    if (earlier != NULL && !check_has_variants(shape) && !(algorithm->properties & SHARES)) {
        other.nodes = earlier->nodes;
        if (has_plans_of(c, algorithm, shape, &other)) {
            c->tally->schedules++;
            c->tally->alike++;
            c->tally->in_lanes++;
            c->tally->lanes_alike++;
            return;
        }
    }
    check_alone(c, algorithm, shape);
}

/* True if the vector of a call with several elements is split among the ranks, so that they take
 * other steps than with one. */
static bool splits_vector(struct checker *c, const struct algorithm *algorithm,
                          const struct shape *shape)
{
    struct shape more = *shape;

    more.count = MORE;
    if (takes_counts(shape->collective) || shape->collective == COLL_BARRIER)
        return false;
    schedule_describe(algorithm, shape, &c->schedule);
    return !check_is_wider(c, &more, MORE);
}

bool check_is_large(struct checker *c, const struct algorithm *algorithm, const struct shape *shape)
{
    bool blocks = takes_counts(shape->collective) && !is_rooted(shape->collective);

    return blocks || check_is_long(c, algorithm, shape) || splits_vector(c, algorithm, shape);
}

void check_chosen(struct checker *c, const struct algorithm *algorithm, const struct shape *shape,
                  const struct shape *earlier)
{
    struct shape more = *shape;

    more.count = shape->size + 1;
    c->model.all_data = true;
    check_unless_same(c, algorithm, shape, earlier);
    if (splits_vector(c, algorithm, shape))
        check_unless_same(c, algorithm, &more, earlier);
    c->model.all_data = false;
    /* another one may need much memory elsewhere */
    model_free(&c->model);
    lanes_free(&c->lanes);
    schedule_free(&c->schedule);
    schedule_free(&c->variant);
}
