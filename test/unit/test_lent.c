/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from memory of the user's that ranks of a node copy once: NCOLL_SINGLE_COPY. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
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
#include "lib/call/call.h"
#include "lib/failure/card.h"
#include "test/support/crew.h"

#define LIMIT_NS INT64_C(20000000000)
#define COUNT    ((size_t)1 << 16) /* of int64: several segments */
#define BYTES    (COUNT * sizeof(int64_t))
#define FEW      ((size_t)4096) /* one segment */
#define RANKS    4

static ncoll_params lending(void)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.single_copy_bytes = 1;
    return params;
}

static uint64_t lent_bytes(const struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.lent_bytes : UINT64_MAX;
}

static int64_t value(int rank, int round, size_t i)
{
    return (int64_t)(i * 7919 + (size_t)round * 104729 + (size_t)rank);
}

static void fill(int64_t *vector, size_t count, int rank, int round)
{
    for (size_t i = 0; i < count; i++)
        vector[i] = value(rank, round, i);
}

static bool is_filled(const int64_t *vector, size_t count, int rank, int round)
{
    for (size_t i = 0; i < count; i++)
        if (vector[i] != value(rank, round, i))
            return false;
    return true;
}

/* ------------------------------------------------------------------ given back ---------------- */

/* Whoever is through overwrites what it has lent, while others take their time. */
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
    CHECK(lent_bytes(r) > 0);
    free(in);
    free(out);
    return 0;
}

static void nobody_has_it_back_too_early(void **state)
{
    ncoll_params params = lending();

    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, 60, overwrite_at_once, NULL), 0);
        assert_int_equal(crew_run(CREW_THREADS, ranks, &params, 60, overwrite_at_once, NULL), 0);
    }
}

/* In place results overwrite nothing that is still lent. */
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
    ncoll_params params = lending();

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
    emit_copy(out, out_at(0), landed_at(0, 0), half);
    emit_put(out, other, 1, scratch_at(0), half);
    emit_wait(out, other, 1, half);
    emit_copy(out, out_at(half), landed_at(1, 0), half);
    return true;
}

static const struct algorithm crossing = {
    .name = "crossing",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = GIVES_SAME_BITS | SYNCHRONISES,
    .footprint = crossing_footprint,
    .round = crossing_round,
};

/* Rank 0, whose buffers are apart, lends; rank 1 fetches, in place. */
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
        .errand = ncoll__card(&(struct card_fields){.collective = COLL_BARRIER}),
    };

    CHECK(in != NULL && out != NULL);
    for (int round = 0; round < 3; round++) {
        const int64_t *result = args.out;
        uint64_t before = lent_bytes(r);
        fill(in, FEW, r->rank, round);
        CHECK_STATUS(ncoll__call_start(g, &g->blocking, &args), NCOLL_OK);
        CHECK_STATUS(ncoll__call_drive(g, &g->blocking, LIMIT_NS), NCOLL_OK);
        CHECK(is_filled(result, FEW / 2, 1 - r->rank, round));
        CHECK(is_filled(result + FEW / 2, FEW / 2, 1 - r->rank, round));
        CHECK(r->rank == 1 || lent_bytes(r) > before);
    }
    free(in);
    free(out);
    return 0;
}

static void in_place_nothing_is_lost_at_the_receiver(void **state)
{
    ncoll_params params = lending();

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
    CHECK(r->rank > 0 || lent_bytes(r) >= BYTES);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(20);
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
    ncoll_params params = lending();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 60, other_memory, NULL), 0);
}

/* Rank 0 lends nothing, from memory of the library's. So what rank 1 passes on has not come to its
 * OUT yet, from where it would lend it. */
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
    CHECK(lent_bytes(r) == 0);
    if (r->rank > 0)
        free(vector);
    return 0;
}

static void what_is_elsewhere_is_not_lent(void **state)
{
    ncoll_params params = lending();

    (void)state;
    params.bcast_algorithm = "chain";
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 30, pass_on, NULL), 0);
}

/* All are told who has passed it. */
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
    ncoll_params params = lending();

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

/* Rank 0 may not read, the others may; or it does not want to, nor lends anything. */
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
        uint64_t before = lent_bytes(r);
        fill(vector, COUNT, r->rank, round);
        CHECK_STATUS(ncoll_bcast(r->world, vector, COUNT, NCOLL_INT64, root, LIMIT_NS), NCOLL_OK);
        CHECK(is_filled(vector, COUNT, root, round));
        CHECK(round < r->ranks ||
              (lent_bytes(r) > before) == (r->rank == root && root == 0 && *forbidden));
    }
    CHECK((said == 1) == (r->rank == 0 && *forbidden));
    free(vector);
    return 0;
}

static void who_does_not_read_gets_copies(void **state)
{
    ncoll_params params = lending();

    (void)state;
    params.bcast_algorithm = "flat";
    for (int i = 0; i < 2; i++) {
        bool forbidden = i == 0;
        assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, some_do_not, &forbidden), 0);
    }
}

/* ------------------------------------------------------------------ time-outs, failures ------- */

struct stage {
    _Atomic int turn;
};

/* What has been lent stays so, and the call pending, until it has been fetched. */
static int time_out(struct rank *r)
{
    struct stage *stage = r->shared;
    int64_t *vector = malloc(BYTES);

    CHECK(vector != NULL);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    fill(vector, FEW, r->rank, 1);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, 1000000), NCOLL_TIMEOUT);
        stage->turn = 1;
    }
    while (stage->turn == 0)
        sched_yield();
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK(is_filled(vector, FEW, 0, 1));
    free(vector);
    return 0;
}

static void a_time_out_changes_nothing(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = lending();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, time_out, stage), 0);
    crew_unshare(stage, sizeof *stage);
}

/* Rank 0 ends when it has lent something, or rank 1 when it has something to fetch; which the
 * survivor is told, by the process's end or by what it cannot read any more. */
static int end_early(struct rank *r)
{
    struct stage *stage = r->shared;
    int victim = stage->turn >= 10;
    int64_t *vector = malloc(BYTES);
    ncoll_request *request;

    CHECK(vector != NULL);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_bcast_start(r->world, vector, FEW, NCOLL_INT64, 0, &request), NCOLL_OK);
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        stage->turn = 10 * victim + 1;
    }
    while (stage->turn % 10 == 0)
        sched_yield();
    if (r->rank == victim)
        _exit(0);
    usleep(20000);
    int rc = r->rank == 0 ? ncoll_wait(&request, LIMIT_NS)
                          : ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
    CHECK_STATUS(rc, NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(r->ctx)->peer == victim);
    free(vector);
    return 0;
}

static void who_ends_is_blamed(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = lending();

    (void)state;
    for (int victim = 0; victim < 2; victim++) {
        stage->turn = 10 * victim;
        assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, end_early, stage), 0);
    }
    crew_unshare(stage, sizeof *stage);
}

/* Rank 0 gives up, and has its memory back, before rank 1 fetches. */
static int give_up(struct rank *r)
{
    struct stage *stage = r->shared;
    int64_t *vector = malloc(BYTES);
    ncoll_request *request;

    CHECK(vector != NULL);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_bcast_start(r->world, vector, FEW, NCOLL_INT64, 0, &request), NCOLL_OK);
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        ncoll__fail(r->ctx, NCOLL_ERR_SYSTEM, -1, NULL, "this rank gives up, for a test");
        CHECK_STATUS(ncoll__calls_broke(r->world, NCOLL_ERR_SYSTEM), NCOLL_ERR_SYSTEM);
        memset(vector, 0xee, BYTES);
        stage->turn = 1;
        free(vector);
        return 0;
    }
    while (stage->turn == 0)
        sched_yield();
    int rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
    CHECK(rc != NCOLL_OK && rc != NCOLL_TIMEOUT);
    free(vector);
    return 0;
}

static void what_is_taken_back_is_noticed(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = lending();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, give_up, stage), 0);
    crew_unshare(stage, sizeof *stage);
}

/* The same, while rank 1, a thread of the same process, is copying: it comes to a page that it may
 * not read, which rank 0 writes to and lets it read when it has its memory back. */
static _Atomic int caught;

static void on_fault(int signal)
{
    (void)signal;
    caught = 2;
    while (caught == 2)
        sched_yield();
}

static int give_up_at_the_worst_time(struct rank *r)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = FEW * sizeof(int64_t);
    int64_t *vector = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *last = (unsigned char *)vector + bytes - page;
    ncoll_request *request;

    CHECK(vector != MAP_FAILED);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_bcast_start(r->world, vector, FEW, NCOLL_INT64, 0, &request), NCOLL_OK);
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        CHECK(mprotect(last, page, PROT_NONE) == 0);
        caught = 1;
        while (caught == 1)
            sched_yield();
        ncoll__fail(r->ctx, NCOLL_ERR_SYSTEM, -1, NULL, "this rank gives up, for a test");
        CHECK_STATUS(ncoll__calls_broke(r->world, NCOLL_ERR_SYSTEM), NCOLL_ERR_SYSTEM);
        CHECK(mprotect(last, page, PROT_READ | PROT_WRITE) == 0);
        memset(last, 0xee, page);
        caught = 3;
    } else {
        while (caught == 0)
            sched_yield();
        int rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
        CHECK(caught == 3 && vector[FEW - 1] == (int64_t)0xeeeeeeeeeeeeeeee);
        CHECK(rc != NCOLL_OK && rc != NCOLL_TIMEOUT);
    }
    return 0;
}

static void what_is_taken_back_is_noticed_later_on(void **state)
{
    struct sigaction before, action = {.sa_handler = on_fault};
    ncoll_params params = lending();

    (void)state;
    caught = 0;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    assert_int_equal(crew_run(CREW_THREADS, 2, &params, 30, give_up_at_the_worst_time, NULL), 0);
    sigaction(SIGSEGV, &before, NULL);
}

/* Rank 0 leaves with a call unfinished, and has its memory back, before rank 1 fetches. */
static int leave(struct rank *r)
{
    struct stage *stage = r->shared;
    int64_t *vector = malloc(BYTES);
    ncoll_request *request;

    CHECK(vector != NULL);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_bcast_start(r->world, vector, FEW, NCOLL_INT64, 0, &request), NCOLL_OK);
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        ncoll_context_destroy(r->ctx);
        r->ctx = NULL;
        memset(vector, 0xee, BYTES);
        stage->turn = 1;
        while (stage->turn == 1)
            sched_yield();
    } else {
        while (stage->turn == 0)
            sched_yield();
        int rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
        stage->turn = 2;
        CHECK_STATUS(rc, NCOLL_ERR_PEER);
        CHECK(ncoll_last_error(r->ctx)->peer == 0);
    }
    free(vector);
    return 0;
}

static void who_leaves_too_early_is_blamed(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = lending();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, leave, stage), 0);
    stage->turn = 0;
    assert_int_equal(crew_run(CREW_THREADS, 2, &params, 30, leave, stage), 0);
    crew_unshare(stage, sizeof *stage);
}

/* ------------------------------------------------------------------ groups in another order --- */

/* Rank 0 waits for the others to fetch, which wait for it in another group. */
static int fetch_too_late(struct rank *r)
{
    int64_t *vector = calloc(FEW, sizeof *vector);
    ncoll_group *other;
    int rc = NCOLL_OK;

    CHECK(vector != NULL);
    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(other, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank > 0)
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "of another group") != NULL);
    free(vector);
    return 0;
}

/* Rank 0 waits for rank 1 to fetch, which is in that call, and waits for rank 2 before; which waits
 * for rank 0 in another group. */
static int fetch_what_comes_first(struct rank *r)
{
    int64_t *vectors = calloc((size_t)r->ranks * FEW, sizeof *vectors);
    ncoll_group *other;
    int rc = NCOLL_OK;

    CHECK(vectors != NULL);
    CHECK_STATUS(
        ncoll_group_split(r->world, r->rank != 1 ? 0 : NCOLL_NO_GROUP, 0, &other, NCOLL_BLOCK),
        NCOLL_OK);
    int64_t *out = r->rank == 1 ? vectors : NULL;
    CHECK_STATUS(ncoll_gather(r->world, vectors + FEW, out, FEW, NCOLL_INT64, 1, NCOLL_BLOCK),
                 NCOLL_OK);
    if (r->rank == 2)
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_gather(r->world, vectors + FEW, out, FEW, NCOLL_INT64, 1, NCOLL_BLOCK);
    if (rc == NCOLL_OK && r->rank == 0)
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "of another group") != NULL);
    free(vectors);
    return 0;
}

static void who_fetches_too_late_is_told(void **state)
{
    ncoll_params params = lending();

    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, 30, fetch_too_late, NULL), 0);
    params.gather_algorithm = "flat";
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 30, fetch_what_comes_first, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_has_it_back_too_early),
        cmocka_unit_test(in_place_nothing_is_lost),
        cmocka_unit_test(in_place_nothing_is_lost_at_the_receiver),
        cmocka_unit_test(any_memory_that_can_be_read_will_do),
        cmocka_unit_test(what_is_elsewhere_is_not_lent),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
        cmocka_unit_test(who_does_not_read_gets_copies),
        cmocka_unit_test(a_time_out_changes_nothing),
        cmocka_unit_test(who_ends_is_blamed),
        cmocka_unit_test(what_is_taken_back_is_noticed),
        cmocka_unit_test(what_is_taken_back_is_noticed_later_on),
        cmocka_unit_test(who_leaves_too_early_is_blamed),
        cmocka_unit_test(who_fetches_too_late_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
