/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule as a paper's table: what each rank has combined by the end of a round. It is not
 * written for any algorithm: what the symbolic run found is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/explain/explain.h"
#include "tools/explain/memory.h"
#include "tools/explain/symbols.h"

static void write_name(FILE *out, const struct value *v)
{
    if (v->kind == STEP_COPY) {
        fprintf(out, "x%u", v->rank);
        return;
    }
    fprintf(out, "S");
    for (unsigned i = 0; i < v->primes; i++)
        fprintf(out, "'");
    fprintf(out, "%u_%u", v->rank, v->round);
}

/* The expression of a value made in `round`, down to what has a name from before. */
static void write_value(FILE *out, const struct value *v, const struct value *top)
{
    if (v->kind == STEP_COPY || (v != top && (v->rank != top->rank || v->round < top->round))) {
        write_name(out, v);
        return;
    }
    write_value(out, v->a, top);
    fprintf(out, v->kind == STEP_REDUCE ? " o " : " o^-1 ");
    bool composite =
        v->b->kind != STEP_COPY && v->b->rank == top->rank && v->b->round == top->round;
    fprintf(out, composite ? "(" : "");
    write_value(out, v->b, top);
    fprintf(out, composite ? ")" : "");
}

static unsigned write_made(FILE *out, const struct entry *entry)
{
    unsigned n = 0;

    for (unsigned i = 0; i < entry->made.count; i++) {
        const struct value *v = entry->made.values[i];
        if (!v->kept)
            continue;
        fprintf(out, n++ > 0 ? ", " : "");
        write_name(out, v);
        fprintf(out, " = ");
        write_value(out, v, v);
    }
    return n;
}

/* The caller frees it. */
static char *entry_text(const struct actor *actor, unsigned r)
{
    const struct entry *entry = &actor->entries[r];
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    or_die(out);
    if (r == 0) {
        write_name(out, actor->in);
    } else if (write_made(out, entry) == 0) {
        fprintf(out, entry->got.count > 0 ? "gets" : entry->n_senders > 0 ? "hears from" : "-");
        for (unsigned i = 0; i < entry->got.count; i++) {
            fprintf(out, " ");
            write_name(out, entry->got.values[i]);
        }
        for (unsigned i = 0; i < entry->n_senders && entry->got.count == 0; i++)
            fprintf(out, " %u", entry->senders[i]);
    }
    fclose(out);
    return text;
}

static void name_values(struct symbols *t)
{
    for (unsigned p = 0; p < t->P; p++)
        for (unsigned r = 0; r <= t->rounds; r++) {
            struct list *made = &t->actors[p].entries[r].made;
            for (unsigned i = 0, primes = 0; i < made->count; i++)
                made->values[i]->primes = made->values[i]->kept ? primes++ : 0;
        }
}

static void print_table(struct symbols *t)
{
    char ***texts = allocate(t->P, sizeof *texts);
    int *widths = allocate(t->rounds + 1, sizeof *widths);

    for (unsigned p = 0; p < t->P; p++) {
        texts[p] = allocate(t->rounds + 1, sizeof **texts);
        for (unsigned r = 0; r <= t->rounds; r++) {
            texts[p][r] = entry_text(&t->actors[p], r);
            int width = (int)strlen(texts[p][r]);
            widths[r] = width > widths[r] ? width : widths[r];
        }
    }
    printf("rank");
    for (unsigned r = 0; r <= t->rounds; r++) {
        widths[r] = widths[r] < 8 ? 8 : widths[r];
        printf(" | round %-*u", r < t->rounds ? widths[r] - 6 : 0, r);
    }
    printf("\n");
    for (unsigned p = 0; p < t->P; p++) {
        printf("%4u", p);
        for (unsigned r = 0; r <= t->rounds; r++) {
            printf(" | %-*s", r < t->rounds ? widths[r] : 0, texts[p][r]);
            free(texts[p][r]);
        }
        printf("\n");
    }
}

void explain_table(const struct algorithm *a, const struct shape *g)
{
    struct symbols t;

    symbols_run(&t, a, g);
    name_values(&t);
    print_table(&t);
    forget_all();
}
