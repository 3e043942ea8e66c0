/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes values, and reports failed calls of PMIx. */
#include "bootstrap/pmix.h"

int ncoll__pmix_fail(const struct bootstrap_events *events, const char *call, pmix_status_t status)
{
    return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, LAUNCHER_FAILED), -1,
                        "check the launcher, and that it and libpmix fit each other", "%s: %s",
                        call, PMIx_Error_string(status));
}

int ncoll__pmix_put(struct pmix *p, pmix_scope_t scope, const char *key, const void *bytes,
                    size_t len)
{
    pmix_value_t value = {
        .type = PMIX_BYTE_OBJECT,
        /* PMIx_Put() copies the bytes, and never writes to them */
        .data.bo = {.bytes = (char *)(uintptr_t)bytes, .size = len},
    };

    pmix_status_t status = PMIx_Put(scope, key, &value);
    if (status != PMIX_SUCCESS)
        return ncoll__pmix_fail(&p->events, "PMIx_Put", status);
    status = PMIx_Commit();
    if (status != PMIX_SUCCESS)
        return ncoll__pmix_fail(&p->events, "PMIx_Commit", status);
    p->traffic.puts++;
    p->traffic.bytes_sent += len;
    return NCOLL_OK;
}
