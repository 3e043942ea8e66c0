/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/devices.h"

#include <stdio.h>

#ifdef NCOLL_HAVE_VERBS
#include "tools/inside.h"
#include "transport/verbs/device.h"

static void add(void *arg, const struct candidate *c)
{
    char gid[46];
    bool has_gid = c->gid_index >= 0;
    json_t *row =
        json_pack("{s:s, s:i, s:s, s:s?, s:o, s:s?, s:s, s:i, s:o, s:b, s:s}", "device", c->device,
                  "port", c->port, "state", c->port > 0 ? ibv_port_state_str(c->state) : "unknown",
                  "interface", c->interface[0] != '\0' ? c->interface : NULL, "gid_index",
                  has_gid ? json_integer(c->gid_index) : json_null(), "gid",
                  has_gid ? ncoll__gid_text(&c->gid, gid) : NULL, "kind",
                  ncoll__gid_kind_text(c->kind), "mbit_per_s", (int)c->mbit_per_s, "pkey",
                  c->pkey != 0 ? json_sprintf("0x%04x", (unsigned)c->pkey) : json_null(), "chosen",
                  c->chosen, "why", c->why);

    json_array_append_new(arg, row);
}

/* Says that a variable counts as not given here; a program that uses it ends with this error. */
static void not_read(const char *cause, const char *remedy)
{
    fprintf(stderr, "ncoll: %s; %s. The list is as if it were not set\n", cause, remedy);
}

json_t *devices_list(void)
{
    ncoll_params params;
    struct setting_error error;
    struct device_wish wish = {.gid.index = -1};
    char index[16];
    json_t *out = json_array();

    if (ncoll__settings_resolve(NULL, &params, &error) == NCOLL_OK) {
        wish = (struct device_wish){.device = params.device,
                                    .port = params.port,
                                    .pkey = params.pkey,
                                    .gid_text = params.gid};
    } else {
        params = (ncoll_params){.gid_index = -1};
        not_read(error.cause, error.remedy);
    }
    snprintf(index, sizeof index, "%d", params.gid_index);
    if (!ncoll__gid_wish_read(params.gid != NULL ? params.gid : index, &wish.gid)) {
        wish.gid = (struct gid_wish){.index = -1};
        not_read("NCOLL_GID cannot be read", ncoll__gid_remedy);
    }
    if (wish.device != NULL && !ncoll__device_list_is_well(wish.device)) {
        wish.device = NULL;
        not_read("NCOLL_DEVICE cannot be read", ncoll__device_remedy);
    }
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
