/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/devices.h"

#ifdef NCOLL_HAVE_VERBS
#include "lib/api/settings.h"
#include "transport/verbs/device.h"

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static void add(void *arg, const struct candidate *c)
{
    char gid[46];
    json_t *row = json_object();

    json_object_set_new(row, "device", json_string(c->device));
    json_object_set_new(row, "port", json_integer(c->port));
    json_object_set_new(row, "state",
                        json_string(c->port > 0 ? ibv_port_state_str(c->state) : "unknown"));
    json_object_set_new(row, "interface", text_or_null(c->interface));
    json_object_set_new(row, "gid_index",
                        c->gid_index >= 0 ? json_integer(c->gid_index) : json_null());
    json_object_set_new(
        row, "gid", c->gid_index >= 0 ? json_string(ncoll__gid_text(&c->gid, gid)) : json_null());
    json_object_set_new(row, "kind", json_string(ncoll__gid_kind_text(c->kind)));
    json_object_set_new(row, "chosen", json_boolean(c->chosen));
    json_object_set_new(row, "why", json_string(c->why));
    json_array_append_new(arg, row);
}

json_t *devices_list(void)
{
    ncoll_params params;
    struct setting_error error;
    struct device_wish wish = {.gid_index = -1};
    json_t *out = json_array();

    /* A bad variable is said by whoever uses it; here it counts as not given. */
    if (ncoll__settings_resolve(NULL, &params, &error) == NCOLL_OK)
        wish = (struct device_wish){params.device, params.port, params.gid_index};
    ncoll__verbs_survey(&wish, add, out);
    return out;
}
#else
json_t *devices_list(void)
{
    return json_array();
}
#endif

json_t *devices_chosen(void)
{
    json_t *list = devices_list(), *device, *chosen = NULL;
    size_t i;

    json_array_foreach(list, i, device) if (json_is_true(json_object_get(device, "chosen")))
        chosen = json_incref(device);
    json_decref(list);
    return chosen != NULL ? chosen : json_null();
}
