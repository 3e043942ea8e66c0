/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/output.h"

/* All but the rows. */
static json_t *head_of(const struct job *job)
{
    const struct startup *s = &job->startup;
    json_t *out = json_object();

    json_object_set_new(out, "environment", report_environment(job));
    json_object_set_new(out, "versions", report_versions(job));
    json_object_set_new(out, "clock_error_us",
                        job->options->start == START_WINDOW ? json_real(job->clock_error_us)
                                                            : json_null());
    json_object_set_new(out, "clock_offset_us",
                        job->options->start == START_WINDOW ? json_real(job->clock_offset_us)
                                                            : json_null());
    json_object_set_new(out, "startup_ms", json_real((double)s->create_ns / 1e6));
    json_object_set_new(out, "first_call_ms", json_real((double)s->barrier_ns / 1e6));
    json_object_set_new(out, "memory_bytes", json_integer((json_int_t)s->window_bytes));
    json_object_set_new(out, "registered_bytes", json_integer((json_int_t)s->registered_bytes));
    json_object_set_new(out, "resident_bytes", json_integer((json_int_t)s->resident_bytes));
    return out;
}

static int dump_value(const json_t *value, FILE *out, size_t indent)
{
    return json_dumpf(value, out, JSON_INDENT(indent) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
}

/* Samples are many: a row is a line. */
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

static int dump(const struct job *job, FILE *out)
{
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

/* What is there already and is no file of its own: a device, a pipe, a link. */
static int dump_into(const struct job *job, const char *file)
{
    FILE *out = fopen(file, "we");

    if (out == NULL)
        return -1;
    int status = dump(job, out);
    return fclose(out) != 0 ? -1 : status;
}

/* Beside the file and then renamed: a reader never sees half of it. */
static int dump_to_file(const struct job *job, const char *file)
{
    struct stat there;
    char *beside;

    if (lstat(file, &there) == 0 && !S_ISREG(there.st_mode))
        return dump_into(job, file);

    if (asprintf(&beside, "%s.%ld", file, (long)getpid()) < 0)
        return -1;
    int status = -1;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out != NULL) {
        status = dump(job, out);
        if (fclose(out) != 0 || status != 0 || rename(beside, file) != 0) {
            status = -1;
            int reason = errno;
            unlink(beside);
            errno = reason;
        }
    }
    free(beside);
    return status;
}

int report_json(const struct job *job, const char *file)
{
    if (strcmp(file, "-") == 0) {
        int dumped = dump(job, stdout);
        return output_written(stdout) ? dumped : -1;
    }
    int status = dump_to_file(job, file);

    if (status != 0)
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name, file,
                strerror(errno));
    return status;
}
