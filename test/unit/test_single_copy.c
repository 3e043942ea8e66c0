/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from memory of the user's that ranks of a node copy once: NCOLL_SINGLE_COPY. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "algos/schedule.h"
#include "lib/run/call.h"
#include "lib/base/signature.h"
#include "test/unit/single_copy_ranks.h"
#include "test/support/hang.h"

/* ------------------------------------------------------------------ given back ---------------- */

/* A rank whose call has ended overwrites what others have got from it, while those take their
 * time. */
static int overwrite_at_once(struct rank *r)
{
    int64_t *in = malloc(BYTES), *out = malloc((size_t)RANKS * BYTES);

    CHECK(in != NULL && out != NULL);
    for (int round = 0; round < 24; round++) {
        int root = round % r->ranks;
        if (round % 3 == 0 && r->rank != root)
            usleep(2000);
        fill(in, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_bcast(r->world, in, COUNT, NCOLL_INT64, root, LIMIT_NS), NCOLL_OK);
        CHECK(is_filled(in, COUNT, root, round));
        memset(in, 0xee, BYTES);
        fill(in, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_gather(r->world, in, out, COUNT, NCOLL_INT64, root, LIMIT_NS), NCOLL_OK);
        memset(in, 0xee, BYTES);
        for (int q = 0; q < r->ranks && r->rank == root; q++)
            CHECK(is_filled(out + (size_t)q * COUNT, COUNT, q, round));
        fill(in, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_allgather(r->world, in, out, COUNT, NCOLL_INT64, LIMIT_NS), NCOLL_OK);
        memset(in, 0xee, BYTES);
        for (int q = 0; q < r->ranks; q++)
            CHECK(is_filled(out + (size_t)q * COUNT, COUNT, q, round));
        memset(out, 0xee, (size_t)RANKS * BYTES);
    }
    CHECK(single_copied_bytes(r) > 0);
    free(in);
    free(out);
    return 0;
}

static void nobody_has_it_back_too_early(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, 60, overwrite_at_once, NULL), 0);
        assert_int_equal(crew_run(CREW_THREADS, ranks, &params, 60, overwrite_at_once, NULL), 0);
    }
}

/* In place, results overwrite nothing that a receiver has yet to get. */
static int in_place(struct rank *r)
{
    int64_t *all = malloc((size_t)RANKS * BYTES), *vector = malloc(BYTES);

    CHECK(all != NULL && vector != NULL);
    for (int round = 0; round < 12; round++) {
        fill(all + (size_t)r->rank * COUNT, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_allgather(r->world, all + (size_t)r->rank * COUNT, all, COUNT,
                                     NCOLL_INT64, LIMIT_NS),
                     NCOLL_OK);
        for (int q = 0; q < r->ranks; q++)
            CHECK(is_filled(all + (size_t)q * COUNT, COUNT, q, round));
        fill(vector, COUNT, 0, round);
        CHECK_STATUS(
            ncoll_allreduce(r->world, vector, vector, COUNT, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
            NCOLL_OK);
        for (size_t i = 0; i < COUNT; i++)
            CHECK(vector[i] == r->ranks * value(0, round, i));
        fill(vector, COUNT, 0, round);
        CHECK_STATUS(ncoll_scan(r->world, vector, vector, COUNT, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                     NCOLL_OK);
        for (size_t i = 0; i < COUNT; i++)
            CHECK(vector[i] == (r->rank + 1) * value(0, round, i));
    }
    free(all);
    free(vector);
    return 0;
}

static void in_place_nothing_is_lost(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, 60, in_place, NULL), 0);
        assert_int_equal(crew_run(CREW_THREADS, ranks, &params, 60, in_place, NULL), 0);
    }
}

/*
 * No schedule of the registry reads IN, in place, between the wait for a message that may land
 * there and its copy; this one does. Two ranks give each other half a vector, and that of the
 * other's back that they had at the time: OUT is the first half of the other's IN, twice.
 */
static struct footprint crossing_footprint(const struct shape *g)
{
    return (struct footprint){
        .slots = 2, .scratch = g->count, .message = g->count, .sent = g->count};
}

static bool crossing_round(const struct shape *g, unsigned r, struct round *out)
{
    unsigned other = 1 - g->rank;
    size_t half = g->count / 2;

    if (r > 0)
        return false;
    emit_put(out, other, 0, in_at(0), half);
    emit_wait(out, other, 0, half);
    emit_copy(out, scratch_at(0), in_at(0), half);
    emit_copy(out, out_at(0), arrived_at(0, 0), half);
    emit_put(out, other, 1, scratch_at(0), half);
    emit_wait(out, other, 1, half);
    emit_copy(out, out_at(half), arrived_at(1, 0), half);
    return true;
}

static const struct algorithm crossing = {
    .name = "crossing",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = GIVES_SAME_BITS | SYNCHRONISES,
    .footprint = crossing_footprint,
    .round = crossing_round,
};

/* Rank 0, whose buffers are apart, puts by single copy; rank 1 gets the message, in place. */
static int cross(struct rank *r)
{
    int64_t *in = malloc(FEW * sizeof *in), *out = malloc(FEW * sizeof *out);
    struct ncoll_group *g = r->world;
    struct call_args args = {
        .collective = COLL_ALLREDUCE,
        .in = in,
        .out = r->rank == 0 ? out : in,
        .count = FEW,
        .type = NCOLL_INT64,
        .op = NCOLL_SUM,
        .algorithm = &crossing,
        .internal = true,
        .purpose = ncoll__signature(&(struct signature_fields){.collective = COLL_BARRIER}),
    };

    CHECK(in != NULL && out != NULL);
    for (int round = 0; round < 3; round++) {
        const int64_t *result = args.out;
        uint64_t before = single_copied_bytes(r);
        fill(in, FEW, r->rank, round);
        CHECK_STATUS(ncoll__begin(g, &g->blocking, &(struct known_call){.args = args}, false),
                     NCOLL_OK);
        CHECK_STATUS(ncoll__call_drive(g, &g->blocking, LIMIT_NS), NCOLL_OK);
        CHECK(is_filled(result, FEW / 2, 1 - r->rank, round));
        CHECK(is_filled(result + FEW / 2, FEW / 2, 1 - r->rank, round));
        CHECK(r->rank == 1 || single_copied_bytes(r) > before);
    }
    free(in);
    free(out);
    return 0;
}

static void in_place_nothing_is_lost_at_the_receiver(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 60, cross, NULL), 0);
}

/* ------------------------------------------------------------------ all sorts of memory ------- */

/* From a file, from pages that may be read only, and while a child has them all, too. */
static int other_memory(struct rank *r)
{
    FILE *file = tmpfile();
    int64_t *out = malloc(BYTES);

    CHECK(file != NULL && out != NULL);
    fill(out, COUNT, 0, 1);
    CHECK(fwrite(out, 1, BYTES, file) == BYTES && fflush(file) == 0);
    int64_t *in = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    CHECK(in != MAP_FAILED);
    memset(out, 0, BYTES);
    CHECK_STATUS(ncoll_bcast(r->world, out, COUNT, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast(r->world, r->rank == 0 ? in : out, COUNT, NCOLL_INT64, 0, LIMIT_NS),
                 NCOLL_OK);
    CHECK(r->rank == 0 || is_filled(out, COUNT, 0, 1));
    CHECK(r->rank > 0 || single_copied_bytes(r) >= BYTES);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        hang_after(20);
        pause();
        _exit(0);
    }
    for (int round = 2; round < 6; round++) {
        fill(out, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_bcast(r->world, out, COUNT, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
        CHECK(is_filled(out, COUNT, 0, round));
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(in, BYTES);
    free(out);
    fclose(file);
    return 0;
}

static void any_memory_that_can_be_read_will_do(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 60, other_memory, NULL), 0);
}

/* Rank 0 sends no single copies from memory of the library's. So the data that rank 1 passes on has
 * not come to its OUT yet, from where it would be a single copy. */
static int pass_on(struct rank *r)
{
    int64_t *vector;

    if (r->rank == 0)
        CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&vector), NCOLL_OK);
    else
        CHECK((vector = malloc(BYTES)) != NULL);
    for (int round = 0; round < 20; round++) {
        fill(vector, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_bcast(r->world, vector, COUNT, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
        CHECK(is_filled(vector, COUNT, 0, round));
    }
    CHECK(single_copied_bytes(r) == 0);
    if (r->rank > 0)
        free(vector);
    return 0;
}

static void no_single_copy_from_elsewhere(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    params.bcast_algorithm = "chain";
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 30, pass_on, NULL), 0);
}

/* The root passes memory that cannot be read. All others get an error that names it. */
static int pass_nonsense(struct rank *r)
{
    int64_t *vector = malloc(BYTES);
    void *nonsense = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(vector != NULL && nonsense != MAP_FAILED);
    fill(vector, COUNT, r->rank, 0);
    CHECK_STATUS(ncoll_bcast(r->world, vector, COUNT, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    int rc =
        ncoll_bcast(r->world, r->rank == 0 ? nonsense : vector, COUNT, NCOLL_INT64, 0, LIMIT_NS);
    if (r->rank == 0) {
        CHECK(rc != NCOLL_OK && rc != NCOLL_TIMEOUT);
    } else {
        CHECK_STATUS(rc, NCOLL_ERR_ARGUMENT);
        CHECK(ncoll_last_error(r->ctx)->peer == 0);
        CHECK(strstr(ncoll_last_error(r->ctx)->text, "cannot be read") != NULL);
    }
    free(vector);
    return 0;
}

static void what_cannot_be_read_is_an_error(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, pass_nonsense, NULL), 0);
}

/* ------------------------------------------------------------------ where it is forbidden ----- */

static bool forbid_reading(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static _Thread_local unsigned said;

static void count_words(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg, (void)level;
    said += strstr(text, "process_vm_readv") != NULL;
}

/* Rank 0 may not read, the others may; or single copies are off at rank 0. */
static int some_do_not(struct rank *r)
{
    const bool *forbidden = r->shared;
    ncoll_params params = r->params;
    int64_t *vector = malloc(BYTES);

    CHECK(vector != NULL);
    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    if (r->rank == 0 && *forbidden && !forbid_reading())
        return 0; /* and nothing is forbidden */
    if (r->rank == 0 && !*forbidden)
        params.single_copy_bytes = 0;
    params.log = count_words;
    params.log_level = NCOLL_LOG_INFO;
    CHECK(ncoll_context_create(&params, &r->ctx, NULL) == NCOLL_OK);
    r->world = ncoll_world(r->ctx);
    for (int round = 0; round < 8; round++) {
        int root = round % r->ranks;
        uint64_t before = single_copied_bytes(r);
        fill(vector, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_bcast(r->world, vector, COUNT, NCOLL_INT64, root, LIMIT_NS), NCOLL_OK);
        CHECK(is_filled(vector, COUNT, root, round));
        CHECK(round < r->ranks ||
              (single_copied_bytes(r) > before) == (r->rank == root && root == 0 && *forbidden));
    }
    CHECK((said == 1) == (r->rank == 0 && *forbidden));
    free(vector);
    return 0;
}

static void who_does_not_read_gets_copies(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    params.bcast_algorithm = "flat";
    for (int i = 0; i < 2; i++) {
        bool forbidden = i == 0;
        assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, some_do_not, &forbidden), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_has_it_back_too_early),
        cmocka_unit_test(in_place_nothing_is_lost),
        cmocka_unit_test(in_place_nothing_is_lost_at_the_receiver),
        cmocka_unit_test(any_memory_that_can_be_read_will_do),
        cmocka_unit_test(no_single_copy_from_elsewhere),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
        cmocka_unit_test(who_does_not_read_gets_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
