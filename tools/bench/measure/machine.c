/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/measure.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/inside.h"
#include "tools/json.h"

int machine_own_cpu(void)
{
    struct node node = {0};
    int cpu = -1, cpus = 0;

    ncoll__node_cores(&node);
    for (unsigned i = 0; i < NODE_CORES; i++)
        if ((node.cores[i / 64] & UINT64_C(1) << i % 64) != 0) {
            cpu = (int)i;
            cpus++;
        }
    return cpus == 1 ? cpu : -1;
}

/* Returns the memory limit of the control group of this process, in bytes, or null. It looks for
 * version 2, then for version 1, each by the path of the group and at the root that a container
 * sees. */
static json_t *memory_limit(void)
{
    char line[512], path[700];
    json_t *limit = json_null();
    FILE *in = fopen("/proc/self/cgroup", "re");

    while (in != NULL && json_is_null(limit) && fgets(line, sizeof line, in) != NULL) {
        bool is_new = strncmp(line, "0::", 3) == 0;
        const char *group = strrchr(line, ':') + 1;
        if (!is_new && strstr(line, ":memory:") == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        const char *mount = is_new ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        const char *file = is_new ? "memory.max" : "memory.limit_in_bytes";
        snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
        json_t *text = json_line_of(path, NULL);
        if (json_is_null(text)) {
            snprintf(path, sizeof path, "%s/%s", mount, file);
            text = json_line_of(path, NULL);
        }
        long long bytes;
        if (json_is_string(text) && sscanf(json_string_value(text), "%lld", &bytes) == 1)
            limit = json_integer(bytes);
        json_decref(text);
    }
    if (in != NULL)
        fclose(in);
    return limit;
}

void machine_describe(json_t *out, const struct options *options)
{
    json_t *model = json_line_of("/proc/cpuinfo", "model name");
    struct utsname system;
    struct node node = {0};

    uname(&system);
    ncoll__node_quota(&node);
    json_add(out,
             json_pack("{s:s, s:s, s:s, s:o, s:I, s:i, s:o, s:o, s:o}", "host", system.nodename,
                       "kernel", system.release, "machine", system.machine, "cpu_model",
                       json_is_null(model) ? json_string("unknown") : model, "cores",
                       (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "cores_allowed", options->cores,
                       "governor",
                       json_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL),
                       "cgroup_cores", json_real_or_null((double)node.quota_milli / 1e3),
                       "cgroup_memory_bytes", memory_limit()));
}
