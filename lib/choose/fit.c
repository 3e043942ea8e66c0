/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/choose/fit.h"

#include "lib/base/names.h"
#include "lib/base/settings.h"
#include "lib/choose/estimate.h"
#include "lib/inspect.h"
#include "lib/plan/arguments.h"
#include "lib/plan/compile.h"
#include "lib/plan/plan.h"

bool ncoll__serves(const struct algorithm *a, const struct call_args *args, const struct op *op)
{
    if (a == NULL || !(a->collectives & 1u << args->collective) ||
        ((a->properties & TAKES_PLACES) != 0) != (args->places > 0))
        return false;
    return !reduces(args->collective) ||
           ((op->commutative || !(a->properties & NEEDS_COMMUTATIVE)) &&
            (op->idempotent || !(a->properties & NEEDS_IDEMPOTENT)));
}

bool ncoll__is_asked(const struct ncoll_group *g, const struct call_args *args)
{
    return args->algorithm != NULL || g->ctx->settings.radix > 0 ||
           g->forced[args->collective].algorithm != NULL ||
           g->forced[args->collective].radix != 0 ||
           *ncoll__algorithm_setting(&g->ctx->settings, args->collective) != NULL;
}

bool ncoll__needs_same_bits(const struct ncoll_group *g, const struct call_args *args,
                            const struct op *op)
{
    return args->collective == COLL_ALLREDUCE && !op->exact && !g->ctx->settings.any_order;
}

bool ncoll__fits_window(const struct ncoll_group *g, const struct call_args *args,
                        const struct algorithm *a, const struct shape *shape, size_t bytes)
{
    size_t element = ncoll__element_bytes(g->ctx, args), longest = bytes / element;
    size_t segment = ncoll__plan_segment(g, a, shape, element, longest);
    bool whole = args->collective == COLL_ALLTOALL && (a->properties & PADS_BLOCKS);

    return segment > 0 && (!whole || segment >= longest);
}

static struct shape shape_of(const struct candidacy *c, unsigned radix)
{
    return ncoll__shape(c->g, c->args, radix, c->op->inverse != NULL);
}

bool ncoll__can_run(const struct candidacy *c, const struct algorithm *algorithm, unsigned radix)
{
    struct shape shape = shape_of(c, radix);
    size_t element = ncoll__element_bytes(c->g->ctx, c->args);

    ncoll__divide_call(c->g, c->args, algorithm, &shape);
    return ncoll__serves(algorithm, c->args, c->op) && !ncoll__is_refused(c->g, algorithm, radix) &&
           algorithm_exists(algorithm, &shape) &&
           (c->any_peers || ncoll__within_peers(c->g, algorithm, &shape)) &&
           ncoll__plan_segment(c->g, algorithm, &shape, element, c->longest) > 0;
}

/* ------------------------------------------------------------------ the best fit -------------- */

/* Returns the algorithm with the best fit among those that are not in `tried` (bits, by index), and
 * its reason in *why; NULL: none is left. */
static const struct algorithm *strongest(const struct candidacy *c, uint64_t tried,
                                         const char **why)
{
    const struct algorithm *best = NULL;
    struct shape shape = shape_of(c, 1);
    unsigned strength = FIT_NONE;

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        if (a->fit == NULL || tried >> i & 1 || !ncoll__serves(a, c->args, c->op))
            continue;
        struct fit fit = a->fit(&shape, &c->situation);
        if (fit.strength <= strength)
            continue;
        strength = fit.strength;
        best = a;
        *why = fit.why;
    }
    return best;
}

bool ncoll__choose_fit(const struct candidacy *c, const struct algorithm *without,
                       struct choice *out)
{
    const struct algorithm *a;
    uint64_t tried = 0;

    while ((a = strongest(c, tried, &out->why)) != NULL) {
        out->algorithm = a;
        if (a != without && ncoll__can_run(c, a, 1))
            return true;
        tried |= UINT64_C(1) << (ncoll__algorithm_number(a) - 1);
    }
    return false;
}

/* ------------------------------------------------------------------ lower costs --------------- */

void ncoll__choose_rival(const struct candidacy *c, double ns, struct choice *out)
{
    struct shape shape = shape_of(c, 1);

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        unsigned radix;
        if (a->fit == NULL || a == out->algorithm || !ncoll__serves(a, c->args, c->op))
            continue;
        struct fit fit = a->fit(&shape, &c->situation);
        if (fit.gain <= 0)
            continue;
        double own_ns = ncoll__estimate(c->g, a, shape, &c->situation, &radix);
        if (own_ns < 0 || own_ns >= fit.gain * ns || !ncoll__can_run(c, a, radix))
            continue;
        ns = own_ns;
        out->algorithm = a;
        out->radix = radix;
        out->why = fit.why;
    }
}

/* ------------------------------------------------------------------ no algorithm -------------- */

/* Returns the largest number of ranks for which the algorithm exists. The algorithm must not exist
 * for the number of ranks in `shape`. */
static unsigned most_ranks(const struct algorithm *algorithm, struct shape shape)
{
    unsigned most = 0, too_many = shape.size;

    shape.nodes = NULL;
    while (too_many - most > 1) {
        shape.size = most + (too_many - most) / 2;
        if (algorithm_exists(algorithm, &shape))
            most = shape.size;
        else
            too_many = shape.size;
    }
    return most;
}

int ncoll__refuse_all(const struct candidacy *c)
{
    struct ncoll_group *g = c->g;
    const char *name = ncoll__collective_name(c->args->collective);
    struct shape shape = shape_of(c, 1);
    bool some_exists = false, some_is_refused = false;
    unsigned most = 0;

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        if (a->fit == NULL || !ncoll__serves(a, c->args, c->op))
            continue;
        bool exists = algorithm_exists(a, &shape);
        unsigned ranks = exists ? shape.size : most_ranks(a, shape);
        most = ranks > most ? ranks : most;
        some_is_refused |= exists && ncoll__is_refused(g, a, 1);
        some_exists |= exists;
    }
    if (some_is_refused)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, QUEUES_FULL), -1,
                           "make the call on smaller groups",
                           "the device of some rank has no room in its queues for the connections "
                           "that %s of %d ranks takes",
                           name, g->size);
    if (some_exists)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, WINDOW_TOO_SMALL), -1,
                           g == g->ctx->world ? "raise NCOLL_WINDOW" : "raise NCOLL_GROUP_WINDOW",
                           "the window of %zu bytes is too small for any algorithm for %s of %d "
                           "ranks",
                           EPOCHS * g->window->shape.bulk_bytes, name, g->size);
    return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_ALGORITHM), -1,
                       "make the call on smaller groups",
                       "%s%s exists for groups of up to %u ranks, and this one has %d", name,
                       c->args->sends != NULL         ? " with counts"
                       : reduces(c->args->collective) ? " by an operation that does not commute"
                                                      : "",
                       most, g->size);
}
