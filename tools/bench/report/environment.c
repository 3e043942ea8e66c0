/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes what the figures depend on: the machine, the method, and the versions of all parts. */
#include <gnu/libc-version.h>
#include <string.h>
#include <sys/utsname.h>

#include "tools/bench/measure/measure.h"
#include "tools/bench/names.h"
#include "tools/bench/report/report.h"
#include "tools/devices.h"
#include "tools/json.h"

extern char **environ;

/* True for variables of ncoll, and of the libraries with which it may be compared. */
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
            json_object_setn_new(
                out, *v, (size_t)(equals - *v),
                json_text(strncmp(*v, "NCOLL_KEY=", 10) != 0 ? equals + 1 : "(set, not shown)"));
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

/* Returns the time that reading the clock adds to each sample. */
static json_t *clock_cost_us(void)
{
    enum { READINGS = 1000 };
    uint64_t start = now_ns();

    for (int i = 0; i < READINGS - 1; i++)
        now_ns();
    return json_real((double)(now_ns() - start) / READINGS / 1e3);
}

static const char *const validations[] = {"none", "some", "every"};

/* Adds a description of the method of measurement. */
static void add_method(json_t *out, const struct job *job)
{
    const struct options *o = job->options;

    json_t *method = json_pack(
        "{s:I, s:s, s:s, s:b, s:o, s:o, s:i, s:i, s:i, s:b, s:I, s:i, s:s?, s:i, s:s?, s:o}",
        "seed", (json_int_t)job->seed, "start", name_text(names_of_starts, (int)o->start),
        "validation", validations[o->validation], "checked", o->validation == VALIDATE_EVERY,
        "precision_percent", json_real_or_null(o->precision), "budget_s",
        json_real_or_null(o->budget_s), "batch", job->batch, "warmup", o->warmup, "repeats",
        o->repeats, "fresh", o->fresh, "cold_bytes", (json_int_t)job->cold_bytes, "skew_us",
        o->skew_us, "skew", o->skew_us > 0 ? name_text(names_of_skews, (int)o->skew) : NULL,
        "interfere", o->interfere, "interference",
        o->interfere > 0 ? name_text(names_of_interference, o->in_bursts) : NULL, "clock_read_us",
        clock_cost_us());

    json_add(out, method);
}

/* Returns the processor to which each rank is bound; null: to none or to several. */
static json_t *processors(const struct job *job)
{
    json_t *out = json_array();

    for (int rank = 0; rank < job->ranks; rank++)
        json_array_append_new(out,
                              job->cpus[rank] >= 0 ? json_integer(job->cpus[rank]) : json_null());
    return out;
}

/* Adds the version of each library that was measured, under its name and a suffix. */
static void add_versions(json_t *out, const struct job *job, const char *word)
{
    char key[32], text[128];

    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (job->subjects[s]->version == NULL)
            continue;
        job->subjects[s]->version(text, sizeof text);
        snprintf(key, sizeof key, "%s%s", job->subjects[s]->name, word);
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
    json_object_set_new(device, "firmware", json_line_of(path, NULL));
    return device;
}

static void add_job(json_t *out, const struct job *job)
{
    const struct ncoll_stats *s = &job->sum;
    bool verbs = strstr(s->transport, "verbs") != NULL;
    json_t *shape =
        json_pack("{s:i, s:i, s:i, s:b, s:b, s:o, s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:i, s:I}",
                  "ranks", s->ranks, "nodes", s->nodes, "ranks_on_first_node", s->node_ranks,
                  "oversubscribed", s->oversubscribed, "bound", job->bound, "processors",
                  processors(job), "memory", name_text(names_of_memory, (int)job->options->memory),
                  "transport", s->transport, "bootstrap", s->bootstrap, "wiring", s->wiring,
                  "device", verbs ? device_with_firmware() : json_null(), "rnr", (json_int_t)s->rnr,
                  "sleeps", (json_int_t)s->sleeps, "connections_per_rank", s->connections,
                  "memory_bytes_per_rank", (json_int_t)s->memory_bytes);

    json_add(out, shape);
}

json_t *report_environment(const struct job *job)
{
    const struct options *o = job->options;
    json_t *out = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o}", "version", ncoll_version(),
                            "compiler", NCOLL_COMPILER, "date", date(), "command_line",
                            command_line(o), "type", name_text(names_of_types, (int)o->type), "op",
                            name_text(names_of_ops, (int)o->op), "variables", variables());

    add_method(out, job);
    machine_describe(out, o);
    add_job(out, job);
    add_versions(out, job, "_version");
    return out;
}

json_t *report_versions(const struct job *job)
{
    struct utsname system;

    uname(&system);
    json_t *out =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "ncoll", ncoll_version(), "compiler",
                  NCOLL_COMPILER, "kernel", system.release, "libc", gnu_get_libc_version(),
                  "jansson", jansson_version_str(), "built_with", NCOLL_BUILT_WITH);
    add_versions(out, job, "");
    return out;
}
