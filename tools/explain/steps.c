/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the steps of one rank.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/explain/explain.h"
#include "tools/explain/walk.h"

static void print_ref(const struct shape *g, struct ref ref, size_t count)
{
    size_t first = ref.block * g->count + ref.offset;

    static const char *const names[] = {"IN", "OUT", "SCRATCH", "LANDED", "LANDED"};

    printf("%s", names[ref.buffer]);
    if (ref.buffer == BUF_ARRIVED)
        printf(" %u", ref.slot);
    else if (ref.buffer == BUF_NEIGHBOUR)
        printf(" %u of rank %u", ref.slot, ref.rank);
    if (count == 1)
        printf("[%zu]", first);
    else
        printf("[%zu..%zu]", first, first + count - 1);
}

static void print_step(const struct shape *g, const struct step *s)
{
    switch (s->kind) {
    case STEP_PUT:
        printf("  put ");
        if (s->count > 0) {
            print_ref(g, s->a, s->count);
            printf(" ");
        }
        printf("to rank %u, slot %u\n", s->peer, s->slot);
        return;
    case STEP_WAIT:
        printf("  wait for slot %u from rank %u%s\n", s->slot, s->peer,
               s->shared_wait ? ", which ranks of the node wait for as well" : "");
        return;
    case STEP_LOOK:
        printf("  wait for slot %u of rank %u, from rank %u, in shared memory\n", s->slot, s->at,
               s->peer);
        return;
    default:
        printf("  ");
        print_ref(g, s->dst, s->count);
        printf(" = ");
        print_ref(g, s->a, s->count);
        if (s->kind != STEP_COPY) {
            printf(s->kind == STEP_REDUCE ? " o " : " o^-1 ");
            print_ref(g, s->b, s->count);
        }
        printf("\n");
    }
}

void explain_rank(const struct algorithm *a, const struct shape *g)
{
    struct shape part = *g;
    unsigned parts = is_in_parts(g) ? g->parts : 1, number = 1;
    struct round round;

    for (part.part = 0; part.part < parts; part.part++) {
        if (parts > 1)
            printf("part %u of %u\n", part.part + 1, parts);
        for (unsigned r = 0; write_round_of_part(a, &part, r, &round); r++) {
            printf("round %u\n", number++);
            for (unsigned i = 0; i < round.count; i++)
                print_step(g, &round.steps[i]);
            free(round.steps);
        }
        free(round.steps);
    }
}
