/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/slurm.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/launcher.h"
#include "transport/because.h"

/* Steps from this number on are Slurm's own: the batch script, an interactive shell, and so on. */
#define SLURM_STEPS_OF_ITS_OWN 0xfffffff0L

/* Each step uses one of PORT_SETS sets of PORTS ports, from PORT_FIRST on. Two steps have the same
 * set, or no port in common. All are below the ports that the kernel gives to outgoing connections
 * (from 32768 on), so connections rarely occupy them. */
#define PORTS      8
#define PORT_FIRST 10000u
#define PORT_SETS  2800u

static long step(void)
{
    return ncoll__launcher_number("SLURM_STEP_ID", ncoll__launcher_number("SLURM_STEPID", -1));
}

long ncoll__slurm_tasks(void)
{
    long task = ncoll__launcher_number("SLURM_PROCID", -1);

    if (task < 0 || (task == 0 && (step() < 0 || step() >= SLURM_STEPS_OF_ITS_OWN)))
        return 0;
    return ncoll__launcher_number(
        "SLURM_STEP_NUM_TASKS",
        ncoll__launcher_number("SLURM_NTASKS", ncoll__launcher_number("SLURM_NPROCS", 0)));
}

bool ncoll__slurm_first_host(const char *list, char *host, size_t size)
{
    size_t len = 0;

    for (; list != NULL && *list != '\0' && *list != ','; list++) {
        if (*list != '[') {
            if (len + 1 < size)
                host[len] = *list;
            len++;
            continue;
        }
        size_t digits = strspn(list + 1, "0123456789"), all = strcspn(list, "]");
        if (list[all] == '\0')
            return false;
        if (len + digits < size)
            memcpy(host + len, list + 1, digits);
        len += digits;
        list += all;
    }
    if (len == 0 || len >= size)
        return false;
    host[len] = '\0';
    return true;
}

/* Finds the host of task 0. If the step has one node, this is 127.0.0.1: no name needs to be
 * resolved, and no other host can connect. Returns false if the host is not known. */
static bool find_host(char *host, size_t size)
{
    const char *list = getenv("SLURM_STEP_NODELIST");
    bool one_node = ncoll__launcher_number("SLURM_STEP_NUM_NODES",
                                           ncoll__launcher_number("SLURM_NNODES", 0)) == 1;

    if (list == NULL)
        list = getenv("SLURM_JOB_NODELIST");
    if (list == NULL)
        list = getenv("SLURM_NODELIST");
    if (one_node)
        snprintf(host, size, "127.0.0.1");
    return one_node || ncoll__slurm_first_host(list, host, size);
}

/* Reads the first range of a list such as "12000-12003,12010". */
static bool reserved_ports(unsigned *first, unsigned *last)
{
    const char *list = getenv("SLURM_STEP_RESV_PORTS");
    char *end;

    if (list == NULL)
        return false;
    unsigned long from = strtoul(list, &end, 10), to = from;
    if (*end == '-')
        to = strtoul(end + 1, &end, 10);
    if ((*end != '\0' && *end != ',') || from < 1 || to < from || to > UINT16_MAX)
        return false;
    *first = (unsigned)from;
    *last = (unsigned)to;
    return true;
}

/* Chooses ports by the numbers of job and step, so that steps which run at the same time mostly
 * have different ones. */
static void choose_ports(long job, unsigned *first, unsigned *last)
{
    uint64_t hash = ((uint64_t)job << 20 ^ (uint64_t)step()) * UINT64_C(0x9e3779b97f4a7c15);

    *first = PORT_FIRST + PORTS * (unsigned)((hash >> 32) % PORT_SETS);
    *last = *first + PORTS - 1;
}

bool ncoll__slurm_task(struct slurm_task *out)
{
    long ranks = ncoll__slurm_tasks(), rank = ncoll__launcher_number("SLURM_PROCID", -1),
         job = ncoll__launcher_number("SLURM_JOB_ID", ncoll__launcher_number("SLURM_JOBID", -1));
    char host[ROOT_BYTES - 16];
    unsigned first, last;

    /* not supported: a heterogeneous step, with a list of nodes for each of its parts */
    if (ranks < 1 || ranks > INT_MAX || rank >= ranks || job < 0 || step() < 0 ||
        getenv("SLURM_HET_SIZE") != NULL || !find_host(host, sizeof host))
        return false;
    if (!reserved_ports(&first, &last))
        choose_ports(job, &first, &last);
    out->rank = (int)rank;
    out->ranks = (int)ranks;
    snprintf(out->root, sizeof out->root, strchr(host, ':') != NULL ? "[%s]:%u-%u" : "%s:%u-%u",
             host, first, last);
    snprintf(out->key, sizeof out->key, "slurm %ld.%ld of %ld", job, step(),
             ncoll__launcher_number("SLURM_JOB_UID", (long)getuid()));
    return true;
}

static int slurm_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;
    struct bootstrap_config tcp = *config;
    struct slurm_task task;

    if (!ncoll__slurm_task(&task))
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
                            "start the ranks with srun, or set NCOLL_ROOT, NCOLL_RANK and "
                            "NCOLL_SIZE",
                            "this is no task of a Slurm step, or SLURM_STEP_NODELIST is not set");
    tcp.rank = task.rank;
    tcp.ranks = task.ranks;
    tcp.root = task.root;
    tcp.key = config->key != NULL ? config->key : task.key;
    return ncoll__bootstrap_tcp.open(&tcp, out);
}

/* Has only open(), which makes a tcp bootstrap. */
const struct bootstrap_ops ncoll__bootstrap_slurm = {.name = "slurm", .open = slurm_open};
