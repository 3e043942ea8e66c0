/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tools/inside.h"
#include "tools/arguments.h"
#include "tools/bench/names.h"
#include "tools/explain/messages.h"
#include "tools/explain/walk.h"

#define SIZE_MAX_P 1048576 /* most ranks for a tuple or one rank's steps */
#define TABLE_P    1024    /* most rows of a table */
#define BYTES      8
#define COST_MAX   1e9 /* ns */

static const char *const commands[] = {"", "schedule", "tuple", "list", "timeline", "draw"};

static const char doc[] =
    "Explains ncoll's algorithms.\n\n"
    "  schedule -a NAME -P SIZE -n RADIX   what each rank combines, round by round\n"
    "  schedule -a NAME --nodes LIST -n R  the same for ranks on nodes\n"
    "  tuple -P SIZE -n RADIX              the 5-tuple of the adapted algorithm, or 'none'\n"
    "  tuple --count MAX -n RADIX          how many P in 2..MAX it serves, adapted or exact\n"
    "  draw -a NAME -P SIZE -o FILE        the messages of all rounds as a picture (SVG)\n"
    "  draw --data -a NAME -P SIZE ...     what each rank has after each round\n"
    "  list                                the algorithms\n"
    "  timeline FILE... -o FILE            one time-line from the files of NCOLL_TRACE\n"
    "\v"
    "In tables x3 is the vector of rank 3, x3[2] its block or slice 2; S3_1 is what rank 3 has "
    "combined by the end of round 1, S3_1[2] of block or slice 2, S'3_1, S''3_1 more that it keeps "
    "from that round; o is the operation, o^-1 takes out again. "
    "A value that came in a message has the name that its sender gave it. 'gets' lists what a rank "
    "received and only stored, and from whom, 'hears from' the ranks whose messages had no data.";

/* "1500,200,0.1" */
static void take_cost(const struct argp_state *state, const char *text, struct message_cost *out)
{
    double L, o, G;
    char end;

    if (sscanf(text, "%lf,%lf,%lf%c", &L, &o, &G, &end) != 3 || !(L >= 0 && L < COST_MAX) ||
        !(o >= 0 && o < COST_MAX) || !(G >= 0 && G < COST_MAX))
        argp_error(state, "costs '%s': give L,o,G, three numbers of ns, as 1500,200,0.1", text);
    *out = (struct message_cost){L, o, G};
}

static error_t set_bytes(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;

    o->costs.bytes = parse_bytes(text);
    return o->costs.bytes > 0
               ? 0
               : arguments_mistake(state, "bytes '%s': give a size, as 8 or 64K", text);
}

static error_t set_collective(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;

    if (o->collective != 0)
        return arguments_mistake(state, "give one collective");
    int code = text == NULL
                   ? COLL_BARRIER
                   : arguments_name(state, "collective", text, names_of_collectives, COLLECTIVES);
    o->collective = code > 0 ? (enum collective)code : 0;
    return code < 0 ? EINVAL : 0;
}

#define AT(member) offsetof(struct options, member)

static const struct argument table[] = {
    {"algorithm", "NAME", "algorithm, see 'list'", 'a', ARGUMENT_ALGORITHM, AT(algorithm)},
    {"size", "SIZE", "number of ranks", 'P', ARGUMENT_COUNT, AT(size), 1, SIZE_MAX_P},
    {"radix", "RADIX",
     "messages that a rank sends at once, 1..16; or a list with one number for each round, as "
     "3,2,2, whose last number holds for all further rounds",
     'n', ARGUMENT_RADIX, AT(radix)},
    {"rank", "RANK", "print the steps of this rank instead of the table", 'r', ARGUMENT_COUNT,
     AT(rank), 0, SIZE_MAX_P - 1},
    {"collective", "NAME",
     "the schedule of this collective (default: allreduce, or the first that the algorithm has)", 0,
     ARGUMENT_OWN, .take = set_collective},
    {"barrier", NULL, "short for --collective barrier", 0, ARGUMENT_OWN, .take = set_collective},
    {"root", "RANK", "root of a bcast, reduce, gather or scatter (default 0)", 0, ARGUMENT_COUNT,
     AT(root), 0, SIZE_MAX_P - 1},
    {"slots", "SLOTS",
     "slots that a part of the call may use; with few of them it is done in parts", 0,
     ARGUMENT_COUNT, AT(slots), 1, SLOTS_MAX},
    {"places", "PLACES",
     "how many ranks take part, the root and those to its right, in a bcast or reduce of a part of "
     "the ranks (default: all)",
     0, ARGUMENT_COUNT, AT(places), 1, SIZE_MAX_P},
    {"no-inverse", NULL, "the operation has no inverse", 0, ARGUMENT_FLAG, AT(no_inverse)},
    {"nodes", "LIST",
     "how many ranks each node has, as 2,3,1, instead of -P; ranks are numbered "
     "node by node",
     0, ARGUMENT_TEXT, AT(nodes)},
    {"node-of", "LIST", "the node of each rank, as 0,1,1,0, instead of -P", 0, ARGUMENT_TEXT,
     AT(node_of)},
    {"data", NULL, "draw: the data that each rank has after each round", 0, ARGUMENT_FLAG,
     AT(data)},
    {"costs", "L,o,G",
     "also print when rounds end, if a message takes its sender o ns and G ns for each byte, and "
     "arrives L ns later",
     0, ARGUMENT_TEXT, AT(far)},
    {"near-costs", "L,o,G", "costs of messages between ranks of a node", 0, ARGUMENT_TEXT,
     AT(near)},
    {"bytes", "SIZE", "size of the vector or of each block, for --costs (default 8)", 0,
     ARGUMENT_OWN, .take = set_bytes},
    {"output", "FILE", "write the picture or time-line to this file (default: standard output)",
     'o', ARGUMENT_TEXT, AT(output)},
    {"count", "MAX", "tuple: print for how many P in 2..MAX there is a tuple, or none is needed", 0,
     ARGUMENT_COUNT, AT(count), 2, SIZE_MAX_P},
    {0},
};

static enum command command_named(const struct argp_state *state, const char *name)
{
    for (unsigned i = COMMAND_SCHEDULE; i <= COMMAND_DRAW; i++)
        if (strcmp(name, commands[i]) == 0)
            return i;
    argp_error(state, "'%s' is unknown: give schedule, draw, tuple, list or timeline", name);
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
    unsigned ranks = nodes_take(list, o->nodes != NULL, TABLE_P);
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

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* Most options are for schedule; the other commands take some of them, list none. */
static bool is_taken(enum command command, const char *name)
{
    static const char *const by_tuple[] = {"size", "radix", "count", NULL};
    static const char *const by_draw[] = {"output", "data", NULL};
    static const char *const not_by_draw[] = {"rank",  "costs", "near-costs",
                                              "bytes", "count", NULL};

    switch (command) {
    case COMMAND_TIMELINE:
        return strcmp(name, "output") == 0;
    case COMMAND_TUPLE:
        return is_one_of(name, by_tuple);
    case COMMAND_SCHEDULE:
        return !is_one_of(name, by_draw) && strcmp(name, "count") != 0;
    case COMMAND_DRAW:
        return !is_one_of(name, not_by_draw);
    default:
        return false;
    }
}

static void check_costs(const struct argp_state *state, struct options *o)
{
    if (o->far == NULL && (o->near != NULL || o->costs.bytes > 0))
        argp_error(state, "--%s is for --costs: add --costs, or leave it out",
                   o->near != NULL ? "near-costs" : "bytes");
    if (o->near != NULL && o->nodes == NULL && o->node_of == NULL)
        argp_error(state,
                   "--near-costs depends on which ranks share a node: give --nodes or --node-of");
    if (o->far == NULL)
        return;
    if (o->size > TABLE_P)
        argp_error(state, "--costs is for up to %u ranks", TABLE_P);
    take_cost(state, o->far, &o->costs.far);
    take_cost(state, o->near != NULL ? o->near : o->far, &o->costs.near);
    if (o->costs.bytes == 0)
        o->costs.bytes = BYTES;
}

/* Options that the command does not take. */
static void check_takers(const struct argp_state *state, const struct options *o)
{
    for (unsigned i = 0; table[i].help != NULL; i++)
        if (arguments_given(table, o->given, table[i].name) && !is_taken(o->command, table[i].name))
            argp_error(state, "%s takes no --%s", commands[o->command], table[i].name);
    if (o->command == COMMAND_TUPLE && o->size != 0 && o->count != 0)
        argp_error(state, "give -P for one tuple or --count for how many there are, not both");
}

static void check_algorithm(const struct argp_state *state, const struct options *o)
{
    const struct algorithm *a = o->algorithm;
    char served[256];

    if (o->radix != 1 && !(a->properties & USES_RADIX)) /* it sends one message at once, or all */
        argp_error(state, "%s has no radix: leave out -n", a->name);
    if (o->slots > 0 && a->turns == NULL)
        argp_error(state, "%s is not done in parts: leave out --slots", a->name);
    if (radix_is_list(o->radix) && !(a->properties & TAKES_LIST))
        argp_error(state, "%s takes one radix, not a list", a->name);
    if (a->collectives & 1u << o->collective)
        return;
    argp_error(state, "%s has no %s, but %s", a->name, ncoll__collective_name(o->collective),
               collectives_text(a->collectives, served, sizeof served));
}

static void check_places(const struct argp_state *state, struct options *o)
{
    bool takes = o->algorithm->properties & TAKES_PLACES;

    if (o->places > 0 && !takes)
        argp_error(state, "%s is for all ranks: leave out --places", o->algorithm->name);
    if (o->places > o->size)
        argp_error(state, "places %u: give 1 to %u", o->places, o->size);
    if (takes && o->places == 0)
        o->places = o->size;
}

/* The allreduce, or else the first that it serves. */
static enum collective first_collective(const struct algorithm *a)
{
    return a->collectives & 1u << COLL_ALLREDUCE ? COLL_ALLREDUCE
                                                 : (enum collective)(ffs((int)a->collectives) - 1);
}

static error_t finish(struct argp_state *state, void *arg)
{
    struct options *o = arg;

    if (o->command == COMMAND_NONE)
        argp_error(state, "give schedule, draw, tuple, list or timeline");
    check_takers(state, o);
    if (o->command == COMMAND_TIMELINE && o->n_files == 0)
        argp_error(state, "give the files that a job has written with NCOLL_TRACE=FILE: FILE.*");
    if (o->command == COMMAND_LIST || o->command == COMMAND_TIMELINE)
        return 0;
    if (o->algorithm != NULL && !(o->algorithm->properties & USES_RADIX) && o->radix == 0)
        o->radix = 1;
    if (o->radix == 0)
        argp_error(state, "give a radix: -n 1..%u", RADIX_MAX);
    take_nodes(state, o);
    if (o->size == 0 && o->count == 0)
        argp_error(state, "give the number of ranks: -P 1..%u",
                   o->command == COMMAND_DRAW ? PICTURE_RANKS : SIZE_MAX_P);
    if (o->command == COMMAND_DRAW && o->size > PICTURE_RANKS)
        argp_error(state, "a picture of %u ranks could not be read: give at most %u", o->size,
                   PICTURE_RANKS);
    if (o->command == COMMAND_TUPLE && radix_is_list(o->radix))
        argp_error(state, "tuples are for one radix, not for a list");
    if (o->command == COMMAND_TUPLE)
        return 0;
    if (o->algorithm == NULL)
        argp_error(state, "give an algorithm: -a NAME, see 'ncoll-explain list'");
    if (o->rank < 0 && o->size > TABLE_P)
        argp_error(state, "a table has at most %u ranks; give a rank: -r RANK", TABLE_P);
    if (o->rank >= (int)o->size)
        argp_error(state, "rank %d: give one from 0 to %u", o->rank, o->size - 1);
    if (o->collective == 0)
        o->collective = first_collective(o->algorithm);
    if (o->root >= o->size)
        argp_error(state, "root %u: give a rank from 0 to %u", o->root, o->size - 1);
    if (o->root > 0 && !is_rooted(o->collective))
        argp_error(state, "%s has no root", ncoll__collective_name(o->collective));
    check_algorithm(state, o);
    check_places(state, o);
    check_costs(state, o);
    if (o->data && o->collective == COLL_BARRIER)
        argp_error(state, "a barrier moves no data: leave out --data");
    return 0;
}

static error_t take_command(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;

    if (o->command == COMMAND_TIMELINE) {
        if (o->files == NULL)
            o->files = allocate((size_t)state->argc, sizeof *o->files);
        o->files[o->n_files++] = text;
        return 0;
    }
    if (o->command != COMMAND_NONE)
        return arguments_mistake(state, "'%s' comes after the command: give one command", text);
    o->command = command_named(state, text);
    return 0;
}

void options_parse(int argc, char **argv, struct options *out)
{
    static const struct arguments arguments = {
        table, "schedule|draw|tuple|list|timeline FILE...", doc, take_command, finish, AT(given)};

    *out = (struct options){.rank = -1};
    arguments_parse(&arguments, argc, argv, false, out);
}
