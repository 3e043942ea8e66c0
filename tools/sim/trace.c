/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a simulated run as a time-line, in the form in which ncoll-explain writes those of real
 * runs (tools/timeline/chrome.h). A put and the wait for it are found by what both sides know: the
 * segment, the receiver and its slot.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/sim/sim.h"
#include "tools/timeline/chrome.h"

#define STEPS_MAX (1 << 20) /* some 200 MB of text; a power of two */
#define DETAILS   160

static void note(void *arg, const struct loggp_step *step)
{
    struct steps *steps = arg;

    if (steps->lacks_room)
        return;
    if ((steps->n & (steps->n - 1)) == 0) {
        size_t room = steps->n > 0 ? 2 * steps->n : 1;
        struct loggp_step *more =
            steps->n < STEPS_MAX ? realloc(steps->of, room * sizeof *more) : NULL;
        steps->lacks_room = more == NULL;
        if (more == NULL)
            return;
        steps->of = more;
    }
    steps->of[steps->n++] = *step;
}

void trace_begin(struct steps *steps, struct loggp_job *job)
{
    *steps = (struct steps){0};
    job->step_ended = note;
    job->step_arg = steps;
}

/* ------------------------------------------------------------------ messages ------------------ */

/* The order of messages: segment, receiver, slot. */
static int compare(const void *left, const void *right)
{
    const struct loggp_step *a = *(struct loggp_step *const *)left;
    const struct loggp_step *b = *(struct loggp_step *const *)right;

    if (a->run != b->run)
        return a->run < b->run ? -1 : 1;
    if (a->receiver != b->receiver)
        return a->receiver < b->receiver ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

static int64_t whole(double ns)
{
    return (int64_t)(ns + 0.5);
}

static void write_arrows(struct chrome *c, const struct steps *steps,
                         const struct loggp_step **puts)
{
    size_t n_puts = 0, n_arrows = 0;

    for (size_t i = 0; i < steps->n; i++)
        if (steps->of[i].kind == LOGGP_PUT)
            puts[n_puts++] = &steps->of[i];
    qsort(puts, n_puts, sizeof(struct loggp_step *), compare);
    for (size_t i = 0; i < steps->n; i++) {
        const struct loggp_step *arrival = &steps->of[i];
        if (arrival->kind != LOGGP_WAIT && arrival->kind != LOGGP_LOOK)
            continue;
        const struct loggp_step *const *found =
            bsearch(&arrival, puts, n_puts, sizeof(struct loggp_step *), compare);
        if (found == NULL)
            continue;
        const struct loggp_step *put = *found;
        struct chrome_at from = {put->rank, put->lane, whole(put->end_ns)};
        struct chrome_at to = {arrival->rank, arrival->lane, whole(arrival->end_ns)};
        chrome_arrow(c, n_arrows++, &from, &to);
    }
}

/* ------------------------------------------------------------------ steps --------------------- */

static void write_steps(struct chrome *c, const struct steps *steps)
{
    static const char *const kinds[] = {"put", "wait", "look", "work"};
    char details[DETAILS];

    for (size_t i = 0; i < steps->n; i++) {
        const struct loggp_step *s = &steps->of[i];
        struct chrome_at at = {s->rank, s->lane, whole(s->begin_ns)};
        int n = snprintf(details, sizeof details, "\"round\": %u, \"segment\": %llu", s->round + 1,
                         (unsigned long long)s->run);
        if (s->kind != LOGGP_WORK)
            snprintf(details + n, sizeof details - (size_t)n,
                     ", \"bytes\": %.0f, \"peer\": %u, \"slot\": %u", s->bytes, s->peer, s->slot);
        chrome_event(c, &at, whole(s->end_ns), kinds[s->kind], details);
    }
}

/* A call begins call_ns before its first step, and ends with its last one. */
static bool write_calls(struct chrome *c, const struct steps *steps, const struct row *row,
                        double call_ns)
{
    struct span {
        double begin_ns, end_ns;
        bool is_known;
    } *spans = calloc(row->ranks, sizeof *spans);
    char details[DETAILS], name[ROW_NAME];

    for (size_t i = 0; spans != NULL && i < steps->n; i++) {
        const struct loggp_step *s = &steps->of[i];
        struct span *span = &spans[s->rank];
        if (!span->is_known || s->begin_ns < span->begin_ns)
            span->begin_ns = s->begin_ns;
        if (s->end_ns > span->end_ns)
            span->end_ns = s->end_ns;
        span->is_known = true;
    }
    snprintf(details, sizeof details, "\"bytes\": %zu, \"algorithm\": \"%s\"", row->bytes,
             row->algorithm->name);
    row_name(row, name);
    for (unsigned rank = 0; spans != NULL && rank < row->ranks; rank++) {
        struct chrome_at at = {rank, 0, whole(spans[rank].begin_ns - call_ns)};
        chrome_track(c, rank);
        if (spans[rank].is_known)
            chrome_event(c, &at, whole(spans[rank].end_ns), name, details);
    }
    free(spans);
    return spans != NULL;
}

struct run {
    const struct steps *steps;
    const struct row *row;
    double call_ns;
};

static int dump(const void *what, FILE *out)
{
    const struct run *run = what;
    const struct loggp_step **puts = calloc(run->steps->n + 1, sizeof *puts);
    struct chrome chrome;
    bool good = puts != NULL;

    chrome_begin(&chrome, out);
    good = good && write_calls(&chrome, run->steps, run->row, run->call_ns);
    if (good) {
        write_steps(&chrome, run->steps);
        write_arrows(&chrome, run->steps, puts);
    }
    chrome_end(&chrome);
    free(puts);
    return good && fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

int trace_write(struct steps *steps, const struct row *row, const struct options *o)
{
    struct run run = {steps, row, o->costs.call_ns};
    int status = EXIT_FAILURE;

    if (steps->lacks_room)
        fprintf(stderr, "%s: --trace: this run has more than %d steps\n",
                program_invocation_short_name, STEPS_MAX);
    else if (json_write(o->trace_file, dump, &run) == 0)
        status = 0;
    free(steps->of);
    *steps = (struct steps){0};
    return status;
}
