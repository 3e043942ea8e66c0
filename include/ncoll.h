/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll - notified collectives.
 *
 * Collective operations built on notified writes: RDMA write with immediate between nodes, shared
 * memory flags inside one. This header is the whole public interface.
 *
 * Shape of a program:
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
 * Split phase. Every call that waits for other ranks takes a time-out in nanoseconds and is
 * split-phase as in GASPI (End et al., INFOCOMP 2015, section I): NCOLL_TIMEOUT means "not
 * finished, nothing is lost, call again with the same arguments". Progress is made only inside
 * calls of this library: it starts no threads, installs no signal handlers and never calls exit().
 *
 * Thread safety. Different contexts may be used by different threads at the same time. One context
 * (with all its groups and requests) must be used by one thread at a time. ncoll_status_text() and
 * ncoll_version() may be called from anywhere.
 *
 * Collective order. All ranks of a group call the same collectives with the same count, type and
 * operation in the same order. A rank that does not is named, with what it called, in the error
 * that every rank of the group gets (NCOLL_ERR_MISMATCH), in this call or, where it is done with
 * that before the difference is seen, in one of the next.
 *
 * Errors. Every function that can fail returns a ncoll_status; 0 is success, negative values are
 * errors, NCOLL_TIMEOUT (positive) is neither. ncoll_last_error() tells which rank, which peer, the
 * cause and the remedy.
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
#define NCOLL_VERSION_MINOR 1
#define NCOLL_VERSION_PATCH 0

/* ------------------------------------------------------------------ status ------------------- */

/* Code, value, text. NCOLL_TIMEOUT is not a failure. */
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
    X(NCOLL_ERR_INTERNAL, -12, "a bug in ncoll")

typedef enum ncoll_status {
#define NCOLL_STATUS_ENUM(code, value, text) code = value,
    NCOLL_STATUS_MAP(NCOLL_STATUS_ENUM)
#undef NCOLL_STATUS_ENUM
} ncoll_status;

/* Text for a status; "unknown status" for anything else. Never NULL. Static storage. */
NCOLL_API const char *ncoll_status_text(int status);

/* Version of the library in use, "major.minor.patch". Static storage. */
NCOLL_API const char *ncoll_version(void);

/* What went wrong, in words. */
typedef struct ncoll_error {
    ncoll_status status; /* NCOLL_OK: no error so far */
    int rank;            /* world rank that reports it, -1 when not known yet */
    int peer;            /* world rank that it is about, -1 when about none */
    char cause[384];     /* what happened and where */
    char remedy[256];    /* what to do about it; "" when there is no error */
    char text[768];      /* all of it in one line */
} ncoll_error;

/* ------------------------------------------------------------------ handles ------------------ */

typedef struct ncoll_context ncoll_context; /* one rank's end of one job; owns everything below */
typedef struct ncoll_group ncoll_group;     /* an ordered set of ranks; owned by its context */
typedef struct ncoll_request ncoll_request; /* one started collective; owned by its group */
typedef struct ncoll_fork_board ncoll_fork_board; /* where forked ranks find each other */

/* ------------------------------------------------------------------ time-outs ---------------- */

#define NCOLL_BLOCK INT64_MAX    /* wait as long as it takes */
#define NCOLL_TEST  ((int64_t)0) /* do what can be done now, do not wait */
/* any other value > 0: nanoseconds, measured from the call. Negative values: NCOLL_ERR_ARGUMENT. */

/* ------------------------------------------------------------------ types, operations -------- */

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
    NCOLL_LONG_DOUBLE,    /* the compiler's; results have zeros where it has padding */
    NCOLL_HALF,           /* IEEE 754 binary16 */
    NCOLL_BFLOAT16,       /* the upper half of a float */
    NCOLL_COMPLEX_FLOAT,  /* real part, imaginary part */
    NCOLL_COMPLEX_DOUBLE, /* real part, imaginary part */
    NCOLL_INT32_INT32,    /* struct ncoll_int32_int32 and so on, below */
    NCOLL_INT64_INT64,
    NCOLL_FLOAT_INT32,
    NCOLL_DOUBLE_INT32,
    NCOLL_DOUBLE_INT64,
};

/* Values and where they were found, for NCOLL_MINLOC and NCOLL_MAXLOC. */
typedef struct ncoll_int32_int32 {
    int32_t value, index;
} ncoll_int32_int32;
typedef struct ncoll_int64_int64 {
    int64_t value, index;
} ncoll_int64_int64;
typedef struct ncoll_float_int32 {
    float value;
    int32_t index;
} ncoll_float_int32;
typedef struct ncoll_double_int32 {
    double value;
    int32_t index;
    int32_t unused; /* ignored; 0 in results */
} ncoll_double_int32;
typedef struct ncoll_double_int64 {
    double value;
    int64_t index;
} ncoll_double_int64;

/* Size of one element of a type above in bytes; 0 for any other. */
NCOLL_API size_t ncoll_type_size(ncoll_type type);

/*
 * Registers a type of elements of `size` bytes each, which this library moves and hands to
 * operations of the user's own, but never looks into. All ranks register the same types in the same
 * order. Not collective, returns at once. *type is valid for this context only, until it is
 * destroyed. An operation on it is not told the size: it knows its types, or finds it by arg.
 * Elements are aligned as the caller's buffers are only if their size is a multiple of the
 * alignment; in the memory of this library to at most 8 bytes.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: size 0 or above PTRDIFF_MAX, type NULL;
 * NCOLL_ERR_RESOURCE: more than 200 types; NCOLL_ERR_MEMORY.
 */
NCOLL_API int ncoll_type_create(ncoll_context *ctx, size_t size, ncoll_type *type);

/* The same as ncoll_type_size(), and for the types created with the context; 0 for a bad handle. */
NCOLL_API size_t ncoll_context_type_size(const ncoll_context *ctx, ncoll_type type);

/*
 * Operations, and the types that they are defined for:
 *
 *                                  SUM, PROD   MIN, MAX   logical, bitwise   MINLOC, MAXLOC
 *     integers                         x           x              x
 *     float, double, long double,
 *     half, bfloat16                   x           x
 *     complex                          x
 *     pairs of value and index                                                     x
 *
 * Types made by ncoll_type_create() have operations of the user's own only, which serve every type.
 *
 * Integer sums and products wrap modulo 2^bits. Logical operations give 0 or 1. half and bfloat16
 * are calculated as float and rounded to the nearest, ties to even, after every operation. Complex
 * products are (ac - bd, ad + bc), each part rounded as written: no fused operations, no
 * special treatment of infinities.
 *
 * Floating-point MIN and MAX order -0 below +0 and give the canonical quiet NaN if any operand is
 * NaN. MINLOC and MAXLOC order values alike; of equal values (of NaNs, if there are any) the one
 * with the lowest index is taken. So none of the four depends on the order of the operands, nor do
 * operations on integers.
 *
 * SUM_REPRODUCIBLE is for float and double: the same bits for every number of ranks, algorithm and
 * order. It is correctly rounded where the exponents of the numbers lie within 28 of each other (57
 * for float), else within n 2^-80 of the largest, for fewer than 2^23 ranks; it moves 32 bytes for
 * each element. Source: Demmel and Nguyen, IEEE Transactions on Computers 64(7), 2015.
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

/*
 * out[i] = left[i] op right[i] for i in 0..count-1. out may equal left or right, never overlap them
 * otherwise. Must be associative. Called on the thread that makes progress; must not call ncoll.
 */
typedef void (*ncoll_op_fn)(void *out, const void *left, const void *right, size_t count,
                            ncoll_type type, void *arg);

#define NCOLL_OP_COMMUTATIVE 1u /* a op b == b op a */
#define NCOLL_OP_IDEMPOTENT  2u /* a op a == a; implies nothing about the order */

typedef struct ncoll_op_def {
    size_t size;         /* sizeof(ncoll_op_def) */
    unsigned flags;      /* NCOLL_OP_* */
    ncoll_op_fn combine; /* required */
    ncoll_op_fn inverse; /* optional: inverse(out, a op b, b) gives a; only used when commutative */
    void *arg;           /* handed to both; must live as long as the context */
} ncoll_op_def;

/*
 * Registers a user-defined operation with a context. All ranks register the same operations in the
 * same order. Not collective, returns at once.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: def or op NULL, size not known, combine NULL,
 * unknown flag; NCOLL_ERR_RESOURCE: more than 1000 operations.
 */
NCOLL_API int ncoll_op_create(ncoll_context *ctx, const ncoll_op_def *def, ncoll_op *op);

/* ------------------------------------------------------------------ parameters --------------- */

/*
 * The embedder's own way for ranks to find each other (NCOLL_BOOTSTRAP_USER). Values put before a
 * fence by any rank can be got by every rank after it. Keys are short ASCII strings, unique per
 * (rank, key): a key is never put twice; contexts that exist at once need an arg with keys of its
 * own each. Each returns 0 on success, anything else is an error.
 *
 * - put copies len bytes.
 * - fence returns when all ranks have called it; it may return NCOLL_TIMEOUT after timeout_ns, and
 * is then called again for the same fence.
 * - get writes up to *len bytes to value and sets *len to the value's full length.
 */
typedef struct ncoll_bootstrap_callbacks {
    int (*put)(void *arg, const char *key, const void *value, size_t len);
    int (*fence)(void *arg, int64_t timeout_ns);
    int (*get)(void *arg, int rank, const char *key, void *value, size_t *len);
    void *arg;
} ncoll_bootstrap_callbacks;

typedef enum ncoll_bootstrap {
    NCOLL_BOOTSTRAP_AUTO = 0, /* user callbacks if given, fork board if given, tcp if root is set,
                                 PMIx if launched by one, else a job of one rank */
    NCOLL_BOOTSTRAP_FORK,
    NCOLL_BOOTSTRAP_PMIX,
    NCOLL_BOOTSTRAP_TCP,
    NCOLL_BOOTSTRAP_USER,
    NCOLL_BOOTSTRAP_SELF, /* a job of one rank */
} ncoll_bootstrap;

typedef enum ncoll_log_level {
    NCOLL_LOG_ERROR = 1,
    NCOLL_LOG_WARN,
    NCOLL_LOG_INFO,
    NCOLL_LOG_DEBUG,
} ncoll_log_level;

/*
 * Domains of one machine. AUTO: the outermost of package, NUMA node and L3 cache of which the
 * group's ranks use several, one of them with several ranks; none where ranks share cores. Where a
 * rank may run in several domains of a level, that level is not taken, AUTO or not; whether
 * algorithms go by one is up to estimates.
 */
typedef enum ncoll_level {
    NCOLL_LEVEL_AUTO,
    NCOLL_LEVEL_NONE,
    NCOLL_LEVEL_PACKAGE,
    NCOLL_LEVEL_NUMA,
    NCOLL_LEVEL_L3,
    NCOLL_LEVEL_CORE,
} ncoll_level;

/*
 * What has a say in the choice of algorithms, where the user has not chosen. Each goes on to the
 * next where it knows nothing of a call: the table, the trial, the model.
 *
 * The table is what ncoll-tune has measured on this machine, over this transport, for groups of so
 * many ranks; it is read by rank 0 when the context is created, and told to the others. One that is
 * damaged, of another format or out of date, or that tune_file names and is not there, is said once
 * (NCOLL_LOG_WARN) and ignored. The trial times the first barrier and the first allreduce of each
 * group with n = 1..7, 15 times each, and keeps the n with the lowest mean (End 2015, section V):
 * also for later jobs, in the table, if tune_file names one; rank 0 writes it when its context is
 * destroyed, and logs if it cannot. The model is rules and estimates from what messages cost; these
 * costs come from the table's file, too, if `ncoll-tune --costs` has measured them, else they are
 * built in.
 */
typedef enum ncoll_tune {
    NCOLL_TUNE_TABLE = 0, /* table, model */
    NCOLL_TUNE_TRIAL = 1, /* table, trial, model */
    NCOLL_TUNE_MODEL = 2, /* model */
    NCOLL_TUNE_OFF = 3,   /* model, with the costs that are built in: no file is read */
} ncoll_tune;

/*
 * Parameters of a context. Set by ncoll_params_init(), then changed where wanted. Every field whose
 * comment names a variable can also be given in the environment; the environment wins, so that a
 * user can steer a program that embeds the library. `ncoll-info` lists all variables. One that
 * begins with NCOLL_ and is none of them is ignored, as are NCOLL_RANK and NCOLL_SIZE without
 * NCOLL_ROOT; rank 0 says so (NCOLL_LOG_WARN).
 */
typedef struct ncoll_params {
    size_t size; /* sizeof(ncoll_params) of the caller; set by ncoll_params_init() */

    ncoll_bootstrap bootstrap;           /* NCOLL_BOOTSTRAP=auto|fork|pmix|tcp|user|self */
    ncoll_bootstrap_callbacks callbacks; /* for NCOLL_BOOTSTRAP_USER */
    ncoll_fork_board *board;             /* for NCOLL_BOOTSTRAP_FORK, see ncoll_fork_ranks() */
    int rank, ranks;                     /* for FORK, TCP and USER; NCOLL_RANK, NCOLL_SIZE */
    const char *root;                    /* for TCP: "host:port" of rank 0; NCOLL_ROOT */
    int64_t bootstrap_timeout_ns;        /* NCOLL_BOOTSTRAP_TIMEOUT (seconds); default 60 s */

    const char *transport; /* NCOLL_TRANSPORT=shm|verbs|shm+verbs; NULL: shm within a node, verbs
                              between nodes */
    const char *wiring;    /* NCOLL_WIRING=direct|rdmacm; NULL: direct */
    const char *device;    /* NCOLL_DEVICE, name of the RDMA device; NULL: chosen by rule */
    int port;              /* NCOLL_PORT, from 1; 0: chosen by rule */
    int gid_index;         /* NCOLL_GID; -1: chosen by rule (RoCE v2 with IPv4 first) */
    const char *nodes;     /* NCOLL_NODES, a testing aid: the node of each rank of the world, as
                              algorithms are told; "0,0,1,1": ranks 0 and 1 share one, 2 and 3
                              another; over again for more ranks; the same on all. NULL: as it is */
    ncoll_level level;     /* NCOLL_LEVEL=auto|none|package|numa|l3|core: domains of the machine
                              that algorithms take for nodes in groups on one node, over shm. The
                              same on all ranks; default NCOLL_LEVEL_AUTO */

    /* NCOLL_BARRIER_ALGORITHM, NCOLL_ALLREDUCE_ALGORITHM, ...; NULL: chosen */
    const char *barrier_algorithm;
    const char *allreduce_algorithm;
    const char *bcast_algorithm;
    const char *reduce_algorithm;
    const char *gather_algorithm;
    const char *scatter_algorithm;
    const char *allgather_algorithm;
    const char *alltoall_algorithm;
    const char *reduce_scatter_algorithm;
    const char *scan_algorithm;
    const char *exscan_algorithm;
    int radix;                 /* NCOLL_RADIX, n of the n-way algorithms, 1..16, or a list
                                  (NCOLL_RADIX=3,2,2; ncoll_radix_list()); -1: chosen */
    ncoll_tune tune;           /* NCOLL_TUNE=table|trial|model|off: what measurements have a say
                                  in the choice of algorithms, see ncoll_tune. The same on all
                                  ranks; default NCOLL_TUNE_TABLE */
    int any_order;             /* NCOLL_ANY_ORDER=1: floating-point results may differ in
                                  the last bits between ranks, for speed; default 0 */
    int sync;                  /* NCOLL_SYNC=loose|strict-entry|strict-exit|strict: of the
                                  world, and what is made of it; ncoll_group_set_sync(). Default
                                  NCOLL_LOOSE */
    size_t window_bytes;       /* NCOLL_WINDOW: memory for incoming bulk data of the world,
                                  bytes; default 4 MiB; an eighth of it bounds the segment of
                                  large vectors; as much again for scratch */
    size_t group_window_bytes; /* NCOLL_GROUP_WINDOW: the same for every other group; 0
                                  (the default): a quarter of window_bytes */
    size_t zero_copy_bytes;    /* NCOLL_ZERO_COPY: messages of this many bytes or more are
                                  not copied where memory allows it, see ncoll_alloc();
                                  default 16 KiB */
    size_t show_bytes;         /* NCOLL_SHOW: messages of this many bytes or more are shown to
                                  ranks of the same node, which read them at the sender,
                                  where that saves a copy; 0: none are. The same on all
                                  ranks; default 2 KiB */
    int huge_pages;            /* NCOLL_HUGE_PAGES=0: ncoll_alloc() takes no huge pages; default
                                  1 */
    int64_t spin_ns;           /* NCOLL_SPIN (microseconds): how long a waiting rank spins
                                  before it sleeps; -1: chosen (0 if ranks outnumber cores) */

    void (*log)(void *arg, ncoll_log_level level, const char *text); /* NULL: stderr */
    void *log_arg;
    ncoll_log_level log_level; /* NCOLL_LOG=error|warn|info|debug; default warn */

    void *(*allocate)(void *arg, size_t bytes); /* NULL: malloc; both or neither */
    void (*release)(void *arg, void *memory);
    void *allocate_arg;

    uint64_t (*clock_ns)(void *arg); /* monotonic time, ns; NULL: CLOCK_MONOTONIC */
    void *clock_arg;

    const char *tune_file;    /* NCOLL_TUNE_FILE: the tuning table that rank 0 reads, for all; NULL:
                                 $XDG_CACHE_HOME/ncoll/tuning, or ~/.cache/ncoll/tuning */
    size_t single_copy_bytes; /* NCOLL_SINGLE_COPY: messages of this many bytes or more from memory
                                 that is not from ncoll_alloc() are copied once on their way to
                                 ranks of the node, by the receiver, if the kernel lets it
                                 (process_vm_readv()); 0, the default: none are; see below */
} ncoll_params;

/*
 * Fills in the defaults. size is sizeof(ncoll_params) as the caller sees it: a program built
 * against an older header goes on working. ERRORS: NCOLL_ERR_ARGUMENT: params NULL, or size not one
 * that this library knows.
 */
NCOLL_API int ncoll_params_init(ncoll_params *params, size_t size);

/*
 * What ncoll_params.radix takes for a list n[0..k-1]: messages that a rank sends at once in round
 * 1, 2, ..; the last goes on for the rounds after k. Algorithms that take one number go by n[0];
 * `ncoll-explain list` says which take a list. ERRORS: NCOLL_ERR_ARGUMENT: n NULL, a number not
 * from 1 to 16, or more than 7 of them (equal ones at the end count once). Pure; any thread.
 */
NCOLL_API int ncoll_radix_list(const int *n, size_t k);

/* ------------------------------------------------------------------ context ------------------ */

/*
 * Joins the job: finds rank and size, exchanges addresses with the other ranks, prepares the world
 * group, and ends with a barrier, for which each rank connects O(log P) others. Collective over the
 * job; blocks for at most bootstrap_timeout_ns. Further connections are made at the first
 * collective that needs them, and only to the peers that it uses.
 *
 * A context is of no use in a child that the process forks, and is not destroyed there. Over verbs,
 * on kernels before 5.12, a program that forks while it has one must have called ibv_fork_init()
 * before: else the device may go on with pages that have become the child's.
 *
 * params may be NULL (all defaults). *ctx is set on success only. error (optional) is filled in
 * when the call fails, since there is no context to ask then.
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: unknown value in params or environment, size 0, rank not below size;
 * NCOLL_ERR_BOOTSTRAP: no launcher, root not reached, a rank that never came (named);
 * NCOLL_ERR_DEVICE: no active RDMA port; NCOLL_ERR_RESOURCE: memlock or another limit too low (says
 * the limit and the line that raises it); NCOLL_ERR_UNSUPPORTED: built without what was asked for;
 * NCOLL_ERR_PEER: a rank failed meanwhile; NCOLL_ERR_MEMORY; NCOLL_ERR_SYSTEM.
 */
NCOLL_API int ncoll_context_create(const ncoll_params *params, ncoll_context **ctx,
                                   ncoll_error *error);

/*
 * Leaves the job and frees everything that hangs off the context; NULL is ignored, and so is a
 * context of the process that has forked this one: exit handlers may run in both. Not collective:
 * a collective that other ranks have pending with this rank, and that needs it, ends with
 * NCOLL_ERR_PEER there. If one is unfinished here whose memory other ranks of the node may read (a
 * long allreduce from ncoll_alloc() memory; NCOLL_SINGLE_COPY), or the first of its kind, while it
 * connects peers, it ends with NCOLL_ERR_PEER on all ranks, and so do all others from then on. Data
 * of collectives that ended here with NCOLL_OK is delivered first.
 */
NCOLL_API void ncoll_context_destroy(ncoll_context *ctx);

/*
 * The last error on this context, or one with status NCOLL_OK. Never NULL: a bad handle gives a
 * record that says so. Valid until the next call on the context.
 */
NCOLL_API const ncoll_error *ncoll_last_error(const ncoll_context *ctx);

/* Facts about a context, for tools and logs. Counters count since creation. */
typedef struct ncoll_stats {
    size_t size;           /* set by the caller: sizeof(ncoll_stats) */
    const char *transport; /* "shm", "verbs", "shm+verbs", "self" */
    const char *bootstrap; /* "fork", "pmix", "tcp", "user", "self" */
    const char *wiring;    /* "direct", "rdmacm", "map" */
    int rank, ranks;       /* in the world group */
    int nodes;             /* nodes of the job */
    int node_ranks;        /* ranks on this node */
    int connections;       /* peers connected so far */
    int oversubscribed;    /* 1: ranks of this node outnumber the cores, or the processor time, that
                              they may use */
    uint64_t puts;         /* notified writes issued */
    uint64_t put_bytes;    /* payload in them */
    uint64_t rnr;    /* receiver-not-ready events seen by the device since creation: 0, or a bug */
    uint64_t sleeps; /* times this rank went to sleep while waiting (yields not counted) */
    size_t exchanged_bytes; /* bytes this rank published through the bootstrap */
    size_t memory_bytes;    /* windows and scratch space */
    size_t scratch_bytes;   /* of these, scratch space: NCOLL_WINDOW for each group */
    size_t user_bytes;      /* from ncoll_alloc() and in ncoll_mem_register(), now */
    uint64_t landed_bytes;  /* payload that came straight into outputs, and was not copied */
    uint64_t shown_bytes;   /* of put_bytes: read by its receivers where it lies */
    size_t huge_bytes;      /* of user_bytes, in huge pages that were set aside (hugetlb) */
    uint64_t lent_bytes;    /* of put_bytes: copied once, by its receivers (NCOLL_SINGLE_COPY) */
} ncoll_stats;

/* ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: stats NULL or its size not known. */
NCOLL_API int ncoll_context_stats(const ncoll_context *ctx, ncoll_stats *stats);

/* ------------------------------------------------------------------ groups ------------------- */

/* The group of all ranks, with the job's numbering. NULL for a bad handle. Owned by the context. */
NCOLL_API ncoll_group *ncoll_world(ncoll_context *ctx);

/* Own rank in the group / number of ranks; -1 for a bad handle. */
NCOLL_API int ncoll_group_rank(const ncoll_group *group);
NCOLL_API int ncoll_group_size(const ncoll_group *group);

/* The world rank of a rank of the group; -1 for a bad handle or one that is not in it. */
NCOLL_API int ncoll_group_world_rank(const ncoll_group *group, int rank);

/*
 * New groups, from the ranks of one that exists. Each is a collective of the parent, in the order
 * of its other calls, and split-phase as all of them: NCOLL_TIMEOUT: call again with the same
 * arguments; another blocking call on the parent gets NCOLL_ERR_BUSY meanwhile, requests may go on.
 * O(log P) messages, P ranks in the parent. A group has a window of its own (group_window_bytes)
 * and is independent of its parent: requests on different groups may be started in any order, and
 * go on at once; the parent may be freed. (Calls that block wait for the others, whatever these
 * wait for on other groups: ranks that wait so for each other get NCOLL_ERR_MISMATCH.) A rank can
 * be in 1007 groups besides the world.
 *
 * A group is made on all ranks or on none: *group is set on NCOLL_OK only. ERRORS: those of
 * ncoll_barrier(), and NCOLL_ERR_ARGUMENT: group NULL, and see below; NCOLL_ERR_RESOURCE,
 * NCOLL_ERR_MEMORY, ..: what kept this rank or, named in the error, another one from having its
 * part of it. The parent goes on then. NCOLL_ERR_MEMORY on a rank before it has sent anything is
 * not told to the others, which wait for it: call again.
 */

/*
 * split: one group for each color that ranks pass (>= 0), its ranks in the order of their keys, and
 * of their ranks in the parent where keys are the same. NCOLL_NO_GROUP: none; *group becomes NULL.
 * NCOLL_ERR_ARGUMENT: another color below 0.
 */
#define NCOLL_NO_GROUP (-1)
NCOLL_API int ncoll_group_split(ncoll_group *parent, int color, int key, ncoll_group **group,
                                int64_t timeout_ns);

/*
 * from_ranks: a group of n ranks of the parent, in the order given: ranks[i] is its rank i. All
 * ranks of the parent pass the same list; *group becomes NULL on those that are not in it. A list
 * that differs is NCOLL_ERR_MISMATCH; NCOLL_ERR_ARGUMENT: ranks NULL, n < 1 or above the size of
 * the parent, a rank that is not in it or comes twice.
 */
NCOLL_API int ncoll_group_from_ranks(ncoll_group *parent, const int *ranks, int n,
                                     ncoll_group **group, int64_t timeout_ns);

/* dup: the same ranks in the same order. */
NCOLL_API int ncoll_group_dup(ncoll_group *parent, ncoll_group **group, int64_t timeout_ns);

/*
 * Frees a group and its window, on all of its ranks: a collective of the group, its last one, and
 * split-phase. Persistent requests that are not started are freed with it. Sets *group to NULL, on
 * errors of other ranks as well; what is not freed keeps until the context is destroyed. ERRORS:
 * NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: the world, which goes with its context; NCOLL_ERR_BUSY: a
 * call is unfinished on the group; NCOLL_ERR_MISMATCH; NCOLL_ERR_PEER.
 */
NCOLL_API int ncoll_group_free(ncoll_group **group, int64_t timeout_ns);

/* ------------------------------------------------------------------ synchronisation ---------- */

/*
 * How far a collective synchronises beyond what its data needs; for its entry and its exit by
 * themselves, as in GASNet and UPC:
 *
 *                          loose (IN_MYSYNC, OUT_MYSYNC)     strict (IN_ALLSYNC, OUT_ALLSYNC)
 *     entry: data moves    from and to ranks that have       when all ranks have entered the call
 *                          entered the call
 *     exit: a rank leaves  when its own part is done: its    when the call is done on all ranks
 *                          results are there, its input
 *                          can be changed
 *
 * Either way no collective touches a rank's memory before that rank has called it, or after it has
 * left it. So whatever ranks do to each other's memory through ncoll is ordered by their calls, and
 * loose, which is what MPI has, is the default. What they do to it by other means, a put of the
 * runtime that ncoll is part of or a store into shared memory, is not, and can be lost:
 *
 *     rank 0              rank 1                        rank 4
 *     x = 1
 *     bcast(x, root 0)    bcast(x, root 0)              (late)
 *                         done: x is 1
 *                         put 5 into rank 4's x         x is 5
 *                                                       bcast(x, root 0)
 *                                                       x is 1: the put is lost
 *
 * Rank 1 has seen a collective that is done locally, not everywhere. With a strict exit it does not
 * leave before rank 4 has its 1, and the 5 stays. A strict entry is for what comes before: where
 * rank 4 may still put into the buffer that rank 1 sends or receives with, until rank 4 enters.
 *
 * Strict entry and exit cost a barrier each. A barrier or another collective that waits for all may
 * do for many loose calls: that is what the choice is for. A barrier itself is the same in all
 * modes. Source: Nishtala and Yelick, "Optimizing collective communication on multicores", HotPar
 * 2009; GASNet's and UPC's collectives.
 */
#define NCOLL_LOOSE        0u
#define NCOLL_STRICT_ENTRY 1u
#define NCOLL_STRICT_EXIT  2u
#define NCOLL_STRICT       (NCOLL_STRICT_ENTRY | NCOLL_STRICT_EXIT)

/*
 * Sets the mode of the collectives that this rank calls, starts or makes persistent on the group
 * from now on, until it is set anew. All ranks of the group set the same for the same call, else
 * that call ends with NCOLL_ERR_MISMATCH. Local; groups made from this one begin with its mode.
 * Calls that have been begun keep theirs. Making and freeing groups is the same in all modes.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: unknown bits.
 */
NCOLL_API int ncoll_group_set_sync(ncoll_group *group, unsigned sync);

/* The mode that is set; -1 for a bad handle. */
NCOLL_API int ncoll_group_sync(const ncoll_group *group);

/* ------------------------------------------------------------------ memory ------------------- */

/*
 * Memory that the library may hand to the network card and to the other ranks of the node.
 * Collectives take any memory; but where a buffer lies whole in a region that was allocated or
 * registered here, long messages need not be copied on their way:
 *
 *                              sent without a copy    received without a copy
 *     ncoll_alloc()            verbs, shm             verbs, shm
 *     ncoll_mem_register()     verbs, shm             verbs
 *     any other memory         shm                    -
 *
 * Each rank decides for itself: which memory the others use makes no difference to the results.
 * Regions belong to the context. All four are local: they wait for nobody.
 *
 * Between ranks of a node a long allreduce from ncoll_alloc() memory is combined from where it
 * lies; and what a rank gives to several others is copied once, from any memory (NCOLL_SHOW).
 *
 * With NCOLL_SINGLE_COPY, on all ranks of the node, what a rank sends to others there from memory
 * that is not from ncoll_alloc() is copied once, by its receiver, straight from there; so a call
 * ends no sooner than its receivers have come to it and copied that. It takes the kernel's leave
 * for processes to read each other (process_vm_readv(); kernel.yama.ptrace_scope, seccomp; not
 * needed by ranks that are threads), which is tried when ranks connect: without it messages go as
 * ever, and the log (info) says so. Memory that a process cannot read so, as that of a device, is
 * then an error, NCOLL_ERR_ARGUMENT, at its receivers. Measure before: where this was compared,
 * the two copies of the default were quicker than the kernel's one, for messages up to 64 MiB.
 *
 * A collective that has ended with an error (not NCOLL_TIMEOUT) may still be written to its output,
 * by ranks that do not know yet, until that region is given back or the context destroyed. Its
 * input may be read by them as well: their calls end with an error, too.
 */

/*
 * bytes of zeroed memory, which starts on a page. *memory is set on NCOLL_OK only, and belongs to
 * the context until ncoll_free(). It is touched by the caller, so that it lies near the cores that
 * the caller runs on now: bind ranks before. It lies in huge pages if some are set aside
 * (vm.nr_hugepages) and that adds no more than a quarter, which ncoll_stats.huge_bytes tells; else
 * 2 MiB or more are put forward for transparent ones. A lack of them is no error;
 * NCOLL_HUGE_PAGES=0: none.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: bytes 0, memory NULL; NCOLL_ERR_RESOURCE: the limit
 * of locked memory (memlock) or of file descriptors is too low (says which and how to raise it);
 * NCOLL_ERR_MEMORY; NCOLL_ERR_DEVICE; NCOLL_ERR_SYSTEM.
 */
NCOLL_API int ncoll_alloc(ncoll_context *ctx, size_t bytes, void **memory);

/*
 * Gives back what ncoll_alloc() gave; NULL is ignored. Destroying the context does it, too.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: not the start of such memory; NCOLL_ERR_BUSY: a
 * collective on it is unfinished.
 */
NCOLL_API int ncoll_free(ncoll_context *ctx, void *memory);

/*
 * Registers memory of the caller's own, which has to be mapped and writable, and to stay so until
 * ncoll_mem_deregister() or the end of the context. It is pinned while it is registered. This takes
 * long, compared with a collective: register once what is used often.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: memory NULL, bytes 0, part of it is registered or
 * allocated already, or not mapped (which shm, that has no use for it, does not find);
 * NCOLL_ERR_RESOURCE: memlock too low; NCOLL_ERR_MEMORY;
 * NCOLL_ERR_DEVICE.
 */
NCOLL_API int ncoll_mem_register(ncoll_context *ctx, void *memory, size_t bytes);

/*
 * Takes back a registration, by the start of the memory; to be called before that is unmapped.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: not the start of registered memory; NCOLL_ERR_BUSY:
 * a collective on it is unfinished.
 */
NCOLL_API int ncoll_mem_deregister(ncoll_context *ctx, void *memory);

/* ------------------------------------------------------------------ collectives -------------- */

/*
 * Barrier: returns NCOLL_OK after every rank of the group has entered it.
 * timeout_ns: NCOLL_BLOCK, NCOLL_TEST or nanoseconds. NCOLL_TIMEOUT: call again.
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: negative time-out; NCOLL_ERR_BUSY: another
 * collective is unfinished on the group; NCOLL_ERR_MISMATCH; NCOLL_ERR_PEER; what keeps this rank
 * from connecting its peers at the first use of an algorithm (NCOLL_ERR_RESOURCE, ...), which the
 * others get as NCOLL_ERR_PEER. After these, but for the first three, the group has failed: every
 * later call on it gives the same error. Source: n-way dissemination (Hoefler et al. 2006), adapted
 * last round (End et al. 2015).
 */
NCOLL_API int ncoll_barrier(ncoll_group *group, int64_t timeout_ns);

/*
 * What all collectives below have in common.
 *
 * Counts are elements, not bytes, and 64 bits wide; there is no upper limit, and 0 is allowed.
 * Where ranks give or get different amounts, counts[q] is rank q's block and displs[q] where it
 * starts in the buffer, in elements; displs NULL: blocks lie one after the other. All ranks pass
 * the same counts (but for alltoallv); each has its own displs. Both arrays may be reused after the
 * call has been started.
 *
 * Buffers that a rank has no use for (out of a reduce on ranks other than root, ...) are ignored
 * and may be NULL. Results are undefined until NCOLL_OK, inputs must not change until then; all may
 * be reused at once after it. In place: where a rank's input and output are the same size, in ==
 * out; else the smaller one is its own block in the larger one, at the place where that block
 * belongs (but for reduce_scatter: in == out, the result comes to the start). Any other overlap is
 * an error.
 *
 * Only barrier, allreduce, allgather, alltoall and reduce_scatter wait for all ranks; the others
 * may end on a rank while others have not begun. See ncoll_group_set_sync() for stricter ways.
 *
 * Reductions: every rank gets the same bits, and the same call on the same number of ranks gives
 * the same bits in every run, unless any_order is set. An operation that is not commutative is
 * applied in rank order.
 *
 * ERRORS of all: those of ncoll_barrier(), and NCOLL_ERR_ARGUMENT: a buffer that is needed is NULL,
 * partial overlap, blocks of an output that overlap, a count times the size of the type overflows,
 * unknown type or operation, an operation that is not defined for the type, root not a rank of the
 * group; NCOLL_ERR_BUSY: an unfinished call had other arguments; NCOLL_ERR_UNSUPPORTED: the
 * algorithm forced by the user does not exist for this size, radix or operation, or the window is
 * too small; NCOLL_ERR_MEMORY: this rank has nothing sent, and the others wait for it: call again.
 * If it comes later the group has failed: the same again, and NCOLL_ERR_PEER on the others.
 *
 * Each exists as a call with a time-out and, with _start, as a request.
 */

/* out[i] = in_0[i] op in_1[i] op ... op in_{P-1}[i] on every rank; in, out: count elements. */
NCOLL_API int ncoll_allreduce(ncoll_group *group, const void *in, void *out, size_t count,
                              ncoll_type type, ncoll_op op, int64_t timeout_ns);

/* The same, on root only. */
NCOLL_API int ncoll_reduce(ncoll_group *group, const void *in, void *out, size_t count,
                           ncoll_type type, ncoll_op op, int root, int64_t timeout_ns);

/* count elements of root's buffer to everybody's. */
NCOLL_API int ncoll_bcast(ncoll_group *group, void *buffer, size_t count, ncoll_type type, int root,
                          int64_t timeout_ns);

/* Block q of root's out (P blocks of count elements) is rank q's in (count elements). */
NCOLL_API int ncoll_gather(ncoll_group *group, const void *in, void *out, size_t count,
                           ncoll_type type, int root, int64_t timeout_ns);
NCOLL_API int ncoll_gatherv(ncoll_group *group, const void *in, void *out, const size_t *counts,
                            const size_t *displs, ncoll_type type, int root, int64_t timeout_ns);

/* Rank q's out (count elements) is block q of root's in (P blocks of count elements). */
NCOLL_API int ncoll_scatter(ncoll_group *group, const void *in, void *out, size_t count,
                            ncoll_type type, int root, int64_t timeout_ns);
NCOLL_API int ncoll_scatterv(ncoll_group *group, const void *in, const size_t *counts,
                             const size_t *displs, void *out, ncoll_type type, int root,
                             int64_t timeout_ns);

/* Block q of every rank's out (P blocks of count elements) is rank q's in (count elements). */
NCOLL_API int ncoll_allgather(ncoll_group *group, const void *in, void *out, size_t count,
                              ncoll_type type, int64_t timeout_ns);
NCOLL_API int ncoll_allgatherv(ncoll_group *group, const void *in, void *out, const size_t *counts,
                               const size_t *displs, ncoll_type type, int64_t timeout_ns);

/* Block q of rank p's out is block p of rank q's in; both have P blocks of count elements. With
 * counts, p's in_counts[q] is q's out_counts[p]; if not, that is NCOLL_ERR_MISMATCH. */
NCOLL_API int ncoll_alltoall(ncoll_group *group, const void *in, void *out, size_t count,
                             ncoll_type type, int64_t timeout_ns);
NCOLL_API int ncoll_alltoallv(ncoll_group *group, const void *in, const size_t *in_counts,
                              const size_t *in_displs, void *out, const size_t *out_counts,
                              const size_t *out_displs, ncoll_type type, int64_t timeout_ns);

/* Rank p's out is block p of in_0 op in_1 op ... op in_{P-1}; in has P blocks, adjacent, of
 * counts[q] or count elements. */
NCOLL_API int ncoll_reduce_scatter(ncoll_group *group, const void *in, void *out,
                                   const size_t *counts, ncoll_type type, ncoll_op op,
                                   int64_t timeout_ns);
NCOLL_API int ncoll_reduce_scatter_block(ncoll_group *group, const void *in, void *out,
                                         size_t count, ncoll_type type, ncoll_op op,
                                         int64_t timeout_ns);

/* out[i] = in_0[i] op ... op in_p[i] on rank p; exscan: up to in_{p-1}, and rank 0's out stays as
 * it is. */
NCOLL_API int ncoll_scan(ncoll_group *group, const void *in, void *out, size_t count,
                         ncoll_type type, ncoll_op op, int64_t timeout_ns);
NCOLL_API int ncoll_exscan(ncoll_group *group, const void *in, void *out, size_t count,
                           ncoll_type type, ncoll_op op, int64_t timeout_ns);

/* ------------------------------------------------------------------ requests ----------------- */

/*
 * The same collectives as requests. start returns at once, having done what can be done without
 * waiting. Any number may be unfinished on a group, started in the same order on all ranks; they
 * are finished in any order, and blocking calls may come in between. *request is set on NCOLL_OK
 * only.
 */
NCOLL_API int ncoll_barrier_start(ncoll_group *group, ncoll_request **request);
NCOLL_API int ncoll_allreduce_start(ncoll_group *group, const void *in, void *out, size_t count,
                                    ncoll_type type, ncoll_op op, ncoll_request **request);
NCOLL_API int ncoll_reduce_start(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, ncoll_op op, int root, ncoll_request **request);
NCOLL_API int ncoll_bcast_start(ncoll_group *group, void *buffer, size_t count, ncoll_type type,
                                int root, ncoll_request **request);
NCOLL_API int ncoll_gather_start(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, int root, ncoll_request **request);
NCOLL_API int ncoll_gatherv_start(ncoll_group *group, const void *in, void *out,
                                  const size_t *counts, const size_t *displs, ncoll_type type,
                                  int root, ncoll_request **request);
NCOLL_API int ncoll_scatter_start(ncoll_group *group, const void *in, void *out, size_t count,
                                  ncoll_type type, int root, ncoll_request **request);
NCOLL_API int ncoll_scatterv_start(ncoll_group *group, const void *in, const size_t *counts,
                                   const size_t *displs, void *out, ncoll_type type, int root,
                                   ncoll_request **request);
NCOLL_API int ncoll_allgather_start(ncoll_group *group, const void *in, void *out, size_t count,
                                    ncoll_type type, ncoll_request **request);
NCOLL_API int ncoll_allgatherv_start(ncoll_group *group, const void *in, void *out,
                                     const size_t *counts, const size_t *displs, ncoll_type type,
                                     ncoll_request **request);
NCOLL_API int ncoll_alltoall_start(ncoll_group *group, const void *in, void *out, size_t count,
                                   ncoll_type type, ncoll_request **request);
NCOLL_API int ncoll_alltoallv_start(ncoll_group *group, const void *in, const size_t *in_counts,
                                    const size_t *in_displs, void *out, const size_t *out_counts,
                                    const size_t *out_displs, ncoll_type type,
                                    ncoll_request **request);
NCOLL_API int ncoll_reduce_scatter_start(ncoll_group *group, const void *in, void *out,
                                         const size_t *counts, ncoll_type type, ncoll_op op,
                                         ncoll_request **request);
NCOLL_API int ncoll_reduce_scatter_block_start(ncoll_group *group, const void *in, void *out,
                                               size_t count, ncoll_type type, ncoll_op op,
                                               ncoll_request **request);
NCOLL_API int ncoll_scan_start(ncoll_group *group, const void *in, void *out, size_t count,
                               ncoll_type type, ncoll_op op, ncoll_request **request);
NCOLL_API int ncoll_exscan_start(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, ncoll_op op, ncoll_request **request);

/*
 * Persistent requests: what is called again and again with the same arguments is checked and
 * planned once. init makes the request, ncoll_start() starts it, ncoll_wait() or ncoll_test()
 * finishes what was started and leaves the request for the next start, ncoll_request_free() frees
 * it. init is local; starts count in the order of the group's calls. Arrays of counts may be reused
 * after init. ERRORS of ncoll_start(): NCOLL_ERR_HANDLE: not a persistent request; NCOLL_ERR_BUSY:
 * it is started already; and those of the collective. Of ncoll_request_free(): NCOLL_ERR_HANDLE;
 * NCOLL_ERR_BUSY: it is unfinished.
 */
NCOLL_API int ncoll_barrier_init(ncoll_group *group, ncoll_request **request);
NCOLL_API int ncoll_allreduce_init(ncoll_group *group, const void *in, void *out, size_t count,
                                   ncoll_type type, ncoll_op op, ncoll_request **request);
NCOLL_API int ncoll_reduce_init(ncoll_group *group, const void *in, void *out, size_t count,
                                ncoll_type type, ncoll_op op, int root, ncoll_request **request);
NCOLL_API int ncoll_bcast_init(ncoll_group *group, void *buffer, size_t count, ncoll_type type,
                               int root, ncoll_request **request);
NCOLL_API int ncoll_gather_init(ncoll_group *group, const void *in, void *out, size_t count,
                                ncoll_type type, int root, ncoll_request **request);
NCOLL_API int ncoll_gatherv_init(ncoll_group *group, const void *in, void *out,
                                 const size_t *counts, const size_t *displs, ncoll_type type,
                                 int root, ncoll_request **request);
NCOLL_API int ncoll_scatter_init(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, int root, ncoll_request **request);
NCOLL_API int ncoll_scatterv_init(ncoll_group *group, const void *in, const size_t *counts,
                                  const size_t *displs, void *out, ncoll_type type, int root,
                                  ncoll_request **request);
NCOLL_API int ncoll_allgather_init(ncoll_group *group, const void *in, void *out, size_t count,
                                   ncoll_type type, ncoll_request **request);
NCOLL_API int ncoll_allgatherv_init(ncoll_group *group, const void *in, void *out,
                                    const size_t *counts, const size_t *displs, ncoll_type type,
                                    ncoll_request **request);
NCOLL_API int ncoll_alltoall_init(ncoll_group *group, const void *in, void *out, size_t count,
                                  ncoll_type type, ncoll_request **request);
NCOLL_API int ncoll_alltoallv_init(ncoll_group *group, const void *in, const size_t *in_counts,
                                   const size_t *in_displs, void *out, const size_t *out_counts,
                                   const size_t *out_displs, ncoll_type type,
                                   ncoll_request **request);
NCOLL_API int ncoll_reduce_scatter_init(ncoll_group *group, const void *in, void *out,
                                        const size_t *counts, ncoll_type type, ncoll_op op,
                                        ncoll_request **request);
NCOLL_API int ncoll_reduce_scatter_block_init(ncoll_group *group, const void *in, void *out,
                                              size_t count, ncoll_type type, ncoll_op op,
                                              ncoll_request **request);
NCOLL_API int ncoll_scan_init(ncoll_group *group, const void *in, void *out, size_t count,
                              ncoll_type type, ncoll_op op, ncoll_request **request);
NCOLL_API int ncoll_exscan_init(ncoll_group *group, const void *in, void *out, size_t count,
                                ncoll_type type, ncoll_op op, ncoll_request **request);
NCOLL_API int ncoll_start(ncoll_request *request);
NCOLL_API int ncoll_request_free(ncoll_request **request);

/*
 * Finish a request: NCOLL_OK or an error ends it and sets *request to NULL, unless it is
 * persistent; NCOLL_TIMEOUT leaves it. A persistent one that is not started is finished: NCOLL_OK.
 * ncoll_test() does not wait. ERRORS: NCOLL_ERR_HANDLE: request or *request NULL or not a request;
 * and those of the collective.
 */
NCOLL_API int ncoll_test(ncoll_request **request);
NCOLL_API int ncoll_wait(ncoll_request **request, int64_t timeout_ns);

/*
 * Advances whatever is unfinished on the context, without waiting. Returns NCOLL_OK, or the error
 * that ended something. Call it from a computation that wants its collectives to go on meanwhile. A
 * collective that returned NCOLL_TIMEOUT and ends here still is to be called again for its result.
 */
NCOLL_API int ncoll_progress(ncoll_context *ctx);

/* ------------------------------------------------------------------ forked ranks ------------- */

/*
 * Runs main_fn as `ranks` processes forked from this one, for tools, tests and single-node jobs.
 * Each child gets parameters that already hold its rank and the board where the ranks meet; it may
 * change the rest and must pass them to ncoll_context_create(). The child leaves with what main_fn
 * returns.
 *
 * The parent waits for all children, and must not ignore SIGCHLD. exit_codes (ranks ints, or NULL)
 * gets each child's exit status, or 128 + signal. If a child dies by a signal the others are not
 * killed: they get NCOLL_ERR_PEER.
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: ranks < 1 or > 65536, main_fn NULL; NCOLL_ERR_SYSTEM: fork or mmap
 * failed (children already forked are ended); NCOLL_ERR_PEER: a child ended with a status other
 * than 0.
 */
typedef int (*ncoll_rank_main)(const ncoll_params *params, void *arg);
NCOLL_API int ncoll_fork_ranks(int ranks, const ncoll_params *base, ncoll_rank_main main_fn,
                               void *arg, int *exit_codes);

#ifdef __cplusplus
}
#endif
#endif
