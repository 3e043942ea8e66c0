/* SPDX-License-Identifier: BSD-3-Clause */
/* The aims, and the tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/measure/node_table.h"

#define KIB 1024u

/* At most so many microseconds, or that part of the MPI's time. 0, 0: none. */
struct aim {
    double us, ratio;
};

static struct aim aim_on_two_cores(const struct key *key)
{
    bool alloc = strcmp(key->memory, "alloc") == 0;

    if (strcmp(key->what, "barrier") == 0)
        return (struct aim){.us = 0.10};
    if (key->bytes == 8)
        return (struct aim){.us = 0.12};
    return (struct aim){.ratio = key->bytes < 64 * KIB ? 0.6 : alloc ? 0.5 : 0.8};
}

static struct aim aim_of(const struct key *key)
{
    if (key->nodes > 1)
        return (struct aim){.ratio = 0.5};
    if (key->ranks == 2)
        return aim_on_two_cores(key);
    if (strcmp(key->what, "barrier") == 0)
        return (struct aim){.ratio = key->ranks == 4 ? 0.5 : 0.4};
    return (struct aim){.ratio = key->bytes < 64 * KIB ? 0.3 : 0.6};
}

/* ------------------------------------------------------------------ cells --------------------- */

static int digits_of(double us)
{
    return us < 1 ? 3 : us < 10 ? 2 : us < 100 ? 1 : 0;
}

static void cell_us(double us)
{
    if (us > 0)
        printf(" %.*f |", digits_of(us), us);
    else
        printf(" - |");
}

/* Median and, of several runs, least and most. */
static void cell_series(const struct series *s)
{
    double median = median_of(s), least = least_of(s), most = most_of(s);
    int digits = digits_of(median);

    if (s->n > 1)
        printf(" %.*f (%.*f-%.*f) |", digits, median, digits, least, digits, most);
    else
        cell_us(median);
}

static void cell_ratio(double ratio)
{
    if (ratio > 0)
        printf(" %.2f |", ratio);
    else
        printf(" - |");
}

/* -1: no figure, 0: missed, 1: met */
static int is_met(struct aim aim, const struct series *ours, const struct series *mpi)
{
    double figure = aim.us > 0 ? median_of(ours) : ratio_of(ours, mpi);

    return figure <= 0 ? -1 : figure <= (aim.us > 0 ? aim.us : aim.ratio);
}

struct tally {
    unsigned met, aims;
};

/* By the loop where there is one; if the medians of single calls say another thing, that too. */
static void cell_met(struct aim aim, const struct figure *f, struct tally *tally)
{
    const struct measured *ours = &f->by[NCOLL], *mpi = &f->by[MPI];
    int p50 = is_met(aim, &ours->p50_us, &mpi->p50_us);
    int loop = is_met(aim, &ours->loop_us, &mpi->loop_us);
    int counts = loop >= 0 ? loop : p50;

    tally->aims += counts >= 0;
    tally->met += counts > 0;
    if (counts < 0)
        printf(" - |");
    else if (loop >= 0 && p50 != loop)
        printf(" %s (p50 %s) |", loop ? "yes" : "no", p50 ? "yes" : "no");
    else
        printf(" %s |", counts ? "yes" : "no");
}

static void cell_bytes(size_t bytes)
{
    if (bytes == 0)
        printf(" - |");
    else if (bytes >= KIB * KIB && bytes % (KIB * KIB) == 0)
        printf(" %zuM |", bytes / (KIB * KIB));
    else if (bytes >= KIB && bytes % KIB == 0)
        printf(" %zuK |", bytes / KIB);
    else
        printf(" %zu |", bytes);
}

/* ------------------------------------------------------------------ tables -------------------- */

static void print_line(const struct table *t, const struct figure *f, struct tally *tally)
{
    const struct measured *ours = &f->by[NCOLL], *mpi = &f->by[MPI];
    struct aim aim = aim_of(&f->key);
    bool loop = ours->loop_us.n > 0;
    double limit = limit_us(t, &f->key, loop);
    double figure = median_of(loop ? &ours->loop_us : &ours->p50_us);

    printf("| %s%s%s |", f->key.what, f->key.distribution[0] != '\0' ? " " : "",
           f->key.distribution);
    cell_bytes(f->key.bytes);
    printf(" %s | %s |", f->key.memory, f->key.fresh ? "fresh" : "unchanged");
    cell_series(&ours->p50_us);
    cell_series(&mpi->p50_us);
    cell_ratio(ratio_of(&ours->p50_us, &mpi->p50_us));
    cell_series(&ours->loop_us);
    cell_series(&mpi->loop_us);
    cell_ratio(ratio_of(&ours->loop_us, &mpi->loop_us));
    printf(aim.us > 0 ? " %.2f us |" : " %.1f |", aim.us > 0 ? aim.us : aim.ratio);
    cell_met(aim, f, tally);
    cell_us(limit);
    cell_ratio(limit > 0 ? figure / limit : 0);
    if (f->key.ranks > 2) {
        cell_ratio(median_of(&ours->switches));
        cell_ratio(median_of(&mpi->switches));
    }
    printf("\n");
}

static void print_head(const struct key *key)
{
    if (key->nodes > 1)
        printf("\n### %d ranks on %d nodes\n\n", key->ranks, key->nodes);
    else
        printf("\n### %d ranks on 2 cores\n\n", key->ranks);
    printf("| | bytes | memory | data | p50 us | MPI p50 | ratio | loop us | MPI loop | ratio "
           "| aim | met | limit us | to limit |%s\n",
           key->ranks > 2 ? " switches | MPI's |" : "");
    printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|%s\n",
           key->ranks > 2 ? "---|---|" : "");
}

static const char *text_of(const json_t *environment, const char *key)
{
    const char *text = json_string_value(json_object_get(environment, key));

    return text != NULL ? text : "unknown";
}

static void print_legend(const struct table *t)
{
    const json_t *e = t->environment;
    unsigned runs = 0;

    for (unsigned i = 0; i < t->n_figures; i++)
        if (t->figures[i].by[NCOLL].p50_us.n > runs)
            runs = t->figures[i].by[NCOLL].p50_us.n;
    printf("ncoll %s beside %s; %s, %lld processors, Linux %s; %s. Medians of %u run%s "
           "(least-most).\n",
           text_of(e, "version"), text_of(e, "mpi_version"), text_of(e, "cpu_model"),
           (long long)json_integer_value(json_object_get(e, "cores")), text_of(e, "kernel"),
           text_of(e, "date"), runs, runs == 1 ? "" : "s");
    printf("\n"
           "p50: median of the maximum over ranks of each call's time. loop: time of calls one "
           "after the other, divided by their number, where nothing keeps them apart. Ratios are "
           "those of single runs; aims are ratios unless in us, and are met by the loop where "
           "there is one. Bytes: of the vector, or of a block on average. switches: context "
           "switches of a rank in one call of the loop.\n"
           "\n"
           "limit: 2 ranks, short vectors: the bare exchange of two flags; more ranks: a barrier "
           "of bare flags, yielding between looks; from 4 KiB on: memcpy() of as many bytes by all "
           "ranks at once, for 2 ranks and fresh data of what the other core has just written; two "
           "nodes: the bare exchange or a barrier of one pair, whichever is faster, and for "
           "allgatherv the bytes that cross at the exchange's bandwidth.\n");
}

/* Of the collectives, as users think of them. */
static int place_of(const struct key *key)
{
    static const char *const order[] = {"barrier", "allreduce",  "allgatherv",
                                        "regular", "decreasing", "broadcast"};
    int place = 0;

    for (int i = 0; i < 6; i++)
        if (strcmp(key->what, order[i]) == 0 || strcmp(key->distribution, order[i]) == 0)
            place = 10 * place + i;
    return place;
}

static int by_key(const void *left, const void *right)
{
    const struct key *a = &((const struct figure *)left)->key;
    const struct key *b = &((const struct figure *)right)->key;

    if (a->nodes != b->nodes)
        return a->nodes - b->nodes;
    if (a->ranks != b->ranks)
        return a->ranks - b->ranks;
    if (place_of(a) != place_of(b))
        return place_of(a) - place_of(b);
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (strcmp(a->memory, b->memory) != 0)
        return -strcmp(a->memory, b->memory); /* malloc first */
    return a->fresh - b->fresh;
}

void print_tables(struct table *t)
{
    const struct key *last = NULL;
    struct tally tally = {0};

    qsort(t->figures, t->n_figures, sizeof t->figures[0], by_key);
    print_legend(t);
    for (unsigned i = 0; i < t->n_figures; i++) {
        const struct figure *f = &t->figures[i];
        if (f->by[NCOLL].p50_us.n == 0 || f->by[MPI].p50_us.n == 0)
            continue;
        if (last == NULL || last->nodes != f->key.nodes || last->ranks != f->key.ranks)
            print_head(&f->key);
        print_line(t, f, &tally);
        last = &f->key;
    }
    printf("\n%u of %u aims are met.\n", tally.met, tally.aims);
}
