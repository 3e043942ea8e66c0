/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups made and freed in the middle of a program. */
#include <sched.h>

#include "program.h"

enum way { WAY_SPLIT, WAY_FROM_RANKS, WAY_DUP, WAYS };

/* The group that is made, from numbers that all ranks of the parent have alike. */
struct wish {
    enum way way;
    int color, key;       /* of a split */
    int ranks[RANKS_MAX]; /* of the parent */
    int n, members;       /* members: how many this rank should find in its group; 0: no group */
};

static int color_of(uint64_t salt, int rank)
{
    struct random random = random_stream(salt, (unsigned)rank);
    int colors = 1 + (int)(salt % 3), color = (int)random_below(&random, (uint64_t)colors + 1);

    return color == colors ? NCOLL_NO_GROUP : color;
}

static struct wish draw_wish(enum way way, uint64_t salt, int rank, int size)
{
    struct random random = random_stream(salt, 1000);
    struct wish w = {.way = way, .color = color_of(salt, rank)};

    for (int i = 0; i < size; i++)
        w.ranks[i] = i;
    for (int i = size - 1; i > 0; i--) {
        int other = (int)random_below(&random, (uint64_t)i + 1), was = w.ranks[i];
        w.ranks[i] = w.ranks[other];
        w.ranks[other] = was;
    }
    w.n = 1 + (int)random_below(&random, (uint64_t)size);
    w.key = w.ranks[rank] / 2; /* some are the same */
    if (way == WAY_SPLIT)
        for (int q = 0; q < size; q++)
            w.members += w.color >= 0 && color_of(salt, q) == w.color;
    for (int i = 0; i < w.n && way == WAY_FROM_RANKS; i++)
        if (w.ranks[i] == rank)
            w.members = w.n;
    if (way == WAY_DUP)
        w.members = size;
    return w;
}

static int ask_for(const struct wish *w, ncoll_group *parent, ncoll_group **group, int64_t timeout)
{
    switch (w->way) {
    case WAY_SPLIT:
        return ncoll_group_split(parent, w->color, w->key, group, timeout);
    case WAY_FROM_RANKS:
        return ncoll_group_from_ranks(parent, w->ranks, w->n, group, timeout);
    default:
        return ncoll_group_dup(parent, group, timeout);
    }
}

static int64_t draw_timeout(struct program *p)
{
    return random_below(&p->own, 2) == 0 ? HANG_NS : (int64_t)random_below(&p->own, 2) * MS;
}

bool circle_make(struct program *p, struct circle *c)
{
    struct circle *parent = &p->circles[random_below(&p->common, CIRCLES)];
    enum way way = (enum way)random_below(&p->common, WAYS);
    uint64_t salt = random_next(&p->common), end_ns = crew_now_ns() + (uint64_t)HANG_NS;
    int rc;

    parent = parent->exists ? parent : p->circles;
    *c = (struct circle){.exists = true};
    if (parent->group == NULL)
        return true;
    if (!program_resume(p))
        return false;
    struct wish wish = draw_wish(way, salt, parent->rank, parent->size);
    while ((rc = ask_for(&wish, parent->group, &c->group, draw_timeout(p))) == NCOLL_TIMEOUT &&
           crew_now_ns() < end_ns)
        sched_yield();
    if (rc != NCOLL_OK)
        return program_say(p, "making a group", rc);
    if ((c->group != NULL ? ncoll_group_size(c->group) : 0) != wish.members)
        return program_say(p, "a group of another size", NCOLL_OK);
    if (c->group == NULL)
        return true;
    c->rank = ncoll_group_rank(c->group);
    c->size = ncoll_group_size(c->group);
    c->leader = ncoll_group_world_rank(c->group, 0);
    c->common = random_stream(salt, 2000 + (unsigned)c->leader);
    return true;
}

bool circle_free(struct program *p, struct circle *c)
{
    uint64_t end_ns = crew_now_ns() + (uint64_t)HANG_NS;
    int rc = NCOLL_OK;

    c->exists = false;
    if (c->group == NULL)
        return true;
    if (!program_leave_circle(p, c))
        return false;
    while ((rc = ncoll_group_free(&c->group, draw_timeout(p))) == NCOLL_TIMEOUT &&
           crew_now_ns() < end_ns)
        sched_yield();
    if (rc != NCOLL_OK || c->group != NULL)
        return program_say(p, "freeing a group", rc);
    return true;
}
