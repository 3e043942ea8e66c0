/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/report/report.h"
#include "tools/json.h"

/* Returns all of the report except the rows. */
static json_t *head_of(const struct job *job)
{
    const struct startup *s = &job->startup;
    bool windows = job->options->start == START_WINDOW;

    return json_pack("{s:o, s:o, s:o, s:o, s:f, s:f, s:I, s:I, s:I}", "environment",
                     report_environment(job), "versions", report_versions(job), "clock_error_us",
                     windows ? json_real(job->clock_error_us) : json_null(), "clock_offset_us",
                     windows ? json_real(job->clock_offset_us) : json_null(), "startup_ms",
                     (double)s->create_ns / 1e6, "first_call_ms", (double)s->barrier_ns / 1e6,
                     "memory_bytes", (json_int_t)s->window_bytes, "registered_bytes",
                     (json_int_t)s->registered_bytes, "resident_bytes",
                     (json_int_t)s->resident_bytes);
}

static int dump_value(const json_t *value, FILE *out, size_t indent)
{
    return json_dumpf(value, out, JSON_INDENT(indent) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
}

/* Writes each row in one line, since a row has many samples. */
static int dump_rows(const struct job *job, FILE *out)
{
    int status = 0;

    fputs("  \"rows\": [\n", out);
    for (unsigned i = 0; status == 0 && i < job->n_rows; i++) {
        json_t *row = report_row(job, &job->rows[i]);
        status = dump_value(row, out, 0);
        fputs(i + 1 < job->n_rows ? ",\n" : "\n", out);
        json_decref(row);
    }
    fputs("  ]\n", out);
    return status;
}

static int dump(const void *what, FILE *out)
{
    const struct job *job = what;
    json_t *head = head_of(job), *value;
    const char *key;
    int status = 0;

    fputs("{\n", out);
    json_object_foreach(head, key, value)
    {
        fprintf(out, "  \"%s\": ", key);
        status |= dump_value(value, out, 2);
        fputs(",\n", out);
    }
    json_decref(head);
    status |= dump_rows(job, out);
    fputs("}\n", out);
    return status != 0 || fflush(out) != 0 || ferror(out) ? -1 : 0;
}

int report_json(const struct job *job, const char *file)
{
    return json_write(file, dump, job);
}
