/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ncoll: collective operations made of notified writes.
 *
 * A notified write puts bytes into the memory of another process and tells that process that they
 * have arrived. Between nodes it is an RDMA write with immediate data; within a node it is a store
 * and a flag in shared memory. This header is the whole public interface of the library.
 *
 * A program looks like this:
 *
 *     ncoll_params params;
 *     ncoll_params_init(&params, sizeof params);
 *     ncoll_context *ctx;
 *     ncoll_error err;
 *     if (ncoll_context_create(&params, &ctx, &err) != NCOLL_OK)
 *         return complain(err.text);
 *     ncoll_allreduce(ncoll_world(ctx), in, out, count, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
 *     ncoll_context_destroy(ctx);
 *
 * Split phase. Every call that waits for other ranks takes a time-out in nanoseconds. A call that
 * is not finished by then returns NCOLL_TIMEOUT: nothing is lost, and the same call with the same
 * arguments goes on where it stopped (as in GASPI; End et al., INFOCOMP 2015, section I). Progress
 * is made only inside calls of this library: it starts no threads, installs no signal handlers and
 * never calls exit().
 *
 * Thread safety. Different contexts may be used by different threads at the same time. One context,
 * with all its groups, requests and memory, may be used by one thread at a time. That may be any
 * thread, and another one at each call, if the program orders the calls so that one thread has
 * finished its call before the next thread begins: by a mutex around each call, by starting or
 * joining a thread, or by an atomic store with release order that the next thread reads with
 * acquire order. Nothing else is needed: a thread may wait for a request that another thread has
 * started, and destroy a context that another thread has created. If several threads make calls,
 * the program must see to it that all ranks make the calls of a group in the same order. A call
 * that waits occupies the context for as long as it waits. Requests, and calls with short
 * time-outs, leave the context to other threads in between. The document docs/guide/embed.md in
 * share/doc/ncoll says what it costs to hand a context from one thread to another.
 * ncoll_status_text(), ncoll_reason_text(), ncoll_reason_name(), ncoll_version(),
 * ncoll_type_size(), ncoll_params_init() and ncoll_radix_list() may be called by any thread at any
 * time. These rules hold for every function below unless its comment says otherwise. A call that
 * comes while another one is going on in the same context gets NCOLL_ERR_BUSY, for the reason
 * NCOLL_REASON_CONTEXT_IN_USE, and does nothing. Such a call may come from a second thread, a
 * user-defined operation, a callback or a signal handler. Calls that do not return a status, and
 * ncoll_context_stats(), are not refused in this way. The library notices only calls that really
 * overlap in time; ThreadSanitizer also finds calls that might have overlapped.
 *
 * Collective order. As in MPI, all ranks of a group call the same collectives in the same order,
 * with the same count, type, operation and root. If one rank calls something else, every rank of
 * the group gets NCOLL_ERR_MISMATCH with an error that names the rank and its call. A rank that has
 * finished its own part before the difference is noticed gets the error in one of its next calls. A
 * mismatch is a failure of the whole context: see "Failures" below.
 *
 * The library compares the collective, its counts, type, operation, root and algorithm, and the
 * mode of synchronisation. For types and operations that the program has created, the library also
 * compares size, flags and name. Buffers are not compared: the library cannot tell apart two calls
 * that differ only in their buffers, and ranks that make such calls in different orders get each
 * other's data. Suppose that one rank makes a last call that the others do not make, and that needs
 * nothing from them, such as a bcast of which it is the root. That call returns NCOLL_OK, and there
 * is no later call which could return an error. So the ranks compare their calls when they destroy
 * their contexts, and log a difference: see ncoll_context_destroy().
 *
 * Security. The tcp bootstrap (NCOLL_ROOT) is the part that strangers on the network can reach.
 * With a key of the job (NCOLL_KEY, or ncoll_params.key) rank 0 and the other ranks prove to each
 * other by challenge and response (HMAC-SHA-256) that they know the key, before either side
 * believes what the other says; connections without a proof are dropped, and can neither end nor
 * join the job. A key should be random, as from `openssl rand -hex 16`: an eavesdropper who has
 * recorded a proof can test guesses of the key against it. Without a key anybody who can reach the
 * port while the job starts can join it. Without a key only mistakes are noticed: a rank with
 * another number of ranks, protocol version, address of rank 0, or job of the batch system. With
 * and without a key, rank 0 listens until all ranks have joined, and only on the addresses that the
 * host name in NCOLL_ROOT stands for. If the name stands for no address of the host, or if a name
 * other than localhost stands only for loopback addresses, rank 0 listens on all addresses of the
 * host, and logs a message (ncoll.7). Three things are not protected. The messages of the ranks, in
 * the bootstrap and after it, are neither encrypted nor signed, so anybody who can read or change
 * packets between the hosts can read or change them. A flood of connections can delay the start.
 * Processes of the same user can read the environment, and with it the key. Forked ranks and shared
 * memory are protected by the kernel, and PMIx by its server.
 *
 * Errors. A function that can fail returns a ncoll_status: 0 is success, a negative value is an
 * error, and NCOLL_TIMEOUT, which is positive, is neither. ncoll_last_error() tells which rank and
 * which peer the error is about, its cause and its remedy.
 *
 * Failures. Some errors leave the ranks of a collective in states that no longer agree:
 * NCOLL_ERR_MISMATCH on any group, the end of a rank that a call needs, a connection or device that
 * breaks. Such an error is a failure of the context, on all its ranks. A context keeps its first
 * failure. Each rank reports the failure to the ranks that it is connected to. Once a rank knows of
 * the failure, all its collectives, on the world and on every other group, return the same error,
 * even if the rank is not in the group where the failure began. A failed context, or one of its
 * groups, cannot be repaired: destroy it, and create another one with the ranks that go on, as
 * examples/07-failure in share/doc/ncoll does. Other contexts of the process are not concerned.
 *
 * Errors of every call. A call that takes a handle and returns a status may return four errors that
 * the comments below do not repeat. ERRORS: NCOLL_ERR_HANDLE: the handle is NULL, is not valid any
 * more, or was made by the process that has forked this one; NCOLL_ERR_BUSY: another call is going
 * on in the same context; NCOLL_ERR_MEMORY: no memory for the record of a thread that uses the
 * context for the first time; NCOLL_ERR_INTERNAL: a bug in ncoll, please report it.
 */
#ifndef NCOLL_H
#define NCOLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NCOLL_API __attribute__((visibility("default")))
#else
#define NCOLL_API
#endif

#define NCOLL_VERSION_MAJOR 0
#define NCOLL_VERSION_MINOR 2
#define NCOLL_VERSION_PATCH 0

/* ------------------------------------------------------------------ status ------------------- */

/** All status codes: X(code, value, text). NCOLL_TIMEOUT is not a failure. */
#define NCOLL_STATUS_MAP(X)                                                                        \
    X(NCOLL_OK, 0, "success")                                                                      \
    X(NCOLL_TIMEOUT, 1, "not finished yet: call again with the same arguments")                    \
    X(NCOLL_ERR_ARGUMENT, -1, "bad argument")                                                      \
    X(NCOLL_ERR_HANDLE, -2, "handle is NULL or not one of this library's")                         \
    X(NCOLL_ERR_BUSY, -3, "another collective is unfinished on this group")                        \
    X(NCOLL_ERR_MISMATCH, -4, "ranks called different collectives")                                \
    X(NCOLL_ERR_PEER, -5, "a rank failed or left")                                                 \
    X(NCOLL_ERR_UNSUPPORTED, -6, "not available in this build, on this machine or for this size")  \
    X(NCOLL_ERR_RESOURCE, -7, "a limit of the system was reached")                                 \
    X(NCOLL_ERR_MEMORY, -8, "out of memory")                                                       \
    X(NCOLL_ERR_BOOTSTRAP, -9, "the ranks could not find each other")                              \
    X(NCOLL_ERR_DEVICE, -10, "no usable RDMA device or port, or the device failed")                \
    X(NCOLL_ERR_SYSTEM, -11, "a system call failed")                                               \
    X(NCOLL_ERR_INTERNAL, -12, "a bug in ncoll")                                                   \
    X(NCOLL_ERR_CODEC, -13, "a codec failed")

/** The result of a call. */
typedef enum ncoll_status {
#define NCOLL_STATUS_ENUM(code, value, text) code = value,
    NCOLL_STATUS_MAP(NCOLL_STATUS_ENUM)
#undef NCOLL_STATUS_ENUM
} ncoll_status;

/**
 * Returns the text of a status, "unknown status" for any other number. Never NULL; the string is
 * static.
 *
 * @param status  what a call has returned
 */
NCOLL_API const char *ncoll_status_text(int status);

/** Returns the version of the library in use, as "major.minor.patch". The string is static. */
NCOLL_API const char *ncoll_version(void);

/**
 * All reasons of errors: X(code, value, text). A program that reacts to errors compares the reason
 * with these constants, and not texts, which may change. The numbers never change; new reasons may
 * be added.
 */
#define NCOLL_REASON_MAP(X)                                                                        \
    X(NCOLL_REASON_NONE, 0, "there was no error")                                                  \
    X(NCOLL_REASON_OTHER, 1, "the status says all")                                                \
    X(NCOLL_REASON_BAD_ARGUMENT, 2, "an argument, a parameter or an NCOLL_ variable is wrong")     \
    X(NCOLL_REASON_BAD_HANDLE, 3, "a handle is NULL or not valid")                                 \
    X(NCOLL_REASON_FORKED, 4, "the context was made by the process that has forked this one")      \
    X(NCOLL_REASON_CONTEXT_IN_USE, 5, "another call is going on in the context")                   \
    X(NCOLL_REASON_CALL_UNFINISHED, 6, "an earlier call has to be finished first")                 \
    X(NCOLL_REASON_OUT_OF_MEMORY, 7, "the process or the machine has no memory left")              \
    X(NCOLL_REASON_BUG, 8, "a bug in ncoll")                                                       \
    X(NCOLL_REASON_CODEC_FAILED, 9, "a function of a codec returned an error")                     \
    X(NCOLL_REASON_STALLED, 10, "a call waits without progress")                                   \
    X(NCOLL_REASON_COLLECTIVE_DIFFERS, 20, "ranks called different collectives")                   \
    X(NCOLL_REASON_COUNT_DIFFERS, 21, "ranks called a collective with different counts")           \
    X(NCOLL_REASON_TYPE_DIFFERS, 22, "ranks called a collective with different types")             \
    X(NCOLL_REASON_OPERATION_DIFFERS, 23, "ranks called a collective with different operations")   \
    X(NCOLL_REASON_ROOT_DIFFERS, 24, "ranks called a collective with different roots")             \
    X(NCOLL_REASON_ALGORITHM_DIFFERS, 25, "ranks chose different algorithms for a collective")     \
    X(NCOLL_REASON_DEFINITION_DIFFERS, 26,                                                         \
      "ranks defined a type, an operation, a codec or a threshold differently")                    \
    X(NCOLL_REASON_CALLS_DIFFER, 27, "ranks made different calls before")                          \
    X(NCOLL_REASON_DEADLOCK, 28, "ranks wait for each other in calls on different groups")         \
    X(NCOLL_REASON_SETTING_DIFFERS, 29, "ranks have different settings")                           \
    X(NCOLL_REASON_PEER_DIED, 40, "the process of a rank ended, or its connection broke")          \
    X(NCOLL_REASON_PEER_LEFT, 41, "a rank destroyed its context")                                  \
    X(NCOLL_REASON_PEER_FAILED, 42, "a rank has an error of its own")                              \
    X(NCOLL_REASON_UNREACHABLE, 43, "a rank could not be reached")                                 \
    X(NCOLL_REASON_PEER_MISSING, 44, "a rank did not come in time")                                \
    X(NCOLL_REASON_NO_LAUNCHER, 60, "nothing says how the ranks find each other")                  \
    X(NCOLL_REASON_WRONG_KEY, 61, "what answers is of another job, or has another key")            \
    X(NCOLL_REASON_VERSION_DIFFERS, 62, "ranks run different versions of ncoll")                   \
    X(NCOLL_REASON_NO_ADDRESS, 63, "a name or an address of a host cannot be used")                \
    X(NCOLL_REASON_CALLBACK_FAILED, 64, "a bootstrap callback of the program failed")              \
    X(NCOLL_REASON_LAUNCHER_FAILED, 65, "the launcher failed in an exchange")                      \
    X(NCOLL_REASON_JOB_REFUSED, 66, "rank 0 says why the job cannot start")                        \
    X(NCOLL_REASON_NO_DESCRIPTORS, 80, "no file descriptors are left")                             \
    X(NCOLL_REASON_OUT_OF_LOCKED_MEMORY, 81, "the limit of locked memory was reached")             \
    X(NCOLL_REASON_FILE_SIZE, 82, "the limit of file sizes is too low for shared memory")          \
    X(NCOLL_REASON_TOO_MANY, 83, "there are as many objects of a kind as there can be")            \
    X(NCOLL_REASON_QUEUES_FULL, 84, "a device has no room for more connections")                   \
    X(NCOLL_REASON_TOO_LONG, 85, "a region or a message is longer than possible")                  \
    X(NCOLL_REASON_SYSTEM_REFUSED, 86, "the system does not permit what is needed")                \
    X(NCOLL_REASON_SYSTEM_CALL, 87, "a system call failed")                                        \
    X(NCOLL_REASON_NO_DEVICE, 100, "there is no RDMA device")                                      \
    X(NCOLL_REASON_NO_PORT, 101, "no RDMA port is active and has a usable address")                \
    X(NCOLL_REASON_DEVICE_ASKED_FOR, 102, "the device, port or address asked for is not usable")   \
    X(NCOLL_REASON_NO_COMMON_NETWORK, 103, "ranks have no network in common")                      \
    X(NCOLL_REASON_DEVICE_FAILED, 104, "a device could not do what it was told to")                \
    X(NCOLL_REASON_NOT_BUILT, 120, "ncoll was built without it")                                   \
    X(NCOLL_REASON_NO_ALGORITHM, 121, "no algorithm, or not the one asked for, serves the call")   \
    X(NCOLL_REASON_WINDOW_TOO_SMALL, 122, "the window is too small for the call")                  \
    X(NCOLL_REASON_NO_SHARED_MEMORY, 123, "ranks cannot share memory")                             \
    X(NCOLL_REASON_NOT_POSSIBLE, 124, "what was asked for does not exist in this case")

/** The reason of an error: finer than its status. */
typedef enum ncoll_reason {
#define NCOLL_REASON_ENUM(code, value, text) code = value,
    NCOLL_REASON_MAP(NCOLL_REASON_ENUM)
#undef NCOLL_REASON_ENUM
} ncoll_reason;

/**
 * Returns what a reason of errors means, "unknown reason" for any other number. Never NULL; the
 * string is static. Any thread may call it at any time.
 *
 * @param reason  a value of ncoll_reason
 */
NCOLL_API const char *ncoll_reason_text(int reason);

/**
 * Returns the name of a reason of errors, as "NCOLL_REASON_PEER_DIED", for logs that other programs
 * read; "NCOLL_REASON_?" for any other number. Never NULL; the string is static. Any thread may
 * call it at any time.
 *
 * @param reason  a value of ncoll_reason
 */
NCOLL_API const char *ncoll_reason_name(int reason);

/** An error in words, and as a number. */
typedef struct ncoll_error {
    ncoll_status status; /**< NCOLL_OK: there was no error so far */
    int rank;            /**< world rank that reports the error; -1: not known yet */
    int peer;            /**< world rank that the error is about; -1: about none */
    char cause[384];     /**< what happened, and where */
    char remedy[256];    /**< what to do about it; "" if there is no error */
    char text[768];      /**< all of this in one line */
    ncoll_reason reason; /**< the reason, for programs */
} ncoll_error;

/* ------------------------------------------------------------------ handles ------------------ */

/** One rank's end of a job. It owns the groups, requests, types and operations made with it. */
typedef struct ncoll_context ncoll_context;
/** An ordered set of ranks, as a communicator in MPI. Owned by its context. */
typedef struct ncoll_group ncoll_group;
/** One started collective. Owned by its group. */
typedef struct ncoll_request ncoll_request;
/** The shared memory in which forked ranks find each other; see ncoll_fork_ranks(). */
typedef struct ncoll_fork_board ncoll_fork_board;
/** A board on which ranks that are threads of one process find each other; see
 * ncoll_thread_board_create(). */
typedef struct ncoll_thread_board ncoll_thread_board;

/* ------------------------------------------------------------------ time-outs ---------------- */

/*
 * A time-out is NCOLL_BLOCK, NCOLL_TEST or any other positive number of nanoseconds. The time
 * begins with the call. A negative time-out gives NCOLL_ERR_ARGUMENT.
 */
#define NCOLL_BLOCK INT64_MAX    /**< wait as long as it takes */
#define NCOLL_TEST  ((int64_t)0) /**< do what can be done now, and do not wait */

/* ------------------------------------------------------------------ types, operations -------- */

/** The type of the elements that a collective moves: one of the types below, or one made by
 * ncoll_type_create(). */
typedef uint32_t ncoll_type;
enum {
    NCOLL_INT8 = 1,
    NCOLL_INT16,
    NCOLL_INT32,
    NCOLL_INT64,
    NCOLL_UINT8,
    NCOLL_UINT16,
    NCOLL_UINT32,
    NCOLL_UINT64,
    NCOLL_FLOAT,
    NCOLL_DOUBLE,
    NCOLL_LONG_DOUBLE,    /**< long double of the compiler; its padding is zero in results */
    NCOLL_HALF,           /**< IEEE 754 binary16 */
    NCOLL_BFLOAT16,       /**< the upper half of a float */
    NCOLL_COMPLEX_FLOAT,  /**< real part, imaginary part */
    NCOLL_COMPLEX_DOUBLE, /**< real part, imaginary part */
    NCOLL_INT32_INT32,    /**< struct ncoll_int32_int32; the next four are named alike */
    NCOLL_INT64_INT64,
    NCOLL_FLOAT_INT32,
    NCOLL_DOUBLE_INT32,
    NCOLL_DOUBLE_INT64,
};

/** A value and its index, for NCOLL_MINLOC and NCOLL_MAXLOC. */
typedef struct ncoll_int32_int32 {
    int32_t value, index;
} ncoll_int32_int32;
/** A value and its index, for NCOLL_MINLOC and NCOLL_MAXLOC. */
typedef struct ncoll_int64_int64 {
    int64_t value, index;
} ncoll_int64_int64;
/** A value and its index, for NCOLL_MINLOC and NCOLL_MAXLOC. */
typedef struct ncoll_float_int32 {
    float value;
    int32_t index;
} ncoll_float_int32;
/** A value and its index, for NCOLL_MINLOC and NCOLL_MAXLOC. */
typedef struct ncoll_double_int32 {
    double value;
    int32_t index;
    int32_t unused; /**< ignored; 0 in results */
} ncoll_double_int32;
/** A value and its index, for NCOLL_MINLOC and NCOLL_MAXLOC. */
typedef struct ncoll_double_int64 {
    double value;
    int64_t index;
} ncoll_double_int64;

/**
 * Returns the size in bytes of one element of a type that the library has defined; 0 for any other
 * number.
 *
 * @param type  NCOLL_INT8 and so on
 */
NCOLL_API size_t ncoll_type_size(ncoll_type type);

/**
 * Registers a type of the user's own: elements of `size` bytes, which the library moves and hands
 * to user-defined operations, and whose contents it never reads.
 *
 * The call is local and returns at once. All ranks register the same types in the same order. The
 * type is valid for this context only, until the context is destroyed. At most 200 can be made.
 *
 * A user-defined operation is not told the size: it recognises the type by its number, or gets the
 * size from its `arg`. Elements in the caller's buffers lie at multiples of `size`, so they are
 * aligned only if `size` is a multiple of their alignment. Elements in the library's own memory are
 * aligned to at most 8 bytes.
 *
 * @param ctx   the context
 * @param size  bytes of one element, from 1 to PTRDIFF_MAX
 * @param type  gets the new type; set on NCOLL_OK only
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: size is 0 or above PTRDIFF_MAX, or type is NULL;
 * NCOLL_ERR_RESOURCE: there are 200 types already; NCOLL_ERR_MEMORY.
 */
NCOLL_API int ncoll_type_create(ncoll_context *ctx, size_t size, ncoll_type *type);

/**
 * Does what ncoll_type_create() does, and gives the type a name. If the type of a call has another
 * size or another name on some rank, the call fails with NCOLL_ERR_MISMATCH; the error gives the
 * name.
 *
 * @param ctx   the context
 * @param size  bytes of one element
 * @param name  copied; NULL: no name
 * @param type  gets the new type; set on NCOLL_OK only
 *
 * ERRORS: those of ncoll_type_create().
 */
NCOLL_API int ncoll_type_create_named(ncoll_context *ctx, size_t size, const char *name,
                                      ncoll_type *type);

/**
 * Returns the size in bytes of one element of any type that is valid for the context, those made by
 * ncoll_type_create() included; 0 for any other number and for a bad handle.
 *
 * @param ctx   the context
 * @param type  the type
 */
NCOLL_API size_t ncoll_context_type_size(const ncoll_context *ctx, ncoll_type type);

/**
 * An operation of a reduction: one of those below, or one made by ncoll_op_create(). Operations are
 * defined for these types:
 *
 *                                  SUM, PROD   MIN, MAX   logical, bitwise   MINLOC, MAXLOC
 *     integers                         x           x              x
 *     float, double, long double,
 *     half, bfloat16                   x           x
 *     complex                          x
 *     pairs of value and index                                                     x
 *
 * A type made by ncoll_type_create() has user-defined operations only. A user-defined operation can
 * be used with every type.
 *
 * Integer sums and products wrap modulo 2^bits. Logical operations give 0 or 1. half and bfloat16
 * are calculated as float and rounded to the nearest value, ties to even, after every operation. A
 * complex product is (ac - bd, ad + bc): each part is rounded as written, without fused operations
 * and without special treatment of infinities.
 *
 * Floating-point MIN and MAX order -0 below +0, and give the canonical quiet NaN if any operand is
 * NaN. MINLOC and MAXLOC order values in the same way. Among equal values, or among NaNs if there
 * are any, MINLOC and MAXLOC take the one with the lowest index. So the results of MIN, MAX, MINLOC
 * and MAXLOC, and of all operations on integers, do not depend on the order of the operands.
 *
 * SUM_REPRODUCIBLE, for float and double, gives the same bits for every number of ranks, algorithm
 * and order of the operands. The sum is correctly rounded if the exponents of the numbers lie
 * within 28 of each other (57 for float). Otherwise, with n ranks, fewer than 2^23, its error is at
 * most n * 2^-80 times the largest magnitude among the numbers. Its messages have 32 bytes for each
 * element. Source: Demmel and Nguyen, IEEE Transactions on Computers 64(7), 2015.
 */
typedef uint32_t ncoll_op;
enum {
    NCOLL_SUM = 1,
    NCOLL_PROD,
    NCOLL_MIN,
    NCOLL_MAX,
    NCOLL_LAND,
    NCOLL_LOR,
    NCOLL_LXOR,
    NCOLL_BAND,
    NCOLL_BOR,
    NCOLL_BXOR,
    NCOLL_MINLOC,
    NCOLL_MAXLOC,
    NCOLL_SUM_REPRODUCIBLE,
};

/**
 * A user-defined operation: out[i] = left[i] op right[i] for i = 0..count-1. It must be
 * associative. out may be the same array as left or right; otherwise it does not overlap them. The
 * function is called by the thread that makes progress. Inside it, calls on the same context get
 * NCOLL_ERR_BUSY.
 *
 * @param out    gets count elements
 * @param left   count elements, which come first where the operation does not commute
 * @param right  count elements
 * @param count  how many
 * @param type   type of the elements
 * @param arg    as given in ncoll_op_def.arg
 */
typedef void (*ncoll_op_fn)(void *out, const void *left, const void *right, size_t count,
                            ncoll_type type, void *arg);

#define NCOLL_OP_COMMUTATIVE 1u /**< a op b == b op a */
#define NCOLL_OP_IDEMPOTENT  2u /**< a op a == a; does not imply that the operation commutes */

/** The definition of an operation, for ncoll_op_create(). */
typedef struct ncoll_op_def {
    size_t size;         /**< sizeof(ncoll_op_def) */
    unsigned flags;      /**< NCOLL_OP_COMMUTATIVE, NCOLL_OP_IDEMPOTENT or both; 0: neither */
    ncoll_op_fn combine; /**< required */
    /** Optional: inverse(out, a op b, b) gives a. Used only if the operation is commutative. */
    ncoll_op_fn inverse;
    void *arg; /**< handed to both functions; must live as long as the context */
} ncoll_op_def;

/**
 * Registers a user-defined operation. The call is local and returns at once. All ranks register the
 * same operations in the same order. The operation is valid for this context only, until the
 * context is destroyed. At most 1000 can be made.
 *
 * @param ctx  the context
 * @param def  the definition; copied
 * @param op   gets the new operation; set on NCOLL_OK only
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: def or op is NULL, def->size is not known to the
 * library, combine is NULL, or a flag is unknown; NCOLL_ERR_RESOURCE: there are 1000 operations
 * already; NCOLL_ERR_MEMORY.
 */
NCOLL_API int ncoll_op_create(ncoll_context *ctx, const ncoll_op_def *def, ncoll_op *op);

/**
 * Does what ncoll_op_create() does, and gives the operation a name. If the operation of a call has
 * other flags or another name on some rank, or has an inverse on some ranks only, the call fails
 * with NCOLL_ERR_MISMATCH. The error on each rank gives the flags and the name that the operation
 * has on that rank.
 *
 * @param ctx   the context
 * @param def   the definition; copied
 * @param name  copied; NULL: no name
 * @param op    gets the new operation; set on NCOLL_OK only
 *
 * ERRORS: those of ncoll_op_create().
 */
NCOLL_API int ncoll_op_create_named(ncoll_context *ctx, const ncoll_op_def *def, const char *name,
                                    ncoll_op *op);

/* ------------------------------------------------------------------ parameters --------------- */

/**
 * Functions by which the ranks find each other if the program brings its own way
 * (NCOLL_BOOTSTRAP_USER). A value that any rank put before a fence can be got by every rank after
 * that fence. A key is a short ASCII string. Each rank puts a key at most once. Contexts that exist
 * at the same time need different `arg`s, so that their keys do not collide. Each function returns
 * 0 on success and anything else on an error.
 */
typedef struct ncoll_bootstrap_callbacks {
    /** Publishes len bytes under a key. The function has to copy the bytes: `value` is valid during
     * the call only. */
    int (*put)(void *arg, const char *key, const void *value, size_t len);
    /** Returns when all ranks have called it. It may return NCOLL_TIMEOUT after timeout_ns; the
     * library then calls it again for the same fence. */
    int (*fence)(void *arg, int64_t timeout_ns);
    /** Gets what a rank has published under a key: writes at most *len bytes of it to `value`, and
     * sets *len to its full length. */
    int (*get)(void *arg, int rank, const char *key, void *value, size_t *len);
    void *arg; /**< handed to all three functions */
} ncoll_bootstrap_callbacks;

/**
 * The one function by which ranks find each other in place of ncoll_bootstrap_callbacks, if the
 * program has an allgather already: rank r gets the `bytes` bytes at `in` of rank q at
 * out + q * bytes, for all q. With MPI it is one line:
 *
 *     return MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, *(MPI_Comm *)arg);
 *
 * All ranks call it the same number of times with the same `bytes`, from 1 to 4096, so the program
 * need not tell the calls apart. Only ncoll_context_create() calls it, on the thread of that call.
 * The library cannot interrupt the function: if a rank does not come, the other ranks wait until
 * the function returns, even beyond bootstrap_timeout_ns.
 *
 * @param arg    ncoll_params.allgather_arg
 * @param in     bytes of this rank
 * @param bytes  the same on all ranks
 * @param out    ranks * bytes; does not overlap `in`
 *
 * Returns 0 on success, anything else on an error, which ends ncoll_context_create() with
 * NCOLL_ERR_BOOTSTRAP on this rank. If the function fails on one rank, it has to fail on the other
 * ranks, too.
 */
typedef int (*ncoll_allgather_fn)(void *arg, const void *in, size_t bytes, void *out);

/** How the ranks find each other. */
typedef enum ncoll_bootstrap {
    /** The first of these that applies: the callbacks or the allgather, if they are given; the
     * board of threads or of forked ranks, if there is one; tcp, if `root` is set; PMI or PMIx, if
     * the innermost launcher offers one of them; slurm, if srun has started the process; a job of
     * one rank. It is an error if a launcher has started several tasks and none of these connects
     * them. */
    NCOLL_BOOTSTRAP_AUTO = 0,
    NCOLL_BOOTSTRAP_FORK, /**< the ranks were forked by ncoll_fork_ranks() */
    NCOLL_BOOTSTRAP_PMIX, /**< a PMIx launcher: prterun, srun --mpi=pmix, mpirun of Open MPI */
    NCOLL_BOOTSTRAP_TCP,  /**< rank 0 listens at `root`, and all others connect to it */
    NCOLL_BOOTSTRAP_USER, /**< the callbacks of the program, or its allgather */
    NCOLL_BOOTSTRAP_SELF, /**< a job of one rank */
    NCOLL_BOOTSTRAP_PMI1, /**< a launcher with PMI-1: mpiexec of MPICH, flux run, srun --mpi=pmi2 */
    NCOLL_BOOTSTRAP_PMI2, /**< a launcher with PMI-2: srun --mpi=pmi2, mpiexec of MPICH */
    /** srun without PMI. It is tcp, with rank, size, host and port from Slurm's variables. */
    NCOLL_BOOTSTRAP_SLURM,
    NCOLL_BOOTSTRAP_THREADS, /**< threads of one process: ncoll_thread_board_create() */
} ncoll_bootstrap;

/** How much is logged. Each level includes those before it. */
typedef enum ncoll_log_level {
    NCOLL_LOG_NONE = 0, /**< nothing is logged */
    NCOLL_LOG_ERROR = 1,
    NCOLL_LOG_WARN,
    NCOLL_LOG_INFO,
    NCOLL_LOG_DEBUG,
} ncoll_log_level;

/**
 * The kinds of parts of a machine (levels) that hierarchical algorithms may use in place of nodes,
 * in groups whose ranks share one node. A domain is one such part. A level is used only if each
 * rank is bound to one domain of this level, even if the user has named the level. Algorithms that
 * use the level are chosen as all others are: see ncoll_tune.
 */
typedef enum ncoll_level {
    /** The outermost of the levels package, NUMA node and L3 cache at which the ranks of the group
     * lie in several domains, with several ranks in at least one of them. No level if ranks share
     * cores. */
    NCOLL_LEVEL_AUTO,
    NCOLL_LEVEL_NONE,    /**< no level */
    NCOLL_LEVEL_PACKAGE, /**< a processor package (socket) */
    NCOLL_LEVEL_NUMA,    /**< a NUMA node */
    NCOLL_LEVEL_L3,      /**< the cores of an L3 cache */
    NCOLL_LEVEL_CORE,    /**< a core with its hardware threads */
} ncoll_level;

/**
 * The sources from which an algorithm is chosen if the user does not force one, and no rule of the
 * user's (ncoll_params.rules_file) is for the call. They are asked in the order given; a source
 * that knows nothing of a call leaves the choice to the next.
 *
 * - The table holds the fastest algorithms that ncoll-tune measured on this machine, over this
 *   transport, for groups of this size. Rank 0 reads it when the context is created, and sends it
 *   to the others. A table that is damaged, out of date or of another format is ignored with a
 *   warning (NCOLL_LOG_WARN). There is also a warning if the file that tune_file names does not
 *   exist.
 * - The trial times the first barrier and the first allreduce of each group with n = 1..7, 15 times
 *   each, and keeps the n with the lowest mean (End 2015, section V). If tune_file is set, rank 0
 *   writes the result there when its context is destroyed, for later jobs, and logs an error if it
 *   cannot.
 * - The model consists of what each algorithm says about how well it fits a call, and of estimates
 *   from the costs of messages. These costs come from the table's file if `ncoll-tune --costs` has
 *   measured them; otherwise they are built in.
 */
typedef enum ncoll_tune {
    NCOLL_TUNE_TABLE = 0, /**< table, model */
    NCOLL_TUNE_TRIAL = 1, /**< table, trial, model */
    NCOLL_TUNE_MODEL = 2, /**< model */
    NCOLL_TUNE_OFF = 3,   /**< model with the built-in costs: no file is read */
} ncoll_tune;

/**
 * Parameters of a context. ncoll_params_init() sets the defaults; the program then changes what it
 * wants. A field whose comment names a variable can also be set in the environment. The environment
 * takes precedence, so that a user can configure a program that embeds the library. `ncoll-info`
 * lists all variables. Rank 0 warns (NCOLL_LOG_WARN) of an unknown variable that begins with
 * NCOLL_, and of NCOLL_RANK and NCOLL_SIZE without NCOLL_ROOT; these are ignored. But if nothing
 * else says who the ranks are, an NCOLL_SIZE above 1 or an NCOLL_RANK above 0 without NCOLL_ROOT is
 * an error (NCOLL_ERR_BOOTSTRAP), unless NCOLL_BOOTSTRAP=self.
 */
typedef struct ncoll_params {
    size_t size; /**< sizeof(ncoll_params) of the program; set by ncoll_params_init() */

    ncoll_bootstrap bootstrap;           /**< NCOLL_BOOTSTRAP=auto|fork|pmix|tcp|threads|.. */
    ncoll_bootstrap_callbacks callbacks; /**< for NCOLL_BOOTSTRAP_USER */
    ncoll_fork_board *board;             /**< for NCOLL_BOOTSTRAP_FORK; see ncoll_fork_ranks() */
    /** NCOLL_RANK, NCOLL_SIZE: this rank, and the number of ranks, at most 1048576; for TCP, USER
     * and THREADS. The two variables are read for TCP alone. */
    int rank, ranks;
    const char *root;             /**< for TCP: "host:port" of rank 0; NCOLL_ROOT */
    int64_t bootstrap_timeout_ns; /**< NCOLL_BOOTSTRAP_TIMEOUT (seconds); default 60 s */

    /** NCOLL_TRANSPORT=shm|verbs|shm+verbs; NULL: shm within a node, verbs between nodes */
    const char *transport;
    const char *wiring; /**< NCOLL_WIRING=direct|rdmacm; NULL: direct */
    /** NCOLL_DEVICE: the RDMA devices to choose from: "mlx5_0", or a list with ports, as
     * "mlx5_0:1,mlx5_2". A name that no device has stands for all devices whose names begin with
     * it, as "mlx5". With ^ before the list, as "^mlx5_bond", the devices are all but those of the
     * list. NULL: all devices. */
    const char *device;
    int port;      /**< NCOLL_PORT, from 1; 0: ncoll chooses */
    int gid_index; /**< index of the GID, if `gid` is NULL; -1: ncoll chooses */
    /** NCOLL_NODES, for tests: the nodes that algorithms believe the ranks of the world to be on.
     * "0,0,1,1": ranks 0 and 1 share a node, ranks 2 and 3 share another. With more ranks than
     * numbers the list begins again. The same on all ranks. NULL: the real nodes. */
    const char *nodes;
    /** NCOLL_LEVEL=auto|none|package|numa|l3|core: see ncoll_level. For groups within one node,
     * over shm. The same on all ranks; default NCOLL_LEVEL_AUTO. */
    ncoll_level level;

    /* The name of the algorithm for each collective. NULL: ncoll chooses. */
    const char *barrier_algorithm;        /**< NCOLL_BARRIER_ALGORITHM */
    const char *allreduce_algorithm;      /**< NCOLL_ALLREDUCE_ALGORITHM */
    const char *bcast_algorithm;          /**< NCOLL_BCAST_ALGORITHM */
    const char *reduce_algorithm;         /**< NCOLL_REDUCE_ALGORITHM */
    const char *gather_algorithm;         /**< NCOLL_GATHER_ALGORITHM */
    const char *scatter_algorithm;        /**< NCOLL_SCATTER_ALGORITHM */
    const char *allgather_algorithm;      /**< NCOLL_ALLGATHER_ALGORITHM */
    const char *alltoall_algorithm;       /**< NCOLL_ALLTOALL_ALGORITHM */
    const char *reduce_scatter_algorithm; /**< NCOLL_REDUCE_SCATTER_ALGORITHM */
    const char *scan_algorithm;           /**< NCOLL_SCAN_ALGORITHM */
    const char *exscan_algorithm;         /**< NCOLL_EXSCAN_ALGORITHM */
    /** NCOLL_RADIX: n of the n-way algorithms, 1..16, or a list of such numbers (NCOLL_RADIX=3,2,2;
     * ncoll_radix_list()); -1: ncoll chooses. */
    int radix;
    /** NCOLL_TUNE=table|trial|model|off: see ncoll_tune. The same on all ranks; default
     * NCOLL_TUNE_TABLE. */
    ncoll_tune tune;
    /** NCOLL_ANY_ORDER=1: floating-point results may differ in the last bits from rank to rank,
     * which allows faster algorithms; default 0. */
    int any_order;
    /** NCOLL_SYNC=loose|strict-entry|strict-exit|strict: how far collectives on the world, and on
     * groups made from it, synchronise; see ncoll_group_set_sync(). Default NCOLL_LOOSE. */
    int sync;
    /** NCOLL_WINDOW: bytes of the memory in which the world group receives messages; default
     * 4 MiB. Long vectors are cut into segments of at most an eighth of it. Scratch space takes the
     * same amount again. */
    size_t window_bytes;
    /** NCOLL_GROUP_WINDOW: the same for every other group; 0, the default: a quarter of
     * window_bytes. */
    size_t group_window_bytes;
    /** NCOLL_ZERO_COPY: messages of this many bytes or more are not copied on their way, if the
     * memory allows it (see ncoll_alloc()); default 16 KiB. */
    size_t zero_copy_bytes;
    /** NCOLL_SHOW: ranks of the same node read messages of this many bytes or more in the sender's
     * memory, if that saves a copy; 0: never. The same on all ranks; default 2 KiB. */
    size_t show_bytes;
    int huge_pages; /**< NCOLL_HUGE_PAGES=0: ncoll_alloc() takes no huge pages; default 1 */
    /** NCOLL_SPIN (microseconds): how long a waiting rank spins before it yields its core, and then
     * sleeps. -1, the default: ncoll chooses the time, which is 0 if there are more ranks than
     * cores. A rank that notices that other processes use its core sleeps sooner, and so do 32 or
     * more ranks on one core. */
    int64_t spin_ns;

    void (*log)(void *arg, ncoll_log_level level, const char *text); /**< NULL: standard error */
    void *log_arg;                                                   /**< handed to log */
    /** NCOLL_LOG=none|error|warn|info|debug; default warn. The level info tells what the job runs
     * on; debug tells of each plan when it is made, and why its algorithm was chosen. */
    ncoll_log_level log_level;

    void *(*allocate)(void *arg,
                      size_t bytes);          /**< NULL: malloc(); set both functions or neither */
    void (*release)(void *arg, void *memory); /**< gives back what allocate gave */
    void *allocate_arg;                       /**< handed to both */

    uint64_t (*clock_ns)(void *arg); /**< monotonic time in ns; NULL: CLOCK_MONOTONIC */
    void *clock_arg;                 /**< handed to clock_ns */

    /** NCOLL_TUNE_FILE: the tuning table, which rank 0 reads for all ranks; NULL:
     * $XDG_CACHE_HOME/ncoll/tuning, or ~/.cache/ncoll/tuning. */
    const char *tune_file;
    /** NCOLL_SINGLE_COPY: ranks of a node copy messages of this many bytes or more straight from
     * the sender's memory, if that is not from ncoll_alloc() and if the kernel allows it
     * (process_vm_readv()); 0, the default: never. See ncoll_alloc(). */
    size_t single_copy_bytes;
    /** NCOLL_STALL_WARN (seconds): a call that has waited for so long without progress is logged
     * (NCOLL_LOG_WARN) with the rank that it waits for, and again after twice the time, and so on.
     * If the awaited rank in turn waits for another one, this line is logged at NCOLL_LOG_INFO;
     * rank 0 always logs at NCOLL_LOG_WARN. The creation of a context is logged in the same way. At
     * least 0.1 s; 0: never; default 10 s. */
    int64_t stall_warn_ns;
    /** NCOLL_KEY: a secret of the job, the same text on all ranks, by which the ranks of the tcp
     * bootstrap recognise each other; see Security above. NULL, the default: none.
     * ncoll_fork_ranks() makes a key for its ranks. The key is never printed. */
    const char *key;
    /** NCOLL_TRACE: each rank keeps its latest events in memory, and writes them to this file, with
     * a dot and its rank added to the name, when its context is destroyed. `ncoll-explain timeline`
     * merges these files. A file that exists is replaced, even one of an earlier context of the
     * same process. If a file cannot be written, this is logged (NCOLL_LOG_WARN). NULL, the
     * default: no trace. */
    const char *trace;
    int trace_events; /**< NCOLL_TRACE_EVENTS: events that are kept, 72 bytes each; default 65536 */
    /** NCOLL_PEERS: the largest number of other ranks that a rank is connected to for a collective,
     * if ncoll chooses the algorithm. An algorithm that needs more connections, such as one message
     * from each rank to each other rank in a large job, is not chosen if another algorithm needs
     * fewer. A number below 2 log2(P) counts as 2 log2(P), since each rank has about as many
     * connections in any case. If every algorithm needs more connections, one of them is used all
     * the same. The same on all ranks; 0, the default: as many as the network device of every rank
     * has room for. */
    int peers;
    /** NCOLL_PKEY: the partition (P_Key) of messages over RDMA by its value, with or without the
     * bit of full members. The value has to be in the P_Key table of the port. 0, the default: the
     * first partition in the table of which the port is a full member; if there is none, the first
     * partition. */
    int pkey;
    /** NCOLL_SL: service level of messages over RDMA, 0 to 15; default 0. With NCOLL_WIRING=rdmacm
     * the connection manager chooses the service level, the traffic class and the partition, unless
     * they are set. */
    int service_level;
    /** NCOLL_TRAFFIC_CLASS: traffic class of messages over RDMA, 0 to 255; for RoCE v2 it is 4
     * times the DSCP, by which switches find the lossless class. Default 0. */
    int traffic_class;
    /** NCOLL_MTU: the largest packet over RDMA in bytes: 256, 512, 1024, 2048 or 4096. Default 0:
     * the largest that the ports at both ends are set to, which is also the limit of this
     * setting. */
    int mtu;
    /** NCOLL_TIMEOUT_EXPONENT: a device resends a packet that is not answered after 4.096 us times
     * 2 to this power, 1 to 31; default 18, which is 1.07 s. Devices may take up to four times as
     * long. */
    int timeout_exponent;
    /** NCOLL_RETRIES: how often a device resends a packet before the connection fails, 0 to 7;
     * default 7. */
    int retries;
    /** NCOLL_PEER_TIMEOUT (seconds): a rank gives up a peer that it reaches over RDMA if it waits
     * for the peer, or has sent something to it, and the peer's device has answered nothing for so
     * long; default 5 s. If a cable or a switch fails for a short time, the job only loses this
     * time, provided that all packets are resent and answered before this time-out, and before the
     * sending device gives up (after the time of NCOLL_TIMEOUT_EXPONENT times the number of retries
     * plus one). */
    int64_t peer_timeout_ns;
    /** NCOLL_GID: which address (GID) of a port is used: its index, a network interface as eth1, a
     * range of addresses as 10.1.0.0/16 or fd00::/8, a version of RoCE, roce1 or roce2, or several
     * of these, separated by commas, which all have to hold. NULL, the default: gid_index; if that
     * is -1, ncoll chooses, and prefers RoCE v2 with IPv4. */
    const char *gid;
    /** NCOLL_RELAXED_ORDERING: 1, the default: a device may write the bytes of long messages, and
     * of the user's registered memory, to memory in any order (PCIe relaxed ordering), which some
     * processors need for the full bandwidth. The completion that tells of a message always comes
     * after its bytes. 0: never. */
    int relaxed_ordering;
    /** NCOLL_RAILS: the number of network cards by which a rank sends a long message at once, 1 or
     * 2; default 1. The second card is another card of the same network. If the second card fails,
     * the first one sends what the second has not delivered. A rank that has no second card, or is
     * connected by rdmacm, uses one card. 2 pays if a node has more cards than ranks. */
    int rails;
    /** NCOLL_RAIL_BYTES: a message of at least so many bytes goes by both cards; default 128 KiB,
     * at least 8 KiB. */
    size_t rail_bytes;
    /** NCOLL_FORK_SAFE: 1, the default: on kernels before 5.12 ncoll calls ibv_fork_init(), unless
     * the program has called it. Then a child that the program forks does not get any page of which
     * a device may use a part: the child must not touch such memory, nor other memory in the same
     * page. 0: the child gets these pages. As long as the child has them, the device may go on
     * using pages that now belong to the child alone, so that the parent loses messages. From
     * kernel 5.12 on the parameter has no effect. */
    int fork_safe;
    /** For NCOLL_BOOTSTRAP_USER, in place of `callbacks`, with `rank` and `ranks`: see
     * ncoll_allgather_fn. It is an error to give both. NULL, the default: none. */
    ncoll_allgather_fn allgather;
    void *allgather_arg; /**< handed to allgather */
    /** NCOLL_RULES: a file of rules that a person writes. A rule says which algorithm calls of
     * certain sizes use in certain groups. See ncoll-rules(5) and ncoll_tune. Rank 0 alone reads
     * the file, and its rules hold for all ranks. A mistake in the file is an error of
     * ncoll_context_create(). NULL, the default: none. */
    const char *rules_file;
    /** NCOLL_BARRIER_RULES, and so on: the rules for one collective, in place of the rules of the
     * file (rules_file) for that collective; "none": no rules. The rules of rank 0 hold for all
     * ranks. NULL, the default: the rules of the file. */
    const char *barrier_rules;
    const char *allreduce_rules;      /**< NCOLL_ALLREDUCE_RULES */
    const char *bcast_rules;          /**< NCOLL_BCAST_RULES */
    const char *reduce_rules;         /**< NCOLL_REDUCE_RULES */
    const char *gather_rules;         /**< NCOLL_GATHER_RULES */
    const char *scatter_rules;        /**< NCOLL_SCATTER_RULES */
    const char *allgather_rules;      /**< NCOLL_ALLGATHER_RULES */
    const char *alltoall_rules;       /**< NCOLL_ALLTOALL_RULES */
    const char *reduce_scatter_rules; /**< NCOLL_REDUCE_SCATTER_RULES */
    const char *scan_rules;           /**< NCOLL_SCAN_RULES */
    const char *exscan_rules;         /**< NCOLL_EXSCAN_RULES */
    /** For NCOLL_BOOTSTRAP_THREADS, with `rank`; `ranks` may be left 0. See
     * ncoll_thread_board_create(). NULL, the default: none. */
    ncoll_thread_board *thread_board;
    /** NCOLL_RANKS_PER_CORE: how many ranks share a core where this rank runs, including ranks of
     * other contexts or other jobs. For a context of some ranks of a job, the right number is
     * ncoll_stats.ranks_per_core of a context of all ranks of the job. Ranks that share cores yield
     * them while they wait, and ncoll chooses algorithms that suit this. The highest number that a
     * rank of a node gives holds for that node, unless the ranks of this context alone make a
     * higher number. 0 to 100000; 0, the default: only the ranks of this context count. */
    double ranks_per_core;
} ncoll_params;

/**
 * Sets all parameters to their defaults.
 *
 * @param params  gets the defaults
 * @param size    sizeof(ncoll_params) as the program was compiled with; so a program that was built
 *                with an older header goes on working
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: params is NULL, or the library does not know this size.
 */
NCOLL_API int ncoll_params_init(ncoll_params *params, size_t size);

/**
 * Returns the value of ncoll_params.radix that stands for a list of radices: a rank sends n[0]
 * messages at once in round 1, n[1] in round 2, and so on; the last number holds for all rounds
 * after it. Algorithms that take a single number use n[0]. `ncoll-explain list` shows the
 * algorithms that take a list.
 *
 * @param n  k numbers from 1 to 16
 * @param k  length of the list: at most 7, where equal numbers at the end count once
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: n is NULL, a number is not from 1 to 16, or there are too many.
 */
NCOLL_API int ncoll_radix_list(const int *n, size_t k);

/* ------------------------------------------------------------------ context ------------------ */

/**
 * Joins the job: finds rank and size, exchanges addresses with the other ranks, makes the world
 * group, and ends with a barrier. Collective over the job. The call blocks for at most
 * bootstrap_timeout_ns. The barrier connects each rank with O(log P) others; the first collective
 * that needs further connections makes them, and only to the peers that it uses.
 *
 * In a forked child, calls on the context get NCOLL_ERR_HANDLE (Linux before 4.14 cannot tell), and
 * ncoll_context_destroy() does nothing. One case needs care, over verbs on kernels before 5.12: a
 * program that itself makes queues or registers memory with a device before it creates its first
 * context, and that forks later. Such a program must call ibv_fork_init() before it uses the
 * device; see ncoll_params.fork_safe.
 *
 * @param params  the parameters; NULL: all defaults
 * @param ctx     gets the context; set on NCOLL_OK only
 * @param error   gets the error if the call fails, since there is no context to ask then; may be
 *                NULL
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: an unknown value in params or the environment, size 0, a rank that is
 * not below the size, or a rule that is wrong (the error says where, and what to write instead);
 * NCOLL_ERR_BOOTSTRAP: rank 0 is not reached, a rank did not come (the error names that rank, if
 * the bootstrap knows it; bootstraps by PMI and by callbacks may not know it), or this is one of
 * several tasks of a launcher that gives them no way to find each other (the error says what to
 * type instead); NCOLL_ERR_DEVICE: no active RDMA port; NCOLL_ERR_RESOURCE: the limit of locked
 * memory or another limit is too low (the error names the limit and the line that raises it);
 * NCOLL_ERR_UNSUPPORTED: the library was built without a part that was asked for; NCOLL_ERR_PEER: a
 * rank failed meanwhile; NCOLL_ERR_MEMORY; NCOLL_ERR_SYSTEM.
 */
NCOLL_API int ncoll_context_create(const ncoll_params *params, ncoll_context **ctx,
                                   ncoll_error *error);

/**
 * Leaves the job and frees the context with all its groups, requests, types, operations and memory.
 * NULL is ignored. A forked child that calls this function with its parent's context leaves the
 * context as it is, since exit handlers may run in both processes. Not collective.
 *
 * A collective that ended on this rank with NCOLL_OK does not need this rank any more, even if
 * other ranks have not finished it. This function first delivers the data of such collectives,
 * which takes at most a second. The other ranks then finish without this rank, even if they have
 * not connected to it yet. So a program may call this function after any of its collectives, and
 * then end.
 *
 * A collective that is unfinished on other ranks and still needs this rank ends there with
 * NCOLL_ERR_PEER. Two kinds of unfinished collectives end with NCOLL_ERR_PEER on all ranks, as do
 * all later calls, if this rank destroys its context before these collectives end: a collective in
 * which other ranks of the node may read this rank's memory (a long allreduce from ncoll_alloc()
 * memory, or NCOLL_SINGLE_COPY), and the first collective of its kind while it connects peers.
 *
 * Suppose that two ranks, which are connected to each other, made different calls on a group. The
 * rank that destroys its context later logs this (NCOLL_LOG_WARN), with both ranks and their calls;
 * if both do so at the same time, both may log it. Each rank logs one difference at most. No status
 * reports it, since the calls themselves have returned. A rank that leaves in the middle of a call,
 * or after a failure of the job, takes no part in this comparison.
 *
 * If another call on the context is going on, since a user-defined operation, a signal handler or
 * another thread has called this function, the function only logs an error.
 *
 * @param ctx  the context; it, and every handle and all memory from it, are invalid afterwards
 */
NCOLL_API void ncoll_context_destroy(ncoll_context *ctx);

/**
 * Returns the last error on the context; the status of the error is NCOLL_OK if there was none.
 * Never NULL: for a bad handle the function returns a record that says so. The record is valid
 * until the next call on the context.
 *
 * A call that returns NCOLL_TIMEOUT after a time-out of one second or more leaves a record with
 * that status, which says what the call waits for: `peer` is a rank that it waits for, -1 if it
 * waits for no rank. Shorter time-outs leave no record.
 *
 * @param ctx  the context
 */
NCOLL_API const ncoll_error *ncoll_last_error(const ncoll_context *ctx);

/**
 * Describes in lines of text, for logs and debuggers, what this rank is doing:
 *
 * - the job and its transport; whether it has failed, and why;
 * - each unfinished call of each group, with its algorithm, its epoch, the numbers of its messages
 *   sent and received, the rank that it waits for, since when, and the last position that this rank
 *   has reported (epochs number the calls of a group from 1; a long call takes several numbers);
 * - the peers that are being connected.
 *
 * @param ctx     the context; a bad handle gives a text that says so
 * @param buffer  gets the text, cut after `bytes` - 1 characters, with a 0 at its end; if it is
 *                NULL and `bytes` is not 0, the whole text is written to standard error, with
 *                write()
 * @param bytes   size of the buffer; 0: nothing is written
 *
 * Returns the length of the whole text without its 0, as snprintf() does. The text was cut if this
 * is `bytes` or more.
 *
 * The call takes no lock, allocates nothing, calls nothing but the clock, changes nothing that
 * other calls would notice, and ends after a bounded number of steps. So a debugger can call it in
 * a process that was stopped anywhere; in gdb:
 *
 *     call (unsigned long)ncoll_describe(ctx, 0, 1)
 *
 * The program itself calls it on the thread that uses the context. Local; it makes no progress.
 */
NCOLL_API size_t ncoll_describe(const ncoll_context *ctx, char *buffer, size_t bytes);

/** Facts about a context, for tools and logs. Counters count from the creation of the context. */
typedef struct ncoll_stats {
    size_t size;           /**< sizeof(ncoll_stats), set by the caller */
    const char *transport; /**< "shm", "verbs" or "shm+verbs" */
    /** "fork", "threads", "pmix", "pmi1", "pmi2", "tcp", "user" or "self" */
    const char *bootstrap;
    /** how peers are connected: "map", through shared memory; "direct" or "rdmacm", how queue pairs
     * are connected */
    const char *wiring;
    int rank, ranks; /**< rank and size of the world group */
    int nodes;       /**< nodes of the job */
    int node_ranks;  /**< ranks on this node */
    int connections; /**< peers connected so far */
    /** 1 if this node has more ranks than cores that they may use, or more than the number of cores
     * whose processor time their control group allows them; else 0 */
    int oversubscribed;
    uint64_t puts;      /**< notified writes issued */
    uint64_t put_bytes; /**< payload bytes in these writes */
    uint64_t rnr;       /**< receiver-not-ready events of the device; any number but 0 is a bug */
    uint64_t sleeps;    /**< times that this rank slept while it waited; yields do not count */
    size_t exchanged_bytes; /**< bytes that this rank published through the bootstrap */
    size_t memory_bytes;    /**< bytes of windows and scratch space */
    size_t scratch_bytes;   /**< scratch space in memory_bytes: as much as the windows */
    size_t user_bytes;      /**< bytes that are allocated by ncoll_alloc() or registered now */
    uint64_t landed_bytes;  /**< payload bytes that arrived in the output buffer, without a copy */
    uint64_t shown_bytes;   /**< the part of put_bytes that receivers read in this rank's memory */
    size_t huge_bytes;      /**< the part of user_bytes in huge pages of hugetlb */
    uint64_t lent_bytes;    /**< the part of put_bytes that receivers copied (NCOLL_SINGLE_COPY) */
    /** bytes that are registered with the network device, without user_bytes: the used part of
     * windows, and the memory of connections; 0 without a device */
    size_t pinned_bytes;
    uint64_t rail_bytes; /**< the part of put_bytes sent by the second network card (NCOLL_RAILS) */
    /** ranks that share a core of this node, at least 1. It is the largest of three numbers: ranks
     * divided by the cores that they may use, ranks divided by the number of cores whose processor
     * time they may use, and ncoll_params.ranks_per_core */
    double ranks_per_core;
} ncoll_stats;

/**
 * Fills in the facts about a context. Local.
 *
 * @param ctx    the context
 * @param stats  gets the facts; its field `size` is set by the caller
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: stats is NULL, or the library does not know its
 * size.
 */
NCOLL_API int ncoll_context_stats(const ncoll_context *ctx, ncoll_stats *stats);

/* ------------------------------------------------------------------ groups ------------------- */

/**
 * Returns the group of all ranks, numbered as the job numbers them; NULL for a bad handle. The
 * group belongs to the context.
 *
 * @param ctx  the context
 */
NCOLL_API ncoll_group *ncoll_world(ncoll_context *ctx);

/**
 * Returns this rank's number in the group; -1 for a bad handle.
 *
 * @param group  the group
 */
NCOLL_API int ncoll_group_rank(const ncoll_group *group);

/**
 * Returns the number of ranks in the group; -1 for a bad handle.
 *
 * @param group  the group
 */
NCOLL_API int ncoll_group_size(const ncoll_group *group);

/**
 * Returns the world rank of a rank of the group; -1 for a bad handle and for a rank that is not in
 * the group.
 *
 * @param group  the group
 * @param rank   number of a rank in the group
 */
NCOLL_API int ncoll_group_world_rank(const ncoll_group *group, int rank);

/*
 * Making groups. ncoll_group_split(), ncoll_group_from_ranks() and ncoll_group_dup() make new
 * groups from the ranks of a group that exists, the parent. Each of these calls is a collective of
 * the parent, ordered with its other calls, and split-phase: after NCOLL_TIMEOUT it is called again
 * with the same arguments. Until the call is finished, another blocking call on the parent gets
 * NCOLL_ERR_BUSY; requests may go on. Each rank sends O(log P) messages, with P ranks in the
 * parent.
 *
 * A new group has a window of its own (group_window_bytes) and is independent of its parent, which
 * may be freed. Requests on different groups may be started in any order and go on at the same
 * time. A blocking call waits for the other ranks of its group, and these may block in calls on
 * other groups. If ranks wait for each other in a circle in this way, they get NCOLL_ERR_MISMATCH.
 * A rank can be in 2047 groups besides the world.
 *
 * A group is made on all its ranks or on none: *group is set on NCOLL_OK only.
 *
 * ERRORS of all that make groups: those of ncoll_barrier(), and those that the call itself names;
 * NCOLL_ERR_ARGUMENT: group is NULL; NCOLL_ERR_RESOURCE, NCOLL_ERR_MEMORY and others: the reason
 * why this rank, or another one that the error names, could not make its part of the group. The
 * parent can be used after these errors. Over verbs, all ranks also get NCOLL_ERR_RESOURCE if the
 * device of one rank, which the error names, has no room in its queues for the connections of the
 * group. If a rank gets NCOLL_ERR_MEMORY before it has sent anything, the other ranks do not learn
 * of this, and wait: the rank has to make the call again.
 */

/** The color of a rank that is to be in no new group; see ncoll_group_split(). */
#define NCOLL_NO_GROUP (-1)

/**
 * Makes one group for each color. The ranks of a group are ordered by their keys, and by their rank
 * in the parent if keys are equal. As MPI_Comm_split().
 *
 * @param parent      the group whose ranks are divided
 * @param color       0 or above; or NCOLL_NO_GROUP: this rank is in no new group, and *group
 *                    becomes NULL
 * @param key         any number
 * @param group       gets the group
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: see above; NCOLL_ERR_ARGUMENT: another color below 0.
 */
NCOLL_API int ncoll_group_split(ncoll_group *parent, int color, int key, ncoll_group **group,
                                int64_t timeout_ns);

/**
 * Makes a group of n ranks of the parent: ranks[i] becomes its rank i. All ranks of the parent call
 * it, with the same list.
 *
 * @param parent      the group whose ranks the list names
 * @param ranks       n different ranks of the parent
 * @param n           length of the list, from 1 to the size of the parent
 * @param group       gets the group; NULL on ranks that are not in the list
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: see above; NCOLL_ERR_MISMATCH: the lists differ; NCOLL_ERR_ARGUMENT: ranks is NULL, n is
 * out of range, or a rank is not in the parent or comes twice.
 */
NCOLL_API int ncoll_group_from_ranks(ncoll_group *parent, const int *ranks, int n,
                                     ncoll_group **group, int64_t timeout_ns);

/**
 * Makes a group of all ranks of the parent in the same order. As MPI_Comm_dup().
 *
 * @param parent      the group
 * @param group       gets the new group
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: see above.
 */
NCOLL_API int ncoll_group_dup(ncoll_group *parent, ncoll_group **group, int64_t timeout_ns);

/**
 * Frees a group and its window. This is the last collective of the group, on all its ranks, and
 * split-phase. Persistent requests of the group that are not started are freed with it.
 *
 * @param group       the group; set to NULL, also if other ranks have errors. Memory that could not
 *                    be freed because of such errors is freed with the context. A copy of the
 *                    handle is refused with NCOLL_ERR_HANDLE until 63 further groups have been
 *                    freed; after that it may stand for a new group.
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: NCOLL_ERR_HANDLE: group or *group is NULL, or it is not a group; NCOLL_ERR_ARGUMENT: the
 * world, which is freed with its context, or a negative time-out; NCOLL_ERR_BUSY: a call is
 * unfinished on the group; NCOLL_ERR_MISMATCH; NCOLL_ERR_PEER.
 */
NCOLL_API int ncoll_group_free(ncoll_group **group, int64_t timeout_ns);

/* ------------------------------------------------------------------ synchronisation ---------- */

/**
 * How far a collective synchronises beyond what its data needs. Entry and exit are set
 * independently of each other, as in GASNet and UPC:
 *
 *                          loose (IN_MYSYNC, OUT_MYSYNC)     strict (IN_ALLSYNC, OUT_ALLSYNC)
 *     entry: data moves    from and to ranks that have       when all ranks have entered the call
 *                          entered the call
 *     exit: a rank leaves  when its own part is done: its    when the call is done on all ranks
 *                          results are there, its input
 *                          can be changed
 *
 * In either mode no collective touches a rank's memory before that rank has entered the call or
 * after that rank has left the call. So the calls order everything that ranks do to each other's
 * memory through ncoll. Loose is the default, as in MPI. A loose call does not order what ranks do
 * to each other's memory by other means, such as a put of the runtime that ncoll is part of, or a
 * store into shared memory. Such a write can be lost:
 *
 *     rank 0              rank 1                        rank 4
 *     x = 1
 *     bcast(x, root 0)    bcast(x, root 0)              (late)
 *                         done: x is 1
 *                         put 5 into rank 4's x         x is 5
 *                                                       bcast(x, root 0)
 *                                                       x is 1: the put is lost
 *
 * Rank 1 sees that the broadcast is done on rank 1, not that it is done everywhere. With a strict
 * exit rank 1 does not leave the bcast before rank 4 has received the 1, so the 5 stays. A strict
 * entry protects the other side: it is for programs in which rank 4 may still put into a buffer of
 * rank 1 until rank 4 enters the call.
 *
 * Strict entry and strict exit cost a barrier each. One barrier, or another collective that waits
 * for all ranks, can do the same for many loose calls. A barrier itself is the same in all modes.
 * Source: Nishtala and Yelick, "Optimizing collective communication on multicores", HotPar 2009;
 * the collectives of GASNet and UPC.
 */
#define NCOLL_LOOSE        0u                                       /**< loose entry, loose exit */
#define NCOLL_STRICT_ENTRY 1u                                       /**< strict entry, loose exit */
#define NCOLL_STRICT_EXIT  2u                                       /**< loose entry, strict exit */
#define NCOLL_STRICT       (NCOLL_STRICT_ENTRY | NCOLL_STRICT_EXIT) /**< strict both ways */

/**
 * Sets the mode of the collectives that this rank calls, starts or makes persistent on the group
 * from now on. All ranks of the group use the same mode for the same call; otherwise that call ends
 * with NCOLL_ERR_MISMATCH. Calls that have begun keep their mode. Groups made from this one begin
 * with its mode. Calls that make and free groups are the same in all modes. Local.
 *
 * @param group  the group
 * @param sync   NCOLL_LOOSE, NCOLL_STRICT_ENTRY, NCOLL_STRICT_EXIT or NCOLL_STRICT
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: unknown bits.
 */
NCOLL_API int ncoll_group_set_sync(ncoll_group *group, unsigned sync);

/**
 * Returns the mode that is set; -1 for a bad handle.
 *
 * @param group  the group
 */
NCOLL_API int ncoll_group_sync(const ncoll_group *group);

/* ------------------------------------------------------------------ memory ------------------- */

/*
 * Collectives take buffers in any memory. Long messages need not be copied on their way if a buffer
 * lies as a whole in memory that was allocated or registered by ncoll, so that the
 * network card and the other ranks of the node can reach it:
 *
 *                              sent without a copy    received without a copy
 *     ncoll_alloc()            verbs, shm             verbs, shm
 *     ncoll_mem_register()     verbs, shm             verbs
 *     any other memory         shm                    -
 *
 * Each rank chooses the memory of its buffers independently of other ranks; the choice makes no
 * difference to the results. Allocated memory and registrations belong to the context.
 * ncoll_alloc(), ncoll_free(), ncoll_mem_register() and ncoll_mem_deregister() are local.
 *
 * Between ranks of a node, a long allreduce reads operands that are in ncoll_alloc() memory
 * directly, without a copy. Data that a rank sends to several ranks of its node is copied only
 * once, from any memory (NCOLL_SHOW).
 *
 * With NCOLL_SINGLE_COPY, set on all ranks of the node, messages to ranks of the node from memory
 * that is not from ncoll_alloc() are copied once: the receiver copies them straight from the
 * sender's buffer. A call then ends only after its receivers have entered it and copied the data.
 * The kernel must permit processes to read each other's memory (process_vm_readv();
 * kernel.yama.ptrace_scope, seccomp); ranks that are threads need no permission. Ranks test this
 * permission when they connect. Without the permission messages go the usual way, and a line in the
 * log (info) says so. Memory that a process cannot read in this way, such as memory of a device,
 * gives NCOLL_ERR_ARGUMENT at the receivers. Measure before you use NCOLL_SINGLE_COPY: on the
 * machines where we compared, the two copies of the default were faster than the one copy by the
 * kernel, for messages up to 64 MiB.
 *
 * After a collective has ended with an error (NCOLL_TIMEOUT is not an error), ranks that do not
 * know of the error yet may still write to the output of this collective until that memory is freed
 * or deregistered, or the context is destroyed. Such ranks may also read the input of the
 * collective; their calls end with an error, too.
 */

/**
 * Allocates zeroed memory that starts at the beginning of a page. The calling thread touches the
 * memory in this call, so that the memory lies near the cores on which the thread runs now. So bind
 * ranks to cores before this call.
 *
 * The memory lies in huge pages of hugetlb if some are set aside (vm.nr_hugepages) and rounding up
 * to them adds no more than a quarter; ncoll_stats.huge_bytes counts them. Otherwise 2 MiB or more
 * are marked for transparent huge pages. A lack of huge pages is no error. NCOLL_HUGE_PAGES=0: none
 * are used.
 *
 * @param ctx     the context; owns the memory until ncoll_free()
 * @param bytes   number of bytes; not 0
 * @param memory  gets the memory; set on NCOLL_OK only
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: bytes is 0, or memory is NULL; NCOLL_ERR_RESOURCE:
 * the limit of locked memory (memlock) or of file descriptors is too low (the error names it and
 * tells how to raise it); NCOLL_ERR_MEMORY: there is no memory, or `bytes` is more than the
 * machine, the control groups of the process or RLIMIT_AS can ever give; NCOLL_ERR_DEVICE;
 * NCOLL_ERR_SYSTEM.
 */
NCOLL_API int ncoll_alloc(ncoll_context *ctx, size_t bytes, void **memory);

/**
 * Frees memory from ncoll_alloc(); NULL is ignored. Memory that is not freed is freed with the
 * context.
 *
 * @param ctx     the context
 * @param memory  as ncoll_alloc() gave it
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: not the start of such memory; NCOLL_ERR_BUSY: an
 * unfinished collective uses it.
 */
NCOLL_API int ncoll_free(ncoll_context *ctx, void *memory);

/**
 * Registers memory of the caller's own. The memory is mapped and writable, and stays so until
 * ncoll_mem_deregister() or the end of the context. It is pinned while it is registered.
 * Registration takes long compared with a collective: register once what is used often.
 *
 * On kernels before 5.12, over verbs, huge pages need care, unless ncoll_params.fork_safe is 0: the
 * program has to register whole huge pages only, and to set RDMAV_HUGEPAGES_SAFE=1. Memory of
 * ncoll_alloc() is always registered in whole huge pages.
 *
 * @param ctx     the context
 * @param memory  start of the memory
 * @param bytes   its length; not 0
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: memory is NULL, bytes is 0, part of the memory is
 * already registered or allocated, or part of it is not mapped (not noticed over shm, which does
 * not use the registration); NCOLL_ERR_RESOURCE: the limit of locked memory is too low;
 * NCOLL_ERR_MEMORY; NCOLL_ERR_DEVICE.
 */
NCOLL_API int ncoll_mem_register(ncoll_context *ctx, void *memory, size_t bytes);

/**
 * Ends a registration. Call it before the memory is unmapped.
 *
 * @param ctx     the context
 * @param memory  start of the registered memory
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: not the start of registered memory; NCOLL_ERR_BUSY:
 * an unfinished collective uses it.
 */
NCOLL_API int ncoll_mem_deregister(ncoll_context *ctx, void *memory);

/* ------------------------------------------------------------------ collectives -------------- */

/**
 * Barrier: returns NCOLL_OK after every rank of the group has entered it.
 *
 * @param group       the group; all its ranks make this call
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: negative time-out; NCOLL_ERR_BUSY: another
 * collective is unfinished on the group; NCOLL_ERR_MISMATCH; NCOLL_ERR_PEER; NCOLL_ERR_RESOURCE and
 * others: the reason why this rank could not connect its peers at the first use of an algorithm;
 * the other ranks then get NCOLL_ERR_PEER.
 *
 * After NCOLL_ERR_MISMATCH, NCOLL_ERR_PEER, and errors in connecting peers, the context has failed:
 * every later collective on any of its groups gives the same error, also on ranks that are not in
 * this group, as soon as they learn of the failure. To go on, destroy the context and create
 * another one.
 *
 * Source: n-way dissemination (Hoefler et al. 2006), adapted last round (End et al. 2015).
 */
NCOLL_API int ncoll_barrier(ncoll_group *group, int64_t timeout_ns);

/*
 * Rules of all collectives. Each collective below exists as a call with a time-out; as a request,
 * with _start; and as a persistent request, with _init. P is the number of ranks of the group.
 *
 * Counts are numbers of elements, 64 bits wide, without an upper limit; 0 is allowed. Where ranks
 * give or get different amounts, counts[q] is the count of rank q's block, and displs[q] is the
 * place in the buffer where the block starts, in elements. With displs NULL the blocks lie one
 * after the other. All ranks pass the same counts (except to alltoallv); each has its own displs.
 * These arrays may be changed after the call has been started.
 *
 * A buffer that a rank does not need, such as `out` of a reduce on ranks other than root, is
 * ignored and may be NULL. Results are undefined until NCOLL_OK, and inputs must not change until
 * then. After NCOLL_OK all buffers may be used again at once.
 *
 * In place: a rank may use one buffer for input and output. If both have the same size, in == out.
 * If the sizes differ, the smaller one is the rank's own block inside the larger one, at the place
 * where this block belongs. With reduce_scatter, in == out, and the result is stored at the start
 * of the buffer. Any other overlap of input and output is an error.
 *
 * Only barrier, allreduce, allgather, alltoall and reduce_scatter wait for all ranks. The others
 * may end on one rank before another has begun. ncoll_group_set_sync() gives stricter modes.
 *
 * Reductions: every rank gets the same bits, and the same call on the same number of ranks gives
 * the same bits in every run, unless any_order is set. An operation that is not commutative is
 * applied in rank order.
 *
 * ERRORS of all: those of ncoll_barrier(); NCOLL_ERR_ARGUMENT: a buffer that is needed is NULL,
 * buffers overlap in part, blocks of an output overlap, a count times the size of the type
 * overflows, the type or operation is unknown, the operation is not defined for the type, or root
 * is not a rank of the group; NCOLL_ERR_BUSY: an unfinished call had other arguments;
 * NCOLL_ERR_UNSUPPORTED: the algorithm that the user forces, or every algorithm, does not exist for
 * this size, radix or operation, the window is too small, or the network device of some rank has no
 * room for the connections (all ranks get this error); NCOLL_ERR_MEMORY: if this rank has sent
 * nothing yet, the other ranks wait for it: call again. If this rank has sent something, the
 * context has failed: later calls on any group give the same error, and the other ranks get
 * NCOLL_ERR_PEER.
 */

/**
 * Allreduce: out[i] = in_0[i] op in_1[i] op ... op in_{P-1}[i] on every rank.
 *
 * @param group       the group; all its ranks make this call
 * @param in          count elements
 * @param out         count elements
 * @param count       the same on all ranks
 * @param type        type of the elements
 * @param op          operation, defined for the type
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_allreduce(ncoll_group *group, const void *in, void *out, size_t count,
                              ncoll_type type, ncoll_op op, int64_t timeout_ns);

/**
 * Reduce: out[i] = in_0[i] op in_1[i] op ... op in_{P-1}[i] on root.
 *
 * @param group       the group; all its ranks make this call
 * @param in          count elements
 * @param out         count elements; on root only
 * @param count       the same on all ranks
 * @param type        type of the elements
 * @param op          operation, defined for the type
 * @param root        rank of the group; the same on all ranks
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_reduce(ncoll_group *group, const void *in, void *out, size_t count,
                           ncoll_type type, ncoll_op op, int root, int64_t timeout_ns);

/**
 * Broadcast: copies root's buffer to the buffers of all other ranks.
 *
 * @param group       the group; all its ranks make this call
 * @param buffer      count elements: input on root, output on the others
 * @param count       the same on all ranks
 * @param type        type of the elements
 * @param root        rank of the group; the same on all ranks
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_bcast(ncoll_group *group, void *buffer, size_t count, ncoll_type type, int root,
                          int64_t timeout_ns);

/**
 * Gather: block q of root's out is rank q's in.
 *
 * @param group       the group; all its ranks make this call
 * @param in          count elements
 * @param out         P blocks of count elements; on root only
 * @param count       elements of one block, the same on all ranks
 * @param type        type of the elements
 * @param root        rank of the group; the same on all ranks
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_gather(ncoll_group *group, const void *in, void *out, size_t count,
                           ncoll_type type, int root, int64_t timeout_ns);

/**
 * Gather with blocks of different sizes: block q of root's out is rank q's in.
 *
 * @param group       the group; all its ranks make this call
 * @param in          counts[own rank] elements
 * @param out         P blocks; on root only
 * @param counts      P numbers of elements, the same on all ranks
 * @param displs      where the blocks start in out; NULL: one after the other
 * @param type        type of the elements
 * @param root        rank of the group; the same on all ranks
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_gatherv(ncoll_group *group, const void *in, void *out, const size_t *counts,
                            const size_t *displs, ncoll_type type, int root, int64_t timeout_ns);

/**
 * Scatter: rank q's out is block q of root's in.
 *
 * @param group       the group; all its ranks make this call
 * @param in          P blocks of count elements; on root only
 * @param out         count elements
 * @param count       elements of one block, the same on all ranks
 * @param type        type of the elements
 * @param root        rank of the group; the same on all ranks
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_scatter(ncoll_group *group, const void *in, void *out, size_t count,
                            ncoll_type type, int root, int64_t timeout_ns);

/**
 * Scatter with blocks of different sizes: rank q's out is block q of root's in.
 *
 * @param group       the group; all its ranks make this call
 * @param in          P blocks; on root only
 * @param counts      P numbers of elements, the same on all ranks
 * @param displs      where the blocks start in in; NULL: one after the other
 * @param out         counts[own rank] elements
 * @param type        type of the elements
 * @param root        rank of the group; the same on all ranks
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_scatterv(ncoll_group *group, const void *in, const size_t *counts,
                             const size_t *displs, void *out, ncoll_type type, int root,
                             int64_t timeout_ns);

/**
 * Allgather: block q of every rank's out is rank q's in.
 *
 * @param group       the group; all its ranks make this call
 * @param in          count elements
 * @param out         P blocks of count elements
 * @param count       elements of one block, the same on all ranks
 * @param type        type of the elements
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_allgather(ncoll_group *group, const void *in, void *out, size_t count,
                              ncoll_type type, int64_t timeout_ns);

/**
 * Allgather with blocks of different sizes: block q of every rank's out is rank q's in.
 *
 * @param group       the group; all its ranks make this call
 * @param in          counts[own rank] elements
 * @param out         P blocks
 * @param counts      P numbers of elements, the same on all ranks
 * @param displs      where the blocks start in out; NULL: one after the other
 * @param type        type of the elements
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_allgatherv(ncoll_group *group, const void *in, void *out, const size_t *counts,
                               const size_t *displs, ncoll_type type, int64_t timeout_ns);

/**
 * Alltoall: block q of rank p's out is block p of rank q's in.
 *
 * @param group       the group; all its ranks make this call
 * @param in          P blocks of count elements
 * @param out         P blocks of count elements
 * @param count       elements of one block, the same on all ranks
 * @param type        type of the elements
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_alltoall(ncoll_group *group, const void *in, void *out, size_t count,
                             ncoll_type type, int64_t timeout_ns);

/**
 * Alltoall with blocks of different sizes: block q of rank p's out is block p of rank q's in.
 * in_counts[q] on rank p equals out_counts[p] on rank q; otherwise the call ends with
 * NCOLL_ERR_MISMATCH.
 *
 * @param group       the group; all its ranks make this call
 * @param in          P blocks
 * @param in_counts   P numbers of elements: what this rank sends to each rank
 * @param in_displs   where the blocks start in in; NULL: one after the other
 * @param out         P blocks
 * @param out_counts  P numbers of elements: what this rank gets from each rank
 * @param out_displs  where the blocks start in out; NULL: one after the other
 * @param type        type of the elements
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_alltoallv(ncoll_group *group, const void *in, const size_t *in_counts,
                              const size_t *in_displs, void *out, const size_t *out_counts,
                              const size_t *out_displs, ncoll_type type, int64_t timeout_ns);

/**
 * Reduce-scatter: rank p's out is block p of in_0 op in_1 op ... op in_{P-1}.
 *
 * @param group       the group; all its ranks make this call
 * @param in          P blocks, one after the other
 * @param out         counts[own rank] elements
 * @param counts      P numbers of elements, the same on all ranks
 * @param type        type of the elements
 * @param op          operation, defined for the type
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_reduce_scatter(ncoll_group *group, const void *in, void *out,
                                   const size_t *counts, ncoll_type type, ncoll_op op,
                                   int64_t timeout_ns);

/**
 * Reduce-scatter with blocks of one size: rank p's out is block p of in_0 op in_1 op ... op
 * in_{P-1}.
 *
 * @param group       the group; all its ranks make this call
 * @param in          P blocks of count elements, one after the other
 * @param out         count elements
 * @param count       elements of one block, the same on all ranks
 * @param type        type of the elements
 * @param op          operation, defined for the type
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_reduce_scatter_block(ncoll_group *group, const void *in, void *out,
                                         size_t count, ncoll_type type, ncoll_op op,
                                         int64_t timeout_ns);

/**
 * Scan (inclusive prefix): out[i] = in_0[i] op ... op in_p[i] on rank p.
 *
 * @param group       the group; all its ranks make this call
 * @param in          count elements
 * @param out         count elements
 * @param count       the same on all ranks
 * @param type        type of the elements
 * @param op          operation, defined for the type
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_scan(ncoll_group *group, const void *in, void *out, size_t count,
                         ncoll_type type, ncoll_op op, int64_t timeout_ns);

/**
 * Exscan (exclusive prefix): out[i] = in_0[i] op ... op in_{p-1}[i] on rank p. On rank 0 out stays
 * as it is.
 *
 * @param group       the group; all its ranks make this call
 * @param in          count elements
 * @param out         count elements
 * @param count       the same on all ranks
 * @param type        type of the elements
 * @param op          operation, defined for the type
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 */
NCOLL_API int ncoll_exscan(ncoll_group *group, const void *in, void *out, size_t count,
                           ncoll_type type, ncoll_op op, int64_t timeout_ns);

/* ------------------------------------------------------------------ requests ----------------- */

/*
 * Collectives as requests. A _start call begins the collective, does what can be done without
 * waiting, and returns at once; ncoll_wait() or ncoll_test() finishes it. Any number of requests
 * may be unfinished on a group. All ranks start the requests of a group in the same order, and may
 * finish them in any order; blocking calls may come in between.
 *
 * A request is over when ncoll_wait() or ncoll_test() has ended it, or ncoll_request_free() has
 * freed it. These calls set the caller's handle to NULL. A copy of the handle is recognised, and
 * refused with NCOLL_ERR_HANDLE, until 16 further requests of the context are over. After that the
 * same handle may be given to a new request, and the copy stands for that one.
 *
 * The arguments are those of the blocking call; the last one, `request`, gets the request, and is
 * set on NCOLL_OK only.
 *
 * ERRORS: those of the blocking call; NCOLL_ERR_ARGUMENT: request is NULL; NCOLL_ERR_MEMORY.
 */

/** Starts ncoll_barrier() as a request. */
NCOLL_API int ncoll_barrier_start(ncoll_group *group, ncoll_request **request);
/** Starts ncoll_allreduce() as a request. */
NCOLL_API int ncoll_allreduce_start(ncoll_group *group, const void *in, void *out, size_t count,
                                    ncoll_type type, ncoll_op op, ncoll_request **request);
/** Starts ncoll_reduce() as a request. */
NCOLL_API int ncoll_reduce_start(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, ncoll_op op, int root, ncoll_request **request);
/** Starts ncoll_bcast() as a request. */
NCOLL_API int ncoll_bcast_start(ncoll_group *group, void *buffer, size_t count, ncoll_type type,
                                int root, ncoll_request **request);
/** Starts ncoll_gather() as a request. */
NCOLL_API int ncoll_gather_start(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, int root, ncoll_request **request);
/** Starts ncoll_gatherv() as a request. */
NCOLL_API int ncoll_gatherv_start(ncoll_group *group, const void *in, void *out,
                                  const size_t *counts, const size_t *displs, ncoll_type type,
                                  int root, ncoll_request **request);
/** Starts ncoll_scatter() as a request. */
NCOLL_API int ncoll_scatter_start(ncoll_group *group, const void *in, void *out, size_t count,
                                  ncoll_type type, int root, ncoll_request **request);
/** Starts ncoll_scatterv() as a request. */
NCOLL_API int ncoll_scatterv_start(ncoll_group *group, const void *in, const size_t *counts,
                                   const size_t *displs, void *out, ncoll_type type, int root,
                                   ncoll_request **request);
/** Starts ncoll_allgather() as a request. */
NCOLL_API int ncoll_allgather_start(ncoll_group *group, const void *in, void *out, size_t count,
                                    ncoll_type type, ncoll_request **request);
/** Starts ncoll_allgatherv() as a request. */
NCOLL_API int ncoll_allgatherv_start(ncoll_group *group, const void *in, void *out,
                                     const size_t *counts, const size_t *displs, ncoll_type type,
                                     ncoll_request **request);
/** Starts ncoll_alltoall() as a request. */
NCOLL_API int ncoll_alltoall_start(ncoll_group *group, const void *in, void *out, size_t count,
                                   ncoll_type type, ncoll_request **request);
/** Starts ncoll_alltoallv() as a request. */
NCOLL_API int ncoll_alltoallv_start(ncoll_group *group, const void *in, const size_t *in_counts,
                                    const size_t *in_displs, void *out, const size_t *out_counts,
                                    const size_t *out_displs, ncoll_type type,
                                    ncoll_request **request);
/** Starts ncoll_reduce_scatter() as a request. */
NCOLL_API int ncoll_reduce_scatter_start(ncoll_group *group, const void *in, void *out,
                                         const size_t *counts, ncoll_type type, ncoll_op op,
                                         ncoll_request **request);
/** Starts ncoll_reduce_scatter_block() as a request. */
NCOLL_API int ncoll_reduce_scatter_block_start(ncoll_group *group, const void *in, void *out,
                                               size_t count, ncoll_type type, ncoll_op op,
                                               ncoll_request **request);
/** Starts ncoll_scan() as a request. */
NCOLL_API int ncoll_scan_start(ncoll_group *group, const void *in, void *out, size_t count,
                               ncoll_type type, ncoll_op op, ncoll_request **request);
/** Starts ncoll_exscan() as a request. */
NCOLL_API int ncoll_exscan_start(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, ncoll_op op, ncoll_request **request);

/*
 * Persistent requests. A collective that is called again and again with the same arguments is
 * checked and planned once. An _init call makes the request; ncoll_start() starts it; ncoll_wait()
 * or ncoll_test() finishes what was started and keeps the request for the next start;
 * ncoll_request_free() frees it. An _init call is local. In the order of the group's calls a
 * persistent request has its place where it is started, not where it is made. Arrays of counts may
 * be changed after the _init call.
 *
 * The arguments are those of the blocking call; the last one, `request`, gets the request, and is
 * set on NCOLL_OK only.
 *
 * ERRORS: those of the blocking call; NCOLL_ERR_ARGUMENT: request is NULL; NCOLL_ERR_MEMORY.
 */

/** Makes a persistent request of ncoll_barrier(). */
NCOLL_API int ncoll_barrier_init(ncoll_group *group, ncoll_request **request);
/** Makes a persistent request of ncoll_allreduce(). */
NCOLL_API int ncoll_allreduce_init(ncoll_group *group, const void *in, void *out, size_t count,
                                   ncoll_type type, ncoll_op op, ncoll_request **request);
/** Makes a persistent request of ncoll_reduce(). */
NCOLL_API int ncoll_reduce_init(ncoll_group *group, const void *in, void *out, size_t count,
                                ncoll_type type, ncoll_op op, int root, ncoll_request **request);
/** Makes a persistent request of ncoll_bcast(). */
NCOLL_API int ncoll_bcast_init(ncoll_group *group, void *buffer, size_t count, ncoll_type type,
                               int root, ncoll_request **request);
/** Makes a persistent request of ncoll_gather(). */
NCOLL_API int ncoll_gather_init(ncoll_group *group, const void *in, void *out, size_t count,
                                ncoll_type type, int root, ncoll_request **request);
/** Makes a persistent request of ncoll_gatherv(). */
NCOLL_API int ncoll_gatherv_init(ncoll_group *group, const void *in, void *out,
                                 const size_t *counts, const size_t *displs, ncoll_type type,
                                 int root, ncoll_request **request);
/** Makes a persistent request of ncoll_scatter(). */
NCOLL_API int ncoll_scatter_init(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, int root, ncoll_request **request);
/** Makes a persistent request of ncoll_scatterv(). */
NCOLL_API int ncoll_scatterv_init(ncoll_group *group, const void *in, const size_t *counts,
                                  const size_t *displs, void *out, ncoll_type type, int root,
                                  ncoll_request **request);
/** Makes a persistent request of ncoll_allgather(). */
NCOLL_API int ncoll_allgather_init(ncoll_group *group, const void *in, void *out, size_t count,
                                   ncoll_type type, ncoll_request **request);
/** Makes a persistent request of ncoll_allgatherv(). */
NCOLL_API int ncoll_allgatherv_init(ncoll_group *group, const void *in, void *out,
                                    const size_t *counts, const size_t *displs, ncoll_type type,
                                    ncoll_request **request);
/** Makes a persistent request of ncoll_alltoall(). */
NCOLL_API int ncoll_alltoall_init(ncoll_group *group, const void *in, void *out, size_t count,
                                  ncoll_type type, ncoll_request **request);
/** Makes a persistent request of ncoll_alltoallv(). */
NCOLL_API int ncoll_alltoallv_init(ncoll_group *group, const void *in, const size_t *in_counts,
                                   const size_t *in_displs, void *out, const size_t *out_counts,
                                   const size_t *out_displs, ncoll_type type,
                                   ncoll_request **request);
/** Makes a persistent request of ncoll_reduce_scatter(). */
NCOLL_API int ncoll_reduce_scatter_init(ncoll_group *group, const void *in, void *out,
                                        const size_t *counts, ncoll_type type, ncoll_op op,
                                        ncoll_request **request);
/** Makes a persistent request of ncoll_reduce_scatter_block(). */
NCOLL_API int ncoll_reduce_scatter_block_init(ncoll_group *group, const void *in, void *out,
                                              size_t count, ncoll_type type, ncoll_op op,
                                              ncoll_request **request);
/** Makes a persistent request of ncoll_scan(). */
NCOLL_API int ncoll_scan_init(ncoll_group *group, const void *in, void *out, size_t count,
                              ncoll_type type, ncoll_op op, ncoll_request **request);
/** Makes a persistent request of ncoll_exscan(). */
NCOLL_API int ncoll_exscan_init(ncoll_group *group, const void *in, void *out, size_t count,
                                ncoll_type type, ncoll_op op, ncoll_request **request);

/**
 * Starts a persistent request.
 *
 * @param request  from an _init call, and not started
 *
 * ERRORS: NCOLL_ERR_HANDLE: not a persistent request; NCOLL_ERR_BUSY: it is started already; those
 * of the collective.
 */
NCOLL_API int ncoll_start(ncoll_request *request);

/**
 * Frees a persistent request.
 *
 * @param request  the request, which is set to NULL
 *
 * ERRORS: NCOLL_ERR_HANDLE: request or *request is NULL, or it is not a persistent request;
 * NCOLL_ERR_BUSY: it is started and unfinished.
 */
NCOLL_API int ncoll_request_free(ncoll_request **request);

/* ------------------------------------------------------------------ waiting, progress -------- */

/**
 * Finishes a request if that is possible without waiting: ncoll_wait() with NCOLL_TEST.
 *
 * @param request  see ncoll_wait()
 *
 * ERRORS: those of ncoll_wait().
 */
NCOLL_API int ncoll_test(ncoll_request **request);

/**
 * Waits for a request. NCOLL_OK or an error ends the request and sets *request to NULL; a
 * persistent request is kept for its next start. After NCOLL_TIMEOUT the request is still
 * unfinished. A persistent request that is not started counts as finished: NCOLL_OK.
 *
 * @param request     the request
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: NCOLL_ERR_HANDLE: request or *request is NULL, or it is not a request;
 * NCOLL_ERR_ARGUMENT: negative time-out; those of the collective.
 */
NCOLL_API int ncoll_wait(ncoll_request **request, int64_t timeout_ns);

/**
 * Advances all unfinished collectives of the context, without waiting. A program that computes
 * calls this function now and then, so that its collectives go on meanwhile. If a collective that
 * returned NCOLL_TIMEOUT finishes here, the program still has to make the call once more, which
 * then returns the status of the collective.
 *
 * @param ctx  the context
 *
 * Returns NCOLL_OK, or the error that ended a collective.
 *
 * ERRORS: NCOLL_ERR_HANDLE; those of the collectives that go on.
 */
NCOLL_API int ncoll_progress(ncoll_context *ctx);

/**
 * Does what ncoll_progress() does, and counts what has gone on, as ucp_worker_progress() of UCX
 * does. When the number is 0, a loop that polls does other work, yields or sleeps.
 *
 * @param ctx     the context
 * @param events  gets a number of events. An event is that a collective, a barrier of the library's
 *                own or the exchange by which peers are connected has gone on by one or more steps,
 *                or that a message was sent for which there had been no room. 0: nothing could go
 *                on. Set on NCOLL_OK only.
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: events is NULL; those of ncoll_progress().
 */
NCOLL_API int ncoll_progress_count(ncoll_context *ctx, unsigned *events);

/**
 * Gives a descriptor on which a program sleeps until a call can go on, as ucp_worker_get_efd() of
 * UCX does. The program adds it to a loop of its own, by poll(), select() or epoll, and waits until
 * it can be read; it does nothing else with it. Before each sleep ncoll_context_arm() says whether
 * there is something to do first:
 *
 *     for (;;) {
 *         test all requests, start others, do other work
 *         status = ncoll_context_arm(ctx);
 *         if (status == NCOLL_OK)
 *             poll();
 *         else if (status != NCOLL_TIMEOUT)
 *             return status;
 *     }
 *
 * Events that wake the program: messages, over shared memory and over verbs, for calls on all
 * groups; the end of a peer's process on the node; connections that are lost. While calls are
 * unfinished, the program is also woken 20 times a second, since a rank that waits has to check its
 * peers, and 1000 times a second while ranks connect and in steps that wait for a neighbour or for
 * room. A program that is woken for nothing arms and sleeps again. A message to a rank that sleeps
 * on its descriptor costs the sender a system call, as if the rank slept in a blocking call; other
 * messages cost no more than without descriptors.
 *
 * The descriptor belongs to the library: the program does not close it. All calls return the same
 * one; ncoll_context_destroy() closes it. A context with such a descriptor uses four file
 * descriptors in this process, and one in the process of each peer that has woken this rank.
 *
 * @param ctx  the context
 * @param fd   gets the descriptor; set on NCOLL_OK only
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: fd is NULL; NCOLL_ERR_RESOURCE: the process has no descriptors left;
 * NCOLL_ERR_UNSUPPORTED: the transport has no such descriptor.
 */
NCOLL_API int ncoll_context_fd(ncoll_context *ctx, int *fd);

/**
 * Makes the descriptor of ncoll_context_fd() ready for a sleep, as ucp_worker_arm() of UCX does.
 * Anything that comes from now on makes the descriptor readable, even if it comes before the
 * program sleeps. The call makes progress as ncoll_progress() does.
 *
 * NCOLL_TIMEOUT says that the program must not sleep yet: a collective has gone on in this call, or
 * has ended since the last one. The program then tests all its requests, makes all calls again that
 * returned NCOLL_TIMEOUT, and calls ncoll_context_arm() again. That call returns NCOLL_OK if no
 * collective has ended in between. A blocking call between ncoll_context_arm() and the sleep makes
 * it necessary to arm again.
 *
 * @param ctx  the context
 *
 * Returns NCOLL_OK: the program may sleep; NCOLL_TIMEOUT: it has something to do first; or the
 * error that ended a collective.
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: ncoll_context_fd() has not been called; NCOLL_ERR_RESOURCE: the
 * process has no descriptors left; those of ncoll_progress().
 */
NCOLL_API int ncoll_context_arm(ncoll_context *ctx);

/*
 * Waiting for several requests. ncoll_wait_all(), ncoll_wait_any() and ncoll_wait_some() take an
 * array of requests, on any groups and objects of one context, each request once. Entries that are
 * NULL, and persistent requests that are not started, are skipped. All collectives of the context
 * go on meanwhile, and a rank that waits sleeps as it does in ncoll_wait().
 *
 * A request that such a call ends is over as after ncoll_wait(): its entry becomes NULL, or the
 * persistent request is kept for its next start. All other entries stay as they are, after an error
 * and after NCOLL_TIMEOUT, too: any of these calls, ncoll_wait() or ncoll_test() goes on with them.
 * If the job has failed, each request still returns its own status.
 *
 * With NCOLL_BLOCK, ranks that wait for each other in a circle get NCOLL_ERR_MISMATCH if they are
 * in ncoll_wait_all(), or in ncoll_wait_any() or ncoll_wait_some() with a single request that is
 * started. With more requests, any one of them may end ncoll_wait_any() and ncoll_wait_some(), so
 * the library does not detect the circle; the warnings of NCOLL_STALL_WARN show it.
 *
 * After an error that is not the error of a collective, no request has ended, and no index or
 * number is set.
 *
 * ERRORS of all that wait for several: those of the collective whose request has ended with the
 * error; NCOLL_ERR_HANDLE: requests is NULL and count is not 0, or an entry is neither NULL nor a
 * request; NCOLL_ERR_ARGUMENT: requests are of different contexts (wait for those of each context
 * by a call of its own), a request is listed twice, the time-out is negative, or the place for an
 * index or a number is NULL where it is needed.
 */

/** No request: see ncoll_wait_all() and ncoll_wait_any(). */
#define NCOLL_NO_INDEX SIZE_MAX

/**
 * Waits for all requests of an array. NCOLL_OK ends all of them; NCOLL_TIMEOUT ends none, also if
 * some of their collectives are done. If a collective fails, its error ends this one request. The
 * requests are looked at in their order, as if ncoll_wait() were called for each: the request that
 * has failed is the first failed one in the array, and all requests before it are done. To go on
 * with the other requests, make the same call again.
 *
 * @param requests    `count` requests of one context; entries may be NULL
 * @param count       length of the array; 0: NCOLL_OK
 * @param failed      gets the index of the request that has failed, NCOLL_NO_INDEX after NCOLL_OK
 *                    and NCOLL_TIMEOUT; may be NULL
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: see above.
 */
NCOLL_API int ncoll_wait_all(ncoll_request **requests, size_t count, size_t *failed,
                             int64_t timeout_ns);

/**
 * Waits for one request of an array, whichever is done first, and ends it. If several are done, it
 * ends the first of them in the array. The status is that of its collective.
 *
 * @param requests    `count` requests of one context; entries may be NULL
 * @param count       length of the array
 * @param index       gets the index of the request that has ended, with NCOLL_OK or an error;
 *                    NCOLL_NO_INDEX after NCOLL_TIMEOUT, and with NCOLL_OK if no entry is a request
 *                    that is started
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: see above.
 */
NCOLL_API int ncoll_wait_any(ncoll_request **requests, size_t count, size_t *index,
                             int64_t timeout_ns);

/**
 * Waits until some requests of an array are done, one at least, and ends all that are. If one of
 * these has failed, it is the last request that this call ends, and the status is its error: the
 * requests before it in `indices` have succeeded, and those after it in the array are left to the
 * next call.
 *
 * @param requests    `count` requests of one context; entries may be NULL
 * @param count       length of the array
 * @param indices     gets the indices of the requests that have ended, in ascending order; has room
 *                    for `count`
 * @param n           gets the number of requests that have ended; 0 after NCOLL_TIMEOUT, and with
 *                    NCOLL_OK if no entry is a request that is started
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: see above.
 */
NCOLL_API int ncoll_wait_some(ncoll_request **requests, size_t count, size_t *indices, size_t *n,
                              int64_t timeout_ns);

/* ------------------------------------------------------------------ hooks -------------------- */

/** All kinds of calls that hooks see: X(code, value, text). The numbers never change. */
#define NCOLL_CALL_MAP(X)                                                                          \
    X(NCOLL_CALL_BARRIER, 1, "barrier")                                                            \
    X(NCOLL_CALL_ALLREDUCE, 2, "allreduce")                                                        \
    X(NCOLL_CALL_BCAST, 3, "bcast")                                                                \
    X(NCOLL_CALL_REDUCE, 4, "reduce")                                                              \
    X(NCOLL_CALL_GATHER, 5, "gather, gatherv")                                                     \
    X(NCOLL_CALL_SCATTER, 6, "scatter, scatterv")                                                  \
    X(NCOLL_CALL_ALLGATHER, 7, "allgather, allgatherv")                                            \
    X(NCOLL_CALL_ALLTOALL, 8, "alltoall, alltoallv")                                               \
    X(NCOLL_CALL_REDUCE_SCATTER, 9, "reduce_scatter, reduce_scatter_block")                        \
    X(NCOLL_CALL_SCAN, 10, "scan")                                                                 \
    X(NCOLL_CALL_EXSCAN, 11, "exscan")                                                             \
    X(NCOLL_CALL_GROUP_SPLIT, 12, "group_split")                                                   \
    X(NCOLL_CALL_GROUP_FROM_RANKS, 13, "group_from_ranks")                                         \
    X(NCOLL_CALL_GROUP_DUP, 14, "group_dup")                                                       \
    X(NCOLL_CALL_GROUP_FREE, 15, "group_free")

/** The kind of a call. A collective and its form with an array of counts, as gather and gatherv,
 * have the same kind; so have blocking calls, requests and persistent requests. */
typedef enum ncoll_call_kind {
#define NCOLL_CALL_ENUM(code, value, text) code = value,
    NCOLL_CALL_MAP(NCOLL_CALL_ENUM)
#undef NCOLL_CALL_ENUM
} ncoll_call_kind;

/** How a call was made. */
typedef enum ncoll_call_mode {
    NCOLL_MODE_TIMEOUT = 0, /**< with a time-out, which may be NCOLL_BLOCK */
    NCOLL_MODE_REQUEST,     /**< as a request, by _start */
    NCOLL_MODE_PERSISTENT,  /**< as a persistent request, by ncoll_start() */
} ncoll_call_mode;

/** A call of the program, as hooks get it. Only valid inside the hook. */
typedef struct ncoll_call_info {
    /* The library may be newer than the program: new fields are added at the end, and the size says
     * which fields exist. */
    size_t size; /**< sizeof(ncoll_call_info) of the library */
    uint64_t id; /**< 1, 2, .. in the order in which calls of the context begin */
    ncoll_call_kind kind;
    ncoll_call_mode mode;
    /** The name of the function without ncoll_, _start and _init, as "allgatherv" or
     * "allreduce_compressed". The string is static. */
    const char *name;
    /** The group of the call: for a call on an ncoll_stale object the group of the object, for a
     * call that makes a group the parent. NULL at the end of a call that frees a group. */
    const ncoll_group *group;
    /** Number of the group, the same on all ranks; 0: the world. Groups that exist at the same time
     * have different numbers. */
    uint64_t group_id;
    int rank, ranks; /**< this rank's number in the group, and the size of the group */
    int root;        /**< -1: the call has none */
    ncoll_type type; /**< 0: the call has none */
    ncoll_op op;     /**< 0: the call has none, or a codec combines */
    size_t count;    /**< the count that was passed; 0: the call has none, or an array of counts */
    /** bytes of the elements that this rank gives, and of those that it gets. 0: the rank gives or
     * gets none, as in a barrier; the root of a bcast gets none. For a call with a threshold: bytes
     * of the whole vector. */
    size_t in_bytes, out_bytes;
    /** The name of the algorithm. NULL: the call has no algorithm (compression, ncoll_stale
     * objects, groups), or the algorithm is not known yet when the call begins, as in an alltoallv;
     * it is then known when the call ends with success. The string is static. */
    const char *algorithm;
    int radix; /**< radix of the algorithm, as in ncoll_params.radix; 0: no algorithm is known */
} ncoll_call_info;

/** Functions by which a profiler sees the calls of a context: ncoll_context_set_hooks(). */
typedef struct ncoll_hooks {
    size_t size; /**< sizeof(ncoll_hooks) */
    /** Called when a call begins. The pointer that it returns, such as a profiler's own record of
     * the call, is handed to `end` as `begun`. NULL: no function is called. */
    void *(*begin)(const ncoll_call_info *call, void *user);
    /** Called when a call has ended, with NCOLL_OK or an error. `begun` is NULL if there is no
     * `begin`. NULL: no function is called. */
    void (*end)(const ncoll_call_info *call, int status, void *begun, void *user);
    void *user; /**< handed to both */
} ncoll_hooks;

/**
 * Sets the functions that are called at the beginning and at the end of calls. Hooks see the calls
 * of the program: all collectives of ncoll.h and ncoll_eventual.h, with a time-out, as requests and
 * as persistent requests, and the calls that make and free groups (those for objects of
 * ncoll_eventual.h excepted). Calls that the library makes for purposes of its own, such as
 * barriers of strict calls, connecting peers, or those that make a group, are not shown.
 *
 * - `begin` is called when the arguments have been checked, before anything of the call is sent.
 *   For a call that is refused before that (a bad argument, NCOLL_ERR_BUSY, a job that has failed)
 *   neither function is called; for a call that lacks memory both may be called. A persistent
 *   request begins with each ncoll_start(), and not with _init.
 * - `end` is called once for each call that has begun: when the call has ended on this rank, with
 *   its results in place (not yet the ncoll_stale_result of an ncoll_allreduce_ssp() with a
 *   time-out). For a request this may happen in any call that makes progress on the context, before
 *   ncoll_wait() is called for the request. NCOLL_TIMEOUT does not end a call, and going on with
 *   the call does not begin one. A call that is unfinished when its group or context is destroyed
 *   ends there with NCOLL_ERR_PEER.
 *
 *     void *begin(const ncoll_call_info *call, void *user);
 *     void end(const ncoll_call_info *call, int status, void *begun, void *user);
 *
 * `call` describes the call: its number, name, kind, mode, group, root, type, operation, count,
 * bytes and algorithm. The number (id) is the same at the beginning and at the end; no other call
 * of the context has it. `user` is the field of the hooks. The pointer that `begin` returns is
 * handed to `end` as `begun`.
 *
 * Both functions are called on the thread that is inside a call on the context, which is the thread
 * that makes progress. Inside them, calls on the same context get NCOLL_ERR_BUSY. Calls that return
 * no status, as ncoll_group_world_rank(), and ncoll_context_stats() are allowed.
 * ncoll_context_destroy() is not allowed, and neither is ncoll_context_stats() in an `end` that
 * ncoll_context_destroy() has caused. Other contexts may be used. The functions must return: no
 * longjmp(), no exception. Their time is part of the time of the call, and other ranks wait for it,
 * too.
 *
 * Hooks may be set, changed and removed at any time outside of calls, also while calls are
 * unfinished. A call that has begun before hooks were set is not shown. For a call that has begun
 * while hooks were set, the `end` of these hooks is called, whatever has been set since; so their
 * `user` and code have to stay valid until such calls have ended. A context has one set of hooks.
 * Without hooks, a call that is repeated costs nothing more. With hooks, each call takes as long as
 * a call that is not repeated, and the time of the functions in addition.
 *
 * @param ctx    the context
 * @param hooks  copied; NULL, or both functions NULL: no functions are called any more
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: the library does not know hooks->size.
 */
NCOLL_API int ncoll_context_set_hooks(ncoll_context *ctx, const ncoll_hooks *hooks);

/* ------------------------------------------------------------------ forked ranks ------------- */

/**
 * The main function of a forked rank; see ncoll_fork_ranks(). It returns the exit status of the
 * process.
 *
 * @param params  parameters for ncoll_context_create(), which already hold the rank, the number of
 *                ranks and the fork board; the function may change all other fields in a copy
 * @param arg     as given to ncoll_fork_ranks()
 */
typedef int (*ncoll_rank_main)(const ncoll_params *params, void *arg);

/**
 * Runs main_fn in `ranks` processes that are forked from this one, and waits for all of them. It is
 * meant for tools, tests and jobs of one node. This process must not ignore SIGCHLD. If a rank dies
 * by a signal the others are not killed: their calls end with NCOLL_ERR_PEER.
 *
 * The reason of a failure is logged, since there is no context that could keep it; base and
 * NCOLL_LOG set the log. The end of a rank is logged only if exit_codes is NULL.
 *
 * @param ranks       from 1 to 65536
 * @param base        parameters for all ranks; NULL: the defaults
 * @param main_fn     runs in each child
 * @param arg         handed to main_fn
 * @param exit_codes  gets `ranks` numbers: the exit status of each rank, or 128 plus the signal
 *                    that ended it; may be NULL
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: ranks is out of range, main_fn is NULL, or the library does not know
 * the size of base; NCOLL_ERR_SYSTEM: fork or mmap failed (children that had been forked are
 * ended), or the children could not be waited for; NCOLL_ERR_PEER: a child ended with a status
 * other than 0; NCOLL_ERR_MEMORY.
 */
NCOLL_API int ncoll_fork_ranks(int ranks, const ncoll_params *base, ncoll_rank_main main_fn,
                               void *arg, int *exit_codes);

/**
 * Creates a board by which ranks that are threads of one process find each other. The board is made
 * once, before the threads, and handed to each of them; a thread sets `thread_board` and `rank` in
 * ncoll_params, and creates a context of its own.
 *
 * A thread may create several contexts on a board, at the same time or one after another, and also
 * after an attempt that has failed. The k-th attempts of all ranks belong together. Ranks that have
 * come wait for bootstrap_timeout_ns at most. The error then names a rank that did not come. If a
 * rank fails while it joins, the others are told at once.
 *
 * The end of a thread is not the end of its rank, since another thread may go on with the context.
 * So a thread that leaves has to destroy its context, and the program has to give up a rank that
 * will not join, or will make no more calls: see ncoll_thread_board_give_up().
 * May be called by any thread at any time.
 *
 * @param ranks  the number of ranks, from 1 to 65536
 * @param board  gets the board; set on NCOLL_OK only
 * @param error  gets the error if the call fails, since there is no context to ask then; may be
 *               NULL
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: ranks is out of range, or board is NULL; NCOLL_ERR_MEMORY;
 * NCOLL_ERR_SYSTEM: there is no shared memory, or no file descriptor, for the board.
 */
NCOLL_API int ncoll_thread_board_create(int ranks, ncoll_thread_board **board, ncoll_error *error);

/**
 * Gives up a rank: calls of other ranks that need this rank end with NCOLL_ERR_PEER, and so does
 * their ncoll_context_create(), at once and not after a time-out. This call is for a thread that
 * could not be started or cannot go on; if a rank is a process that has died, the kernel tells the
 * other ranks. The rank that is given up cannot create another context on the board; if it still
 * has a context, the context has to be destroyed. May be called by any thread at any time, more
 * than once.
 *
 * @param board  the board
 * @param rank   a rank on it
 *
 * ERRORS: NCOLL_ERR_HANDLE: board is NULL; NCOLL_ERR_ARGUMENT: rank is not one of the board's.
 */
NCOLL_API int ncoll_thread_board_give_up(ncoll_thread_board *board, int rank);

/**
 * Destroys a board: see ncoll_thread_board_create(). The board may be destroyed as soon as no
 * thread is going to create another context on it. Existing contexts keep what they need of the
 * board until they are destroyed. May be called by any thread, once.
 *
 * @param board  the board; NULL is ignored
 */
NCOLL_API void ncoll_thread_board_destroy(ncoll_thread_board *board);

#ifdef __cplusplus
}
#endif
#endif
