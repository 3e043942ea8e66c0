/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/topology/levels.h"

#include <string.h>
#include <unistd.h>
#ifdef NCOLL_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "ncoll.h"
#include "transport/process.h"

const char *ncoll__level_name(int level)
{
    static const char *const names[NODE_LEVELS] = {"package", "numa", "l3", "core"};

    return level >= 0 && level < (int)NODE_LEVELS ? names[level] : "none";
}

/* ------------------------------------------------------------------ domains ------------------- */

#ifdef NCOLL_HAVE_HWLOC
/* Returns the number of the domain (of this type, from 1 in the order of the machine) that contains
 * all of these cores; 0: there is none. */
static uint32_t domain_of(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_bitmap_t cores)
{
    hwloc_obj_t object = NULL;

    while (!hwloc_bitmap_iszero(cores) &&
           (object = hwloc_get_next_obj_by_type(topology, type, object)) != NULL)
        if (hwloc_bitmap_isincluded(cores, object->cpuset))
            return object->logical_index + 1;
    return 0;
}

static void find_in(hwloc_topology_t topology, hwloc_bitmap_t cores, struct node *node)
{
    static const hwloc_obj_type_t types[NODE_LEVELS] = {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE,
                                                        HWLOC_OBJ_L3CACHE, HWLOC_OBJ_CORE};

    hwloc_bitmap_zero(cores);
    for (unsigned core = 0; core < NODE_CORES; core++)
        if ((node->cores[core / 64] >> core % 64 & 1) != 0)
            hwloc_bitmap_set(cores, core);
    for (unsigned level = 0; level < NODE_LEVELS; level++)
        node->domains[level] = domain_of(topology, types[level], cores);
}

/* Loads the topology of the whole machine, with the parts that the control group of this process
 * may not use, so that all ranks number the domains alike. If the machine has more cores than a
 * rank can describe (NODE_CORES), no domains are found. */
void ncoll__find_domains(struct node *nodes, unsigned n)
{
    hwloc_bitmap_t cores = hwloc_bitmap_alloc();
    hwloc_topology_t topology;

    if (cores != NULL && hwloc_topology_init(&topology) == 0) {
        hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
        if (hwloc_topology_load(topology) == 0 &&
            hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(topology)) < (int)NODE_CORES)
            for (unsigned i = 0; i < n; i++)
                find_in(topology, cores, &nodes[i]);
        hwloc_topology_destroy(topology);
    }
    hwloc_bitmap_free(cores);
}
#else
void ncoll__find_domains(struct node *nodes, unsigned n)
{
    (void)nodes, (void)n; /* without hwloc there are no domains */
}
#endif

/* True if the process may run on a part of the cores only. One that may run on all cores, or whose
 * cores are not known, has no domain. */
static bool is_confined(const struct node *node)
{
    long cores = 0;

    for (unsigned w = 0; w < NODE_CORES / 64; w++)
        cores += __builtin_popcountll(node->cores[w]);
    return cores > 0 && cores < sysconf(_SC_NPROCESSORS_ONLN);
}

void ncoll__find_domains_of_ranks(struct node *nodes, unsigned n)
{
    bool any = false;

    for (unsigned i = 0; i < n; i++)
        any |= is_confined(&nodes[i]);
    /* If the kernel refuses to tell the affinity, hwloc would ask it for ever. */
    if (!any || !ncoll__affinity_is_known())
        return;
    ncoll__find_domains(nodes, n);
    for (unsigned i = 0; i < n; i++)
        if (!is_confined(&nodes[i]))
            memset(nodes[i].domains, 0, sizeof nodes[i].domains);
}

/* ------------------------------------------------------------------ the level ----------------- */

int ncoll__take_level(const uint32_t (*domains)[NODE_LEVELS], unsigned ranks, int wish,
                      uint64_t *ids, unsigned *room, struct nodes *out)
{
    bool any = wish == NCOLL_LEVEL_AUTO;
    int first = any ? 0 : wish - NCOLL_LEVEL_PACKAGE,
        last = any ? NCOLL_LEVEL_L3 - NCOLL_LEVEL_PACKAGE : first;
    struct nodes found;

    for (int level = first; wish != NCOLL_LEVEL_NONE && level <= last; level++) {
        bool all = true;
        for (unsigned r = 0; r < ranks; r++) {
            ids[r] = domains[r][level];
            all &= ids[r] != 0;
        }
        if (!all)
            continue;
        ncoll__nodes_of(ids, ranks, room, &found);
        if (found.count > 1 && found.most > 1) {
            *out = found;
            return level;
        }
    }
    return NO_LEVEL;
}
