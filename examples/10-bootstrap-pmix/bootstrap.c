/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A runtime that has a key-value store: ranks find each other by its put, fence and get. Here it is
 * that of PMIx, in a program which is a client of PMIx itself and hands ncoll its own session. With
 * another store (Redis, etcd, the store of a scheduler) the three callbacks look alike. A program
 * that does not use PMIx for anything else needs none of this: ncoll finds PMIx by itself.
 */
#define _DEFAULT_SOURCE /* pmix.h uses strdup(), strncasecmp() and others */
#include <ncoll.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int put(void *arg, const char *key, const void *value, size_t len)
{
    pmix_value_t v = {.type = PMIX_BYTE_OBJECT};

    (void)arg;
    v.data.bo.bytes = (char *)value;
    v.data.bo.size = len;
    return PMIx_Put(PMIX_GLOBAL, key, &v); /* copies it */
}

/* It ends with an error if a rank has died. A store whose fence can be left and entered again returns
 * NCOLL_TIMEOUT after timeout_ns: see example 02. */
static int fence(void *arg, int64_t timeout_ns)
{
    (void)arg, (void)timeout_ns;
    pmix_status_t rc = PMIx_Commit();
    return rc != PMIX_SUCCESS ? rc : PMIx_Fence(NULL, 0, NULL, 0);
}

/* *len becomes the whole length, also if only a part fits: the library then gets it again. */
static int get(void *arg, int rank, const char *key, void *value, size_t *len)
{
    pmix_proc_t proc = *(const pmix_proc_t *)arg;
    pmix_value_t *v;

    proc.rank = (pmix_rank_t)rank;
    pmix_status_t rc = PMIx_Get(&proc, key, NULL, 0, &v);
    if (rc != PMIX_SUCCESS)
        return rc;
    size_t whole = v->type == PMIX_BYTE_OBJECT ? v->data.bo.size : 0;
    memcpy(value, v->data.bo.bytes, whole < *len ? whole : *len);
    *len = whole;
    PMIX_VALUE_RELEASE(v);
    return 0;
}

/* Returns the number of ranks of the job; 0 if PMIx does not know it. */
static int job_size(pmix_proc_t job)
{
    pmix_value_t *v;
    int ranks = 0;

    job.rank = PMIX_RANK_WILDCARD;
    if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &v) != PMIX_SUCCESS)
        return 0;
    if (v->type == PMIX_UINT32)
        ranks = (int)v->data.uint32;
    PMIX_VALUE_RELEASE(v);
    return ranks;
}

int main(void)
{
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;
    pmix_proc_t me;
    int32_t sum = 0;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return fprintf(stderr, "no server of PMIx: start with prterun -n 4 ./bootstrap\n"), 1;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    params.callbacks = (ncoll_bootstrap_callbacks){put, fence, get, &me};
    params.rank = (int)me.rank;
    params.ranks = job_size(me);
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    int32_t in = (int32_t)me.rank + 1;
    int status =
        ncoll_allreduce(ncoll_world(ctx), &in, &sum, 1, NCOLL_INT32, NCOLL_SUM, NCOLL_BLOCK);
    if (status != NCOLL_OK)
        fprintf(stderr, "%s\n", ncoll_last_error(ctx)->text);
    else if (me.rank == 0)
        printf("%d ranks met in the store: the sum of their numbers is %d\n", params.ranks,
               (int)sum);
    ncoll_context_destroy(ctx);
    PMIx_Finalize(NULL, 0);
    return status == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
