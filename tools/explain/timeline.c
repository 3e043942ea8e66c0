/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges the traces of the ranks of a job into one time-line. A put and the wait for it are found by
 * what both sides know: the group, the number of the run, the receiver and its slot.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/explain/explain.h"
#include "tools/explain/trace_file.h"
#include "tools/explain/walk.h"
#include "tools/timeline/chrome.h"
#include "tools/timeline/clocks.h"

/* An event of a rank, at its place in the time-line. */
struct moment {
    const struct trace_line *line;
    const struct trace_file *file;
    unsigned clock;
    unsigned receiver; /* of a put: the rank with the slot */
    struct chrome_at at;
    int64_t end_ns;
};

struct merged {
    struct trace_file *files;
    unsigned n_files;
    unsigned *clock_of; /* of each file: the number of its clock */
    unsigned n_clocks;
    struct clock_offset *offsets; /* of each clock */
    struct moment *moments, **puts;
    size_t n_moments, n_puts, n_arrows, n_early;
    int64_t start_ns;
};

/* ------------------------------------------------------------------ messages ------------------ */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The order of messages: group, run, receiver, slot. */
static int compare_messages(const struct moment *a, const struct moment *b)
{
    int by_group = compare(a->line->group, b->line->group);
    int by_epoch = compare(a->line->epoch, b->line->epoch);
    int by_rank = compare(a->receiver, b->receiver);

    return by_group != 0   ? by_group
           : by_epoch != 0 ? by_epoch
           : by_rank != 0  ? by_rank
                           : compare(a->line->slot, b->line->slot);
}

static int compare_puts(const void *a, const void *b)
{
    return compare_messages(*(struct moment *const *)a, *(struct moment *const *)b);
}

static bool is_kind(const struct moment *m, const char *kind)
{
    return strcmp(m->line->kind, kind) == 0;
}

static bool is_arrival(const struct moment *m)
{
    return is_kind(m, "wait") || is_kind(m, "look");
}

/* Returns the put of the message that has arrived here; NULL: it is not in the traces. */
static struct moment *find_put(const struct merged *all, struct moment *arrival)
{
    struct moment **at = bsearch(&arrival, all->puts, all->n_puts, sizeof *all->puts, compare_puts);

    return at != NULL ? *at : NULL;
}

static void list_moments(struct merged *all)
{
    size_t n = 0;

    for (unsigned f = 0; f < all->n_files; f++)
        n += all->files[f].n_lines;
    all->moments = allocate(n, sizeof *all->moments);
    all->puts = allocate(n, sizeof(struct moment *));
    for (unsigned f = 0; f < all->n_files; f++) {
        const struct trace_file *file = &all->files[f];
        for (size_t i = 0; i < file->n_lines; i++) {
            struct moment *m = &all->moments[all->n_moments++];
            *m = (struct moment){.line = &file->lines[i],
                                 .file = file,
                                 .clock = all->clock_of[f],
                                 .at.rank = file->rank};
            bool at_peer = is_kind(m, "put") || is_kind(m, "look");
            m->receiver = at_peer ? (unsigned)m->line->peer : file->rank;
            if (is_kind(m, "put"))
                all->puts[all->n_puts++] = m;
        }
    }
    qsort(all->puts, all->n_puts, sizeof *all->puts, compare_puts);
}

/* ------------------------------------------------------------------ clocks -------------------- */

static void number_clocks(struct merged *all)
{
    all->clock_of = allocate(all->n_files, sizeof *all->clock_of);
    for (unsigned f = 0; f < all->n_files; f++) {
        unsigned same = 0;
        while (all->files[same].clock != all->files[f].clock)
            same++;
        all->clock_of[f] = same < f ? all->clock_of[same] : all->n_clocks++;
    }
}

static void find_offsets(struct merged *all)
{
    struct clock_message *messages = allocate(all->n_moments, sizeof *messages);
    size_t n = 0;

    all->offsets = allocate(all->n_clocks, sizeof *all->offsets);
    for (size_t i = 0; i < all->n_moments; i++) {
        struct moment *m = &all->moments[i];
        const struct moment *put = is_arrival(m) ? find_put(all, m) : NULL;
        if (put != NULL && put->clock != m->clock)
            messages[n++] = (struct clock_message){
                put->clock, m->clock, (int64_t)m->line->end_ns - (int64_t)put->line->begin_ns};
    }
    if (!clocks_estimate(messages, n, all->n_clocks, all->offsets))
        err(EXIT_FAILURE, NULL);
}

/* Puts all events on the clock of the first file, and the first of them at 0. */
static void correct(struct merged *all)
{
    all->start_ns = INT64_MAX;
    for (size_t i = 0; i < all->n_moments; i++) {
        struct moment *m = &all->moments[i];
        m->at.ns = (int64_t)m->line->begin_ns - all->offsets[m->clock].offset_ns;
        m->end_ns = (int64_t)m->line->end_ns - all->offsets[m->clock].offset_ns;
        all->start_ns = m->at.ns < all->start_ns ? m->at.ns : all->start_ns;
    }
    for (size_t i = 0; i < all->n_moments; i++) {
        all->moments[i].at.ns -= all->start_ns;
        all->moments[i].end_ns -= all->start_ns;
    }
}

/* ------------------------------------------------------------------ output -------------------- */

/* The order of a track: by beginning, the longest first. */
static int compare_begins(const void *a, const void *b)
{
    const struct moment *m = *(struct moment *const *)a, *n = *(struct moment *const *)b;

    if (m->at.ns != n->at.ns)
        return m->at.ns < n->at.ns ? -1 : 1;
    return (m->end_ns < n->end_ns) - (m->end_ns > n->end_ns);
}

static void write_event(struct chrome *c, const struct moment *m)
{
    const struct trace_line *l = m->line;
    char name[4 * TRACE_WORD], details[8 * TRACE_WORD];
    int n = snprintf(details, sizeof details,
                     "\"bytes\": %" PRIu64 ", \"group\": \"%" PRIx64 "\", \"run\": %" PRIu64,
                     l->bytes, l->group, l->epoch);

    snprintf(name, sizeof name, "%s", l->is_call ? l->collective : l->kind);
    if (l->is_call)
        snprintf(details + n, sizeof details - (size_t)n,
                 ", \"call\": %" PRIu64
                 ", \"algorithm\": \"%s\", \"radix\": \"%s\", \"status\": %d, "
                 "\"own\": %d",
                 l->number, l->algorithm, l->radix, l->status, strcmp(l->kind, "own") == 0);
    else if (l->peer >= 0)
        snprintf(details + n, sizeof details - (size_t)n, ", \"peer\": %d, \"slot\": %u", l->peer,
                 l->slot);
    chrome_event(c, &m->at, m->end_ns, name, details);
}

static void write_events(struct merged *all, struct chrome *c)
{
    struct moment **order = allocate(all->n_moments, sizeof(struct moment *));
    struct lanes *lanes = allocate(all->files[0].ranks, sizeof *lanes);

    for (size_t i = 0; i < all->n_moments; i++)
        order[i] = &all->moments[i];
    qsort(order, all->n_moments, sizeof *order, compare_begins);
    for (size_t i = 0; i < all->n_moments; i++) {
        struct moment *m = order[i];
        m->at.lane = lanes_take(&lanes[m->at.rank], m->at.ns, m->end_ns);
        write_event(c, m);
    }
}

/* The tip of an arrow is drawn at the end of the wait, but inside it. */
static void write_arrows(struct merged *all, struct chrome *c)
{
    for (size_t i = 0; i < all->n_moments; i++) {
        struct moment *m = &all->moments[i];
        const struct moment *put = is_arrival(m) ? find_put(all, m) : NULL;
        if (put == NULL)
            continue;
        struct chrome_at tip = m->at;
        tip.ns = m->end_ns > m->at.ns ? m->end_ns - 1 : m->end_ns;
        chrome_arrow(c, all->n_arrows++, &put->at, &tip);
        all->n_early += m->end_ns < put->at.ns;
    }
}

static void say_summary(const struct merged *all, FILE *out)
{
    uint64_t lost = 0;

    for (unsigned f = 0; f < all->n_files; f++)
        lost += all->files[f].lost;
    fprintf(out, "%u of %u ranks: %zu events, %zu messages from put to arrival", all->n_files,
            all->files[0].ranks, all->n_moments, all->n_arrows);
    if (lost > 0)
        fprintf(out, "; %" PRIu64 " earlier events were not kept (NCOLL_TRACE_EVENTS)", lost);
    fputc('\n', out);
    for (unsigned f = 0, said = 1; f < all->n_files; f++) {
        const struct clock_offset *o = &all->offsets[all->clock_of[f]];
        if (all->clock_of[f] !=
            said) /* each clock once, by its first rank; the first is not said */
            continue;
        said++;
        fprintf(out, "clock of rank %u: %+.3f us from that of rank %u, ", all->files[f].rank,
                (double)o->offset_ns / 1e3, all->files[0].rank);
        if (o->error_ns >= 0)
            fprintf(out, "wrong by at most %.3f us\n", (double)o->error_ns / 1e3);
        else
            fprintf(out, "with an unknown error: no messages go both ways\n");
    }
    if (all->n_early > 0)
        fprintf(out, "%zu messages seem to arrive before they were put\n", all->n_early);
}

static void check_job(const struct merged *all)
{
    bool *seen = allocate(all->files[0].ranks, sizeof *seen);

    for (unsigned f = 0; f < all->n_files; f++) {
        const struct trace_file *file = &all->files[f];
        if (file->ranks != all->files[0].ranks)
            errx(EXIT_FAILURE,
                 "%s is of a job of %u ranks, %s of one of %u: give the files of one job",
                 all->files[0].path, all->files[0].ranks, file->path, file->ranks);
        if (seen[file->rank])
            errx(EXIT_FAILURE, "%s is a second file of rank %u: give one of each rank", file->path,
                 file->rank);
        seen[file->rank] = true;
    }
}

struct merged *timeline_read(const char *const *paths, unsigned n_paths)
{
    struct merged *all = allocate(1, sizeof *all);

    *all = (struct merged){.files = allocate(n_paths, sizeof *all->files), .n_files = n_paths};
    for (unsigned f = 0; f < n_paths; f++)
        trace_file_read(paths[f], &all->files[f]);
    check_job(all);
    number_clocks(all);
    list_moments(all);
    find_offsets(all);
    correct(all);
    return all;
}

void timeline_write(struct merged *all, FILE *out, FILE *summary)
{
    struct chrome chrome;

    chrome_begin(&chrome, out);
    for (unsigned f = 0; f < all->n_files; f++)
        chrome_track(&chrome, all->files[f].rank);
    write_events(all, &chrome);
    write_arrows(all, &chrome);
    chrome_end(&chrome);
    if (summary != NULL)
        say_summary(all, summary);
}
