/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed allreduce and bcast. Each consists of collectives on bytes, its steps, which are
 * queued together; the user waits for the last one. Each step starts when the one before it has
 * ended, and does its local work first (compressed_work.c).
 *
 *     allreduce, chunks     encode | alltoall | sum, encode | allgather | decode
 *     allreduce             encode | allgather | decode, sum
 *     bcast                 encode | bcast | decode
 *
 * If the codec does not say that lengths are fixed, a further step comes before each of these
 * collectives. It moves one word per block, its length, so that then only the bytes in use travel.
 * If the codec does not say that it decodes whatever it has encoded, a vote follows: one word, by
 * which all ranks learn that a rank could not decode. The barriers of strict calls are steps, too.
 *
 * A codec that fails does not end the steps. The head of a block then holds the failure in place of
 * a length, the call goes on, and all ranks end it with the same error.
 *
 * With chunks a rank sends 2 (P - 1) blocks of 1 / P of an encoded vector, as many bytes as in a
 * ring. The signature of each step has the collective of the step, the user's type and count, and
 * the codec in place of an operation. So ranks whose codecs differ find that out in the first step.
 */
#include "lib/run/compressed.h"

#include <string.h>

#include "lib/base/failure.h"
#include "lib/base/signature.h"
#include "lib/choose/planned.h"
#include "lib/run/call.h"

#define WORD sizeof(uint64_t)

/* ------------------------------------------------------------------ failures ------------------ */

int ncoll__compressed_fail(struct ncoll_compressor *z)
{
    static const char *const texts[] = {
        [CANNOT_ENCODE] = "could not encode (encode() returned SIZE_MAX)",
        [ENCODES_TOO_MUCH] =
            "has written more bytes than its bound(), which may have damaged memory",
        [NOT_FIXED] = "has NCOLL_CODEC_FIXED, but did not write as many bytes as its bound()",
        [CANNOT_DECODE] = "could not decode (decode() or add() did not return 0)",
        [BAD_LENGTH] = "got another number of bytes than it can have written",
    };
    uint64_t failure = (uint64_t)-z->failed, what = failure >> 32;
    int rank = (int)(uint32_t)failure;

    return ncoll__fail(z->ctx, NCOLL_ERR_CODEC, rank, "see the functions of the codec on that rank",
                       "on rank %d, codec \"%s\" %s, in %s of %zu elements", rank, z->name.text,
                       what < sizeof texts / sizeof texts[0] ? texts[what] : "failed",
                       is_compressed_bcast(z) ? "a bcast" : "an allreduce", z->count);
}

/* Ends the last step, and with it the user's call. */
static void finish(struct ncoll_group *g, struct call *c)
{
    struct compressed_step *s = c->arg;
    struct ncoll_compressor *z = s->of;

    (void)g;
    if (z->status != NCOLL_OK && (c->status == NCOLL_OK || c->status == NCOLL_ERR_UNSUPPORTED))
        c->status = z->status;
    if (c->status != NCOLL_OK)
        return;
    ncoll__compressed_decode(z);
    z->failed = z->agreed < z->failed ? z->agreed : z->failed;
    if (z->failed < 0)
        c->status = ncoll__compressed_fail(z);
    else
        ncoll__compressed_commit(z);
}

static void step_ended(struct ncoll_group *g, struct call *c)
{
    struct compressed_step *s = c->arg;

    (void)g;
    if (s->of->status == NCOLL_OK)
        s->of->status = c->status;
}

/* Does the local work before a step. If an earlier step has ended with NCOLL_ERR_UNSUPPORTED, which
 * it then has on all ranks, this one ends in the same way. */
static int prepare(struct ncoll_group *g, struct call *c)
{
    struct compressed_step *s = c->arg;

    (void)g;
    if (s->of->status != NCOLL_OK)
        return NCOLL_ERR_UNSUPPORTED;
    return s->work != NULL ? s->work(s->of, c) : NCOLL_OK;
}

/* ------------------------------------------------------------------ local work ---------------- */

static int encode(struct ncoll_compressor *z, struct call *c)
{
    (void)c;
    ncoll__compressed_encode(z);
    return NCOLL_OK;
}

static int sum(struct ncoll_compressor *z, struct call *c)
{
    (void)c;
    ncoll__compressed_sum(z);
    return NCOLL_OK;
}

static int decode(struct ncoll_compressor *z, struct call *c)
{
    (void)c;
    ncoll__compressed_decode(z);
    return NCOLL_OK;
}

static size_t words_of(int64_t head)
{
    return head < 0 ? 0 : ((size_t)head + WORD - 1) / WORD;
}

/* Records the error of a block whose length is above its bound, and would lead beyond the block. */
static int bad_length(struct ncoll_compressor *z, unsigned q, int64_t length, size_t bound)
{
    return ncoll__fail(z->ctx, NCOLL_ERR_INTERNAL, ncoll__world_rank(z->group, q),
                       "please report this",
                       "a compressed block of rank %d has %lld bytes, more than its bound of %zu",
                       ncoll__world_rank(z->group, q), (long long)length, bound);
}

/* Plans the exchange of chunks when their lengths are known. */
static int plan_alltoall(struct ncoll_compressor *z, struct call *c)
{
    struct ncoll_group *g = z->group;
    size_t bound = ncoll__compressed_part(z, (unsigned)g->rank).bound;

    for (unsigned q = 0; q < (unsigned)g->size; q++) {
        if (z->got_heads[q] > (int64_t)bound)
            return bad_length(z, q, z->got_heads[q], bound);
        z->send_words[q] = words_of(z->own_heads[q]);
        z->got_words[q] = words_of(z->got_heads[q]);
    }
    return ncoll__plan(g, &c->args, z->block - 1, &c->plan);
}

static int plan_allgather(struct ncoll_compressor *z, struct call *c)
{
    struct ncoll_group *g = z->group;

    for (unsigned q = 0; q < (unsigned)g->size; q++) {
        size_t bound = ncoll__compressed_part(z, q).bound;
        if (z->got_heads[q] > (int64_t)bound)
            return bad_length(z, q, z->got_heads[q], bound);
        z->got_words[q] = words_of(z->got_heads[q]);
    }
    return ncoll__plan(g, &c->args, 0, &c->plan);
}

static int plan_bcast(struct ncoll_compressor *z, struct call *c)
{
    if (z->own_heads[0] > (int64_t)z->bound)
        return bad_length(z, (unsigned)z->args.root, z->own_heads[0], z->bound);
    c->args.count = words_of(z->own_heads[0]);
    return ncoll__plan(z->group, &c->args, 0, &c->plan);
}

/* ------------------------------------------------------------------ steps --------------------- */

typedef int (*work_fn)(struct ncoll_compressor *z, struct call *c);

static struct call_args args_of(const struct ncoll_compressor *z, enum collective collective,
                                void *in, void *out, size_t count, bool irregular)
{
    struct signature_fields fields = {
        .collective = collective,
        .type = z->type,
        .op = z->collective_op,
        .root = is_compressed_bcast(z) ? (unsigned)z->args.root : 0,
        .irregular = irregular,
        .amount = z->count,
        .definition = z->definition,
    };
    return (struct call_args){
        .collective = collective,
        .in = in,
        .out = out,
        .count = count,
        .type = NCOLL_UINT64,
        .root = collective == COLL_BCAST ? z->args.root : 0,
        .needs_counts = irregular,
        .once = irregular,
        .purpose = ncoll__signature(&fields),
    };
}

static struct call_args *add_step(struct ncoll_compressor *z, struct call_args args, work_fn work)
{
    struct compressed_step *s = &z->steps[z->n_steps++];

    *s = (struct compressed_step){.of = z, .work = work, .call = {.args = args}};
    s->call.alone = z->n_steps > 1;
    return &s->call.args;
}

static void add_barrier(struct ncoll_compressor *z, unsigned purpose, work_fn work)
{
    add_step(z, (struct call_args){.collective = COLL_BARRIER, .sync = purpose}, work);
}

/* Adds a step that moves one word per block, by which the receiver learns the block's length. */
static void add_lengths(struct ncoll_compressor *z, enum collective collective, work_fn work)
{
    int64_t *to = collective == COLL_BCAST ? z->own_heads : z->got_heads;
    struct call_args *args = add_step(z, args_of(z, collective, z->own_heads, to, 1, false), work);

    args->type = NCOLL_INT64;
    args->internal = true;
}

static void add_alltoall(struct ncoll_compressor *z)
{
    if (z->fixed) {
        add_step(z, args_of(z, COLL_ALLTOALL, z->own, z->got, z->block, false), encode);
        return;
    }
    add_lengths(z, COLL_ALLTOALL, encode);
    struct call_args *args =
        add_step(z, args_of(z, COLL_ALLTOALL, z->own, z->got, 0, true), plan_alltoall);
    args->sends = z->send_words;
    args->counts = z->got_words;
    args->send_displs = args->displs = z->at;
}

static void add_allgather(struct ncoll_compressor *z, work_fn work)
{
    if (z->fixed) {
        add_step(z, args_of(z, COLL_ALLGATHER, z->own, z->got, z->block, false), work);
        return;
    }
    add_lengths(z, COLL_ALLGATHER, work);
    struct call_args *args =
        add_step(z, args_of(z, COLL_ALLGATHER, z->own + 1, z->got, 0, true), plan_allgather);
    args->counts = z->got_words;
    args->displs = z->at;
}

static void add_bcast(struct ncoll_compressor *z)
{
    size_t words = 1 + words_of((int64_t)z->bound);

    if (z->fixed) {
        add_step(z, args_of(z, COLL_BCAST, z->own, z->own, words, false), encode);
        return;
    }
    add_lengths(z, COLL_BCAST, encode);
    struct call_args args = args_of(z, COLL_BCAST, z->own + 1, z->own + 1, 0, true);
    args.needs_counts = false;
    add_step(z, args, plan_bcast);
}

static void add_vote(struct ncoll_compressor *z)
{
    struct call_args *args =
        add_step(z, args_of(z, COLL_ALLREDUCE, &z->failed, &z->agreed, 1, false), decode);

    args->type = NCOLL_INT64;
    args->op = NCOLL_MIN;
    args->internal = true;
}

static void add_steps(struct ncoll_compressor *z, unsigned sync)
{
    z->n_steps = 0;
    if (sync & NCOLL_STRICT_ENTRY)
        add_barrier(z, NCOLL_STRICT_ENTRY, NULL);
    if (is_compressed_bcast(z)) {
        add_bcast(z);
    } else if (z->codec.flags & NCOLL_CODEC_CHUNKS) {
        add_alltoall(z);
        add_allgather(z, sum);
    } else {
        add_allgather(z, encode);
    }
    if (!(z->codec.flags & NCOLL_CODEC_SURE))
        add_vote(z);
    if (sync & NCOLL_STRICT_EXIT)
        add_barrier(z, NCOLL_STRICT_EXIT, decode);
}

/* ------------------------------------------------------------------ beginning ----------------- */

/* The compressor of a request that has ended stays busy until the user has seen that end. So it
 * does not depend on the progress of other ranks which calls this rank may make. */
bool ncoll__compressor_is_busy(const struct ncoll_compressor *z)
{
    if (z->last == NULL || z->group == NULL)
        return false;
    if (z->last == &z->group->blocking)
        return z->group->known.unfinished == &z->known;
    const struct ncoll_request *r =
        (const void *)((const char *)z->last - offsetof(struct ncoll_request, call));
    return r->started && r->known.args.compressor == z;
}

static bool is_planned_later(const struct compressed_step *s)
{
    return s->work == plan_alltoall || s->work == plan_allgather || s->work == plan_bcast;
}

/* Plans all steps whose lengths are known. If one cannot be planned, gives up the plans of the
 * others, and returns the error. */
static int plan_steps(struct ncoll_group *g, struct ncoll_compressor *z)
{
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < z->n_steps && rc == NCOLL_OK; i++)
        if (!is_planned_later(&z->steps[i])) {
            ncoll__call_set_nothing(&z->steps[i].call);
            rc = ncoll__plan(g, &z->steps[i].call.args, 0, &z->steps[i].call.plan);
        }
    for (unsigned i = 0; i < z->n_steps && rc != NCOLL_OK; i++)
        if (z->steps[i].call.plan != NULL)
            ncoll__plan_leave(g, z->steps[i].call.plan);
    return rc;
}

int ncoll__compressor_not_busy(struct ncoll_group *g, const struct ncoll_compressor *z)
{
    if (!ncoll__compressor_is_busy(z))
        return NCOLL_OK;
    return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                       "finish that call first, or use a compressor for each call",
                       "an earlier call with the compressor (codec \"%s\") is unfinished",
                       z->name.text);
}

int ncoll__compressed_begin(struct ncoll_group *g, struct call *c, const struct known_call *k)
{
    struct ncoll_compressor *z = k->args.compressor;
    int rc = ncoll__compressor_not_busy(g, z);

    if (rc != NCOLL_OK)
        return rc;
    z->args = k->args;
    z->collective_op = z->op + (is_compressed_bcast(z) ? OP_BCAST : 0);
    z->done = WORK_NONE;
    z->status = NCOLL_OK;
    z->failed = z->agreed = 0;
    add_steps(z, g->size > 1 ? k->args.sync : NCOLL_LOOSE);
    if ((rc = plan_steps(g, z)) != NCOLL_OK)
        return rc;
    for (unsigned i = 0; i < z->n_steps; i++) {
        bool is_last = i + 1 == z->n_steps;
        struct call *step = is_last ? c : &z->steps[i].call;
        z->steps[i].call.users = is_last;
        z->steps[i].call.hooked = is_last ? c->hooked : NULL;
        z->steps[i].call.called = is_last ? (uint16_t)k->args.collective : 0;
        *step = z->steps[i].call;
        step->arg = &z->steps[i];
        step->prepare = prepare;
        step->ended = is_last ? finish : step_ended;
        ncoll__call_queue(g, step);
    }
    c->user_in = k->args.in; /* so that ncoll_free() refuses this memory */
    c->user_out = k->args.out;
    z->last = c;
    return NCOLL_OK;
}
