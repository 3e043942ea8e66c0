/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/launcher.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bootstrap/slurm.h"

#define PORT            4711 /* of rank 0, in the commands that errors propose */
#define STRING_OF(x)    #x
#define STRING(x)       STRING_OF(x)
#define PROGRAM_LONGEST 40 /* a longer name is printed without its folder */

/* The launchers that are recognised. A launcher may run under another one; then the variables of
 * both are set, so inner launchers come before outer ones. In a Slurm job, hydra (mpiexec of MPICH)
 * starts its proxies by srun, one on each node. The tasks of these proxies have no HYDI_CONTROL_FD,
 * but they have MPI_LOCALNRANKS, which srun does not set. */
static const struct launcher {
    const char *name;
    /* name of a variable that only this launcher sets; NULL: `size` is one */
    const char *mark;
    /* names of the variables with the number of tasks, with the number of this task, and with the
     * number of tasks on this node; NULL: there is none */
    const char *size, *rank, *near;
} launchers[] = {
    {"torchrun", "TORCHELASTIC_RUN_ID", "WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE"},
    {"mpiexec", "HYDI_CONTROL_FD", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},
    {"mpiexec", "MPI_LOCALNRANKS", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS"},
    {"mpirun", NULL, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", NULL, "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"aprun", "PALS_RANKID", "PALS_SIZE", "PALS_RANKID", "PALS_LOCAL_SIZE"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE"},
    {"flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_RANK", NULL},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_PROCID", NULL},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "PMI_RANK", NULL},
    {"mpiexec", NULL, "PMI_SIZE", "PMI_RANK", NULL},
    {"prterun", "PMIX_RANK", NULL, "PMIX_RANK", NULL},
    {"aprun", "ALPS_APP_PE", NULL, "ALPS_APP_PE", NULL},
    /* Other programs set these, too, such as scripts under srun, so this entry is the last. */
    {"torchrun, or what sets its variables,", "MASTER_ADDR", "WORLD_SIZE", "RANK", NULL},
};
#define LAUNCHERS (sizeof launchers / sizeof launchers[0])

static bool is_slurm(const struct launcher *l)
{
    return strcmp(l->name, "srun") == 0;
}

static bool is_pmix(const struct launcher *l)
{
    return strcmp(l->mark != NULL ? l->mark : "", "PMIX_RANK") == 0;
}

/* Returns true for torchrun. Its variables, unlike those of others, have names that any program may
 * use for something else. */
static bool is_torchrun(const struct launcher *l)
{
    return l->size != NULL && strcmp(l->size, "WORLD_SIZE") == 0;
}

/* Returns the number of tasks that a launcher has started; UNKNOWN_MANY: the variables do not tell
 * the number; 0: it has not started this process. */
#define UNKNOWN_MANY LONG_MAX
static long tasks_of(const struct launcher *l)
{
    if (getenv(l->mark != NULL ? l->mark : l->size) == NULL)
        return 0;
    if (is_slurm(l))
        return ncoll__slurm_tasks();
    if (is_pmix(l)) /* only the PMIx server knows the number */
        return UNKNOWN_MANY;
    long tasks = ncoll__launcher_number(l->size, 0), rank = ncoll__launcher_number(l->rank, -1);
    if (is_torchrun(l))
        return getenv("MASTER_ADDR") != NULL && rank >= 0 && rank < tasks ? tasks : 0;
    if (tasks > 0)
        return tasks;
    return rank > 0 || ncoll__launcher_number(l->near, 0) > 1 ? UNKNOWN_MANY : 0;
}

/* Finds the host of rank 0 for a command with this launcher; a placeholder if it is not known. */
static void root_of(const struct launcher *l, int tasks, char *host, size_t size)
{
    if (is_slurm(l) && ncoll__slurm_first_host(getenv("SLURM_STEP_NODELIST"), host, size))
        return;
    if (tasks > 0 && ncoll__launcher_number(l->near, 0) == tasks)
        snprintf(host, size, "localhost");
    else
        snprintf(host, size, "HOST-OF-RANK-0");
}

/* Writes the remedy for an error: a command with a launcher that the library supports and, if there
 * is room, a command by which this launcher starts ranks that use the tcp bootstrap. */
static void propose(const struct launcher *l, int tasks, char *remedy, size_t size)
{
    char n[24] = "N", host[256];
    const char *program = strlen(program_invocation_name) <= PROGRAM_LONGEST
                              ? program_invocation_name
                              : program_invocation_short_name;

    if (tasks > 0)
        snprintf(n, sizeof n, "%d", tasks);
    if (is_torchrun(l)) {
        snprintf(remedy, size,
                 "start each task as: sh -c 'NCOLL_ROOT=$MASTER_ADDR:%s NCOLL_SIZE=$WORLD_SIZE "
                 "NCOLL_RANK=$RANK exec %.40s'",
                 getenv("MASTER_PORT") != NULL ? "$((MASTER_PORT + 1))" : STRING(PORT), program);
        return;
    }
    root_of(l, tasks, host, sizeof host);
    int len =
        snprintf(remedy, size,
                 is_slurm(l) ? "type: srun --mpi=pmix -n %s %.40s" : "type: prterun -n %s %.40s", n,
                 program);
    if (l->size == NULL || len < 0)
        return;
    int more = snprintf(remedy + len, size - (size_t)len,
                        ", or %s -n %s sh -c 'NCOLL_RANK=$%s NCOLL_SIZE=$%s NCOLL_ROOT=%s:%d exec "
                        "%.40s'",
                        l->name, n, l->rank, l->size, host, PORT, program);
    if (more < 0 || (size_t)(len + more) >= size)
        remedy[len] = '\0';
}

bool ncoll__pmi_launched(struct pmi_task *out)
{
    long fd = ncoll__launcher_number("PMI_FD", -1), rank = ncoll__launcher_number("PMI_RANK", -1),
         ranks = ncoll__launcher_number("PMI_SIZE", 0);
    int type;
    socklen_t len = sizeof type;

    if (fd < 0 || fd > INT_MAX || ranks < 1 || ranks > INT_MAX || rank < 0 || rank >= ranks ||
        getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM)
        return false;
    *out = (struct pmi_task){(int)fd, (int)rank, (int)ranks};
    return true;
}

bool ncoll__launched_as_task(struct launched_task *out)
{
    for (size_t i = 0; i < LAUNCHERS; i++) {
        const struct launcher *l = &launchers[i];
        long tasks = tasks_of(l);
        if (tasks < 1)
            continue;
        if (tasks == 1)
            /* the innermost launcher has been found, so those around it do not matter */
            return false;
        *out = (struct launched_task){
            .launcher = l->name,
            .tasks = tasks <= INT_MAX ? (int)tasks : 0,
            .task = (int)ncoll__launcher_number(l->rank, -1),
        };
        propose(l, out->tasks, out->remedy, sizeof out->remedy);
        return true;
    }
    return false;
}
