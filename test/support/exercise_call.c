/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "test/support/exercise.h"

static void hand_over(const struct side *side, struct handed *handed)
{
    memcpy(handed->counts, side->counts, sizeof handed->counts);
    memcpy(handed->displs, side->displs, sizeof handed->displs);
}

static void *buffer(const struct side *side)
{
    return side->null ? NULL : side->area->memory + side->at;
}

#define ONE_OF(name, ...)                                                                          \
    (form == EXERCISE_START  ? ncoll_##name##_start(group, __VA_ARGS__, request)                   \
     : form == EXERCISE_INIT ? ncoll_##name##_init(group, __VA_ARGS__, request)                    \
                             : ncoll_##name(group, __VA_ARGS__, timeout_ns))

static int call_with_threshold(struct exercise *x, ncoll_group *group, enum exercise_form form,
                               int64_t timeout_ns, ncoll_request **request)
{
    const struct exercise_spec *s = &x->spec;
    void *in = buffer(&x->in), *out = buffer(&x->out);

    if (s->collective == COLL_BCAST)
        return ONE_OF(bcast_threshold, out, s->count, s->piece->type, s->root, &x->threshold,
                      &x->status);
    return ONE_OF(reduce_threshold, in, out, s->count, s->piece->type, s->piece->op, s->root,
                  &x->threshold, &x->status);
}

static int call_regular(struct exercise *x, ncoll_group *group, enum exercise_form form,
                        int64_t timeout_ns, ncoll_request **request)
{
    const struct exercise_spec *s = &x->spec;
    void *in = buffer(&x->in), *out = buffer(&x->out);
    ncoll_type type = s->piece->type;
    ncoll_op op = s->piece->op;

    switch (s->collective) {
    case COLL_BARRIER:
        return form == EXERCISE_START  ? ncoll_barrier_start(group, request)
               : form == EXERCISE_INIT ? ncoll_barrier_init(group, request)
                                       : ncoll_barrier(group, timeout_ns);
    case COLL_ALLREDUCE:
        return ONE_OF(allreduce, in, out, s->count, type, op);
    case COLL_BCAST:
        return ONE_OF(bcast, out, s->count, type, s->root);
    case COLL_REDUCE:
        return ONE_OF(reduce, in, out, s->count, type, op, s->root);
    case COLL_GATHER:
        return ONE_OF(gather, in, out, s->count, type, s->root);
    case COLL_SCATTER:
        return ONE_OF(scatter, in, out, s->count, type, s->root);
    case COLL_ALLGATHER:
        return ONE_OF(allgather, in, out, s->count, type);
    case COLL_ALLTOALL:
        return ONE_OF(alltoall, in, out, s->count, type);
    case COLL_REDUCE_SCATTER:
        return ONE_OF(reduce_scatter_block, in, out, s->count, type, op);
    case COLL_SCAN:
        return ONE_OF(scan, in, out, s->count, type, op);
    case COLL_EXSCAN:
        return ONE_OF(exscan, in, out, s->count, type, op);
    default:
        return NCOLL_ERR_INTERNAL;
    }
}

static int call_compressed(struct exercise *x, ncoll_group *group, enum exercise_form form,
                           int64_t timeout_ns, ncoll_request **request)
{
    const struct exercise_spec *s = &x->spec;
    void *in = buffer(&x->in), *out = buffer(&x->out);
    int rc = exercise_compressor(x, group);

    if (rc != NCOLL_OK)
        return rc;
    if (s->collective == COLL_BCAST)
        return ONE_OF(bcast_compressed, x->compressor, in, out, s->count, s->piece->type, s->root);
    return ONE_OF(allreduce_compressed, x->compressor, in, out, s->count, s->piece->type,
                  NCOLL_SUM);
}

static int call_irregular(struct exercise *x, ncoll_group *group, enum exercise_form form,
                          int64_t timeout_ns, ncoll_request **request)
{
    const struct exercise_spec *s = &x->spec;
    const size_t *in_counts = x->handed_in.counts, *out_counts = x->handed_out.counts;
    const size_t *in_displs = s->gaps ? x->handed_in.displs : NULL;
    const size_t *out_displs = s->gaps ? x->handed_out.displs : NULL;
    void *in = buffer(&x->in), *out = buffer(&x->out);
    ncoll_type type = s->piece->type;

    switch (s->collective) {
    case COLL_GATHER:
        return ONE_OF(gatherv, in, out, out_counts, out_displs, type, s->root);
    case COLL_SCATTER:
        return ONE_OF(scatterv, in, in_counts, in_displs, out, type, s->root);
    case COLL_ALLGATHER:
        return ONE_OF(allgatherv, in, out, out_counts, out_displs, type);
    case COLL_ALLTOALL:
        return ONE_OF(alltoallv, in, in_counts, in_displs, out, out_counts, out_displs, type);
    case COLL_REDUCE_SCATTER:
        return ONE_OF(reduce_scatter, in, out, in_counts, type, s->piece->op);
    default:
        return NCOLL_ERR_INTERNAL;
    }
}

int exercise_call(struct exercise *x, ncoll_group *group, enum exercise_form form,
                  int64_t timeout_ns, ncoll_request **request)
{
    hand_over(&x->in, &x->handed_in);
    hand_over(&x->out, &x->handed_out);
    int rc = x->spec.codec != 0 ? call_compressed(x, group, form, timeout_ns, request)
             : x->spec.stale != 0
                 ? exercise_call_stale(x, group, buffer(&x->in), buffer(&x->out), timeout_ns,
                                       form == EXERCISE_CALL ? NULL : request)
             : x->spec.of != 0   ? call_with_threshold(x, group, form, timeout_ns, request)
             : x->spec.irregular ? call_irregular(x, group, form, timeout_ns, request)
                                 : call_regular(x, group, form, timeout_ns, request);
    if (form != EXERCISE_CALL) {
        memset(&x->handed_in, 0xa5, sizeof x->handed_in);
        memset(&x->handed_out, 0xa5, sizeof x->handed_out);
    }
    return rc;
}
