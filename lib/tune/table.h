/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning tables: what was measured once, as text that is kept in a file. A table has sections. Each
 * says for which machine, device, transport and version of the library it holds, and has what
 * messages cost there, or which algorithm was the fastest for each kind and size of call in groups
 * of so many ranks.
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
 * Integers only, so that no locale has a say. The sum is that of all before it (FNV-1a, 64 bits): a
 * file that was cut off, or changed by accident, is known by it. What a table says is advice: a
 * choice that does not serve a call is not taken.
 */
#ifndef NCOLL_LIB_TUNE_TABLE_H
#define NCOLL_LIB_TUNE_TABLE_H

#include "algos/schedule.h"
#include "transport/transport.h"

#define TUNE_FORMAT    1u
#define TUNE_TEXT_MAX  ((size_t)1 << 20) /* bytes of a file */
#define TUNE_WORD      96                /* bytes of a word of the key, with its end */
#define TUNE_WHY       160
#define TUNE_LANES_MAX 4u
#define TUNE_COST_MAX  ((uint64_t)1000000000000) /* a second, in picoseconds */
#define TUNE_SECTIONS  1024u                     /* of a table, at most */
#define TUNE_VERSIONS  3u                        /* of one place, beside that which writes */
#define TUNE_BYTES_MAX ((uint64_t)1 << 40)       /* "and all longer ones" */

/* Where and when a section holds. */
struct tune_key {
    char version[TUNE_WORD];   /* of the library */
    char machine[TUNE_WORD];   /* model and number of processors */
    char transport[TUNE_WORD]; /* "shm", .. */
    char device[TUNE_WORD];    /* name, model and firmware; "-": none */
    uint64_t crowd_milli;      /* ranks that share a core, times 1000 */
    uint64_t ranks;            /* of the group; 0: of any, which has costs only */
    uint64_t node_ranks;       /* most on one of its nodes; 0: the same */
};

/* For calls of from_bytes to to_bytes, of the vector or the longest block. */
struct tune_rule {
    enum collective collective;
    bool same_bits; /* where all ranks have to get the same bits, of floating-point numbers */
    uint64_t from_bytes, to_bytes;
    const struct algorithm *algorithm;
    unsigned radix;
    uint64_t segment_bytes; /* 0: as long as fits */
    unsigned lanes;         /* segments of a call that go on at once, 1..4 */
    uint64_t ns;            /* that it took when it was measured */
};

struct tune_section {
    struct tune_key key;
    bool has_costs;
    struct transport_cost cost; /* between two ranks with a core of their own each */
    unsigned first, count;      /* of its rules */
};

/* By a job that is still going on. */
struct tune_found {
    struct tune_key key;
    struct tune_rule rule;
};

struct tune_table {
    struct tune_section *sections;
    struct tune_rule *rules; /* of all sections, one after the other */
    unsigned n_sections, n_rules;
    unsigned sections_max, rules_max; /* room that there is */
};

/* What a table needs room for that this text may have. */
void ncoll__tune_room(const char *text, size_t len, unsigned *sections, unsigned *rules);

enum tune_fault { TUNE_FINE, TUNE_DAMAGED, TUNE_FOREIGN };

/* Reads a text of any bytes into an empty table with room. Faults are put in words, in *why; the
 * table is empty then. */
enum tune_fault ncoll__tune_parse(const char *text, size_t len, struct tune_table *out,
                                  char why[TUNE_WHY]);

/* Writes a table as text. Returns its bytes, 0 if they are more than `size`. */
size_t ncoll__tune_print(const struct tune_table *table, char *text, size_t size);

/* Whether a key is that of this place and version, whatever groups it is for. */
bool ncoll__tune_same_place(const struct tune_key *a, const struct tune_key *b);
bool ncoll__tune_same_key(const struct tune_key *a, const struct tune_key *b);
/* Whether both are about this machine, transport and device, but one is out of date: another
 * version of the library, or the same device after a change. */
bool ncoll__tune_is_stale(const struct tune_key *key, const struct tune_key *here);

/* Appends a copy of a section and its rules. False: no room. */
bool ncoll__tune_add(struct tune_table *table, const struct tune_table *from, unsigned section);

/*
 * What becomes of a file's table when `fresh` is written to it: sections with the keys of fresh
 * ones go, and those of the same version and machine before their device changed; costs that fresh
 * has not measured stay. So do sections of other versions, which may be in use beside this one, but
 * of each machine and device only those of the TUNE_VERSIONS that were written last. out is empty,
 * with room for both. False: no room.
 */
bool ncoll__tune_merge(const struct tune_table *old, const struct tune_table *fresh,
                       struct tune_table *out);

/*
 * The same for a rule that a job has found besides, for what was measured in the middle of its
 * sizes: nothing that is there goes. Where the table has no rule for that, it is added, for as many
 * of its sizes as the table has none for. False: no room.
 */
bool ncoll__tune_fill(const struct tune_table *old, const struct tune_key *key,
                      struct tune_rule rule, struct tune_table *out);

/* The section for such groups; NULL: none. */
const struct tune_section *ncoll__tune_section(const struct tune_table *table, unsigned ranks,
                                               unsigned node_ranks);
/* The rule for such a call; NULL: none. */
const struct tune_rule *ncoll__tune_rule(const struct tune_table *table,
                                         const struct tune_section *section,
                                         enum collective collective, bool same_bits,
                                         uint64_t bytes);

#endif
