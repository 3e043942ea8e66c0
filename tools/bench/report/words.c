/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the sentences around the table. */
#include "tools/bench/measure/cores.h"
#include "tools/bench/names.h"
#include "tools/bench/report/report.h"

static void print_job(const struct job *job, FILE *out)
{
    const struct ncoll_stats *s = &job->sum;
    const struct options *o = job->options;

    fprintf(out, "ncoll %s: %d rank%s on %d node%s over %s, started by %s%s%s\n", ncoll_version(),
            s->ranks, s->ranks == 1 ? "" : "s", s->nodes, s->nodes == 1 ? "" : "s", s->transport,
            s->bootstrap, job->bound ? ", bound to cores" : "",
            s->oversubscribed ? ", more ranks than cores" : "");
    if (o->collectives & ~(1u << COLL_BARRIER))
        fprintf(out, "%s, %s, %s memory%s; ", name_text(names_of_types, (int)o->type),
                name_text(names_of_ops, (int)o->op), name_text(names_of_memory, (int)o->memory),
                o->fresh ? ", written before each call" : "");
    fprintf(out, "seed %llu\n", (unsigned long long)job->seed);
}

static void print_sampling(const struct job *job, FILE *out)
{
    const struct options *o = job->options;

    fprintf(out,
            "p50: median time of a call, which is the maximum over ranks; its 95 %% interval;\n"
            "p99: 99th percentile; loop: time of many calls in a row, divided by their number\n");
    if (o->precision > 0)
        fprintf(out, "calls until the interval is within %g %% of p50, for %g s or up to %u\n",
                o->precision, o->budget_s, o->iterations);
}

static void print_conditions(const struct job *job, FILE *out)
{
    const struct options *o = job->options;

    if (o->start == START_BARRIER)
        fprintf(out, "calls begin after a barrier\n");
    if (o->start == START_WINDOW)
        fprintf(out,
                "calls begin in windows of synchronised clocks: offset up to %.3f us, error up to "
                "%.3f us\n",
                job->clock_offset_us, job->clock_error_us);
    if (o->skew_us > 0 && o->skew == SKEW_ONE)
        fprintf(out, "a rank drawn for each call is %u us late; times from its entry\n",
                o->skew_us);
    if (o->skew_us > 0 && o->skew == SKEW_ALL)
        fprintf(out, "each rank is late by 0 to %u us, uniform; times from the last entry\n",
                o->skew_us);
    if (o->interfere > 0)
        fprintf(out, "beside %u foreign process%s on each core, %s\n", o->interfere,
                o->interfere == 1 ? "" : "es",
                o->in_bursts ? "busy for 1 ms in 10" : "always busy");
    if (o->cold)
        fprintf(out, "caches emptied before each call: %zu MiB written\n", job->cold_bytes >> 20);
    if (o->overlap)
        fprintf(out, "overlap: part of the call that is hidden by as much computation between "
                     "its\nstart and its wait\n");
    if (job->sum.oversubscribed && o->wide)
        fprintf(out, "switches, sleeps: of one rank in one call%s\n",
                o->start == START_FOLLOW ? "" : " and in the barrier or window before it");
}

void report_head(const struct job *job, FILE *out)
{
    print_job(job, out);
    print_sampling(job, out);
    print_conditions(job, out);
}

static uint64_t most_of(uint64_t root, uint64_t others)
{
    return root > others ? root : others;
}

/* Prints the stages of creation, and what the bootstrap has sent. */
static void print_creation(const struct startup *s, FILE *out)
{
    static const char *const stages[] = {"bootstrap", "devices", "exchange", "wiring"};
    const struct startup_costs *of[] = {&s->root, &s->others};
    static const char *const who[] = {"of rank 0", "of another rank, at most"};

    fprintf(out, "creation:");
    for (unsigned i = 0; i < STARTUP_STAGES; i++)
        fprintf(out, "%s %s %.3f ms", i > 0 ? "," : "", stages[i],
                (double)most_of(s->root.ns[i], s->others.ns[i]) / 1e6);
    fprintf(out, " (each the most of any rank)\n");
    for (unsigned i = 0; i < 2; i++)
        if (of[i]->sockets > 0)
            fprintf(out,
                    "bootstrap %s: %llu sockets at once, sent %llu frames with %llu bytes, "
                    "received %llu with %llu\n",
                    who[i], (unsigned long long)of[i]->sockets,
                    (unsigned long long)of[i]->frames_sent, (unsigned long long)of[i]->bytes_sent,
                    (unsigned long long)of[i]->frames_received,
                    (unsigned long long)of[i]->bytes_received);
    if (s->sum.fences > 0)
        fprintf(
            out,
            "bootstrap of all ranks: %llu puts with %llu bytes, %llu gets with %llu bytes, %llu "
            "fences of each\n",
            (unsigned long long)s->sum.puts, (unsigned long long)s->sum.bytes_sent,
            (unsigned long long)s->sum.gets, (unsigned long long)s->sum.bytes_received,
            (unsigned long long)s->root.fences);
}

static void print_startup(const struct job *job, FILE *out)
{
    const struct startup *s = &job->startup;

    fprintf(out,
            "start: context %.3f ms, first barrier %.3f ms; memory of a rank: resident %.1f MiB, "
            "windows %.1f MiB, registered %.1f MiB (each the most of any rank)\n",
            (double)s->create_ns / 1e6, (double)s->barrier_ns / 1e6,
            (double)s->resident_bytes / (1 << 20), (double)s->window_bytes / (1 << 20),
            (double)s->registered_bytes / (1 << 20));
    print_creation(s, out);
    for (unsigned i = 0; i < job->n_rows; i++) {
        const struct row *row = &job->rows[i];
        char size[32] = "";
        if (row->collective == 0)
            continue;
        if (row->bytes > 0)
            snprintf(size, sizeof size, " of %zu bytes", row->bytes);
        fprintf(out, "first %s%s%s%s: %.2f us\n", row->subject->label,
                row->subject->label[0] != '\0' ? " " : "", report_name(row), size, row->first_us);
    }
}

/* Prints the counters that have changed: over all timed calls, and for each call. */
static void print_hca(const struct job *job, FILE *out)
{
    uint64_t calls = 0;
    bool any = false;

    for (unsigned i = 0; i < job->n_rows; i++)
        calls += job->rows[i].calls;

    for (unsigned c = 0; job->hca != NULL && c < job->hca->n; c++) {
        uint64_t sum = 0;
        for (unsigned i = 0; i < job->n_rows; i++)
            sum += job->rows[i].hca[c];
        if (sum == 0)
            continue;
        fprintf(out, "%s%s %llu (%.3g a call)",
                any ? ", " : "device of rank 0: ", job->hca->names[c], (unsigned long long)sum,
                (double)sum / (double)calls);
        any = true;
    }
    if (any)
        fputc('\n', out);
}

/* Prints how a hypervisor has moved the ranks during the measurement. */
static void print_cores(const struct job *job, FILE *out)
{
    double sums_us[CORES_KINDS] = {0};
    unsigned counts[CORES_KINDS] = {0}, all = 0, kinds = 0;

    for (unsigned i = 0; job->sees_cores && i < job->n_rows; i++) {
        const struct row *row = &job->rows[i];
        for (unsigned k = 0; k < row->calls / row->batch * CORES_LOOKS; k++, all++) {
            double exchange_us = (double)row->cores_ns[k] / 1e3;
            sums_us[cores_kind(exchange_us)] += exchange_us;
            counts[cores_kind(exchange_us)]++;
        }
    }
    for (unsigned kind = 0; kind < CORES_KINDS; kind++)
        kinds += counts[kind] > 0;
    if (kinds < 2)
        return;
    fprintf(out, "the distance between cores changed: a bare exchange took, around batches,\n ");
    for (unsigned kind = 0, said = 0; kind < CORES_KINDS; kind++)
        if (counts[kind] > 0)
            fprintf(out, "%s %.3f us (%.0f %%)", said++ > 0 ? "," : "",
                    sums_us[kind] / counts[kind], 100.0 * counts[kind] / all);
    fputc('\n', out);
}

void report_foot(const struct job *job, FILE *out)
{
    const struct ncoll_stats *s = &job->sum;

    fprintf(out, "receiver not ready: %llu, sleeps: %llu, connections: %d a rank\n",
            (unsigned long long)s->rnr, (unsigned long long)s->sleeps, s->connections);
    if (s->rail_bytes > 0)
        fprintf(out, "second network card: %.0f %% of all bytes\n",
                100.0 * (double)s->rail_bytes / (double)s->put_bytes);
    for (unsigned i = 0; i < job->n_rows; i++)
        if (rate_of(&job->rows[i]) > 0)
            fprintf(out, "message rate: %.2f million a second from each rank, and as many to it\n",
                    rate_of(&job->rows[i]) / 1e6);
    if (!job->options->wide)
        fprintf(out, "--wide prints all percentiles, the bandwidth, the radix and every ratio\n");
    print_cores(job, out);
    print_hca(job, out);
    if (job->options->startup)
        print_startup(job, out);
}
