/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations that the files of the drop-in library share.
 *
 * An MPI call becomes a struct call (prepare.c), which ncoll carries out at once (blocking.c), as a
 * request (nonblocking.c) or many times (persistent.c). A call that ncoll does not serve falls
 * through to MPI. Whether it does has to be the same on all ranks, so it depends only on what MPI
 * requires to be the same on all ranks: the communicator and the number of its calls so far, the
 * operation, the root and, of reductions, the type. Of moves of data only the number of bytes is
 * the same, so they are made in bytes, and data that is not contiguous is packed (stage.c).
 *
 * Each communicator has an ncoll context of its own (comm.c). So threads can call collectives on
 * different communicators at the same time, and all numbers of types and operations follow from the
 * order of the calls on one communicator, which is the same on all its ranks. A communicator leaves
 * its context to a later one of the same ranks (farewell.c).
 */
#ifndef NCOLL_INTEROP_MPI_DROPIN_H
#define NCOLL_INTEROP_MPI_DROPIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interop/mpi/mpi_api.h"
#include "ncoll.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---------------------------------------------------------------- calls and reasons ------------ */

enum collective {
#define COLLECTIVE(Name, name) CALL_##Name,
    COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
        COLLECTIVE_COUNT
};

/* Why a call is left to MPI: X(reason, text of the report). */
#define REASONS(X)                                                                                 \
    X(SERVED, "accelerated")                                                                       \
    X(NOT_JOINED, "ncoll did not start")                                                           \
    X(LEFT_OUT, "left to MPI by NCOLL_MPI")                                                        \
    X(INTER, "intercommunicator")                                                                  \
    X(OTHER_WORLD, "communicator with ranks of several worlds")                                    \
    X(NO_CONTEXT, "no ncoll context for this communicator")                                        \
    X(TOO_EARLY, "not blocking, and the communicator has no ncoll context yet")                    \
    X(TYPE, "type has no counterpart")                                                             \
    X(OP, "operation not defined for this type, or not known")                                     \
    X(ARGUMENT, "argument that MPI refuses")                                                       \
    X(TOO_MANY, "too many persistent requests on the communicator")                                \
    X(NO_ALGORITHM, "no algorithm: elements are too long, or ranks too many")

enum reason {
#define REASON(name, text) name,
    REASONS(REASON)
#undef REASON
        REASON_COUNT
};

/* How a call is made. */
enum how { BLOCKING, NONBLOCKING, PERSISTENT_INIT };

/* ---------------------------------------------------------------- types (type.c) --------------- */

enum type_class {
    CLASS_OTHER, /* only moved, and combined by operations of the user's */
    CLASS_C_INTEGER,
    CLASS_FORTRAN_INTEGER,
    CLASS_FLOAT,
    CLASS_LOGICAL,
    CLASS_COMPLEX,
    CLASS_BYTE,
    CLASS_MULTI, /* MPI_AINT, MPI_OFFSET, MPI_COUNT */
    CLASS_PAIR,
    CLASS_DERIVED,
};

struct type {
    MPI_Datatype mpi;
    struct type *next; /* of the same hash */
    enum type_class class;
    ncoll_type native; /* type of ncoll with the same values; 0: none */
    bool dense;        /* the bytes of several elements lie one after the other, without gaps */
    size_t size;       /* bytes of data */
    MPI_Aint lb, extent, true_lb, true_extent;
};

/* Returns what is known of a type; NULL: it is not a type. */
const struct type *type_of(MPI_Datatype mpi);
/* To be called before the handle can stand for another type. */
void type_forget(MPI_Datatype mpi);

/* ---------------------------------------------------------------- communicators (comm.c) ------- */

/* An operation of MPI that ncoll calls as one of the user's. An ncoll operation has one of these as
 * its argument; the fields are set before the call in which it is used. */
struct foreign {
    MPI_Op op;
    MPI_Datatype type;
    size_t stride; /* of elements in ncoll's buffers */
    MPI_Aint extent, true_lb;
    size_t true_extent;
    bool commutes, aligned;
    unsigned users; /* unfinished requests, all with this operation and type */
    unsigned char *scratch;
    size_t scratch_bytes;
};

/* In both arrays [0] is for operations that do not commute, [1] for those that do. */
struct foreign_op {
    struct foreign foreign[2];
    ncoll_op op[2];
};

#define FOREIGN_REQUESTS 64  /* requests at once with operations or types that differ */
#define PERSISTENT_MOST  256 /* persistent requests of a communicator in its whole life */

/* Operations and types of MPI, as they are registered with a context. */
struct ops {
    struct foreign_op blocking, requests[FOREIGN_REQUESTS];
    struct foreign_op *persistent[PERSISTENT_MOST];
    unsigned foreign_calls, persistent_calls;
    ncoll_type element_types[200]; /* by class of stride: op.c */
};

/* Returns a status of ncoll. *ops is NULL if it fails. */
int ops_make(ncoll_context *ctx, struct ops **ops);
void ops_free(struct ops *ops); /* NULL: nothing */

enum comm_state { COMM_UNKNOWN, COMM_ON, COMM_OFF };

/* Steps in which a communicator that has a context is freed (farewell.c). */
enum freed {
    NOT_FREED,
    FREED_HERE,  /* on this rank, whose requests may not have ended */
    FREED_BEGUN, /* the barrier of the ranks that have freed it has begun */
    FREED_BY_ALL,
    FREED_BROKEN /* there can be no barrier: a call on it has failed */
};

#define OFFERS 8 /* freed contexts among which the ranks look for one that all have */

struct request;
struct comm {
    MPI_Comm mpi; /* MPI_COMM_NULL: not in use */
    int rank, size;
    enum comm_state state;
    enum reason why; /* if it is OFF */
    bool guarded;    /* calls have to hold the lock */
    unsigned early;  /* of so many communicators made from it the context is made with them */
    ncoll_context *ctx;
    ncoll_group *group;
    struct ops *ops;
    int64_t id;       /* of the context: no other one of the same ranks has it */
    bool taken_over;  /* the context, from a freed communicator */
    bool has_failed;  /* a call has, on this rank at least */
    size_t *numbers;  /* 4 arrays of `size` counts or displacements */
    int *world_ranks; /* [size] */
    pthread_mutex_t lock;
    unsigned persistent_there; /* persistent requests that the program has not freed */
    struct request *pending, **pending_end;
    unsigned ending;                  /* requests that have ended, of which MPI is being told */
    bool is_listed;                   /* in the list of those with unfinished requests */
    struct comm *next_pending, *next; /* of that list; of all */
    enum freed freed;
    struct comm *next_freed;       /* of those that are freed */
    const struct comm *offered_to; /* one that is being made, and may get the context */
    ncoll_request *farewell;       /* barrier of the ranks that have freed it */
    int64_t begun_ns;              /* when it began */
};

/* Returns NULL if ncoll has not started, or the communicator is none. */
struct comm *comm_of(MPI_Comm mpi);
/* The one that MPI is freeing in this thread. It may have lost its attribute when the program's own
 * attributes, whose functions may make calls on it, are deleted. These are left to MPI. */
extern _Thread_local MPI_Comm comm_being_freed;
/* Makes the context of a communicator, if this call may do so. */
enum reason comm_join(struct comm *c, enum how how);
/* Returns an MPI error code. */
int comms_start(void);
/* After all ranks have come to MPI_Finalize(): destroys all contexts. */
void comms_finish(void);
/* Creates the context by agreement of all ranks, which takes MPI's own collectives on the
 * communicator. `able`: whether this rank wants to. Returns the same on all ranks; if it is false,
 * *error is that of the first rank that has failed. */
bool context_make(struct comm *c, bool able, ncoll_error *error);
void context_destroy(struct comm *c);
/* The least number that a rank gives, by MPI. Returns an MPI error code. */
int least_of(MPI_Comm mpi, int own, int *least);

/* The program has freed the communicator, which has a context (farewell.c). */
void farewell_begin(struct comm *c);
/* Destroys contexts of freed communicators that no rank needs any more, but for the last few.
 * `old_too`: also looks at those that have waited for long. */
void farewell_poll(bool old_too);
/* Destroys those few, too. */
void farewell_keep_none(void);
/* The contexts of freed communicators that have the ranks of c in the same order, and that this rank
 * does not use any more: ids[] is filled up with 0. They are kept until farewell_take(). */
void farewell_offer(const struct comm *c, int64_t ids[OFFERS]);
/* c gets the context of this number, which all ranks have offered; 0: none. */
void farewell_take(struct comm *c, int64_t id);
/* To be called when the contexts of all communicators are destroyed. */
void farewell_finish(void);
/* Ends the entry of a communicator that has no context any more. */
void comm_forget(struct comm *c);

/* ---------------------------------------------------------------- calls ------------------------ */

/* Counts or displacements: int, MPI_Count or MPI_Aint. */
struct numbers {
    const void *at;
    size_t bytes;
};

static inline long long number(struct numbers n, int i)
{
    return n.bytes == sizeof(int) ? ((const int *)n.at)[i] : ((const long long *)n.at)[i];
}

struct stage;
struct call {
    enum collective collective;
    int root;
    struct comm *comm;
    ncoll_group *group;
    const void *in;
    void *out;
    size_t count;
    ncoll_type type;
    ncoll_op op;
    const size_t *in_counts, *in_displs, *out_counts, *out_displs;
    struct stage *stage;     /* copies before and after the call; NULL: none */
    struct foreign *foreign; /* NULL: none */
};

/* Hands an array of counts or displacements, of any integer type, to the functions of prepare.c. */
#define N(array) ((struct numbers){(array), sizeof *(array)})

enum reason prepare_Barrier(struct call *c, enum how how, MPI_Comm comm);
enum reason prepare_Bcast(struct call *c, enum how how, void *buffer, MPI_Count count,
                          MPI_Datatype type, int root, MPI_Comm comm);
enum reason prepare_Reduce(struct call *c, enum how how, const void *in, void *out, MPI_Count count,
                           MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
enum reason prepare_Allreduce(struct call *c, enum how how, const void *in, void *out,
                              MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
enum reason prepare_Scan(struct call *c, enum how how, const void *in, void *out, MPI_Count count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm);
enum reason prepare_Exscan(struct call *c, enum how how, const void *in, void *out, MPI_Count count,
                           MPI_Datatype type, MPI_Op op, MPI_Comm comm);
enum reason prepare_Reduce_scatter_block(struct call *c, enum how how, const void *in, void *out,
                                         MPI_Count count, MPI_Datatype type, MPI_Op op,
                                         MPI_Comm comm);
enum reason prepare_Reduce_scatter(struct call *c, enum how how, const void *in, void *out,
                                   struct numbers counts, MPI_Datatype type, MPI_Op op,
                                   MPI_Comm comm);
enum reason prepare_Gather(struct call *c, enum how how, const void *in, MPI_Count in_count,
                           MPI_Datatype in_type, void *out, MPI_Count out_count,
                           MPI_Datatype out_type, int root, MPI_Comm comm);
enum reason prepare_Scatter(struct call *c, enum how how, const void *in, MPI_Count in_count,
                            MPI_Datatype in_type, void *out, MPI_Count out_count,
                            MPI_Datatype out_type, int root, MPI_Comm comm);
enum reason prepare_Allgather(struct call *c, enum how how, const void *in, MPI_Count in_count,
                              MPI_Datatype in_type, void *out, MPI_Count out_count,
                              MPI_Datatype out_type, MPI_Comm comm);
enum reason prepare_Alltoall(struct call *c, enum how how, const void *in, MPI_Count in_count,
                             MPI_Datatype in_type, void *out, MPI_Count out_count,
                             MPI_Datatype out_type, MPI_Comm comm);
enum reason prepare_Gatherv(struct call *c, enum how how, const void *in, MPI_Count in_count,
                            MPI_Datatype in_type, void *out, struct numbers out_counts,
                            struct numbers displs, MPI_Datatype out_type, int root, MPI_Comm comm);
enum reason prepare_Scatterv(struct call *c, enum how how, const void *in, struct numbers in_counts,
                             struct numbers displs, MPI_Datatype in_type, void *out,
                             MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm);
enum reason prepare_Allgatherv(struct call *c, enum how how, const void *in, MPI_Count in_count,
                               MPI_Datatype in_type, void *out, struct numbers out_counts,
                               struct numbers displs, MPI_Datatype out_type, MPI_Comm comm);
enum reason prepare_Alltoallv(struct call *c, enum how how, const void *in,
                              struct numbers in_counts, struct numbers in_displs,
                              MPI_Datatype in_type, void *out, struct numbers out_counts,
                              struct numbers out_displs, MPI_Datatype out_type, MPI_Comm comm);
enum reason prepare_Alltoallw(struct call *c, enum how how, const void *in,
                              struct numbers in_counts, struct numbers in_displs,
                              const MPI_Datatype *in_types, void *out, struct numbers out_counts,
                              struct numbers out_displs, const MPI_Datatype *out_types,
                              MPI_Comm comm);

/* To be called before a call is left to MPI. */
void call_leave(struct call *c, enum reason why);

/* The parts of prepare_X that collectives share. */
enum reason call_begin(struct call *c, enum collective collective, enum how how, MPI_Comm comm);

/* Finds the operation of a reduction, and the type in which ncoll does it (op.c). *copied: elements
 * have to be brought to another layout first. */
enum reason op_choose(struct call *c, enum how how, const struct type *type, MPI_Op op,
                      bool *copied);

/* Returns true for MPI's own operations, and for none. */
bool op_is_mpis(MPI_Op op);

/* ---------------------------------------------------------------- copies (stage.c) ------------- */

/* Data that is copied to a buffer without gaps before the call, or from one after it. */
struct piece {
    unsigned char *user; /* as the program gave it */
    unsigned char *temporary;
    MPI_Count count;
    struct type type;
    size_t stride; /* 0: packed; else element by element, so far apart, as reductions need them */
};

bool stage_in(struct call *c, const void *user, MPI_Count count, const struct type *type,
              size_t stride, void *temporary);
bool stage_out(struct call *c, void *user, MPI_Count count, const struct type *type, size_t stride,
               void *temporary);
/* ncoll refuses buffers that overlap, on this rank alone, unless they do as in a call in place: MPI
 * forbids it, but programs do it. So what is sent is copied first. The bytes follow each other. */
void stage_apart(struct call *c, size_t in_bytes);
static inline bool is_apart(const void *in, size_t in_bytes, const void *out, size_t out_bytes)
{
    uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;

    return a + in_bytes <= b || b + out_bytes <= a || in_bytes == 0 || out_bytes == 0;
}
/* Returns memory that lives as long as the call; NULL: there is none, and c->stage says so. */
void *stage_memory(struct call *c, size_t bytes);
void stage_before(const struct call *c);
void stage_after(const struct call *c);
void stage_free(struct call *c);
/* Returns false if memory was short: the call ends with an error. */
bool stage_ok(const struct call *c);
/* Keeps the types of the copies, or gives them back (by: 1, -1). */
void stage_keep_types(const struct call *c, int by);

/* Types and operations that unfinished requests use (keep.c): if the program frees one, this is done
 * when the last such request has ended. */
void keep_type(MPI_Datatype type, int by);
void keep_op(MPI_Op op, int by);
/* All of a call that is a request, and the operation of ncoll that it uses. */
void keep_call(const struct call *c, int by);

/* ---------------------------------------------------------------- messages to itself ----------- */

/* Tags on world.self. A persistent request has one of its own, below these, while it lives. */
#define TAG_COPY  32766 /* of copies (stage.c) */
#define TAG_NEVER 32767 /* of a message that does not come (progress.c); every MPI has this tag */

/* ---------------------------------------------------------------- carrying out ----------------- */

int issue(const struct call *c, int64_t timeout_ns);
int issue_start(const struct call *c, ncoll_request **request);
int issue_init(const struct call *c, ncoll_group *group, ncoll_request **request);

/* Hands an error to the handler of the communicator. Returns what the MPI call returns. */
int fail(struct comm *c, int status);
int error_class(int status);

/* ---------------------------------------------------------------- requests, progress ----------- */

struct request {
    struct request *next; /* of the same hash, or free */
    struct request *next_pending;
    MPI_Request mpi;
    ncoll_request *nc;
    ncoll_group *group; /* of a persistent request */
    struct call call;
    bool persistent, active;
    int tag;
    int status;  /* of the collective that has ended */
    bool failed; /* it has ended with an error of which the program has not heard */
};

/* The number of requests of ncoll that are unfinished, and of persistent requests; of the program's
 * threads that wait in a call of MPI that drives nothing. */
extern unsigned pending_total, persistent_total, inside_mpi;

static inline bool is_pending(void)
{
    return __atomic_load_n(&pending_total, __ATOMIC_RELAXED) != 0;
}

/* The program's thread waits in MPI from now on, so the helper thread may call operations of the
 * program. */
static inline void inside_begins(void)
{
    __atomic_fetch_add(&inside_mpi, 1, __ATOMIC_RELAXED);
}

/* Not any more. Returns when the helper thread calls none. */
void inside_ends(void);
/* While these are held the helper thread calls no operation. */
void operations_lock(void);
void operations_unlock(void);
/* Begins a call that is left to MPI, and may wait there (left.c). If it has an operation of the
 * program, *op becomes one that calls it only while the helper thread calls none; NULL: it has none. */
void left_begins(MPI_Op *op);

/* Advances all requests, and ends those that are done. */
void progress_all(void);
/* Advances MPI, and the requests on other communicators, while a call on one of them waits. */
void progress_others(void);
/* Lets other processes run if nothing happens for long. */
void progress_idle(unsigned tries);
/* No request makes progress any more. */
void progress_finish(void);
/* Starts what ncoll_X_start() or ncoll_X_init() made, by `start`. Returns a status of ncoll. As in all
 * calls NCOLL_ERR_UNSUPPORTED comes on all ranks alike, and before data moves: then a call can be left to
 * MPI. */
int pending_start(struct request *r, int (*start)(struct request *r));

/* Waits for a request of MPI, and drives ncoll meanwhile. */
int wait_driving(MPI_Request *request, MPI_Status *status);

/* Tells MPI that a request has ended, with r->status, and the communicator's handler of an error. */
void request_end(struct request *r);

struct request *request_new(const struct call *c);
void request_delete(struct request *r);
/* Returns the persistent request of this handle; NULL: it is MPI's own. */
struct request *request_of(MPI_Request mpi);
/* The program hears of an error from the call that ends the request (wait.c). The handler of its
 * communicator is called before: MPI itself would call that of MPI_COMM_WORLD. */
void request_failed(struct request *r);
bool request_reported(struct request *r); /* Returns false if it has not failed. */
extern unsigned failed_total;
/* The source in the status that MPI gets for a request which has failed; the tag is the class of the
 * error. MPI leaves these fields as they are in other statuses, so it is a number that is nowhere
 * else. */
#define SOURCE_FAILED (-0x6e636f6c)

void request_know(struct request *r);
void request_forget(struct request *r);

/* ---------------------------------------------------------------- world, report ---------------- */

struct world {
    bool started;          /* by MPI_Init() of the MPI that the library was built for */
    bool on;               /* ncoll has started */
    bool ends;             /* MPI_Finalize() has begun */
    bool threads;          /* MPI_THREAD_MULTIPLE */
    unsigned left_out;     /* collectives that NCOLL_MPI leaves to MPI, a bit each */
    MPI_Comm self;         /* of the library's own messages to itself */
    double ranks_per_core; /* where this rank runs */
};
extern struct world world;
extern const char *const collective_names[COLLECTIVE_COUNT];

extern uint64_t counters[COLLECTIVE_COUNT][REASON_COUNT];
static inline void count_call(enum collective collective, enum reason reason)
{
    uint64_t *counter = &counters[collective][reason];

    if (UNLIKELY(world.threads))
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    else
        ++*counter;
}
/* Contexts that were made on this rank, and how often one was taken over from a freed communicator. */
extern uint64_t contexts_made, contexts_taken_over;
void report(void);

#endif
