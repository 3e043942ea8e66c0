/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/trace_file.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/explain/walk.h"

#define LINE_BYTES 512
#define RANKS_MOST (1u << 20)

static _Noreturn void say_damaged(const char *path, size_t line)
{
    errx(EXIT_FAILURE,
         "%s, line %zu: this is no trace of ncoll, or it is damaged; give the files that a job has "
         "written with NCOLL_TRACE, with the ranks at the ends of their names",
         path, line);
}

/* Reads what follows the five numbers that all lines have. */
static bool read_rest(const char *text, struct trace_line *out)
{
    char more;

    out->peer = -1;
    if (strcmp(out->kind, "call") == 0 || strcmp(out->kind, "own") == 0) {
        out->is_call = true;
        return sscanf(text, " %" SCNu64 " %31[a-z_] %31[a-z0-9-] %31[0-9,] %d %c", &out->number,
                      out->collective, out->algorithm, out->radix, &out->status, &more) == 5;
    }
    int n = sscanf(text, " %d %u %c", &out->peer, &out->slot, &more);
    return n <= 0 || (n == 2 && out->peer >= 0);
}

static bool read_line(const char *text, struct trace_line *out)
{
    int n = 0;

    *out = (struct trace_line){0};
    return sscanf(text, "%31[a-z] %" SCNu64 " %" SCNu64 " %" SCNx64 " %" SCNu64 " %" SCNu64 "%n",
                  out->kind, &out->begin_ns, &out->end_ns, &out->group, &out->epoch, &out->bytes,
                  &n) == 6 &&
           out->end_ns >= out->begin_ns && out->end_ns <= INT64_MAX && read_rest(text + n, out);
}

static bool read_head(FILE *file, struct trace_file *out)
{
    int version = 0;

    return fscanf(file, "ncoll-trace %d rank %u of %u clock %" SCNx64 " events %zu, lost %" SCNu64,
                  &version, &out->rank, &out->ranks, &out->clock, &out->n_lines, &out->lost) == 6 &&
           version == 1 && out->ranks <= RANKS_MOST && out->rank < out->ranks &&
           out->n_lines <= 1u << 24 && fgetc(file) == '\n';
}

void trace_file_read(const char *path, struct trace_file *out)
{
    char text[LINE_BYTES];
    FILE *file = fopen(path, "re");

    *out = (struct trace_file){.path = path};
    if (file == NULL)
        err(EXIT_FAILURE, "cannot read %s", path);
    if (!read_head(file, out))
        say_damaged(path, 1);
    out->lines = allocate(out->n_lines, sizeof *out->lines);
    for (size_t i = 0; i < out->n_lines; i++)
        if (fgets(text, sizeof text, file) == NULL || !read_line(text, &out->lines[i]) ||
            out->lines[i].peer >= (int)out->ranks)
            say_damaged(path, i + 5);
    fclose(file);
}
