/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/options_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "algos/schedule.h"
#include "tools/bench/names.h"

__attribute__((format(printf, 2, 3))) static error_t mistake(const struct argp_state *state,
                                                             const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    argp_error(state, "%s", text);
    return EINVAL;
}

/* The collectives themselves, with counts or without: bits 1u << enum collective. */
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
            return mistake(state, "size %zu is not a whole number of %s elements (%zu bytes each)",
                           o->sizes[i], name_text(names_of_types, (int)o->type), element);
    return 0;
}

static error_t check_operation(const struct argp_state *state, const struct options *o)
{
    bool reductions = false;

    for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
        reductions |= (without_counts(o) & 1u << c) != 0 && reduces(c);
    if (!reductions && (o->given & GIVEN_OP) != 0)
        return mistake(state, "--op is of reductions, and none of these collectives is one");
    if (reductions && o->type >= NCOLL_FLOAT && o->op >= NCOLL_LAND)
        return mistake(state, "operation %s is not defined for %s",
                       name_text(names_of_ops, (int)o->op),
                       name_text(names_of_types, (int)o->type));
    return 0;
}

static error_t check_algorithm(const struct argp_state *state, const struct options *o)
{
    const struct algorithm *a = o->algorithm != NULL ? ncoll__algorithm_find(o->algorithm) : NULL;

    if (a == NULL)
        return 0;
    if ((a->collectives & without_counts(o)) == 0)
        return mistake(state, "algorithm '%s' does none of these collectives", o->algorithm);
    if (o->radix != 0 && !(a->properties & USES_RADIX))
        return mistake(state, "algorithm '%s' has no radix: leave out --radix", o->algorithm);
    if (radix_is_list(o->radix) && !(a->properties & TAKES_LIST))
        return mistake(state, "algorithm '%s' takes one radix, not a list", o->algorithm);
    return 0;
}

/* What would not be printed, or measured. */
static error_t check_results(const struct argp_state *state, const struct options *o)
{
    if (o->distributions != 0 && o->collectives >> WITH_COUNTS == 0)
        return mistake(state, "--distribution is of gatherv, scatterv and allgatherv");
    if (o->strict && without_counts(o) == 1u << COLL_BARRIER)
        return mistake(state, "--strict is of other collectives: a barrier is strict by itself");
    if (o->raw && o->ranks % 2 != 0)
        return mistake(state, "--raw runs between pairs of ranks: -n must be even, not %d",
                       o->ranks);
    if (!o->osu)
        return 0;
    if (o->startup)
        return mistake(state, "--osu prints nothing of --startup: give one of them");
    if (o->overlap && o->json == NULL)
        return mistake(state, "--osu prints no overlap: leave out one of them, or add --json");
    if (o->raw && o->json == NULL)
        return mistake(state, "--osu prints no limits: leave out --raw, or add --json");
    return 0;
}

error_t options_check(const struct argp_state *state, const struct options *o)
{
    if ((o->given & GIVEN_CHECK) != 0 && (o->given & GIVEN_NO_CHECK) != 0)
        return mistake(state, "give --check or --no-check, not both");
    if ((o->given & GIVEN_BIND) != 0 && (o->given & GIVEN_NO_BIND) != 0)
        return mistake(state, "give --bind or --no-bind, not both");
    if (o->osu && (o->given & GIVEN_START) != 0 && o->start != START_BARRIER)
        return mistake(state, "calls begin after a barrier with --osu: leave out --start");
    error_t error = check_sizes(state, o);
    if (error == 0)
        error = check_operation(state, o);
    if (error == 0)
        error = check_algorithm(state, o);
    return error == 0 ? check_results(state, o) : error;
}
