/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call of ncoll_gaspi.h, as one rank of a job that the launcher, or `examples/run`, has
 * started. Some are made in another file (gaspi_other.c), since all files of a process share one
 * job. In the end the last rank leaves in the middle of a job, and the others are told.
 */
#include <stdio.h>
#include <unistd.h>

#include "gaspi_other.h"

static int failures, checks;
static gaspi_rank_t rank, ranks;

static void expect(int good, int line, const char *what)
{
    checks++;
    if (good)
        return;
    failures++;
    fprintf(stderr, "rank %d: line %d: not so: %s; %s\n", rank, line, what,
            ncoll_gaspi_error()->text);
}

#define EXPECT(what) expect((what), __LINE__, #what)

static void types(void)
{
    int i = rank, si = -1;
    unsigned u = rank, su = 9;
    long l = rank - 5L, sl = 0;
    unsigned long ul = rank, sul = 0;
    float f = rank, sf = 0;
    double d[2] = {rank, -rank}, sd[2];
    const int sum = ranks * (ranks - 1) / 2;

    EXPECT(gaspi_allreduce(&i, &si, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(gaspi_allreduce(&u, &su, 1, GASPI_OP_MIN, GASPI_TYPE_UINT, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(gaspi_allreduce(&l, &sl, 1, GASPI_OP_MIN, GASPI_TYPE_LONG, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(gaspi_allreduce(&ul, &sul, 1, GASPI_OP_MAX, GASPI_TYPE_ULONG, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(gaspi_allreduce(&f, &sf, 1, GASPI_OP_SUM, GASPI_TYPE_FLOAT, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(gaspi_allreduce(d, sd, 2, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(si == sum && su == 0 && sl == -5 && sul == ranks - 1UL && sf == sum && sd[0] == sum &&
           sd[1] == -sum);
    EXPECT(gaspi_allreduce(&i, &i, 1, GASPI_OP_MAX, GASPI_TYPE_INT, GASPI_GROUP_ALL, GASPI_BLOCK) ==
           GASPI_SUCCESS);
    EXPECT(i == ranks - 1);
}

/* Rank 0 comes when all others have got GASPI_TIMEOUT, which they tell it by a barrier of another
 * group. */
static void time_outs(void)
{
    gaspi_group_t other = 0;
    gaspi_return_t rc;
    int one = 1, sum = 0;

    EXPECT(gaspi_group_create(&other) == GASPI_SUCCESS);
    for (int r = 0; r < ranks; r++)
        EXPECT(gaspi_group_add(other, (gaspi_rank_t)r) == GASPI_SUCCESS);
    EXPECT(gaspi_group_commit(other, GASPI_BLOCK) == GASPI_SUCCESS);
    if (rank != 0) {
        EXPECT(gaspi_barrier(GASPI_GROUP_ALL, GASPI_TEST) == GASPI_TIMEOUT);
        EXPECT(gaspi_allreduce(&one, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL,
                               GASPI_TEST) == GASPI_ERR_ACTIVE_COLL);
    }
    EXPECT(gaspi_barrier(other, GASPI_BLOCK) == GASPI_SUCCESS);
    while ((rc = gaspi_barrier(GASPI_GROUP_ALL, GASPI_TEST)) == GASPI_TIMEOUT)
        ;
    EXPECT(rc == GASPI_SUCCESS);
    if (rank != 0)
        EXPECT(gaspi_allreduce(&one, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL, 2) ==
               GASPI_TIMEOUT);
    EXPECT(gaspi_barrier(other, GASPI_BLOCK) == GASPI_SUCCESS);
    while ((rc = gaspi_allreduce(&one, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL,
                                 2)) == GASPI_TIMEOUT)
        ;
    EXPECT(rc == GASPI_SUCCESS && sum == ranks);
    EXPECT(gaspi_group_delete(other) == GASPI_SUCCESS);
}

/* Even and odd ranks; a group of one; ranks that are in none. */
static void groups(void)
{
    gaspi_group_t half = 0, alone = 0, none = 0;
    gaspi_number_t n, before, max;
    gaspi_rank_t list[64];
    int one = 1, sum = 0;

    EXPECT(gaspi_group_num(&before) == GASPI_SUCCESS && before == 1);
    EXPECT(gaspi_group_max(&max) == GASPI_SUCCESS && max >= 32);
    EXPECT(gaspi_group_create(&half) == GASPI_SUCCESS && half != GASPI_GROUP_ALL);
    for (int r = ranks - 1; r >= 0; r--) /* in any order */
        if (r % 2 == rank % 2)
            EXPECT(gaspi_group_add(half, (gaspi_rank_t)r) == GASPI_SUCCESS);
    EXPECT(gaspi_group_add(half, rank) == GASPI_ERR_INV_RANK);
    EXPECT(gaspi_group_add(half, ranks) == GASPI_ERR_INV_RANK);
    EXPECT(gaspi_barrier(half, GASPI_TEST) == GASPI_ERR_INV_GROUP);
    gaspi_return_t rc;
    while ((rc = gaspi_group_commit(half, 1)) == GASPI_TIMEOUT)
        ;
    EXPECT(rc == GASPI_SUCCESS);
    EXPECT(gaspi_group_commit(half, 1) == GASPI_ERR_INV_GROUP);
    EXPECT(gaspi_group_add(half, rank) == GASPI_ERR_INV_GROUP);
    EXPECT(gaspi_group_size(half, &n) == GASPI_SUCCESS && n == (ranks + 1u - rank % 2u) / 2);
    EXPECT(gaspi_group_ranks(half, list) == GASPI_SUCCESS && list[n - 1] % 2 == rank % 2);
    EXPECT(n < 2 || list[1] == list[0] + 2);
    EXPECT(gaspi_group_size(GASPI_GROUP_ALL, &n) == GASPI_SUCCESS && n == ranks);
    EXPECT(gaspi_group_ranks(GASPI_GROUP_ALL, list) == GASPI_SUCCESS && list[n - 1] == n - 1);
    EXPECT(gaspi_allreduce(&one, &sum, 1, GASPI_OP_SUM, GASPI_TYPE_INT, half, GASPI_BLOCK) ==
           GASPI_SUCCESS);
    EXPECT(sum == (ranks + 1 - rank % 2) / 2);
    EXPECT(other_file(half, rank) == GASPI_SUCCESS);
    EXPECT(ncoll_group_size(ncoll_gaspi_group(half)) == sum);

    EXPECT(gaspi_group_create(&alone) == GASPI_SUCCESS && alone != half);
    EXPECT(gaspi_group_add(alone, 0) == GASPI_SUCCESS);
    EXPECT(gaspi_group_commit(alone, GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(gaspi_barrier(alone, GASPI_BLOCK) == (rank == 0 ? GASPI_SUCCESS : GASPI_ERR_INV_GROUP));
    EXPECT(gaspi_group_create(&none) == GASPI_SUCCESS);
    EXPECT(gaspi_group_commit(none, GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(ncoll_gaspi_group(none) == NULL);
    EXPECT(gaspi_group_num(&n) == GASPI_SUCCESS && n == 4);
    EXPECT(gaspi_group_delete(none) == GASPI_SUCCESS);
    EXPECT(gaspi_group_delete(alone) == GASPI_SUCCESS);
    EXPECT(gaspi_group_delete(half) == GASPI_SUCCESS);
    EXPECT(gaspi_group_delete(half) == GASPI_ERR_INV_GROUP);
    EXPECT(gaspi_group_delete(GASPI_GROUP_ALL) == GASPI_ERR_INV_GROUP);
    EXPECT(gaspi_barrier(half, GASPI_BLOCK) == GASPI_ERR_INV_GROUP);
    EXPECT(gaspi_group_num(&n) == GASPI_SUCCESS && n == 1);
}

/* More groups one after the other than there are numbers: those that are deleted are used again. */
static void many_groups(void)
{
    for (int i = 0; i < 2 * NCOLL_GASPI_GROUPS + 3; i++) {
        gaspi_group_t group = 0;

        EXPECT(gaspi_group_create(&group) == GASPI_SUCCESS);
        for (int r = 0; r < ranks; r++)
            EXPECT(gaspi_group_add(group, (gaspi_rank_t)r) == GASPI_SUCCESS);
        EXPECT(gaspi_group_commit(group, GASPI_BLOCK) == GASPI_SUCCESS);
        EXPECT(gaspi_group_delete(group) == GASPI_SUCCESS);
    }
    gaspi_group_t all[NCOLL_GASPI_GROUPS], more;
    int n = 0;
    while (n < NCOLL_GASPI_GROUPS && gaspi_group_create(&all[n]) == GASPI_SUCCESS)
        n++;
    EXPECT(gaspi_group_create(&more) == GASPI_ERR_MANY_GRP);
    EXPECT(n >= NCOLL_GASPI_GROUPS - 3); /* some may still wait for other ranks */
    while (n > 0)
        EXPECT(gaspi_group_delete(all[--n]) == GASPI_SUCCESS);
}

/* Elements of any size that begin with a length: the longest one. */

static gaspi_return_t longer(gaspi_pointer_t one, gaspi_pointer_t two, gaspi_pointer_t result,
                             gaspi_reduce_state_t state, gaspi_number_t num, gaspi_size_t size,
                             gaspi_timeout_t timeout_ms)
{
    (void)timeout_ms;
    ++*(int *)state;
    for (gaspi_number_t i = 0; i < num; i++) {
        double a, b;
        char *at = (char *)result + i * size;

        memcpy(&a, (char *)one + i * size, sizeof a);
        memcpy(&b, (char *)two + i * size, sizeof b);
        memmove(at, (char *)(a < b ? two : one) + i * size, size);
    }
    return GASPI_SUCCESS;
}

static gaspi_return_t failing(gaspi_pointer_t one, gaspi_pointer_t two, gaspi_pointer_t result,
                              gaspi_reduce_state_t state, gaspi_number_t num, gaspi_size_t size,
                              gaspi_timeout_t timeout_ms)
{
    (void)one, (void)two, (void)result, (void)state, (void)num, (void)size, (void)timeout_ms;
    return GASPI_ERROR;
}

static void own_operations(void)
{
    static const gaspi_size_t sizes[] = {16, 24, 64, 72, 200, 512, 520, 1000, 17, 65};
    int called = 0, failed = 0, any = 0;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (gaspi_number_t num = 1; num <= 300; num = num * 7 + 1) {
            char *in = (char *)calloc(num, sizes[s]), *out = (char *)calloc(num, sizes[s]);
            int right = 1;

            for (gaspi_number_t i = 0; i < num; i++) {
                double length = (rank + i) % ranks;

                memcpy(in + i * sizes[s], &length, sizeof length);
                memset(in + i * sizes[s] + sizeof length, rank + 1, sizes[s] - sizeof length);
            }
            gaspi_return_t rc;
            while ((rc = gaspi_allreduce_user(in, out, num, sizes[s], longer, &called,
                                              GASPI_GROUP_ALL, 5)) == GASPI_TIMEOUT)
                ;
            for (gaspi_number_t i = 0; i < num; i++) {
                double length;
                int of = (int)((2u * ranks - 1 - i % ranks) % ranks);

                memcpy(&length, out + i * sizes[s], sizeof length);
                right = right && length == ranks - 1 && out[(i + 1) * sizes[s] - 1] == of + 1;
            }
            EXPECT(rc == GASPI_SUCCESS && right);
            free(in);
            free(out);
        }
    EXPECT(called > 0 || ranks == 1);
    double x = 1, y;
    gaspi_return_t rc =
        gaspi_allreduce_user(&x, &y, 1, sizeof x, failing, NULL, GASPI_GROUP_ALL, GASPI_BLOCK);
    failed = rc == GASPI_ERROR;
    EXPECT(failed || rc == GASPI_SUCCESS);
    EXPECT(gaspi_allreduce(&failed, &any, 1, GASPI_OP_MAX, GASPI_TYPE_INT, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(any == (ranks > 1));
}

/* Groups of different ranks use different operations at the same time. */
static void own_operations_of_groups(void)
{
    gaspi_group_t pair = 0, rest = 0;
    int called = 0;
    double x = rank, y = -1;

    EXPECT(gaspi_group_create(&pair) == GASPI_SUCCESS);
    for (int r = rank / 2 * 2; r < ranks && r < rank / 2 * 2 + 2; r++)
        EXPECT(gaspi_group_add(pair, (gaspi_rank_t)r) == GASPI_SUCCESS);
    EXPECT(gaspi_group_commit(pair, GASPI_BLOCK) == GASPI_SUCCESS);
    /* Ranks other than 0 get numbers for one more group than rank 0: their operations have to be
     * alike. */
    EXPECT(gaspi_group_create(&rest) == GASPI_SUCCESS);
    for (int r = 1; r < ranks; r++)
        EXPECT(gaspi_group_add(rest, (gaspi_rank_t)r) == GASPI_SUCCESS);
    EXPECT(gaspi_group_commit(rest, GASPI_BLOCK) == GASPI_SUCCESS);
    gaspi_group_t last = 0;
    EXPECT(gaspi_group_create(&last) == GASPI_SUCCESS);
    for (int r = 0; r < ranks; r++)
        EXPECT(gaspi_group_add(last, (gaspi_rank_t)r) == GASPI_SUCCESS);
    EXPECT(gaspi_group_commit(last, GASPI_BLOCK) == GASPI_SUCCESS);
    gaspi_group_t order[] = {pair, rest, last};
    for (int i = 0; i < 3; i++) {
        gaspi_return_t rc =
            gaspi_allreduce_user(&x, &y, 1, sizeof x, longer, &called, order[i], GASPI_BLOCK);
        EXPECT(rc == (i == 1 && rank == 0 ? GASPI_ERR_INV_GROUP : GASPI_SUCCESS));
    }
    EXPECT(y == ranks - 1);
    for (int i = 0; i < 3; i++)
        EXPECT(gaspi_group_delete(order[i]) == GASPI_SUCCESS);
}

/* Ranks that commit groups with other members get an error, and not a hang. */
static void other_members(void)
{
    gaspi_group_t group = 0;

    if (ranks < 3)
        return;
    EXPECT(gaspi_group_create(&group) == GASPI_SUCCESS);
    for (int r = 0; r < (rank == 0 ? ranks : ranks - 1); r++)
        EXPECT(gaspi_group_add(group, (gaspi_rank_t)r) == GASPI_SUCCESS);
    gaspi_return_t rc = gaspi_group_commit(group, GASPI_BLOCK);
    EXPECT(rc == (rank == ranks - 1 ? GASPI_SUCCESS : GASPI_ERROR));
    EXPECT(rank != 0 || strstr(ncoll_gaspi_error()->text, "other members") != NULL);
}

static void small_calls(void)
{
    gaspi_number_t elements = 0;
    gaspi_size_t bytes = 0;
    float version = 0;
    gaspi_string_t text = NULL;
    int i = 0;

    EXPECT(gaspi_allreduce_elem_max(&elements) == GASPI_SUCCESS && elements >= 255);
    EXPECT(gaspi_allreduce_buf_size(&bytes) == GASPI_SUCCESS && bytes >= 2048);
    EXPECT(gaspi_version(&version) == GASPI_SUCCESS && version > 1);
    EXPECT(gaspi_print_error(GASPI_ERR_NOINIT, &text) == GASPI_SUCCESS && *text != '\0');
    for (int code = -1; code < 30; code++)
        EXPECT(*gaspi_error_str((gaspi_return_t)code) != '\0');
    EXPECT(gaspi_proc_init(GASPI_BLOCK) == GASPI_ERR_INITED);
    EXPECT(gaspi_proc_rank(NULL) == GASPI_ERR_NULLPTR);
    EXPECT(gaspi_barrier(77, GASPI_BLOCK) == GASPI_ERR_INV_GROUP);
    EXPECT(gaspi_barrier(255, GASPI_BLOCK) == GASPI_ERR_INV_GROUP);
    EXPECT(gaspi_allreduce(NULL, &i, 1, GASPI_OP_SUM, GASPI_TYPE_INT, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_ERR_NULLPTR);
    EXPECT(gaspi_allreduce(&i, &i, 1, (gaspi_operation_t)3, GASPI_TYPE_INT, GASPI_GROUP_ALL,
                           GASPI_BLOCK) == GASPI_ERROR);
    EXPECT(gaspi_allreduce_user(&i, &i, 1, 0, longer, NULL, GASPI_GROUP_ALL, GASPI_BLOCK) ==
           GASPI_ERR_INV_SIZE);
    EXPECT(gaspi_print_error(GASPI_ERROR, &text) == GASPI_SUCCESS &&
           strstr(text, "element_size") != NULL);
}

static void last_rank_leaves(void)
{
    gaspi_state_t states[64];
    gaspi_return_t rc = GASPI_SUCCESS;

    EXPECT(gaspi_state_vec_get(states) == GASPI_SUCCESS &&
           states[ranks - 1] == GASPI_STATE_HEALTHY);
    if (ranks == 1)
        return;
    EXPECT(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS);
    if (rank == ranks - 1)
        _exit(failures == 0 ? 0 : 1);
    for (int i = 0; i < 2 && rc == GASPI_SUCCESS; i++)
        rc = gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
    EXPECT(rc == GASPI_ERROR);
    EXPECT(gaspi_state_vec_get(states) == GASPI_SUCCESS);
    EXPECT(states[ranks - 1] == GASPI_STATE_CORRUPT && states[0] == GASPI_STATE_HEALTHY);
}

int main(void)
{
    gaspi_group_t group = 0;

    EXPECT(gaspi_barrier(GASPI_GROUP_ALL, GASPI_TEST) == GASPI_ERR_NOINIT);
    EXPECT(gaspi_proc_rank(&rank) == GASPI_ERR_NOINIT);
    EXPECT(gaspi_group_create(&group) == GASPI_ERR_NOINIT);
    if (gaspi_proc_init(GASPI_BLOCK) != GASPI_SUCCESS) {
        fprintf(stderr, "%s\n", ncoll_gaspi_error()->text);
        return 1;
    }
    EXPECT(gaspi_proc_rank(&rank) == GASPI_SUCCESS && gaspi_proc_num(&ranks) == GASPI_SUCCESS);
    EXPECT(rank < ranks && ncoll_gaspi_context() != NULL);
    types();
    time_outs();
    groups();
    many_groups();
    own_operations();
    own_operations_of_groups();
    small_calls();
    other_members();
    EXPECT(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS);
    last_rank_leaves();
    EXPECT(gaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS);
    EXPECT(gaspi_proc_term(GASPI_BLOCK) == GASPI_ERR_NOINIT);
    if (rank == 0)
        printf("%d checks\n", checks);
    return failures == 0 ? 0 : 1;
}
