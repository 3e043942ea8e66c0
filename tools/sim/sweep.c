/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench/measure/progress.h"
#include "tools/bench/measure/room.h"
#include "examples/cg/support.h"
#include "tools/bench/names.h"
#include "tools/sim/sim.h"

/* The ranks of a job on their nodes. */
struct placement {
    struct nodes nodes;
    uint64_t *ids;
    unsigned *room;
};

static int no_memory(void)
{
    fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
    return EXIT_FAILURE;
}

/* False, and says so: there is not so much memory. A process that takes it anyway is killed. */
static bool has_room(double bytes, const char *what)
{
    double available = room_available();

    if (available == 0 || bytes <= available)
        return true;
    fprintf(stderr, "%s: %s needs about %.1f GiB of memory, and %.1f GiB are free\n",
            program_invocation_short_name, what, bytes / (1 << 30), available / (1 << 30));
    return false;
}

static bool place(struct placement *p, unsigned ranks, unsigned per_node)
{
    free(p->ids);
    free(p->room);
    *p = (struct placement){.ids = malloc(ranks * sizeof *p->ids),
                            .room = malloc(NODES_ROOM(ranks) * sizeof *p->room)};
    if (p->ids == NULL || p->room == NULL)
        return false;
    for (unsigned rank = 0; rank < ranks; rank++)
        p->ids[rank] = rank / per_node;
    ncoll__nodes_of(p->ids, ranks, p->room, &p->nodes);
    p->nodes.shared = true;
    return true;
}

/* ------------------------------------------------------------------ the points ---------------- */

static bool is_of(const struct options *o, const struct algorithm *a)
{
    bool is = o->all_algorithms;

    for (unsigned i = 0; i < o->n_algorithms; i++)
        is |= o->algorithms[i] == a;
    return is;
}

/* Returns the radix that was given with the algorithm; 0: none was. */
static unsigned radix_of(const struct options *o, const struct algorithm *a)
{
    for (unsigned i = 0; i < o->n_algorithms; i++)
        if (o->algorithms[i] == a)
            return o->radix_of[i];
    return 0;
}

static bool has_blocks(enum collective c)
{
    return in_form(c) == FORM_BLOCKS || out_form(c) == FORM_BLOCKS;
}

static bool add_row(struct sweep *s, struct row row)
{
    if ((s->n_rows & (s->n_rows - 1)) == 0) {
        size_t room = s->n_rows > 0 ? 2 * s->n_rows : 1;
        struct row *rows = realloc(s->rows, room * sizeof *rows);
        if (rows == NULL)
            return false;
        s->rows = rows;
    }
    s->rows[s->n_rows++] = row;
    return true;
}

/* Adds the points of one collective with one algorithm, size by size. */
static bool add_rows(struct sweep *s, unsigned code, const struct algorithm *a)
{
    const struct options *o = s->options;
    enum collective c = code % WITH_COUNTS;
    unsigned own_radix = radix_of(o, a);
    unsigned n_radii = a->properties & USES_RADIX && own_radix == 0 ? o->n_radii : 1;
    unsigned n_sizes = c == COLL_BARRIER ? 1 : o->n_sizes;

    for (unsigned size = 0; size < n_sizes; size++)
        for (unsigned r = 0; r < n_radii; r++)
            for (unsigned p = 0; p < o->n_ranks; p++) {
                struct row row = {.collective = c,
                                  .distribution =
                                      code >= WITH_COUNTS ? o->distribution : DISTRIBUTION_NONE,
                                  .algorithm = a,
                                  .ranks = o->ranks[p],
                                  .radix = own_radix > 0                       ? own_radix
                                           : (a->properties & USES_RADIX) != 0 ? o->radii[r]
                                                                               : 1,
                                  .size = c == COLL_BARRIER ? 0 : o->sizes[size]};
                row.bytes = o->total && has_blocks(c) ? row.size / row.ranks : row.size;
                if (!add_row(s, row))
                    return false;
            }
    return true;
}

static bool is_wanted(const struct options *o, unsigned code, const struct algorithm *a)
{
    return (o->collectives & 1u << code) != 0 && (a->collectives & 1u << code % WITH_COUNTS) != 0 &&
           is_of(o, a);
}

/* At most so many. */
static double points_of(const struct options *o)
{
    double all = 0;

    for (unsigned code = COLL_BARRIER; code < CODES; code++)
        for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
            if (is_wanted(o, code, ncoll__algorithms[i]))
                all += (double)o->n_ranks * (code == COLL_BARRIER ? 1 : o->n_sizes) *
                       (ncoll__algorithms[i]->properties & USES_RADIX ? o->n_radii : 1);
    return all;
}

static bool add_all(struct sweep *s)
{
    for (unsigned code = COLL_BARRIER; code < CODES; code++)
        for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
            if (is_wanted(s->options, code, ncoll__algorithms[i]) &&
                !add_rows(s, code, ncoll__algorithms[i]))
                return false;
    return true;
}

/* ------------------------------------------------------------------ runs ---------------------- */

/* The progress of the sweep, counted in ranks. */
struct standing {
    struct progress bar;
    double done, now, all; /* finished points, the current point, all points */
};

static void show(void *arg, double part)
{
    struct standing *standing = arg;

    progress_step(&standing->bar, (standing->done + part * standing->now) / standing->all);
}

/* Returns the bytes of an element: the largest of 8, 4, 2 and 1 that divides the size. */
static size_t element_of(size_t bytes)
{
    size_t element = 8;

    while (bytes % element != 0)
        element /= 2;
    return element;
}

/* Returns how many ranks take part, as in a call: the least number that is the fraction of them, or
 * more. 0: the algorithm takes no part of them. */
static unsigned places_in(const struct options *o, const struct row *row)
{
    double part = o->fraction > 0 ? o->fraction : 1;

    if (!(row->algorithm->properties & TAKES_PLACES))
        return 0;
    unsigned places = 1;
    while (places < row->ranks && (double)places / row->ranks < part)
        places++;
    return places;
}

static struct loggp_job job_of(const struct options *o, const struct row *row,
                               const struct placement *placement, const struct blocks *blocks)
{
    size_t element = element_of(row->bytes), segment = o->segment_bytes / element;

    return (struct loggp_job){
        .algorithm = row->algorithm,
        .shape = {.collective = row->collective,
                  .size = row->ranks,
                  .root = is_rooted(row->collective) ? o->root : 0,
                  .radix = row->radix,
                  .count = row->bytes / element,
                  .counts = blocks->counts,
                  .inverse = true,
                  .places = places_in(o, row),
                  .nodes = o->per_node > 1 ? &placement->nodes : NULL},
        .element_bytes = element,
        .segment = o->segment_bytes > 0 && segment == 0 ? 1 : segment,
        .lanes = o->lanes,
        .costs = o->costs,
        .network = o->network,
        .noise = o->noise,
    };
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Returns 0, or EXIT_FAILURE after saying why the run has not ended well. */
static int say_end(enum loggp_status status, const struct row *row)
{
    if (status == LOGGP_NO_MEMORY)
        return no_memory();
    if (status == LOGGP_OK)
        return 0;
    fprintf(stderr, "%s: %s on %u ranks does not end: report this\n", program_invocation_short_name,
            row->algorithm->name, row->ranks);
    return EXIT_FAILURE;
}

static int run_blocks(struct sweep *s, struct row *row, const struct placement *placement,
                      const struct blocks *blocks, struct standing *standing)
{
    const struct options *o = s->options;
    struct loggp_job job = job_of(o, row, placement, blocks);
    struct steps steps = {0};
    int status = 0;

    row->nodes = o->per_node > 1 ? placement->nodes.count : row->ranks;
    ncoll__divide(row->algorithm, &job.shape, o->slots > 0 ? o->slots : SLOTS_MAX);
    row->exists = algorithm_exists(row->algorithm, &job.shape);
    row->samples_ns = calloc(o->repeat, sizeof *row->samples_ns);
    if (row->samples_ns == NULL)
        return no_memory();
    char what[128], name[ROW_NAME];
    snprintf(what, sizeof what, "%s of %u ranks by %s", row_name(row, name), row->ranks,
             row->algorithm->name);
    if (row->exists && !has_room(loggp_memory(&job), what))
        return EXIT_FAILURE;
    job.progress = show;
    job.progress_arg = standing;
    if (o->trace_file != NULL)
        trace_begin(&steps, &job);
    for (unsigned i = 0; row->exists && status == 0 && i < o->repeat; i++) {
        struct loggp_result result = {0};
        job.seed = o->seed + i;
        status = say_end(loggp_run(&job, &result), row);
        if (o->trace_file != NULL && i == 0 && status == 0)
            status = trace_write(&steps, row, o);
        job.step_ended = NULL;
        row->samples_ns[i] = result.last_ns - result.entry_ns;
        s->events += result.events;
        if (i > 0)
            continue;
        row->first_ns = result.first_ns;
        row->mean_ns = result.mean_ns;
        row->messages = result.messages;
        row->sent_bytes = result.bytes;
    }
    free(steps.of); /* of a run that failed */
    qsort(row->samples_ns, o->repeat, sizeof *row->samples_ns, by_value);
    return status;
}

static int run_row(struct sweep *s, struct row *row, const struct placement *placement,
                   struct standing *standing)
{
    struct blocks blocks = {0};
    size_t count = row->bytes / element_of(row->bytes);
    bool made = row->distribution == DISTRIBUTION_NONE ||
                blocks_make(row->distribution, count, (int)row->ranks, &blocks);
    int status = made ? run_blocks(s, row, placement, &blocks, standing) : no_memory();

    blocks_free(&blocks);
    return status;
}

/* ------------------------------------------------------------------ the best radix ------------ */

static bool same_point(const struct row *a, const struct row *b)
{
    return a->collective == b->collective && a->distribution == b->distribution &&
           a->algorithm == b->algorithm && a->ranks == b->ranks && a->size == b->size;
}

/* Keeps the fastest row of each point; the first one, if several are equally fast. */
static void keep_best(struct sweep *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n_rows; i++) {
        struct row *row = &s->rows[i];
        size_t at = 0;
        while (at < kept && !same_point(&s->rows[at], row))
            at++;
        struct row *best = &s->rows[at], this_one = *row;
        row->samples_ns = NULL;
        if (at == kept) {
            s->rows[kept++] = this_one;
        } else if (this_one.exists &&
                   (!best->exists || median_ns(s, &this_one) < median_ns(s, best))) {
            free(best->samples_ns);
            *best = this_one;
        } else {
            free(this_one.samples_ns);
        }
    }
    s->n_rows = kept;
}

int sweep_run(const struct options *o, struct sweep *out)
{
    struct placement placement = {0};
    struct standing standing = {0};
    unsigned placed = 0;
    int status = 0;

    *out = (struct sweep){.options = o};
    if (!has_room(points_of(o) * (sizeof(struct row) + o->repeat * sizeof(double)),
                  "a list of so many points"))
        return EXIT_FAILURE;
    if (!add_all(out))
        return no_memory();
    if (o->trace_file != NULL && out->n_rows != 1) {
        fprintf(stderr, "%s: --trace is for one point, and this is %zu of them\n",
                program_invocation_short_name, out->n_rows);
        return EXIT_USAGE;
    }
    clock_t start = clock();
    progress_start(&standing.bar, !o->quiet, 0);
    /* The time of a point is about proportional to its number of ranks. */
    for (size_t i = 0; i < out->n_rows; i++)
        standing.all += out->rows[i].ranks;
    for (size_t i = 0; status == 0 && i < out->n_rows; i++) {
        struct row *row = &out->rows[i];
        if (o->per_node > 1 && row->ranks != placed && !place(&placement, row->ranks, o->per_node))
            status = no_memory();
        placed = row->ranks;
        standing.now = row->ranks;
        if (status == 0)
            status = run_row(out, row, &placement, &standing);
        standing.done += row->ranks;
    }
    progress_end(&standing.bar);
    free(placement.ids);
    free(placement.room);
    out->processor_s = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (status == 0 && o->best)
        keep_best(out);
    return status;
}

void sweep_free(struct sweep *s)
{
    for (size_t i = 0; i < s->n_rows; i++)
        free(s->rows[i].samples_ns);
    free(s->rows);
    *s = (struct sweep){0};
}
