/* SPDX-License-Identifier: BSD-3-Clause */
/* A row as JSON. */
#include "tools/bench/measure/cores.h"
#include "tools/bench/names.h"
#include "tools/bench/report/report.h"
#include "tools/json.h"

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* Adds a figure under a name such as "ratio_to_mpi_low": what, subject, and "" or a suffix. */
static void add_figure(json_t *out, const char *what, const char *to, const char *which,
                       double value)
{
    char key[64];

    snprintf(key, sizeof key, "%s_to_%s%s", what, to, which);
    if (value > 0)
        json_object_set_new(out, key, json_real(value));
}

/* Adds the ratios of medians. The ratio to a library that ncoll is compared with is also added as
 * "ratio". */
static void add_ratio(json_t *out, const struct job *job, const struct row *row,
                      const struct subject *to)
{
    struct ratio ratio;

    add_figure(out, "ratio", to->name, "", report_ratio(job, row, to));
    add_figure(out, "loop_ratio", to->name, "", report_loop_ratio(job, row, to));
    if (!report_ratio_interval(job, row, to, &ratio))
        return;
    add_figure(out, "ratio", to->name, "_low", ratio.low);
    add_figure(out, "ratio", to->name, "_high", ratio.high);
    if (to->version == NULL || json_object_get(out, "ratio") != NULL)
        return;
    json_object_set_new(out, "ratio", json_real(ratio.value));
    json_object_set_new(out, "ratio_low", json_real(ratio.low));
    json_object_set_new(out, "ratio_high", json_real(ratio.high));
}

static void add_times(json_t *out, const struct row *row)
{
    static const char *const reasons[] = {"calls", "precision", "budget"};

    json_add(out,
             json_pack("{s:i, s:i, s:s, s:i, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}",
                       "iterations", row->calls, "batch", row->batch, "stopped",
                       reasons[row->stopped], "missed_windows", row->missed, "window_us",
                       json_real_or_null((double)row->window_ns / 1e3), "first_us", row->first_us,
                       "p50_us", row->p50_us, "p90_us", row->p90_us, "p99_us", row->p99_us,
                       "p999_us", row->p999_us, "min_us", row->min_us, "max_us", row->max_us,
                       "p50_low_us", json_real_or_null(row->p50_low_us), "p50_high_us",
                       json_real_or_null(row->p50_high_us)));
}

/* Returns times in the order of calls, batch after batch. */
static json_t *list_of(const uint64_t *ns, size_t n)
{
    json_t *out = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, json_real((double)ns[i] / 1e3));
    return out;
}

/* Returns the counters that have changed. */
static json_t *hca_per_call(const struct job *job, const struct row *row)
{
    json_t *out = job->hca != NULL ? json_object() : json_null();

    for (unsigned i = 0; job->hca != NULL && i < job->hca->n; i++)
        if (row->hca[i] != 0)
            json_object_set_new(out, job->hca->names[i],
                                json_real((double)row->hca[i] / row->calls));
    return out;
}

/* Adds counters. Sleeps are null if the row does not wait inside ncoll. If something separates
 * calls, such as a barrier, it is counted as well. */
static void add_counters(json_t *out, const struct job *job, const struct row *row)
{
    bool sleeps = report_can_sleep(row);

    json_add(out,
             json_pack("{s:o, s:f, s:o, s:o}", "loop_us", json_real_or_null(row->loop_us),
                       "switches_per_call", report_per_call(job, row, row->switches),
                       "sleeps_per_call",
                       sleeps ? json_real(report_per_call(job, row, row->sleeps)) : json_null(),
                       "hca_per_call", hca_per_call(job, row)));
}

json_t *report_row(const struct job *job, const struct row *row)
{
    char radix[RADIX_TEXT];
    bool counts = row->distribution != DISTRIBUTION_NONE, list = radix_is_list(row->radix);
    json_t *out = json_pack(
        "{s:s, s:s, s:s?, s:I, s:i, s:i, s:s, s:s?, s:o, s:o}", "subject", row->subject->name,
        "collective", report_name(row), "distribution",
        counts ? name_text(names_of_distributions, row->distribution) : NULL, "bytes",
        (json_int_t)row->bytes, "ranks", job->ranks, "nodes", job->sum.nodes, "transport",
        job->sum.transport, "algorithm", row->algorithm, "why",
        row->why != NULL ? json_sprintf("%s: %s", row->from, row->why) : json_null(), "radix",
        row->radix == 0 ? json_null()
        : list          ? json_string(ncoll__radix_text(row->radix, radix))
                        : whole(row->radix));

    add_times(out, row);
    if (row->lanes > 0) {
        json_object_set_new(out, "segment_bytes", whole(row->segment_bytes));
        json_object_set_new(out, "lanes", whole(row->lanes));
    }
    json_object_set_new(out, "wrong", whole(row->wrong));
    if (bandwidth_of(job, row) > 0)
        json_object_set_new(out, "mb_per_s", json_real(bandwidth_of(job, row)));
    if (bandwidth_of(job, row) > 0 && row->collective != 0)
        json_object_set_new(out, "bus_gb_per_s", json_real(bandwidth_of(job, row) / 1e3));
    if (rate_of(row) > 0)
        json_object_set_new(out, "messages_per_s", json_real(rate_of(row)));
    if (bound_of(job, row) > 0)
        json_object_set_new(out, "of_bound", json_real(bound_of(job, row)));
    add_counters(out, job, row);
    if (overlap_percent(job, row) >= 0) {
        json_object_set_new(out, "overlap_percent", json_real(overlap_percent(job, row)));
        json_object_set_new(out, "compute_us", json_real(row->compute_us));
    }
    if (row->subject == &subject_threshold) {
        static const char *const of[] = {[NCOLL_THRESHOLD_DATA] = "data",
                                         [NCOLL_THRESHOLD_HEAVIEST] = "heaviest",
                                         [NCOLL_THRESHOLD_RANKS] = "ranks"};
        json_object_set_new(out, "fraction", json_real(row->fraction));
        json_object_set_new(out, "fraction_of", json_string(of[job->options->of]));
        add_figure(out, "ratio", "whole", "", report_ratio_to_whole(job, row));
    }
    for (unsigned s = 0; job->subjects[s] != NULL; s++)
        if (job->subjects[s] != &subject_ncoll && job->subjects[s] != &subject_threshold &&
            job->subjects[s] != &subject_overlap && !job->subjects[s]->is_parameter)
            add_ratio(out, job, row, job->subjects[s]);
    /* How far apart cores were before and after each batch. */
    size_t looks = (size_t)(row->calls / row->batch) * CORES_LOOKS;
    json_object_set_new(out, "cores_us",
                        job->sees_cores ? list_of(row->cores_ns, looks) : json_null());
    json_object_set_new(out, "samples_us", list_of(row->samples_ns, row->calls));
    return out;
}
