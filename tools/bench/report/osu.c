/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the layout of osu_allreduce -f and similar benchmarks, for programs that read it. Its
 * columns are means of each rank's own times: their average over ranks, the smallest and the
 * largest. The other tables of this program have no means; see stats.h.
 */
#include <ctype.h>

#include "tools/bench/names.h"
#include "tools/bench/report/report.h"

#define FIELD 18

/* "OSU MPI Allreduce Latency Test", with the library's name for MPI's. */
static void print_title(const struct row *row, FILE *out)
{
    const char *name = report_name(row);

    fprintf(out, "\n# OSU %s ", row->subject->version != NULL ? row->subject->label : "ncoll");
    if (row->subject->label[0] != '\0' && row->subject->version == NULL)
        fprintf(out, "%s ", row->subject->label);
    fprintf(out, "%c%s Latency Test v%s\n", toupper((unsigned char)name[0]), name + 1,
            ncoll_version());
    if (row->collective == COLL_BARRIER)
        fprintf(out, "# Avg Latency(us)");
    else
        fprintf(out, "%-*s%*s", 10, "# Size", FIELD, "Avg Latency(us)");
    fprintf(out, "%*s%*s%*s\n", FIELD, "Min Latency(us)", FIELD, "Max Latency(us)", 12,
            "Iterations");
}

static void print_row(const struct row *row, FILE *out)
{
    if (row->collective == COLL_BARRIER)
        fprintf(out, "%*.2f", FIELD - 1, row->mean_us);
    else
        fprintf(out, "%-*zu%*.2f", 10, row->bytes, FIELD, row->mean_us);
    fprintf(out, "%*.2f%*.2f%*u\n", FIELD, row->mean_min_us, FIELD, row->mean_max_us, 12,
            row->calls);
}

/* One table for each subject, collective and distribution, in the order of their first rows. */
int report_osu(const struct job *job, FILE *out)
{
    for (unsigned i = 0; i < job->n_rows; i++) {
        const struct row *first = &job->rows[i];
        if (first->collective == 0 || !report_is_first(job, i))
            continue;
        print_title(first, out);
        for (unsigned j = i; j < job->n_rows; j++)
            if (report_same_group(&job->rows[j], first))
                print_row(&job->rows[j], out);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
