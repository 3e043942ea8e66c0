/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes in what is not run in lanes because another outline stands for it: each is planted on
 * one rank, after which the outline must not be taken for the right one, nor for symmetric if that
 * was.
 */
#include "test/verify/mutate.h"

#include <stdio.h>

#include "test/verify/check.h"

struct trial {
    struct schedule schedule;
    struct outline right, wrong;
    struct event *begin, *end; /* of the rank, in the wrong one */
};

static struct event *find(struct trial *t, enum event_kind kind)
{
    struct event *e = t->begin;

    while (e < t->end && e->kind != kind)
        e++;
    return e;
}

static void swap(struct event *a, struct event *b)
{
    struct event other = *a;
    *a = *b;
    *b = other;
}

/* Each kind changes the events of the rank, or says that there is no place for it. */

static bool puts_after_it_has_waited(struct trial *t)
{
    for (struct event *e = t->begin; e + 1 < t->end; e++)
        if (e[0].kind == EVENT_PUT && e[1].kind == EVENT_WAIT) {
            swap(&e[0], &e[1]);
            return true;
        }
    return false;
}

static bool passes_on_what_others_do_not(struct trial *t)
{
    struct event *put = find(t, EVENT_PUT);

    if (put == t->end || put->from == FROM_ARRIVED)
        return false;
    put->from = FROM_ARRIVED;
    return true;
}

static bool writes_scratch_too_early(struct trial *t)
{
    struct event *scratch = find(t, EVENT_SCRATCH);

    if (scratch == t->end || scratch == t->begin)
        return false;
    swap(scratch - 1, scratch);
    return true;
}

static bool puts_to_the_next_rank(struct trial *t)
{
    struct event *put = find(t, EVENT_PUT);

    if (put == t->end)
        return false;
    put->peer = (put->peer + 1) % t->wrong.P;
    return true;
}

static bool waits_for_another_message(struct trial *t)
{
    struct event *wait = find(t, EVENT_WAIT);

    if (wait == t->end)
        return false;
    wait->number++;
    return true;
}

static bool ends_a_step_early(struct trial *t)
{
    if (t->begin == t->end || t->end[-1].kind == EVENT_SCRATCH)
        return false;
    t->end[-1] = (struct event){.kind = EVENT_SCRATCH};
    return true;
}

static const struct kind {
    const char *name;
    bool (*plant)(struct trial *t);
    bool asks_more; /* so that a hull may have room for it */
} kinds[] = {
    {"puts_after_it_has_waited", puts_after_it_has_waited, false},
    {"passes_on_what_others_do_not", passes_on_what_others_do_not, true},
    {"writes_scratch_too_early", writes_scratch_too_early, true},
    {"puts_to_the_next_rank", puts_to_the_next_rank, false},
    {"waits_for_another_message", waits_for_another_message, false},
    {"ends_a_step_early", ends_a_step_early, false},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static void attempt(struct trial *t, const struct kind *kind, const struct algorithm *algorithm,
                    const struct shape *shape, unsigned *planted, unsigned *missed)
{
    unsigned rank = shape->size - 1;

    schedule_write(algorithm, shape, &t->schedule);
    outline_of(&t->schedule, &t->right);
    outline_of(&t->schedule, &t->wrong);
    t->begin = t->wrong.events + t->wrong.first[rank];
    t->end = t->wrong.events + t->wrong.first[rank + 1];
    if (!kind->plant(t))
        return;
    ++*planted;
    bool folds = t->right.symmetric && !kind->asks_more && outline_fold(&t->wrong);
    if (outline_follows(&t->wrong, &t->right, 0) || folds) {
        ++*missed;
        printf("MISSED %s in %s %s, P = %u\n", kind->name, algorithm->name,
               collective_name(shape->collective), shape->size);
    }
}

unsigned mutations_of_outlines(unsigned *caught)
{
    struct trial t = {0};

    *caught = 0;
    for (unsigned k = 0; k < KINDS; k++) {
        unsigned planted = 0, missed = 0;
        for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
            for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
                for (unsigned P = 2; P <= 13; P++) {
                    struct shape shape = {.collective = c,
                                          .size = P,
                                          .radix = 1 + P % 3,
                                          .count = c == COLL_BARRIER ? 0 : 2};
                    if (algorithm_exists(ncoll__algorithms[i], &shape))
                        attempt(&t, &kinds[k], ncoll__algorithms[i], &shape, &planted, &missed);
                }
        printf("%-32s caught %4u of %4u\n", kinds[k].name, planted - missed, planted);
        *caught += planted > 0 && missed == 0;
    }
    schedule_free(&t.schedule);
    outline_free(&t.right);
    outline_free(&t.wrong);
    return KINDS;
}
