/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeated instructions: a copy or a reduction of many blocks at regular distances, or of blocks
 * with counts. */
#include <string.h>

#include "lib/run/operands.h"
#include "lib/plan/compile.h"

static void copy_repeated(unsigned char *to, const unsigned char *from, const struct instruction *i)
{
    for (unsigned k = 0; i->len_bytes == sizeof(uint64_t) && k <= i->more; k++) {
        uint64_t word;
        memcpy(&word, from + k * i->a_by, sizeof word);
        memcpy(to + k * i->dst_by, &word, sizeof word);
    }
    for (unsigned k = 0; i->len_bytes != sizeof(uint64_t) && k <= i->more; k++)
        memmove(to + k * i->dst_by, from + k * i->a_by, i->len_bytes);
}

/* Executes a repeated step over blocks of different lengths. A block that ends before this segment
 * is left out. */
static void execute_uneven(const struct run *run, const struct instruction *i,
                           unsigned char *const operands[3])
{
    const struct plan *plan = run->call->plan;
    const struct op *op = &plan->op;
    const ptrdiff_t by[] = {i->dst_by, i->a_by, i->b_by};
    const struct shape segment = {.begin = run->done / plan->element, .most = plan->segment};
    unsigned char *at[] = {operands[0], operands[1], operands[2]};
    unsigned which = i->uneven - UNEVEN_DST;
    bool in = (which == 0 ? i->dst : which == 1 ? i->a : i->b).base == BASE_IN;
    const size_t *counts = in && plan->key.sends != NULL ? plan->key.sends : plan->key.counts;
    const struct starts *starts = in ? &plan->in : &plan->out;
    size_t q = i->count;

    for (unsigned k = 0; k <= i->more; k++, q += (size_t)by[which]) {
        size_t count = in_segment(&segment, counts[q]), bytes = count * plan->element;
        at[which] = run->base[in ? BASE_IN : BASE_OUT] + ncoll__start_of(starts, q) * plan->element;
        if (count > 0 && i->repeated == STEP_COPY)
            memmove(at[0], at[1], bytes);
        else if (count > 0)
            (i->repeated == STEP_REDUCE ? op->combine : op->inverse)(at[0], at[1], at[2], count,
                                                                     plan->key.type, op->arg);
        for (unsigned o = 0; o < 3; o++)
            at[o] += o == which ? 0 : by[o] != 0 ? by[o] : (ptrdiff_t)bytes;
    }
}

/* Executes a repeated instruction. Messages that it uses are not placed in OUT: see
 * lib/plan/placed.h. */
void ncoll__execute_repeated(const struct ncoll_group *g, const struct run *run,
                             const struct instruction *i)
{
    const struct plan *plan = run->call->plan;
    const struct op *op = &plan->op;
    const unsigned char *a = read_a(g, run, i), *b = read_b(g, run, i);
    unsigned char *to = at(run, i->dst);

    if (i->uneven != EVEN) {
        execute_uneven(run, i,
                       (unsigned char *const[]){to, (unsigned char *)(uintptr_t)a,
                                                (unsigned char *)(uintptr_t)b});
        return;
    }
    if (i->repeated == STEP_COPY) {
        copy_repeated(to, a, i);
        return;
    }
    for (unsigned k = 0; k <= i->more; k++)
        (i->repeated == STEP_REDUCE ? op->combine : op->inverse)(to + k * i->dst_by,
                                                                 a + k * i->a_by, b + k * i->b_by,
                                                                 i->count, plan->key.type, op->arg);
}
