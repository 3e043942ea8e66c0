/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-mf-sgd: matrix factorisation by stochastic gradient descent, with a stale-synchronous
 * allreduce: section V a of Iakymchuk et al., "Efficient and Eventually Consistent Collective
 * Operations", 2022. An example of a program that uses ncoll_eventual.h.
 *
 *     ratings.c    reads the ratings
 *     generate.c   makes them up
 *     problem.c    gives each rank the ratings of some users
 *     model.c      the model, its gradients and its error
 *     pace.c       how long iterations take: emulated computation, stragglers
 *     exchange.c   its collective
 *     sgd.c        the iteration
 *     report.c     what is printed
 *
 * A rank has the factors of its own users, and a copy of the factors of all movies. In an iteration it
 * makes steps for a batch of its ratings: those of users at once; those of movies are added to the sum
 * of all its updates since the beginning. This sum is what the rank contributes to the allreduce, and
 * the factors of movies are those of the beginning plus the sum over all ranks. So an update is never
 * lost, nor used twice, however old the contributions are: later ones contain earlier ones.
 *
 * Functions that return int return a ncoll_status; if that is not NCOLL_OK, they have printed the
 * error.
 */
#ifndef NCOLL_EXAMPLES_MF_SGD_MF_H
#define NCOLL_EXAMPLES_MF_SGD_MF_H

#include <ncoll_eventual.h>

#include "model.h"
#include "ratings.h"

#define STRAGGLERS_MAX 16

/* ------------------------------------------------------------------ options ------------------ */

/* Ranks whose iterations take longer. */
struct straggler {
    int rank;      /* -1: any rank, in each iteration with this probability: */
    double chance; /* 1 for a certain rank */
    double factor; /* by which the time of an iteration is multiplied */
};

/* How long an iteration takes: see pace.c. */
struct pace {
    uint64_t compute_ns; /* 0: as long as it takes */
    double jitter;       /* it is multiplied by a random number in 1 - jitter .. 1 + jitter */
    unsigned n_stragglers;
    struct straggler stragglers[STRAGGLERS_MAX];
    uint64_t seed;
};

struct mf_options {
    int ranks;        /* ranks to fork; 0: a launcher started them, or there is one rank */
    const char *file; /* with the ratings; NULL: they are made up */
    struct ratings_shape shape;
    const char
        *write; /* file to write ratings to that were made up, and train nothing; NULL: none */
    unsigned factors, iterations;
    struct steps steps;
    int slack;
    ncoll_stale_algorithm algorithm;
    struct pace pace;
    unsigned lines;   /* of iterations that are printed */
    const char *json; /* file for all iterations, "-" for stdout; NULL: none */
};

/* Reads the command line. A mistake is printed unless `quiet`, and ends the process with status 64. */
void mf_options_parse(int argc, char **argv, bool quiet, struct mf_options *out);

/* Reads RANK:FACTOR or random:PROBABILITY:FACTOR. Returns false if the text is neither. */
bool straggler_parse(const char *text, struct straggler *out);

/* ------------------------------------------------------------------ time --------------------- */

/* Real or virtual time. */
struct mf_clock {
    uint64_t (*now_ns)(void);
    void (*sleep_until)(uint64_t at_ns);
};

extern const struct mf_clock mf_clock_real;

/* By what the time of an iteration of a rank is multiplied. */
double pace_factor(const struct pace *p, int rank, uint64_t iteration);

/* Waits until the iteration that began at start_ns has taken as long as it should. Returns false if it
 * has taken longer already. */
bool pace_wait(const struct pace *p, const struct mf_clock *clock, int rank, uint64_t iteration,
               uint64_t start_ns);

/* ------------------------------------------------------------------ the problem -------------- */

struct problem {
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    int32_t users, movies;     /* of all ranks */
    struct share train, test;  /* of this rank */
    int64_t trained, held_out; /* ratings of all ranks */
    struct model model;
};

int problem_make(const struct mf_options *options, ncoll_context *ctx, struct problem *out);
void problem_free(struct problem *p);

/* ------------------------------------------------------------------ the collective ----------- */

struct exchange {
    ncoll_stale *stale;
    int slack;
    size_t elements;
    int64_t *updates; /* [elements] of all ranks: the sum of what they have sent */
};

/* Collective. */
int exchange_open(const struct mf_options *options, const struct problem *p, struct exchange *out);

/* Sends p->model.sent, and fills in e->updates and the result. */
int exchange_updates(struct exchange *e, const struct problem *p, ncoll_stale_result *result);

/* Collective if status is NCOLL_OK. Otherwise the rank has failed, and this returns the status. */
int exchange_close(struct exchange *e, const struct problem *p, int status);

/* ------------------------------------------------------------------ the iteration ------------ */

/* A rank after an iteration; the first one is for the beginning. These are uint64_t alone, since they
 * are gathered as such. */
struct moment {
    uint64_t at_ns;      /* time since the beginning */
    uint64_t error;      /* of the model, for this rank's share: see model_error() */
    uint64_t behind;     /* clock of the rank less the oldest clock in the result */
    uint64_t in_call_ns; /* time in the allreduce, */
    uint64_t waited_ns;  /* and what of it the call has waited for contributions */
};
#define MOMENT_WORDS (sizeof(struct moment) / sizeof(uint64_t))

struct run {
    struct moment *moments; /* [iterations + 1] */
    uint64_t overruns;      /* iterations that took longer than they should */
};

int sgd_run(const struct mf_options *options, struct problem *p, const struct mf_clock *clock,
            struct run *out);
void run_free(struct run *run);

/* ------------------------------------------------------------------ the program -------------- */

/* Runs a rank, from joining the job to leaving it. Returns the exit status. */
int mf_rank(const ncoll_params *params, const struct mf_options *options,
            const struct mf_clock *clock);

/* Prints the report on rank 0. Collective. An output that cannot be written is reported, and is no
 * failure of the job. */
int mf_report(const struct mf_options *options, const struct problem *p, const struct run *run,
              bool *written);

#endif
