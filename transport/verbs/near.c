/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds devices that are far from the cores that this process may use. The kernel tells the cores
 * and the NUMA node near a device in two files. To read the topology of the machine for this would
 * take longer than to open the devices. */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/device.h"

bool ncoll__cores_meet(const char *mask, const unsigned long *cores, size_t n, bool *any)
{
    const unsigned bits = 8 * sizeof *cores;
    size_t core = 0;
    bool meet = false;

    *any = false;
    for (size_t at = strlen(mask); at-- > 0;) { /* backwards: the last digit has cores 0 to 3 */
        char c = (char)tolower((unsigned char)mask[at]);
        if (!isxdigit((unsigned char)c))
            continue;
        unsigned digit = (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        *any |= digit != 0;
        if (core < n)
            meet |= (cores[core / bits] >> core % bits & digit) != 0;
        core += 4;
    }
    return meet;
}

/* Reads the first line of a file in the sysfs folder of a device. Returns false on failure. */
static bool read_line(const char *device, const char *file, char *line, int size)
{
    char path[96 + IBV_SYSFS_NAME_MAX];

    snprintf(path, sizeof path, "/sys/class/infiniband/%s/device/%s", device, file);
    FILE *f = fopen(path, "re");
    bool read = f != NULL && fgets(line, size, f) != NULL;
    if (f != NULL)
        fclose(f);
    return read;
}

int ncoll__device_place(const char *device, char cores[CORES_TEXT])
{
    char line[32];
    int node;

    if (!read_line(device, "local_cpus", cores, CORES_TEXT))
        cores[0] = '\0';
    cores[strcspn(cores, "\n")] = '\0';
    return read_line(device, "numa_node", line, sizeof line) && sscanf(line, "%d", &node) == 1
               ? node
               : -1;
}

void ncoll__own_cores(struct own_cores *own)
{
    *own = (struct own_cores){0};
    own->known = sched_getaffinity(0, sizeof own->bits, (cpu_set_t *)own->bits) == 0;
}

/* Returns false, for near, if the system does not tell where the device is. */
bool ncoll__is_far(const char *cores, const struct own_cores *own)
{
    bool any;

    return own->known && !ncoll__cores_meet(cores, own->bits, CORES_MOST, &any) && any;
}
