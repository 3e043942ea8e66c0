/* SPDX-License-Identifier: BSD-3-Clause */
/* Of all that had a part in the figures. */
#include <gnu/libc-version.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>
#include <sys/utsname.h>

#include "tools/bench/report.h"

json_t *report_versions(const struct job *job)
{
    struct utsname system;
    const char *smartcols = NULL;
    json_t *out = json_object();

    uname(&system);
    scols_get_library_version(&smartcols);
    json_object_set_new(out, "ncoll", json_string(ncoll_version()));
    json_object_set_new(out, "compiler", json_string(NCOLL_COMPILER));
    json_object_set_new(out, "kernel", json_string(system.release));
    json_object_set_new(out, "libc", json_string(gnu_get_libc_version()));
    json_object_set_new(out, "jansson", json_string(jansson_version_str()));
    json_object_set_new(out, "smartcols", json_string(smartcols));
    json_object_set_new(out, "built_with", json_string(NCOLL_BUILT_WITH));
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        char text[128];
        if (job->subjects[s]->version == NULL)
            continue;
        job->subjects[s]->version(text, sizeof text);
        json_object_set_new(out, job->subjects[s]->name, json_string(text));
    }
    return out;
}
