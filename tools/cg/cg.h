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
 * Everything outside the iteration goes through ncoll in both programs. Every function that returns
 * int returns a ncoll_status, and has said what is wrong if that is not NCOLL_OK.
 */
#ifndef NCOLL_TOOLS_CG_CG_H
#define NCOLL_TOOLS_CG_CG_H

#include <stddef.h>

#include "ncoll.h"
#include "tools/cg/matrix.h"

#define CG_LIBRARIES 2 /* ncoll, MPI */
#define CG_RUNS      3 /* and ncoll untuned */

struct cg_options {
    int ranks;           /* to fork; 0: a launcher made them, or there is one */
    const char *file;    /* Matrix Market; NULL: the Laplace operator on a grid */
    struct grid grid;    /* of that */
    const char *write;   /* the file to write it to, and nothing else; NULL: none */
    unsigned blocks;     /* of rows, in which dot products are added up; 0: one for each rank */
    unsigned iterations; /* at most */
    double tolerance;    /* residual over the first one at which it ends */
    unsigned repeats;    /* solutions with each library */
    bool barriers;       /* before each exchange and dot product */
    const char *history; /* the file for residuals, "-" for stdout; NULL: none */
    bool with[CG_LIBRARIES];
    bool untuned; /* also with ncoll, by NCOLL_TUNE=off */
};

/* A mistake is said unless `quiet`, and ends the process with 64. has_mpi: the program is
 * built with an MPI. */
void cg_options_parse(int argc, char **argv, bool has_mpi, bool quiet, struct cg_options *out);

/* ------------------------------------------------------------------ the problem -------------- */

/* Whom a rank sends which elements of its part of a vector, and how many it gets. */
struct halo {
    size_t *send_counts, *send_displs; /* per rank, in send[] */
    size_t *recv_counts, *recv_displs; /* per rank, in recv[] */
    size_t n_send, n_recv;
    int32_t *send_rows; /* n_send: which elements, counted from the rank's first row */
    double *send;       /* n_send, packed */
    double *recv;       /* n_recv, behind the rank's own part of the vector that is exchanged */
};

struct problem {
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    unsigned blocks;
    int64_t *bounds;  /* blocks + 1: first row of each block of rows of the whole matrix */
    struct matrix a;  /* this rank's rows */
    int64_t nonzeros; /* of the whole */
    int32_t *columns; /* of a.columns: where the element is in `direction` */
    struct halo halo;
    double *direction; /* p of the iteration: own elements, then those of others */
};

/* The first block of a rank: rank r has blocks first_block(r) .. first_block(r + 1) - 1. */
static inline unsigned first_block(const struct problem *p, int rank)
{
    return (unsigned)((uint64_t)p->blocks * (unsigned)rank / (unsigned)p->ranks);
}

int problem_make(const struct cg_options *options, ncoll_context *ctx, struct problem *out);
void problem_free(struct problem *p);

/* Cuts n rows into `blocks` with about as many nonzeros each: bounds[0..blocks]. length(arg, row)
 * is the number of nonzeros in a row, `nonzeros` their sum. */
void cut_blocks(int64_t n, int64_t nonzeros, int64_t (*length)(const void *arg, int64_t row),
                const void *arg, unsigned blocks, int64_t *bounds);

/* From the columns of p->a: p->columns, p->halo and p->direction. Collective. */
int halo_make(struct problem *p);

/* Says what the context's last error is, or just the status. Returns the status. */
int cg_say(const ncoll_context *ctx, int status);
int cg_no_memory(void);

/* ------------------------------------------------------------------ the collectives ---------- */

/* What the iteration calls, through one library or the other. */
struct comm {
    int (*open)(struct problem *p, void **state); /* collective */
    int (*barrier)(void *state);
    int (*sum)(void *state, double *values, size_t count); /* in place, on all ranks */
    int (*exchange)(void *state);                          /* halo.send to the others' halo.recv */
    void (*close)(void *state);
};

extern const struct comm comm_ncoll, comm_mpi;

/* ------------------------------------------------------------------ the solver --------------- */

enum phase {
    PHASE_SPMV,     /* sparse matrix times vector, on own rows */
    PHASE_EXCHANGE, /* of the elements that it needs, with their packing */
    PHASE_DOTS,     /* allreduces of two dot products */
    PHASE_BARRIER,  /* waiting for others that are not as far */
    PHASE_REST,     /* own parts of the dot products, vector updates */
    PHASES,
};

/* One solution with one library, or several: times of all of them. */
struct run {
    const char *name;
    const struct comm *comm;
    struct problem *problem;
    void *state;
    unsigned iterations; /* of one solution */
    double *history;     /* iterations + 1 residuals: norms of r, each over that of b */
    double *solution;    /* own rows of x */
    bool converged;
    bool same_again;         /* later solutions had the same history, bit for bit */
    double true_residual;    /* norm of b - Ax, over that of b */
    double (*times)[PHASES]; /* seconds, of each iteration of all solutions, on this rank */
    unsigned n_times, room;
    double seconds; /* of all iterations on this rank, from the first to the end of the last */
};

/* Solves A x = (1, .., 1), once more. */
int solve(const struct cg_options *options, struct run *run);
void run_free(struct run *run);

/* ------------------------------------------------------------------ the programs ------------- */

/* What a rank does from joining the job to leaving it. params[1] is for the context that is
 * untuned: with callbacks of its own, if the user brings them. Returns the exit status. */
int cg_rank(const ncoll_params params[2], const struct cg_options *options,
            const struct comm *const *libraries);

/* Prints, on rank 0: times are exchanged, so it is collective. Not written, if something could not
 * be, which it says: no failure of the job's. */
int cg_report(const struct cg_options *options, const struct run *runs, unsigned n_runs,
              bool *written);

#endif
