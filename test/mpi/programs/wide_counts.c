/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#if MPI_VERSION >= 4

/* The arguments of a struct call, by the same names, for CALL(). */
struct wide {
    enum collective collective;
    MPI_Comm comm;
    int rank, root;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    void *in, *out;
    MPI_Count *send_counts, *counts;
    MPI_Aint *send_starts, *send_bytes, *starts, *bytes;
    MPI_Datatype *types;
};

/* A barrier has no counts. */
#define MPI_Barrier_c              MPI_Barrier
#define MPI_Ibarrier_c             MPI_Ibarrier
#define MPI_Barrier_init_c         MPI_Barrier_init
#define WIDE(upper, lower)         MPI_##upper##_c
#define WIDE_STARTED(upper, lower) MPI_I##lower##_c
#define WIDE_INIT(upper, lower)    MPI_##upper##_init_c

static void make(struct wide *w, const struct call *c)
{
    *w = (struct wide){c->collective, c->comm, c->rank, c->root, c->count,
                       c->type,       c->op,   c->in,   c->out,  .types = c->types};
    w->counts = w->send_counts = take((size_t)c->size * sizeof *w->counts);
    w->starts = w->send_starts = take((size_t)c->size * sizeof *w->starts);
    w->bytes = w->send_bytes = take((size_t)c->size * sizeof *w->bytes);
    for (int r = 0; r < c->size; r++) {
        w->counts[r] = c->counts[r];
        w->starts[r] = c->starts[r];
        w->bytes[r] = c->bytes[r];
    }
}

static void persistent(struct wide *w, struct call *call)
{
    MPI_Request request = MPI_REQUEST_NULL;

    CALL(WIDE_INIT, w, , MPI_INFO_NULL, &request)
    for (int start = 0; start < 2; start++) {
        call_fill(call, start + 2);
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        call_check(call);
    }
    OK(MPI_Request_free(&request));
}

static void all_forms(MPI_Comm comm, int rank, int size)
{
    (void)rank;
    for (int collective = 0; collective < COLLECTIVES; collective++) {
        MPI_Request request = MPI_REQUEST_NULL;
        struct call call;
        struct wide w;

        /* Rooted at rank 0: see persistent.c. */
        call_make(&call, collective, comm, 77, 0, size);
        make(&w, &call);
        CALL(WIDE, &w, )
        call_check(&call);
        call_fill(&call, 1);
        CALL(WIDE_STARTED, &w, , &request)
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        call_check(&call);
        persistent(&w, &call);
        give(w.counts);
        give(w.starts);
        give(w.bytes);
        call_free(&call);
    }
}
#endif

PROGRAM(wide_counts, "counts of type MPI_Count, in all forms of each call")
{
#if MPI_VERSION >= 4
    each_comm(all_forms);
#else
    not_run("this MPI has no calls with MPI_Count");
#endif
}
