/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmix_session.h"

#include <stdatomic.h>
#include <unistd.h>

static _Atomic pid_t holder; /* the process that has the hold; 0: none */

pmix_status_t ncoll__pmix_enter(pmix_proc_t *self)
{
    pid_t none = 0;
    pmix_proc_t same;

    pmix_status_t status = PMIx_Init(self, NULL, 0);
    if (status == PMIX_SUCCESS && atomic_compare_exchange_strong(&holder, &none, getpid()))
        (void)PMIx_Init(&same, NULL, 0); /* only counts: it cannot fail */
    return status;
}

void ncoll__pmix_leave(void)
{
    PMIx_Finalize(NULL, 0);
}

/*
 * At exit, or when the library is unloaded. Launchers take a client that ends without this for one
 * that crashed. Not for a child that was forked: the connection is its parent's.
 */
__attribute__((destructor)) static void let_go(void)
{
    if (atomic_load(&holder) == getpid())
        PMIx_Finalize(NULL, 0);
}
