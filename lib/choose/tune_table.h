/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning tables: what was measured once, as text that is kept in a file. A table has sections. Each
 * section is for one machine, device, transport and version of the library. It holds the costs of
 * messages there, or the fastest algorithm for each kind and size of call in groups of a certain
 * size.
 *
 *     ncoll tuning 1
 *     section 0.1.0
 *     machine 2 x Intel(R) Xeon(R) Processor @ 2.60GHz
 *     transport shm
 *     device -
 *     crowd 2000
 *     costs 45000 18000 100000
 *     end
 *     section 0.1.0
 *     ..
 *     ranks 4 4
 *     use allreduce 0 63 two-window 3 0 4 1250
 *     use allreduce/same-bits 0 63 gather 3 0 4 1410
 *     end
 *     sum 84222325cbf29ce4
 *
 * All numbers are integers, so that the locale does not matter. The last line has a hash (FNV-1a,
 * 64 bits) of all lines before it, which reveals a file that was cut off or changed by accident. A
 * table is advice: a choice that cannot serve a call is ignored.
 */
#ifndef NCOLL_LIB_TUNE_TABLE_H
#define NCOLL_LIB_TUNE_TABLE_H

#include "algos/schedule.h"
#include "transport/transport.h"

#define TUNE_FORMAT    1u
#define TUNE_TEXT_MAX  ((size_t)1 << 20) /* bytes of a file */
#define TUNE_WORD      96                /* bytes of a word of the key, with its terminating 0 */
#define TUNE_WHY       160
#define TUNE_LANES_MAX 4u
#define TUNE_COST_MAX  ((uint64_t)1000000000000) /* a second, in picoseconds */
#define TUNE_SECTIONS  1024u                     /* most sections of a table */
#define TUNE_VERSIONS  3u                        /* most other versions kept for one machine */
#define TUNE_BYTES_MAX ((uint64_t)1 << 40)       /* largest size; stands for all above */

/* The key of a section: the machine, transport, device and group that it applies to, and the
 * version. */
struct tune_key {
    char version[TUNE_WORD];       /* version of the library */
    char machine[TUNE_WORD];       /* number and model of the processors */
    char transport[TUNE_WORD];     /* "shm", .. */
    char device[TUNE_WORD];        /* name, model and firmware; "-": none */
    uint64_t ranks_per_core_milli; /* ranks that share a core, times 1000 */
    uint64_t ranks;                /* ranks of the group; 0: any; the section then has costs only */
    uint64_t node_ranks;           /* most ranks of the group on one node; 0: any */
};

/* A rule for calls whose vector or longest block has from_bytes to to_bytes bytes. */
struct tune_rule {
    enum collective collective;
    bool same_bits; /* for floating-point calls whose results have the same bits on all ranks */
    uint64_t from_bytes, to_bytes;
    const struct algorithm *algorithm;
    unsigned radix;
    uint64_t segment_bytes; /* 0: as long as the window allows */
    unsigned lanes;         /* segments of a call that run at the same time, 1..4 */
    uint64_t ns;            /* time of the call when it was measured */
};

struct tune_section {
    struct tune_key key;
    bool has_costs;
    struct transport_cost cost; /* costs of messages between two ranks with a core each */
    unsigned first, count;      /* the rules are rules[first .. first + count - 1] */
};

/* The result of a trial that this job has made. */
struct tune_found {
    struct tune_key key;
    struct tune_rule rule;
};

struct tune_table {
    struct tune_section *sections;
    struct tune_rule *rules; /* rules of all sections, one section after the other */
    unsigned n_sections, n_rules;
    unsigned sections_max, rules_max; /* sections and rules that there is room for */
};

/* Counts how many sections and rules a table of this text can have at most. */
void ncoll__tune_room(const char *text, size_t len, unsigned *sections, unsigned *rules);

enum tune_fault { TUNE_FINE, TUNE_DAMAGED, TUNE_FOREIGN };

/* Reads a text, which may hold any bytes, into an empty table that has room for it. After a fault
 * *why describes the fault, and the table is empty. */
enum tune_fault ncoll__tune_parse(const char *text, size_t len, struct tune_table *out,
                                  char why[TUNE_WHY]);

/* Writes a table as text. Returns its length, 0 if it is longer than `size`. */
size_t ncoll__tune_print(const struct tune_table *table, char *text, size_t size);

/* True if both keys have the same machine, transport, device, version and number of ranks on a
 * core; their groups may differ. */
bool ncoll__tune_same_place(const struct tune_key *a, const struct tune_key *b);
bool ncoll__tune_same_key(const struct tune_key *a, const struct tune_key *b);
/* True if both keys are for the same machine, transport and device, but `key` is out of date: it is
 * for another version of the library, or for another model or firmware of the device. */
bool ncoll__tune_is_stale(const struct tune_key *key, const struct tune_key *here);

/* Appends a copy of a section and its rules. Returns false if there is no room. */
bool ncoll__tune_add(struct tune_table *table, const struct tune_table *from, unsigned section);

/*
 * Merges `fresh` into a file's table. `fresh` replaces sections of the file with the same key, and
 * sections of the same version, machine, transport and device name that were measured with another
 * model or firmware of the device. Costs that `fresh` has not measured stay. Sections of other
 * versions stay as well, since these versions may be in use, but only the last TUNE_VERSIONS of
 * them for each machine and device. `out` is empty, with room for both tables. Returns false if
 * there is no room.
 */
bool ncoll__tune_merge(const struct tune_table *old, const struct tune_table *fresh,
                       struct tune_table *out);

/* Copies `old` to `out`, and adds a rule that a job has found, for sizes around the measured one.
 * Sizes that have a rule already keep it. Returns false if there is no room. */
bool ncoll__tune_fill(const struct tune_table *old, const struct tune_key *key,
                      struct tune_rule rule, struct tune_table *out);

/* Returns the section for groups of `ranks` ranks, at most node_ranks of them on a node; NULL:
 * none. */
const struct tune_section *ncoll__tune_section(const struct tune_table *table, unsigned ranks,
                                               unsigned node_ranks);
/* Returns the rule of the section for a call with these properties; NULL: none. */
const struct tune_rule *ncoll__tune_rule(const struct tune_table *table,
                                         const struct tune_section *section,
                                         enum collective collective, bool same_bits,
                                         uint64_t bytes);

#endif
