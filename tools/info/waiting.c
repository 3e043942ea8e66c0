/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How ranks on the cores of this process wait, and why: docs/ARCHITECTURE.md, "Waiting".
 */
#include <stdlib.h>

#include "tools/inside.h"
#include "tools/info/info.h"
#include "tools/info/load.h"
#include "transport/shm/shm.h"
#ifdef NCOLL_HAVE_VERBS
#include "transport/verbs/verbs.h"
#endif

#define US(ns) ((json_int_t)(ns) / 1000)

_Static_assert(NODE_CORES == LOAD_CORES, "one mask for both");

/* Returns how many ranks a job on these cores may have until ranks share cores; null: the cores are not
 * known. */
static json_t *ranks_without_sharing(const struct node *here)
{
    struct node *nodes = calloc(NODE_CORES + 1, sizeof *nodes);
    int ranks = 0;

    for (unsigned i = 0; nodes != NULL && i <= NODE_CORES; i++)
        nodes[i] = *here;
    while (nodes != NULL && ranks <= (int)NODE_CORES &&
           !ncoll__places(nodes, ranks + 1, *here).oversubscribed)
        ranks++;
    free(nodes);
    return ranks > 0 && ranks <= (int)NODE_CORES ? json_integer(ranks) : json_null();
}

static json_t *usual_way(int64_t setting_ns, bool oversubscribed)
{
    uint64_t ns = ncoll__waiting_spin_ns(setting_ns, oversubscribed, false);

    if (ns == 0)
        return json_string("yields its core, then blocks");
    return json_sprintf("spins for %g us, then yields its core, then blocks", (double)ns / 1e3);
}

static void add_long_absences(json_t *out)
{
    json_object_set_new(out, "long_absence_us_shm", json_integer(US(SHM_LONG_ABSENCE_NS)));
#ifdef NCOLL_HAVE_VERBS
    json_object_set_new(out, "long_absence_us_verbs", json_integer(US(VERBS_LONG_ABSENCE_NS)));
    json_object_set_new(out, "long_absence_us_rxe", json_integer(US(SOFT_LONG_ABSENCE_NS)));
#endif
}

/* Adds the load of the cores now, and how a rank waits under it. */
static void add_load(json_t *out, const struct node *here, bool adapts)
{
    struct load load;
    bool known = info_load_now(here->cores, &load);

    json_object_set_new(out, "used_percent_now", known ? json_real(load.used) : json_null());
    json_object_set_new(out, "stolen_percent_now", known ? json_real(load.stolen) : json_null());
    if (!known)
        return;
    if (load.most < 100.0 / WAITING_LOST_PART)
        json_object_set_new(out, "now",
                            json_sprintf("others have at most %.0f %% of a core: ranks that wait "
                                         "keep their usual way",
                                         load.most));
    else
        json_object_set_new(
            out, "now",
            json_sprintf("others have %.0f %% of core %u: a rank that waits there %s", load.most,
                         load.most_core,
                         adapts ? "will soon block" : "keeps its usual way, as NCOLL_SPIN is set"));
}

json_t *info_waiting(void)
{
    ncoll_params params;
    struct setting_error error;
    struct node here = ncoll__node();
    bool resolved = ncoll__settings_resolve(NULL, &params, &error) == NCOLL_OK;
    int64_t setting_ns = resolved ? params.spin_ns : -1;
    uint64_t shared_ns = ncoll__waiting_spin_ns(setting_ns, false, true);
    bool adapts = setting_ns < 0;
    json_t *out = json_object();

    json_object_set_new(out, "ways", json_string("spin, yield, block"));
    json_object_set_new(out, "ranks_without_sharing", ranks_without_sharing(&here));
    json_object_set_new(out, "up_to_these", usual_way(setting_ns, false));
    json_object_set_new(out, "with_more", usual_way(setting_ns, true));
    json_object_set_new(
        out, "with_many_more",
        adapts ? json_sprintf("blocks at once, from %g ranks per core on", WAITING_CROWDED)
               : json_string("the same: NCOLL_SPIN is set"));
    json_object_set_new(out, "adapts", json_boolean(adapts));
    json_object_set_new(
        out, "beside_foreign_processes",
        adapts ? json_sprintf("blocks at once, or after %g us if ranks do not share cores",
                              (double)shared_ns / 1e3)
               : json_string("the same: NCOLL_SPIN is set"));
    add_long_absences(out);
    add_load(out, &here, adapts);
    return out;
}
