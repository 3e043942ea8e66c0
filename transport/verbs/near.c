/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds devices that are far from the cores that this process may use. The kernel tells the cores
 * near a device in one file; to read the topology of the machine for this would take each rank
 * longer than to open the devices. */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/device.h"

#define CORES_MOST 65536

bool ncoll__cores_meet(const char *mask, const unsigned long *cores, size_t n, bool *any)
{
    const unsigned bits = 8 * sizeof *cores;
    size_t core = 0;
    bool meet = false;

    *any = false;
    for (size_t at = strlen(mask); at-- > 0;) { /* the last digit has the first cores */
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

/* A device whose place the system does not tell counts as near. */
static bool is_far(const char *device, const unsigned long *cores, size_t n)
{
    char path[96 + IBV_SYSFS_NAME_MAX], mask[CORES_MOST / 4 + CORES_MOST / 32 + 2] = "";
    bool any = false;

    snprintf(path, sizeof path, "/sys/class/infiniband/%s/device/local_cpus", device);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    bool read = fgets(mask, sizeof mask, f) != NULL;
    fclose(f);
    return read && !ncoll__cores_meet(mask, cores, n, &any) && any;
}

void ncoll__device_mark_far(struct candidate *list, unsigned n)
{
    unsigned long cores[CORES_MOST / (8 * sizeof(unsigned long))] = {0};

    if (sched_getaffinity(0, sizeof cores, (cpu_set_t *)cores) != 0)
        return; /* a sandbox may refuse to tell */
    for (unsigned i = 0; i < n; i++)
        list[i].far = i > 0 && strcmp(list[i].device, list[i - 1].device) == 0
                          ? list[i - 1].far
                          : is_far(list[i].device, cores, CORES_MOST);
}
