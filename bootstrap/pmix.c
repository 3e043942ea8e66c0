/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the bootstrap under a PMIx launcher; see pmix.h. */
#include "bootstrap/pmix.h"

#include <stdlib.h>

#include "bootstrap/pmix_session.h"

/*
 * The number of contexts that this process has opened. PMIx keys live as long as the job, in one
 * name space per process, so the keys of a context contain its number. The number is the same on
 * all ranks, since creating contexts is collective over the job and has the same order on all
 * ranks.
 */
static _Atomic unsigned contexts;

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

static int get_memory(struct pmix *p, int ranks)
{
    p->base = (struct bootstrap){
        .ops = &ncoll__bootstrap_pmix, .rank = (int)p->self.rank, .ranks = ranks};
    p->fetched = calloc((size_t)ranks, sizeof *p->fetched);
    if (p->fetched != NULL && ncoll__keep_init(&p->keep, ranks) &&
        ncoll__pmix_find_mates(&p->mates, &p->self, ranks))
        return NCOLL_OK;
    return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks",
                          ranks);
}

static void free_memory(struct pmix *p)
{
    ncoll__node_board_release(&p->board);
    ncoll__pmix_mates_free(&p->mates);
    ncoll__keep_free(&p->keep);
    free(p->fetched);
    p->fetched = NULL;
}

/* Finishes open() after PMIx was initialised. */
static int join(struct pmix *p)
{
    const struct bootstrap_events *events = &p->events;
    int ranks;

    pmix_status_t status = job_size(&p->self, &ranks);
    if (status != PMIX_SUCCESS)
        return ncoll__pmix_fail(events, "PMIx_Get of the job's size", status);
    int rc = get_memory(p, ranks);
    if (rc != NCOLL_OK)
        goto free_memory;
    status = ncoll__pmix_failures_open(&p->failures, &p->self, ranks);
    if (status != PMIX_SUCCESS) {
        rc = ncoll__pmix_fail(events, "PMIx_Register_event_handler", status);
        goto free_memory;
    }
    p->context = atomic_fetch_add(&contexts, 1);
    rc = ncoll__pmix_invite(p);
    if (rc == NCOLL_OK)
        return NCOLL_OK;
    ncoll__pmix_failures_close(&p->failures);

free_memory:
    free_memory(p);
    return rc;
}

static int pmix_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;
    int rc;

    /* Without a launcher PMIx_Init() would make a job of one rank, or wait for a server that does
     * not exist. */
    if (!ncoll__pmix_launched())
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
                            "use prterun or srun --mpi=pmix, or set NCOLL_BOOTSTRAP",
                            "not started by a PMIx launcher");
    struct pmix *p = calloc(1, sizeof *p);
    if (p == NULL)
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the bootstrap");
    p->events = *events;
    pmix_status_t status = ncoll__pmix_enter(&p->self);
    if (status != PMIX_SUCCESS) {
        rc = events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
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

static int pmix_failed(struct bootstrap *b)
{
    return ncoll__pmix_failures_take(&pmix_of(b)->failures);
}

static void pmix_traffic(const struct bootstrap *b, struct bootstrap_traffic *out)
{
    *out = ((const struct pmix *)b)->traffic;
}

/* Frees what only exchanges need. */
static void pmix_finish(struct bootstrap *b)
{
    struct pmix *p = pmix_of(b);

    if (p->fetched == NULL)
        return;
    ncoll__pmix_forget(p);
    ncoll__pmix_stop_meeting(p);
    ncoll__pmix_exchange_drop(p);
    free_memory(p);
}

static void pmix_close(struct bootstrap *b)
{
    struct pmix *p = pmix_of(b);

    ncoll__pmix_failures_close(&p->failures);
    pmix_finish(b);
    free(p);
    ncoll__pmix_leave();
}

const struct bootstrap_ops ncoll__bootstrap_pmix = {
    .name = "pmix",
    .open = pmix_open,
    .exchange_start = ncoll__pmix_exchange_start,
    .exchange_test = ncoll__pmix_exchange_test,
    .wait = ncoll__pmix_wait,
    .ask = ncoll__pmix_ask,
    .get = ncoll__pmix_get,
    .missing = ncoll__pmix_exchange_missing,
    .failed = pmix_failed,
    .traffic = pmix_traffic,
    .finish = pmix_finish,
    .close = pmix_close,
};
