/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective of the iteration, in one place.
 */
#include <stdlib.h>

#include "../cg/support.h"
#include "mf.h"

int exchange_open(const struct mf_options *options, const struct problem *p, struct exchange *out)
{
    struct exchange e = {.elements = model_elements(&p->model), .slack = options->slack};
    ncoll_stale_params params = {
        .size = sizeof params, .max_slack = options->slack, .algorithm = options->algorithm};

    e.updates = calloc(e.elements, sizeof *e.updates);
    if (e.updates == NULL)
        return failure_no_memory();
    int status = ncoll_stale_create(p->world, &params, e.elements, NCOLL_INT64, NCOLL_SUM, &e.stale,
                                    NCOLL_BLOCK);
    if (status == NCOLL_OK)
        *out = e;
    else
        free(e.updates);
    return failure_of_call(p->ctx, status);
}

int exchange_updates(struct exchange *e, const struct problem *p, ncoll_stale_result *result)
{
    return failure_of_call(p->ctx, ncoll_allreduce_ssp(e->stale, p->model.sent, e->updates,
                                                       e->elements, NCOLL_INT64, NCOLL_SUM,
                                                       e->slack, result, NCOLL_BLOCK));
}

/* A rank that has failed leaves without the others, which find that out. */
int exchange_close(struct exchange *e, const struct problem *p, int status)
{
    if (status == NCOLL_OK)
        status = failure_of_call(p->ctx, ncoll_stale_free(&e->stale, NCOLL_BLOCK));
    free(e->updates);
    return status;
}
