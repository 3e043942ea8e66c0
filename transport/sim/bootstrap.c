/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap of a simulated job. The blobs of all ranks lie in this process. In half of the
 * jobs, chosen by the seed, the bootstrap tells which ranks were killed and which root causes were
 * named; in the other jobs it does not tell this, like some launchers.
 */
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "transport/sim/engine.h"

#define EXCHANGE_NS 10000u

struct sim_bootstrap {
    struct bootstrap base;
    struct bootstrap_events events;
    struct sim_rank *rank;
};

static struct sim_rank *rank_of(struct bootstrap *b)
{
    return ((struct sim_bootstrap *)b)->rank;
}

static bool tells(void)
{
    return (ncoll__sim->config.seed >> 1) % 2 == 0;
}

static int fail_dead(struct bootstrap *b)
{
    const struct bootstrap_events *e = &((struct sim_bootstrap *)b)->events;

    return e->fail(e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, PEER_DIED), -1, NULL,
                   "this rank was killed");
}

static int boot_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *e = &config->events;
    struct sim_bootstrap *b = calloc(1, sizeof *b);

    if (b == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks", config->ranks);
    b->base = (struct bootstrap){&ncoll__bootstrap_user, config->rank, config->ranks};
    b->events = *e;
    b->rank = config->callbacks.arg;
    *out = &b->base;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ exchanges ----------------- */

/* Copies the blobs of all ranks to one block, since each rank reads all of them. */
static struct blob_at *pack(struct sim *s, unsigned which)
{
    size_t ranks = (size_t)s->config.ranks, bytes = ranks * sizeof(struct blob_at);

    for (size_t r = 0; r < ranks; r++)
        bytes += s->ranks[r].blobs[which].len;
    struct blob_at *all = malloc(bytes);
    if (all == NULL)
        abort();
    unsigned char *end = (unsigned char *)(all + ranks);
    for (size_t r = 0; r < ranks; r++) {
        struct blob_at *one = &s->ranks[r].blobs[which];
        all[r] = (struct blob_at){end, one->len};
        if (one->len > 0)
            memcpy(end, one->bytes, one->len);
        end += one->len;
        free(one->bytes);
        *one = (struct blob_at){0};
    }
    return all;
}

/* Ends an exchange that all ranks have started, after the time that it takes. */
static void end_exchange(struct sim *s, unsigned which, uint64_t now_ns)
{
    unsigned rounds = 0;

    while (1 << rounds < s->config.ranks)
        rounds++;
    s->exchanged_at_ns[which] = now_ns + EXCHANGE_NS + 2 * rounds * s->config.latency_ns;
    s->exchanged[!which] = 0;
    free(s->blobs[which]);
    s->blobs[which] = pack(s, which);
    for (int r = 0; r < s->config.ranks; r++)
        ncoll__sim_wake(&s->ranks[r], s->exchanged_at_ns[which]);
}

static int exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct sim *s = ncoll__sim;
    struct sim_rank *r = rank_of(b);
    unsigned which = (r->exchanges + 1) % 2;

    if (r->killed)
        return fail_dead(b);
    r->exchanges++;
    free(r->blobs[which].bytes);
    r->blobs[which] = (struct blob_at){malloc(len > 0 ? len : 1), len};
    if (r->blobs[which].bytes == NULL)
        abort();
    if (len > 0)
        memcpy(r->blobs[which].bytes, blob, len);
    if (++s->exchanged[which] == (uint64_t)s->config.ranks)
        end_exchange(s, which, r->now_ns);
    return NCOLL_OK;
}

static int exchange_test(struct bootstrap *b)
{
    const struct sim *s = ncoll__sim;
    const struct sim_rank *r = rank_of(b);
    unsigned which = r->exchanges % 2;

    if (r->killed)
        return fail_dead(b);
    bool over = s->exchanged[which] == (uint64_t)s->config.ranks;
    return over && r->now_ns >= s->exchanged_at_ns[which] ? NCOLL_OK : NCOLL_TIMEOUT;
}

static int boot_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    unsigned which = rank_of(b)->exchanges % 2;
    const struct blob_at *at = &ncoll__sim->blobs[which][rank];

    *blob = at->bytes;
    *len = at->len;
    return NCOLL_OK;
}

static int missing(struct bootstrap *b, int *count)
{
    uint64_t mine = rank_of(b)->exchanges;
    int first = NOBODY;

    *count = 0;
    for (int r = ncoll__sim->config.ranks - 1; r >= 0; r--)
        if (sim_rank_of(r)->exchanges < mine) {
            first = r;
            ++*count;
        }
    return first;
}

/* ------------------------------------------------------------------ failures ------------------ */

static bool is_known(const struct sim_rank *dead, const struct sim_rank *to)
{
    return dead->killed && to->now_ns >= dead->kill.at_ns + ncoll__sim->config.notice_ns;
}

static int failed(struct bootstrap *b)
{
    struct sim *s = ncoll__sim;
    struct sim_rank *r = rank_of(b);

    if (!tells() || r->kills_heard == s->n_kills ||
        !is_known(&s->ranks[s->kills[r->kills_heard]], r))
        return NOBODY;
    return s->kills[r->kills_heard++];
}

static void name_root_cause(struct bootstrap *b, int rank)
{
    struct sim_rank *r = rank_of(b);

    if (!r->killed && r->root_cause == NOBODY)
        r->root_cause = rank;
}

static int culprit(struct bootstrap *b, int rank)
{
    const struct sim_rank *r = sim_rank_of(rank);

    if (!tells())
        return NOBODY;
    if (r->root_cause != NOBODY)
        return r->root_cause;
    return is_known(r, rank_of(b)) ? rank : NOBODY;
}

static void boot_close(struct bootstrap *b)
{
    free(b);
}

/* Replaces the library's bootstrap by callbacks of the user: see seams.c. */
const struct bootstrap_ops ncoll__bootstrap_user = {
    .name = "sim",
    .open = boot_open,
    .exchange_start = exchange_start,
    .exchange_test = exchange_test,
    .get = boot_get,
    .missing = missing,
    .failed = failed,
    .name_root_cause = name_root_cause,
    .culprit = culprit,
    .close = boot_close,
};
