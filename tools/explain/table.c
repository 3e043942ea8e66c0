/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints a schedule as a table in the form of papers: what each rank has combined by the end of a
 * round. The code depends on no algorithm: it prints the results of the symbolic run.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/explain/explain.h"
#include "tools/explain/symbols.h"
#include "tools/explain/walk.h"

/* The text that is being written. Names in it may have an index. */
struct text {
    FILE *out;
    bool indexed;
};

static void write_name(const struct text *text, const struct value *v)
{
    if (v->kind == STEP_COPY) {
        fprintf(text->out, "x%u", v->rank);
    } else {
        fprintf(text->out, "S");
        for (unsigned i = 0; i < v->primes; i++)
            fprintf(text->out, "'");
        fprintf(text->out, "%u_%u", v->rank, v->round);
    }
    if (text->indexed)
        fprintf(text->out, "[%zu]", v->element);
}

/* Writes the expression of a value made in `round`, down to values that have names from earlier
 * rounds. */
static void write_value(const struct text *text, const struct value *v, const struct value *top)
{
    if (v->kind == STEP_COPY || (v != top && (v->rank != top->rank || v->round < top->round))) {
        write_name(text, v);
        return;
    }
    write_value(text, v->a, top);
    fprintf(text->out, v->kind == STEP_REDUCE ? " o " : " o^-1 ");
    bool composite =
        v->b->kind != STEP_COPY && v->b->rank == top->rank && v->b->round == top->round;
    fprintf(text->out, composite ? "(" : "");
    write_value(text, v->b, top);
    fprintf(text->out, composite ? ")" : "");
}

static unsigned write_made(const struct text *text, const struct entry *entry)
{
    unsigned n = 0;

    for (unsigned i = 0; i < entry->made.count; i++) {
        const struct value *v = entry->made.values[i];
        if (!v->kept)
            continue;
        fprintf(text->out, n++ > 0 ? ", " : "");
        write_name(text, v);
        fprintf(text->out, " = ");
        write_value(text, v, v);
    }
    return n;
}

static void write_entry(const struct text *text, const struct entry *entry)
{
    if (write_made(text, entry) > 0)
        return;
    fprintf(text->out, entry->got.count > 0 ? "gets" : entry->n_senders > 0 ? "hears" : "-");
    for (unsigned i = 0; i < entry->got.count; i++) {
        fprintf(text->out, " ");
        write_name(text, entry->got.values[i]);
    }
    for (unsigned i = 0; i < entry->n_senders; i++)
        fprintf(text->out, i == 0 ? " from %u" : " %u", entry->senders[i]);
}

/* Writes what a rank has at the beginning. */
static void write_in(const struct text *text, const struct actor *actor)
{
    if (actor->n_in == 0)
        fprintf(text->out, "-");
    else if (actor->n_in == 1)
        write_name(text, actor->in[0]);
    else
        fprintf(text->out, "x%u[0..%zu]", actor->g.rank, actor->n_in - 1);
}

/* Returns the text of a cell, which the caller frees. */
static char *entry_text(const struct symbols *t, const struct actor *actor, unsigned r)
{
    struct text text = {.indexed = t->indexed};
    char *memory;
    size_t len;

    text.out = open_memstream(&memory, &len);
    if (text.out == NULL)
        err(EXIT_FAILURE, NULL);
    if (r == 0)
        write_in(&text, actor);
    else
        write_entry(&text, &actor->entries[r]);
    fclose(text.out);
    return memory;
}

/* Gives the values of one element that are made in a round names with 0, 1, 2, .. primes. */
static void name_values(struct symbols *t)
{
    for (unsigned p = 0; p < t->P; p++)
        for (unsigned r = 0; r <= t->rounds; r++) {
            struct list *made = &t->actors[p].entries[r].made;
            for (unsigned i = 0; i < made->count; i++)
                for (unsigned j = 0; j < i && made->values[i]->kept; j++)
                    made->values[i]->primes += made->values[j]->kept &&
                                               made->values[j]->element == made->values[i]->element;
        }
}

static void print_table(struct symbols *t)
{
    char ***texts = allocate(t->P, sizeof *texts);
    int *widths = allocate(t->rounds + 1, sizeof *widths);

    for (unsigned p = 0; p < t->P; p++) {
        texts[p] = allocate(t->rounds + 1, sizeof **texts);
        for (unsigned r = 0; r <= t->rounds; r++) {
            texts[p][r] = entry_text(t, &t->actors[p], r);
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
}
