/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/settings.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inspect.h"

/* The least NCOLL_STALL_WARN. The time doubles with each warning, so that after a shorter one the
 * log would have many lines at once. */
#define STALL_WARN_LEAST_NS 100000000

enum kind {
    KIND_TEXT,
    KIND_SECRET,
    KIND_WORD,
    KIND_INT,
    KIND_RADIX,
    KIND_REAL,
    KIND_NS,
    KIND_BYTES
};

/* A KIND_SECRET is a text that is never printed. A KIND_WORD is stored as an int: its index in
 * `words`. */
struct setting {
    const char *variable, *meaning;
    enum kind kind;
    size_t offset;      /* offset of the field in ncoll_params */
    long long min, max; /* limits of a number, in the unit of the setting */
    double unit_ns;     /* nanoseconds in one unit of a KIND_NS */
    const char *const *words;
    const char *others; /* similar settings of other libraries; NULL: there is none */
};

static const char *const bootstrap_words[] = {"auto", "fork", "pmix",  "tcp",     "user", "self",
                                              "pmi1", "pmi2", "slurm", "threads", NULL};
static const char *const log_words[] = {"none", "error", "warn", "info", "debug", NULL};

static const char *const sync_words[] = {"loose", "strict-entry", "strict-exit", "strict", NULL};

static const char *const level_words[] = {"auto", "none", "package", "numa", "l3", "core", NULL};

static const char *const tune_words[] = {"table", "trial", "model", "off", NULL};

/* The most ranks that may be set. A larger number is a mistake, and each rank takes memory. */
#define RANKS_MOST (1 << 20)

#define AT(field) offsetof(ncoll_params, field)

#define RULES_OF(collective) "rules for " collective ", as SIZES:ALGORITHM@n=3,..; none: no rules"

static const struct setting settings[] = {
    {"NCOLL_BOOTSTRAP",
     "how ranks find each other: auto, fork, pmix, pmi1, pmi2, slurm, tcp, user, self, "
     "threads",
     KIND_WORD, AT(bootstrap), .words = bootstrap_words},
    {"NCOLL_RANK", "own rank, for the tcp bootstrap", KIND_INT, AT(rank), 0, INT32_MAX},
    {"NCOLL_SIZE", "number of ranks, for the tcp bootstrap", KIND_INT, AT(ranks), 1, RANKS_MOST},
    {"NCOLL_ROOT",
     "host:port where rank 0 listens, for the tcp bootstrap; host:7000-7007: at the first of these "
     "ports that is free",
     KIND_TEXT, AT(root)},
    {"NCOLL_KEY",
     "secret of the job, the same on all ranks: the tcp bootstrap then admits only processes that "
     "know it",
     KIND_SECRET, AT(key)},
    {"NCOLL_BOOTSTRAP_TIMEOUT", "seconds to wait for the other ranks to come", KIND_NS,
     AT(bootstrap_timeout_ns), 0, 1000000, 1e9},
    {"NCOLL_TRANSPORT", "shm, verbs or shm+verbs; unset: shm within a node, verbs between",
     KIND_TEXT, AT(transport), .others = "UCX_TLS"},
    {"NCOLL_WIRING", "how queue pairs are connected: direct or rdmacm", KIND_TEXT, AT(wiring)},
    {"NCOLL_DEVICE",
     "RDMA devices, as mlx5_0, mlx5_0:1,mlx5_2 (with ports), mlx5 (all that begin so) or "
     "^mlx5_bond "
     "(all others)",
     KIND_TEXT, AT(device), .others = "UCX_NET_DEVICES, NCCL_IB_HCA"},
    {"NCOLL_PORT", "port of the device, from 1; 0: chosen", KIND_INT, AT(port), 0, 255},
    {"NCOLL_GID",
     "which address of the port: its index, an interface, a range as 10.1.0.0/16, roce1 or roce2, "
     "or several of them "
     "as eth1,roce2; unset or -1: chosen",
     KIND_TEXT, AT(gid),
     .others = "UCX_IB_GID_INDEX, NCCL_IB_GID_INDEX, NCCL_IB_ADDR_RANGE, NCCL_IB_ROCE_VERSION_NUM"},
    {"NCOLL_PKEY",
     "partition key (P_Key) by value, as 0x8011; 0: the first of which the port is a full member",
     KIND_INT, AT(pkey), 0, 0xffff, .others = "UCX_IB_PKEY, NCCL_IB_PKEY"},
    {"NCOLL_SL", "service level of messages over RDMA", KIND_INT, AT(service_level), 0, 15,
     .others = "UCX_IB_SL, NCCL_IB_SL"},
    {"NCOLL_TRAFFIC_CLASS", "traffic class of messages over RDMA (for RoCE: DSCP times 4)",
     KIND_INT, AT(traffic_class), 0, 255, .others = "UCX_IB_TRAFFIC_CLASS, NCCL_IB_TC"},
    {"NCOLL_MTU", "largest packet over RDMA in bytes, 256 to 4096; 0: what both ports can take",
     KIND_INT, AT(mtu), 0, 4096, .others = "UCX_IB_PATH_MTU"},
    {"NCOLL_RELAXED_ORDERING",
     "1: devices may write the bytes of long messages to memory in any order (PCIe relaxed "
     "ordering)",
     KIND_INT, AT(relaxed_ordering), 0, 1,
     .others = "UCX_IB_PCI_RELAXED_ORDERING, NCCL_IB_PCI_RELAXED_ORDERING"},
    {"NCOLL_FORK_SAFE",
     "1: children of the program do not get the memory that a device uses, where the kernel needs "
     "that (before 5.12)",
     KIND_INT, AT(fork_safe), 0, 1, .others = "UCX_IB_FORK_INIT"},
    {"NCOLL_RAILS", "network cards on which a rank sends a long message at once, 1 or 2", KIND_INT,
     AT(rails), 1, 2, .others = "UCX_MAX_RNDV_RAILS"},
    {"NCOLL_RAIL_BYTES", "a message of at least so many bytes goes by both cards", KIND_BYTES,
     AT(rail_bytes), 8192, 1LL << 36, .others = "UCX_MIN_RNDV_CHUNK_SIZE"},
    {"NCOLL_TIMEOUT_EXPONENT",
     "a device sends a packet again after 4.096 us times 2 to this power (18: 1.07 s)", KIND_INT,
     AT(timeout_exponent), 1, 31, .others = "UCX_RC_TIMEOUT, NCCL_IB_TIMEOUT"},
    {"NCOLL_RETRIES", "how often a device sends a packet again", KIND_INT, AT(retries), 0, 7,
     .others = "UCX_RC_RETRY_COUNT, NCCL_IB_RETRY_CNT"},
    {"NCOLL_PEER_TIMEOUT",
     "seconds after which a rank on another node that does not answer is lost", KIND_NS,
     AT(peer_timeout_ns), 1, 1000000, 1e9, .others = "UCX_KEEPALIVE_INTERVAL"},
    {"NCOLL_BARRIER_ALGORITHM", "algorithm of every barrier", KIND_TEXT, AT(barrier_algorithm)},
    {"NCOLL_ALLREDUCE_ALGORITHM", "algorithm of every allreduce", KIND_TEXT,
     AT(allreduce_algorithm)},
    {"NCOLL_BCAST_ALGORITHM", "algorithm of every bcast", KIND_TEXT, AT(bcast_algorithm)},
    {"NCOLL_REDUCE_ALGORITHM", "algorithm of every reduce", KIND_TEXT, AT(reduce_algorithm)},
    {"NCOLL_GATHER_ALGORITHM", "algorithm of every gather", KIND_TEXT, AT(gather_algorithm)},
    {"NCOLL_SCATTER_ALGORITHM", "algorithm of every scatter", KIND_TEXT, AT(scatter_algorithm)},
    {"NCOLL_ALLGATHER_ALGORITHM", "algorithm of every allgather", KIND_TEXT,
     AT(allgather_algorithm)},
    {"NCOLL_ALLTOALL_ALGORITHM", "algorithm of every alltoall", KIND_TEXT, AT(alltoall_algorithm)},
    {"NCOLL_REDUCE_SCATTER_ALGORITHM", "algorithm of every reduce_scatter", KIND_TEXT,
     AT(reduce_scatter_algorithm)},
    {"NCOLL_SCAN_ALGORITHM", "algorithm of every scan", KIND_TEXT, AT(scan_algorithm)},
    {"NCOLL_EXSCAN_ALGORITHM", "algorithm of every exscan", KIND_TEXT, AT(exscan_algorithm)},
    {"NCOLL_RULES",
     "file of rules by which algorithms are chosen, which rank 0 reads: see ncoll-rules(5)",
     KIND_TEXT, AT(rules_file),
     .others = "UCC_TL_UCP_TUNE, OMPI_MCA_coll_tuned_dynamic_rules_filename"},
    {"NCOLL_BARRIER_RULES", RULES_OF("barrier"), KIND_TEXT, AT(barrier_rules)},
    {"NCOLL_ALLREDUCE_RULES", RULES_OF("allreduce"), KIND_TEXT, AT(allreduce_rules)},
    {"NCOLL_BCAST_RULES", RULES_OF("bcast"), KIND_TEXT, AT(bcast_rules)},
    {"NCOLL_REDUCE_RULES", RULES_OF("reduce"), KIND_TEXT, AT(reduce_rules)},
    {"NCOLL_GATHER_RULES", RULES_OF("gather"), KIND_TEXT, AT(gather_rules)},
    {"NCOLL_SCATTER_RULES", RULES_OF("scatter"), KIND_TEXT, AT(scatter_rules)},
    {"NCOLL_ALLGATHER_RULES", RULES_OF("allgather"), KIND_TEXT, AT(allgather_rules)},
    {"NCOLL_ALLTOALL_RULES", RULES_OF("alltoall"), KIND_TEXT, AT(alltoall_rules)},
    {"NCOLL_REDUCE_SCATTER_RULES", RULES_OF("reduce_scatter"), KIND_TEXT, AT(reduce_scatter_rules)},
    {"NCOLL_SCAN_RULES", RULES_OF("scan"), KIND_TEXT, AT(scan_rules)},
    {"NCOLL_EXSCAN_RULES", RULES_OF("exscan"), KIND_TEXT, AT(exscan_rules)},
    {"NCOLL_RADIX",
     "n of the n-way algorithms, 1 to 16, or a list of at most 7, as 3,2,2: one for each round, "
     "the "
     "last one for all further rounds; -1: chosen",
     KIND_RADIX, AT(radix)},
    {"NCOLL_PEERS",
     "most ranks that a rank is connected to for an algorithm that ncoll chooses; 0: as many as "
     "the device of every rank has room for",
     KIND_INT, AT(peers), 0, RANKS_MOST},
    {"NCOLL_TUNE",
     "measurements that choices depend on: table (then the model), trial (table, then n = 1..7 are "
     "tried), model (costs only), off (none)",
     KIND_WORD, AT(tune), .words = tune_words},
    {"NCOLL_TUNE_FILE",
     "the tuning table that rank 0 reads; unset: $XDG_CACHE_HOME/ncoll/tuning or "
     "~/.cache/ncoll/tuning",
     KIND_TEXT, AT(tune_file)},
    {"NCOLL_ANY_ORDER", "1: floating-point bits may differ between ranks", KIND_INT, AT(any_order),
     0, 1},
    {"NCOLL_SYNC",
     "how collectives are synchronised beyond their data: loose, strict-entry, strict-exit, strict",
     KIND_WORD, AT(sync), .words = sync_words},
    {"NCOLL_WINDOW", "bytes for incoming bulk data of a group (k, m, g allowed)", KIND_BYTES,
     AT(window_bytes), 65536, 1LL << 36},
    {"NCOLL_GROUP_WINDOW", "the same for groups other than the world; 0: a quarter of NCOLL_WINDOW",
     KIND_BYTES, AT(group_window_bytes), 0, 1LL << 36},
    {"NCOLL_ZERO_COPY", "bytes of messages that are not copied where memory allows (k, m, g)",
     KIND_BYTES, AT(zero_copy_bytes), 1, 1LL << 36},
    {"NCOLL_SHOW",
     "bytes of messages that ranks of a node read at their sender; 0: none are (k, m, g)",
     KIND_BYTES, AT(show_bytes), 0, 1LL << 36},
    {"NCOLL_SINGLE_COPY",
     "bytes of messages that ranks of a node copy out of the sender's memory; 0: none are (k, m, "
     "g)",
     KIND_BYTES, AT(single_copy_bytes), 0, 1LL << 36},
    {"NCOLL_HUGE_PAGES", "0: ncoll_alloc() takes no huge pages", KIND_INT, AT(huge_pages), 0, 1},
    {"NCOLL_NODES",
     "for tests: the nodes that algorithms believe the ranks to be on, as 0,0,1,1, repeated for "
     "more ranks; unset: the real ones",
     KIND_TEXT, AT(nodes)},
    {"NCOLL_LEVEL",
     "domains that take the place of nodes within one: auto, none, package, numa, l3, core",
     KIND_WORD, AT(level), .words = level_words},
    {"NCOLL_SPIN", "microseconds that a waiting rank spins before it yields or sleeps; -1: chosen",
     KIND_NS, AT(spin_ns), -1, 1000000000, 1e3},
    {"NCOLL_RANKS_PER_CORE",
     "ranks that share a core, with those of other contexts and jobs; 0: those of the context",
     KIND_REAL, AT(ranks_per_core), 0, 100000},
    {"NCOLL_LOG", "what is reported on stderr: none, error, warn, info, debug", KIND_WORD,
     AT(log_level), .words = log_words, .others = "UCX_LOG_LEVEL, NCCL_DEBUG"},
    {"NCOLL_STALL_WARN",
     "seconds that a call may wait without progress before that is logged, 0.1 or more; 0: never",
     KIND_NS, AT(stall_warn_ns), 0, 1000000, 1e9},
    {"NCOLL_TRACE",
     "each rank writes what it has done last to this file, its rank added, when its context is "
     "destroyed; see ncoll-explain timeline",
     KIND_TEXT, AT(trace)},
    {"NCOLL_TRACE_EVENTS", "events of a rank that are kept for NCOLL_TRACE", KIND_INT,
     AT(trace_events), 1, 1 << 24},
};
#define SETTINGS (sizeof settings / sizeof settings[0])

static const size_t algorithm_settings[COLLECTIVES] = {
    [COLL_BARRIER] = AT(barrier_algorithm),
    [COLL_ALLREDUCE] = AT(allreduce_algorithm),
    [COLL_BCAST] = AT(bcast_algorithm),
    [COLL_REDUCE] = AT(reduce_algorithm),
    [COLL_GATHER] = AT(gather_algorithm),
    [COLL_SCATTER] = AT(scatter_algorithm),
    [COLL_ALLGATHER] = AT(allgather_algorithm),
    [COLL_ALLTOALL] = AT(alltoall_algorithm),
    [COLL_REDUCE_SCATTER] = AT(reduce_scatter_algorithm),
    [COLL_SCAN] = AT(scan_algorithm),
    [COLL_EXSCAN] = AT(exscan_algorithm),
};

const char **ncoll__algorithm_setting(ncoll_params *params, enum collective collective)
{
    return (const char **)(void *)((char *)params + algorithm_settings[collective]);
}

static const size_t rules_settings[COLLECTIVES] = {
    [COLL_BARRIER] = AT(barrier_rules),
    [COLL_ALLREDUCE] = AT(allreduce_rules),
    [COLL_BCAST] = AT(bcast_rules),
    [COLL_REDUCE] = AT(reduce_rules),
    [COLL_GATHER] = AT(gather_rules),
    [COLL_SCATTER] = AT(scatter_rules),
    [COLL_ALLGATHER] = AT(allgather_rules),
    [COLL_ALLTOALL] = AT(alltoall_rules),
    [COLL_REDUCE_SCATTER] = AT(reduce_scatter_rules),
    [COLL_SCAN] = AT(scan_rules),
    [COLL_EXSCAN] = AT(exscan_rules),
};

const char **ncoll__rules_setting(ncoll_params *params, enum collective collective)
{
    return (const char **)(void *)((char *)params + rules_settings[collective]);
}

static void *field(ncoll_params *params, const struct setting *s)
{
    return (char *)params + s->offset;
}

static int refuse(struct setting_error *error, const struct setting *s, const char *value)
{
    snprintf(error->cause, sizeof error->cause, "%s=%s is not a valid value", s->variable, value);
    int n = snprintf(error->remedy, sizeof error->remedy, "%s is: %s", s->variable, s->meaning);
    if (s->min >= 0 && s->max > 0)
        snprintf(error->remedy + n, sizeof error->remedy - (size_t)n, "; %lld to %lld", s->min,
                 s->max);
    return NCOLL_ERR_ARGUMENT;
}

/* Sets a locale for this thread in which numbers have a decimal point, until leave_locale(). */
static locale_t enter_locale(locale_t *own)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);

    *own = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    return plain;
}

static void leave_locale(locale_t plain, locale_t own)
{
    if (plain == (locale_t)0)
        return;
    uselocale(own);
    freelocale(plain);
}

/* Reads a number. Returns where it ends; NULL: the text does not begin with a number. */
static const char *scan_number(const char *text, double *value)
{
    locale_t own, plain = enter_locale(&own);
    char *end;

    errno = 0;
    *value = strtod(text, &end);
    bool bad = errno != 0 || end == text;
    leave_locale(plain, own);
    return bad ? NULL : end;
}

static bool parse_number(const char *text, double *value)
{
    const char *end = scan_number(text, value);

    return end != NULL && *end == '\0';
}

static bool parse_bytes(const char *text, double *value)
{
    const char *end = scan_number(text, value);

    if (end == NULL)
        return false;
    static const char suffix[] = "kmg";
    const char *unit = *end != '\0' ? strchr(suffix, *end | 0x20) : NULL;
    for (long i = unit ? unit - suffix : -1; i >= 0; i--)
        *value *= 1024;
    return *end == '\0' || (unit != NULL && end[1] == '\0');
}

static int apply(const struct setting *s, const char *text, ncoll_params *params,
                 struct setting_error *error)
{
    double value;
    int word = 0;

    switch (s->kind) {
    case KIND_TEXT:
    case KIND_SECRET:
        *(const char **)field(params, s) = text;
        return NCOLL_OK;
    case KIND_WORD:
        while (s->words[word] != NULL && strcmp(s->words[word], text) != 0)
            word++;
        if (s->words[word] == NULL)
            return refuse(error, s, text);
        *(int *)field(params, s) = word;
        return NCOLL_OK;
    case KIND_INT:
        if (!parse_number(text, &value) || !(value >= s->min && value <= s->max) ||
            value != (int)value)
            return refuse(error, s, text);
        *(int *)field(params, s) = (int)value;
        return NCOLL_OK;
    case KIND_RADIX:
        if (strcmp(text, "-1") != 0 && ncoll__radix_parse(text) == 0)
            return refuse(error, s, text);
        *(int *)field(params, s) = strcmp(text, "-1") != 0 ? (int)ncoll__radix_parse(text) : -1;
        return NCOLL_OK;
    case KIND_REAL:
        if (!parse_number(text, &value) || !(value >= s->min && value <= s->max))
            return refuse(error, s, text);
        *(double *)field(params, s) = value;
        return NCOLL_OK;
    case KIND_NS:
        if (!parse_number(text, &value) || !(value >= s->min && value <= s->max))
            return refuse(error, s, text);
        *(int64_t *)field(params, s) = value < 0 ? -1 : (int64_t)(value * s->unit_ns);
        return NCOLL_OK;
    case KIND_BYTES:
        if (!parse_bytes(text, &value) || !(value >= s->min && value <= s->max))
            return refuse(error, s, text);
        *(size_t *)field(params, s) = (size_t)value;
        return NCOLL_OK;
    }
    return NCOLL_ERR_INTERNAL;
}

/* Sizes of ncoll_params in this and earlier releases; fields are only ever added at the end. */
#define FIRST_SIZE (offsetof(ncoll_params, clock_arg) + sizeof(void *))
#define SIZE_0_1   (offsetof(ncoll_params, single_copy_bytes) + sizeof(size_t))

static bool known_size(size_t size)
{
    return size == FIRST_SIZE || size == SIZE_0_1 || size == sizeof(ncoll_params);
}

int ncoll_params_init(ncoll_params *params, size_t size)
{
    if (params == NULL || !known_size(size))
        return NCOLL_ERR_ARGUMENT;
    const ncoll_params defaults = {
        .size = size,
        .rank = -1,
        .bootstrap_timeout_ns = 60 * INT64_C(1000000000),
        .gid_index = -1,
        .radix = -1,
        .window_bytes = 4u << 20,
        .zero_copy_bytes = 16u << 10,
        .show_bytes = 2u << 10,
        .huge_pages = 1,
        .spin_ns = -1,
        .log_level = NCOLL_LOG_WARN,
        .stall_warn_ns = 10 * INT64_C(1000000000),
        .trace_events = 65536,
        .relaxed_ordering = 1,
        .fork_safe = 1,
        .rails = 1,
        .rail_bytes = 128u << 10,
        .timeout_exponent = 18,
        .retries = 7,
        .peer_timeout_ns = 5 * INT64_C(1000000000),
    };
    memcpy(params, &defaults, size);
    return NCOLL_OK;
}

int ncoll_radix_list(const int *n, size_t k)
{
    unsigned numbers[4 * RADICES_MAX], radix;

    if (n == NULL || k > sizeof numbers / sizeof numbers[0])
        return NCOLL_ERR_ARGUMENT;
    for (size_t i = 0; i < k; i++)
        numbers[i] = n[i] > 0 ? (unsigned)n[i] : 0;
    radix = ncoll__radix_list(numbers, (unsigned)k);
    return radix != 0 ? (int)radix : NCOLL_ERR_ARGUMENT;
}

static int check_range(const struct setting *s, ncoll_params *params, struct setting_error *error)
{
    char text[32];
    long long value;

    if (s->kind == KIND_REAL) {
        double real = *(double *)field(params, s);
        if (real >= s->min && real <= s->max)
            return NCOLL_OK;
        snprintf(text, sizeof text, "%g", real);
        return refuse(error, s, text);
    }
    if (s->kind == KIND_INT || s->kind == KIND_RADIX)
        value = *(int *)field(params, s);
    else if (s->kind == KIND_BYTES)
        value = (long long)*(size_t *)field(params, s);
    else
        return NCOLL_OK;
    bool not_given =
        (s->offset == AT(rank) && value == -1) || (s->offset == AT(ranks) && value == 0);
    bool is_radix = value == -1 || (value > 0 && ncoll__radix_is_valid((unsigned)value));
    if (not_given || (s->kind == KIND_RADIX ? is_radix : value >= s->min && value <= s->max))
        return NCOLL_OK;
    snprintf(text, sizeof text, "%lld", value);
    return refuse(error, s, text);
}

/* Checks conditions on the settings that the table cannot express. */
static int check_whole(const ncoll_params *p, struct setting_error *error)
{
    const char *cause = NULL;
    if (p->bootstrap < NCOLL_BOOTSTRAP_AUTO || p->bootstrap > NCOLL_BOOTSTRAP_THREADS)
        cause = "the bootstrap is not one of enum ncoll_bootstrap";
    else if (p->bootstrap_timeout_ns < 0)
        cause = "the bootstrap time-out is negative";
    else if (p->stall_warn_ns < 0)
        cause = "the time before a stalled call is logged (stall_warn_ns) is negative";
    else if (p->stall_warn_ns > 0 && p->stall_warn_ns < STALL_WARN_LEAST_NS)
        cause = "the time before a stalled call is logged (NCOLL_STALL_WARN) is less than 0.1 s";
    else if (p->peer_timeout_ns < INT64_C(1000000000))
        cause = "the time after which a silent rank is lost (NCOLL_PEER_TIMEOUT) is less than 1 s";
    else if (p->gid_index < -1 || p->gid_index > 0xffff)
        cause = "the index of the GID (gid_index) is not from -1 to 65535";
    else if (p->mtu != 0 && (p->mtu < 256 || (p->mtu & (p->mtu - 1)) != 0))
        cause = "the packet length (NCOLL_MTU) is not 256, 512, 1024, 2048 or 4096";
    else if ((int)p->log_level < 0 || p->log_level > NCOLL_LOG_DEBUG)
        cause = "the log level is not one of enum ncoll_log_level";
    else if ((int)p->level < NCOLL_LEVEL_AUTO || p->level > NCOLL_LEVEL_CORE)
        cause = "the level is not one of enum ncoll_level";
    else if ((int)p->tune < NCOLL_TUNE_TABLE || p->tune > NCOLL_TUNE_OFF)
        cause = "the source of choices (tune) is not one of enum ncoll_tune";
    else if (p->sync < 0 || p->sync > (int)NCOLL_STRICT)
        cause = "the mode of synchronisation is not NCOLL_LOOSE or one of NCOLL_STRICT's bits";
    else if ((p->allocate == NULL) != (p->release == NULL))
        cause = "only one of allocate and release is set";
    if (cause == NULL)
        return NCOLL_OK;
    snprintf(error->cause, sizeof error->cause, "%s", cause);
    snprintf(error->remedy, sizeof error->remedy, "see ncoll_params in ncoll.h");
    return NCOLL_ERR_ARGUMENT;
}

int ncoll__settings_resolve(const ncoll_params *params, ncoll_params *out,
                            struct setting_error *error)
{
    int rc;

    ncoll_params_init(out, sizeof *out);
    if (params != NULL) {
        if (!known_size(params->size)) {
            snprintf(error->cause, sizeof error->cause,
                     "ncoll_params.size is %zu, this library knows %zu", params->size,
                     sizeof *params);
            snprintf(error->remedy, sizeof error->remedy,
                     "call ncoll_params_init(&params, sizeof params) first");
            return NCOLL_ERR_ARGUMENT;
        }
        memcpy(out, params, params->size);
        out->size = sizeof *out;
    }
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *text = getenv(settings[i].variable);
        if (text != NULL && *text != '\0' &&
            (rc = apply(&settings[i], text, out, error)) != NCOLL_OK)
            return rc;
        if ((rc = check_range(&settings[i], out, error)) != NCOLL_OK)
            return rc;
    }
    return check_whole(out, error);
}

/* Prints a number so that it can be given as a setting again. */
static void print_number(double value, char *text, size_t size)
{
    locale_t own, plain = enter_locale(&own);

    snprintf(text, size, "%g", value);
    leave_locale(plain, own);
}

static void print_value(const struct setting *s, ncoll_params *p, char *text, size_t size)
{
    void *at = field(p, s);
    char radix[RADIX_TEXT];
    const char *string;

    switch (s->kind) {
    case KIND_TEXT:
        string = *(const char **)at;
        snprintf(text, size, "%s", string ? string : "");
        break;
    case KIND_SECRET:
        snprintf(text, size, "%s", *(const char **)at != NULL ? "(set, not shown)" : "");
        break;
    case KIND_WORD:
        snprintf(text, size, "%s", s->words[*(int *)at]);
        break;
    case KIND_INT:
        snprintf(text, size, "%d", *(int *)at);
        break;
    case KIND_RADIX:
        snprintf(text, size, "%s",
                 *(int *)at < 0 ? "-1" : ncoll__radix_text((unsigned)*(int *)at, radix));
        break;
    case KIND_REAL:
        print_number(*(double *)at, text, size);
        break;
    case KIND_NS:
        print_number(*(int64_t *)at < 0 ? -1.0 : (double)*(int64_t *)at / s->unit_ns, text, size);
        break;
    case KIND_BYTES:
        snprintf(text, size, "%zu", *(size_t *)at);
        break;
    }
}

bool ncoll__setting_view(const ncoll_params *params, unsigned index, struct setting_view *out)
{
    if (index >= SETTINGS)
        return false;
    const struct setting *s = &settings[index];
    const char *text = getenv(s->variable);
    bool from_environment = text != NULL && *text != '\0';
    ncoll_params defaults, now;
    struct setting_error error;
    char default_value[sizeof out->value];

    ncoll_params_init(&defaults, sizeof defaults);
    now = params != NULL ? *params : defaults;
    *out =
        (struct setting_view){.variable = s->variable, .meaning = s->meaning, .others = s->others};
    print_value(s, &defaults, default_value, sizeof default_value);
    print_value(s, &now, out->value, sizeof out->value);
    out->origin = strcmp(default_value, out->value) == 0 ? "default" : "parameters";
    if (from_environment) {
        out->origin = "environment";
        if (apply(s, text, &now, &error) == NCOLL_OK)
            print_value(s, &now, out->value, sizeof out->value);
        else
            snprintf(out->value, sizeof out->value, "%.240s (refused)", text);
    }
    return true;
}
