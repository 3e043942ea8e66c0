/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-cg: conjugate gradients on distributed rows. An example of a program that uses ncoll, and a
 * measurement of what collectives cost in one.
 *
 *     problem.c     rank 0 reads or makes the matrix, each rank gets a block of rows
 *     halo.c        which elements of a vector ranks need of each other
 *     solver.c      the iteration itself, and the time of its phases
 *     comm_ncoll.c  the collectives of the iteration, through ncoll
 *     comm_mpi.c    the same through MPI (ncoll-cg-openmpi, ncoll-cg-mpich)
 *     report.c      what is printed
 *
 * All communication outside the iteration goes through ncoll in both programs. Every function that
 * returns int returns a ncoll_status; if that is not NCOLL_OK, it has printed the error.
 */
#ifndef NCOLL_EXAMPLES_CG_CG_H
#define NCOLL_EXAMPLES_CG_CG_H

#include <stddef.h>

#include <ncoll.h>
#include "matrix.h"

#define CG_LIBRARIES 2 /* ncoll, MPI */
#define CG_RUNS      3 /* and ncoll untuned */

struct cg_options {
    int ranks;           /* ranks to fork; 0: a launcher started them, or there is one rank */
    const char *file;    /* Matrix Market file; NULL: the Laplace operator on a grid */
    struct grid grid;    /* grid of the Laplace operator */
    const char *write;   /* file to write the matrix to, without solving; NULL: none */
    unsigned blocks;     /* blocks of rows whose dot products are added up; 0: one for each rank */
    unsigned iterations; /* the most iterations */
    double tolerance;    /* it stops when the residual, divided by the first one, is below this */
    unsigned repeats;    /* solutions with each library */
    bool barriers;       /* make a barrier before each exchange and dot product */
    const char *history; /* the file for residuals, "-" for stdout; NULL: none */
    bool with[CG_LIBRARIES];
    bool untuned; /* also solve with ncoll and NCOLL_TUNE=off */
};

/* Reads the command line. A mistake is printed unless `quiet`, and ends the process with status 64.
 * has_mpi: the program is built with an MPI. */
void cg_options_parse(int argc, char **argv, bool has_mpi, bool quiet, struct cg_options *out);

/* ------------------------------------------------------------------ the problem -------------- */

/* The elements of its part of a vector that a rank sends to each other rank, and those that it
 * gets. */
struct halo {
    size_t *send_counts, *send_displs; /* per rank, in send[] */
    size_t *recv_counts, *recv_displs; /* per rank, in recv[] */
    size_t n_send, n_recv;
    int32_t *send_rows; /* n_send: indices of the elements, counted from the rank's first row */
    double *send;       /* n_send, packed */
    double *recv;       /* n_recv, after the rank's own part of the vector that is exchanged */
};

struct problem {
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    unsigned blocks;
    int64_t *bounds;  /* blocks + 1: first row of each block of rows of the whole matrix */
    struct matrix a;  /* this rank's rows */
    int64_t nonzeros; /* of the whole matrix */
    int32_t *columns; /* for each entry of a.columns: the index of the element in `direction` */
    struct halo halo;
    double *direction; /* p of the iteration: own elements, then those of other ranks */
};

/* Returns the first block of a rank: rank r has blocks first_block(r) .. first_block(r + 1) - 1. */
static inline unsigned first_block(const struct problem *p, int rank)
{
    return (unsigned)((uint64_t)p->blocks * (unsigned)rank / (unsigned)p->ranks);
}

int problem_make(const struct cg_options *options, ncoll_context *ctx, struct problem *out);
void problem_free(struct problem *p);

/* Cuts n rows into `blocks` blocks with about as many nonzeros each, and fills in
 * bounds[0..blocks]. length(arg, row) returns the nonzeros of a row; `nonzeros` is their sum. */
void cut_blocks(int64_t n, int64_t nonzeros, int64_t (*length)(const void *arg, int64_t row),
                const void *arg, unsigned blocks, int64_t *bounds);

/* Computes p->columns, p->halo and p->direction from the columns of p->a. Collective. */
int halo_make(struct problem *p);

/* ------------------------------------------------------------------ the collectives ---------- */

/* The calls of the iteration, made through one of the libraries. */
struct comm {
    int (*open)(struct problem *p, void **state); /* collective */
    int (*barrier)(void *state);
    int (*sum)(void *state, double *values, size_t count); /* in place, over all ranks */
    /* sends halo.send to the halo.recv of the others */
    int (*exchange)(void *state);
    void (*close)(void *state);
};

extern const struct comm comm_ncoll, comm_mpi;

/* ------------------------------------------------------------------ the solver --------------- */

enum phase {
    PHASE_SPMV,     /* sparse matrix times vector, on own rows */
    PHASE_EXCHANGE, /* exchange of the elements, with their packing */
    PHASE_DOTS,     /* allreduces of the two dot products */
    PHASE_BARRIER,  /* waiting for slower ranks */
    PHASE_REST,     /* own parts of the dot products, vector updates */
    PHASES,
};

/* The solutions with one library, and their times. */
struct run {
    const char *name;
    const struct comm *comm;
    struct problem *problem;
    void *state;
    unsigned iterations; /* of one solution */
    double *history;     /* iterations + 1 residuals: norms of r, each over that of b */
    double *solution;    /* own rows of x */
    bool converged;
    bool same_again;         /* later solutions had the same history in every bit */
    double true_residual;    /* norm of b - Ax, over that of b */
    double (*times)[PHASES]; /* seconds of each iteration of all solutions on this rank */
    unsigned n_times, room;
    double seconds; /* of all iterations on this rank, from the first to the end of the last */
};

/* Solves A x = (1, .., 1) once more. */
int solve(const struct cg_options *options, struct run *run);
void run_free(struct run *run);

/* ------------------------------------------------------------------ the programs ------------- */

/* Runs a rank, from joining the job to leaving it. params[1] is for the untuned context; if the
 * user brings callbacks, it has callbacks of its own. Returns the exit status. */
int cg_rank(const ncoll_params params[2], const struct cg_options *options,
            const struct comm *const *libraries);

/* Prints the report on rank 0. It is collective, since times are exchanged. An output that cannot
 * be written is reported, and is not a failure of the job. */
int cg_report(const struct cg_options *options, const struct run *runs, unsigned n_runs,
              bool *written);

#endif
