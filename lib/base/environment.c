/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds variables of the environment that look like settings and are none, mostly mistyped ones.
 * Without a warning, a user would take a mistyped setting for one without effect.
 */
#include "lib/base/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/inspect.h"

#define PREFIX "NCOLL_"

/* Returns true for variables that only the project's scripts, tests and benchmarks read. */
static bool is_of_project(const char *name)
{
    static const char *const names[] = {"NCOLL_ALLOW_SKIP", "NCOLL_CACHE", "NCOLL_NO_INSTALL",
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

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Returns the number of letters to be changed, left out, inserted, or swapped with the next one, to
 * turn a into b (Damerau's distance; no letter is touched twice). */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][VARIABLE_BYTES] = {0};
    unsigned *two_above = rows[0], *above = rows[1], *row = rows[2], *last;
    size_t m = strnlen(b, VARIABLE_BYTES - 1);

    for (unsigned j = 0; j <= m; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        last = two_above, two_above = above, above = row, row = last;
        row[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            bool same = a[i - 1] == b[j - 1];
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return row[m];
}

/* Returns true if the name is that of a setting. Otherwise *nearest becomes the setting that the
 * user may have meant: at most one letter differs, or a third of all letters. */
static bool is_setting(const char *name, const char **nearest)
{
    unsigned third = (unsigned)(strlen(name) - strlen(PREFIX)) / 3;
    unsigned best = third > 1 ? third + 1 : 2;
    struct setting_view view;

    *nearest = NULL;
    for (unsigned i = 0; ncoll__setting_view(NULL, i, &view); i++) {
        unsigned d = distance(name, view.variable);
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
