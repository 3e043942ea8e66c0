/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The relay by itself: all ranks of a group in one process, whose messages are copied by hand. Every
 * offer comes to the rank that it is for, in one pass if it is known how many letters meet, and
 * ranks agree on which pass is the last one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/group/relay.h"
#include "test/support/planner.h"
#include "test/support/seed.h"

#define RANKS_MAX 80
#define FEW       5 /* letters in a message of a pass that may not be enough */

static struct random drawn;

/* Who writes to whom: both ways, or nobody. */
static bool peers[RANKS_MAX][RANKS_MAX];

struct ranks {
    struct planner *planner;
    unsigned size, rounds, passes;
    struct ncoll_group *groups; /* [size] */
    struct relay *relays[RANKS_MAX];
    struct call_args args[RANKS_MAX];
};

static void connect_pair(unsigned a, unsigned b)
{
    peers[a][b] = peers[b][a] = a != b;
}

/* Each offer says whose it is. */
static void add_letters(struct ranks *job, unsigned rank, unsigned most)
{
    unsigned n = 0;

    for (unsigned q = 0; q < job->size; q++)
        n += peers[rank][q];
    struct relay *r = ncoll__relay_new(&job->groups[rank], n, most);
    assert_non_null(r);
    for (unsigned q = 0; q < job->size; q++)
        if (peers[rank][q])
            *ncoll__relay_add(r, q) = (struct offer){{rank + 1, q + 1}};
    job->relays[rank] = r;
}

static void begin(struct ranks *job, unsigned size, unsigned most)
{
    struct planner_job one = {.ranks = size, .fabric = PLANNER_VERBS};

    *job = (struct ranks){.planner = planner_new(&one), .size = size};
    assert_non_null(job->planner);
    job->groups = calloc(size, sizeof *job->groups);
    assert_non_null(job->groups);
    while (size > 1u << job->rounds)
        job->rounds++;
    for (unsigned p = 0; p < size; p++) {
        job->groups[p] = *planner_world(job->planner);
        job->groups[p].rank = (int)p;
        add_letters(job, p, most);
    }
}

/* Frees all, after each rank has got exactly what it was sent. */
static void end(struct ranks *job)
{
    for (unsigned p = 0; p < job->size; p++) {
        struct relay *r = job->relays[p];
        assert_false(r->failed);
        assert_int_equal(r->n_letters, 0);
        assert_int_equal(r->n_arrived, r->n_wanted);
        for (unsigned q = 0; q < job->size; q++) {
            const struct offer *offer = ncoll__relay_find(r, q);
            assert_true((offer != NULL) == peers[p][q]);
            assert_true(offer == NULL || (offer->words[0] == q + 1 && offer->words[1] == p + 1));
        }
        ncoll__relay_free(job->groups[p].ctx, r);
    }
    free(job->groups);
    planner_free(job->planner);
}

/* Carries out the allreduce of one pass. Returns true if it was the last one. */
static bool pass(struct ranks *job, unsigned room)
{
    size_t words = 0;
    unsigned over = 0;

    for (unsigned p = 0; p < job->size; p++) {
        struct call_args *args = &job->args[p];
        assert_int_equal(ncoll__relay_call(job->relays[p], room, (struct signature){1, 1}, args),
                         NCOLL_OK);
        assert_true(p == 0 || args->count == words);
        words = args->count;
        ncoll__relay_begin(job->relays[p]);
    }
    int64_t *now = calloc(job->size * words, sizeof *now),
            *next = calloc(job->size * words, sizeof *next);
    assert_true(now != NULL && next != NULL);
    for (unsigned p = 0; p < job->size; p++)
        memcpy(now + p * words, job->args[p].in, words * sizeof *now);
    for (unsigned k = 0; k < job->rounds; k++) {
        for (unsigned p = 0; p < job->size; p++) {
            unsigned from = (p + job->size - (1u << k)) % job->size;
            const struct op *op = job->args[p].own_op;
            op->combine(next + p * words, now + p * words, now + from * words, words, NCOLL_INT64,
                        op->arg);
        }
        int64_t *swapped = now;
        now = next;
        next = swapped;
    }
    for (unsigned p = 0; p < job->size; p++) {
        memcpy(job->args[p].out, now + p * words, words * sizeof *now);
        over += ncoll__relay_is_over(job->relays[p]);
    }
    free(now);
    free(next);
    job->passes++;
    assert_true(over == 0 || over == job->size);
    return over > 0;
}

/* ------------------------------------------------------------------ cases --------------------- */

static void none(void)
{
    memset(peers, 0, sizeof peers);
}

/* Ranks write to ranks at the same distances. */
static void test_distances(void **state)
{
    (void)state;
    for (unsigned size = 2; size <= RANKS_MAX; size += size < 20 ? 1 : 7) {
        unsigned distances[RANKS_MAX], n = 0;
        struct ranks job;
        none();
        for (unsigned d = 1; d < size; d++)
            if (random_below(&drawn, 3) == 0)
                for (unsigned p = 0; p < size; p++)
                    connect_pair(p, (p + d) % size);
        for (unsigned d = 1; d < size; d++)
            if (peers[0][d])
                distances[n++] = d;
        unsigned most = ncoll__relay_most(size, distances, n);
        assert_true(most <= n);
        begin(&job, size, most);
        assert_true(pass(&job, most));
        end(&job);
    }
}

/* In any pattern no more letters meet than ncoll__relay_most() says. */
static void test_any_peers(void **state)
{
    (void)state;
    for (unsigned size = 2; size <= RANKS_MAX; size += size < 20 ? 1 : 7)
        for (unsigned often = 1; often <= 9; often += 4) {
            struct ranks job;
            none();
            for (unsigned p = 0; p < size; p++)
                for (unsigned q = 0; q < p; q++)
                    if (random_below(&drawn, often) == 0)
                        connect_pair(p, q);
            unsigned most = ncoll__relay_most(size, NULL, 0);
            begin(&job, size, most);
            assert_true(pass(&job, most));
            end(&job);
        }
}

/* All write to one rank, and two ranks to each other; the messages have room for a few letters. */
static void test_root(void **state)
{
    (void)state;
    for (unsigned size = 20; size <= RANKS_MAX; size += 20) {
        unsigned root = (unsigned)random_below(&drawn, size);
        struct ranks job;
        none();
        for (unsigned p = 0; p < size; p++)
            connect_pair(root, p);
        connect_pair((root + 1) % size, (root + 9) % size);
        begin(&job, size, ncoll__relay_most(size, NULL, 0));
        while (!pass(&job, FEW))
            assert_true(job.passes < size);
        assert_true(job.passes > 2);
        end(&job);
    }
}

/* Rooms as a wiring takes them: few letters need one pass, and one more to know that. */
static void test_rooms(void **state)
{
    struct ranks job;

    (void)state;
    none();
    for (unsigned p = 0; p < RANKS_MAX; p += 3)
        connect_pair(p, (p + 4) % RANKS_MAX);
    begin(&job, RANKS_MAX, ncoll__relay_most(RANKS_MAX, NULL, 0));
    while (!pass(&job, ncoll__relay_next_room(job.relays[0])))
        assert_true(job.passes < 2);
    assert_int_equal(job.passes, 2);
    assert_int_equal(job.args[0].count * sizeof(int64_t), SLOT_PAYLOAD);
    end(&job);
}

/* A group without peers needs one pass, which tells nothing. */
static void test_nobody(void **state)
{
    struct ranks job;

    (void)state;
    none();
    begin(&job, 9, ncoll__relay_most(9, NULL, 0));
    assert_true(pass(&job, LETTERS_FIRST));
    end(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances), cmocka_unit_test(test_any_peers),
        cmocka_unit_test(test_root),      cmocka_unit_test(test_rooms),
        cmocka_unit_test(test_nobody),
    };

    drawn = random_stream(test_seed(), 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
