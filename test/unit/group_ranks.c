/* SPDX-License-Identifier: BSD-3-Clause */
#include "group_ranks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LIMIT_S 100

void groups_run(int ranks, const ncoll_params *params, crew_body body)
{
    assert_int_equal(crew_run(CREW_PROCESSES, ranks, params, LIMIT_S, body, NULL), 0);
}

void groups_run_all(crew_body body)
{
    for (int ranks = 1; ranks <= GROUP_RANKS; ranks++)
        groups_run(ranks, NULL, body);
}

int group_works(struct rank *r, ncoll_group *g, const int *members, int n)
{
    int64_t world = r->rank, sum = -1, expected = 0, all[GROUP_RANKS];

    CHECK(ncoll_group_size(g) == n);
    for (int i = 0; i < n; i++) {
        expected += members[i];
        CHECK(ncoll_group_world_rank(g, i) == members[i]);
        CHECK(members[i] != r->rank || ncoll_group_rank(g) == i);
    }
    CHECK(ncoll_group_world_rank(g, n) == -1 && ncoll_group_world_rank(g, -1) == -1);
    CHECK_STATUS(ncoll_allreduce(g, &world, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK(sum == expected);
    CHECK_STATUS(ncoll_allgather(g, &world, all, 1, NCOLL_INT64, NCOLL_BLOCK), NCOLL_OK);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == members[i]);
    for (int root = 0; root < n; root++) {
        int64_t word = ncoll_group_rank(g) == root ? world : -1;
        CHECK_STATUS(ncoll_bcast(g, &word, 1, NCOLL_INT64, root, NCOLL_BLOCK), NCOLL_OK);
        CHECK(word == members[root]);
    }
    return 0;
}
