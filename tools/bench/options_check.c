/* SPDX-License-Identifier: BSD-3-Clause */
/* This file checks options together, once all are known. */
#include "algos/schedule.h"
#include "tools/bench/names.h"
#include "tools/bench/options.h"

/* Returns the collectives of the run as bits 1u << enum collective; those with counts are the same
 * bits as those without. */
static unsigned without_counts(const struct options *o)
{
    return (o->collectives | o->collectives >> WITH_COUNTS) & ((1u << COLLECTIVES) - 1);
}

static error_t check_sizes(const struct argp_state *state, const struct options *o)
{
    size_t element = ncoll_type_size(o->type);

    if (o->collectives == 1u << COLL_BARRIER)
        return 0;
    for (unsigned i = 0; i < o->n_sizes; i++)
        if (o->sizes[i] % element != 0)
            return arguments_mistake(
                state, "size %zu is not a whole number of %s elements (%zu bytes each)",
                o->sizes[i], name_text(names_of_types, (int)o->type), element);
    return 0;
}

static error_t check_operation(const struct argp_state *state, const struct options *o)
{
    bool reductions = false;

    for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
        reductions |= (without_counts(o) & 1u << c) != 0 && reduces(c);
    if (!reductions && options_given(o, "op"))
        return arguments_mistake(state,
                                 "--op is for reductions, and none of these collectives is one");
    if (reductions && o->type >= NCOLL_FLOAT && o->op >= NCOLL_LAND)
        return arguments_mistake(state, "operation %s is not defined for %s",
                                 name_text(names_of_ops, (int)o->op),
                                 name_text(names_of_types, (int)o->type));
    return 0;
}

static error_t check_algorithm(const struct argp_state *state, const struct options *o)
{
    const struct algorithm *a = o->algorithm;

    if (a == NULL)
        return 0;
    if ((a->collectives & without_counts(o)) == 0)
        return arguments_mistake(state, "algorithm '%s' does none of these collectives", a->name);
    if (o->radix != 0 && !(a->properties & USES_RADIX))
        return arguments_mistake(state, "algorithm '%s' has no radix: leave out --radix", a->name);
    if (radix_is_list(o->radix) && !(a->properties & TAKES_LIST))
        return arguments_mistake(state, "algorithm '%s' takes one radix, not a list", a->name);
    return 0;
}

static error_t check_codec(const struct argp_state *state, const struct options *o)
{
    if (o->codec.size == 0)
        return o->feedback ? arguments_mistake(state, "--feedback is for --codec") : 0;
    if ((o->collectives & (1u << COLL_ALLREDUCE | 1u << COLL_BCAST)) == 0)
        return arguments_mistake(state, "--codec is for allreduce and bcast");
    if (o->type != NCOLL_FLOAT && o->type != NCOLL_DOUBLE)
        return arguments_mistake(state, "--codec takes --type float or double, not %s",
                                 name_text(names_of_types, (int)o->type));
    if (o->op != NCOLL_SUM)
        return arguments_mistake(state, "--codec compresses sums: leave out --op");
    return 0;
}

/* Refuses options that would change nothing in the output or the measurement. */
static error_t check_results(const struct argp_state *state, const struct options *o)
{
    if (o->distributions != 0 && o->collectives >> WITH_COUNTS == 0)
        return arguments_mistake(state, "--distribution is for gatherv, scatterv and allgatherv");
    if (o->n_fractions > 0 && (o->collectives & (1u << COLL_BCAST | 1u << COLL_REDUCE)) == 0)
        return arguments_mistake(state, "--fraction is for bcast and reduce");
    if (o->n_fractions == 0 && options_given(o, "of"))
        return arguments_mistake(state, "--of says what --fraction is of: add --fraction");
    if (o->strict && without_counts(o) == 1u << COLL_BARRIER)
        return arguments_mistake(
            state, "--strict is for other collectives: a barrier is strict by itself");
    if (o->ssp && (o->collectives & 1u << COLL_ALLREDUCE) == 0)
        return arguments_mistake(state, "--ssp is for the allreduce");
    if (o->raw && o->ranks % 2 != 0)
        return arguments_mistake(
            state, "--raw runs between pairs of ranks: -n must be even, not %d", o->ranks);
    if (!o->osu)
        return 0;
    if (o->startup)
        return arguments_mistake(state,
                                 "--osu prints no costs of starting: leave out --osu or --startup");
    if (o->overlap && o->json == NULL)
        return arguments_mistake(
            state, "--osu prints no overlap: leave out --osu or --overlap, or add --json");
    if (o->raw && o->json == NULL)
        return arguments_mistake(state, "--osu prints no limits: leave out --raw, or add --json");
    return 0;
}

error_t options_check(const struct argp_state *state, const struct options *o)
{
    if (options_given(o, "check") && options_given(o, "no-check"))
        return arguments_mistake(state, "give --check or --no-check, not both");
    if (options_given(o, "bind") && options_given(o, "no-bind"))
        return arguments_mistake(state, "give --bind or --no-bind, not both");
    if (o->osu && options_given(o, "start") && o->start != START_BARRIER)
        return arguments_mistake(state,
                                 "with --osu calls begin after a barrier: leave out --start");
    error_t error = check_sizes(state, o);
    if (error == 0)
        error = check_operation(state, o);
    if (error == 0)
        error = check_algorithm(state, o);
    if (error == 0)
        error = check_codec(state, o);
    return error == 0 ? check_results(state, o) : error;
}
