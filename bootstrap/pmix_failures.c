/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmix_failures.h"

#include <stdlib.h>

#include "bootstrap/pmix_session.h"

/* Events by which launchers report the end of a process that others may still need. */
static pmix_status_t codes[] = {
    PMIX_ERR_PROC_ABORTED,         PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC,
    PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_KILLED_BY_CMD,  PMIX_ERR_EXIT_NONZERO_TERM,
    PMIX_ERR_LOST_CONNECTION,      PMIX_ERR_COMM_FAILURE,        PMIX_ERR_JOB_ABORTED,
    PMIX_ERR_JOB_ABORTED_BY_SIG,   PMIX_ERR_JOB_TERM_WO_SYNC,    PMIX_ERR_JOB_NON_ZERO_TERM,
    PMIX_EVENT_PROC_TERMINATED,
};

static bool is_key(const pmix_info_t *info, const char *key)
{
    return PMIX_CHECK_KEY(info, key);
}

static void mark(struct pmix_failures *f, const pmix_proc_t *proc)
{
    if (proc == NULL || !PMIX_CHECK_NSPACE(proc->nspace, f->self.nspace) ||
        proc->rank >= (pmix_rank_t)f->ranks || proc->rank == f->self.rank || f->known[proc->rank])
        return;
    int n = atomic_load_explicit(&f->reported, memory_order_relaxed);
    f->known[proc->rank] = true;
    f->list[n] = (int)proc->rank;
    atomic_store_explicit(&f->reported, n + 1, memory_order_release);
    ncoll__pmix_raise_news();
}

/* The event handler, which PMIx calls on its own thread. It has to call `done`: PMIx waits for that
 * before it handles further events. */
static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t info[], size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void *done_arg)
{
    struct pmix_failures *f = NULL;
    const pmix_proc_t *affected = NULL;
    int exit_code = 0;

    (void)handler, (void)results, (void)nresults;
    for (size_t i = 0; i < ninfo; i++) {
        if (is_key(&info[i], PMIX_EVENT_RETURN_OBJECT))
            f = info[i].value.data.ptr;
        else if (is_key(&info[i], PMIX_EVENT_AFFECTED_PROC))
            affected = info[i].value.data.proc;
        else if (is_key(&info[i], PMIX_EXIT_CODE))
            exit_code = info[i].value.data.integer;
    }
    /* the launcher also reports a process that ends in order by this code */
    bool leaves = status == PMIX_EVENT_PROC_TERMINATED && exit_code == 0;
    if (f != NULL && !leaves)
        mark(f, affected != NULL ? affected : source);
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, done_arg);
}

pmix_status_t ncoll__pmix_failures_open(struct pmix_failures *f, const pmix_proc_t *self, int ranks)
{
    pmix_info_t info;
    pmix_status_t status = PMIX_ERR_NOMEM;

    *f = (struct pmix_failures){.self = *self, .ranks = ranks};
    f->list = calloc((size_t)ranks, sizeof *f->list);
    f->known = calloc((size_t)ranks, sizeof *f->known);
    if (f->list == NULL || f->known == NULL)
        goto free_marks;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_RETURN_OBJECT, f, PMIX_POINTER);
    /* Without a callback the call blocks, and returns the handler's number or an error. */
    status = PMIx_Register_event_handler(codes, sizeof codes / sizeof codes[0], &info, 1, on_event,
                                         NULL, NULL);
    if (status < 0)
        goto free_marks;
    f->handler = (size_t)status;
    return PMIX_SUCCESS;

free_marks:
    free(f->known);
    free(f->list);
    return status;
}

void ncoll__pmix_failures_close(struct pmix_failures *f)
{
    PMIx_Deregister_event_handler(f->handler, NULL, NULL);
    free(f->known);
    free(f->list);
}

int ncoll__pmix_failures_take(struct pmix_failures *f)
{
    if (f->taken == atomic_load_explicit(&f->reported, memory_order_acquire))
        return -1;
    return f->list[f->taken++];
}
