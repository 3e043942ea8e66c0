/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/bench/names.h"

static json_t *whole(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static void add_ratio(json_t *out, const char *what, double ratio, const struct subject *to)
{
    char key[48];

    snprintf(key, sizeof key, "%s_to_%s", what, to->name);
    if (ratio > 0)
        json_object_set_new(out, key, json_real(ratio));
}

/* Null where calls do not follow each other, and sleeps where they are not ncoll's. */
static void add_loop(json_t *out, const struct job *job, const struct row *row)
{
    bool has_loop = row->loop_us > 0, sleeps = has_loop && report_can_sleep(row);

    json_object_set_new(out, "loop_us", has_loop ? json_real(row->loop_us) : json_null());
    json_object_set_new(out, "switches_per_call",
                        has_loop ? json_real(report_per_call(job, row, row->switches))
                                 : json_null());
    json_object_set_new(out, "sleeps_per_call",
                        sleeps ? json_real(report_per_call(job, row, row->sleeps)) : json_null());
}

static json_t *row_json(const struct job *job, const struct row *row)
{
    char radix[RADIX_TEXT];
    json_t *out = json_object();

    json_object_set_new(out, "subject", json_string(row->subject->name));
    json_object_set_new(out, "collective", json_string(report_name(row)));
    json_object_set_new(out, "distribution",
                        row->distribution == DISTRIBUTION_NONE
                            ? json_null()
                            : json_string(name_text(names_of_distributions, row->distribution)));
    json_object_set_new(out, "bytes", whole(row->bytes));
    json_object_set_new(out, "ranks", json_integer(job->ranks));
    json_object_set_new(out, "nodes", json_integer(job->sum.nodes));
    json_object_set_new(out, "transport", json_string(job->sum.transport));
    json_object_set_new(out, "algorithm",
                        row->algorithm != NULL ? json_string(row->algorithm) : json_null());
    json_object_set_new(out, "radix",
                        row->radix == 0 ? json_null()
                        : radix_is_list(row->radix)
                            ? json_string(ncoll__radix_text(row->radix, radix))
                            : whole(row->radix));
    json_object_set_new(out, "iterations", whole(row->calls));
    json_object_set_new(out, "p50_us", json_real(row->p50_us));
    json_object_set_new(out, "p99_us", json_real(row->p99_us));
    json_object_set_new(out, "min_us", json_real(row->min_us));
    json_object_set_new(out, "max_us", json_real(row->max_us));
    json_object_set_new(out, "wrong", whole(row->wrong));
    if (bandwidth_of(job, row) > 0)
        json_object_set_new(out, "mb_per_s", json_real(bandwidth_of(job, row)));
    if (bound_of(job, row) > 0)
        json_object_set_new(out, "of_bound", json_real(bound_of(job, row)));
    add_loop(out, job, row);
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (job->subjects[s] == &subject_ncoll)
            continue;
        add_ratio(out, "ratio", report_ratio(job, row, job->subjects[s]), job->subjects[s]);
        add_ratio(out, "loop_ratio", report_loop_ratio(job, row, job->subjects[s]),
                  job->subjects[s]);
    }
    return out;
}

static json_t *tree_of(const struct job *job)
{
    json_t *rows = json_array(), *tree = json_object();

    for (unsigned i = 0; i < job->n_rows; i++)
        json_array_append_new(rows, row_json(job, &job->rows[i]));
    json_object_set_new(tree, "environment", report_environment(job));
    json_object_set_new(tree, "rows", rows);
    return tree;
}

static int dump(const json_t *tree, FILE *out)
{
    if (json_dumpf(tree, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0)
        return -1;
    return fputc('\n', out) == EOF || fflush(out) != 0 ? -1 : 0;
}

/* What is there already and is no file of its own: a device, a pipe, a link. */
static int dump_into(const json_t *tree, const char *file)
{
    FILE *out = fopen(file, "we");

    if (out == NULL)
        return -1;
    int status = dump(tree, out);
    return fclose(out) != 0 ? -1 : status;
}

/* Beside the file and then renamed: a reader never sees half of it. */
static int dump_to_file(const json_t *tree, const char *file)
{
    struct stat there;
    char *beside;

    if (lstat(file, &there) == 0 && !S_ISREG(there.st_mode))
        return dump_into(tree, file);

    if (asprintf(&beside, "%s.%ld", file, (long)getpid()) < 0)
        return -1;
    int status = -1;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out != NULL) {
        status = dump(tree, out);
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
    json_t *tree = tree_of(job);
    int status = strcmp(file, "-") == 0 ? dump(tree, stdout) : dump_to_file(tree, file);

    if (status != 0)
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name, file,
                strerror(errno));
    json_decref(tree);
    return status;
}
