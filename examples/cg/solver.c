/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conjugate gradients (Hestenes and Stiefel 1952), for A x = b with b = (1, .., 1) from x = 0:
 *
 *     r = b, p = r
 *     repeat   q = A p                   exchange of p's halo, own rows of the product
 *              alpha = (r, r) / (p, q)   allreduce
 *              x = x + alpha p
 *              r = r - alpha q
 *              beta = (r, r)' / (r, r)   allreduce
 *              p = r + beta p
 *
 * Floating-point sums depend on their order, and CG amplifies small differences. So rows are
 * divided into blocks that do not depend on the number of ranks, and a dot product is the sum of
 * the sums of the blocks. Each rank computes the sums of its own blocks, and has a zero for every
 * other block. An allreduce of this vector adds only zeros to each sum, which is exact in any
 * order. Then every rank adds up the same numbers in the same order. The product of a row is summed
 * in the order of its columns, and there are no other sums. So residuals have the same bits for
 * every number of ranks, every algorithm and every library. The price is an allreduce of a vector
 * in place of one number; --blocks 0 sends a single number from each rank.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"
#include "cg.h"

struct vectors {
    double *x, *r, *q; /* this rank's elements; p is problem.direction */
    double *sums;      /* sums of blocks */
    double *history;
};

struct solver {
    struct problem *problem;
    const struct cg_options *options;
    struct run *run;
    struct vectors v;
    double seconds; /* when the current phase began */
    double *times;  /* times of this iteration, per phase; NULL: it is not timed */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Adds the time since the last lap to this phase. */
static void lap(struct solver *s, enum phase phase)
{
    double seconds = now();

    if (s->times != NULL)
        s->times[phase] += seconds - s->seconds;
    s->seconds = seconds;
}

/* Makes a barrier, so that ranks that are early wait here and not in the next collective. */
static int meet(struct solver *s)
{
    if (!s->options->barriers)
        return NCOLL_OK;
    int status = s->run->comm->barrier(s->run->state);
    lap(s, PHASE_BARRIER);
    return status;
}

static double dot_of_rows(const double *left, const double *right, int64_t from, int64_t to)
{
    double sum = 0;

    for (int64_t row = from; row < to; row++)
        sum += left[row] * right[row];
    return sum;
}

/* Computes a dot product over the elements of all ranks, as described at the top. */
static int dot(struct solver *s, const double *left, const double *right, double *out)
{
    const struct problem *p = s->problem;
    unsigned first = first_block(p, p->rank), end = first_block(p, p->rank + 1);
    unsigned sums = s->options->blocks > 0 ? p->blocks : 1;

    memset(s->v.sums, 0, sums * sizeof *s->v.sums);
    for (unsigned b = first; b < end; b++)
        s->v.sums[sums > 1 ? b : 0] =
            dot_of_rows(left, right, p->bounds[b] - p->a.first, p->bounds[b + 1] - p->a.first);
    lap(s, PHASE_REST);
    int status = meet(s);
    if (status == NCOLL_OK)
        status = s->run->comm->sum(s->run->state, s->v.sums, sums);
    lap(s, PHASE_DOTS);
    double sum = 0;
    for (unsigned b = 0; b < sums; b++)
        sum += s->v.sums[b];
    *out = sum;
    return status;
}

/* Computes q = A p, where p is in problem.direction. */
static int multiply(struct solver *s)
{
    const struct problem *p = s->problem;
    const struct halo *h = &p->halo;
    const double *vector = p->direction;

    lap(s, PHASE_REST);
    int status = meet(s);
    if (status != NCOLL_OK)
        return status;
    for (size_t i = 0; i < h->n_send; i++)
        h->send[i] = vector[h->send_rows[i]];
    status = s->run->comm->exchange(s->run->state);
    lap(s, PHASE_EXCHANGE);
    for (int64_t row = 0; row < p->a.rows; row++) {
        double sum = 0;
        for (int64_t i = p->a.starts[row]; i < p->a.starts[row + 1]; i++)
            sum += p->a.values[i] * vector[p->columns[i]];
        s->v.q[row] = sum;
    }
    lap(s, PHASE_SPMV);
    return status;
}

/* Makes one iteration. *rr is (r, r) before and after it. */
static int iterate(struct solver *s, double *rr)
{
    const struct vectors *v = &s->v;
    double *direction = s->problem->direction, pq, next;
    int64_t rows = s->problem->a.rows;
    int status = multiply(s);

    if (status == NCOLL_OK)
        status = dot(s, direction, v->q, &pq);
    if (status != NCOLL_OK)
        return status;
    if (!(pq > 0)) {
        failure_say(NCOLL_ERR_ARGUMENT, "the matrix is not positive definite");
        return NCOLL_ERR_ARGUMENT;
    }
    double alpha = *rr / pq;
    for (int64_t row = 0; row < rows; row++) {
        v->x[row] += alpha * direction[row];
        v->r[row] -= alpha * v->q[row];
    }
    status = dot(s, v->r, v->r, &next);
    double beta = next / *rr;
    for (int64_t row = 0; row < rows; row++)
        direction[row] = v->r[row] + beta * direction[row];
    lap(s, PHASE_REST);
    *rr = next;
    return status;
}

/* Makes room for the times of one more iteration. Returns false if there is no memory. */
static bool time_iteration(struct solver *s)
{
    struct run *run = s->run;

    if (run->n_times == run->room) {
        unsigned room = run->room > 0 ? 2 * run->room : 256;
        double(*more)[PHASES] = realloc(run->times, room * sizeof *more);
        if (more == NULL)
            return false;
        run->times = more;
        run->room = room;
    }
    s->times = run->times[run->n_times++];
    memset(s->times, 0, sizeof *run->times);
    return true;
}

static int iterate_to_the_end(struct solver *s, unsigned *iterations, bool *converged)
{
    const struct cg_options *o = s->options;
    double rr = 0, bb = 0;
    int64_t rows = s->problem->a.rows;

    for (int64_t row = 0; row < rows; row++)
        s->v.r[row] = s->problem->direction[row] = 1;
    int status = dot(s, s->v.r, s->v.r, &bb);
    rr = bb;
    double start = s->seconds = now();
    for (unsigned k = 0; status == NCOLL_OK; k++) {
        s->v.history[k] = sqrt(rr / bb);
        *converged = s->v.history[k] <= o->tolerance;
        *iterations = k;
        if (*converged || k == o->iterations)
            break;
        status = time_iteration(s) ? iterate(s, &rr) : failure_no_memory();
    }
    s->run->seconds += s->seconds - start;
    s->times = NULL;
    return status;
}

/* Computes the norm of b - A x over that of b, from x itself. It shows the error of the recurrence
 * for r. */
static int verify(struct solver *s)
{
    int64_t rows = s->problem->a.rows;
    double rr = 0, bb = 0;

    memcpy(s->problem->direction, s->v.x, (size_t)rows * sizeof *s->v.x);
    int status = multiply(s);
    for (int64_t row = 0; row < rows; row++) {
        s->v.r[row] = 1 - s->v.q[row];
        s->v.q[row] = 1;
    }
    if (status == NCOLL_OK)
        status = dot(s, s->v.r, s->v.r, &rr);
    if (status == NCOLL_OK)
        status = dot(s, s->v.q, s->v.q, &bb);
    s->run->true_residual = sqrt(rr / bb);
    return status;
}

/* Keeps the first solution, and compares later ones with it. */
static void keep(struct solver *s, unsigned iterations, bool converged)
{
    struct run *run = s->run;
    size_t bytes = (iterations + 1) * sizeof *run->history;

    if (run->history == NULL) {
        run->history = s->v.history;
        run->solution = s->v.x;
        run->iterations = iterations;
        run->converged = converged;
        run->same_again = true;
        s->v.history = s->v.x = NULL;
    } else {
        run->same_again = run->same_again && iterations == run->iterations &&
                          memcmp(run->history, s->v.history, bytes) == 0;
    }
}

int solve(const struct cg_options *options, struct run *run)
{
    struct problem *p = run->problem;
    size_t rows = (size_t)p->a.rows + 1;
    struct solver s = {.problem = p, .options = options, .run = run};
    unsigned iterations = 0;
    bool converged = false;
    int status = NCOLL_OK;

    s.v = (struct vectors){
        .x = calloc(rows, sizeof(double)),
        .r = calloc(rows, sizeof(double)),
        .q = calloc(rows, sizeof(double)),
        .sums = calloc(p->blocks, sizeof(double)),
        .history = calloc(options->iterations + 1, sizeof(double)),
    };
    if (s.v.x == NULL || s.v.r == NULL || s.v.q == NULL || s.v.sums == NULL || s.v.history == NULL)
        status = failure_no_memory();
    if (status == NCOLL_OK)
        status = iterate_to_the_end(&s, &iterations, &converged);
    if (status == NCOLL_OK)
        status = verify(&s);
    if (status == NCOLL_OK)
        keep(&s, iterations, converged);
    free(s.v.history);
    free(s.v.sums);
    free(s.v.q);
    free(s.v.r);
    free(s.v.x);
    return status;
}

void run_free(struct run *run)
{
    free(run->times);
    free(run->solution);
    free(run->history);
    *run = (struct run){0};
}
