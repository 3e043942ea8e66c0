/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-explain: what the algorithms do, as their papers show it.
 *
 * The table of a schedule is not written for any algorithm: all ranks are run symbolically, and
 * what each has combined by the end of a round is printed.
 */
#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/radix.h"
#include "algos/tuple.h"

#define EXIT_USAGE 64      /* EX_USAGE */
#define SIZE_MAX_P 1048576 /* most ranks for a tuple or one rank's steps */
#define TABLE_P    1024    /* most rows of a table */

static void *or_die(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "ncoll-explain: out of memory\n");
        exit(1);
    }
    return memory;
}

/* Memory that lives until forget_all(), zeroed. */
static struct block {
    struct block *next;
    max_align_t memory[];
} * blocks;

static void *allocate(size_t count, size_t size)
{
    struct block *block = or_die(calloc(1, sizeof *block + count * size));
    block->next = blocks;
    blocks = block;
    return block->memory;
}

static void forget_all(void)
{
    while (blocks != NULL) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

/* ------------------------------------------------------------------ rounds -------------------- */

/* Round r of one rank; false past the last. The caller frees out->steps. */
static bool write_round(const struct algorithm *a, const struct shape *g, unsigned r,
                        struct round *out)
{
    unsigned capacity = 64;

    for (;; capacity *= 2) {
        *out = (struct round){.steps = or_die(calloc(capacity, sizeof *out->steps)),
                              .capacity = capacity};
        bool more = a->round(g, r, out);
        if (!out->full)
            return more;
        free(out->steps);
    }
}

static void print_ref(struct ref ref, size_t count)
{
    static const char *const names[] = {"IN", "OUT", "SCRATCH", "LANDED"};

    printf("%s", names[ref.buffer]);
    if (ref.buffer == BUF_LANDED)
        printf(" %u", ref.slot);
    if (count == 1)
        printf("[%zu]", ref.offset);
    else
        printf("[%zu..%zu]", ref.offset, ref.offset + count - 1);
}

static void print_step(const struct step *s)
{
    switch (s->kind) {
    case STEP_PUT:
        printf("  put ");
        if (s->count > 0) {
            print_ref(s->a, s->count);
            printf(" ");
        }
        printf("to rank %u, slot %u\n", s->peer, s->slot);
        return;
    case STEP_WAIT:
        printf("  wait for slot %u from rank %u\n", s->slot, s->peer);
        return;
    default:
        printf("  ");
        print_ref(s->dst, s->count);
        printf(" = ");
        print_ref(s->a, s->count);
        if (s->kind != STEP_COPY) {
            printf(s->kind == STEP_REDUCE ? " o " : " o^-1 ");
            print_ref(s->b, s->count);
        }
        printf("\n");
    }
}

static void explain_rank(const struct algorithm *a, const struct shape *g)
{
    struct round round;

    for (unsigned r = 0; write_round(a, g, r, &round); r++) {
        printf("round %u\n", r + 1);
        for (unsigned i = 0; i < round.count; i++)
            print_step(&round.steps[i]);
        free(round.steps);
    }
    free(round.steps);
}

/* ------------------------------------------------------------------ symbolic run -------------- */

/* An expression. */
struct value {
    enum step_kind kind; /* STEP_COPY: the rank's own x */
    unsigned rank, round;
    const struct value *a, *b;
    bool kept;       /* sent, read in a later round, or the result: it gets a name */
    unsigned primes; /* of the name */
};

/* A growing list. */
struct list {
    struct value **values;
    unsigned count, capacity;
};

/* What a rank makes and gets in one round. */
struct entry {
    struct list made, got;
    unsigned *senders, n_senders;
};

struct actor {
    struct shape g;
    unsigned round, next;
    bool ended;
    struct round steps;
    struct value *in, *out, **scratch;
    struct list *landed; /* by slot */
    struct entry *entries;
};

struct table {
    const struct algorithm *algorithm;
    unsigned P, rounds;
    struct actor *actors;
};

static void list_add(struct list *list, struct value *value)
{
    if (list->count == list->capacity) {
        struct value **grown = allocate(2 * list->count + 4, sizeof(struct value *));
        if (list->count > 0)
            memcpy(grown, list->values, list->count * sizeof(struct value *));
        list->values = grown;
        list->capacity = 2 * list->count + 4;
    }
    list->values[list->count++] = value;
}

static struct value *read_value(struct actor *actor, struct ref ref, size_t i)
{
    struct value *v = ref.buffer == BUF_IN        ? actor->in
                      : ref.buffer == BUF_OUT     ? actor->out
                      : ref.buffer == BUF_SCRATCH ? actor->scratch[ref.offset + i]
                                                  : actor->landed[ref.slot].values[ref.offset + i];
    if (v->rank == actor->g.rank && v->round < actor->round)
        v->kept = true;
    return v;
}

static void compute(struct actor *actor, const struct step *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct value *v = read_value(actor, s->a, i);
        if (s->kind != STEP_COPY) {
            struct value *made = allocate(1, sizeof *made);
            *made = (struct value){.kind = s->kind,
                                   .rank = actor->g.rank,
                                   .round = actor->round,
                                   .a = v,
                                   .b = read_value(actor, s->b, i)};
            v = made;
        }
        if (s->dst.buffer == BUF_OUT)
            actor->out = v;
        else
            actor->scratch[s->dst.offset + i] = v;
    }
}

static void send(struct table *t, struct actor *actor, const struct step *s)
{
    struct list *message = &t->actors[s->peer].landed[s->slot];

    message->values = allocate(s->count + 1, sizeof *message->values);
    message->count = (unsigned)s->count;
    for (size_t i = 0; i < s->count; i++) {
        message->values[i] = read_value(actor, s->a, i);
        message->values[i]->kept = true;
    }
}

/* False: nothing has come yet. */
static bool receive(struct actor *actor, const struct step *s)
{
    struct list *message = &actor->landed[s->slot];
    struct entry *entry = &actor->entries[actor->round];

    if (message->values == NULL)
        return false;
    for (unsigned i = 0; i < message->count; i++)
        list_add(&entry->got, message->values[i]);
    entry->senders[entry->n_senders++] = s->peer;
    return true;
}

static bool made_now(const struct actor *actor, const struct value *v)
{
    return v != NULL && v->kind != STEP_COPY && v->rank == actor->g.rank &&
           v->round == actor->round;
}

/* The result comes first, then what scratch holds, in its order. */
static void end_round(struct table *t, struct actor *actor)
{
    struct entry *entry = &actor->entries[actor->round];
    size_t scratch = t->algorithm->footprint(&actor->g).scratch;

    if (made_now(actor, actor->out)) {
        actor->out->kept = true;
        list_add(&entry->made, actor->out);
    }
    for (size_t i = 0; i < scratch; i++)
        if (made_now(actor, actor->scratch[i]) && actor->scratch[i] != actor->out)
            list_add(&entry->made, actor->scratch[i]);
    free(actor->steps.steps);
    actor->round++;
    actor->next = 0;
    actor->ended = !write_round(t->algorithm, &actor->g, actor->round - 1, &actor->steps);
}

/* False if the rank could do nothing. */
static bool advance(struct table *t, struct actor *actor)
{
    bool moved = false;

    while (!actor->ended) {
        if (actor->next == actor->steps.count) {
            end_round(t, actor);
            moved = true;
            continue;
        }
        const struct step *s = &actor->steps.steps[actor->next];
        if (s->kind == STEP_PUT)
            send(t, actor, s);
        else if (s->kind != STEP_WAIT)
            compute(actor, s);
        else if (!receive(actor, s))
            return moved;
        actor->next++;
        moved = true;
    }
    return moved;
}

static unsigned rounds_of(const struct algorithm *a, struct shape g)
{
    unsigned most = 0;

    for (g.rank = 0; g.rank < g.size; g.rank++) {
        struct round round;
        unsigned r = 0;
        for (; write_round(a, &g, r, &round); r++)
            free(round.steps);
        free(round.steps);
        most = r > most ? r : most;
    }
    return most;
}

static void run(struct table *t, const struct shape *g)
{
    struct footprint f = t->algorithm->footprint(g);
    bool moved = true;

    t->P = g->size;
    t->rounds = rounds_of(t->algorithm, *g);
    t->actors = allocate(t->P, sizeof *t->actors);
    for (unsigned p = 0; p < t->P; p++) {
        struct actor *actor = &t->actors[p];
        actor->g = *g;
        actor->g.rank = p;
        actor->in = allocate(1, sizeof *actor->in);
        *actor->in = (struct value){.kind = STEP_COPY, .rank = p, .kept = true};
        actor->scratch = allocate(f.scratch, sizeof *actor->scratch);
        actor->landed = allocate(f.slots, sizeof *actor->landed);
        actor->entries = allocate(t->rounds + 1, sizeof *actor->entries);
        for (unsigned r = 0; r <= t->rounds; r++)
            actor->entries[r].senders = allocate(f.slots, sizeof(unsigned));
        end_round(t, actor); /* round 0: x */
    }
    while (moved) {
        moved = false;
        for (unsigned p = 0; p < t->P; p++)
            moved |= advance(t, &t->actors[p]);
    }
    for (unsigned p = 0; p < t->P; p++)
        free(t->actors[p].steps.steps);
}

/* ------------------------------------------------------------------ table --------------------- */

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

static void name_values(struct table *t)
{
    for (unsigned p = 0; p < t->P; p++)
        for (unsigned r = 0; r <= t->rounds; r++) {
            struct list *made = &t->actors[p].entries[r].made;
            for (unsigned i = 0, primes = 0; i < made->count; i++)
                made->values[i]->primes = made->values[i]->kept ? primes++ : 0;
        }
}

static void print_table(struct table *t)
{
    char ***texts = allocate(t->P, sizeof *texts);
    int *widths = allocate(t->rounds + 1, sizeof *widths);

    name_values(t);
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

/* ------------------------------------------------------------------ tuples -------------------- */

static void explain_case(const struct tuple *t)
{
    switch (t->which) {
    case TUPLE_CASE_1:
        printf("case 1 of Theorem 1: the last sender sends up to g_%u[%u], "
               "the receiver takes out up to g_%u[%u]\n",
               t->l_snd, t->j_snd, t->l_rcv, t->j_rcv);
        return;
    case TUPLE_CASE_2:
        printf("case 2 of Theorem 1: the last sender sends its own data, "
               "the receiver takes out up to g_%u[%u]\n",
               t->l_rcv, t->j_rcv);
        return;
    case TUPLE_CASE_3:
        printf("case 3 of Theorem 1: s - 1 = %u senders send whole partial results, "
               "nothing is taken out\n",
               t->s - 1);
        return;
    case TUPLE_CASE_4:
        printf("case 4 of Theorem 1: the last sender sends ");
        if (t->j_snd == 1)
            printf("its own data, nothing is taken out\n");
        else
            printf("up to g_1[%u], nothing is taken out\n", t->j_snd - 1);
        return;
    case TUPLE_CASE_5:
        printf("case 5 of Theorem 1: the last sender sends up to g_%u[%u], "
               "the receiver takes out its own data\n",
               t->l_snd, t->j_snd);
        return;
    case TUPLE_BASE:
        printf("base border: P - 1 = g^%u_%u[%u]; the last sender sends up to there, nothing is "
               "taken out (as in case 4)\n",
               t->s, t->l_snd, t->j_snd);
        return;
    case TUPLE_EXACT:
        return;
    }
}

static void explain_tuple(unsigned P, unsigned n)
{
    struct tuple t;

    if (P == 1) {
        printf("exact: one rank has nothing to send\n");
    } else if (!ncoll__tuple(P, n, &t)) {
        printf("none\n");
    } else if (t.which == TUPLE_EXACT) {
        printf("exact: P = %u^%u, the algorithm needs no adaption\n", n + 1, fewest_rounds(P, n));
    } else {
        printf("(s, l_snd, l_rcv, j_snd, j_rcv) = (%u, %u, %u, %u, %u)\n", t.s, t.l_snd, t.l_rcv,
               t.j_snd, t.j_rcv);
        explain_case(&t);
    }
}

static void count_tuples(unsigned max, unsigned n)
{
    unsigned count = 0;
    struct tuple t;

    for (unsigned P = 2; P <= max; P++)
        count += ncoll__tuple(P, n, &t);
    printf("%u\n", count);
}

static void list_registry(void)
{
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        printf("%-14s %s\n%-14s %s\n", a->name, a->summary, "", a->source);
    }
}

/* ------------------------------------------------------------------ command line -------------- */

enum command { COMMAND_NONE, COMMAND_SCHEDULE, COMMAND_TUPLE, COMMAND_LIST };
enum { KEY_BARRIER = 256, KEY_NO_INVERSE, KEY_COUNT };

struct options {
    enum command command;
    const struct algorithm *algorithm;
    unsigned size, radix, count;
    long rank; /* -1: all */
    bool barrier, no_inverse;
};

static const struct argp_option argp_options[] = {
    {"algorithm", 'a', "NAME", 0, "algorithm, see 'list'", 0},
    {"size", 'P', "SIZE", 0, "ranks", 0},
    {"radix", 'n', "RADIX", 0, "messages that a rank sends at once, 1..16", 0},
    {"rank", 'r', "RANK", 0, "the steps of this rank, in place of the table", 0},
    {"barrier", KEY_BARRIER, 0, 0, "the schedule of a barrier, in place of an allreduce", 0},
    {"no-inverse", KEY_NO_INVERSE, 0, 0, "the operation has no inverse", 0},
    {"count", KEY_COUNT, "MAX", 0, "tuple: for how many P in 2..MAX there is one, or none needed",
     0},
    {0},
};

static const char doc[] =
    "Explains ncoll's algorithms.\n\n"
    "  schedule -a NAME -P SIZE -n RADIX   what each rank combines, round by round\n"
    "  tuple -P SIZE -n RADIX              the 5-tuple of the adapted algorithm, or 'none'\n"
    "  tuple --count MAX -n RADIX          how many P in 2..MAX it serves, adapted or exact\n"
    "  list                                the algorithms\n"
    "\v"
    "In tables x3 is the vector of rank 3; S3_1 is what rank 3 has combined by the end of round 1, "
    "S'3_1, S''3_1 more that it keeps from that round; o is the operation, o^-1 takes out again. "
    "What came in a message bears the name that the sender has for it. 'gets' lists what a rank "
    "received and only stored, 'hears from' the ranks whose messages had no data.";

static unsigned number(const struct argp_state *state, const char *what, const char *text,
                       unsigned min, unsigned max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < (long)min || value > (long)max)
        argp_error(state, "%s '%s': give a number from %u to %u", what, text, min, max);
    return (unsigned)value;
}

static const struct algorithm *algorithm_named(const struct argp_state *state, const char *name)
{
    const struct algorithm *a = ncoll__algorithm_find(name);
    char known[256] = "";

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        size_t len = strlen(known);
        snprintf(known + len, sizeof known - len, "%s%s", i > 0 ? ", " : "",
                 ncoll__algorithms[i]->name);
    }
    if (a == NULL)
        argp_error(state, "algorithm '%s' is unknown: give one of %s", name, known);
    return a;
}

static enum command command_named(const struct argp_state *state, const char *name)
{
    static const char *const names[] = {"", "schedule", "tuple", "list"};

    for (unsigned i = COMMAND_SCHEDULE; i <= COMMAND_LIST; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    argp_error(state, "'%s' is unknown: give schedule, tuple or list", name);
    return COMMAND_NONE;
}

static void check_complete(const struct argp_state *state, const struct options *o)
{
    if (o->command == COMMAND_NONE)
        argp_error(state, "give schedule, tuple or list");
    if (o->command == COMMAND_LIST)
        return;
    if (o->radix == 0)
        argp_error(state, "give a radix: -n 1..%u", RADIX_MAX);
    if (o->size == 0 && o->count == 0)
        argp_error(state, "give the number of ranks: -P 1..%u", SIZE_MAX_P);
    if (o->command == COMMAND_TUPLE)
        return;
    if (o->algorithm == NULL)
        argp_error(state, "give an algorithm: -a NAME, see 'ncoll-explain list'");
    if (o->rank < 0 && o->size > TABLE_P)
        argp_error(state, "a table has at most %u ranks; give a rank: -r RANK", TABLE_P);
    if (o->rank >= (long)o->size)
        argp_error(state, "rank %ld: give one from 0 to %u", o->rank, o->size - 1);
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'a':
        o->algorithm = algorithm_named(state, arg);
        return 0;
    case 'P':
        o->size = number(state, "size", arg, 1, SIZE_MAX_P);
        return 0;
    case 'n':
        o->radix = number(state, "radix", arg, 1, RADIX_MAX);
        return 0;
    case 'r':
        o->rank = number(state, "rank", arg, 0, SIZE_MAX_P - 1);
        return 0;
    case KEY_BARRIER:
        o->barrier = true;
        return 0;
    case KEY_NO_INVERSE:
        o->no_inverse = true;
        return 0;
    case KEY_COUNT:
        o->count = number(state, "count", arg, 2, SIZE_MAX_P);
        return 0;
    case ARGP_KEY_ARG:
        if (o->command != COMMAND_NONE)
            argp_error(state, "'%s' is too much", arg);
        o->command = command_named(state, arg);
        return 0;
    case ARGP_KEY_END:
        check_complete(state, o);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int explain_schedule(const struct options *o)
{
    enum collective collective = o->barrier ? COLL_BARRIER : COLL_ALLREDUCE;
    struct shape g = {
        .rank = o->rank < 0 ? 0 : (unsigned)o->rank,
        .size = o->size,
        .radix = o->radix,
        .count = o->barrier ? 0 : 1,
        .inverse = !o->no_inverse,
    };
    struct table table = {.algorithm = o->algorithm};

    if (!(o->algorithm->collectives & 1u << collective)) {
        fprintf(stderr, "ncoll-explain: %s has no %s\n", o->algorithm->name,
                o->barrier ? "barrier" : "allreduce");
        return 1;
    }
    if (!algorithm_exists(o->algorithm, &g)) {
        fprintf(stderr, "ncoll-explain: %s does not exist for %u ranks and radix %u\n",
                o->algorithm->name, g.size, g.radix);
        return 1;
    }
    if (o->rank >= 0) {
        explain_rank(o->algorithm, &g);
        return 0;
    }
    run(&table, &g);
    print_table(&table);
    forget_all();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {argp_options, parse_one, "schedule|tuple|list", doc, NULL,
                                     NULL,         NULL};
    struct options o = {.rank = -1};

    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    switch (o.command) {
    case COMMAND_SCHEDULE:
        return explain_schedule(&o);
    case COMMAND_TUPLE:
        if (o.count > 0)
            count_tuples(o.count, o.radix);
        else
            explain_tuple(o.size, o.radix);
        return 0;
    default:
        list_registry();
        return 0;
    }
}
