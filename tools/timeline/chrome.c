/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/timeline/chrome.h"

#include <inttypes.h>

/* Microseconds, which the form wants, to the nanosecond. */
static void print_ns(FILE *file, const char *name, int64_t ns)
{
    uint64_t size = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;

    fprintf(file, ", \"%s\": %s%" PRIu64 ".%03u", name, ns < 0 ? "-" : "", size / 1000,
            (unsigned)(size % 1000));
}

static void next(struct chrome *c)
{
    fprintf(c->file, "%s\n", c->written++ > 0 ? "," : "");
}

void chrome_begin(struct chrome *c, FILE *file)
{
    *c = (struct chrome){.file = file};
    fprintf(file, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
}

void chrome_track(struct chrome *c, unsigned rank)
{
    next(c);
    fprintf(c->file,
            "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %u, \"args\": {\"name\": \"rank "
            "%u\"}}",
            rank, rank);
    next(c);
    fprintf(c->file,
            "{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": %u, \"args\": "
            "{\"sort_index\": %u}}",
            rank, rank);
}

void chrome_event(struct chrome *c, const struct chrome_at *at, int64_t end_ns, const char *name,
                  const char *details)
{
    next(c);
    fprintf(c->file, "{\"ph\": \"X\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u", name, at->rank,
            at->lane);
    print_ns(c->file, "ts", at->ns);
    print_ns(c->file, "dur", end_ns - at->ns);
    fprintf(c->file, ", \"args\": {%s}}", details);
}

static void print_tip(struct chrome *c, uint64_t number, const char *kind,
                      const struct chrome_at *at)
{
    next(c);
    fprintf(c->file,
            "{\"ph\": %s, \"name\": \"message\", \"cat\": \"message\", \"id\": %" PRIu64
            ", \"pid\": %u, \"tid\": %u",
            kind, number, at->rank, at->lane);
    print_ns(c->file, "ts", at->ns);
    fputc('}', c->file);
}

void chrome_arrow(struct chrome *c, uint64_t number, const struct chrome_at *from,
                  const struct chrome_at *to)
{
    print_tip(c, number, "\"s\"", from);
    print_tip(c, number, "\"f\", \"bp\": \"e\"", to);
}

void chrome_end(struct chrome *c)
{
    fprintf(c->file, "\n]}\n");
}

unsigned lanes_take(struct lanes *lanes, int64_t begin_ns, int64_t end_ns)
{
    for (unsigned lane = 0; lane < LANES_MAX; lane++) {
        int64_t *ends = lanes->ends[lane];
        unsigned n = lanes->open[lane];
        while (n > 0 && ends[n - 1] <= begin_ns)
            n--;
        lanes->open[lane] = n;
        if (n < LANES_DEPTH && (n == 0 || ends[n - 1] >= end_ns)) {
            ends[lanes->open[lane]++] = end_ns;
            return lane;
        }
    }
    return LANES_MAX - 1;
}
