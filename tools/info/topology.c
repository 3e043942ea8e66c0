/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef NCOLL_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "tools/inside.h"
#include "tools/info/info.h"
#include "transport/process.h"

#ifdef NCOLL_HAVE_HWLOC
/* Adds the levels of this process, and the level that collectives would use with one rank on each
 * core. */
static void add_levels(json_t *out, hwloc_topology_t topology)
{
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    unsigned n = cores > 0 ? (unsigned)cores : 0;
    struct node *nodes = calloc(n + 1, sizeof *nodes), own = {0};
    uint32_t(*domains)[NODE_LEVELS] = calloc(n + 1, sizeof *domains);
    uint64_t *ids = calloc(n + 1, sizeof *ids);
    unsigned *room = calloc(NODES_ROOM(n), sizeof *room);
    struct setting_error error;
    struct nodes found;
    ncoll_params params;

    ncoll__node_cores(&own);
    if (n > 0 && nodes != NULL && domains != NULL && ids != NULL && room != NULL &&
        ncoll__settings_resolve(NULL, &params, &error) == NCOLL_OK) {
        nodes[n] = own;
        for (unsigned i = 0; i < n; i++) {
            hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, i);
            unsigned first = (unsigned)hwloc_bitmap_first(core->cpuset) % NODE_CORES;
            nodes[i].cores[first / 64] = UINT64_C(1) << first % 64;
        }
        ncoll__find_domains(nodes, n + 1);
        for (unsigned i = 0; i < n; i++)
            memcpy(domains[i], nodes[i].domains, sizeof domains[i]);
        int level = ncoll__take_level((const uint32_t(*)[NODE_LEVELS])domains, n, (int)params.level,
                                      ids, room, &found);
        json_object_set_new(out, "level_of_all_cores", json_string(ncoll__level_name(level)));
        for (int i = 0; i < (int)NODE_LEVELS; i++) {
            char key[32];
            uint32_t domain = nodes[n].domains[i];
            snprintf(key, sizeof key, "own_%s", ncoll__level_name(i));
            json_object_set_new(out, key,
                                domain > 0 ? json_integer((json_int_t)domain - 1) : json_null());
        }
    }
    free(nodes);
    free(domains);
    free(ids);
    free(room);
}

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

    if (!ncoll__affinity_is_known() || hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
            json_object_set_new(out, counts[i].key,
                                json_integer(hwloc_get_nbobjs_by_type(topology, counts[i].type)));
        add_levels(out, topology);
    }
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
