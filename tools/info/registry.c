/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's own tables: settings and algorithms.
 */
#include <stdio.h>

#include "lib/failure/card.h"
#include "lib/inspect.h"
#include "tools/info/info.h"
#include "tools/json_text.h"

json_t *info_settings(void)
{
    struct setting_view view;
    json_t *out = json_array();

    for (unsigned i = 0; ncoll__setting_view(NULL, i, &view); i++) {
        json_t *row = json_object();
        json_object_set_new(row, "variable", json_string(view.variable));
        json_object_set_new(row, "value", json_text(view.value));
        json_object_set_new(row, "origin", json_string(view.origin));
        json_object_set_new(row, "meaning", json_string(view.meaning));
        json_array_append_new(out, row);
    }
    return out;
}

/* "bcast, reduce" */
static json_t *collectives_of(const struct algorithm *a)
{
    char text[256] = "";
    size_t used = 0;

    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        if ((a->collectives & 1u << c) != 0 && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "",
                                     ncoll__collective_name((enum collective)c));
    return json_string(text);
}

static json_t *algorithm(const struct algorithm *a)
{
    json_t *row = json_object();

    json_object_set_new(row, "algorithm", json_string(a->name));
    json_object_set_new(row, "collectives", collectives_of(a));
    json_object_set_new(row, "radix", json_boolean(a->properties & USES_RADIX));
    json_object_set_new(row, "radix_list", json_boolean(a->properties & TAKES_LIST));
    json_object_set_new(row, "every_size", json_boolean(a->exists == NULL));
    json_object_set_new(row, "same_bits", json_boolean(a->properties & GIVES_SAME_BITS));
    json_object_set_new(row, "operation",
                        json_string(a->properties & NEEDS_IDEMPOTENT    ? "idempotent"
                                    : a->properties & NEEDS_COMMUTATIVE ? "commutative"
                                                                        : "any"));
    json_object_set_new(row, "summary", json_string(a->summary));
    json_object_set_new(row, "source", json_string(a->source));
    return row;
}

json_t *info_algorithms(void)
{
    json_t *out = json_array();

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        json_array_append_new(out, algorithm(ncoll__algorithms[i]));
    return out;
}
