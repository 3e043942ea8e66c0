/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/bench/names.h"
#include "tools/inside.h"
#include "tools/sim/sim.h"

#define TIME_MAX_US  1e9
#define NOISE_MIN_US 1e-3 /* the shortest detour; a run with shorter ones would take too long */

static const char doc[] = "Says how long collectives take on machines of up to a million ranks: "
                          "the library's own schedules, run "
                          "on all ranks under LogGP. Without a COLLECTIVE it is allreduce.\n"
                          "\v"
                          "Lists have commas: 8,1K,64K. A:B is each number from A to B, A:B:S "
                          "every S-th, A:B:xF each F times the one "
                          "before. Times of noise, late ranks and stalls are in microseconds.";

/* ------------------------------------------------------------------ lists --------------------- */

static bool read_value(const char *text, bool bytes, size_t *out)
{
    *out = bytes ? parse_bytes(text) : (size_t)parse_number(text, 1, LOGGP_RANKS_MAX);
    return bytes ? *out > 0 : (long)*out > 0;
}

/* Adds a number A or a range A:B, A:B:S or A:B:xF to a list. Returns false if it has another form,
 * or if the list gets too long. */
static bool add_range(char *item, bool bytes, size_t *list, unsigned *n)
{
    char *rest = item, *low = strsep(&rest, ":"), *high = strsep(&rest, ":"),
         *by = strsep(&rest, ":");
    size_t from, to, step = bytes ? 2 : 1;
    bool times = bytes || (by != NULL && by[0] == 'x');

    if (rest != NULL || !read_value(low, bytes, &from))
        return false;
    to = from;
    if (high != NULL && (!read_value(high, bytes, &to) || to < from))
        return false;
    if (by != NULL) {
        long value = parse_number(by + (by[0] == 'x'), 1 + (by[0] == 'x'), LOGGP_RANKS_MAX);
        if (value < 0)
            return false;
        step = (size_t)value;
        times = by[0] == 'x';
    }
    while (*n < LIST_MAX) {
        list[(*n)++] = from;
        if (times ? from > to / step : to - from < step)
            return true;
        from = times ? from * step : from + step;
    }
    return false;
}

static bool read_list(const char *text, bool bytes, size_t *list, unsigned *n)
{
    char *copy = strdup(text), *rest = copy, *item;
    bool good = copy != NULL;

    *n = 0;
    while (good && (item = strsep(&rest, ",")) != NULL)
        good = add_range(item, bytes, list, n);
    free(copy);
    return good;
}

static error_t take_ranks(struct argp_state *state, const char *text, void *arg)
{
    static size_t list[LIST_MAX];
    struct options *o = arg;

    if (!read_list(text, false, list, &o->n_ranks))
        return arguments_mistake(state,
                                 "-P takes numbers of ranks up to %u, no more than %u of them, "
                                 "such as 2:36, 8,64,512 or 2:4096:x2, not '%s'",
                                 LOGGP_RANKS_MAX, LIST_MAX, text);
    for (unsigned i = 0; i < o->n_ranks; i++)
        o->ranks[i] = (unsigned)list[i];
    return 0;
}

static error_t take_sizes(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;

    if (read_list(text, true, o->sizes, &o->n_sizes))
        return 0;
    return arguments_mistake(state, "-s takes sizes such as 8,1K or 8:64K, not '%s'", text);
}

/* Reads radices such as 1,2,3 or 1:7. A radix that is a list with a number for each round has the
 * form 3/2/2. */
static error_t take_radii(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;
    char *copy = strdup(text), *rest = copy, *item;

    o->n_radii = 0;
    while ((item = strsep(&rest, ",")) != NULL) {
        unsigned low = 0, high = 0;
        char end;
        if (sscanf(item, "%u:%u%c", &low, &high, &end) != 2) {
            for (char *c = item; *c != '\0'; c++)
                *c = *c == '/' ? ',' : *c;
            low = high = ncoll__radix_parse(item);
        }
        bool good = low > 0 && low <= high && (low == high || high <= RADIX_MAX) &&
                    ncoll__radix_is_valid(low);
        for (unsigned n = low; good && n <= high; n++) {
            good = o->n_radii < RADII_MAX;
            if (good)
                o->radii[o->n_radii++] = n;
            if (n == high)
                break;
        }
        if (!good) {
            o->n_radii = 0;
            break;
        }
    }
    free(copy);
    if (o->n_radii > 0)
        return 0;
    return arguments_mistake(state,
                             "-n takes radices of 1 to %u such as 1,3 or 1:7, or with a number for "
                             "each round, 3/2/2, not '%s'",
                             RADIX_MAX, text);
}

static error_t take_algorithms(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;
    char *copy = strdup(text), *rest = copy, *item;
    error_t status = copy != NULL ? 0 : ENOMEM;

    while (status == 0 && (item = strsep(&rest, ",")) != NULL) {
        const char *name = strsep(&item, "=");
        const struct algorithm *a = ncoll__algorithm_find(name);
        unsigned radix = item != NULL ? ncoll__radix_parse(item) : 0;
        if (item != NULL && radix == 0)
            status = arguments_mistake(state, "%s=%s: a radix is a number of 1 to %u", name, item,
                                       RADIX_MAX);
        else if (strcmp(name, "all") == 0 && item == NULL)
            o->all_algorithms = true;
        else if (a != NULL && o->n_algorithms < ALGORITHMS_MAX) {
            o->radix_of[o->n_algorithms] = radix;
            o->algorithms[o->n_algorithms++] = a;
        } else
            status = arguments_mistake(
                state, "unknown algorithm '%s'; `ncoll-explain list' has them, and there is all",
                name);
    }
    free(copy);
    return status;
}

static error_t take_collective(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;
    int code = arguments_name(state, "collective", text, names_of_collectives, NAME_ALL);

    if (code < 0)
        return EINVAL;
    o->collectives |= 1u << code;
    return 0;
}

static error_t take_segment(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;

    o->segment_bytes = parse_bytes(text);
    return o->segment_bytes > 0
               ? 0
               : arguments_mistake(state, "--segment takes a size such as 64K, not '%s'", text);
}

/* ------------------------------------------------------------------ the machine --------------- */

static error_t take_topology(struct argp_state *state, const char *text, void *arg)
{
    struct loggp_network *n = &((struct options *)arg)->network;
    unsigned a, b, c;
    double ratio = 1;
    char end;

    if (strcmp(text, "switch") == 0) {
        n->topology = LOGGP_SWITCH;
        return 0;
    }
    int read = sscanf(text, "fat-tree:%u,%lf%c", &a, &ratio, &end);
    if ((read == 1 || read == 2) && strchr(text, '-') == strrchr(text, '-') && a > 0 &&
        a <= LOGGP_RANKS_MAX && ratio >= 1 && ratio <= a &&
        (read == 2 || strchr(text, ',') == NULL)) {
        unsigned uplinks = (unsigned)(a / ratio + 0.5);
        *n = (struct loggp_network){.topology = LOGGP_FAT_TREE,
                                    .sizes = {a, uplinks > 0 ? uplinks : 1, 0},
                                    .hop_ns = n->hop_ns,
                                    .contention = n->contention};
        return 0;
    }
    bool torus = sscanf(text, "torus:%u,%u,%u%c", &a, &b, &c, &end) == 3;
    bool dragonfly = !torus && sscanf(text, "dragonfly:%u,%u%c", &a, &b, &end) == 2;
    if ((torus || dragonfly) && a > 0 && b > 0 && a <= 4096 && b <= 4096 &&
        (!torus || (c > 0 && c <= 4096))) {
        n->topology = torus ? LOGGP_TORUS : LOGGP_DRAGONFLY;
        n->sizes[0] = a;
        n->sizes[1] = b;
        n->sizes[2] = torus ? c : 0;
        return 0;
    }
    return arguments_mistake(state,
                             "--topology takes switch, fat-tree:NODES,OVERSUBSCRIPTION, "
                             "dragonfly:NODES,ROUTERS or torus:X,Y,Z, not '%s'",
                             text);
}

/* Reads a trace of noise. Each line has a time and a length, both in microseconds. */
static error_t read_trace(const struct argp_state *state, const char *name, struct options *o)
{
    FILE *file = fopen(name, "re");
    double start, length, over = 0;
    int read = 0;

    if (file == NULL)
        return arguments_mistake(state, "cannot read '%s': %s", name, strerror(errno));
    free(o->trace);
    o->noise.n_trace = 0;
    o->trace = malloc(TRACE_MAX * sizeof *o->trace);
    while (o->trace != NULL && o->noise.n_trace < TRACE_MAX &&
           (read = fscanf(file, "%lf %lf", &start, &length)) == 2 && start >= over && length > 0 &&
           start + length < TIME_MAX_US) {
        o->trace[o->noise.n_trace++] = (struct loggp_detour){1e3 * start, 1e3 * length};
        over = start + length;
    }
    bool whole = read == EOF && feof(file);
    fclose(file);
    if (!whole || o->noise.n_trace == 0)
        return arguments_mistake(state,
                                 "%s, entry %zu: a trace has lines of a time and a length in "
                                 "microseconds, one after the other, up to %g",
                                 name, o->noise.n_trace + 1, TIME_MAX_US);
    o->noise.kind = LOGGP_TRACE;
    o->noise.trace = o->trace;
    /* The trace is repeated after its last detour and a gap as long as the one before its first
     * detour. */
    o->noise.period_ns = 1e3 * over + o->trace[0].start_ns + 1;
    return 0;
}

static error_t take_noise(struct argp_state *state, const char *text, void *arg)
{
    struct options *o = arg;
    double interval, length;
    char end;

    o->noise_text = text;
    if (strncmp(text, "trace:", 6) == 0)
        return read_trace(state, text + 6, o);
    bool fixed = sscanf(text, "fixed:%lf,%lf%c", &interval, &length, &end) == 2;
    bool exponential =
        !fixed && sscanf(text, "exponential:%lf,%lf%c", &interval, &length, &end) == 2;
    if ((fixed || exponential) && length >= NOISE_MIN_US && interval > length &&
        interval < TIME_MAX_US) {
        o->noise.kind = fixed ? LOGGP_FIXED : LOGGP_EXPONENTIAL;
        o->noise.interval_ns = 1e3 * interval;
        o->noise.length_ns = 1e3 * length;
        return 0;
    }
    return arguments_mistake(
        state,
        "--noise takes fixed:INTERVAL,LENGTH, exponential:INTERVAL,LENGTH (microseconds from %g to "
        "%g, the interval the longer one) or trace:FILE, not '%s'",
        NOISE_MIN_US, TIME_MAX_US, text);
}

static error_t take_late(struct argp_state *state, const char *text, void *arg)
{
    struct loggp_noise *n = &((struct options *)arg)->noise;
    double us;
    char end;

    if (text[0] != '-' && sscanf(text, "%u:%lf%c", &n->late, &us, &end) == 2 && n->late > 0 &&
        us > 0 && us <= TIME_MAX_US) {
        n->late_ns = 1e3 * us;
        return 0;
    }
    return arguments_mistake(
        state, "--late takes RANKS:MICROSECONDS, up to %g of these, as in 1:50, not '%s'",
        TIME_MAX_US, text);
}

static error_t take_stall(struct argp_state *state, const char *text, void *arg)
{
    struct loggp_noise *n = &((struct options *)arg)->noise;
    double at, us;
    char end;

    if (text[0] != '-' && sscanf(text, "%u:%lf,%lf%c", &n->stalled, &at, &us, &end) == 3 &&
        n->stalled > 0 && at >= 0 && us > 0 && at + us <= TIME_MAX_US) {
        n->stall_at_ns = 1e3 * at;
        n->stall_ns = 1e3 * us;
        return 0;
    }
    return arguments_mistake(
        state, "--stall takes RANKS:AT,MICROSECONDS, up to %g of these, as in 1:2,50, not '%s'",
        TIME_MAX_US, text);
}

static error_t take_seed(struct argp_state *state, const char *text, void *arg)
{
    char *end;

    errno = 0;
    ((struct options *)arg)->seed = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0' && end != text && text[0] != '-')
        return 0;
    return arguments_mistake(state, "--seed takes a number, not '%s'", text);
}

/* ------------------------------------------------------------------ the table ----------------- */

#define AT(member) offsetof(struct options, member)

static const struct argument table[] = {
    {"algorithm", "NAME",
     "algorithms, or all that serve the collective (default); NAME=N: with radix N", 'a',
     ARGUMENT_OWN, .take = take_algorithms},
    {"ranks", "LIST", "numbers of ranks, up to 1048576", 'P', ARGUMENT_OWN, .take = take_ranks},
    {"sizes", "LIST", "bytes of the vector or of each block (default 8); A:B by powers of two", 's',
     ARGUMENT_OWN, .take = take_sizes},
    {"total", NULL, "sizes are those of all blocks together", 0, ARGUMENT_FLAG, AT(total)},
    {"radix", "RADII", "messages that a rank sends at once (default 1)", 'n', ARGUMENT_OWN,
     .take = take_radii},
    {"best", NULL, "of these radices only the fastest at each point", 0, ARGUMENT_FLAG, AT(best)},
    {"distribution", "HOW",
     "blocks of collectives with counts: regular (default), decreasing or broadcast", 0,
     ARGUMENT_NAME, AT(distribution), .names = names_of_distributions},
    {"root", "RANK", "root of a bcast, reduce, gather or scatter (default 0)", 0, ARGUMENT_COUNT,
     AT(root), 0, LOGGP_RANKS_MAX - 1},
    {"fraction", "FRACTION",
     "of the ranks that take part in a bcast or reduce by algorithm threshold (default 1)", 0,
     ARGUMENT_REAL, AT(fraction), 0, 1},
    {"segment", "BYTES", "cut longer vectors into segments of so many bytes", 0, ARGUMENT_OWN,
     .take = take_segment},
    {"lanes", "LANES", "segments or parts that go on at the same time (default 1)", 0,
     ARGUMENT_COUNT, AT(lanes), 1, LOGGP_LANES_MAX},
    {"slots", "SLOTS",
     "slots that a part of a call may use, where an algorithm can be done in parts (default 4096)",
     0, ARGUMENT_COUNT, AT(slots), 1, SLOTS_MAX},
    {"params", "NAME",
     "costs of messages between nodes: qdr, fdr, hdr (default), ndr, shm, a file that ncoll-bench "
     "--raw or "
     "ncoll-tune --costs has written with --json, or L=NS,o=NS,G=NS",
     0, ARGUMENT_TEXT, AT(far)},
    {"near", "NAME", "the same for messages within a node (default shm)", 0, ARGUMENT_TEXT,
     AT(near)},
    {"per-node", "RANKS", "ranks of each node (default 1)", 0, ARGUMENT_COUNT, AT(per_node), 1,
     65536},
    {"topology", "NAME",
     "switch (default), fat-tree:NODES,OVERSUBSCRIPTION, dragonfly:NODES,ROUTERS, torus:X,Y,Z", 0,
     ARGUMENT_OWN, .take = take_topology},
    {"contention", NULL, "each link carries one message at a time", 0, ARGUMENT_FLAG,
     AT(network.contention)},
    {"hop", "NS", "time of each switch beyond the first (default 100)", 0, ARGUMENT_REAL,
     AT(hop_ns), 0, 1e9},
    {"noise", "KIND",
     "fixed:INTERVAL,LENGTH, exponential:INTERVAL,LENGTH or trace:FILE: detours of each processor",
     0, ARGUMENT_OWN, .take = take_noise},
    {"late", "RANKS:US", "so many ranks enter so late; times are from their entry", 0, ARGUMENT_OWN,
     .take = take_late},
    {"stall", "RANKS:AT,US", "so many ranks stop for so long", 0, ARGUMENT_OWN, .take = take_stall},
    {"repeat", "RUNS", "runs of each point, with a seed each (default 1)", 0, ARGUMENT_COUNT,
     AT(repeat), 1, REPEATS},
    {"seed", "SEED", "of the first run: the same seed gives the same times (default 1)", 0,
     ARGUMENT_OWN, .take = take_seed},
    {"json", "FILE", "also write JSON (-: to standard output)", 0, ARGUMENT_TEXT, AT(json)},
    {"plot", "FILE", "also draw the times as SVG, by ranks or by size", 0, ARGUMENT_TEXT, AT(plot)},
    {"trace", "FILE", "also write the time-line of the first run, for Perfetto or chrome://tracing",
     0, ARGUMENT_TEXT, AT(trace_file)},
    {"quiet", NULL, "show no progress", 'q', ARGUMENT_FLAG, AT(quiet)},
    {0},
};

static struct known_costs read_costs(const struct argp_state *state, const char *from)
{
    struct known_costs known;
    char text[256];
    bool is_file;
    const char *wrong = costs_read(from, &known, &is_file, text);

    if (wrong != NULL)
        argp_failure(state, is_file ? EXIT_FAILURE : EXIT_USAGE, 0, "%s", wrong);
    return known;
}

static bool serves_one(const struct options *o)
{
    for (unsigned i = 0; i < o->n_algorithms; i++)
        if (o->algorithms[i]->collectives & (o->collectives | o->collectives >> WITH_COUNTS))
            return true;
    return o->all_algorithms;
}

static error_t finish(struct argp_state *state, void *arg)
{
    struct options *o = arg;
    unsigned most = 0;

    if (o->collectives == 0)
        o->collectives = 1u << COLL_ALLREDUCE;
    o->all_algorithms |= o->n_algorithms == 0;
    if (o->n_ranks == 0)
        return arguments_mistake(state, "give numbers of ranks: -P LIST");
    if (!serves_one(o))
        return arguments_mistake(
            state, "algorithm '%s' does not serve this collective: see `ncoll-explain list'",
            o->algorithms[0]->name);
    for (unsigned i = 0; i < o->n_ranks; i++)
        most = o->ranks[i] > most ? o->ranks[i] : most;
    for (unsigned i = 0; i < o->n_ranks; i++)
        if (o->root >= o->ranks[i])
            return arguments_mistake(state, "--root: there is no rank %u of %u", o->root,
                                     o->ranks[i]);
    for (unsigned i = 0; i < o->n_sizes && o->segment_bytes > 0; i++)
        if (o->sizes[i] / o->segment_bytes >= LOGGP_SEGMENTS_MAX)
            return arguments_mistake(state, "--segment: more than %u segments", LOGGP_SEGMENTS_MAX);
    for (unsigned i = 0; i < o->n_ranks; i++)
        if (o->noise.late > o->ranks[i] || o->noise.stalled > o->ranks[i])
            return arguments_mistake(
                state, "%u ranks cannot be late or stopped of %u",
                o->noise.late > o->noise.stalled ? o->noise.late : o->noise.stalled, o->ranks[i]);
    uint64_t room = loggp_room(&o->network);
    if (room > 0 && room < (most + o->per_node - 1) / o->per_node)
        return arguments_mistake(state, "a torus of %llu nodes has no room for %u ranks",
                                 (unsigned long long)room, most);
    if (o->lanes > 1 && o->segment_bytes == 0 && o->slots == 0)
        return arguments_mistake(
            state, "--lanes is for segments and parts: give --segment or --slots, too");
    o->network.hop_ns = o->hop_ns;
    struct known_costs far = read_costs(state, o->far);
    o->costs.far = far.cost;
    o->costs.near = read_costs(state, o->near).cost;
    if (far.local_byte_ns >= 0)
        o->costs.local_byte_ns = far.local_byte_ns;
    if (far.call_ns >= 0)
        o->costs.call_ns = far.call_ns;
    return 0;
}

void options_parse(int argc, char **argv, struct options *out)
{
    static const struct arguments arguments = {table,  "[COLLECTIVE]...", doc, take_collective,
                                               finish, AT(given)};

    /* The default cost of a local step is that of lib/choose/predict.c. */
    *out = (struct options){.sizes = {8},
                            .n_sizes = 1,
                            .radii = {1},
                            .n_radii = 1,
                            .per_node = 1,
                            .lanes = 1,
                            .repeat = 1,
                            .distribution = DISTRIBUTION_REGULAR,
                            .seed = 1,
                            .far = "hdr",
                            .near = "shm",
                            .hop_ns = 100,
                            .costs = {.step_ns = 3, .local_byte_ns = 0.06}};
    arguments_parse(&arguments, argc, argv, false, out);
}
