/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <unistd.h>
#ifdef NCOLL_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "tools/info/info.h"

#ifdef NCOLL_HAVE_HWLOC
static void add_objects(json_t *out)
{
    static const struct {
        const char *key;
        hwloc_obj_type_t type;
    } counts[] = {
        {"packages", HWLOC_OBJ_PACKAGE},  {"numa_nodes", HWLOC_OBJ_NUMANODE},
        {"l3_caches", HWLOC_OBJ_L3CACHE}, {"cores", HWLOC_OBJ_CORE},
        {"processors", HWLOC_OBJ_PU},
    };
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            json_object_set_new(out, counts[i].key,
                                json_integer(hwloc_get_nbobjs_by_type(topology, counts[i].type)));
    hwloc_topology_destroy(topology);
}
#else
static void add_objects(json_t *out)
{
    json_object_set_new(out, "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(out, "more", json_string("built without hwloc"));
}
#endif

json_t *info_topology(void)
{
    cpu_set_t allowed;
    json_t *out = json_object();

    add_objects(out);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        json_object_set_new(out, "processors_allowed", json_integer(CPU_COUNT(&allowed)));
    return out;
}
