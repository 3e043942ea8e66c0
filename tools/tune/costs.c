/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file measures what messages cost between two ranks: short ones by the bare exchange of the
 * transport, n notified writes at once each way, and long ones by broadcasts to and fro, since
 * their bytes have to be read, too, by a rank that did not write them. With T(n) the time of an
 * exchange, T'(b) half of that to and fro, fitted by least squares:
 *
 *     o   each further one of few writes:    slope of T(n), n = 1..4
 *     g   each further one of many:          slope of T(n), n = 8..16
 *     L   of one write, beside that:         T(1) - o
 *     G   each byte of a long message:           slope of T'(b), b = 4 KiB..64 KiB
 *
 * Selection goes by L, o and G (latency_ns, message_ns, byte_ns). Each T is a mean of many in a
 * row; of these rounds the time that a tenth does not exceed, as whatever else the machine does
 * only adds to it.
 *
 * How many there are in a row follows from the first round, of a few: a software device that shares
 * its processors with the ranks may take milliseconds for a message. Rank 0 decides this by its
 * clock before each kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/inside.h"
#include "tools/json.h"
#include "tools/bench/bench.h"
#include "tools/bench/measure/stats.h"
#include "tools/tune/tune.h"

#define ROUNDS 40
#define CALLS  64  /* most exchanges of one kind in a row */
#define FEW    2   /* their number at first, and the least */
#define ROW_NS 2e6 /* a row is made longer until it takes this time */

static const struct {
    unsigned writes; /* 0: broadcasts to and fro */
    size_t bytes;
} kinds[] = {
    {1, 0},  {2, 0},       {3, 0},        {4, 0},        {8, 0},        {12, 0},
    {16, 0}, {0, 4 << 10}, {0, 16 << 10}, {0, 32 << 10}, {0, 64 << 10},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Returns the slope of y over x, in kinds first..last. */
static double slope(const double *ns, unsigned first, unsigned last, bool of_bytes)
{
    double n = last - first + 1, sx = 0, sy = 0, sxx = 0, sxy = 0;

    for (unsigned i = first; i <= last; i++) {
        double x = of_bytes ? (double)kinds[i].bytes : kinds[i].writes;
        sx += x;
        sy += ns[i];
        sxx += x * x;
        sxy += x * ns[i];
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

struct samples {
    double ns[KINDS][ROUNDS];
    unsigned n[KINDS];
    void *buffer; /* buffer of the longest broadcast */
};

/* Returns the mean time of some exchanges. The first one does not count, since the ranks may not
 * have met before it. */
static int exchange(ncoll_context *ctx, unsigned writes, unsigned calls, double *ns)
{
    uint64_t samples[CALLS + 1], sum = 0;

    int status = ncoll__raw_exchange(ncoll_world(ctx), writes, 0, calls + 1, samples);
    for (unsigned i = 1; i <= calls; i++)
        sum += samples[i];
    *ns = (double)sum / calls;
    return status;
}

static int to_and_fro(ncoll_context *ctx, void *buffer, size_t bytes, unsigned calls, double *ns)
{
    uint64_t start = 0;
    int status = NCOLL_OK;

    for (unsigned i = 0; i < calls + 2 && status == NCOLL_OK; i++) {
        if (i == 2)
            start = now_ns();
        status =
            ncoll_bcast(ncoll_world(ctx), buffer, bytes, NCOLL_INT8, (int)(i % 2), NCOLL_BLOCK);
    }
    *ns = (double)(now_ns() - start) / calls;
    return status;
}

/* Rank 0 decides how many calls come next; none, if there is no time left. last_ns: the time of the
 * latest row of this kind. */
static int ask_how_many(ncoll_context *ctx, uint64_t deadline_ns, double last_ns, int64_t *calls)
{
    double within = last_ns > 0 ? ROW_NS / last_ns : FEW;

    *calls = within > CALLS ? CALLS : within < FEW ? FEW : (int64_t)within;
    if (now_ns() >= deadline_ns)
        *calls = 0;
    return ncoll_bcast(ncoll_world(ctx), calls, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
}

/* Makes all rounds. The second one overwrites the results of the first, if there is time for it. */
static int all_rounds(ncoll_context *ctx, struct samples *s, double budget_s)
{
    uint64_t deadline_ns = now_ns() + (uint64_t)(budget_s * 1e9);
    double last_ns[KINDS] = {0};
    int status = NCOLL_OK;

    for (unsigned round = 0; round <= ROUNDS; round++)
        for (unsigned k = 0; k < KINDS; k++) {
            double *ns = &s->ns[k][round > 0 ? round - 1 : 0];
            int64_t calls;
            status = ask_how_many(ctx, deadline_ns, last_ns[k], &calls);
            if (status != NCOLL_OK || calls == 0)
                return status;
            status = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
            if (status == NCOLL_OK)
                status = kinds[k].writes > 0
                             ? exchange(ctx, kinds[k].writes, (unsigned)calls, ns)
                             : to_and_fro(ctx, s->buffer, kinds[k].bytes, (unsigned)calls, ns);
            if (status != NCOLL_OK)
                return status;
            last_ns[k] = *ns;
            s->n[k] = round > 0 ? round : 1;
        }
    return status;
}

static void fit(struct costs *out)
{
    out->o_ns = slope(out->ns, 0, 3, false);
    out->g_ns = slope(out->ns, 4, 6, false);
    out->L_ns = out->ns[0] - out->o_ns;
    out->G_ns = slope(out->ns, 7, 10, true);
    out->good = out->o_ns > 0 && out->L_ns > 0 && out->G_ns > 0;
}

int costs_measure(ncoll_context *ctx, struct costs *out, double budget_s)
{
    struct samples *s = calloc(1, sizeof *s);
    int status = NCOLL_ERR_MEMORY;

    if (s == NULL)
        return status;
    s->buffer = calloc(1, kinds[KINDS - 1].bytes);
    if (s->buffer != NULL)
        status = all_rounds(ctx, s, budget_s);
    if (status == NCOLL_OK && s->n[KINDS - 1] == 0)
        status = failure_say(NCOLL_ERR_UNSUPPORTED,
                             "%g s are too short to measure the costs of messages: give more with "
                             "--budget",
                             budget_s);
    for (unsigned k = 0; k < KINDS && status == NCOLL_OK; k++) {
        stats_sort_reals(s->ns[k], s->n[k]);
        out->ns[k] = s->ns[k][s->n[k] / 10];
    }
    free(s->buffer);
    free(s);
    if (status != NCOLL_OK)
        return status;
    fit(out);
    return ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
}

int costs_can_be(ncoll_context *ctx)
{
    ncoll_stats stats = {.size = sizeof stats};
    int status = ncoll_context_stats(ctx, &stats);

    if (status != NCOLL_OK ||
        (stats.ranks == 2 && !stats.oversubscribed && strcmp(stats.transport, "shm+verbs") != 0))
        return status;
    return failure_say(
        NCOLL_ERR_UNSUPPORTED,
        "the costs of messages are measured between two ranks on cores of their own; this job has "
        "%d ranks over %s%s",
        stats.ranks, stats.transport, stats.oversubscribed ? " that share cores" : "");
}

/* ------------------------------------------------------------------ what comes of it ---------- */

int costs_write(ncoll_context *ctx, const struct costs *costs, const struct tune_options *o)
{
    struct tune_section section = {.has_costs = true,
                                   .cost = {costs->L_ns, costs->o_ns, costs->G_ns}};
    struct tune_rule none;
    struct tune_table table = {
        .sections = &section, .n_sections = 1, .sections_max = 1, .rules = &none};

    ncoll__tune_here(ctx, &section.key);
    section.key.ranks_per_core_milli = 1000;
    return report_merge(ctx, &table, o->file, json_words_to(o->json));
}

int costs_print(const ncoll_context *ctx, const struct costs *costs, const char *json)
{
    json_t *samples = json_array();
    FILE *out = json_words_to(json);
    struct tune_key key;

    fprintf(out,
            "L  %10.1f ns    latency of a notified write\n"
            "o  %10.1f ns    each further write of few at once\n"
            "g  %10.1f ns    each further write of many at once\n"
            "G  %10.4f ns    each byte of a long message\n",
            costs->L_ns, costs->o_ns, costs->g_ns, costs->G_ns);
    if (!costs->good)
        fprintf(
            out,
            "these costs are not plausible: something else disturbed the machine; measure again\n");
    for (unsigned k = 0; k < KINDS; k++)
        json_array_append_new(samples,
                              json_pack("{s:i, s:I, s:f}", "writes", kinds[k].writes, "bytes",
                                        (json_int_t)kinds[k].bytes, "ns", costs->ns[k]));
    ncoll__tune_here(ctx, &key);
    json_t *tree = json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:o}", "version",
                             key.version, "machine", key.machine, "transport", key.transport,
                             "device", key.device, "L_ns", costs->L_ns, "o_ns", costs->o_ns, "g_ns",
                             costs->g_ns, "G_ns_per_byte", costs->G_ns, "exchanges", samples);
    int status = json != NULL ? json_write(json, json_dump, tree) : 0;
    json_decref(tree);
    return status == 0 && output_written(stdout) ? 0 : -1;
}
