/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstrap of a job of one rank. */
#include <stdlib.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"

struct self {
    struct bootstrap base;
    struct bootstrap_events events;
    struct keep keep;
};

static struct self *self_of(struct bootstrap *b)
{
    return (struct self *)b;
}

static int self_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;

    if (config->rank > 0 || config->ranks > 1)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
                            "start all ranks under prterun or srun --mpi=pmix, or set NCOLL_ROOT "
                            "to the host:port of rank 0",
                            "rank %d of %d was asked for, but nothing says how the ranks find each "
                            "other",
                            config->rank, config->ranks);
    struct self *self = calloc(1, sizeof *self);
    if (self == NULL)
        goto no_memory;
    if (!ncoll__keep_init(&self->keep, 1))
        goto free_self;
    self->base = (struct bootstrap){.ops = &ncoll__bootstrap_self, .rank = 0, .ranks = 1};
    self->events = *events;
    *out = &self->base;
    return NCOLL_OK;

free_self:
    free(self);
no_memory:
    return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the bootstrap");
}

static int self_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct self *self = self_of(b);

    ncoll__keep_clear(&self->keep);
    if (!ncoll__keep_copy(&self->keep, 0, blob, len))
        return self->events.fail(self->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                                 "no memory to keep the %zu bytes of this rank", len);
    return NCOLL_OK;
}

static int self_exchange_test(struct bootstrap *b)
{
    (void)b;
    return NCOLL_OK;
}

static int self_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    const struct kept *kept = &self_of(b)->keep.blobs[rank];

    *blob = kept->bytes;
    *len = kept->len;
    return NCOLL_OK;
}

static void self_close(struct bootstrap *b)
{
    ncoll__keep_free(&self_of(b)->keep);
    free(b);
}

const struct bootstrap_ops ncoll__bootstrap_self = {
    .name = "self",
    .open = self_open,
    .exchange_start = self_exchange_start,
    .exchange_test = self_exchange_test,
    .get = self_get,
    .close = self_close,
};
