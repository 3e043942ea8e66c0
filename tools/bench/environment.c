/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "tools/bench/machine.h"
#include "tools/bench/names.h"
#include "tools/bench/report.h"
#include "tools/devices.h"
#include "tools/json_text.h"

extern char **environ;

/* Of ncoll, and of what it may be compared with. */
static bool has_a_say(const char *variable)
{
    static const char *const prefixes[] = {"NCOLL_", "UCC_", "UCX_"};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static json_t *variables(void)
{
    json_t *out = json_object();

    for (char **v = environ; *v != NULL; v++) {
        const char *equals = strchr(*v, '=');
        if (has_a_say(*v) && equals != NULL)
            json_object_setn_new(out, *v, (size_t)(equals - *v), json_text(equals + 1));
    }
    return out;
}

static json_t *command_line(const struct options *options)
{
    json_t *out = json_array();

    for (int i = 0; i < options->argc; i++)
        json_array_append_new(out, json_text(options->argv[i]));
    return out;
}

static json_t *date(void)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

/* What reading the clock adds to each sample. */
static json_t *clock_cost_us(void)
{
    enum { READINGS = 1000 };
    uint64_t start = now_ns();

    for (int i = 0; i < READINGS - 1; i++)
        now_ns();
    return json_real((double)(now_ns() - start) / READINGS / 1e3);
}

static const char *const starts[] = {"follow", "barrier", "window"};
static const char *const validations[] = {"none", "some", "every"};

/* How was measured. */
static void add_method(json_t *out, const struct job *job)
{
    const struct options *o = job->options;

    json_object_set_new(out, "seed", json_integer((json_int_t)job->seed));
    json_object_set_new(out, "start", json_string(starts[o->start]));
    json_object_set_new(out, "validation", json_string(validations[o->validation]));
    json_object_set_new(out, "checked", json_boolean(o->validation == VALIDATE_EVERY));
    json_object_set_new(out, "precision_percent",
                        o->precision > 0 ? json_real(o->precision) : json_null());
    json_object_set_new(out, "budget_s", o->budget_s > 0 ? json_real(o->budget_s) : json_null());
    json_object_set_new(out, "batch", json_integer(job->batch));
    json_object_set_new(out, "warmup", json_integer(o->warmup));
    json_object_set_new(out, "repeats", json_integer(o->repeats));
    json_object_set_new(out, "fresh", json_boolean(o->fresh));
    json_object_set_new(out, "cold_bytes", json_integer((json_int_t)job->cold_bytes));
    json_object_set_new(out, "skew_us", json_integer(o->skew_us));
    json_object_set_new(out, "skew",
                        o->skew_us > 0 ? json_string(o->skew == SKEW_ONE ? "one" : "all")
                                       : json_null());
    json_object_set_new(out, "clock_read_us", clock_cost_us());
}

/* The processor that each rank is bound to; null: to none, or to several. */
static json_t *processors(const struct job *job)
{
    json_t *out = json_array();

    for (int rank = 0; rank < job->ranks; rank++)
        json_array_append_new(out,
                              job->cpus[rank] >= 0 ? json_integer(job->cpus[rank]) : json_null());
    return out;
}

/* "mpi_version" and the like. */
static void add_versions(json_t *out, const struct job *job)
{
    char key[32], text[128];

    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (job->subjects[s]->version == NULL)
            continue;
        job->subjects[s]->version(text, sizeof text);
        snprintf(key, sizeof key, "%s_version", job->subjects[s]->name);
        json_object_set_new(out, key, json_string(text));
    }
}

static json_t *device_with_firmware(void)
{
    char path[300];
    json_t *device = devices_chosen();
    const char *name = json_string_value(json_object_get(device, "device"));

    if (name == NULL)
        return device;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/fw_ver", name);
    json_object_set_new(device, "firmware", machine_line_of(path));
    return device;
}

static void add_job(json_t *out, const struct job *job)
{
    const struct ncoll_stats *s = &job->sum;

    json_object_set_new(out, "ranks", json_integer(s->ranks));
    json_object_set_new(out, "nodes", json_integer(s->nodes));
    json_object_set_new(out, "ranks_on_first_node", json_integer(s->node_ranks));
    json_object_set_new(out, "oversubscribed", json_boolean(s->oversubscribed));
    json_object_set_new(out, "bound", json_boolean(job->bound));
    json_object_set_new(out, "processors", processors(job));
    json_object_set_new(out, "memory",
                        json_string(name_text(names_of_memory, (int)job->options->memory)));
    json_object_set_new(out, "transport", json_string(s->transport));
    json_object_set_new(out, "bootstrap", json_string(s->bootstrap));
    json_object_set_new(out, "wiring", json_string(s->wiring));
    json_object_set_new(out, "device",
                        strstr(s->transport, "verbs") != NULL ? device_with_firmware()
                                                              : json_null());
    json_object_set_new(out, "rnr", json_integer((json_int_t)s->rnr));
    json_object_set_new(out, "sleeps", json_integer((json_int_t)s->sleeps));
    json_object_set_new(out, "connections_per_rank", json_integer(s->connections));
    json_object_set_new(out, "memory_bytes_per_rank", json_integer((json_int_t)s->memory_bytes));
}

json_t *report_environment(const struct job *job)
{
    const struct options *o = job->options;
    json_t *out = json_object();

    json_object_set_new(out, "version", json_string(ncoll_version()));
    json_object_set_new(out, "compiler", json_string(NCOLL_COMPILER));
    json_object_set_new(out, "date", date());
    json_object_set_new(out, "command_line", command_line(o));
    json_object_set_new(out, "type", json_string(name_text(names_of_types, (int)o->type)));
    json_object_set_new(out, "op", json_string(name_text(names_of_ops, (int)o->op)));
    json_object_set_new(out, "variables", variables());
    add_method(out, job);
    machine_describe(out, o);
    add_job(out, job);
    add_versions(out, job);
    return out;
}
