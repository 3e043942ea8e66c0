/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCC's collectives, on the same ranks, buffers, type and operation: in a team of all ranks, which
 * find each other by an allgather of ncoll. A call consists of init, post, progress until it is
 * done, and finalize, as in a program that does not know its next call.
 */
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucc/api/ucc.h>

#include "examples/cg/support.h"
#include "algos/schedule.h"
#include "tools/bench/bench.h"

static_assert(sizeof(size_t) == sizeof(ucc_count_t) && sizeof(size_t) == sizeof(ucc_aint_t),
              "counts and displacements are handed on as they are");

struct ucc {
    ucc_lib_h lib;
    ucc_context_h context;
    ucc_team_h team;
    ncoll_request *exchange; /* UCC waits for it; NULL: it is done */
    ucc_coll_args_t args;    /* of the measured row */
};

static int status_of(ucc_status_t status)
{
    if (status == UCC_OK)
        return NCOLL_OK;
    return failure_say(NCOLL_ERR_SYSTEM, "UCC: %s", ucc_status_string(status));
}

/* ------------------------------------------------------------------ a team -------------------- */

static ucc_status_t exchange_start(void *own, void *all, size_t bytes, void *info, void **request)
{
    struct job *job = info;
    struct ucc *ucc = job->library;

    *request = job;
    return ncoll_allgather_start(job->world, own, all, bytes, NCOLL_UINT8, &ucc->exchange) ==
                   NCOLL_OK
               ? UCC_OK
               : UCC_ERR_NO_MESSAGE;
}

static ucc_status_t exchange_test(void *request)
{
    struct job *job = request;
    struct ucc *ucc = job->library;
    int status = ucc->exchange != NULL ? ncoll_test(&ucc->exchange) : NCOLL_OK;

    if (status == NCOLL_TIMEOUT)
        return UCC_INPROGRESS;
    return status == NCOLL_OK ? UCC_OK : UCC_ERR_NO_MESSAGE;
}

static ucc_status_t exchange_free(void *request)
{
    (void)request;
    return UCC_OK;
}

static ucc_oob_coll_t exchange_of(struct job *job)
{
    return (ucc_oob_coll_t){.allgather = exchange_start,
                            .req_test = exchange_test,
                            .req_free = exchange_free,
                            .coll_info = job,
                            .n_oob_eps = (uint32_t)job->ranks,
                            .oob_ep = (uint32_t)job->rank};
}

static ucc_status_t make_lib(struct ucc *ucc)
{
    ucc_lib_params_t params = {.mask = UCC_LIB_PARAM_FIELD_THREAD_MODE,
                               .thread_mode = UCC_THREAD_SINGLE};
    ucc_lib_config_h config;
    ucc_status_t status = ucc_lib_config_read(NULL, NULL, &config);

    if (status != UCC_OK)
        return status;
    status = ucc_init(&params, config, &ucc->lib);
    ucc_lib_config_release(config);
    return status;
}

static ucc_status_t make_context(struct job *job, struct ucc *ucc)
{
    ucc_context_params_t params = {.mask = UCC_CONTEXT_PARAM_FIELD_OOB, .oob = exchange_of(job)};
    ucc_context_config_h config;
    char ranks[16];
    ucc_status_t status = ucc_context_config_read(ucc->lib, NULL, &config);

    if (status != UCC_OK)
        return status;
    snprintf(ranks, sizeof ranks, "%d", job->ranks);
    status = ucc_context_config_modify(config, NULL, "ESTIMATED_NUM_EPS", ranks);
    if (status == UCC_OK)
        status = ucc_context_create(ucc->lib, &params, config, &ucc->context);
    ucc_context_config_release(config);
    return status;
}

static ucc_status_t make_team(struct job *job, struct ucc *ucc)
{
    ucc_team_params_t params = {.mask = UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE |
                                        UCC_TEAM_PARAM_FIELD_OOB,
                                .ep = (uint64_t)job->rank,
                                .ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG,
                                .oob = exchange_of(job)};
    ucc_status_t status = ucc_team_create_post(&ucc->context, 1, &params, &ucc->team);

    if (status != UCC_OK)
        return status;
    while ((status = ucc_team_create_test(ucc->team)) == UCC_INPROGRESS)
        ucc_context_progress(ucc->context);
    return status;
}

static int open_ucc(struct job *job)
{
    struct ucc *ucc = calloc(1, sizeof *ucc);

    if (ucc == NULL)
        return NCOLL_ERR_MEMORY;
    job->library = ucc;
    ucc_status_t status = make_lib(ucc);
    if (status == UCC_OK)
        status = make_context(job, ucc);
    if (status == UCC_OK)
        status = make_team(job, ucc);
    return status_of(status);
}

static void close_ucc(struct job *job)
{
    struct ucc *ucc = job->library;

    while (ucc_team_destroy(ucc->team) == UCC_INPROGRESS)
        ucc_context_progress(ucc->context);
    ucc_context_destroy(ucc->context);
    ucc_finalize(ucc->lib);
    free(ucc);
}

/* ------------------------------------------------------------------ a call -------------------- */

static const ucc_coll_type_t collectives[CODES] = {
    [COLL_BARRIER] = UCC_COLL_TYPE_BARRIER,
    [COLL_ALLREDUCE] = UCC_COLL_TYPE_ALLREDUCE,
    [COLL_BCAST] = UCC_COLL_TYPE_BCAST,
    [COLL_REDUCE] = UCC_COLL_TYPE_REDUCE,
    [COLL_GATHER] = UCC_COLL_TYPE_GATHER,
    [COLL_SCATTER] = UCC_COLL_TYPE_SCATTER,
    [COLL_ALLGATHER] = UCC_COLL_TYPE_ALLGATHER,
    [COLL_ALLTOALL] = UCC_COLL_TYPE_ALLTOALL,
    [COLL_REDUCE_SCATTER] = UCC_COLL_TYPE_REDUCE_SCATTER,
    [COLL_GATHER + WITH_COUNTS] = UCC_COLL_TYPE_GATHERV,
    [COLL_SCATTER + WITH_COUNTS] = UCC_COLL_TYPE_SCATTERV,
    [COLL_ALLGATHER + WITH_COUNTS] = UCC_COLL_TYPE_ALLGATHERV,
};

static const ucc_datatype_t types[] = {
    [NCOLL_INT8] = UCC_DT_INT8,     [NCOLL_INT16] = UCC_DT_INT16,
    [NCOLL_INT32] = UCC_DT_INT32,   [NCOLL_INT64] = UCC_DT_INT64,
    [NCOLL_UINT8] = UCC_DT_UINT8,   [NCOLL_UINT16] = UCC_DT_UINT16,
    [NCOLL_UINT32] = UCC_DT_UINT32, [NCOLL_UINT64] = UCC_DT_UINT64,
    [NCOLL_FLOAT] = UCC_DT_FLOAT32, [NCOLL_DOUBLE] = UCC_DT_FLOAT64,
    [NCOLL_HALF] = UCC_DT_FLOAT16,  [NCOLL_BFLOAT16] = UCC_DT_BFLOAT16,
};

static const ucc_reduction_op_t ops[] = {
    [NCOLL_SUM] = UCC_OP_SUM,   [NCOLL_PROD] = UCC_OP_PROD, [NCOLL_MIN] = UCC_OP_MIN,
    [NCOLL_MAX] = UCC_OP_MAX,   [NCOLL_LAND] = UCC_OP_LAND, [NCOLL_LOR] = UCC_OP_LOR,
    [NCOLL_LXOR] = UCC_OP_LXOR, [NCOLL_BAND] = UCC_OP_BAND, [NCOLL_BOR] = UCC_OP_BOR,
    [NCOLL_BXOR] = UCC_OP_BXOR,
};

/* Describes a buffer to UCC: as a whole, or as blocks with counts of their own. */
static void describe_buffer(struct job *job, const struct row *row, enum data_form form,
                            void *buffer, ucc_coll_buffer_info_t *info,
                            ucc_coll_buffer_info_v_t *info_v)
{
    ucc_datatype_t type = types[job->options->type];

    if (form == FORM_BLOCKS && row->distribution != DISTRIBUTION_NONE)
        *info_v = (ucc_coll_buffer_info_v_t){.buffer = buffer,
                                             .counts = row->blocks.counts,
                                             .displacements = row->blocks.displs,
                                             .datatype = type,
                                             .mem_type = UCC_MEMORY_TYPE_HOST};
    else
        *info = (ucc_coll_buffer_info_t){.buffer = buffer,
                                         .count = elements_of(job, row, form),
                                         .datatype = type,
                                         .mem_type = UCC_MEMORY_TYPE_HOST};
}

static void describe_call(struct job *job, const struct row *row, ucc_coll_args_t *out)
{
    bool receives = row->collective == COLL_BCAST && job->rank != BENCH_ROOT;

    *out = (ucc_coll_args_t){.mask = UCC_COLL_ARGS_FIELD_FLAGS,
                             .coll_type = collectives[row_code(row)],
                             .op = ops[job->options->op],
                             .flags = UCC_COLL_ARGS_FLAG_COUNT_64BIT |
                                      UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT,
                             .root = BENCH_ROOT};
    describe_buffer(job, row, in_form(row->collective), receives ? job->out : job->in,
                    &out->src.info, &out->src.info_v);
    describe_buffer(job, row, out_form(row->collective), job->out, &out->dst.info,
                    &out->dst.info_v);
}

/* True if UCC can do the row. Two cases are excluded here: half, which UCC refuses only during the
 * reduction, and long double, whose padding has arbitrary bits in UCC's results. In all other cases
 * UCC says whether it supports a call when the call is prepared. */
static bool can(struct job *job, const struct row *row)
{
    struct ucc *ucc = job->library;
    ncoll_type type = job->options->type;
    ucc_coll_req_h request;

    if (type == NCOLL_LONG_DOUBLE || (type == NCOLL_HALF && reduces(row->collective)))
        return false;
    describe_call(job, row, &ucc->args);
    ucc_status_t status = ucc_collective_init(&ucc->args, &request, ucc->team);
    if (status == UCC_OK)
        ucc_collective_finalize(request);
    return status != UCC_ERR_NOT_SUPPORTED && status != UCC_ERR_NOT_IMPLEMENTED;
}

static int begin(struct job *job, const struct row *row)
{
    struct ucc *ucc = job->library;

    describe_call(job, row, &ucc->args);
    return NCOLL_OK;
}

static int call(struct job *job, ucc_coll_args_t *args)
{
    struct ucc *ucc = job->library;
    ucc_coll_req_h request;
    ucc_status_t status = ucc_collective_init(args, &request, ucc->team);

    if (status != UCC_OK)
        return status_of(status);
    status = ucc_collective_post(request);
    if (status == UCC_OK)
        status = ucc_collective_test(request);
    while (status == UCC_INPROGRESS) {
        ucc_context_progress(ucc->context);
        status = ucc_collective_test(request);
        if (status == UCC_INPROGRESS && job->oversubscribed)
            sched_yield();
    }
    ucc_status_t freed = ucc_collective_finalize(request);
    return status_of(status != UCC_OK ? status : freed);
}

static int once(struct job *job, const struct row *row)
{
    struct ucc *ucc = job->library;

    (void)row;
    return call(job, &ucc->args);
}

/* Makes a barrier: some ranks may need further calls of UCC by others to finish their own. */
static int end(struct job *job, const struct row *row)
{
    ucc_coll_args_t barrier = {.coll_type = UCC_COLL_TYPE_BARRIER};

    (void)row;
    return call(job, &barrier);
}

static void version(char *text, size_t size)
{
    snprintf(text, size, "UCC %s", ucc_get_version_string());
}

const struct subject subject_beside = {
    .name = "ucc",
    .label = "UCC",
    .codes = ALL_CODES & ~(1u << COLL_SCAN | 1u << COLL_EXSCAN),
    .any = once,
    .begin = begin,
    .end = end,
    .version = version,
    .open = open_ucc,
    .close = close_ucc,
    .can = can,
};
