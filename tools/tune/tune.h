/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning. A point is one collective and one size. For each point the possible choices are listed
 * and predicted (candidates.c). Those with good predictions are measured in turns, and the best of
 * them again and again (measure.c), in sweeps over all points, each in a context of its own
 * (sweeps.c). judge.c compares the measurements. Rank 0 prints the results and writes them to the
 * table (report.c).
 */
#ifndef NCOLL_TOOLS_TUNE_TUNE_H
#define NCOLL_TOOLS_TUNE_TUNE_H

#include <jansson.h>
#include <stdio.h>

#include "tools/inside.h"
#include "tools/bench/measure/progress.h"

#define CANDIDATES_MAX 32 /* measured for one point */
#define SIZES          32

struct tune_options {
    int ranks; /* ranks to fork; 0: a launcher started them */
    int cores;
    const char *transport;
    const char *file;     /* NULL: the user's own table */
    unsigned collectives; /* bits 1u << enum collective */
    size_t sizes[SIZES];  /* bytes of the vector or block, ascending */
    unsigned n_sizes;
    uint64_t given; /* options, see tools/arguments.h */
    double budget_s;
    bool costs;       /* measures what messages cost, and nothing else */
    const char *json; /* of what was measured: file; "-": stdout, and what is for people on stderr;
                         NULL: none */
    bool quiet;       /* shows no progress */
    bool wide;        /* prints all columns */
    bool check;       /* measures what runs now against the rest, and writes nothing */
    bool rules;       /* prints the table as rules, and measures nothing */
};

/*
 * Candidates are measured in sweeps over all points. Each sweep has a context of its own, and
 * processes of its own if ranks are forked. The first phases have few sweeps, which find the best
 * candidates; fewer and fewer are left. The sweeps of the last phase count.
 */
enum phase { PHASE_ALL, PHASE_SOME, PHASE_FEW, PHASES };
#define SWEEPS_MAX 48 /* the most of one phase */

/* A candidate. algorithm NULL: the library's own choice. */
struct candidate {
    const struct algorithm *algorithm;
    unsigned radix, lanes;
    size_t segment_bytes; /* 0: as long as the window allows */
    double predicted_ns;
    uint64_t mark; /* hash of its schedule, see lib/inspect.h; on rank 0 */
    bool same_bits;
    bool left; /* it is among the fastest so far, and will be measured again */
    /* time of a call in each sweep of the phase; point.sweeps of them */
    double sweep_us[SWEEPS_MAX];
};

struct point {
    enum collective collective;
    size_t bytes;
    unsigned listed; /* number of different candidates that could run */
    /* candidates to measure; the first is the library's own choice */
    struct candidate candidates[CANDIDATES_MAX];
    unsigned n;
    unsigned sweeps;    /* sweeps of this phase so far */
    struct choice own;  /* the library's own choice */
    unsigned untuned;   /* index of the candidate that runs without a table */
    unsigned best;      /* index of the best candidate */
    unsigned same_bits; /* index of the best that gives all ranks the same bits */
};

/* Lists what could run for a point, predicts it, and keeps the candidates with the best
 * predictions. It is the same on all ranks: rank 0 sends its list. Returns NCOLL_OK or an error. */
int candidates_list(ncoll_group *world, struct point *p);

/* Makes the library use a candidate for the collective. */
int candidate_force(ncoll_group *world, enum collective collective, const struct candidate *c);

/* Returns the barrier that runs without a table. It separates measured calls that do not wait for
 * all ranks. The order in which ranks leave it affects their times, so it is the same when a table
 * is made and when it is checked. */
int candidate_barrier(ncoll_group *world, struct candidate *out);

/* Called before a phase: drops candidates of a point, and starts its sweeps anew. */
void point_narrow(struct point *p, enum phase phase);
/* Measures the candidates of a point once more, for the given time or as often as a sweep needs.
 * Returns NCOLL_OK or an error. */
int point_measure(ncoll_context *ctx, struct point *p, double most_s);

/* The state that all ranks keep from one sweep to the next; it has no pointers to itself. */
struct tuning {
    size_t bytes; /* size of the whole structure */
    uint64_t start_ns;
    double budget_s;
    struct progress progress; /* on rank 0 */
    double sweep_s;           /* duration of the latest sweep */
    enum phase phase;         /* PHASES: everything is done */
    unsigned sweep;           /* number of the sweep in the phase */
    unsigned n;
    struct point points[];
};

/* Makes the state in memory that forked ranks share. Returns NULL if there is none. */
struct tuning *tuning_make(const struct tune_options *o);
void tuning_free(struct tuning *t);
/* Makes one sweep in a new context, and decides what comes next. Before the first sweep candidates
 * are listed; after the last one the best are found. Returns NCOLL_OK or an error. */
int tuning_sweep(ncoll_context *ctx, struct tuning *t);

/* The ways to place ranks on fewer cores (deal.c): each gives the core of a rank, 0..cores-1. */
#define DEALS 3
unsigned deal_core(unsigned deal, unsigned rank, unsigned ranks, unsigned cores);
/* Returns the way for the next sweep. Both halves of the sweeps that count use the same ways. */
unsigned tuning_deal(const struct tuning *t);
/* Binds this process to its core at first, if ranks outnumber the allowed cores. */
void deal_apply(unsigned deal, unsigned rank, unsigned ranks);

/* Returns the time of a call, over all sweeps of the phase (judge.c); 0: not known. */
double candidate_us(const struct point *p, unsigned candidate);
/* Compares two candidates: the ratio of their times, in both halves of the sweeps (every other
 * sweep each) or in one. 1: not known. */
enum half { HALF_FIRST, HALF_SECOND, HALF_BOTH };
double candidate_ratio(const struct point *p, unsigned candidate, unsigned other, enum half half);
/* Returns the fastest of some measured candidates, in one half or in both; CANDIDATES_MAX: there is
 * none. */
unsigned point_fastest(const struct point *p, const bool *some, bool same_bits, enum half half);
/* Finds the best candidates after the last sweep. */
void point_settle(struct point *p);
/* Returns how much longer a candidate takes than the fastest. In each half of the sweeps it is
 * compared with the candidate that is the fastest in the other half, which was not picked for its
 * luck in this one. The result may be less than 1. */
double point_ratio(const struct point *p, unsigned candidate);

/* On rank 0: prints the results. Returns 0, or -1 if they cannot be printed. */
int report_print(const struct point *points, unsigned n, const struct tune_options *options);
/* Returns the stream for people's words: JSON alone on standard output can go through a pipe. */
FILE *json_words_to(const char *json);
/* Writes the results to the file, before the report, so that they are not lost if the report fails.
 * Returns 0, or -1 after reporting the reason; prints the path on standard output. report_merge()
 * writes a table, and prints the path to out. */
int report_merge(ncoll_context *ctx, const struct tune_table *table, const char *file, FILE *out);
int report_write(ncoll_context *ctx, const struct point *points, unsigned n,
                 const struct tune_options *o);
/* On all ranks, before measuring: finds out whether rank 0 can write the file; rank 0 reports why
 * not. */
int report_can_write(ncoll_context *ctx, const char *file, int64_t *can);

/* The cost of messages between two ranks in terms of LogGP: see costs.c. */
struct costs {
    double L_ns, o_ns, g_ns, G_ns; /* G: for each byte */
    double ns[11];                 /* time of each kind of exchange */
    bool good;                     /* the values are plausible */
};

/* Returns NCOLL_OK, or the reason why this job cannot measure costs. */
int costs_can_be(ncoll_context *ctx);
int costs_measure(ncoll_context *ctx, struct costs *out, double budget_s);
/* On rank 0, as report_print() and report_write(). */
int costs_print(const ncoll_context *ctx, const struct costs *costs, const char *json);
int costs_write(ncoll_context *ctx, const struct costs *costs, const struct tune_options *o);

/* Prints the tuning table as rules (rules.c), and measures nothing. Returns the exit status. */
int rules_print(const struct tune_options *o);

#endif
