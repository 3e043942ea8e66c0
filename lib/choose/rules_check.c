/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that rules do not contradict each other. The conditions of a rule form a box: a range for
 * each number, one name or any name for transport and device, and so on. If two rules apply to the
 * same call, the earlier one is taken. The writer wants this if the box of the earlier rule lies
 * inside the box of the later one, as an exception. In all other cases one of the two rules, or a
 * part of it, would have no effect.
 */
#include <stdio.h>
#include <string.h>

#include "lib/choose/rules.h"

static bool ranges_meet(struct rule_range a, struct rule_range b)
{
    return a.from <= b.to && b.from <= a.to;
}

static bool names_meet(const char *a, const char *b)
{
    return *a == '\0' || *b == '\0' || strcmp(a, b) == 0;
}

static bool conditions_meet(const struct rule *a, const struct rule *b)
{
    for (unsigned i = 0; i < RULE_NUMBERS; i++)
        if (!ranges_meet(a->numbers[i], b->numbers[i]))
            return false;
    return names_meet(a->transport, b->transport) && names_meet(a->device, b->device);
}

/* True if the conditions of `inner` are met only where those of `outer` are. */
static bool lies_inside(const struct rule *inner, const struct rule *outer)
{
    for (unsigned i = 0; i < RULE_NUMBERS; i++)
        if (inner->numbers[i].from < outer->numbers[i].from ||
            inner->numbers[i].to > outer->numbers[i].to)
            return false;
    return (*outer->transport == '\0' || strcmp(inner->transport, outer->transport) == 0) &&
           (*outer->device == '\0' || strcmp(inner->device, outer->device) == 0) &&
           (!outer->same_bits || inner->same_bits);
}

static bool contradict(const struct rule *earlier, const struct rule *later)
{
    return earlier->collective == later->collective && ranges_meet(earlier->bytes, later->bytes) &&
           conditions_meet(earlier, later) &&
           (!lies_inside(earlier, later) || lies_inside(later, earlier));
}

static bool fail(const struct rule *earlier, const struct rule *later, struct rule_error *error)
{
    bool is_exception = lies_inside(later, earlier) && !lies_inside(earlier, later);

    memcpy(error->where, later->where, sizeof error->where);
    snprintf(error->cause, sizeof error->cause, "this rule overlaps the one at %s", earlier->where);
    snprintf(error->remedy, sizeof error->remedy, "%s",
             is_exception ? "put it before that one: the first rule that applies to a call is taken"
                          : "change the sizes or the conditions of one of them, so that no call "
                            "has both");
    return false;
}

bool ncoll__rules_check(const struct rules *rules, struct rule_error *error)
{
    for (unsigned later = 1; later < rules->n; later++)
        for (unsigned earlier = 0; earlier < later; earlier++)
            if (contradict(&rules->all[earlier], &rules->all[later]))
                return fail(&rules->all[earlier], &rules->all[later], error);
    return true;
}
