/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the bootstrap under a launcher with PMI; see pmi.h. */
#include "bootstrap/pmi.h"

#include <stdlib.h>

static void free_memory(struct pmi *p)
{
    ncoll__node_board_release(&p->board);
    ncoll__pmi_nodes_free(&p->nodes);
    ncoll__keep_free(&p->keep);
    ncoll__pmi_pieces_free(&p->invitation);
    free(p->bytes);
    p->bytes = NULL;
    free(p->fetched);
    p->fetched = NULL;
}

/* Asks the server which ranks are on which node, and allocates the memory that exchanges need. */
static int learn_nodes(struct pmi *p, uint64_t deadline_ns)
{
    const char *answer, *mapping;
    size_t len;

    int rc = ncoll__pmi_call(p->session, &p->events, PMI_NODES, deadline_ns, &answer);
    if (rc != NCOLL_OK)
        return rc;
    if (!ncoll__pmi_session_dialect(p->session)->value(answer, &mapping, &len))
        mapping = NULL, len = 0;
    if (!ncoll__pmi_nodes_read(&p->nodes, mapping, len, p->base.rank, p->base.ranks) ||
        !ncoll__keep_init(&p->keep, p->base.ranks) ||
        (p->fetched = calloc((size_t)p->nodes.n, sizeof *p->fetched)) == NULL)
        return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks",
                              p->base.ranks);
    return NCOLL_OK;
}

static const struct bootstrap_ops *ops_of(const struct pmi_dialect *dialect)
{
    return dialect == &ncoll__pmi1 ? &ncoll__bootstrap_pmi1 : &ncoll__bootstrap_pmi2;
}

/* Opens the bootstrap with one version of the PMI protocol. *refused becomes true if the server
 * does not speak this version. */
static int open_with(const struct bootstrap_config *config, const struct pmi_dialect *dialect,
                     bool *refused, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;
    uint64_t deadline_ns = events->now_ns(events->arg) + (uint64_t)config->timeout_ns;
    struct pmi *p = calloc(1, sizeof *p);

    *refused = false;
    if (p == NULL)
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the bootstrap");
    p->events = *events;
    p->flight.rank = p->waits_for = p->failed_rank = -1;
    int rc = ncoll__pmi_session_enter(config, dialect, &p->session, refused);
    if (rc != NCOLL_OK)
        goto free_pmi;
    const struct pmi_identity *self = ncoll__pmi_session_self(p->session);
    p->base = (struct bootstrap){
        .ops = ops_of(ncoll__pmi_session_dialect(p->session)),
        .rank = self->rank,
        .ranks = self->ranks,
    };
    p->context = ncoll__pmi_session_count(p->session);
    rc = learn_nodes(p, deadline_ns);
    if (rc != NCOLL_OK)
        goto leave;
    *out = &p->base;
    return NCOLL_OK;

leave:
    free_memory(p);
    ncoll__pmi_session_leave(p->session);
free_pmi:
    free(p);
    return rc;
}

/* Opens the bootstrap with version 1 of the protocol or, if the server refuses that, with version
 * 2. Most servers speak version 1, and some also version 2. A server refuses version 1 if it speaks
 * only version 2, or if the job has begun with version 2. */
static int open_either(const struct bootstrap_config *config, struct bootstrap **out)
{
    bool refused;

    int rc = open_with(config, &ncoll__pmi1, &refused, out);
    return refused ? open_with(config, &ncoll__pmi2, &refused, out) : rc;
}

static int open_1(const struct bootstrap_config *config, struct bootstrap **out)
{
    bool refused;

    return open_with(config, &ncoll__pmi1, &refused, out);
}

static int open_2(const struct bootstrap_config *config, struct bootstrap **out)
{
    bool refused;

    return open_with(config, &ncoll__pmi2, &refused, out);
}

static void pmi_traffic(const struct bootstrap *b, struct bootstrap_traffic *out)
{
    *out = ((const struct pmi *)b)->traffic;
}

/* Frees what only exchanges need, and leaves the PMI session to the next context of this
 * process. */
static void pmi_finish(struct bootstrap *b)
{
    struct pmi *p = pmi_of(b);

    if (p->session == NULL)
        return;
    ncoll__pmi_forget(p);
    free_memory(p);
    ncoll__pmi_session_leave(p->session);
    p->session = NULL;
}

static void pmi_close(struct bootstrap *b)
{
    pmi_finish(b);
    free(pmi_of(b));
}

#define PMI_OPERATIONS                                                                             \
    .exchange_start = ncoll__pmi_exchange_start, .exchange_test = ncoll__pmi_exchange_test,        \
    .wait = ncoll__pmi_wait, .ask = ncoll__pmi_ask, .get = ncoll__pmi_get,                         \
    .missing = ncoll__pmi_exchange_missing, .traffic = pmi_traffic, .finish = pmi_finish,          \
    .close = pmi_close

const struct bootstrap_ops ncoll__bootstrap_pmi1 = {.name = "pmi1", .open = open_1, PMI_OPERATIONS};
const struct bootstrap_ops ncoll__bootstrap_pmi2 = {.name = "pmi2", .open = open_2, PMI_OPERATIONS};
/* Has only open(), which makes a bootstrap with the operations of pmi1 or pmi2. */
const struct bootstrap_ops ncoll__bootstrap_pmi = {.name = "pmi", .open = open_either};
