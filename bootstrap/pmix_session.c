/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmix_session.h"

#include <stdatomic.h>
#include <unistd.h>

#include "bootstrap/futex.h"

_Atomic uint32_t ncoll__pmix_news;

void ncoll__pmix_raise_news(void)
{
    atomic_fetch_add(&ncoll__pmix_news, 1);
    ncoll__futex_wake(&ncoll__pmix_news);
}

static _Atomic pid_t holder; /* the process that holds the session; 0: none */

pmix_status_t ncoll__pmix_enter(pmix_proc_t *self)
{
    pid_t none = 0;
    pmix_proc_t same;

    pmix_status_t status = PMIx_Init(self, NULL, 0);
    if (status == PMIX_SUCCESS && atomic_compare_exchange_strong(&holder, &none, getpid()))
        (void)PMIx_Init(&same, NULL, 0); /* this only raises the count of PMIx, so it cannot fail */
    return status;
}

void ncoll__pmix_leave(void)
{
    PMIx_Finalize(NULL, 0);
}

/* Ends the session at exit, or when the library is unloaded. Launchers treat a client that ends
 * without this as crashed. A forked child does not do it, since the connection belongs to its
 * parent. */
__attribute__((destructor)) static void let_go(void)
{
    if (atomic_load(&holder) == getpid())
        PMIx_Finalize(NULL, 0);
}
