/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "algos/schedule.h"

extern const struct algorithm ncoll__adapted;
extern const struct algorithm ncoll__two_window;
extern const struct algorithm ncoll__gather;
extern const struct algorithm ncoll__multiply;
extern const struct algorithm ncoll__tree;
extern const struct algorithm ncoll__ring;
extern const struct algorithm ncoll__circulant;
extern const struct algorithm ncoll__direct;
extern const struct algorithm ncoll__flat;
extern const struct algorithm ncoll__doubling;
extern const struct algorithm ncoll__early;
extern const struct algorithm ncoll__knomial;
extern const struct algorithm ncoll__kary;
extern const struct algorithm ncoll__fork;
extern const struct algorithm ncoll__ordered_tree;
extern const struct algorithm ncoll__chain;
extern const struct algorithm ncoll__scatter_allgather;
extern const struct algorithm ncoll__reduce_scatter_gather;
extern const struct algorithm ncoll__hierarchical;
extern const struct algorithm ncoll__hierarchical_tree;
extern const struct algorithm ncoll__multi_leader;
extern const struct algorithm ncoll__hierarchical_ring;
extern const struct algorithm ncoll__hierarchical_ordered;
extern const struct algorithm ncoll__direct_slices;
extern const struct algorithm ncoll__hierarchical_shared;
extern const struct algorithm ncoll__hierarchical_shared_ordered;
extern const struct algorithm ncoll__hierarchical_packed;
extern const struct algorithm ncoll__hierarchical_balanced;
extern const struct algorithm ncoll__grid;
extern const struct algorithm ncoll__halving;
extern const struct algorithm ncoll__cube;
extern const struct algorithm ncoll__threshold;

/* Messages carry the number of an algorithm: append at the end, never reorder. One in each line: */
// clang-format off
const struct algorithm *const ncoll__algorithms[] = {
    &ncoll__dissemination,
    &ncoll__adapted,
    &ncoll__two_window,
    &ncoll__gather,
    &ncoll__multiply,
    &ncoll__tree,
    &ncoll__ring,
    &ncoll__circulant,
    &ncoll__bruck,
    &ncoll__direct,
    &ncoll__flat,
    &ncoll__doubling,
    &ncoll__early,
    &ncoll__knomial,
    &ncoll__kary,
    &ncoll__fork,
    &ncoll__ordered_tree,
    &ncoll__chain,
    &ncoll__scatter_allgather,
    &ncoll__reduce_scatter_gather,
    &ncoll__hierarchical,
    &ncoll__hierarchical_tree,
    &ncoll__multi_leader,
    &ncoll__hierarchical_ring,
    &ncoll__hierarchical_ordered,
    &ncoll__direct_slices,
    &ncoll__hierarchical_shared,
    &ncoll__hierarchical_shared_ordered,
    &ncoll__hierarchical_packed,
    &ncoll__hierarchical_balanced,
    &ncoll__grid,
    &ncoll__halving,
    &ncoll__cube,
    &ncoll__threshold,
    NULL,
};
// clang-format on

const struct algorithm *ncoll__algorithm_find(const char *name)
{
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        if (strcmp(ncoll__algorithms[i]->name, name) == 0)
            return ncoll__algorithms[i];
    return NULL;
}

unsigned ncoll__algorithm_number(const struct algorithm *algorithm)
{
    unsigned i = 0;
    while (ncoll__algorithms[i] != algorithm)
        i++;
    return i + 1;
}

void ncoll__divide(const struct algorithm *a, struct shape *shape, unsigned slots)
{
    unsigned turns = a->turns != NULL ? a->turns(shape) : 0;

    shape->part = 0;
    shape->parts = turns > slots ? (turns + slots - 1) / slots : 1;
}
