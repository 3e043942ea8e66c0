/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures, makes, connects and frees the objects of stale-synchronous and partial allreduces. */
#include <string.h>

#include "algos/choice.h"
#include "lib/base/failure.h"
#include "lib/base/signature.h"
#include "lib/plan/arguments.h"
#include "lib/plan/compile.h"
#include "lib/plan/compiler.h"
#include "lib/stale/stale.h"

/* NCOLL_STALE_AUTO: vectors of up to HYPERCUBE_BYTES use the hypercube. Longer ones are cut into
 * slices on up to SLICES_RANKS ranks, and go round a ring on more. */
#define HYPERCUBE_BYTES 8192u
#define SLICES_RANKS    64u
/* The most memory of a rank's mailboxes, unless PLACES_MIN places in each of them take more. */
#define MAILBOXES_BYTES ((size_t)64 << 20)
#define PLACES_MIN      4u
/* Each message of this length or more gets a credit of its own, so that its place can be used again
 * while it is in the cache. Shorter messages share credits, since a credit costs as much as such a
 * message. */
#define CREDIT_BYTES ((size_t)128 << 10)
/* The memory of the mailboxes that ranks in lockstep use, so that it stays in the cache; but at
 * least one place of each mailbox. */
#define CACHED_BYTES   ((size_t)2 << 20)
#define PLACES_PARTIAL EPOCHS
/* The most claims (struct past_call) that are kept. In a partial allreduce also the number of own
 * calls that are kept to be compared with messages. */
#define PAST_MAX 1024u

/* ------------------------------------------------------------------ measuring ---------------- */

static bool is_power_of_two(unsigned n)
{
    return (n & (n - 1)) == 0;
}

/* Returns the algorithm that the parameters ask for. A hypercube needs a number of ranks that is a
 * power of two. On other numbers two-window dissemination takes its place: it has as few rounds,
 * and takes the own vector from IN on every rank. */
static const struct algorithm *algorithm_of(const ncoll_stale_params *params, unsigned size,
                                            size_t bytes)
{
    ncoll_stale_algorithm a = params->algorithm;

    if (a == NCOLL_STALE_AUTO)
        a = bytes <= HYPERCUBE_BYTES ? NCOLL_STALE_HYPERCUBE
            : size <= SLICES_RANKS   ? NCOLL_STALE_SLICES
                                     : NCOLL_STALE_RING;
    return ncoll__algorithm_find(a == NCOLL_STALE_SLICES ? "direct-slices"
                                 : a == NCOLL_STALE_RING ? "ring"
                                 : is_power_of_two(size) ? "multiply"
                                                         : "two-window");
}

/* Returns n rounded up to a power of two, so that x mod n can be computed by a mask. */
static unsigned to_power(unsigned n)
{
    unsigned power = 1;

    while (power < n)
        power *= 2;
    return power;
}

static struct shape shape_of(const struct ncoll_group *g, const struct ncoll_stale *s)
{
    const struct call_args args = {.collective = COLL_ALLREDUCE, .count = s->count};

    return ncoll__shape(g, &args, 1, s->op.inverse != NULL);
}

/* Returns the places that a mailbox needs so that nothing is withheld: see mailbox.c. */
static unsigned places_wanted(const ncoll_stale_params *params)
{
    unsigned wanted = 2 * (unsigned)params->max_slack + 2;

    if (params->partial)
        return PLACES_PARTIAL;
    /* a quarter of the places is for messages whose credits are not given yet */
    wanted += wanted / 3 + 1;
    return wanted < EPOCHS ? EPOCHS : wanted < PLACES_MAX ? to_power(wanted) : PLACES_MAX;
}

static int too_many(struct ncoll_group *g, unsigned slots)
{
    return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, TOO_MANY), -1,
                       "use a ring, a hypercube, or a smaller group",
                       "%u mailboxes on each of %d ranks are too many", slots, g->size);
}

int ncoll__stale_measure(struct ncoll_group *g, struct ncoll_stale *s)
{
    unsigned size = (unsigned)g->size, peers = size - 1, most = g->ctx->peers_most;
    struct footprint f = {.slots = size - 1, .message = s->count};

    s->algorithm = s->params.partial ? NULL : algorithm_of(&s->params, size, s->count * s->element);
    if (s->algorithm != NULL) {
        struct shape shape = shape_of(g, s);
        if (!algorithm_exists(s->algorithm, &shape))
            return too_many(g, 2 * (size - 1));
        f = s->algorithm->footprint(&shape);
        peers = ncoll__algorithm_peers(s->algorithm, &shape);
    }
    if (f.slots > SLOTS_MAX)
        return too_many(g, f.slots);
    if (most > 0 && peers > most)
        return ncoll__fail(
            g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, QUEUES_FULL), -1,
            "use a ring, a hypercube, or a smaller group",
            "each of %d ranks sends to %u others, and the device of one has room for "
            "connections with %u",
            g->size, peers, most);
    s->slots = f.slots;
    s->ages_bytes = s->params.clocks && s->algorithm != NULL && size > 1 ? 2 * (size_t)size : 0;
    s->stride = whole_lines(f.message * s->element + s->ages_bytes);
    bool is_long = f.message * s->element + s->ages_bytes > SLOT_PAYLOAD;
    s->D = places_wanted(&s->params);
    size_t each = is_long ? f.slots * s->stride : 0; /* bytes of one place in every mailbox */
    while (s->D > PLACES_MIN && each > 0 && s->D > MAILBOXES_BYTES / each)
        s->D /= 2;
    while (s->D > EPOCHS && (size_t)(s->D / EPOCHS) * f.slots > SLOTS_MAX)
        s->D /= 2;
    s->cached = each > CACHED_BYTES ? 1 : each > 0 ? (unsigned)(CACHED_BYTES / each) : s->D;
    s->lag = s->stride < CREDIT_BYTES ? s->D / 4 : 1;
    s->withholds = s->D < 2 * (unsigned)s->params.max_slack + 2 + s->lag;
    size_t mailboxes = (size_t)((s->D + EPOCHS - 1) / EPOCHS) * f.slots;
    s->shape = (struct window_shape){.rank = (unsigned)g->rank,
                                     .ranks = size,
                                     .n_slots = mailboxes > 0 ? (unsigned)mailboxes : 1,
                                     .bulk_bytes = is_long ? mailboxes * s->stride : 0};
    s->shape.scratch_bytes = g->ctx->transport->sends_any_memory ? 0 : s->shape.bulk_bytes;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ making ------------------- */

/* Makes the steps of a partial allreduce: one PUT to each other rank, and one WAIT for a message of
 * each. Returns NULL if there is no memory. */
static struct step *steps_of_partial(struct ncoll_group *g, unsigned *count)
{
    unsigned size = (unsigned)g->size, n = 0;
    struct step *steps = ncoll__allocate(g->ctx, 2 * (size_t)size * sizeof *steps);

    for (unsigned d = 1; steps != NULL && d < size; d++) {
        steps[n++] =
            (struct step){.kind = STEP_PUT, .peer = ((unsigned)g->rank + d) % size, .slot = d - 1};
        steps[n++] = (struct step){
            .kind = STEP_WAIT, .peer = ((unsigned)g->rank + size - d) % size, .slot = d - 1};
    }
    *count = n;
    return steps;
}

static unsigned correspondent_of(struct ncoll_stale *s, unsigned rank)
{
    unsigned i = 0;

    while (i < s->n_peers && s->peers[i].rank != rank)
        i++;
    if (i == s->n_peers)
        s->peers[s->n_peers++].rank = rank;
    return i;
}

static bool is_message(const struct step *step)
{
    return step->kind == STEP_PUT || step->kind == STEP_WAIT;
}

static unsigned count_messages(const struct ncoll_stale *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->n_steps; i++)
        n += is_message(&s->steps[i]);
    return n;
}

static void list_mailboxes(struct ncoll_stale *s)
{
    for (unsigned i = 0; i < s->n_steps; i++) {
        const struct step *step = &s->steps[i];
        size_t count = s->algorithm != NULL ? step->count : s->count;
        if (step->kind == STEP_PUT) {
            struct outbox *out = &s->outs[s->n_outs];
            *out = (struct outbox){.to = correspondent_of(s, step->peer),
                                   .slot = step->slot,
                                   .len_bytes = count * s->element,
                                   .numbers = s->numbers + (size_t)s->n_outs * s->D};
            s->out_of[i] = s->n_outs++;
        } else if (step->kind == STEP_WAIT) {
            s->ins[step->slot] = (struct inbox){.from = correspondent_of(s, step->peer),
                                                .slot = step->slot,
                                                .len_bytes = count * s->element};
            s->peers[s->ins[step->slot].from].n_ins++;
            s->n_ins++;
        }
    }
}

/* Lists for each correspondent the mailboxes that it sends to. Slots in which no message comes to
 * this rank are in no list, and their struct inbox stays all 0. */
static void list_by_sender(struct ncoll_stale *s)
{
    unsigned *next = s->ins_by;

    for (unsigned p = 0; p < s->n_peers; p++) {
        s->peers[p].ins = next;
        next += s->peers[p].n_ins;
        s->peers[p].n_ins = 0;
    }
    for (unsigned i = 0; i < s->n_steps; i++) {
        if (s->steps[i].kind != STEP_WAIT)
            continue;
        struct correspondent *c = &s->peers[s->ins[s->steps[i].slot].from];
        c->ins[c->n_ins++] = s->steps[i].slot;
    }
}

static void *array(struct ncoll_stale *s, size_t n, size_t each, bool *ok)
{
    void *memory = ncoll__allocate(s->group->ctx, (n > 0 ? n : 1) * each);

    *ok &= memory != NULL;
    return memory;
}

static bool make_arrays(struct ncoll_stale *s, size_t scratch)
{
    unsigned messages = count_messages(s);
    size_t size = (size_t)s->group->size;
    bool ok = true;

    s->content_of = array(s, s->n_steps, sizeof *s->content_of, &ok);
    s->out_of = array(s, s->n_steps, sizeof *s->out_of, &ok);
    s->scratch = array(s, scratch * s->element, 1, &ok);
    s->peers = array(s, messages, sizeof *s->peers, &ok);
    s->ins = array(s, s->slots, sizeof *s->ins, &ok);
    s->outs = array(s, messages, sizeof *s->outs, &ok);
    s->ins_by = array(s, messages, sizeof *s->ins_by, &ok);
    s->numbers = array(s, (size_t)messages * s->D, sizeof *s->numbers, &ok);
    s->own = array(s, s->n_own, sizeof *s->own, &ok);
    s->claims = array(s, s->n_claims, sizeof *s->claims, &ok);
    if (s->params.clocks || s->params.partial) {
        s->clocks = array(s, (size_t)2 * size, sizeof *s->clocks, &ok);
        s->sum = array(s, size, sizeof *s->sum, &ok);
    }
    return ok;
}

/* Makes the plan of the calls on mailboxes. It has only the fields that other parts of the library
 * read. */
static void make_plan(struct ncoll_stale *s)
{
    struct signature_fields fields = {
        .collective = COLL_ALLREDUCE,
        .type = (unsigned)s->type,
        .op = s->op_name,
        .algorithm = s->algorithm,
        .radix = 1,
        .root = s->params.partial ? ROOT_PARTIAL : 0,
        .amount = s->count,
        .definition = ncoll__definition(&s->group->ctx->types, &s->group->ctx->ops,
                                        (unsigned)s->type, s->op_name),
    };

    s->plan = (struct plan){
        .key = {.collective = COLL_ALLREDUCE, .count = s->count, .type = s->type, .op = s->op_name},
        .algorithm = s->algorithm,
        .radix = 1,
        .signature = ncoll__signature(&fields),
        .op = s->op,
        .element = s->element,
        .segment = s->count > 0 ? s->count : 1,
        .segments = 1,
        .parts = 1,
        .runs = 1,
        .lanes = 1,
        .programs = &s->program,
        .n_programs = 1,
        .in_bytes = s->count * s->element,
        .out_bytes = s->count * s->element,
        .wired = true,
        .users = 1,
    };
}

/* Returns the number of own calls that are kept to be compared with messages. In the
 * stale-synchronous allreduce other ranks are at most max_slack + 1 calls behind. */
static unsigned own_calls_of(const ncoll_stale_params *params)
{
    return params->partial ? PAST_MAX : to_power((unsigned)params->max_slack + 8);
}

int ncoll__stale_make(struct ncoll_group *g, const struct ncoll_stale *measured)
{
    struct ncoll_context *ctx = g->ctx;
    struct ncoll_stale *s = ncoll__allocate(ctx, sizeof *s);
    struct footprint f = {0};
    bool ok = s != NULL;

    if (ok) {
        *s = *measured;
        s->group = g;
        s->n_own = own_calls_of(&s->params);
        s->n_claims = s->n_own < PAST_MAX ? s->n_own : PAST_MAX;
        g->stale = s;
        s->next = ctx->stales;
        ctx->stales = s;
        make_plan(s);
        struct shape shape = shape_of(g, s);
        if (s->algorithm != NULL) {
            f = s->algorithm->footprint(&shape);
            s->steps = ncoll__steps(g, s->algorithm, &shape, false, &s->n_steps);
        } else {
            s->steps = steps_of_partial(g, &s->n_steps);
        }
        ok = s->steps != NULL && make_arrays(s, f.scratch);
    }
    if (ok) {
        list_mailboxes(s);
        list_by_sender(s);
        ok = s->algorithm == NULL || ncoll__contents(s) == NCOLL_OK;
    }
    if (!ok) {
        ncoll__stale_release(g);
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1,
                           "use fewer elements, less max_slack, or another algorithm",
                           "no memory for mailboxes");
    }
    for (unsigned p = 0; p < s->n_peers; p++) {
        unsigned most = s->D * (s->n_outs + s->peers[p].n_ins);
        s->depth = most > s->depth ? most : s->depth;
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ connecting --------------- */

unsigned *ncoll__stale_list_peers(const struct ncoll_stale *s)
{
    unsigned *peers = ncoll__allocate(s->group->ctx, (s->n_peers + 1) * sizeof *peers);

    for (unsigned i = 0; peers != NULL && i < s->n_peers; i++)
        peers[i] = s->peers[i].rank;
    return peers;
}

int ncoll__stale_wire(struct ncoll_stale *s)
{
    struct ncoll_group *g = s->group;
    struct transport *t = g->ctx->transport;
    const struct window_extent need = {s->shape.n_slots, s->shape.bulk_bytes,
                                       s->shape.scratch_bytes};
    int rc = NCOLL_OK;

    g->mail->used_slots = s->shape.n_slots;
    g->mail->had_long = s->shape.bulk_bytes > 0;
    for (unsigned i = 0; i < s->n_peers; i++) {
        struct correspondent *c = &s->peers[i];
        int world = ncoll__world_rank(g, c->rank);
        c->to = t->ops->endpoint(t, world);
        c->sends_any = ncoll__sends_any(g, c->rank);
        if (c->to == NULL)
            return ncoll__fail(g->ctx, NCOLL_ERR_INTERNAL, world, "please report this",
                               "no connection to rank %d after wiring", world);
    }
    if (t->ops->extend != NULL)
        rc = t->ops->extend(t, g->mail, &need);
    for (unsigned i = 0; i < s->n_peers && rc == NCOLL_OK && t->ops->extend != NULL; i++)
        if (s->peers[i].n_ins > 0)
            t->ops->admit(t, g->mail, ncoll__world_rank(g, s->peers[i].rank));
    return rc;
}

/* ------------------------------------------------------------------ freeing ------------------ */

int ncoll__stale_end(struct ncoll_group *g)
{
    struct ncoll_stale *s = g->stale;
    int rc = NCOLL_OK;

    if (!s->ends) {
        s->ends = true;
        rc = ncoll__mail_credits(s, true);
    }
    if (rc == NCOLL_OK)
        rc = ncoll__mail_flush(s);
    if (rc != NCOLL_OK)
        return ncoll__failure(g->ctx) != NCOLL_OK ? ncoll__failure(g->ctx) : rc;
    if (s->n_withheld + s->n_due > 0)
        return NCOLL_TIMEOUT;
    ncoll__stale_stop(g);
    return NCOLL_OK;
}

void ncoll__stale_stop(struct ncoll_group *g)
{
    struct ncoll_stale *s = g->stale;

    if (s == NULL || s->stopped)
        return;
    s->stopped = true;
    g->ctx->withheld -= s->n_withheld + s->n_due;
}

void ncoll__stale_release(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct ncoll_stale *s = g->stale, **link = &ctx->stales;

    if (s == NULL)
        return;
    ncoll__stale_stop(g);
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    g->stale = NULL;
    s->magic = 0;
    for (unsigned i = 0; i < s->n_outs; i++)
        ncoll__release(ctx, s->outs[i].buffer);
    for (unsigned i = 0; s->ins != NULL && i < s->slots; i++)
        ncoll__release(ctx, s->ins[i].copy);
    ncoll__contents_free(s);
    void *const all[] = {s->steps,  s->content_of, s->out_of, s->scratch, s->peers,
                         s->ins,    s->outs,       s->ins_by, s->numbers, s->own,
                         s->claims, s->clocks,     s->sum,    s};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        ncoll__release(ctx, all[i]);
}
