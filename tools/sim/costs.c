/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Costs of messages: named sets, files that ncoll-bench and ncoll-tune have written, or numbers.
 *
 * The named sets, with their sources. L is a latency of adapters without software, and G the rate
 * of 4x links without their encoding, both from the table of rates in Wikipedia's article
 * InfiniBand (HDR: "less than 0.6"); it has no latency for NDR, which here has that of HDR.
 *
 *              L         G                g
 *     qdr      1.3 us    32 Gbit/s        not known
 *     fdr      0.7 us    54.54 Gbit/s     90 million messages a second (1)
 *     hdr      0.6 us    200 Gbit/s       not known
 *     ndr      0.6 us    400 Gbit/s       not known
 *     (1) O. Olusanya, M. Hussain: Need for Speed: Comparing FDR and EDR InfiniBand, Dell 2016
 *
 * o is 200 ns for all of them, and half of it at the receiver: what the library assumes of RDMA
 * devices without a measurement; of a processor and a program it says more than of the link.
 * shm is what the library assumes of shared memory: 45 ns, 18 ns, 0.1 ns a byte.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sim/sim.h"
#include "transport/transport.h" /* RAW_WRITES_MAX */
#include "transport/window.h"    /* SLOT_PAYLOAD */

#define POST_NS    200
#define STAY_BYTES 2048 /* the default of NCOLL_SHOW */
#define COST_MAX   1e9
#define LINK(L, gbit_s)                                                                            \
    .message = {L, POST_NS, 8.0 / (gbit_s)}, .next_ns = POST_NS, .receive_ns = POST_NS / 2.0

static const struct {
    const char *name;
    struct loggp_cost cost;
} sets[] = {
    {"qdr", {LINK(1300, 32)}},
    {"fdr", {LINK(700, 54.54), .gap_ns = 1e3 / 90}},
    {"hdr", {LINK(600, 200)}},
    {"ndr", {LINK(600, 400)}},
    {"shm", {.message = {45, 18, 0.1}, .next_ns = 18, .receive_ns = 9, .copies = true}},
};
#define SETS (sizeof sets / sizeof sets[0])

const char *costs_names(char text[128])
{
    text[0] = '\0';
    for (unsigned i = 0; i < SETS; i++) {
        strcat(text, i > 0 ? ", " : "");
        strcat(text, sets[i].name);
    }
    return text;
}

/* ------------------------------------------------------------------ numbers ------------------- */

enum key {
    KEY_L,
    KEY_O,
    KEY_G,
    KEY_NEXT,
    KEY_RECEIVE,
    KEY_GAP,
    KEY_COPIES,
    KEY_READ,
    KEY_STAY,
    KEY_BESIDE,
    KEY_CALL,
    KEYS
};
static const char *const keys[KEYS] = {"L",      "o", "G",    "next",   "r",   "g",
                                       "copies", "R", "stay", "beside", "call"};

/* Returns the index of the key before the first "="; KEYS: there is none. */
static unsigned key_of(const char *at)
{
    size_t key_len = strcspn(at, "=");
    unsigned k = 0;

    while (k < KEYS && !(strlen(keys[k]) == key_len && memcmp(keys[k], at, key_len) == 0))
        k++;
    return at[key_len] == '=' ? k : KEYS;
}

/* Reads costs such as "L=1300,o=200,G=0.25". There may also be next (default o), r (o/2), and g,
 * copies, R, stay and beside (0). */
static const char *read_numbers(const char *from, struct known_costs *out, char text[256])
{
    double values[KEYS] = {-1, -1, -1, -1, -1, 0, 0, 0, 0, 0, -1};

    for (const char *at = from; *at != '\0';) {
        size_t key_len = strcspn(at, "=");
        unsigned k = key_of(at);
        char *end = NULL;
        if (k < KEYS)
            values[k] = strtod(at + key_len + 1, &end);
        if (end == NULL || end == at + key_len + 1 || (*end != ',' && *end != '\0') ||
            !(values[k] >= 0 && values[k] <= COST_MAX)) {
            snprintf(text, 256,
                     "'%s' is no list of costs in ns such as L=1300,o=200,G=0.25; there are "
                     "L, o, G, next, r, g, copies, R, stay, beside and call, each up to %g",
                     from, COST_MAX);
            return text;
        }
        at = end + (*end == ',');
    }
    if (values[KEY_L] < 0 || values[KEY_O] < 0 || values[KEY_G] < 0) {
        snprintf(text, 256, "'%s': give at least L, o and G", from);
        return text;
    }
    struct loggp_cost *cost = &out->cost;
    *cost = loggp_cost_of((struct message_cost){values[KEY_L], values[KEY_O], values[KEY_G]});
    cost->next_ns = values[KEY_NEXT] >= 0 ? values[KEY_NEXT] : cost->next_ns;
    cost->receive_ns = values[KEY_RECEIVE] >= 0 ? values[KEY_RECEIVE] : cost->receive_ns;
    cost->gap_ns = values[KEY_GAP];
    cost->copies = values[KEY_COPIES] > 0;
    cost->read_byte_ns = values[KEY_READ];
    cost->stay_bytes = values[KEY_STAY];
    cost->beside_bytes = values[KEY_BESIDE];
    out->call_ns = values[KEY_CALL];
    return NULL;
}

/* ------------------------------------------------------------------ files --------------------- */

static bool is_shared_memory(const json_t *tree)
{
    const char *transport = json_string_value(json_object_get(tree, "transport"));

    return transport != NULL && strcmp(transport, "shm") == 0;
}

static double number(const json_t *tree, const char *key)
{
    return json_number_value(json_object_get(tree, key));
}

/* Sets costs from the time of an exchange, which consists of o, L and the time of the wait. */
static void set(struct loggp_cost *out, double exchange_ns, double o, double G, bool copies)
{
    *out = loggp_cost_of((struct message_cost){exchange_ns - 1.5 * o, o, G});
    out->message.latency_ns = out->message.latency_ns > 0 ? out->message.latency_ns : 0;
    out->copies = copies;
    out->stay_bytes = copies ? STAY_BYTES : 0;
    out->beside_bytes = copies ? SLOT_PAYLOAD : 0;
}

/* Reads the output of ncoll-tune --costs --json. Its L_ns is the time of an exchange without o. */
static bool read_costs(const json_t *tree, struct loggp_cost *out)
{
    double L = number(tree, "L_ns"), o = number(tree, "o_ns"), G = number(tree, "G_ns_per_byte");
    bool copies = is_shared_memory(tree);

    if (!(L > 0 && o > 0 && G > 0))
        return false;
    set(out, L + o, o, G, copies);
    out->gap_ns = copies ? 0 : number(tree, "g_ns");
    return true;
}

/* The times of one subject of ncoll-bench: without data, and of its shortest and longest data. Each
 * is the median of single calls or the time of many in a row, whichever is less. Of each single call
 * the rank counts that took longer, which adds up to more than they take; and interruptions add to
 * calls in a row. */
struct times {
    double empty, low, high, low_bytes, high_bytes;
};

/* Returns the time of each byte; 0: not known. */
static double slope(const struct times *t)
{
    bool known = t->high_bytes > t->low_bytes && t->high > t->low;

    return known ? (t->high - t->low) / (t->high_bytes - t->low_bytes) : 0;
}

static struct times times_of(const json_t *rows, const char *subject)
{
    struct times t = {0};
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "subject"));
        double loop_us = number(row, "loop_us"), bytes = number(row, "bytes");
        double p50_us = number(row, "p50_us");
        double ns = 1e3 * (loop_us > 0 && loop_us < p50_us ? loop_us : p50_us);
        if (name == NULL || strcmp(name, subject) != 0 || ns <= 0)
            continue;
        if (bytes == 0)
            t.empty = ns;
        if (bytes > 0 && (t.low_bytes == 0 || bytes < t.low_bytes))
            t.low_bytes = bytes, t.low = ns;
        if (bytes > t.high_bytes)
            t.high_bytes = bytes, t.high = ns;
    }
    return t;
}

/*
 * Reads the output of ncoll-bench --raw --json. L comes from an exchange without data, o from the
 * message rate, and G from exchanges with data. A device may need longer for each of many messages
 * than their sender: so the rate is that of its g, too, and o is at most what an exchange leaves.
 * In shared memory the receiver of a bare exchange does not read the data, so G comes from messages
 * that were read before (push). What their receiver pays for each byte is what it takes to copy
 * what another core has written (take), less what a copy takes in any case. The cost of a local
 * step comes from the combination of two vectors, and that of a call from calls of one rank.
 */
static bool read_bench(const json_t *tree, struct known_costs *out)
{
    const json_t *rows = json_object_get(tree, "rows");
    struct times raw = times_of(rows, "raw"), rate = times_of(rows, "rate");
    struct times push = times_of(rows, "push"), take = times_of(rows, "take");
    struct times copy = times_of(rows, "copy"), combine = times_of(rows, "combine");
    struct times call = times_of(rows, "call");
    double G = slope(&push) > 0 ? slope(&push) : slope(&raw), read = slope(&take) - slope(&copy);
    bool copies = is_shared_memory(json_array_get(rows, 0));

    if (raw.empty <= 0 || rate.empty <= 0 || G <= 0)
        return false;
    double each = rate.empty / RAW_WRITES_MAX, most = raw.empty / 1.5;
    set(&out->cost, raw.empty, each < most ? each : most, G, copies);
    out->cost.gap_ns = copies ? 0 : each;
    out->cost.read_byte_ns = read > 0 ? read : 0;
    if (combine.high_bytes > 0)
        out->local_byte_ns = combine.high / combine.high_bytes / 2;
    if (call.empty > 0)
        out->call_ns = call.empty;
    return true;
}

/* Reads the costs in an output of ncoll-sim --json. */
static bool read_own(const json_t *tree, struct known_costs *out)
{
    json_t *costs = json_object_get(tree, "costs"), *far = json_object_get(costs, "far");
    struct loggp_cost *c = &out->cost;
    int copies = 0;

    *c = (struct loggp_cost){0};
    bool whole =
        json_unpack(far, "{s:F, s:F, s:F, s:F, s:F, s:F, s:b, s?F, s?F, s?F}", "latency_ns",
                    &c->message.latency_ns, "message_ns", &c->message.message_ns, "byte_ns",
                    &c->message.byte_ns, "next_ns", &c->next_ns, "receive_ns", &c->receive_ns,
                    "gap_ns", &c->gap_ns, "copies", &copies, "read_byte_ns", &c->read_byte_ns,
                    "stay_bytes", &c->stay_bytes, "beside_bytes", &c->beside_bytes) == 0;
    c->copies = copies != 0;
    if (whole)
        json_unpack(costs, "{s?F, s?F}", "local_byte_ns", &out->local_byte_ns, "call_ns",
                    &out->call_ns);
    return whole;
}

static bool is_sane(const struct known_costs *known)
{
    const struct loggp_cost *c = &known->cost;
    const double ns[] = {c->message.latency_ns, c->message.message_ns,
                         c->message.byte_ns,    c->next_ns,
                         c->receive_ns,         c->gap_ns,
                         c->read_byte_ns,       c->stay_bytes,
                         c->beside_bytes};

    for (unsigned i = 0; i < sizeof ns / sizeof ns[0]; i++)
        if (!(ns[i] >= 0 && ns[i] <= COST_MAX))
            return false;
    return true;
}

static const char *read_file(const char *from, struct known_costs *out, char text[256])
{
    json_error_t error;
    FILE *file = fopen(from, "re");
    char names[128];

    if (file == NULL) {
        snprintf(text, 256, "cannot read '%s': %s; names are %s", from, strerror(errno),
                 costs_names(names));
        return text;
    }
    json_t *tree = json_loadf(file, 0, &error);
    fclose(file);
    bool good = tree != NULL &&
                (read_own(tree, out) || read_costs(tree, &out->cost) || read_bench(tree, out)) &&
                is_sane(out);
    if (tree == NULL)
        snprintf(text, 256, "%s is no JSON: line %d: %s", from, error.line, error.text);
    else if (!good)
        snprintf(text, 256,
                 "%s has no costs of messages: write one with `ncoll-bench -n 2 --raw -m 8:64K "
                 "--json FILE "
                 "allreduce' or `ncoll-tune --costs --json FILE'",
                 from);
    json_decref(tree);
    return good ? NULL : text;
}

const char *costs_read(const char *from, struct known_costs *out, bool *is_file, char text[256])
{
    *is_file = false;
    *out = (struct known_costs){.local_byte_ns = -1, .call_ns = -1};
    for (unsigned i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, from) == 0) {
            out->cost = sets[i].cost;
            return NULL;
        }
    if (key_of(from) < KEYS)
        return read_numbers(from, out, text);
    *is_file = true;
    return read_file(from, out, text);
}

json_t *costs_json(const struct loggp_cost *c)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:f, s:f}", "latency_ns",
                     c->message.latency_ns, "message_ns", c->message.message_ns, "byte_ns",
                     c->message.byte_ns, "next_ns", c->next_ns, "receive_ns", c->receive_ns,
                     "gap_ns", c->gap_ns, "copies", c->copies, "read_byte_ns", c->read_byte_ns,
                     "stay_bytes", c->stay_bytes, "beside_bytes", c->beside_bytes);
}
