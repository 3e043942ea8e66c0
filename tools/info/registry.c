/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sections about the library itself: its build, settings, rules and algorithms.
 */
#include <string.h>

#include "tools/inside.h"
#include "tools/bench/names.h"
#include "tools/info/info.h"
#include "tools/json.h"

/* True if the list of names, separated by commas or blanks, has this one. */
static bool has(const char *list, const char *part)
{
    return strstr(list, part) != NULL;
}

json_t *info_build(void)
{
    static const char libraries[] = NCOLL_BUILT_WITH, beside[] = NCOLL_BESIDE;
    bool openmpi = has(beside, "openmpi"), mpich = has(beside, "mpich");

    return json_pack("{s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "version",
                     ncoll_version(), "compiler", NCOLL_COMPILER, "verbs",
                     has(libraries, "libibverbs"), "rdmacm", has(libraries, "librdmacm"), "pmix",
                     has(libraries, "pmix"), "hwloc", has(libraries, "hwloc"), "mpi",
                     openmpi || mpich, "openmpi", openmpi, "mpich", mpich, "ucc",
                     has(beside, "ucc"), "gpi2", has(beside, "gpi2"));
}

json_t *info_settings(void)
{
    struct setting_view view;
    json_t *out = json_array();

    for (unsigned i = 0; ncoll__setting_view(NULL, i, &view); i++) {
        json_t *row = json_pack("{s:s, s:o, s:s, s:s, s:s?}", "variable", view.variable, "value",
                                json_text(view.value), "origin", view.origin, "meaning",
                                view.meaning, "like", view.others);
        json_array_append_new(out, row);
    }
    return out;
}

static void add_rule(void *rows, const char *where, const char *text)
{
    json_array_append_new(
        rows, json_pack("{s:o, s:o}", "rule", json_text(text), "written_at", json_text(where)));
}

json_t *info_rules(void)
{
    json_t *rows = json_array();
    ncoll_error error;

    if (ncoll__rules_view(add_rule, rows, &error) == NCOLL_OK)
        return rows;
    json_decref(rows);
    return json_pack("{s:o, s:o}", "error", json_text(error.cause), "remedy",
                     json_text(error.remedy));
}

static json_t *algorithm(const struct algorithm *a)
{
    char text[256];

    return json_pack("{s:s, s:s, s:b, s:b, s:b, s:b, s:s, s:s, s:s}", "algorithm", a->name,
                     "collectives", collectives_text(a->collectives, text, sizeof text), "radix",
                     (a->properties & USES_RADIX) != 0, "radix_list",
                     (a->properties & TAKES_LIST) != 0, "every_size", a->exists == NULL,
                     "same_bits", (a->properties & GIVES_SAME_BITS) != 0, "operation",
                     a->properties & NEEDS_IDEMPOTENT    ? "idempotent"
                     : a->properties & NEEDS_COMMUTATIVE ? "commutative"
                                                         : "any",
                     "summary", a->summary, "source", a->source);
}

json_t *info_algorithms(void)
{
    json_t *out = json_array();

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        json_array_append_new(out, algorithm(ncoll__algorithms[i]));
    return out;
}
