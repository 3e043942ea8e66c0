/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-explain: what the algorithms do, as their papers show it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure/card.h"
#include "tools/arguments.h"
#include "tools/explain/explain.h"
#include "tools/output.h"

#define SIZE_MAX_P 1048576 /* most ranks for a tuple or one rank's steps */
#define TABLE_P    1024    /* most rows of a table */

enum command { COMMAND_NONE, COMMAND_SCHEDULE, COMMAND_TUPLE, COMMAND_LIST };
static const char *const commands[] = {"", "schedule", "tuple", "list"};
enum {
    KEY_BARRIER = 256,
    KEY_COLLECTIVE,
    KEY_ROOT,
    KEY_NO_INVERSE,
    KEY_COUNT,
    KEY_NODES,
    KEY_NODE_OF
};

struct options {
    enum command command;
    const struct algorithm *algorithm;
    unsigned size, radix, count;
    long rank;                  /* -1: all */
    enum collective collective; /* 0: the algorithm's first */
    unsigned root;
    const char *nodes, *node_of; /* as given */
    bool no_inverse;
    uint64_t given; /* bits 1 << place in argp_options */
};

static const struct argp_option argp_options[] = {
    {"algorithm", 'a', "NAME", 0, "algorithm, see 'list'", 0},
    {"size", 'P', "SIZE", 0, "ranks", 0},
    {"radix", 'n', "RADIX", 0,
     "messages that a rank sends at once, 1..16; or a list of them, as 3,2,2: one for each round, "
     "the last of which goes on",
     0},
    {"rank", 'r', "RANK", 0, "the steps of this rank, in place of the table", 0},
    {"collective", KEY_COLLECTIVE, "NAME", 0,
     "the schedule of this collective (allreduce, or the first that there is)", 0},
    {"barrier", KEY_BARRIER, 0, 0, "short for --collective barrier", 0},
    {"root", KEY_ROOT, "RANK", 0, "root of a bcast, reduce, gather or scatter (0)", 0},
    {"no-inverse", KEY_NO_INVERSE, 0, 0, "the operation has no inverse", 0},
    {"nodes", KEY_NODES, "LIST", 0,
     "ranks on each node, that follow on each other, as 2,3,1; in place of a size", 0},
    {"node-of", KEY_NODE_OF, "LIST", 0, "the node of each rank, as 0,1,1,0; in place of a size", 0},
    {"count", KEY_COUNT, "MAX", 0, "tuple: for how many P in 2..MAX there is one, or none needed",
     0},
    {0},
};

static const char doc[] =
    "Explains ncoll's algorithms.\n\n"
    "  schedule -a NAME -P SIZE -n RADIX   what each rank combines, round by round\n"
    "  schedule -a NAME --nodes LIST -n R  the same for ranks on nodes\n"
    "  tuple -P SIZE -n RADIX              the 5-tuple of the adapted algorithm, or 'none'\n"
    "  tuple --count MAX -n RADIX          how many P in 2..MAX it serves, adapted or exact\n"
    "  list                                the algorithms\n"
    "\v"
    "In tables x3 is the vector of rank 3, x3[2] its block or slice 2; S3_1 is what rank 3 has "
    "combined by the end of round 1, S3_1[2] of block or slice 2, S'3_1, S''3_1 more that it keeps "
    "from that round; o is the operation, o^-1 takes out again. "
    "What came in a message bears the name that the sender has for it. 'gets' lists what a rank "
    "received and only stored, and from whom, 'hears from' the ranks whose messages had no data.";

/* Ends the program where it is none. */
static unsigned number(const struct argp_state *state, const char *what, const char *text,
                       unsigned min, unsigned max)
{
    unsigned value = 0;

    arguments_number(state, what, text, min, max, &value);
    return value;
}

static const struct algorithm *algorithm_named(const struct argp_state *state, const char *name)
{
    const struct algorithm *a = ncoll__algorithm_find(name);
    char known[1024] = "";

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        size_t len = strlen(known);
        snprintf(known + len, sizeof known - len, "%s%s", i > 0 ? ", " : "",
                 ncoll__algorithms[i]->name);
    }
    if (a == NULL)
        argp_error(state, "algorithm '%s' is unknown: give one of %s", name, known);
    return a;
}

static enum collective collective_asked(const struct argp_state *state, const char *name)
{
    enum collective c = collective_named(name);
    if (c == 0)
        argp_error(state, "collective '%s' is unknown: give one such as %s, %s or %s", name,
                   ncoll__collective_name(COLL_BARRIER), ncoll__collective_name(COLL_ALLTOALL),
                   ncoll__collective_name(COLL_REDUCE_SCATTER));
    return c;
}

static enum command command_named(const struct argp_state *state, const char *name)
{
    for (unsigned i = COMMAND_SCHEDULE; i <= COMMAND_LIST; i++)
        if (strcmp(name, commands[i]) == 0)
            return i;
    argp_error(state, "'%s' is unknown: give schedule, tuple or list", name);
    return COMMAND_NONE;
}

/* Which say the number of ranks, too. */
static void take_nodes(const struct argp_state *state, struct options *o)
{
    const char *list = o->nodes != NULL ? o->nodes : o->node_of;

    if (list == NULL)
        return;
    if (o->nodes != NULL && o->node_of != NULL)
        argp_error(state, "give --nodes or --node-of, not both");
    unsigned ranks =
        o->nodes != NULL ? nodes_of_sizes(list, TABLE_P) : nodes_of_ranks(list, TABLE_P);
    if (ranks == 0 && o->nodes != NULL)
        argp_error(state,
                   "--nodes '%s': give how many ranks each node has, at least one, with commas "
                   "between, as 2,3; up to %u in all",
                   list, TABLE_P);
    if (ranks == 0)
        argp_error(state,
                   "--node-of '%s': give a node's number for each rank, with commas between, as "
                   "0,1,1; for up to %u ranks",
                   list, TABLE_P);
    if (o->size != 0 && o->size != ranks)
        argp_error(state, "the nodes of '%s' have %u ranks in all, and -P says %u: leave out -P",
                   list, ranks, o->size);
    o->size = ranks;
}

/* Which commands an option is of: bits, by its key. */
static const unsigned takers[] = {
    ['a'] = 1u << COMMAND_SCHEDULE,
    ['P'] = 1u << COMMAND_SCHEDULE | 1u << COMMAND_TUPLE,
    ['n'] = 1u << COMMAND_SCHEDULE | 1u << COMMAND_TUPLE,
    ['r'] = 1u << COMMAND_SCHEDULE,
    [KEY_BARRIER] = 1u << COMMAND_SCHEDULE,
    [KEY_COLLECTIVE] = 1u << COMMAND_SCHEDULE,
    [KEY_ROOT] = 1u << COMMAND_SCHEDULE,
    [KEY_NO_INVERSE] = 1u << COMMAND_SCHEDULE,
    [KEY_COUNT] = 1u << COMMAND_TUPLE,
    [KEY_NODES] = 1u << COMMAND_SCHEDULE,
    [KEY_NODE_OF] = 1u << COMMAND_SCHEDULE,
};

/* What is given and says nothing. */
static void check_takers(const struct argp_state *state, const struct options *o)
{
    for (unsigned i = 0; argp_options[i].name != NULL; i++)
        if ((o->given & UINT64_C(1) << i) != 0 &&
            (takers[argp_options[i].key] & 1u << o->command) == 0)
            argp_error(state, "%s takes no --%s", commands[o->command], argp_options[i].name);
    if (o->command == COMMAND_TUPLE && o->size != 0 && o->count != 0)
        argp_error(state, "give -P for one tuple or --count for how many there are, not both");
}

static void check_algorithm(const struct argp_state *state, const struct options *o)
{
    const struct algorithm *a = o->algorithm;
    char *served = NULL;
    size_t len;

    if (radix_is_list(o->radix) && !(a->properties & TAKES_LIST))
        argp_error(state, "%s takes one radix, not a list", a->name);
    if (a->collectives & 1u << o->collective)
        return;
    FILE *text = open_memstream(&served, &len);
    if (text != NULL) {
        print_collectives(text, a);
        fclose(text);
    }
    argp_error(state, "%s has no %s, but%s", a->name, ncoll__collective_name(o->collective),
               served != NULL ? served : " others");
}

static void check_complete(const struct argp_state *state, struct options *o)
{
    if (o->command == COMMAND_NONE)
        argp_error(state, "give schedule, tuple or list");
    check_takers(state, o);
    if (o->command == COMMAND_LIST)
        return;
    if (o->algorithm != NULL && !(o->algorithm->properties & USES_RADIX) && o->radix == 0)
        o->radix = 1;
    if (o->radix == 0)
        argp_error(state, "give a radix: -n 1..%u", RADIX_MAX);
    take_nodes(state, o);
    if (o->size == 0 && o->count == 0)
        argp_error(state, "give the number of ranks: -P 1..%u", SIZE_MAX_P);
    if (o->command == COMMAND_TUPLE && radix_is_list(o->radix))
        argp_error(state, "tuples are for one radix, not for a list");
    if (o->command == COMMAND_TUPLE)
        return;
    if (o->algorithm == NULL)
        argp_error(state, "give an algorithm: -a NAME, see 'ncoll-explain list'");
    if (o->rank < 0 && o->size > TABLE_P)
        argp_error(state, "a table has at most %u ranks; give a rank: -r RANK", TABLE_P);
    if (o->rank >= (long)o->size)
        argp_error(state, "rank %ld: give one from 0 to %u", o->rank, o->size - 1);
    if (o->collective == 0)
        o->collective = first_collective(o->algorithm);
    if (o->root >= o->size)
        argp_error(state, "root %u: give a rank from 0 to %u", o->root, o->size - 1);
    if (o->root > 0 && !is_rooted(o->collective))
        argp_error(state, "%s has no root", ncoll__collective_name(o->collective));
    check_algorithm(state, o);
}

static void remember(struct options *o, int key)
{
    for (unsigned i = 0; argp_options[i].name != NULL; i++)
        if (argp_options[i].key == key)
            o->given |= UINT64_C(1) << i;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    remember(o, key);
    switch (key) {
    case 'a':
        o->algorithm = algorithm_named(state, arg);
        return 0;
    case 'P':
        o->size = number(state, "size", arg, 1, SIZE_MAX_P);
        return 0;
    case 'n':
        o->radix = ncoll__radix_parse(arg);
        if (o->radix == 0)
            argp_error(state, "radix '%s': give a number from 1 to %u, or up to %u, as in 3,2,2",
                       arg, RADIX_MAX, RADICES_MAX);
        return 0;
    case 'r':
        o->rank = number(state, "rank", arg, 0, SIZE_MAX_P - 1);
        return 0;
    case KEY_BARRIER:
    case KEY_COLLECTIVE:
        if (o->collective != 0)
            argp_error(state, "give one collective");
        o->collective = key == KEY_BARRIER ? COLL_BARRIER : collective_asked(state, arg);
        return 0;
    case KEY_ROOT:
        o->root = number(state, "root", arg, 0, SIZE_MAX_P - 1);
        return 0;
    case KEY_NO_INVERSE:
        o->no_inverse = true;
        return 0;
    case KEY_NODES:
        o->nodes = arg;
        return 0;
    case KEY_NODE_OF:
        o->node_of = arg;
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

static void list_registry(void)
{
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        printf("%-21s %s\n%-21s %s\n%-21s", a->name, a->summary, "", a->source, "");
        print_collectives(stdout, a);
        printf(a->properties & TAKES_LIST   ? "; n or a list\n"
               : a->properties & USES_RADIX ? "; n\n"
                                            : "\n");
    }
}

/* Why there is no schedule: a mistake, since the command line says all that it depends on. */
static int say_none(const struct algorithm *a, const struct shape *g)
{
    char radix[RADIX_TEXT];
    struct shape on_two = *g;

    fprintf(stderr, "%s: %s does not exist for %u ranks and radix %s%s",
            program_invocation_short_name, a->name, g->size, ncoll__radix_text(g->radix, radix),
            g->nodes != NULL ? " on these nodes" : "");
    if (g->nodes == NULL && g->size > 1) {
        on_two.nodes = nodes_of_halves(g->size);
        if (algorithm_exists(a, &on_two))
            fprintf(stderr, ": it goes by which ranks share a node: give --nodes or --node-of");
    }
    fputc('\n', stderr);
    return EXIT_USAGE;
}

static int explain_schedule(const struct options *o)
{
    struct shape g = {
        .collective = o->collective,
        .rank = o->rank < 0 ? 0 : (unsigned)o->rank,
        .size = o->size,
        .root = o->root,
        .radix = o->radix,
        .inverse = !o->no_inverse,
        .nodes = nodes_given(),
    };

    if (!algorithm_exists(o->algorithm, &g))
        return say_none(o->algorithm, &g);
    if (g.nodes != NULL)
        nodes_print();
    g.count = explained_count(o->algorithm, g);
    if (o->rank >= 0)
        explain_rank(o->algorithm, &g);
    else
        explain_table(o->algorithm, &g);
    return 0;
}

static int run(const struct options *o)
{
    switch (o->command) {
    case COMMAND_SCHEDULE:
        return explain_schedule(o);
    case COMMAND_TUPLE:
        if (o->count > 0)
            count_tuples(o->count, o->radix);
        else
            explain_tuple(o->size, o->radix);
        return 0;
    default:
        list_registry();
        return 0;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {argp_options, parse_one, "schedule|tuple|list", doc, NULL,
                                     NULL,         NULL};
    struct options o = {.rank = -1};

    output_open();
    arguments_open();
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    int status = run(&o);
    return output_written(stdout) ? status : EXIT_FAILURE;
}
