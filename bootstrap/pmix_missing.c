/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmix_missing.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define STEPS   40
#define STEP_NS 5000000

/* Requests for a value of several ranks. Answers come on PMIx's thread, some perhaps never. The
 * caller and each request hold the structure, and the last of them frees it. */
struct inquiry {
    _Atomic int holders;
    _Atomic int answers;
    struct answer {
        struct inquiry *inquiry;
        _Atomic bool present;
    } of[]; /* one for each rank that is asked about */
};

static void let_go(struct inquiry *inquiry)
{
    if (atomic_fetch_sub_explicit(&inquiry->holders, 1, memory_order_acq_rel) == 1)
        free(inquiry);
}

static void note(struct answer *answer, bool present)
{
    struct inquiry *inquiry = answer->inquiry;

    atomic_store_explicit(&answer->present, present, memory_order_release);
    atomic_fetch_add_explicit(&inquiry->answers, 1, memory_order_release);
    let_go(inquiry);
}

/* Called by PMIx, on its own thread, with an answer. The value stays PMIx's. */
static void on_value(pmix_status_t status, pmix_value_t *value, void *arg)
{
    (void)value;
    note(arg, status == PMIX_SUCCESS);
}

static struct inquiry *ask(const pmix_proc_t *self, const int *ranks, int n, const char *key)
{
    struct inquiry *inquiry = calloc(1, sizeof *inquiry + (size_t)n * sizeof inquiry->of[0]);
    pmix_proc_t proc;

    if (inquiry == NULL)
        return NULL;
    inquiry->holders = n + 1;
    for (int i = 0; i < n; i++) {
        struct answer *answer = &inquiry->of[i];
        answer->inquiry = inquiry;
        PMIX_LOAD_PROCID(&proc, self->nspace, (pmix_rank_t)ranks[i]);
        pmix_status_t status = PMIx_Get_nb(&proc, key, NULL, 0, on_value, answer);
        if (status != PMIX_SUCCESS) /* there will be no callback */
            note(answer, status == PMIX_OPERATION_SUCCEEDED);
    }
    return inquiry;
}

int ncoll__pmix_missing(const pmix_proc_t *self, const int *ranks, int n, const char *key,
                        bool *missing)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    struct inquiry *inquiry = ask(self, ranks, n, key);
    int count = 0;

    if (inquiry == NULL)
        return -1;
    for (int i = 0; i < STEPS; i++) {
        if (atomic_load_explicit(&inquiry->answers, memory_order_acquire) == n)
            break;
        nanosleep(&step, NULL);
    }
    for (int i = 0; i < n; i++) {
        missing[i] = !atomic_load_explicit(&inquiry->of[i].present, memory_order_acquire);
        count += missing[i];
    }
    let_go(inquiry);
    return count;
}
