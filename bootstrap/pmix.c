/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap under a PMIx launcher (prterun, srun --mpi=pmix, mpirun). Exchange k of context c
 * consists of a put of "ncoll.<c>.<k>", a commit, a fence that collects the data, and a get for
 * each rank that is asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <pmix.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"
#include "bootstrap/pmix_failures.h"
#include "bootstrap/pmix_fetch.h"
#include "bootstrap/pmix_missing.h"
#include "bootstrap/pmix_session.h"

/*
 * The pending fence. PMIx calls back from its own thread, perhaps after the context was destroyed.
 * So both sides own it, and the last one frees it.
 */
struct fence {
    _Atomic int holders;
    _Atomic bool ended; /* released after status */
    pmix_status_t status;
};

struct pmix {
    struct bootstrap base;
    struct bootstrap_events events;
    pmix_proc_t self;
    struct pmix_failures failures;
    struct fence *fence; /* of the pending exchange; NULL once it has ended */
    unsigned context;
    uint64_t k;
    char key[64];
    struct keep keep;
    struct pmix_asked {
        struct pmix_fetch *fetch; /* NULL: not asked for, or answered */
        uint64_t since_ns;
    } * asked;  /* [ranks] */
    int latest; /* the rank whose blob was got last in this exchange; -2: none */
};

/* Ranks that are asked for ahead, if blobs are got in the order of ranks. */
#define AHEAD 64

/*
 * Keys live as long as the job, in one name space per process. So the contexts of a process need
 * numbers that are the same on all ranks. Creating contexts is collective over the job and has the
 * same order on all ranks, so the process counts its contexts.
 */
static _Atomic unsigned contexts;

static struct pmix *pmix_of(struct bootstrap *b)
{
    return (struct pmix *)b;
}

static int fail_pmix(const struct bootstrap_events *events, const char *call, pmix_status_t status)
{
    return events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, -1,
                        "check the launcher, and that it and libpmix fit each other", "%s: %s",
                        call, PMIx_Error_string(status));
}

static pmix_status_t job_size(const pmix_proc_t *self, int *size)
{
    pmix_proc_t job;
    pmix_value_t *value;

    PMIX_LOAD_PROCID(&job, self->nspace, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return status;
    *size = (int)value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return *size > 0 && self->rank < (pmix_rank_t)*size ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

/* Finishes open() after PMIx was initialised. */
static int join(struct pmix *p)
{
    const struct bootstrap_events *events = &p->events;
    int ranks;

    pmix_status_t status = job_size(&p->self, &ranks);
    if (status != PMIX_SUCCESS)
        return fail_pmix(events, "PMIx_Get of the job's size", status);
    p->asked = calloc((size_t)ranks, sizeof *p->asked);
    if (p->asked == NULL || !ncoll__keep_init(&p->keep, ranks)) {
        free(p->asked);
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks",
                            ranks);
    }
    status = ncoll__pmix_failures_open(&p->failures, &p->self, ranks);
    if (status != PMIX_SUCCESS) {
        ncoll__keep_free(&p->keep);
        free(p->asked);
        return fail_pmix(events, "PMIx_Register_event_handler", status);
    }
    p->base = (struct bootstrap){&ncoll__bootstrap_pmix, (int)p->self.rank, ranks};
    p->context = atomic_fetch_add(&contexts, 1);
    return NCOLL_OK;
}

static int pmix_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;
    int rc;

    /* Without a launcher PMIx_Init() would make a job of one rank, or wait for a server that does
     * not exist. */
    if (!ncoll__pmix_launched())
        return events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, -1,
                            "use prterun or srun --mpi=pmix, or set NCOLL_BOOTSTRAP",
                            "not started by a PMIx launcher");
    struct pmix *p = calloc(1, sizeof *p);
    if (p == NULL)
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the bootstrap");
    p->events = *events;
    pmix_status_t status = ncoll__pmix_enter(&p->self);
    if (status != PMIX_SUCCESS) {
        rc = events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, -1,
                          "start the ranks with prterun or srun --mpi=pmix, of the same PMIx as "
                          "libpmix; NCOLL_BOOTSTRAP=self makes a job of one rank",
                          "PMIX_RANK and PMIX_NAMESPACE are set, but no PMIx server can be used "
                          "(PMIx_Init: %s)",
                          PMIx_Error_string(status));
        goto free_pmix;
    }
    rc = join(p);
    if (rc != NCOLL_OK)
        goto leave;
    *out = &p->base;
    return NCOLL_OK;

leave:
    ncoll__pmix_leave();
free_pmix:
    free(p);
    return rc;
}

static void let_go(struct fence *fence)
{
    if (atomic_fetch_sub_explicit(&fence->holders, 1, memory_order_acq_rel) == 1)
        free(fence);
}

/* PMIx calls it on its own thread. */
static void on_fence(pmix_status_t status, void *arg)
{
    struct fence *fence = arg;

    fence->status = status;
    atomic_store_explicit(&fence->ended, true, memory_order_release);
    let_go(fence);
}

static pmix_status_t start_fence(struct fence *fence)
{
    pmix_info_t collect;
    bool yes = true;

    /* The fence copies its arguments before it returns. */
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Fence_nb(NULL, 0, &collect, 1, on_fence, fence);
    if (status == PMIX_OPERATION_SUCCEEDED) { /* it has ended at once; there will be no callback */
        on_fence(PMIX_SUCCESS, fence);
        status = PMIX_SUCCESS;
    }
    return status;
}

static void stop_asking(struct pmix *p, int rank)
{
    if (p->asked[rank].fetch != NULL)
        ncoll__pmix_fetch_end(p->asked[rank].fetch);
    p->asked[rank].fetch = NULL;
}

static int pmix_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct pmix *p = pmix_of(b);
    pmix_value_t value = {
        .type = PMIX_BYTE_OBJECT,
        /* put copies the bytes, and never writes to them */
        .data.bo = {.bytes = (char *)(uintptr_t)blob, .size = len},
    };

    ncoll__keep_clear(&p->keep);
    p->latest = -2;
    for (int r = 0; r < b->ranks; r++)
        stop_asking(p, r);
    snprintf(p->key, sizeof p->key, "ncoll.%u.%" PRIu64, p->context, ++p->k);
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, p->key, &value);
    if (status != PMIX_SUCCESS)
        return fail_pmix(&p->events, "PMIx_Put", status);
    status = PMIx_Commit();
    if (status != PMIX_SUCCESS)
        return fail_pmix(&p->events, "PMIx_Commit", status);
    if (!ncoll__keep_copy(&p->keep, b->rank, blob, len))
        goto no_memory;
    struct fence *fence = calloc(1, sizeof *fence);
    if (fence == NULL)
        goto no_memory;
    fence->holders = 2;
    status = start_fence(fence);
    if (status != PMIX_SUCCESS) {
        free(fence);
        return fail_pmix(&p->events, "PMIx_Fence_nb", status);
    }
    p->fence = fence;
    return NCOLL_OK;

no_memory:
    return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                          "no memory for an exchange of %zu bytes", len);
}

/* Reports a fence that failed since a rank is gone. The fence does not tell which one. */
static int fail_fence(struct pmix *p, pmix_status_t status)
{
    int count, gone = ncoll__pmix_missing(&p->self, p->base.ranks, p->key, &count);

    if (gone < 0)
        return fail_pmix(&p->events, "PMIx_Fence", status);
    return p->events.fail(p->events.arg, NCOLL_ERR_PEER, gone, "see what that rank has printed",
                          "rank %d is gone while the others wait for it (PMIx_Fence: %s)", gone,
                          PMIx_Error_string(status));
}

static int pmix_exchange_test(struct bootstrap *b)
{
    struct pmix *p = pmix_of(b);

    if (p->fence == NULL)
        return NCOLL_OK;
    if (!atomic_load_explicit(&p->fence->ended, memory_order_acquire))
        return NCOLL_TIMEOUT;
    pmix_status_t status = p->fence->status;
    let_go(p->fence);
    p->fence = NULL;
    return status == PMIX_SUCCESS ? NCOLL_OK : fail_fence(p, status);
}

static int fail_fetch(struct pmix *p, int rank, pmix_status_t status)
{
    return p->events.fail(p->events.arg, NCOLL_ERR_PEER, rank,
                          "see what that rank has printed, and that all ranks create their "
                          "contexts in the same order",
                          "rank %d is gone, or has not published %s (PMIx_Get: %s)", rank, p->key,
                          PMIx_Error_string(status));
}

/* Asks for a rank's blob, unless that was done. */
static void ask(struct pmix *p, int rank, uint64_t now_ns)
{
    struct pmix_asked *asked = &p->asked[rank];

    if (asked->fetch != NULL || p->keep.blobs[rank].bytes != NULL)
        return;
    asked->fetch = ncoll__pmix_fetch_start(&p->self, rank, p->key);
    asked->since_ns = now_ns;
}

/*
 * Gets a rank's blob, and asks for those of the next ranks if these are probably got next: an
 * answer takes long, and several take hardly longer. After a fence the local server has the blob,
 * or (with some launchers, for ranks of other nodes) asks the other server for it. A fence may
 * succeed without a rank that died before the others came. There is no blob then, now or later;
 * either the answer says so, or there is no answer.
 */
static int fetch(struct pmix *p, int rank)
{
    struct pmix_asked *asked = &p->asked[rank];
    uint64_t now_ns = p->events.now_ns(p->events.arg);
    pmix_status_t status = PMIX_ERR_TIMEOUT;
    unsigned char *bytes = NULL;
    size_t len = 0;

    ask(p, rank, now_ns);
    for (int ahead = 1; p->latest == rank - 1 && ahead <= AHEAD && rank + ahead < p->base.ranks;
         ahead++)
        ask(p, rank + ahead, now_ns);
    if (asked->fetch == NULL)
        return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                              "no memory to ask for what rank %d published", rank);
    bool answered = ncoll__pmix_fetch_test(asked->fetch, &status, &bytes, &len);
    if (!answered && now_ns - asked->since_ns < BOOTSTRAP_GET_NS)
        return NCOLL_TIMEOUT;
    stop_asking(p, rank);
    if (status != PMIX_SUCCESS)
        return fail_fetch(p, rank, status);
    ncoll__keep_adopt(&p->keep, rank, bytes, len);
    return NCOLL_OK;
}

static int pmix_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    struct pmix *p = pmix_of(b);
    const struct kept *kept = &p->keep.blobs[rank];

    if (kept->bytes == NULL) {
        int rc = fetch(p, rank);
        if (rc != NCOLL_OK)
            return rc;
    }
    p->latest = rank;
    *blob = kept->bytes;
    *len = kept->len;
    return NCOLL_OK;
}

static int pmix_missing(struct bootstrap *b, int *count)
{
    struct pmix *p = pmix_of(b);

    *count = 0;
    return p->fence != NULL ? ncoll__pmix_missing(&p->self, b->ranks, p->key, count) : -1;
}

static int pmix_failed(struct bootstrap *b)
{
    return ncoll__pmix_failures_take(&pmix_of(b)->failures);
}

static void pmix_close(struct bootstrap *b)
{
    struct pmix *p = pmix_of(b);

    ncoll__pmix_failures_close(&p->failures);
    if (p->fence != NULL)
        let_go(p->fence);
    for (int r = 0; r < b->ranks; r++)
        stop_asking(p, r);
    free(p->asked);
    ncoll__keep_free(&p->keep);
    free(p);
    ncoll__pmix_leave();
}

const struct bootstrap_ops ncoll__bootstrap_pmix = {
    .name = "pmix",
    .open = pmix_open,
    .exchange_start = pmix_exchange_start,
    .exchange_test = pmix_exchange_test,
    .get = pmix_get,
    .missing = pmix_missing,
    .failed = pmix_failed,
    .close = pmix_close,
};
