/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of an instruction's operands in the memory of a run. */
#ifndef NCOLL_LIB_RUN_OPERANDS_H
#define NCOLL_LIB_RUN_OPERANDS_H

#include "lib/base/group.h"
#include "lib/plan/plan.h"

static inline void *at(const struct run *run, struct operand o)
{
    return run->base[o.base] + o.offset;
}

/* Return the addresses of the operands `a` and `b` of an instruction. An operand may be part of a
 * long message, whose address is known only when it has arrived. */
static inline __attribute__((always_inline)) const void *
read_a(const struct ncoll_group *g, const struct run *run, const struct instruction *i)
{
    return i->routes & FROM_MESSAGE ? message_of(g, run, i->message_a)->at + i->a.offset
                                    : at(run, i->a);
}

static inline const void *read_b(const struct ncoll_group *g, const struct run *run,
                                 const struct instruction *i)
{
    return i->routes & FROM_MESSAGE_B ? message_of(g, run, i->message_b)->at + i->b.offset
                                      : at(run, i->b);
}

/* repeated.c: carries out a repeated instruction. */
void ncoll__execute_repeated(const struct ncoll_group *g, const struct run *run,
                             const struct instruction *i);

#endif
