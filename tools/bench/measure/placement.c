/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/placement.h"

#include <sched.h>
#include <stdlib.h>
#ifdef NCOLL_HAVE_HWLOC
#include <hwloc.h>

#include "transport/process.h"
#endif

int placement_cores(void)
{
    cpu_set_t allowed;

    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

/* Sets cpus[i] to the i-th allowed processor, for i < count. Returns false if there are fewer. */
static bool in_order(int *cpus, int count)
{
    cpu_set_t allowed;
    int found = 0;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < count; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            cpus[found++] = cpu;
    return found == count;
}

#ifdef NCOLL_HAVE_HWLOC
/* Chooses processors that are as far apart as the topology allows. */
static bool spread(int *cpus, int count)
{
    hwloc_topology_t topology;
    hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
    hwloc_cpuset_t *sets = calloc((size_t)count, sizeof(hwloc_cpuset_t));
    bool ok = false;

    if (allowed == NULL || sets == NULL || !ncoll__affinity_is_known() ||
        hwloc_topology_init(&topology) != 0)
        goto free_sets;
    if (hwloc_topology_load(topology) != 0 ||
        hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) != 0 ||
        hwloc_topology_restrict(topology, allowed, 0) != 0)
        goto destroy_topology;
    hwloc_obj_t root = hwloc_get_root_obj(topology);
    if (hwloc_distrib(topology, &root, 1, sets, (unsigned)count, INT_MAX, 0) != 0)
        goto destroy_topology;
    ok = true;
    for (int i = 0; i < count; i++) {
        cpus[i] = hwloc_bitmap_first(sets[i]);
        hwloc_bitmap_free(sets[i]);
        ok = ok && cpus[i] >= 0 && cpus[i] < CPU_SETSIZE;
    }

destroy_topology:
    hwloc_topology_destroy(topology);
free_sets:
    free(sets);
    hwloc_bitmap_free(allowed);
    return ok;
}
#else
static bool spread(int *cpus, int count)
{
    (void)cpus;
    (void)count;
    return false;
}
#endif

struct placement placement_plan(const struct options *options)
{
    int cores = options->cores;
    struct placement p = {0};

    if (options->binding == BIND_NEVER ||
        (options->binding == BIND_IF_ROOM && options->ranks > cores))
        return p;
    p.cpus = calloc((size_t)options->ranks, sizeof *p.cpus);
    if (p.cpus == NULL)
        return p;
    int once = options->ranks < cores ? options->ranks : cores;
    if (!spread(p.cpus, once) && !in_order(p.cpus, once)) {
        placement_free(&p);
        return p;
    }
    for (int rank = once; rank < options->ranks; rank++)
        p.cpus[rank] = p.cpus[rank % once];
    p.ranks = options->ranks;
    return p;
}

void placement_free(struct placement *p)
{
    free(p->cpus);
    *p = (struct placement){0};
}

bool placement_apply(const struct placement *p, int rank)
{
    cpu_set_t one;

    if (rank < 0 || rank >= p->ranks)
        return false;
    CPU_ZERO(&one);
    CPU_SET(p->cpus[rank], &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}
