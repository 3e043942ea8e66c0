/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning: for each collective and size, a point, what could run is listed and predicted
 * (candidates.c); what promises enough is measured, taking turns, and the best of it again and
 * again (measure.c), in sweeps over all points, each in a context of its own (sweeps.c). What was
 * measured is compared in judge.c. Rank 0 prints what was found and writes it to the table
 * (report.c).
 */
#ifndef NCOLL_TOOLS_TUNE_TUNE_H
#define NCOLL_TOOLS_TUNE_TUNE_H

#include <jansson.h>
#include <stdio.h>

#include "lib/inspect.h"
#include "lib/tune/file.h"

#define CANDIDATES_MAX 32 /* measured for one point */
#define SIZES          32

struct tune_options {
    int ranks; /* to fork; 0: the launcher made them */
    int cores;
    const char *transport;
    const char *file;     /* NULL: the user's */
    unsigned collectives; /* bits 1u << enum collective */
    size_t sizes[SIZES];  /* bytes of the vector or block, ascending */
    unsigned n_sizes;
    bool sizes_given;
    double budget_s;
    bool costs;       /* measures what messages cost, and nothing else */
    const char *json; /* of what was measured: file; "-": stdout, and what is for people on stderr;
                         NULL: none */
    bool check;       /* measures what runs now against the rest, and writes nothing */
};

/*
 * Candidates are measured in sweeps over all points, each sweep in a context of its own: by its
 * processes, if ranks are forked. Sweeps of the first phases find out who is worth it; fewer and
 * fewer are left. Those of the last phase count.
 */
enum phase { PHASE_ALL, PHASE_SOME, PHASE_FEW, PHASES };
#define SWEEPS_MAX 48 /* of a phase */

/* algorithm NULL: whatever the library chooses. */
struct candidate {
    const struct algorithm *algorithm;
    unsigned radix, lanes;
    size_t segment_bytes; /* 0: as long as fits */
    double predicted_ns;
    uint64_t mark; /* of its schedule, see lib/inspect.h; on rank 0 */
    bool same_bits;
    bool left;                   /* in the contest: of those that are the fastest so far */
    double sweep_us[SWEEPS_MAX]; /* of a call, in each sweep of the phase: point.sweeps of them */
};

struct point {
    enum collective collective;
    size_t bytes;
    unsigned listed; /* that could run, and differ */
    struct candidate
        candidates[CANDIDATES_MAX]; /* to be measured; the first is the library's own */
    unsigned n;
    unsigned sweeps;    /* of this phase, so far */
    struct choice own;  /* what the library chooses */
    unsigned untuned;   /* of the candidates: what it would choose without a table */
    unsigned best;      /* of the candidates; */
    unsigned same_bits; /* and of those that give all ranks the same bits */
};

/* Lists what could run for a point, predicts it, and keeps what promises most. The same on all
 * ranks: rank 0's list is sent. NCOLL_OK or an error. */
int candidates_list(ncoll_group *world, struct point *p);

/* Makes the library use it for the collective. */
int candidate_force(ncoll_group *world, enum collective collective, const struct candidate *c);

/* The barrier that runs without a table. Calls that do not wait for all ranks are measured with one
 * between, and the order in which it lets ranks go is part of how long they take: so it is the same
 * when a table is made and when it is checked. */
int candidate_barrier(ncoll_group *world, struct candidate *out);

/* Before a phase: which of a point's candidates are left; its sweeps begin anew. */
void point_narrow(struct point *p, enum phase phase);
/* Measures them once more, for so long, or as often as a sweep needs. NCOLL_OK or an error. */
int point_measure(ncoll_context *ctx, struct point *p, double most_s);

/* What is known from one sweep to the next, by all ranks; without pointers to itself. */
struct tuning {
    size_t bytes; /* of all of it */
    uint64_t start_ns;
    double budget_s;
    enum phase phase; /* PHASES: all is done */
    unsigned sweep;   /* of the phase */
    unsigned n;
    struct point points[];
};

/* In memory that forked ranks share. NULL: there is none. */
struct tuning *tuning_make(const struct tune_options *o);
void tuning_free(struct tuning *t);
/* One sweep, in a new context, and what is to be next; before the first one candidates are listed,
 * after the last one the best are found. NCOLL_OK or an error. */
int tuning_sweep(ncoll_context *ctx, struct tuning *t);

/* Ways to deal out ranks to fewer cores (deal.c): the core of a rank, 0..cores-1. */
#define DEALS 3
unsigned deal_core(unsigned deal, unsigned rank, unsigned ranks, unsigned cores);
/* The way of the sweep that is next: both halves of the sweeps that count have the same ones. */
unsigned tuning_deal(const struct tuning *t);
/* Puts this process there, if ranks outnumber the cores that it may run on. */
void deal_apply(unsigned deal, unsigned rank, unsigned ranks);

/* Of a call, over all sweeps of the phase (judge.c); 0: not known. */
double candidate_us(const struct point *p, unsigned candidate);
/* How much longer one takes than the other, by both halves of the sweeps, every other one each, or
 * by one half. 1: not known. */
enum half { HALF_FIRST, HALF_SECOND, HALF_BOTH };
double candidate_ratio(const struct point *p, unsigned candidate, unsigned other, enum half half);
/* The fastest of some, of those that were measured; CANDIDATES_MAX: there is none. */
unsigned point_fastest(const struct point *p, const bool *some, bool same_bits);
/* After the last sweep: finds the best. */
void point_settle(struct point *p);
/* How much longer a candidate of the point takes than the fastest: by each half of the sweeps,
 * than the one that is the fastest by the other half, which was not picked for its luck. Less than
 * 1 where it is faster than that. */
double point_ratio(const struct point *p, unsigned candidate);

/* On rank 0. Prints what was found; returns 0, or -1 if that cannot be. */
int report_print(const struct point *points, unsigned n, const struct tune_options *options);
/* All candidates as JSON. 0, or -1 if that cannot be written, which is said. */
int report_json(const struct point *points, unsigned n, const char *json);
/* Writes it to the file, for "-" to standard output, for NULL nowhere, and releases it. 0 or -1. */
int json_write(json_t *tree, const char *json);
/* Where words are for people: JSON alone on standard output can go through a pipe. */
FILE *json_words_to(const char *json);
/* Writes it to the file: 0, or -1, and says why; where it is, on standard output. Before the
 * report, as what was measured is not to be lost with it. report_merge(): a table; where it is, to
 * out. */
int report_merge(ncoll_context *ctx, const struct tune_table *table, const char *file, FILE *out);
int report_write(ncoll_context *ctx, const struct point *points, unsigned n,
                 const struct tune_options *o);
/* On all ranks, before anything is measured: whether rank 0 could write it, who says why not. */
int report_can_write(ncoll_context *ctx, const char *file, int64_t *can);

/* What messages cost between two ranks, as LogGP has it: see costs.c. */
struct costs {
    double L_ns, o_ns, g_ns, G_ns; /* G: of a byte */
    double ns[11];                 /* of each kind of exchange */
    bool good;                     /* they can be */
};

/* NCOLL_OK, or why this job cannot measure them. */
int costs_can_be(ncoll_context *ctx);
int costs_measure(ncoll_context *ctx, struct costs *out, double budget_s);
/* On rank 0, as report_print() and report_write(). */
int costs_print(const ncoll_context *ctx, const struct costs *costs, const char *json);
int costs_write(ncoll_context *ctx, const struct costs *costs, const struct tune_options *o);

#endif
