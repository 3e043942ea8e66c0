/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations that the files of the drop-in library share.
 *
 * An MPI call becomes a struct call (prepare.c), which ncoll carries out at once (blocking.c), as a
 * request (nonblocking.c) or many times (persistent.c). A call that ncoll does not serve is left to
 * MPI. All ranks have to decide that alike, so the decision depends only on what MPI requires to be
 * the same on all ranks: the communicator and the number of its calls so far, the operation, the
 * root and, for reductions, the type. For calls that only move data MPI requires no more than the
 * same number of bytes. So these calls are made in bytes, and data that is not contiguous is packed
 * (stage.c).
 *
 * Each communicator has an ncoll context of its own (comm.c). So threads can call collectives on
 * different communicators at the same time, and the numbers of types and operations in a context
 * follow from the order of the calls on its communicator, which is the same on all its ranks. The
 * context of a freed communicator can serve a later one of the same ranks (farewell.c).
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

/* ---------------------------------------------------------------- calls and reasons ----------- */

enum collective {
#define COLLECTIVE(Name, name) CALL_##Name,
    COLLECTIVES(COLLECTIVE)
#undef COLLECTIVE
        COLLECTIVE_COUNT
};

/* The reasons for which calls are left to MPI, or SERVED: X(reason, text of the report). */
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

/* The form of a collective that the program has called. */
enum how { BLOCKING, NONBLOCKING, PERSISTENT_INIT };

/* ---------------------------------------------------------------- types (type.c) -------------- */

enum type_class {
    CLASS_OTHER, /* only moved, or combined by user-defined operations */
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
    struct type *next; /* the next type of the same hash */
    enum type_class class;
    ncoll_type native; /* type of ncoll with the same values; 0: none */
    bool dense;        /* the bytes of several elements lie one after the other, without gaps */
    size_t size;       /* bytes of data */
    MPI_Aint lb, extent, true_lb, true_extent;
};

/* Returns what is known of a type; NULL: it cannot be used in a call, or there is no memory. */
const struct type *type_of(MPI_Datatype mpi);
/* Forgets a type. To be called before MPI can give its handle to another type. */
void type_forget(MPI_Datatype mpi);

/* ---------------------------------------------------------------- communicators (comm.c) ------ */

/* An operation of MPI that ncoll calls through a user-defined ncoll operation. This structure is
 * the argument of that ncoll operation; its fields are set before the call that uses it. */
struct foreign {
    MPI_Op op;
    MPI_Datatype type;
    size_t stride; /* bytes from one element to the next in ncoll's buffers */
    MPI_Aint extent, true_lb;
    size_t true_extent;
    bool commutes, aligned;
    unsigned users; /* number of unfinished requests, all with this operation and type */
    unsigned char *scratch;
    size_t scratch_bytes;
};

/* A pair of ncoll operations. In both arrays [0] is for MPI operations that do not commute, and [1]
 * for those that do. */
struct foreign_op {
    struct foreign foreign[2];
    ncoll_op op[2];
};

#define FOREIGN_REQUESTS 64  /* unfinished requests with different operations or types */
#define PERSISTENT_MOST  256 /* persistent requests of a communicator in its whole life */

/* The operations and types that were registered with a context, to serve those of MPI. */
struct ops {
    struct foreign_op blocking, requests[FOREIGN_REQUESTS];
    struct foreign_op *persistent[PERSISTENT_MOST];
    unsigned foreign_calls, persistent_calls;
    ncoll_type element_types[200]; /* one for each class of strides: op.c */
};

/* Registers operations and types with a context. Returns a status of ncoll. *ops (NULL: there is no
 * memory) has to be freed even after an error. */
int ops_make(ncoll_context *ctx, struct ops **ops);
void ops_free(struct ops *ops); /* does nothing if ops is NULL */

enum comm_state { COMM_UNKNOWN, COMM_ON, COMM_OFF };

/* Steps in which a communicator that has a context is freed (farewell.c). */
enum freed {
    NOT_FREED,
    FREED_HERE,  /* this rank has freed it; its requests may not have ended */
    FREED_BEGUN, /* this rank has begun the barrier of the ranks that have freed it */
    FREED_BY_ALL,
    FREED_BROKEN /* there can be no barrier: a call on the communicator has failed */
};

#define OFFERS 8 /* the most contexts of freed communicators that a rank offers for a new one */

struct request;
struct comm {
    MPI_Comm mpi; /* MPI_COMM_NULL: not in use */
    int rank, size;
    enum comm_state state;
    enum reason why; /* why calls are left to MPI, if state is COMM_OFF */
    bool guarded;    /* calls on the communicator have to hold `lock` */
    /* the number of communicators made from this one that will get a context at once (create.c) */
    unsigned early;
    ncoll_context *ctx;
    ncoll_group *group;
    struct ops *ops;
    int64_t id;       /* number of the context, unique among contexts of the same ranks */
    bool taken_over;  /* the context comes from a freed communicator */
    bool has_failed;  /* a call on it has failed, on this rank at least */
    size_t *numbers;  /* 4 arrays of `size` counts or displacements */
    int *world_ranks; /* [size] the ranks' numbers in MPI_COMM_WORLD */
    pthread_mutex_t lock;
    unsigned persistent_there; /* number of persistent requests that the program has not freed */
    struct request *pending, **pending_end;
    unsigned ending; /* number of requests that have ended in ncoll, but not yet in MPI */
    bool is_listed;  /* in the list of communicators with unfinished requests */
    struct comm *next_pending, *next; /* next in that list; next in the list of all communicators */
    enum freed freed;
    struct comm *next_freed;       /* next in the list of freed communicators */
    const struct comm *offered_to; /* new communicator that may get the context; NULL: none */
    ncoll_request *farewell;       /* barrier of the ranks that have freed the communicator */
    int64_t begun_ns;              /* time at which the barrier began */
};

/* Returns what is known of a communicator; NULL: ncoll has not started, or the handle is no
 * communicator. */
struct comm *comm_of(MPI_Comm mpi);
/* The communicator that MPI is freeing in this thread. While the program's attributes are deleted,
 * whose functions may make calls on it, the attribute of this library may be gone already. Such
 * calls are left to MPI. */
extern _Thread_local MPI_Comm comm_being_freed;
/* Makes the context of a communicator, if it has none and this call may make one. Returns SERVED,
 * or the reason why it has no context. */
enum reason comm_join(struct comm *c, enum how how);
/* Prepares the attribute of communicators. Returns an MPI error code. */
int comms_start(void);
/* Destroys all contexts, after all ranks have come to MPI_Finalize(). */
void comms_finish(void);
/* Creates the context, by agreement of all ranks, through MPI's own collectives on the
 * communicator. able: this rank is able to create it. Returns the same on all ranks; if it is
 * false, *error is that of the first rank that has failed. */
bool context_make(struct comm *c, bool able, ncoll_error *error);
void context_destroy(struct comm *c);
/* Finds the least value of `own` over all ranks, by a reduction of MPI. Returns an MPI error
 * code. */
int least_of(MPI_Comm mpi, int own, int *least);

/* Begins to give up the context of a communicator that the program has freed (farewell.c). */
void farewell_begin(struct comm *c);
/* Destroys contexts of freed communicators that no rank needs any more, except the last few, which
 * are kept. old_too: also tests barriers that have taken long. */
void farewell_poll(bool old_too);
/* Destroys all contexts that no rank needs any more, also those that are kept. */
void farewell_keep_none(void);
/* Fills ids[] with the numbers of contexts that c could get: those of freed communicators with the
 * same ranks in the same order, which this rank does not use any more. The rest of ids[] is 0.
 * These contexts are not destroyed before farewell_take(). */
void farewell_offer(const struct comm *c, int64_t ids[OFFERS]);
/* Gives c the context of this number, which all ranks have offered; 0: none. Ends all other offers
 * to c. */
void farewell_take(struct comm *c, int64_t id);
/* Empties the list of freed communicators, after the contexts of all communicators were
 * destroyed. */
void farewell_finish(void);
/* Frees the entry of a communicator that has no context any more. */
void comm_forget(struct comm *c);

/* ---------------------------------------------------------------- calls ----------------------- */

/* An array of counts or displacements: int, MPI_Count or MPI_Aint, of `bytes` bytes each. */
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
    struct foreign *foreign; /* an MPI operation that ncoll calls; NULL: none */
};

/* Makes a struct numbers of an array of counts or displacements, of any integer type. */
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

/* Frees the copies of a call that is left to MPI for the reason `why`. To be called before MPI's
 * function. */
void call_leave(struct call *c, enum reason why);

/* The part that all prepare_X() share: finds the communicator, and makes its context if that is
 * possible. Returns SERVED, or the reason why the call is left to MPI. */
enum reason call_begin(struct call *c, enum collective collective, enum how how, MPI_Comm comm);

/* Chooses the ncoll operation and type of a reduction (op.c). *copied becomes true if the elements
 * have to be copied to another layout first. */
enum reason op_choose(struct call *c, enum how how, const struct type *type, MPI_Op op,
                      bool *copied);

/* Returns true for operations that MPI defines, and for MPI_OP_NULL. */
bool op_is_mpis(MPI_Op op);

/* ---------------------------------------------------------------- copies (stage.c) ------------ */

/* Data that is copied to a temporary buffer before the call, or from one after it. */
struct piece {
    unsigned char *user; /* the program's buffer */
    unsigned char *temporary;
    MPI_Count count;
    struct type type;
    /* 0: the data is packed; otherwise the bytes from one element to the next in `temporary`, as
     * reductions need them */
    size_t stride;
};

bool stage_in(struct call *c, const void *user, MPI_Count count, const struct type *type,
              size_t stride, void *temporary);
bool stage_out(struct call *c, void *user, MPI_Count count, const struct type *type, size_t stride,
               void *temporary);
/* Copies the input first, in_bytes contiguous bytes, since it overlaps the output in another way
 * than a call in place does. MPI forbids that, but programs do it, and ncoll would refuse the call
 * on this rank alone. */
void stage_apart(struct call *c, size_t in_bytes);
static inline bool is_apart(const void *in, size_t in_bytes, const void *out, size_t out_bytes)
{
    uintptr_t a = (uintptr_t)in, b = (uintptr_t)out;

    return a + in_bytes <= b || b + out_bytes <= a || in_bytes == 0 || out_bytes == 0;
}
/* Returns memory that lives as long as the call; NULL: there is none, and stage_ok() is false from
 * then on. */
void *stage_memory(struct call *c, size_t bytes);
void stage_before(const struct call *c);
void stage_after(const struct call *c);
void stage_free(struct call *c);
/* Returns false if memory was short: the call ends with an error. */
bool stage_ok(const struct call *c);
/* Calls keep_type() for the types of all copies of a call. by: 1 or -1. */
void stage_keep_types(const struct call *c, int by);

/* Change the number of unfinished requests that use a type or an operation, by 1 or -1 (keep.c). If
 * the program frees a type or an operation that is in use, it is freed when the last such request
 * has ended. */
void keep_type(MPI_Datatype type, int by);
void keep_op(MPI_Op op, int by);
/* Calls keep_type() and keep_op() for all types and operations of a call, and changes the number of
 * users of its ncoll operation. by: 1 or -1. */
void keep_call(const struct call *c, int by);

/* ---------------------------------------------------------------- messages to itself ---------- */

/* Tags of messages on world.self. Each persistent request has a tag of its own while it lives;
 * these are below the two here. */
#define TAG_COPY  32766 /* tag of copies (stage.c) */
#define TAG_NEVER 32767 /* tag of a message that is never sent (progress.c); every MPI has it */

/* ---------------------------------------------------------------- carrying out ---------------- */

int issue(const struct call *c, int64_t timeout_ns);
int issue_start(const struct call *c, ncoll_request **request);
int issue_init(const struct call *c, ncoll_group *group, ncoll_request **request);

/* Calls the error handler of the communicator for a status of ncoll. Returns the error class, which
 * is what the MPI call returns. */
int fail(struct comm *c, int status);
int error_class(int status);

/* ---------------------------------------------------------------- requests, progress ---------- */

struct request {
    struct request *next; /* the next one of the same hash, or the next unused one */
    struct request *next_pending;
    MPI_Request mpi;
    ncoll_request *nc;
    ncoll_group *group; /* the group of a persistent request */
    struct call call;
    bool persistent, active;
    int tag;
    int status;  /* the status of the collective, after its end */
    bool failed; /* it has ended with an error that the program has not been told */
};

/* pending_total: the number of unfinished requests of ncoll. persistent_total: the number of
 * persistent requests. inside_mpi: the number of the program's threads that wait in a call of MPI
 * which does not drive ncoll. */
extern unsigned pending_total, persistent_total, inside_mpi;

static inline bool is_pending(void)
{
    return __atomic_load_n(&pending_total, __ATOMIC_RELAXED) != 0;
}

/* Notes that this thread of the program waits in MPI from now on, so the helper thread may call
 * operations of the program. */
static inline void inside_begins(void)
{
    __atomic_fetch_add(&inside_mpi, 1, __ATOMIC_RELAXED);
}

/* Notes that this thread of the program does not wait in MPI any more. Returns when the helper
 * thread calls no operation. */
void inside_ends(void);
/* Take and release a lock: while it is held, the helper thread calls no operation. */
void operations_lock(void);
void operations_unlock(void);
/* Begins a blocking call that is left to MPI (left.c). op: the address of its operation; NULL: it
 * has none. An operation of the program is replaced by one that calls it only while the helper
 * thread calls none. */
void left_begins(MPI_Op *op);

/* Advances all requests, and ends those that are done. */
void progress_all(void);
/* Advances MPI, and the requests of ncoll, while a call on one communicator waits. */
void progress_others(void);
/* Lets other processes run if `tries` shows that nothing has happened for long. */
void progress_idle(unsigned tries);
/* Stops the helper thread, and forgets all unfinished requests. */
void progress_finish(void);
/* Starts the collective of a request by the function `start`, and adds the request to the
 * unfinished ones. Returns a status of ncoll. As in all calls, NCOLL_ERR_UNSUPPORTED comes on all
 * ranks alike, and before data moves, so that the call can be left to MPI then. */
int pending_start(struct request *r, int (*start)(struct request *r));

/* Waits for a request of MPI, and drives ncoll meanwhile. */
int wait_driving(MPI_Request *request, MPI_Status *status);

/* Tells MPI that a request has ended, with r->status. If that is an error, calls the error handler
 * of the communicator. */
void request_end(struct request *r);

struct request *request_new(const struct call *c);
void request_delete(struct request *r);
/* Returns the persistent request of ncoll with this handle; NULL: the handle is of MPI's own
 * request. */
struct request *request_of(MPI_Request mpi);
/* Notes that a request has failed. The program is told by the call that ends the request (wait.c).
 * The error handler of its communicator is called before that, since MPI itself would call that of
 * MPI_COMM_WORLD. */
void request_failed(struct request *r);
bool request_reported(struct request *r); /* Clears the failure; returns false if there is none. */
extern unsigned failed_total;
/* The MPI_SOURCE in the status of a request that has failed; MPI_TAG is then the class of the
 * error. In other statuses MPI may leave these fields as they were, so this is a number that occurs
 * nowhere else. */
#define SOURCE_FAILED (-0x6e636f6c)

void request_know(struct request *r);
void request_forget(struct request *r);

/* ---------------------------------------------------------------- world, report --------------- */

struct world {
    bool started;      /* MPI_Init() was called, and it is the MPI that the library was built for */
    bool on;           /* ncoll has started */
    bool ends;         /* MPI_Finalize() has begun */
    bool threads;      /* MPI provides MPI_THREAD_MULTIPLE */
    unsigned left_out; /* collectives that NCOLL_MPI leaves to MPI, one bit each */
    MPI_Comm self;     /* for messages of this process to itself */
    double ranks_per_core; /* how many ranks share the core of this rank */
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
/* The numbers of contexts that were made on this rank, and that were taken over from freed
 * communicators. */
extern uint64_t contexts_made, contexts_taken_over;
void report(void);

#endif
