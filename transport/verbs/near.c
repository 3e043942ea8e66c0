/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds devices that are far from the cores that this process may use. */
#include <string.h>

#include "transport/process.h"
#include "transport/verbs/device.h"

#ifdef NCOLL_HAVE_HWLOC
#include <hwloc.h>
#include <hwloc/openfabrics-verbs.h>

/* A device whose place the system does not tell counts as near. */
static bool is_far(hwloc_topology_t topology, hwloc_const_bitmap_t mine, struct ibv_device *device)
{
    hwloc_bitmap_t near = hwloc_bitmap_alloc();
    bool far = near != NULL && hwloc_ibv_get_device_cpuset(topology, device, near) == 0 &&
               !hwloc_bitmap_iszero(near) && !hwloc_bitmap_intersects(near, mine);

    hwloc_bitmap_free(near);
    return far;
}

static void mark(hwloc_topology_t topology, hwloc_const_bitmap_t mine, struct candidate *list,
                 unsigned n)
{
    int devices_n;
    struct ibv_device **devices = ibv_get_device_list(&devices_n);

    for (int d = 0; devices != NULL && d < devices_n; d++) {
        bool far = is_far(topology, mine, devices[d]);
        for (unsigned i = 0; i < n; i++)
            if (strcmp(list[i].device, ibv_get_device_name(devices[d])) == 0)
                list[i].far = far;
    }
    if (devices != NULL)
        ibv_free_device_list(devices);
}

void ncoll__device_mark_far(struct candidate *list, unsigned n)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t mine = hwloc_bitmap_alloc();

    if (mine != NULL && ncoll__affinity_is_known() && hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_load(topology) == 0 &&
            hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) == 0)
            mark(topology, mine, list, n);
        hwloc_topology_destroy(topology);
    }
    hwloc_bitmap_free(mine);
}
#else
void ncoll__device_mark_far(struct candidate *list, unsigned n)
{
    (void)list, (void)n; /* without hwloc no device is known to be far */
}
#endif
