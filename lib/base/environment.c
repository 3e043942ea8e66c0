/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds environment variables whose names look like settings but are not, mostly because they are
 * mistyped. Without a warning, a user would believe that the intended setting has no effect.
 */
#include "lib/base/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/nearest.h"
#include "lib/inspect.h"

#define PREFIX "NCOLL_"

/* Returns true for variables that only the MPI drop-in and the scripts, tests, benchmarks and
 * bindings of the project read. */
static bool is_of_project(const char *name)
{
    static const char *const names[] = {"NCOLL_ALLOW_SKIP", "NCOLL_CACHE",      "NCOLL_LIBRARY",
                                        "NCOLL_MPI",        "NCOLL_MPI_REPORT", "NCOLL_NO_INSTALL",
                                        "NCOLL_VERBOSE"};
    static const char *const families[] = {"NCOLL_BENCH_", "NCOLL_TEST_"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

/* Returns true if the name is that of a setting. Otherwise *nearest becomes the setting that the
 * user may have meant: at most one letter differs, or a third of all letters. */
static bool is_setting(const char *name, const char **nearest)
{
    unsigned best = ncoll__distance_too_large((unsigned)(strlen(name) - strlen(PREFIX)));
    struct setting_view view;

    *nearest = NULL;
    for (unsigned i = 0; ncoll__setting_view(NULL, i, &view); i++) {
        unsigned d = ncoll__distance(name, view.variable);
        if (d == 0)
            return true;
        if (d < best) {
            best = d;
            *nearest = view.variable;
        }
    }
    return false;
}

bool ncoll__unknown_variable(unsigned index, struct unknown_variable *out)
{
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
        if (strncmp(*variable, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(*variable, "="), *variable);
        if (!is_of_project(out->name) && !is_setting(out->name, &out->nearest) && index-- == 0)
            return true;
    }
    return false;
}

bool ncoll__environment_has(const char *variable)
{
    const char *text = getenv(variable);

    return text != NULL && *text != '\0';
}
