/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a personality: a text file with a setting on each line, and comments after #. Settings before
 * the first device are of the fabric, those before the first port of a device are of the device.
 *
 *     nodes 2
 *     refused                        the library is to refuse it, in a sentence: see the script `table`
 *     device mlx5_0 [on NODE]        a device; with `on` it is on that node only
 *     like NAME                      first line of a device: all settings, but no ports, are those of an
 *                                    earlier device of the same node
 *     vendor 0x02c9 / part 4123 / numa 0 / cores 00000003 / iwarp
 *     lacks rc, srq, resize, write_imm (any of these)
 *     max_qp N, max_qp_wr N, max_cq N, max_cqe N, max_mr N, max_srq_wr N, max_mr_size N, max_inline N
 *     port                           a port of the device
 *     network NAME                   ports of one network reach each other
 *     link infiniband | ethernet     / state active | down | init
 *     mtu 4096 / lid N / grh / rate 10 | 25 | 40 | 50 | 56 | 100 | 200 | 400
 *     pkeys 0xffff 0x8001
 *     gid ADDRESS[/BITS] ib | roce1 | roce2 [INTERFACE]
 *
 * Fields that are not set are as in usual_device and usual_port below; there is one node. %n stands for the
 * number of the node, %m for that plus 1.
 */
#include "test/fabric/fabric.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MOST 12

struct reader {
    const char *path;
    unsigned line, node;
    struct personality *out;
    struct fabric_device *device; /* NULL before the first one */
    struct fabric_device skipped; /* of another node */
    struct fabric_port *port;     /* NULL before the first one of the device */
    bool bad;
};

static void complain(struct reader *r, const char *what, const char *word)
{
    fprintf(stderr, "fabric: %s:%u: %s: %s\n", r->path, r->line, what, word);
    r->bad = true;
}

static uint64_t number(struct reader *r, const char *word, uint64_t most)
{
    char *end;

    errno = 0;
    unsigned long long n = word != NULL ? strtoull(word, &end, 0) : 0;
    if (word == NULL || *word == '\0' || *end != '\0' || errno != 0 || n > most) {
        complain(r, "not a number that fits", word != NULL ? word : "nothing");
        return 0;
    }
    return n;
}

static void copy_name(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from != NULL ? from : "");
}

/* ------------------------------------------------------------------ settings ------------------ */

static const struct fabric_device usual_device = {
    .vendor = 0x02c9,
    .numa_node = -1,
    .max_qp = 131072,
    .max_qp_wr = 32768,
    .max_cq = 65536,
    .max_cqe = 4194303,
    .max_mr = 1 << 24,
    .max_srq_wr = 32767,
    .max_mr_size = UINT64_MAX,
    .max_inline = 956,
};

static const struct fabric_port usual_port = {
    .network = "one",
    .link_layer = IBV_LINK_LAYER_INFINIBAND,
    .state = IBV_PORT_ACTIVE,
    .mtu = IBV_MTU_4096,
    .lane = 32,
    .width = 2,
    .pkeys = {0xffff},
    .n_pkeys = 1,
};

static void begin_device(struct reader *r, char **words)
{
    struct personality *p = r->out;

    r->port = NULL;
    r->device = &r->skipped;
    if (words[2] != NULL && strcmp(words[2], "on") == 0) {
        if (number(r, words[3], NODES_MOST) == r->node)
            r->device = NULL;
    } else {
        r->device = NULL;
    }
    if (r->device == NULL && p->n_devices == DEVICES_MOST)
        complain(r, "too many devices", words[1]);
    if (r->device == NULL && !r->bad)
        r->device = &p->devices[p->n_devices++];
    if (r->device == NULL)
        r->device = &r->skipped;
    *r->device = usual_device;
    copy_name(r->device->name, sizeof r->device->name, words[1]);
}

static void copy_device(struct reader *r, const char *name)
{
    struct fabric_device *d = r->device;

    for (unsigned i = 0; i < r->out->n_devices; i++) {
        const struct fabric_device *from = &r->out->devices[i];
        if (from != d && name != NULL && strcmp(from->name, name) == 0) {
            char own[NAME_BYTES];
            memcpy(own, d->name, sizeof own);
            *d = *from;
            memcpy(d->name, own, sizeof own);
            d->n_ports = 0;
            return;
        }
    }
    complain(r, "no such device before", name != NULL ? name : "nothing");
}

static void set_lacks(struct reader *r, char **words)
{
    struct fabric_device *d = r->device;

    for (unsigned i = 1; words[i] != NULL; i++) {
        if (strcmp(words[i], "rc") == 0)
            d->no_rc = true;
        else if (strcmp(words[i], "srq") == 0)
            d->no_srq = true;
        else if (strcmp(words[i], "resize") == 0)
            d->no_resize = true;
        else if (strcmp(words[i], "write_imm") == 0)
            d->no_write_imm = true;
        else
            complain(r, "nothing that a device can lack", words[i]);
    }
}

static bool set_limit(struct reader *r, char **words)
{
    struct fabric_device *d = r->device;
    const struct {
        const char *name;
        int *at;
    } limits[] = {{"max_qp", &d->max_qp}, {"max_qp_wr", &d->max_qp_wr},
                  {"max_cq", &d->max_cq}, {"max_cqe", &d->max_cqe},
                  {"max_mr", &d->max_mr}, {"max_srq_wr", &d->max_srq_wr}};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (strcmp(words[0], limits[i].name) == 0) {
            *limits[i].at = (int)number(r, words[1], INT32_MAX);
            return true;
        }
    return false;
}

static bool set_of_device(struct reader *r, char **words)
{
    struct fabric_device *d = r->device;
    const char *name = words[0];

    if (strcmp(name, "vendor") == 0)
        d->vendor = (uint32_t)number(r, words[1], UINT32_MAX);
    else if (strcmp(name, "part") == 0)
        d->part = (uint32_t)number(r, words[1], UINT32_MAX);
    else if (strcmp(name, "numa") == 0)
        d->numa_node = (int)number(r, words[1], 1023);
    else if (strcmp(name, "cores") == 0)
        copy_name(d->cores, sizeof d->cores, words[1]);
    else if (strcmp(name, "iwarp") == 0)
        d->iwarp = true;
    else if (strcmp(name, "like") == 0)
        copy_device(r, words[1]);
    else if (strcmp(name, "lacks") == 0)
        set_lacks(r, words);
    else if (strcmp(name, "max_mr_size") == 0)
        d->max_mr_size = number(r, words[1], UINT64_MAX);
    else if (strcmp(name, "max_inline") == 0)
        d->max_inline = (uint32_t)number(r, words[1], 4096);
    else
        return set_limit(r, words);
    return true;
}

static void begin_port(struct reader *r)
{
    struct fabric_device *d = r->device;

    if (d->n_ports == PORTS_MOST) {
        complain(r, "too many ports", d->name);
        return;
    }
    r->port = &d->ports[d->n_ports++];
    *r->port = usual_port;
}

static void set_rate(struct reader *r, const char *word)
{
    static const struct {
        unsigned gbit, lane, width;
    } rates[] = {{10, 4, 2},  {25, 32, 1},  {40, 8, 2},   {50, 64, 1},
                 {56, 16, 2}, {100, 32, 2}, {200, 64, 2}, {400, 128, 2}};
    uint64_t gbit = number(r, word, 1000);

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (rates[i].gbit == gbit) {
            r->port->lane = rates[i].lane;
            r->port->width = rates[i].width;
            return;
        }
    complain(r, "no rate of a port in Gbit/s", word != NULL ? word : "nothing");
}

static void set_mtu(struct reader *r, const char *word)
{
    uint64_t bytes = number(r, word, 4096);

    for (unsigned mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
        if (128ull << mtu == bytes) {
            r->port->mtu = (enum ibv_mtu)mtu;
            return;
        }
    complain(r, "no MTU", word != NULL ? word : "nothing");
}

static void add_gid(struct reader *r, char **words)
{
    struct fabric_port *p = r->port;
    struct fabric_gid *g = &p->gids[p->n_gids];
    char mapped[64];

    if (p->n_gids == GIDS_MOST || words[1] == NULL || words[2] == NULL) {
        complain(r, "no GID", words[1] != NULL ? words[1] : "nothing");
        return;
    }
    char *slash = strchr(words[1], '/');
    if (slash != NULL) {
        *slash = '\0';
        g->bits = (unsigned)number(r, slash + 1, strchr(words[1], ':') != NULL ? 128 : 32);
    }
    snprintf(mapped, sizeof mapped, "::ffff:%s", words[1]);
    if (inet_pton(AF_INET6, strchr(words[1], ':') != NULL ? words[1] : mapped, &g->gid) != 1)
        complain(r, "no address", words[1]);
    if (strcmp(words[2], "ib") == 0)
        g->type = IBV_GID_TYPE_IB;
    else if (strcmp(words[2], "roce1") == 0)
        g->type = IBV_GID_TYPE_ROCE_V1;
    else if (strcmp(words[2], "roce2") == 0)
        g->type = IBV_GID_TYPE_ROCE_V2;
    else
        complain(r, "no type of a GID", words[2]);
    copy_name(g->interface, sizeof g->interface, words[3]);
    p->n_gids++;
}

static bool set_of_port(struct reader *r, char **words)
{
    struct fabric_port *p = r->port;
    const char *name = words[0], *value = words[1] != NULL ? words[1] : "";

    if (strcmp(name, "network") == 0)
        copy_name(p->network, sizeof p->network, value);
    else if (strcmp(name, "link") == 0)
        p->link_layer =
            strcmp(value, "ethernet") == 0 ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
    else if (strcmp(name, "state") == 0)
        p->state = strcmp(value, "active") == 0 ? IBV_PORT_ACTIVE
                   : strcmp(value, "init") == 0 ? IBV_PORT_INIT
                                                : IBV_PORT_DOWN;
    else if (strcmp(name, "mtu") == 0)
        set_mtu(r, words[1]);
    else if (strcmp(name, "rate") == 0)
        set_rate(r, words[1]);
    else if (strcmp(name, "lid") == 0)
        p->lid = (uint16_t)number(r, words[1], 0xbfff);
    else if (strcmp(name, "grh") == 0)
        p->needs_grh = true;
    else if (strcmp(name, "gid") == 0)
        add_gid(r, words);
    else if (strcmp(name, "pkeys") == 0) {
        for (p->n_pkeys = 0; words[p->n_pkeys + 1] != NULL && p->n_pkeys < PKEYS_MOST; p->n_pkeys++)
            p->pkeys[p->n_pkeys] = (uint16_t)number(r, words[p->n_pkeys + 1], 0xffff);
    } else
        return false;
    return true;
}

/* ------------------------------------------------------------------ lines --------------------- */

static void take(struct reader *r, char **words)
{
    if (strcmp(words[0], "nodes") == 0 && r->device == NULL)
        r->out->nodes = (unsigned)number(r, words[1], NODES_MOST);
    else if (strcmp(words[0], "refused") == 0 && r->device == NULL)
        return;
    else if (strcmp(words[0], "device") == 0 && words[1] != NULL)
        begin_device(r, words);
    else if (strcmp(words[0], "port") == 0 && r->device != NULL)
        begin_port(r);
    else if (r->port != NULL ? !set_of_port(r, words)
                             : r->device == NULL || !set_of_device(r, words))
        complain(r, "no such setting here", words[0]);
}

/* Replaces %n and %m. */
static void expand(const char *line, unsigned node, char *out, size_t size)
{
    size_t len = 0;

    for (; *line != '\0' && *line != '#' && len + 12 < size; line++)
        if (line[0] == '%' && (line[1] == 'n' || line[1] == 'm'))
            len += (size_t)snprintf(out + len, size - len, "%u", node + (*++line == 'm'));
        else
            out[len++] = *line;
    out[len] = '\0';
}

bool fabric_personality_read(const char *path, unsigned node, struct personality *out)
{
    struct reader r = {.path = path, .node = node, .out = out};
    char line[512], expanded[512];

    *out = (struct personality){.nodes = 1};
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        fprintf(stderr, "fabric: cannot read %s: %s\n", path, strerror(errno));
        return false;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        char *words[WORDS_MOST + 1] = {NULL}, *rest = NULL;
        unsigned n = 0;
        r.line++;
        expand(line, node, expanded, sizeof expanded);
        for (char *w = strtok_r(expanded, " \t\n", &rest); w != NULL && n < WORDS_MOST;
             w = strtok_r(NULL, " \t\n", &rest))
            words[n++] = w;
        if (n > 0)
            take(&r, words);
    }
    fclose(f);
    snprintf(line, sizeof line, "%u", node);
    if (!r.bad && node >= out->nodes)
        complain(&r, "it has no such node", line);
    return !r.bad;
}
