/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists what is chosen for all collectives, for many numbers of ranks, sizes, fabrics and nodes, one
 * choice a line. It shows what a change to a fit() or a cost() changes:
 *
 *     measure-choices > before.txt      (of the build before)
 *     measure-choices before.txt        (of the build after)
 *
 * With a list it prints only the choices that differ from it: the algorithm and radix of the list,
 * those of this build, 1 if the call is cut in segments, and the predicted times in ns with their
 * ratio. -1: not predicted, for there are too many ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/inspect.h"
#include "test/support/planner.h"

#define ELEMENT     sizeof(int64_t)
#define BYTES_MAX   ((size_t)2 << 20)
#define PREDICT_MAX 32 /* ranks; more take too long */

static const unsigned sizes[] = {2,  3,  4,  5,  6,  7,   8,    9,    10,   11,    12,
                                 13, 14, 15, 16, 32, 100, 1024, 4097, 5462, 16384, 100003};
static const ncoll_type types[] = {NCOLL_INT64, NCOLL_DOUBLE};
static const char *const fabrics[] = {"shm", "verbs", "soft", "both"};

static double predicted(ncoll_group *g, enum collective c, size_t count,
                        const struct choice *choice)
{
    return g->size <= PREDICT_MAX ? ncoll__predict(g, c, count, ELEMENT, choice) : -1;
}

static double predicted_by(ncoll_group *g, enum collective c, size_t count, ncoll_type type,
                           const char *algorithm, unsigned radix)
{
    struct choice choice;

    if (ncoll__group_force(g, c, algorithm, radix) != NCOLL_OK ||
        ncoll__choose(g, c, count, type, NCOLL_SUM, &choice) != NCOLL_OK)
        choice.algorithm = NULL;
    ncoll__group_force(g, c, NULL, 0);
    return choice.algorithm != NULL ? predicted(g, c, count, &choice) : -1;
}

static void list(const struct planner_job *job, enum collective c, ncoll_type type, FILE *other)
{
    struct planner *p = planner_new(job);
    ncoll_group *g = planner_world(p);
    size_t last = c == COLL_BARRIER ? ELEMENT : BYTES_MAX;

    for (size_t bytes = ELEMENT; bytes <= last; bytes *= 2) {
        char line[256], theirs[256] = "", algorithm[64] = "none";
        struct choice choice;
        size_t count = c == COLL_BARRIER ? 0 : bytes / ELEMENT;
        unsigned radix = 0;
        int rc = ncoll__choose(g, c, count, type, NCOLL_SUM, &choice);
        double ns = rc == NCOLL_OK ? predicted(g, c, count, &choice) : -1;
        int n = snprintf(line, sizeof line, "%s/%u/%g P=%u %s%s %zu", fabrics[job->fabric],
                         job->per_node, job->ranks_per_core, job->ranks, ncoll__collective_name(c),
                         type == NCOLL_DOUBLE ? "/double" : "", bytes);
        snprintf(line + n, sizeof line - (size_t)n, " %s %u",
                 rc == NCOLL_OK ? choice.algorithm->name : "none",
                 rc == NCOLL_OK ? choice.radix : 0);
        if (other == NULL) {
            printf("%s\n", line);
            continue;
        }
        if (fgets(theirs, sizeof theirs, other) == NULL || strncmp(theirs, line, (size_t)n) != 0) {
            fprintf(stderr, "not the same list at: %s%s\n", theirs, line);
            exit(1);
        }
        theirs[strcspn(theirs, "\n")] = '\0';
        if (strcmp(theirs, line) == 0)
            continue;
        sscanf(theirs + n, " %63s %u", algorithm, &radix);
        double before = predicted_by(g, c, count, type, algorithm, radix);
        printf("%.*s  %s %u -> %s %u  %.0f -> %.0f  %.2f\n", n, line, algorithm, radix,
               line + n + 1, choice.segments > 1, before, ns, ns / before);
    }
    planner_free(p);
}

/* Ranks that share cores share a node. */
static bool is_job(const struct planner_job *job)
{
    unsigned on_node = job->per_node > 0 ? job->per_node : job->ranks;

    return job->ranks > job->per_node && on_node >= job->ranks_per_core;
}

int main(int argc, char **argv)
{
    static const unsigned per_node[] = {0, 2, 4, 16}, turns[] = {1, 2, 4};
    FILE *other = argc > 1 ? fopen(argv[1], "r") : NULL;

    if (argc > 1 && other == NULL) {
        perror(argv[1]);
        return 1;
    }
    for (unsigned f = PLANNER_SHM; f <= PLANNER_BOTH; f++)
        for (unsigned n = 0; n < (f == PLANNER_SHM ? 1 : 4); n++)
            for (unsigned t = 0; t < 3; t++)
                for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
                        for (unsigned y = 0; y < (reduces((enum collective)c) ? 2 : 1); y++) {
                            struct planner_job job = {.ranks = sizes[i],
                                                      .fabric = (enum planner_fabric)f,
                                                      .per_node = per_node[n],
                                                      .ranks_per_core = turns[t]};
                            if (is_job(&job) && (sizes[i] <= 1024 || (t == 0 && n == 3)))
                                list(&job, (enum collective)c, types[y], other);
                        }
    if (other != NULL)
        fclose(other);
    return 0;
}
