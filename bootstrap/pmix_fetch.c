/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmix_fetch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/keep.h"
#include "bootstrap/pmix_session.h"

/* A request for data. The answer comes on PMIx's thread, perhaps after the context was destroyed,
 * perhaps never. So the context and the callback both own the request, and the last one frees
 * it. */
struct pmix_fetch {
    _Atomic int holders;
    _Atomic bool answered; /* set with release order after the other fields */
    pmix_status_t status;
    unsigned char *bytes;
    size_t len;
};

static void let_go(struct pmix_fetch *f)
{
    if (atomic_fetch_sub_explicit(&f->holders, 1, memory_order_acq_rel) != 1)
        return;
    free(f->bytes);
    free(f);
}

static pmix_status_t copy(struct pmix_fetch *f, const pmix_value_t *value)
{
    if (value == NULL || value->type != PMIX_BYTE_OBJECT)
        return PMIX_ERR_TYPE_MISMATCH;
    f->bytes = ncoll__keep_allocate(value->data.bo.size);
    if (f->bytes == NULL)
        return PMIX_ERR_NOMEM;
    f->len = value->data.bo.size;
    if (f->len > 0)
        memcpy(f->bytes, value->data.bo.bytes, f->len);
    return PMIX_SUCCESS;
}

/* Called by PMIx, on its own thread, with the answer. The value stays PMIx's. */
static void on_value(pmix_status_t status, pmix_value_t *value, void *arg)
{
    struct pmix_fetch *f = arg;

    f->status = status == PMIX_SUCCESS ? copy(f, value) : status;
    atomic_store_explicit(&f->answered, true, memory_order_release);
    let_go(f);
    ncoll__pmix_raise_news();
}

struct pmix_fetch *ncoll__pmix_fetch_start(const pmix_proc_t *self, int rank, const char *key)
{
    struct pmix_fetch *f = calloc(1, sizeof *f);
    pmix_proc_t proc;

    if (f == NULL)
        return NULL;
    f->holders = 2;
    PMIX_LOAD_PROCID(&proc, self->nspace, (pmix_rank_t)rank);
    pmix_status_t status = PMIx_Get_nb(&proc, key, NULL, 0, on_value, f);
    if (status != PMIX_SUCCESS) /* there will be no callback */
        on_value(status, NULL, f);
    return f;
}

bool ncoll__pmix_fetch_test(struct pmix_fetch *f, pmix_status_t *status, unsigned char **bytes,
                            size_t *len)
{
    if (!atomic_load_explicit(&f->answered, memory_order_acquire))
        return false;
    *status = f->status;
    *bytes = f->bytes;
    *len = f->len;
    f->bytes = NULL;
    return true;
}

void ncoll__pmix_fetch_end(struct pmix_fetch *f)
{
    let_go(f);
}
