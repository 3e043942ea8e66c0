/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launchers whose tasks find no way to each other: what their environments make of a context.
 * Variables are those that the launchers set (srun of Slurm 23.02, hydra of MPICH 4.0).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bootstrap/launcher.h"
#include "ncoll.h"

#define VARIABLES 9

struct environment {
    const char *set[VARIABLES][2];
    const char *cause, *remedy; /* parts of the error; NULL: a context of one rank is right */
};

#define TORCH(rank, size)                                                                          \
    {"RANK", rank}, {"WORLD_SIZE", size},                                                          \
    {                                                                                              \
        "MASTER_ADDR", "node07"                                                                    \
    }

#define SLURM_JOB                                                                                  \
    {"SLURM_JOB_ID", "17"},                                                                        \
    {                                                                                              \
        "SLURM_NTASKS", "4"                                                                        \
    }
#define SLURM_STEP                                                                                 \
    {"SLURM_STEP_ID", "0"},                                                                        \
    {                                                                                              \
        "SLURM_STEP_NUM_TASKS", "4"                                                                \
    }
#define HYDRA                                                                                      \
    {"HYDI_CONTROL_FD", "7"},                                                                      \
    {                                                                                              \
        "PMI_FD", "6"                                                                              \
    }

static const struct environment environments[] = {
    /* alone */
    {{{"HOME", "/"}}, NULL, NULL},
    {{SLURM_JOB}, NULL, NULL},                        /* salloc */
    {{SLURM_JOB, {"SLURM_PROCID", "0"}}, NULL, NULL}, /* a batch script */
    {{SLURM_JOB, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "4294967291"}}, NULL, NULL}, /* again */
    {{SLURM_JOB, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "-5"}}, NULL, NULL},
    {{SLURM_JOB, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "3"}, {"SLURM_STEP_NUM_TASKS", "1"}},
     NULL,
     NULL}, /* srun -n 1 in a job of 4 */
    {{HYDRA, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}, {"MPI_LOCALNRANKS", "1"}}, NULL, NULL},
    {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}, NULL, NULL},
    {{{"PMI_SIZE", "one"}, {"PMI_RANK", ""}}, NULL, NULL},
    {{SLURM_JOB, SLURM_STEP, {"SLURM_PROCID", "3"}, HYDRA, {"PMI_SIZE", "1"}}, NULL, NULL},
    {{TORCH("0", "1")}, NULL, NULL},
    {{{"RANK", "3"}}, NULL, NULL}, /* a variable of anything */
    {{{"RANK", "3"}, {"WORLD_SIZE", "4"}}, NULL, NULL},
    {{{"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node07"}}, NULL, NULL}, /* for what it starts itself */
    {{TORCH("4", "4")}, NULL, NULL},
    {{{"JOB_COMPLETION_INDEX", "2"}}, NULL, NULL}, /* mostly a part of work that stands alone */
    {{{"ALPS_APP_PE", "0"}}, NULL, NULL},
    /* one of several */
    {{SLURM_JOB,
      SLURM_STEP,
      {"SLURM_PROCID", "0"},
      {"SLURM_STEP_NODELIST", "node[07-09,12]"},
      {"SLURM_HET_SIZE", "2"}},
     "srun has started 4 tasks, of which this is number 0",
     "srun --mpi=pmix -n 4 test_launchers, or srun -n 4 sh -c 'NCOLL_RANK=$SLURM_PROCID "
     "NCOLL_SIZE=$SLURM_NTASKS NCOLL_ROOT=node07:4711 exec test_launchers'"},
    {{SLURM_JOB, {"SLURM_STEPID", "2"}, {"SLURM_PROCID", "3"}},
     "srun has started 4 tasks, of which this is number 3",
     "srun --mpi=pmix -n 4"},
    {{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "1"}}, "srun has started 4 tasks", "srun --mpi=pmix"},
    {{SLURM_JOB, SLURM_STEP, {"SLURM_PROCID", "1"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}},
     "srun has started 4 tasks", /* --mpi=pmi2 */
     "srun --mpi=pmix -n 4"},
    {{HYDRA, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}},
     "mpiexec has started 2 tasks, of which this is number 1",
     "prterun -n 2 test_launchers, or mpiexec -n 2 sh -c 'NCOLL_RANK=$PMI_RANK "
     "NCOLL_SIZE=$PMI_SIZE NCOLL_ROOT=localhost:4711 exec test_launchers'"},
    {{HYDRA, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "1"}},
     "mpiexec has started 2 tasks",
     "NCOLL_ROOT=HOST-OF-RANK-0:4711"},
    {{{"SLURM_NTASKS", "1"},
      {"SLURM_PROCID", "0"},
      {"SLURM_STEP_ID", "0"},
      {"PMI_FD", "6"},
      {"PMI_RANK", "1"},
      {"PMI_SIZE", "2"},
      {"MPI_LOCALNRANKS", "2"}},
     "mpiexec has started 2 tasks, of which this is number 1", /* by srun -n 1 of its proxy */
     "prterun -n 2"},
    {{{"SLURM_NTASKS", "2"},
      {"SLURM_PROCID", "1"},
      {"SLURM_STEP_ID", "0"},
      {"PMI_FD", "6"},
      {"PMI_RANK", "3"},
      {"PMI_SIZE", "4"},
      {"MPI_LOCALNRANKS", "2"}},
     "mpiexec has started 4 tasks, of which this is number 3", /* on two nodes */
     "NCOLL_RANK=$PMI_RANK"},
    {{HYDRA, {"PMI_RANK", "0"}, {"MPI_LOCALNRANKS", "2"}}, "mpiexec has started several", "-n N"},
    {{{"MPI_LOCALNRANKS", "3"}}, "mpiexec has started several", "prterun"},
    {{{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}, "mpiexec has started 3 tasks", "prterun -n 3"},
    {{{"PMI_SIZE", "4"}}, "mpiexec has started 4 tasks, but", "prterun -n 4"},
    {{{"PMI_SIZE", "1"}}, NULL, NULL},
    {{{"PALS_RANKID", "1"}, {"PALS_SIZE", "4"}}, "aprun has started 4 tasks", "prterun -n 4"},
    {{{"JSM_NAMESPACE_RANK", "0"}, {"JSM_NAMESPACE_SIZE", "6"}},
     "jsrun has started 6 tasks",
     "prterun -n 6"},
    {{{"PMI_RANK", "2"}}, "mpiexec has started several tasks", "prterun"},
    {{{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "7"}},
     "mpirun has started 8 tasks, of which this is number 7",
     "NCOLL_RANK=$OMPI_COMM_WORLD_RANK"},
    {{TORCH("1", "4"), {"MASTER_PORT", "29500"}},
     "torchrun, or what sets its variables, has started 4 tasks, of which this is number 1",
     "sh -c 'NCOLL_ROOT=$MASTER_ADDR:$((MASTER_PORT + 1)) NCOLL_SIZE=$WORLD_SIZE NCOLL_RANK=$RANK "
     "exec test_launchers'"},
    {{TORCH("0", "2")}, "has started 2 tasks", "NCOLL_ROOT=$MASTER_ADDR:4711"},
    {{SLURM_JOB,
      SLURM_STEP,
      {"SLURM_PROCID", "0"},
      TORCH("3", "4"),
      {"TORCHELASTIC_RUN_ID", "none"}},
     "torchrun has started 4 tasks, of which this is number 3", /* srun torchrun */
     "NCOLL_RANK=$RANK"},
    {{SLURM_JOB, SLURM_STEP, {"SLURM_PROCID", "1"}, TORCH("1", "4")},
     "srun has started 4 tasks", /* which gives its tasks torchrun's variables */
     "srun --mpi=pmix -n 4"},
    {{{"ALPS_APP_PE", "1"}}, "aprun has started several tasks, of which this", "prterun -n N"},
    {{{"PMIX_RANK", "0"}}, "prterun has started several tasks", "prterun -n N test_launchers"},
};
#define ENVIRONMENTS (sizeof environments / sizeof environments[0])

static void apply(const struct environment *e)
{
    program_invocation_name = program_invocation_short_name;
    clearenv();
    for (size_t i = 0; i < VARIABLES && e->set[i][0] != NULL; i++)
        setenv(e->set[i][0], e->set[i][1], 1);
}

static void expect_alone(size_t which, const ncoll_params *params)
{
    ncoll_context *ctx;
    ncoll_error error = {0};

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK)
        fail_msg("environment %zu: %s", which, error.text);
    assert_int_equal(ncoll_group_size(ncoll_world(ctx)), 1);
    ncoll_context_destroy(ctx);
}

static void test_environments(void **state)
{
    ncoll_context *ctx = NULL;
    ncoll_error error;

    (void)state;
    for (size_t i = 0; i < ENVIRONMENTS; i++) {
        const struct environment *e = &environments[i];
        apply(e);
        if (e->cause == NULL) {
            expect_alone(i, NULL);
            continue;
        }
        if (ncoll_context_create(NULL, &ctx, &error) != NCOLL_ERR_BOOTSTRAP)
            fail_msg("environment %zu makes a context", i);
        if (strstr(error.cause, e->cause) == NULL || strstr(error.remedy, e->remedy) == NULL ||
            strstr(error.cause, "NCOLL_BOOTSTRAP=self") == NULL)
            fail_msg("environment %zu: %s", i, error.text);
    }
}

/* A job of one rank that is meant, by its user or by its program. */
static void test_meant(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    for (size_t i = 0; i < ENVIRONMENTS; i++) {
        apply(&environments[i]);
        expect_alone(i, &params);
        setenv("NCOLL_BOOTSTRAP", "self", 1);
        expect_alone(i, NULL);
    }
}

/* Numbers of ranks without NCOLL_ROOT. */
static void test_numbers(void **state)
{
    static const struct {
        const char *rank, *size, *cause; /* NULL: it is not set; a context of one rank is right */
    } cases[] = {
        {"0", "2", "NCOLL_RANK is 0 and NCOLL_SIZE is 2, but NCOLL_ROOT is not set"},
        {NULL, "2", "NCOLL_SIZE is 2, but NCOLL_RANK and NCOLL_ROOT are not set"},
        {"3", NULL, "NCOLL_RANK is 3, but NCOLL_SIZE and NCOLL_ROOT are not set"},
        {"0", "1", NULL},
        {"0", NULL, NULL},
        {NULL, "1", NULL},
    };
    ncoll_context *ctx = NULL;
    ncoll_params params;
    ncoll_error error;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int given = 0; given < 2; given++) {
            const ncoll_params *p = given == 1 ? &params : NULL;
            clearenv();
            setenv("NCOLL_LOG", "error", 1);
            if (cases[i].rank != NULL)
                setenv("NCOLL_RANK", cases[i].rank, 1);
            if (cases[i].size != NULL)
                setenv("NCOLL_SIZE", cases[i].size, 1);
            if (cases[i].cause == NULL) {
                expect_alone(i, p);
                continue;
            }
            if (ncoll_context_create(p, &ctx, &error) != NCOLL_ERR_BOOTSTRAP)
                fail_msg("case %zu makes a context", i);
            if (strstr(error.cause, cases[i].cause) == NULL ||
                strstr(error.remedy, "set NCOLL_ROOT") == NULL)
                fail_msg("case %zu: %s", i, error.text);
            setenv("NCOLL_BOOTSTRAP", "self", 1); /* they count for tcp alone */
            expect_alone(i, p);
        }
}

static int sum_of_ranks(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx;
    int64_t in = params->rank + 1, sum = 0;

    (void)arg;
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    int rc = ncoll_allreduce(ncoll_world(ctx), &in, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return rc != NCOLL_OK || sum != 3;
}

/* Ranks that this process forks find each other, whatever has started it. */
static void test_forked(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENVIRONMENTS; i++) {
        apply(&environments[i]);
        assert_int_equal(ncoll_fork_ranks(2, NULL, sum_of_ranks, NULL, NULL), NCOLL_OK);
    }
}

/* A command that does not fit is left out as a whole. */
static void test_long_names(void **state)
{
    struct launched_task task;
    char node[241];

    (void)state;
    memset(node, 'x', sizeof node - 1);
    node[sizeof node - 1] = '\0';
    clearenv();
    setenv("SLURM_NTASKS", "4", 1);
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_STEP_NODELIST", node, 1);
    assert_true(ncoll__launched_as_task(&task));
    assert_string_equal(task.launcher, "srun");
    assert_true(strlen(task.remedy) < 250 && strchr(task.remedy, '\'') == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environments), cmocka_unit_test(test_meant),
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_forked),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests_name("launchers", tests, NULL, NULL);
}
