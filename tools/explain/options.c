/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure/card.h"
#include "tools/arguments.h"
#include "tools/bench/names.h"

#define SIZE_MAX_P 1048576 /* most ranks for a tuple or one rank's steps */
#define TABLE_P    1024    /* most rows of a table */
#define BYTES      8
#define COST_MAX   1e9 /* ns */

static const char *const commands[] = {"", "schedule", "tuple", "list"};
enum {
    KEY_BARRIER = 256,
    KEY_COLLECTIVE,
    KEY_ROOT,
    KEY_NO_INVERSE,
    KEY_COUNT,
    KEY_NODES,
    KEY_NODE_OF,
    KEY_COSTS,
    KEY_NEAR_COSTS,
    KEY_BYTES,
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
    {"costs", KEY_COSTS, "L,o,G", 0,
     "also when rounds end, where a message takes its sender o ns and G for each byte, and comes "
     "L ns later",
     0},
    {"near-costs", KEY_NEAR_COSTS, "L,o,G", 0, "the same between ranks of a node", 0},
    {"bytes", KEY_BYTES, "SIZE", 0, "of the vector or each block, for --costs (8)", 0},
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
    [KEY_COSTS] = 1u << COMMAND_SCHEDULE,
    [KEY_NEAR_COSTS] = 1u << COMMAND_SCHEDULE,
    [KEY_BYTES] = 1u << COMMAND_SCHEDULE,
};

static bool is_given(const struct options *o, int key)
{
    for (unsigned i = 0; argp_options[i].name != NULL; i++)
        if (argp_options[i].key == key)
            return (o->given & UINT64_C(1) << i) != 0;
    return false;
}

/* "1500,200,0.1" */
static struct transport_cost cost_asked(const struct argp_state *state, const char *text)
{
    double numbers[3];
    const char *rest = text;

    for (int i = 0; i < 3; i++) {
        char *end;
        numbers[i] = strtod(rest, &end);
        if (end == rest || !(numbers[i] >= 0 && numbers[i] < COST_MAX) ||
            *end != (i < 2 ? ',' : '\0'))
            argp_error(state, "costs '%s': give L,o,G, three numbers of ns, as 1500,200,0.1", text);
        rest = end + (*end == ',');
    }
    return (struct transport_cost){numbers[0], numbers[1], numbers[2]};
}

static void check_costs(const struct argp_state *state, struct options *o)
{
    bool near = is_given(o, KEY_NEAR_COSTS);

    o->has_costs = is_given(o, KEY_COSTS);
    if (!o->has_costs && (near || is_given(o, KEY_BYTES)))
        argp_error(state, "--%s is of --costs: add that, or leave it out",
                   near ? "near-costs" : "bytes");
    if (near && o->nodes == NULL && o->node_of == NULL)
        argp_error(state,
                   "--near-costs goes by which ranks share a node: give --nodes or --node-of");
    if (o->has_costs && o->size > TABLE_P)
        argp_error(state, "--costs is for up to %u ranks", TABLE_P);
    if (!near)
        o->costs.near = o->costs.far;
    if (!is_given(o, KEY_BYTES))
        o->costs.bytes = BYTES;
}

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

    if (o->radix != 1 && !(a->properties & USES_RADIX)) /* which send one at once, or all */
        argp_error(state, "%s has no radix: leave out -n", a->name);
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
    check_costs(state, o);
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
        o->algorithm = arguments_algorithm(state, arg);
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
    case KEY_COSTS:
        o->costs.far = cost_asked(state, arg);
        return 0;
    case KEY_NEAR_COSTS:
        o->costs.near = cost_asked(state, arg);
        return 0;
    case KEY_BYTES:
        o->costs.bytes = parse_bytes(arg);
        if (o->costs.bytes == 0)
            argp_error(state, "bytes '%s': give a size, as 8 or 64K", arg);
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

void options_parse(int argc, char **argv, struct options *out)
{
    static const struct argp argp = {argp_options, parse_one, "schedule|tuple|list", doc, NULL,
                                     NULL,         NULL};

    *out = (struct options){.rank = -1};
    arguments_open();
    argp_parse(&argp, argc, argv, 0, NULL, out);
}
