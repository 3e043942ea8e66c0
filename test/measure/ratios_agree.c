/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ratios-agree FILE... -- FILE...: whether two runs of a comparison say the same. On how many of
 * the points that both have do the intervals of the ratio (points.h) overlap? Each one on which
 * they do not is shown. Exit status: 0 if they do on 90 % or more; 1 if not, or if the runs have no
 * point in common.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/measure/points.h"

#define AIM_PERCENT 90

static bool overlap(const struct point *a, const struct point *b)
{
    return a->low <= b->high && b->low <= a->high;
}

static void print_both(const struct point *a, const struct point *b)
{
    printf("%s, %d ranks over %s", a->shape.mpi, a->shape.ranks, a->shape.transport);
    if (a->shape.cores >= 0)
        printf(", cores %.3f us apart", a->cores_us);
    printf(": %s%s%s, %zu bytes: %.3f (%.3f-%.3f) and %.3f (%.3f-%.3f)\n", a->what,
           a->distribution[0] != '\0' ? " " : "", a->distribution, a->bytes, a->ratio, a->low,
           a->high, b->ratio, b->low, b->high);
}

static int agree(const struct points *a, const struct points *b)
{
    unsigned common = 0, overlapping = 0, sure = 0, sure_overlapping = 0;

    for (unsigned i = 0; i < a->n; i++)
        for (unsigned j = 0; j < b->n; j++) {
            if (!same_point(&a->of[i], &b->of[j]))
                continue;
            bool overlaps = overlap(&a->of[i], &b->of[j]);
            bool enough = a->of[i].n_jobs >= JOBS_LEAST && b->of[j].n_jobs >= JOBS_LEAST;
            common++;
            overlapping += overlaps;
            sure += enough;
            sure_overlapping += enough && overlaps;
            if (!overlaps)
                print_both(&a->of[i], &b->of[j]);
        }
    if (common == 0) {
        fprintf(stderr, "ratios-agree: the two runs have no point in common\n");
        return EXIT_FAILURE;
    }
    printf(
        "the intervals overlap on %u of %u points: %.1f %% (aim: %d %%); %u points are in one run "
        "only\n",
        overlapping, common, 100.0 * overlapping / common, AIM_PERCENT, a->n + b->n - 2 * common);
    if (sure < common)
        printf("of %d jobs or more in both runs: on %u of %u\n", JOBS_LEAST, sure_overlapping,
               sure);
    return overlapping * 100 >= common * AIM_PERCENT ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static struct points runs[2];
    unsigned run = 0, files[2] = {0};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && run == 0)
            run = 1;
        else if (files[run]++, !points_read(&runs[run], argv[i]))
            return EXIT_FAILURE;
    }
    if (files[0] == 0 || files[1] == 0) {
        fprintf(stderr, "usage: ratios-agree FILE... -- FILE...\n");
        return 64;
    }
    points_settle(&runs[0]);
    points_settle(&runs[1]);
    int status = agree(&runs[0], &runs[1]);
    json_decref(runs[0].environment);
    json_decref(runs[1].environment);
    return fflush(stdout) == 0 ? status : EXIT_FAILURE;
}
