/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the RDMA devices, ports and GIDs that this process can use, and opens the chosen device. */
#include "transport/verbs/device.h"
#include "transport/verbs/network.h"
#include "transport/verbs/rail.h"
#include "transport/verbs/verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct candidates {
    struct candidate *list;
    unsigned n, capacity;
    bool failed; /* there was no memory */
};

static void add(struct candidates *all, const struct candidate *candidate)
{
    if (all->n == all->capacity) {
        unsigned capacity = 2 * all->capacity + 8;
        struct candidate *grown = realloc(all->list, capacity * sizeof *grown);
        if (grown == NULL) {
            all->failed = true;
            return;
        }
        all->list = grown;
        all->capacity = capacity;
    }
    all->list[all->n++] = *candidate;
}

/* ------------------------------------------------------------------ candidates ---------------- */

static void add_port(struct candidates *all, const struct device_table *t,
                     const struct port_row *port, struct candidate model)
{
    model.port = (int)port->number;
    model.state = (enum ibv_port_state)port->state;
    model.subnet_prefix = port->subnet_prefix;
    model.mbit_per_s = port->mbit_per_s;
    model.pkeys = port->pkeys;
    model.n_pkeys = port->n_pkeys;
    if (port->n_gids == 0)
        add(all, &model);
    for (unsigned i = 0; i < port->n_gids; i++) {
        const struct gid_row *gid = table_gid(t, port->first_gid + i);
        struct candidate c = model;
        c.gid_index = gid->index;
        c.gid = gid->gid;
        c.kind = (enum gid_kind)gid->kind;
        c.no_handle = gid->no_handle;
        c.prefix_bits = gid->prefix_bits;
        memcpy(c.interface, gid->interface, sizeof c.interface);
        add(all, &c);
    }
}

/* Adds the ports of a device. own: the cores of this process; NULL: nearness does not matter. */
static void add_device(struct candidates *all, const struct device_table *t,
                       const struct device_row *device, const struct own_cores *own)
{
    struct candidate model = {.gid_index = -1, .kind = GID_NONE};

    memcpy(model.device, device->name, sizeof model.device);
    model.lacks = (enum device_lack)device->lacks;
    model.is_soft = device->is_soft != 0;
    model.far = own != NULL && ncoll__is_far(table_cores(t, device), own);
    if (device->error != 0) {
        snprintf(model.why, sizeof model.why, "cannot open it: %s", strerror(device->error));
        add(all, &model);
        return;
    }
    for (unsigned i = 0; i < device->n_ports; i++)
        add_port(all, t, table_port(t, device->first_port + i), model);
}

/* ------------------------------------------------------------------ this process's devices ---- */

/* The devices that this process sees. Each is described in one of two tables, under its name. */
struct devices {
    struct ibv_device **list;
    int n;
    bool *own;                        /* [n] this process has examined the device */
    struct device_table theirs, mine; /* the tables of another rank of the node, of this rank */
};

static void examine(struct devices *d, int i)
{
    ncoll__device_examine(&d->mine, d->list[i]);
    d->own[i] = true;
}

/* Examines the devices that only another rank has examined. Returns false if there are none. */
static bool examine_rest(struct devices *d)
{
    bool any = false;

    for (int i = 0; i < d->n; i++)
        if (!d->own[i]) {
            examine(d, i);
            any = true;
        }
    return any;
}

static void close_list(struct devices *d)
{
    if (d->list != NULL)
        ibv_free_device_list(d->list);
    free(d->own);
    ncoll__table_free(&d->theirs);
    ncoll__table_free(&d->mine);
}

/* Lists the devices, and examines those that are not in the table of another rank, or that the
 * other rank could not open. Returns 0 or errno. Having no device is not an error. */
static int list_all(struct devices *d, const void *examined, size_t len)
{
    *d = (struct devices){0};
    errno = 0;
    d->list = ibv_get_device_list(&d->n);
    if (d->list == NULL) {
        d->n = 0;
        return errno == ENOSYS ? 0 : errno; /* ENOSYS: no RDMA in this kernel, or not loaded */
    }
    if ((d->own = calloc((size_t)d->n + 1, sizeof *d->own)) == NULL)
        return ENOMEM;
    if (examined != NULL)
        ncoll__table_read(&d->theirs, examined, len);
    for (int i = 0; i < d->n; i++) {
        int row = ncoll__table_find(&d->theirs, ibv_get_device_name(d->list[i]));
        if (row < 0 || table_device(&d->theirs, (unsigned)row)->error != 0)
            examine(d, i);
    }
    return ncoll__table_failed(&d->mine) ? ENOMEM : 0;
}

/* Lists the candidates, and chooses one. *best: the chosen candidate; NULL: none. Returns 0 or
 * errno. */
static int choose(const struct devices *d, const struct device_wish *wish, struct candidates *all,
                  struct candidate **best)
{
    struct own_cores own;

    if (d->n > 1)
        ncoll__own_cores(&own);
    all->n = 0;
    for (int i = 0; i < d->n; i++) {
        const struct device_table *t = d->own[i] ? &d->mine : &d->theirs;
        int row = ncoll__table_find(t, ibv_get_device_name(d->list[i]));
        add_device(all, t, table_device(t, (unsigned)row), d->n > 1 ? &own : NULL);
    }
    *best = ncoll__device_choose(all->list, all->n, wish);
    return all->failed ? ENOMEM : 0;
}

int ncoll__verbs_survey(const struct device_wish *wish,
                        void (*show)(void *arg, const struct candidate *candidate), void *arg)
{
    struct candidates all = {0};
    struct candidate *best;
    struct devices devices;
    int error = list_all(&devices, NULL, 0), n;

    if (error == 0)
        error = choose(&devices, wish, &all, &best);
    for (unsigned i = 0; error == 0 && i < all.n; i++)
        show(arg, &all.list[i]);
    n = (int)all.n;
    free(all.list);
    close_list(&devices);
    return error == 0 ? n : -error;
}

/* ------------------------------------------------------------------ for open() ---------------- */

/* Lists the candidates with their reasons, as in "rxe0 port 1 GID 0: the port is DOWN; ...", as far
 * as they fit; GIDs with the same reason share a line. */
static void tell_all(const struct candidates *all, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < all->n && len < size; i++) {
        const struct candidate *c = &all->list[i], *before = i > 0 ? c - 1 : NULL;
        if (before != NULL && strcmp(c->why, before->why) == 0 && c->port == before->port &&
            strcmp(c->device, before->device) == 0)
            continue;
        len += (size_t)snprintf(text + len, size - len, "%s%s port %d: %s", i > 0 ? "; " : "",
                                c->device, c->port, c->why);
    }
}

/* True if the user has named devices, ports or GIDs. */
static bool has_wish(const struct device_wish *wish)
{
    return wish->device != NULL || wish->port != 0 || ncoll__gid_is_wished(&wish->gid);
}

static int nothing_chosen(const struct candidates *all, const struct device_wish *wish,
                          const struct transport_events *e)
{
    char text[320];
    bool active = false;

    for (unsigned i = 0; i < all->n; i++)
        active = active || all->list[i].state == IBV_PORT_ACTIVE;
    tell_all(all, text, sizeof text);
    if (all->n == 0)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_DEVICE, NO_DEVICE), -1,
                       "see `rdma link`; for software RoCE: `rdma link add rxe0 type rxe netdev "
                       "eth0`; on one node use NCOLL_TRANSPORT=shm",
                       "this machine has no RDMA device");
    if (!active)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_DEVICE, NO_PORT), -1,
                       "see `rdma link`, and `ip link` for RoCE: its network interface must be up",
                       "no RDMA port is ACTIVE: %s", text);
    if (has_wish(wish) || wish->pkey != 0)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_DEVICE, DEVICE_ASKED_FOR), -1,
                       "change NCOLL_DEVICE, NCOLL_PORT, NCOLL_GID, NCOLL_PKEY, or unset them; "
                       "ncoll-info lists what there is",
                       "what was asked for cannot be used: %s", text);
    return e->fail(e->arg, BECAUSE(NCOLL_ERR_DEVICE, NO_PORT), -1,
                   "see ncoll-info, and `rdma link`",
                   "no RDMA port has an address that can be used: %s", text);
}

/* Compares a device with its description by another rank. Returns NULL if they agree, or else a
 * text that tells the difference. */
static const char *differs(struct ibv_context *context, const struct candidate *where)
{
    struct ibv_port_attr port;
    union ibv_gid gid;

    if (ibv_query_port(context, (uint8_t)where->port, &port) != 0 || port.state != where->state)
        return "its port is in another state";
    if (ibv_query_gid(context, (uint8_t)where->port, where->gid_index, &gid) != 0 ||
        memcmp(&gid, &where->gid, sizeof gid) != 0)
        return "its GID is another one";
    __be16 pkey = 0;
    if (where->pkey != 0 &&
        (ibv_query_pkey(context, (uint8_t)where->port, where->pkey_index, &pkey) != 0 ||
         ntohs(pkey) != where->pkey))
        return "its partition key is another one";
    struct ibv_pd *pd = ibv_alloc_pd(context);
    int error = ncoll__try_handle(pd, (unsigned)where->port, &port, &gid, where->gid_index);
    if (pd != NULL)
        ibv_dealloc_pd(pd);
    return error != 0 ? strerror(error) : NULL;
}

/* Opens the chosen device. *again: the device differs from its description by another rank; this
 * rank has examined it now, and the caller has to choose again. */
static int open_chosen(struct verbs *v, struct devices *d, const struct candidate *chosen,
                       bool *again)
{
    const struct transport_events *e = &v->config.events;
    const char *why;
    int i = 0;

    *again = false;
    v->where = *chosen;
    v->where.pkeys = NULL; /* it points into a table that will be freed */
    while (strcmp(ibv_get_device_name(d->list[i]), v->where.device) != 0)
        i++;
    errno = 0;
    v->device = ibv_open_device(d->list[i]);
    int error = errno;
    if (d->own[i])
        return v->device != NULL ? NCOLL_OK : ncoll__verb_failed(v, "a context", 0, error);
    if (v->device == NULL)
        why = strerror(error);
    else if ((why = differs(v->device, &v->where)) == NULL)
        return NCOLL_OK;
    e->log(
        e->arg, NCOLL_LOG_INFO,
        "verbs: device %s, port %d, GID %d cannot be used as another rank of this node has found "
        "it (%s); this rank examines the device itself",
        v->where.device, v->where.port, v->where.gid_index, why);
    if (v->device != NULL)
        ibv_close_device(v->device);
    v->device = NULL;
    examine(d, i);
    *again = true;
    return NCOLL_OK;
}

/* Returns the number of ranks on this rank's node among the first n ranks of the world. */
static unsigned ranks_here(const struct transport_config *config, int n)
{
    unsigned here = 0;

    for (int r = 0; r < n && config->nodes != NULL; r++)
        here += config->nodes[r] == config->node;
    return here;
}

const char ncoll__gid_remedy[] = "write NCOLL_GID as an index, an interface, a range as "
                                 "10.1.0.0/16, roce1 or roce2, or several of "
                                 "them as eth1,roce2, one of each kind";
const char ncoll__device_remedy[] =
    "write NCOLL_DEVICE as mlx5_0, as mlx5_0:1,mlx5_2 or as ^mlx5_bond, without blanks";

/* Reads the user's conditions from the settings. Returns false on a syntax error; then *bad is the
 * wrong setting. */
static bool read_wishes(const struct transport_config *config, struct device_wish *out,
                        const char **bad)
{
    *out = (struct device_wish){.device = config->device,
                                .port = config->port,
                                .pkey = config->pkey,
                                .gid_text = config->gid,
                                .local_rank = ranks_here(config, config->rank)};
    *bad = config->gid;
    if (!ncoll__gid_wish_read(config->gid, &out->gid))
        return false;
    *bad = config->device;
    return config->device == NULL || ncoll__device_list_is_well(config->device);
}

static bool is_same(const struct network *a, const struct network *b)
{
    return a->kind == b->kind && a->is_soft == b->is_soft && a->pkey == b->pkey &&
           a->bits == b->bits && memcmp(a->prefix, b->prefix, sizeof a->prefix) == 0;
}

/* Appends a network to those from offset `first` on. If it is there already, keeps the data of the
 * faster port. */
static void add_network(struct blob *out, size_t first, const struct network *own)
{
    struct network *known = NULL;

    for (size_t at = first; at < out->len && known == NULL; at += sizeof *own)
        if (is_same(own, (struct network *)(void *)(out->bytes + at)))
            known = (struct network *)(void *)(out->bytes + at);
    if (known == NULL)
        ncoll__blob_add(out, own, sizeof *own);
    else if (own->mbit_per_s > known->mbit_per_s)
        *known = *own;
}

/* Appends the networks of all usable candidates to a blob. Each partition of a port counts as a
 * network; partitions of which the port is a full member come first. */
static void add_networks(struct candidate *list, unsigned n, const struct device_wish *wish,
                         struct blob *out)
{
    size_t first = out->len;

    for (unsigned i = 0; i < n; i++) {
        if (!ncoll__device_usable(&list[i], list, n, wish))
            continue;
        struct network own = ncoll__network_of(&list[i]);
        add_network(out, first, &own);
        for (unsigned full = 2; full-- > 0 && wish->pkey == 0;)
            for (unsigned k = 0; k < list[i].n_pkeys; k++) {
                own.pkey = list[i].pkeys[k];
                if ((own.pkey & 0x7fff) != 0 && own.pkey >> 15 == full)
                    add_network(out, first, &own);
            }
    }
}

bool ncoll__verbs_networks(const struct transport_config *config, struct blob *out)
{
    struct device_wish wish;
    const char *bad;
    struct candidates all = {0};
    struct candidate *best;
    struct devices devices;

    if (!read_wishes(config, &wish, &bad))
        return false;
    bool ok = list_all(&devices, config->examined, config->examined_bytes) == 0 &&
              choose(&devices, &wish, &all, &best) == 0;
    if (ok)
        add_networks(all.list, all.n, &wish, out);
    free(all.list);
    close_list(&devices);
    return ok && !out->failed;
}

/* Writes the networks of a node in words, as far as they fit into `text`. */
static void tell_networks(const struct node_networks *node, char *text, size_t size)
{
    size_t len = (size_t)snprintf(text, size, "the node of rank %d has ", node->rank);

    for (unsigned i = 0; i < node->n && len < size; i++) {
        char one[NETWORK_TEXT];
        len += (size_t)snprintf(text + len, size - len, "%s%s", i > 0 ? " and " : "",
                                ncoll__network_text(&node->list[i], one));
    }
}

/* Finds the part of the job's network that this node is on. If the nodes are on different subnets,
 * it is one subnet, so that all ranks of the node use the same one. */
static void find_own_part(const struct transport_config *config, const struct node_networks *nodes,
                          unsigned n, const struct network_choice *job, struct network_choice *own)
{
    *own = *job;
    for (unsigned i = 0; i < n && job->routed; i++) {
        if (config->nodes == NULL || config->nodes[nodes[i].rank] != config->node)
            continue;
        const struct network *there = ncoll__network_there(&job->network, &nodes[i], true);
        if (there != NULL)
            *own = (struct network_choice){*there, false, job->limited};
        if (own->network.pkey != 0)
            own->network.pkey |= 0x8000;
    }
}

/* Chooses the network of the job, if all nodes have published theirs. *own: the part of it that
 * this node is on; *chosen: a network was chosen. Returns NCOLL_OK or an error. */
static int choose_network(const struct transport_config *config, struct network_choice *out,
                          struct network_choice *own, bool *chosen)
{
    const struct transport_events *e = &config->events;
    struct node_networks *nodes = calloc(config->n_networks + 1, sizeof *nodes);
    const struct node_networks *a, *b;
    struct blob all = {0};
    unsigned n = 0;
    size_t at = 0;

    *chosen = false;
    for (unsigned i = 0; i < config->n_networks; i++) /* one copy of all, which is aligned */
        ncoll__blob_add(&all, config->networks[i].bytes, config->networks[i].len);
    if (nodes == NULL || all.failed) {
        free(nodes);
        ncoll__blob_free(&all);
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the networks of %u nodes",
                       config->n_networks);
    }
    for (unsigned i = 0; i < config->n_networks; at += config->networks[i++].len) {
        const struct announcement *t = &config->networks[i];
        if (t->len > 0 && t->len % sizeof(struct network) == 0)
            nodes[n++] =
                (struct node_networks){(struct network *)(void *)(all.bytes + at),
                                       (unsigned)(t->len / sizeof(struct network)), t->rank};
    }
    int rc = NCOLL_OK;
    if (n < config->n_networks || n < 2) {
        /* ranks of a node without any network report an error themselves */
    } else if (ncoll__network_choose(nodes, n, out, &a, &b)) {
        *chosen = true;
        find_own_part(config, nodes, n, out, own);
    } else {
        char ours[256], theirs[256];
        tell_networks(a, ours, sizeof ours);
        tell_networks(b, theirs, sizeof theirs);
        rc = e->fail(e->arg, BECAUSE(NCOLL_ERR_DEVICE, NO_COMMON_NETWORK), b->rank,
                     "see `ncoll-info` on both nodes; if they are set, NCOLL_DEVICE, NCOLL_PORT, "
                     "NCOLL_GID and NCOLL_PKEY may leave out what they have in common",
                     "no network is common to all nodes: %s; %s", ours, theirs);
    }
    free(nodes);
    ncoll__blob_free(&all);
    return rc;
}

/* Opens a chosen device. Returns NULL on failure, or if the device differs from its description by
 * another rank. */
static struct ibv_context *open_found(const struct devices *d, const struct candidate *chosen)
{
    int i = 0;

    while (strcmp(ibv_get_device_name(d->list[i]), chosen->device) != 0)
        i++;
    struct ibv_context *context = ibv_open_device(d->list[i]);
    if (context != NULL && !d->own[i] && differs(context, chosen) != NULL) {
        ibv_close_device(context);
        return NULL;
    }
    return context;
}

/* Chooses and opens a second card: on the network of the job, or else on another subnet of the same
 * kind. Equal ports are given to the first cards of all ranks of the node in turn, and then to the
 * second cards, so that ranks share cards as little as possible. */
static void open_second(struct verbs *v, struct devices *d, struct candidates *all,
                        struct device_wish wish)
{
    const struct transport_events *e = &v->config.events;
    struct network_choice any_subnet;
    struct candidate *best;

    wish.other_than = v->where.device;
    wish.local_rank += ranks_here(&v->config, v->config.ranks) - 1;
    int error = choose(d, &wish, all, &best);
    if (error == 0 && best == NULL && wish.network != NULL) {
        any_subnet = *wish.network;
        any_subnet.routed = true;
        wish.network = &any_subnet;
        error = choose(d, &wish, all, &best);
    }
    if (error == 0 && best != NULL && (v->rail = calloc(1, sizeof *v->rail)) != NULL) {
        v->rail->where = *best;
        v->rail->where.pkeys = NULL;
        if ((v->rail->device = open_found(d, best)) != NULL)
            return;
        free(v->rail);
        v->rail = NULL;
    }
    e->log(
        e->arg, NCOLL_LOG_INFO,
        "verbs: NCOLL_RAILS=2, but this rank has no second card; ncoll-info lists what there is");
}

/* On kernels before 5.12 a forked child shares the pages that a device uses, like all other pages.
 * When the parent writes to such a page next, the parent gets a copy, while the device goes on
 * using the original, which is then the child's. ibv_fork_init() prevents that. It has to be called
 * before the first queue is made and the first memory is registered. */
void ncoll__verbs_before(const struct transport_config *config)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* ibv_fork_init() takes no lock */
    int error = 0;

    if (!config->fork_safe)
        return;
    pthread_mutex_lock(&lock);
    if (ibv_is_fork_initialized() == IBV_FORK_DISABLED)
        error = ibv_fork_init();
    pthread_mutex_unlock(&lock);
    if (error != 0)
        config->events.log(config->events.arg, NCOLL_LOG_WARN,
                           "verbs: a fork() of this program may lose messages, since "
                           "ibv_fork_init() fails (%s); call it before other verbs, or never "
                           "fork, and set NCOLL_FORK_SAFE=0",
                           strerror(error));
}

int ncoll__device_open(struct verbs *v)
{
    const struct transport_config *config = &v->config;
    const struct transport_events *e = &config->events;
    struct device_wish wish;
    const char *bad;
    struct network_choice job, network;
    bool has_network;
    struct candidates all = {0};
    struct candidate *best = NULL;
    struct devices devices;
    int error, rc = NCOLL_OK;
    bool again = true;

    if (!read_wishes(config, &wish, &bad))
        return e->fail(e->arg, NCOLL_ERR_ARGUMENT, -1,
                       bad == config->device ? ncoll__device_remedy : ncoll__gid_remedy,
                       "\"%s\" is no %s", bad, bad == config->device ? "list of devices" : "GID");
    if ((rc = choose_network(config, &job, &network, &has_network)) != NCOLL_OK)
        return rc;
    wish.network = has_network ? &network : NULL;
    v->local_rank = wish.local_rank;
    error = list_all(&devices, config->examined, config->examined_bytes);

    while (error == 0 && rc == NCOLL_OK && again &&
           (error = choose(&devices, &wish, &all, &best)) == 0) {
        if (best != NULL)
            rc = open_chosen(v, &devices, best, &again);
        else if (wish.network == &network && has_wish(&wish)) {
            job.routed = true; /* the user may give each rank a card in another subnet */
            wish.network = &job;
        } else if (!examine_rest(&devices)) /* an error must not rely on another rank's table */
            rc = nothing_chosen(&all, &wish, e);
        error = ncoll__table_failed(&devices.mine) ? ENOMEM : 0;
    }
    v->routed = has_network && job.routed;
    if (error == 0 && rc == NCOLL_OK && config->rails > 1)
        open_second(v, &devices, &all, wish);
    if (error != 0)
        rc = e->fail(e->arg,
                     error == ENOMEM ? NCOLL_ERR_MEMORY : BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_CALL),
                     -1, NULL, "cannot list the RDMA devices: %s", strerror(error));
    free(all.list);
    close_list(&devices);
    return rc;
}

enum ibv_mtu ncoll__verbs_mtu(const struct verbs *v, const struct ibv_port_attr *port)
{
    enum ibv_mtu mtu = port->active_mtu;

    while (mtu > IBV_MTU_256 && v->config.mtu > 0 && (128u << mtu) > v->config.mtu)
        mtu--;
    return mtu;
}
