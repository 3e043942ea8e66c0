/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages cost: named sets, files that ncoll-bench and ncoll-tune have written, or numbers.
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

#define POST_NS    200
#define COST_MAX   1e9
#define GBIT_NS(r) (8.0 / (r)) /* ns for a byte at r Gbit/s */

static const struct {
    const char *name;
    struct loggp_cost cost;
} sets[] = {
    {"qdr", {{1300, POST_NS, GBIT_NS(32)}, POST_NS, POST_NS / 2.0, 0, false}},
    {"fdr", {{700, POST_NS, GBIT_NS(54.54)}, POST_NS, POST_NS / 2.0, 1e3 / 90, false}},
    {"hdr", {{600, POST_NS, GBIT_NS(200)}, POST_NS, POST_NS / 2.0, 0, false}},
    {"ndr", {{600, POST_NS, GBIT_NS(400)}, POST_NS, POST_NS / 2.0, 0, false}},
    {"shm", {{45, 18, 0.1}, 18, 9, 0, true}},
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

static const char *const keys[] = {"L", "o", "G", "next", "r", "g", "copies"};
#define KEYS (sizeof keys / sizeof keys[0])

/* Returns the index of the key before the first "="; KEYS: there is none. */
static unsigned key_of(const char *at)
{
    size_t key_len = strcspn(at, "=");
    unsigned k = 0;

    while (k < KEYS && !(strlen(keys[k]) == key_len && memcmp(keys[k], at, key_len) == 0))
        k++;
    return at[key_len] == '=' ? k : KEYS;
}

/* Reads costs such as "L=1300,o=200,G=0.25". There may also be next (default o), r (o/2), g (0) and
 * copies (0). */
static const char *read_numbers(const char *from, struct loggp_cost *out, char text[256])
{
    double values[KEYS] = {-1, -1, -1, -1, -1, 0, 0};

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
                     "L, o, G, next, r, g and copies, each up to %g",
                     from, COST_MAX);
            return text;
        }
        at = end + (*end == ',');
    }
    if (values[0] < 0 || values[1] < 0 || values[2] < 0) {
        snprintf(text, 256, "'%s': give at least L, o and G", from);
        return text;
    }
    *out = loggp_cost_of((struct message_cost){values[0], values[1], values[2]});
    out->next_ns = values[3] >= 0 ? values[3] : out->next_ns;
    out->receive_ns = values[4] >= 0 ? values[4] : out->receive_ns;
    out->gap_ns = values[5];
    out->copies = values[6] > 0;
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
static void set(struct loggp_cost *out, double exchange_ns, double o, double G, double g)
{
    *out = loggp_cost_of((struct message_cost){exchange_ns - 1.5 * o, o, G});
    out->message.latency_ns = out->message.latency_ns > 0 ? out->message.latency_ns : 0;
    out->gap_ns = g;
}

/* Reads the output of ncoll-tune --costs --json. Its L_ns is the time of an exchange without o. */
static bool read_costs(const json_t *tree, struct loggp_cost *out)
{
    double L = number(tree, "L_ns"), o = number(tree, "o_ns"), G = number(tree, "G_ns_per_byte");

    if (!(L > 0 && o > 0 && G > 0))
        return false;
    out->copies = is_shared_memory(tree);
    bool copies = out->copies;
    set(out, L + o, o, G, copies ? 0 : number(tree, "g_ns"));
    out->copies = copies;
    return true;
}

/* Reads the output of ncoll-bench --raw --json. L comes from an exchange without data, G from the
 * shortest and the longest exchange, o from the message rate, and the cost of a local step from the
 * combination of two vectors. */
static bool read_bench(const json_t *tree, struct loggp_cost *out, double *local_byte_ns)
{
    double empty = 0, low_bytes = 0, low = 0, high_bytes = 0, high = 0, o = 0;
    bool copies = false;
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(tree, "rows"), i, row)
    {
        const char *subject = json_string_value(json_object_get(row, "subject"));
        double bytes = number(row, "bytes"), ns = 1e3 * number(row, "p50_us");
        if (subject == NULL || ns <= 0)
            continue;
        copies |= is_shared_memory(row);
        if (number(row, "messages_per_s") > 0)
            o = 1e9 / number(row, "messages_per_s");
        if (strcmp(subject, "combine") == 0 && bytes > 0)
            *local_byte_ns = ns / bytes / 2;
        if (strcmp(subject, "raw") != 0)
            continue;
        if (bytes == 0)
            empty = ns;
        if (bytes > 0 && (low_bytes == 0 || bytes < low_bytes))
            low_bytes = bytes, low = ns;
        if (bytes > high_bytes)
            high_bytes = bytes, high = ns;
    }
    if (empty <= 0 || o <= 0 || high_bytes <= low_bytes || high <= low)
        return false;
    set(out, empty, o, (high - low) / (high_bytes - low_bytes), 0);
    out->copies = copies;
    return true;
}

/* Reads the costs in an output of ncoll-sim --json. */
static bool read_own(const json_t *tree, struct loggp_cost *out)
{
    const json_t *far = json_object_get(json_object_get(tree, "costs"), "far");
    int copies = 0;

    *out = (struct loggp_cost){0};
    bool whole =
        json_unpack((json_t *)far, "{s:F, s:F, s:F, s:F, s:F, s:F, s:b}", "latency_ns",
                    &out->message.latency_ns, "message_ns", &out->message.message_ns, "byte_ns",
                    &out->message.byte_ns, "next_ns", &out->next_ns, "receive_ns", &out->receive_ns,
                    "gap_ns", &out->gap_ns, "copies", &copies) == 0;
    out->copies = copies != 0;
    return whole;
}

static bool is_sane(const struct loggp_cost *c)
{
    const double ns[] = {c->message.latency_ns, c->message.message_ns,
                         c->message.byte_ns,    c->next_ns,
                         c->receive_ns,         c->gap_ns};

    for (unsigned i = 0; i < sizeof ns / sizeof ns[0]; i++)
        if (!(ns[i] >= 0 && ns[i] <= COST_MAX))
            return false;
    return true;
}

static const char *read_file(const char *from, struct loggp_cost *out, double *local_byte_ns,
                             char text[256])
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
    bool good =
        tree != NULL &&
        (read_own(tree, out) || read_costs(tree, out) || read_bench(tree, out, local_byte_ns)) &&
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

const char *costs_read(const char *from, struct loggp_cost *out, double *local_byte_ns,
                       bool *is_file, char text[256])
{
    *is_file = false;
    for (unsigned i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, from) == 0) {
            *out = sets[i].cost;
            return NULL;
        }
    if (key_of(from) < KEYS)
        return read_numbers(from, out, text);
    *is_file = true;
    return read_file(from, out, local_byte_ns, text);
}

json_t *costs_json(const struct loggp_cost *c)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "latency_ns", c->message.latency_ns,
                     "message_ns", c->message.message_ns, "byte_ns", c->message.byte_ns, "next_ns",
                     c->next_ns, "receive_ns", c->receive_ns, "gap_ns", c->gap_ns, "copies",
                     c->copies);
}
