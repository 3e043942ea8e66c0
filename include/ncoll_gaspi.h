/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ncoll_gaspi: the collectives of GASPI by ncoll, for programs that move from one to the other.
 *
 * The names, types and constants are those of the GASPI standard and of GPI-2, its best-known
 * implementation. A program includes this header in place of GASPI.h, and is linked with libncoll.
 * The header is C99 and C++, and has its functions inside: there is nothing else to build. A
 * process has one job, as in GASPI, also if several of its files include the header. One thread at
 * a time may call these functions.
 *
 *     gaspi_proc_init(GASPI_BLOCK);
 *     while (gaspi_barrier(GASPI_GROUP_ALL, 10) == GASPI_TIMEOUT)
 *         do_something_else();
 *     gaspi_allreduce(in, out, n, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, GASPI_GROUP_ALL, GASPI_BLOCK);
 *     gaspi_proc_term(GASPI_BLOCK);
 *
 * Covered: gaspi_proc_init, _term, _rank, _num; gaspi_barrier; gaspi_allreduce,
 * gaspi_allreduce_user, _buf_size, _elem_max; gaspi_group_create, _add, _commit, _delete, _size,
 * _ranks, _num, _max; gaspi_state_vec_get; gaspi_version, gaspi_print_error, gaspi_error_str.
 *
 * Not covered: segments, one-sided and passive communication, notifications, atomics, queues,
 * gaspi_connect, gaspi_proc_kill, gaspi_config, statistics. A program that needs them keeps GPI-2
 * for them, in other files than those that include this header; the two libraries do not know of
 * each other.
 *
 * Different from GASPI:
 *
 * - gaspi_group_commit() is collective over all ranks of GASPI_GROUP_ALL, each with its own group:
 *   a rank that is in none of these groups commits a group that it is not a member of, or one
 *   without members; the rank can then only delete this group. In GASPI only the members call
 *   gaspi_group_commit().
 * - Vectors may have any length: gaspi_allreduce_elem_max() and _buf_size() give lengths that are
 *   always allowed, but longer vectors are not refused.
 * - in and out may be the same buffer.
 * - gaspi_proc_init() never returns GASPI_TIMEOUT: it fails with GASPI_ERROR if the ranks have not
 *   found each other within the time-out.
 * - Ranks are started as those of any program with ncoll: srun, prterun, mpiexec, or by hand. There
 *   is no gaspi_run.
 * - ncoll_gaspi_error() returns the last error, with rank, cause and remedy, and
 *   ncoll_gaspi_group() returns the group of ncoll, for other collectives of ncoll.
 */
#ifndef NCOLL_GASPI_H
#define NCOLL_GASPI_H

#if defined(GPI2_H) || defined(GASPI_H) || defined(_GASPI_H) || defined(_GASPI_H_) ||              \
    defined(GASPI_TYPES_H)
#error "ncoll_gaspi.h takes the place of GASPI.h: include one of them in a file, not both"
#endif
/* With these guards, a GASPI.h that is included later is left out, or notices this header. */
#define GPI2_H
#define GASPI_H
#define GASPI_TYPES_H

#include "ncoll.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ types -------------------- */

typedef char gaspi_char;
typedef unsigned char gaspi_uchar;
typedef short gaspi_short;
typedef unsigned short gaspi_ushort;
typedef int gaspi_int;
typedef unsigned int gaspi_uint;
typedef long gaspi_long;
typedef unsigned long gaspi_ulong;
typedef float gaspi_float;
typedef double gaspi_double;

typedef unsigned long gaspi_timeout_t; /* milliseconds */
typedef unsigned short gaspi_rank_t;
typedef unsigned char gaspi_group_t;
typedef unsigned int gaspi_number_t;
typedef unsigned long gaspi_size_t;
typedef void *gaspi_pointer_t;
typedef const void *gaspi_const_pointer_t;
typedef void *gaspi_reduce_state_t;
typedef unsigned char gaspi_state_t;         /* GASPI_STATE_HEALTHY or GASPI_STATE_CORRUPT */
typedef gaspi_state_t *gaspi_state_vector_t; /* one for each rank */
typedef char *gaspi_string_t;

#define GASPI_GROUP_ALL ((gaspi_group_t)0)
#define GASPI_BLOCK     ULONG_MAX
#define GASPI_TEST      0UL

/** Results of calls: 0, a time-out, or an error. Only those errors of GASPI are listed that can
 * occur here. */
typedef enum {
    GASPI_ERROR = -1,
    GASPI_SUCCESS = 0,
    GASPI_TIMEOUT = 1,
    GASPI_ERR_NOINIT = 6,
    GASPI_ERR_INITED = 7,
    GASPI_ERR_NULLPTR = 8,
    GASPI_ERR_INV_GROUP = 11,
    GASPI_ERR_INV_RANK = 12,
    GASPI_ERR_INV_NUM = 19,
    GASPI_ERR_INV_SIZE = 20,
    GASPI_ERR_MANY_GRP = 22,
    GASPI_ERR_ACTIVE_COLL = 25, /* another collective is unfinished on the group */
    GASPI_ERR_DEVICE = 26,
    GASPI_ERR_MEMALLOC = 27
} gaspi_return_t;

typedef enum { GASPI_OP_MIN = 0, GASPI_OP_MAX = 1, GASPI_OP_SUM = 2 } gaspi_operation_t;

typedef enum {
    GASPI_TYPE_INT = 0,
    GASPI_TYPE_UINT = 1,
    GASPI_TYPE_FLOAT = 2,
    GASPI_TYPE_DOUBLE = 3,
    GASPI_TYPE_LONG = 4,
    GASPI_TYPE_ULONG = 5
} gaspi_datatype_t;

typedef enum { GASPI_STATE_HEALTHY = 0, GASPI_STATE_CORRUPT = 1 } gaspi_qp_state_t;

/** A reduction of the program's own, on `num` elements of `element_size` bytes; commutative and
 * associative. `result` may be one of the operands. If the function returns anything but
 * GASPI_SUCCESS, the call ends with GASPI_ERROR on this rank. */
typedef gaspi_return_t (*gaspi_reduce_operation_t)(gaspi_pointer_t operand_one,
                                                   gaspi_pointer_t operand_two,
                                                   gaspi_pointer_t result,
                                                   gaspi_reduce_state_t state, gaspi_number_t num,
                                                   gaspi_size_t element_size,
                                                   gaspi_timeout_t timeout_ms);

/* ------------------------------------------------------------------ the job ------------------ */

/** Groups that can exist at a time, GASPI_GROUP_ALL included. */
#define NCOLL_GASPI_GROUPS 128
/* Element sizes of gaspi_allreduce_user() that every rank registers at the start, so that the type
 * of a size has the same number on all ranks: 1 to 64, then multiples of 8 up to 512. Other sizes
 * are registered when they are first used, as many as ncoll_type_create() has room for; the order
 * of these first uses has to be the same on all ranks. */
#define NCOLL_GASPI_SMALL 64
#define NCOLL_GASPI_SIZES (NCOLL_GASPI_SMALL + (512 - NCOLL_GASPI_SMALL) / 8)
#define NCOLL_GASPI_OTHER 64

enum ncoll_gaspi_stage {
    NCOLL_GASPI_FREE,     /* the number is not in use */
    NCOLL_GASPI_CREATED,  /* not committed yet: members are added */
    NCOLL_GASPI_AGREEING, /* ncoll's group is made; its ranks agree on the index of an operation */
    NCOLL_GASPI_READY,
    NCOLL_GASPI_ABSENT,  /* committed; this rank is not in the group */
    NCOLL_GASPI_DELETED, /* deleted here; other ranks have not deleted the group yet */
};

/* `bits`: the operations that groups use, one bit each. `differs`: not 0 if some rank has added
 * other members to a group than the group has. */
struct ncoll_gaspi_ops {
    uint64_t bits[NCOLL_GASPI_GROUPS / 64], differs;
};
#define NCOLL_GASPI_WORDS (sizeof(struct ncoll_gaspi_ops) / sizeof(uint64_t))

struct ncoll_gaspi_entry {
    enum ncoll_gaspi_stage stage;
    ncoll_group *group;
    int *members; /* in the order in which they were added */
    int n_members;
    int op;                           /* index of its operation, the same on all of its ranks */
    struct ncoll_gaspi_ops mine, all; /* of this rank and of all ranks, while they agree on op */
    /* state of the unfinished gaspi_allreduce_user() */
    int is_reducing;
    gaspi_reduce_operation_t reduce;
    gaspi_reduce_state_t state;
    gaspi_size_t element_size;
    gaspi_timeout_t timeout_ms;
    gaspi_return_t reduced;
};

struct ncoll_gaspi_job {
    ncoll_context *ctx;
    struct ncoll_gaspi_entry groups[NCOLL_GASPI_GROUPS];
    ncoll_op ops[NCOLL_GASPI_GROUPS];
    /* the group that uses each operation, by the operation's index */
    struct ncoll_gaspi_entry *users[NCOLL_GASPI_GROUPS];
    struct ncoll_gaspi_ops in_use;
    struct ncoll_gaspi_entry *committing; /* the group whose gaspi_group_commit() goes on */
    ncoll_type types[NCOLL_GASPI_SIZES];
    gaspi_size_t other_sizes[NCOLL_GASPI_OTHER];
    ncoll_type other_types[NCOLL_GASPI_OTHER];
    int n_others;
    ncoll_error error; /* of gaspi_proc_init(), or of this header */
};

/* The process has one such object, even if several of its files include this header. */
extern struct ncoll_gaspi_job ncoll_gaspi_job;
#ifdef __cplusplus
}
#endif
#ifdef __cplusplus
__attribute__((weak)) struct ncoll_gaspi_job ncoll_gaspi_job = {};
extern "C" {
#else
__attribute__((weak)) struct ncoll_gaspi_job ncoll_gaspi_job = {0};
#endif

/** Returns the last error, with status, rank, cause and remedy. Never NULL. */
static inline const ncoll_error *ncoll_gaspi_error(void)
{
    if (ncoll_gaspi_job.ctx != NULL && ncoll_gaspi_job.error.status == NCOLL_OK)
        return ncoll_last_error(ncoll_gaspi_job.ctx);
    return &ncoll_gaspi_job.error;
}

/** Returns ncoll's context, for its other calls; NULL before gaspi_proc_init() and after
 * gaspi_proc_term(). */
static inline ncoll_context *ncoll_gaspi_context(void)
{
    return ncoll_gaspi_job.ctx;
}

/** Returns ncoll's group; NULL if the group is not committed, or this rank is not in it. */
static inline ncoll_group *ncoll_gaspi_group(gaspi_group_t group)
{
    if (group >= NCOLL_GASPI_GROUPS || ncoll_gaspi_job.groups[group].stage != NCOLL_GASPI_READY)
        return NULL;
    return ncoll_gaspi_job.groups[group].group;
}

/* Stores an error that the library does not know of, since this header has found it. Returns the
 * code. */
static inline gaspi_return_t ncoll_gaspi_refuse(gaspi_return_t code, ncoll_status status,
                                                const char *cause, const char *remedy)
{
    ncoll_error *e = &ncoll_gaspi_job.error;

    memset(e, 0, sizeof *e);
    e->status = status;
    e->rank = ncoll_gaspi_job.ctx != NULL ? ncoll_group_rank(ncoll_world(ncoll_gaspi_job.ctx)) : -1;
    e->peer = -1;
    strncat(e->cause, cause, sizeof e->cause - 1);
    strncat(e->remedy, remedy, sizeof e->remedy - 1);
    strncat(e->text, cause, sizeof e->text - 1);
    if (*remedy != '\0') {
        strncat(e->text, "; ", sizeof e->text - strlen(e->text) - 1);
        strncat(e->text, remedy, sizeof e->text - strlen(e->text) - 1);
    }
    return code;
}

static inline gaspi_return_t ncoll_gaspi_result(int status)
{
    switch (status) {
    case NCOLL_OK:
        return GASPI_SUCCESS;
    case NCOLL_TIMEOUT:
        return GASPI_TIMEOUT;
    case NCOLL_ERR_BUSY:
        ncoll_gaspi_job.error.status = NCOLL_OK;
        return GASPI_ERR_ACTIVE_COLL;
    case NCOLL_ERR_MEMORY:
        ncoll_gaspi_job.error.status = NCOLL_OK;
        return GASPI_ERR_MEMALLOC;
    case NCOLL_ERR_DEVICE:
        ncoll_gaspi_job.error.status = NCOLL_OK;
        return GASPI_ERR_DEVICE;
    default:
        ncoll_gaspi_job.error.status = NCOLL_OK; /* ncoll_last_error() knows it */
        return GASPI_ERROR;
    }
}

static inline int64_t ncoll_gaspi_ns(gaspi_timeout_t timeout_ms)
{
    if (timeout_ms >= (gaspi_timeout_t)(INT64_MAX / 1000000))
        return NCOLL_BLOCK;
    return (int64_t)timeout_ms * 1000000;
}

static inline gaspi_return_t ncoll_gaspi_noinit(void)
{
    return ncoll_gaspi_refuse(GASPI_ERR_NOINIT, NCOLL_ERR_HANDLE, "there is no job",
                              "call gaspi_proc_init() first");
}

/* The operation of all calls of gaspi_allreduce_user(), for ncoll: calls the program's function.
 * `arg` points to the pointer to the group of the call. */
static inline void ncoll_gaspi_combine(void *out, const void *left, const void *right, size_t count,
                                       ncoll_type type, void *arg)
{
    struct ncoll_gaspi_entry *g = *(struct ncoll_gaspi_entry **)arg;
    char *l = (char *)(uintptr_t)left, *r = (char *)(uintptr_t)right, *o = (char *)out;

    (void)type;
    while (count > 0) { /* gaspi_number_t has 32 bits */
        gaspi_number_t n = count < UINT_MAX ? (gaspi_number_t)count : UINT_MAX;
        gaspi_return_t rc = g->reduce(l, r, o, g->state, n, g->element_size, g->timeout_ms);

        if (rc != GASPI_SUCCESS && g->reduced == GASPI_SUCCESS)
            g->reduced = rc;
        l += n * g->element_size;
        r += n * g->element_size;
        o += n * g->element_size;
        count -= n;
    }
}

/* Registers the operations, and the types by their size, which are the same on all ranks. */
static inline int ncoll_gaspi_register(void)
{
    struct ncoll_gaspi_job *job = &ncoll_gaspi_job;
    int rc = NCOLL_OK;

    for (int i = 0; i < NCOLL_GASPI_GROUPS && rc == NCOLL_OK; i++) {
        ncoll_op_def def;

        memset(&def, 0, sizeof def);
        def.size = sizeof def;
        def.flags = NCOLL_OP_COMMUTATIVE;
        def.combine = ncoll_gaspi_combine;
        def.arg = &job->users[i];
        rc = ncoll_op_create_named(job->ctx, &def, "gaspi_allreduce_user", &job->ops[i]);
    }
    for (int i = 0; i < NCOLL_GASPI_SIZES && rc == NCOLL_OK; i++) {
        int small = i < NCOLL_GASPI_SMALL;
        size_t size =
            small ? (size_t)i + 1 : NCOLL_GASPI_SMALL + ((size_t)i - NCOLL_GASPI_SMALL + 1) * 8;
        rc = ncoll_type_create(job->ctx, size, &job->types[i]);
    }
    return rc;
}

/** Joins the job. With GASPI_BLOCK the time-out is that of ncoll's bootstrap, 60 s unless
 * NCOLL_BOOTSTRAP_TIMEOUT is set. Returns GASPI_ERROR if the ranks do not find each other in time.
 */
static inline gaspi_return_t gaspi_proc_init(gaspi_timeout_t timeout_ms)
{
    struct ncoll_gaspi_job *job = &ncoll_gaspi_job;
    ncoll_params params;

    if (job->ctx != NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_INITED, NCOLL_ERR_BUSY, "there is a job already",
                                  "call gaspi_proc_term() before");
    memset(job, 0, sizeof *job);
    ncoll_params_init(&params, sizeof params);
    if (ncoll_gaspi_ns(timeout_ms) != NCOLL_BLOCK)
        params.bootstrap_timeout_ns = ncoll_gaspi_ns(timeout_ms);
    int rc = ncoll_context_create(&params, &job->ctx, &job->error);
    if (rc != NCOLL_OK)
        return ncoll_gaspi_result(rc) == GASPI_ERR_DEVICE ? GASPI_ERR_DEVICE : GASPI_ERROR;
    if (ncoll_group_size(ncoll_world(job->ctx)) > USHRT_MAX) {
        ncoll_context_destroy(job->ctx);
        job->ctx = NULL;
        return ncoll_gaspi_refuse(GASPI_ERROR, NCOLL_ERR_UNSUPPORTED,
                                  "more ranks than gaspi_rank_t has", "start at most 65535 ranks");
    }
    rc = ncoll_gaspi_register();
    if (rc != NCOLL_OK) {
        job->error = *ncoll_last_error(job->ctx);
        ncoll_context_destroy(job->ctx);
        job->ctx = NULL;
        return GASPI_ERROR;
    }
    job->groups[GASPI_GROUP_ALL].stage = NCOLL_GASPI_READY;
    job->groups[GASPI_GROUP_ALL].group = ncoll_world(job->ctx);
    job->in_use.bits[0] = 1; /* for GASPI_GROUP_ALL, on every rank */
    job->users[0] = &job->groups[GASPI_GROUP_ALL];
    return GASPI_SUCCESS;
}

/** Leaves the job, at once; frees all groups. */
static inline gaspi_return_t gaspi_proc_term(gaspi_timeout_t timeout_ms)
{
    struct ncoll_gaspi_job *job = &ncoll_gaspi_job;

    (void)timeout_ms;
    if (job->ctx == NULL)
        return ncoll_gaspi_noinit();
    ncoll_context_destroy(job->ctx);
    job->ctx = NULL;
    for (int i = 0; i < NCOLL_GASPI_GROUPS; i++) {
        free(job->groups[i].members);
        job->groups[i].members = NULL;
        job->groups[i].stage = NCOLL_GASPI_FREE;
    }
    return GASPI_SUCCESS;
}

static inline gaspi_return_t gaspi_proc_rank(gaspi_rank_t *rank)
{
    if (ncoll_gaspi_job.ctx == NULL)
        return ncoll_gaspi_noinit();
    if (rank == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "rank is NULL", "");
    *rank = (gaspi_rank_t)ncoll_group_rank(ncoll_world(ncoll_gaspi_job.ctx));
    return GASPI_SUCCESS;
}

static inline gaspi_return_t gaspi_proc_num(gaspi_rank_t *num)
{
    if (ncoll_gaspi_job.ctx == NULL)
        return ncoll_gaspi_noinit();
    if (num == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "proc_num is NULL", "");
    *num = (gaspi_rank_t)ncoll_group_size(ncoll_world(ncoll_gaspi_job.ctx));
    return GASPI_SUCCESS;
}

/* ------------------------------------------------------------------ groups ------------------- */

/* Returns the group if it is in use; otherwise returns NULL, and sets *rc to an error. */
static inline struct ncoll_gaspi_entry *ncoll_gaspi_find(gaspi_group_t group, gaspi_return_t *rc)
{
    struct ncoll_gaspi_entry *g = &ncoll_gaspi_job.groups[group % NCOLL_GASPI_GROUPS];

    if (ncoll_gaspi_job.ctx == NULL) {
        *rc = ncoll_gaspi_noinit();
        return NULL;
    }
    if (group >= NCOLL_GASPI_GROUPS || g->stage == NCOLL_GASPI_FREE ||
        g->stage == NCOLL_GASPI_DELETED) {
        *rc = ncoll_gaspi_refuse(GASPI_ERR_INV_GROUP, NCOLL_ERR_HANDLE, "there is no such group",
                                 "use a number that gaspi_group_create() gave");
        return NULL;
    }
    return g;
}

/* Returns the group if this rank can make collectives on it; otherwise returns NULL, and sets *rc
 * to an error. */
static inline struct ncoll_gaspi_entry *ncoll_gaspi_ready(gaspi_group_t group, gaspi_return_t *rc)
{
    struct ncoll_gaspi_entry *g = ncoll_gaspi_find(group, rc);

    if (g != NULL && g->stage != NCOLL_GASPI_READY) {
        *rc = ncoll_gaspi_refuse(GASPI_ERR_INV_GROUP, NCOLL_ERR_ARGUMENT,
                                 g->stage == NCOLL_GASPI_ABSENT ? "this rank is not in the group"
                                                                : "the group is not committed",
                                 "call gaspi_group_commit() on all ranks first");
        return NULL;
    }
    return g;
}

static inline void ncoll_gaspi_forget(struct ncoll_gaspi_entry *g)
{
    if (g->op >= 0)
        ncoll_gaspi_job.in_use.bits[g->op / 64] &= ~((uint64_t)1 << g->op % 64);
    free(g->members);
    memset(g, 0, sizeof *g);
    g->op = -1;
}

/* Frees deleted groups that all their ranks have deleted by now. */
static inline void ncoll_gaspi_reap(void)
{
    for (int i = 1; i < NCOLL_GASPI_GROUPS; i++) {
        struct ncoll_gaspi_entry *g = &ncoll_gaspi_job.groups[i];

        if (g->stage == NCOLL_GASPI_DELETED &&
            ncoll_group_free(&g->group, NCOLL_TEST) != NCOLL_TIMEOUT)
            ncoll_gaspi_forget(g);
    }
}

/** Makes a group without members. Local. */
static inline gaspi_return_t gaspi_group_create(gaspi_group_t *group)
{
    if (ncoll_gaspi_job.ctx == NULL)
        return ncoll_gaspi_noinit();
    if (group == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "group is NULL", "");
    ncoll_gaspi_reap();
    for (int i = 1; i < NCOLL_GASPI_GROUPS; i++) {
        struct ncoll_gaspi_entry *g = &ncoll_gaspi_job.groups[i];

        if (g->stage != NCOLL_GASPI_FREE)
            continue;
        memset(g, 0, sizeof *g);
        g->op = -1;
        g->stage = NCOLL_GASPI_CREATED;
        *group = (gaspi_group_t)i;
        return GASPI_SUCCESS;
    }
    return ncoll_gaspi_refuse(GASPI_ERR_MANY_GRP, NCOLL_ERR_RESOURCE, "all groups are in use",
                              "delete groups that are not needed any more, on all their ranks");
}

/** Adds a rank to a group that is not committed. Local. Members are kept in ascending order. */
static inline gaspi_return_t gaspi_group_add(gaspi_group_t group, gaspi_rank_t rank)
{
    gaspi_return_t rc;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_find(group, &rc);
    int at;

    if (g == NULL)
        return rc;
    if (g->stage != NCOLL_GASPI_CREATED)
        return ncoll_gaspi_refuse(GASPI_ERR_INV_GROUP, NCOLL_ERR_ARGUMENT,
                                  "the group is committed already", "make another group");
    if (rank >= ncoll_group_size(ncoll_world(ncoll_gaspi_job.ctx)))
        return ncoll_gaspi_refuse(GASPI_ERR_INV_RANK, NCOLL_ERR_ARGUMENT, "there is no such rank",
                                  "give a rank below gaspi_proc_num()");
    for (at = 0; at < g->n_members && g->members[at] <= rank; at++)
        if (g->members[at] == rank)
            return ncoll_gaspi_refuse(GASPI_ERR_INV_RANK, NCOLL_ERR_ARGUMENT,
                                      "the rank is in the group already", "add each rank once");
    int *members = (int *)realloc(g->members, ((size_t)g->n_members + 1) * sizeof *members);
    if (members == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_MEMALLOC, NCOLL_ERR_MEMORY, "no memory", "");
    memmove(members + at + 1, members + at, (size_t)(g->n_members - at) * sizeof *members);
    members[at] = rank;
    g->members = members;
    g->n_members++;
    return GASPI_SUCCESS;
}

static inline int ncoll_gaspi_is_member(const struct ncoll_gaspi_entry *g)
{
    int rank = ncoll_group_rank(ncoll_world(ncoll_gaspi_job.ctx));

    for (int i = 0; i < g->n_members; i++)
        if (g->members[i] == rank)
            return 1;
    return 0;
}

/* True if the group of ncoll has just the members that this rank has added. */
static inline int ncoll_gaspi_agrees(const struct ncoll_gaspi_entry *g)
{
    if (ncoll_group_size(g->group) != g->n_members)
        return 0;
    for (int i = 0; i < g->n_members; i++)
        if (ncoll_group_world_rank(g->group, i) != g->members[i])
            return 0;
    return 1;
}

/* Ends a commit. If ranks have committed groups with different members but the same first member,
 * they are in one group of ncoll. Such a group is of no use, and all its ranks give it up.
 * Otherwise the group gets the lowest operation that none of its ranks uses for another group. */
static inline gaspi_return_t ncoll_gaspi_agreed(struct ncoll_gaspi_entry *g)
{
    ncoll_gaspi_job.committing = NULL;
    for (int i = 0; i < NCOLL_GASPI_GROUPS && !g->all.differs; i++) {
        if (g->all.bits[i / 64] >> i % 64 & 1)
            continue;
        g->op = i;
        g->stage = NCOLL_GASPI_READY;
        ncoll_gaspi_job.in_use.bits[i / 64] |= (uint64_t)1 << i % 64;
        ncoll_gaspi_job.users[i] = g;
        return GASPI_SUCCESS;
    }
    int differs = g->all.differs != 0;
    g->stage = NCOLL_GASPI_DELETED;
    ncoll_gaspi_reap();
    if (differs)
        return ncoll_gaspi_refuse(GASPI_ERROR, NCOLL_ERR_MISMATCH,
                                  "ranks have committed a group with other members",
                                  "add the same ranks to the group on all of them");
    return ncoll_gaspi_refuse(GASPI_ERR_MANY_GRP, NCOLL_ERR_RESOURCE,
                              "the ranks of the group are in too many other groups",
                              "delete groups that are not needed any more, on all their ranks");
}

/**
 * Makes a group usable. Collective over all ranks of GASPI_GROUP_ALL, unlike in GASPI: several
 * groups without a common member are committed together, and a rank that is in none of these groups
 * commits a group that it is not a member of.
 */
static inline gaspi_return_t gaspi_group_commit(gaspi_group_t group, gaspi_timeout_t timeout_ms)
{
    struct ncoll_gaspi_job *job = &ncoll_gaspi_job;
    gaspi_return_t rc;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_find(group, &rc);
    int64_t ns = ncoll_gaspi_ns(timeout_ms);
    int status;

    if (g == NULL)
        return rc;
    if (g->stage == NCOLL_GASPI_READY || g->stage == NCOLL_GASPI_ABSENT)
        return ncoll_gaspi_refuse(GASPI_ERR_INV_GROUP, NCOLL_ERR_ARGUMENT,
                                  "the group is committed already", "commit a group once");
    if (job->committing != NULL && job->committing != g)
        return ncoll_gaspi_refuse(GASPI_ERR_ACTIVE_COLL, NCOLL_ERR_BUSY,
                                  "the commit of another group is unfinished",
                                  "call it again until it does not return GASPI_TIMEOUT");
    ncoll_gaspi_reap();
    job->committing = g;
    if (g->stage == NCOLL_GASPI_CREATED) {
        int is_member = ncoll_gaspi_is_member(g);

        status = ncoll_group_split(ncoll_world(job->ctx),
                                   is_member ? g->members[0] : NCOLL_NO_GROUP, 0, &g->group, ns);
        if (status != NCOLL_OK) {
            if (status != NCOLL_TIMEOUT)
                job->committing = NULL;
            return ncoll_gaspi_result(status);
        }
        if (!is_member) {
            job->committing = NULL;
            g->stage = NCOLL_GASPI_ABSENT;
            return GASPI_SUCCESS;
        }
        g->stage = NCOLL_GASPI_AGREEING;
        g->mine = job->in_use;
        g->mine.differs = !ncoll_gaspi_agrees(g);
    }
    status = ncoll_allreduce(g->group, &g->mine, &g->all, NCOLL_GASPI_WORDS, NCOLL_UINT64,
                             NCOLL_BOR, ns);
    if (status == NCOLL_OK)
        return ncoll_gaspi_agreed(g);
    if (status != NCOLL_TIMEOUT)
        job->committing = NULL;
    return ncoll_gaspi_result(status);
}

/** Deletes a group. Local, as in GASPI; its memory is freed when all its ranks have deleted it. */
static inline gaspi_return_t gaspi_group_delete(gaspi_group_t group)
{
    gaspi_return_t rc;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_find(group, &rc);

    if (g == NULL)
        return rc;
    if (group == GASPI_GROUP_ALL)
        return ncoll_gaspi_refuse(GASPI_ERR_INV_GROUP, NCOLL_ERR_ARGUMENT,
                                  "GASPI_GROUP_ALL cannot be deleted", "");
    if (g->is_reducing || ncoll_gaspi_job.committing == g)
        return ncoll_gaspi_refuse(GASPI_ERR_ACTIVE_COLL, NCOLL_ERR_BUSY,
                                  "a collective is unfinished on the group",
                                  "call it again until it does not return GASPI_TIMEOUT");
    if (g->group != NULL) {
        int status = ncoll_group_free(&g->group, NCOLL_TEST);

        if (status == NCOLL_ERR_BUSY)
            return GASPI_ERR_ACTIVE_COLL;
        if (status == NCOLL_TIMEOUT) {
            g->stage = NCOLL_GASPI_DELETED;
            return GASPI_SUCCESS;
        }
    }
    ncoll_gaspi_forget(g);
    ncoll_gaspi_reap();
    return GASPI_SUCCESS;
}

static inline gaspi_return_t gaspi_group_size(gaspi_group_t group, gaspi_number_t *size)
{
    gaspi_return_t rc;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_find(group, &rc);

    if (g == NULL)
        return rc;
    if (size == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "group_size is NULL", "");
    *size = group == GASPI_GROUP_ALL ? (gaspi_number_t)ncoll_group_size(g->group)
                                     : (gaspi_number_t)g->n_members;
    return GASPI_SUCCESS;
}

/** Gives the ranks of a group, in ascending order; `ranks` has room for gaspi_group_size() of them.
 */
static inline gaspi_return_t gaspi_group_ranks(gaspi_group_t group, gaspi_rank_t *ranks)
{
    gaspi_return_t rc;
    gaspi_number_t n = 0;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_find(group, &rc);

    if (g == NULL)
        return rc;
    if (ranks == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "group_ranks is NULL", "");
    gaspi_group_size(group, &n);
    for (gaspi_number_t i = 0; i < n; i++)
        ranks[i] = (gaspi_rank_t)(group == GASPI_GROUP_ALL ? (int)i : g->members[i]);
    return GASPI_SUCCESS;
}

/** Gives the number of groups that exist, GASPI_GROUP_ALL included. */
static inline gaspi_return_t gaspi_group_num(gaspi_number_t *num)
{
    if (ncoll_gaspi_job.ctx == NULL)
        return ncoll_gaspi_noinit();
    if (num == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "group_num is NULL", "");
    *num = 0;
    for (int i = 0; i < NCOLL_GASPI_GROUPS; i++)
        if (ncoll_gaspi_job.groups[i].stage != NCOLL_GASPI_FREE &&
            ncoll_gaspi_job.groups[i].stage != NCOLL_GASPI_DELETED)
            ++*num;
    return GASPI_SUCCESS;
}

static inline gaspi_return_t gaspi_group_max(gaspi_number_t *max)
{
    if (max == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "group_max is NULL", "");
    *max = NCOLL_GASPI_GROUPS;
    return GASPI_SUCCESS;
}

/* ------------------------------------------------------------------ collectives -------------- */

/** Barrier. After GASPI_TIMEOUT call again. */
static inline gaspi_return_t gaspi_barrier(gaspi_group_t group, gaspi_timeout_t timeout_ms)
{
    gaspi_return_t rc;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_ready(group, &rc);

    if (g == NULL)
        return rc;
    return ncoll_gaspi_result(ncoll_barrier(g->group, ncoll_gaspi_ns(timeout_ms)));
}

/** Gives a number of bytes that gaspi_allreduce_user() always takes; there is no real limit. */
static inline gaspi_return_t gaspi_allreduce_buf_size(gaspi_size_t *buf_size)
{
    if (buf_size == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "buf_size is NULL", "");
    *buf_size = 65536;
    return GASPI_SUCCESS;
}

/** Gives a number of elements that gaspi_allreduce() always takes; there is no real limit. */
static inline gaspi_return_t gaspi_allreduce_elem_max(gaspi_number_t *elem_max)
{
    if (elem_max == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "elem_max is NULL", "");
    *elem_max = 8192;
    return GASPI_SUCCESS;
}

/* Returns ncoll's type for a type of GASPI; 0: there is no such type. */
static inline ncoll_type ncoll_gaspi_type(gaspi_datatype_t type)
{
    int is_64 = sizeof(long) == 8;

    switch (type) {
    case GASPI_TYPE_INT:
        return NCOLL_INT32;
    case GASPI_TYPE_UINT:
        return NCOLL_UINT32;
    case GASPI_TYPE_FLOAT:
        return NCOLL_FLOAT;
    case GASPI_TYPE_DOUBLE:
        return NCOLL_DOUBLE;
    case GASPI_TYPE_LONG:
        return is_64 ? (ncoll_type)NCOLL_INT64 : (ncoll_type)NCOLL_INT32;
    case GASPI_TYPE_ULONG:
        return is_64 ? (ncoll_type)NCOLL_UINT64 : (ncoll_type)NCOLL_UINT32;
    }
    return 0;
}

/** Allreduce; all ranks get the same bits. After GASPI_TIMEOUT call again with the same arguments.
 */
static inline gaspi_return_t gaspi_allreduce(gaspi_const_pointer_t buffer_send,
                                             gaspi_pointer_t buffer_receive, gaspi_number_t num,
                                             gaspi_operation_t operation, gaspi_datatype_t datatype,
                                             gaspi_group_t group, gaspi_timeout_t timeout_ms)
{
    gaspi_return_t rc;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_ready(group, &rc);
    ncoll_type type = ncoll_gaspi_type(datatype);
    ncoll_op op = operation == GASPI_OP_MIN   ? (ncoll_op)NCOLL_MIN
                  : operation == GASPI_OP_MAX ? (ncoll_op)NCOLL_MAX
                  : operation == GASPI_OP_SUM ? (ncoll_op)NCOLL_SUM
                                              : 0;

    if (g == NULL)
        return rc;
    if (buffer_send == NULL || buffer_receive == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "a buffer is NULL", "");
    if (type == 0 || op == 0)
        return ncoll_gaspi_refuse(GASPI_ERROR, NCOLL_ERR_ARGUMENT, "unknown type or operation",
                                  "use GASPI_TYPE_INT .. _ULONG and GASPI_OP_MIN, _MAX or _SUM");
    return ncoll_gaspi_result(ncoll_allreduce(g->group, buffer_send, buffer_receive, num, type, op,
                                              ncoll_gaspi_ns(timeout_ms)));
}

/* Returns the type of elements of this size; 0: the type could not be made. */
static inline ncoll_type ncoll_gaspi_type_of_size(gaspi_size_t size)
{
    struct ncoll_gaspi_job *job = &ncoll_gaspi_job;

    if (size <= NCOLL_GASPI_SMALL)
        return job->types[size - 1];
    if (size <= 512 && size % 8 == 0)
        return job->types[NCOLL_GASPI_SMALL + (size - NCOLL_GASPI_SMALL) / 8 - 1];
    for (int i = 0; i < job->n_others; i++)
        if (job->other_sizes[i] == size)
            return job->other_types[i];
    if (job->n_others == NCOLL_GASPI_OTHER ||
        ncoll_type_create(job->ctx, size, &job->other_types[job->n_others]) != NCOLL_OK)
        return 0;
    job->other_sizes[job->n_others] = size;
    return job->other_types[job->n_others++];
}

/** Allreduce by a function of the program's own. After GASPI_TIMEOUT call again with the same
 * arguments. */
static inline gaspi_return_t gaspi_allreduce_user(gaspi_const_pointer_t buffer_send,
                                                  gaspi_pointer_t buffer_receive,
                                                  gaspi_number_t num, gaspi_size_t element_size,
                                                  gaspi_reduce_operation_t reduce_operation,
                                                  gaspi_reduce_state_t reduce_state,
                                                  gaspi_group_t group, gaspi_timeout_t timeout_ms)
{
    gaspi_return_t rc;
    struct ncoll_gaspi_entry *g = ncoll_gaspi_ready(group, &rc);

    if (g == NULL)
        return rc;
    if (buffer_send == NULL || buffer_receive == NULL || reduce_operation == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT,
                                  "a buffer or the operation is NULL", "");
    if (element_size == 0)
        return ncoll_gaspi_refuse(GASPI_ERR_INV_SIZE, NCOLL_ERR_ARGUMENT, "element_size is 0", "");
    if (g->is_reducing && (g->reduce != reduce_operation || g->state != reduce_state ||
                           g->element_size != element_size))
        return ncoll_gaspi_refuse(GASPI_ERR_ACTIVE_COLL, NCOLL_ERR_BUSY,
                                  "gaspi_allreduce_user() is unfinished with other arguments",
                                  "call it again with those of the call that timed out");
    ncoll_type type = ncoll_gaspi_type_of_size(element_size);
    if (type == 0)
        return ncoll_gaspi_refuse(GASPI_ERR_INV_SIZE, NCOLL_ERR_RESOURCE,
                                  "too many different sizes of elements",
                                  "use sizes up to 64, or multiples of 8 up to 512");
    if (!g->is_reducing)
        g->reduced = GASPI_SUCCESS;
    g->reduce = reduce_operation;
    g->state = reduce_state;
    g->element_size = element_size;
    g->timeout_ms = timeout_ms;
    int status = ncoll_allreduce(g->group, buffer_send, buffer_receive, num, type,
                                 ncoll_gaspi_job.ops[g->op], ncoll_gaspi_ns(timeout_ms));
    g->is_reducing = status == NCOLL_TIMEOUT;
    if (status == NCOLL_OK && g->reduced != GASPI_SUCCESS)
        return ncoll_gaspi_refuse(GASPI_ERROR, NCOLL_ERR_ARGUMENT,
                                  "the operation of the program has returned an error", "");
    return ncoll_gaspi_result(status);
}

/* ------------------------------------------------------------------ errors ------------------- */

/** Gives the state of each rank: GASPI_STATE_CORRUPT for the rank that the latest error is about,
 * if that rank has failed. `state_vector` has room for gaspi_proc_num() states. */
static inline gaspi_return_t gaspi_state_vec_get(gaspi_state_vector_t state_vector)
{
    if (ncoll_gaspi_job.ctx == NULL)
        return ncoll_gaspi_noinit();
    if (state_vector == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "state_vector is NULL",
                                  "");
    const ncoll_error *e = ncoll_last_error(ncoll_gaspi_job.ctx);
    int n = ncoll_group_size(ncoll_world(ncoll_gaspi_job.ctx));

    memset(state_vector, GASPI_STATE_HEALTHY, (size_t)n);
    if (e->status == NCOLL_ERR_PEER && e->peer >= 0 && e->peer < n)
        state_vector[e->peer] = GASPI_STATE_CORRUPT;
    return GASPI_SUCCESS;
}

/** Gives the version of the GASPI standard that this header follows. */
static inline gaspi_return_t gaspi_version(float *version)
{
    if (version == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "version is NULL", "");
    *version = 17.1F;
    return GASPI_SUCCESS;
}

/** Returns the text of a result, which must not be changed; ncoll_gaspi_error() tells more of the
 * last error.
 */
static inline gaspi_string_t gaspi_error_str(gaspi_return_t code)
{
    const char *text = "an error: see ncoll_gaspi_error()";

    switch (code) {
    case GASPI_SUCCESS:
        text = "success";
        break;
    case GASPI_TIMEOUT:
        text = "not finished yet: call again with the same arguments";
        break;
    case GASPI_ERR_NOINIT:
        text = "gaspi_proc_init() was not called";
        break;
    case GASPI_ERR_INITED:
        text = "gaspi_proc_init() was called already";
        break;
    case GASPI_ERR_NULLPTR:
        text = "a pointer is NULL";
        break;
    case GASPI_ERR_INV_GROUP:
        text = "no such group, or not committed";
        break;
    case GASPI_ERR_INV_RANK:
        text = "no such rank";
        break;
    case GASPI_ERR_INV_NUM:
    case GASPI_ERR_INV_SIZE:
        text = "bad number or size of elements";
        break;
    case GASPI_ERR_MANY_GRP:
        text = "too many groups";
        break;
    case GASPI_ERR_ACTIVE_COLL:
        text = "another collective is unfinished on the group";
        break;
    case GASPI_ERR_DEVICE:
        text = "the network device failed";
        break;
    case GASPI_ERR_MEMALLOC:
        text = "out of memory";
        break;
    case GASPI_ERROR:
        break;
    }
    return (gaspi_string_t)(uintptr_t)text;
}

/** Gives the text of a result, which must not be freed. */
static inline gaspi_return_t gaspi_print_error(gaspi_return_t code, gaspi_string_t *message)
{
    if (message == NULL)
        return ncoll_gaspi_refuse(GASPI_ERR_NULLPTR, NCOLL_ERR_ARGUMENT, "message is NULL", "");
    *message = code == GASPI_ERROR ? (gaspi_string_t)(uintptr_t)ncoll_gaspi_error()->text
                                   : gaspi_error_str(code);
    return GASPI_SUCCESS;
}

#ifdef __cplusplus
}
#endif

#endif
