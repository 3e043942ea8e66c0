/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules that a person writes: which algorithm calls of certain sizes use, in which groups. They
 * come from a file (NCOLL_RULES), a rule on each line, and from variables (NCOLL_ALLREDUCE_RULES
 * and so on), with commas between rules:
 *
 *     allreduce 0-4k ranks=2-8 dissemination n=3       # in a file
 *     0-4k:ranks=2-8:dissemination@n=3,4k-:ring        in NCOLL_ALLREDUCE_RULES
 *
 * ncoll-rules(5) is the whole grammar. The first rule that applies to a call is taken; if its
 * algorithm cannot run the call, the choice is made as if there were no rules. Two rules that apply
 * to the same call are a mistake, unless the earlier one is an exception from the later one: its
 * conditions hold only in some of the groups in which those of the later one hold.
 */
#ifndef NCOLL_LIB_RULES_H
#define NCOLL_LIB_RULES_H

#include "algos/schedule.h"

#define RULES_MAX       8192u               /* most rules of a job */
#define RULE_NUMBER_MAX ((uint64_t)1 << 50) /* largest number in a rule */
#define RULE_NO_END     UINT64_MAX          /* the upper end of a range that has none */
#define RULE_WORD       96                  /* bytes of a name in a rule, with its terminating 0 */
#define RULE_WHERE      80                  /* bytes of a text that says where a rule is written */
#define RULE_TEXT       512                 /* bytes of a printed rule */
#define RULE_LANES_MAX  4u

/* A range of numbers; both ends belong to it. */
struct rule_range {
    uint64_t from, to; /* to: RULE_NO_END if the range has no upper end */
};

/* The properties of a group that a condition may restrict to a range of numbers. */
enum rule_number {
    RULE_RANKS,      /* ranks of the group */
    RULE_NODES,      /* nodes that these ranks are on */
    RULE_NODE_RANKS, /* most ranks of the group on one node */
    RULE_PER_CORE,   /* ranks of the job that share a core, times 1000 */
    RULE_NUMBERS
};

struct rule {
    enum collective collective;
    struct rule_range bytes; /* length of the vector, or of the longest block */
    struct rule_range numbers[RULE_NUMBERS];
    /* "": any; device: the name of the device, without its model and firmware */
    char transport[RULE_WORD], device[RULE_WORD];
    /* the rule is only for calls whose floating-point results have the same bits on all ranks */
    bool same_bits;
    const struct algorithm *algorithm;
    unsigned radix;         /* 0: chosen for each call */
    unsigned lanes;         /* segments in progress at once; 0: as without a rule */
    bool has_segment;       /* false: segments are chosen as without a rule */
    uint64_t segment_bytes; /* 0: as long as the window allows */
    char where[RULE_WHERE]; /* "NAME:LINE:COLUMN", or "VARIABLE, character N" */
    bool said;              /* this rank has logged that the rule cannot be followed */
};

struct rules {
    struct rule *all;
    unsigned n, max; /* max: rules that `all` has room for */
};

/* A mistake in a rule: its place, its cause, and what to do about it. */
struct rule_error {
    char where[RULE_WHERE], cause[224], remedy[240];
};

/* A text with rules: a file, or the value of a variable. */
struct rule_source {
    const char *name;           /* name of the file or of the variable */
    enum collective collective; /* the collective that the variable is for; 0: a file */
    const char *text;
    size_t len;
};

/* ------------------------------------------------------------------ rules_words.c ------------- */

/* Returns the collective of this name; 0: there is none. */
enum collective ncoll__rule_collective(const char *name);

/* Reads "4k", "64KiB" and so on: a whole number with a unit of 1024, 1024^2 or 1024^3. */
bool ncoll__rule_bytes(const char *word, uint64_t *out);
/* Reads "2-8", "4", "8-" or "-8", and multiplies the numbers by `unit`: 1, or 1000, which allows up
 * to three decimals. */
bool ncoll__rule_numbers(const char *word, uint64_t unit, struct rule_range *out);
/* Writes a number of bytes in the largest unit of which it is a whole multiple. Returns text. */
#define RULE_BYTES_TEXT 24
const char *ncoll__rule_bytes_text(uint64_t bytes, char text[RULE_BYTES_TEXT]);

/* Returns the key of a condition on a number, such as "ranks". */
const char *ncoll__rule_number_key(enum rule_number number);
/* Returns the factor by which a number in the text of a rule is multiplied: 1000 for RULE_PER_CORE,
 * else 1. */
uint64_t ncoll__rule_unit(enum rule_number number);

/* ------------------------------------------------------------------ rules_parse.c ------------- */

/* Returns an upper bound for the number of rules in a text. */
size_t ncoll__rules_room(const struct rule_source *source);
/* Appends the rules of a text, which may hold any bytes. If the text is not valid, returns false,
 * fills in *error, and leaves the rules before the mistake in *out. */
bool ncoll__rules_parse(const struct rule_source *source, struct rules *out,
                        struct rule_error *error);

/* ------------------------------------------------------------------ rules_check.c ------------- */

/* Returns true if no two rules apply to the same call, except where the earlier one is an exception
 * from the later one. Otherwise fills in *error. */
bool ncoll__rules_check(const struct rules *rules, struct rule_error *error);

/* ------------------------------------------------------------------ rules_print.c ------------- */

/* Writes a rule as a line of a file, without the line's end. Returns text. */
const char *ncoll__rule_text(const struct rule *rule, char text[RULE_TEXT]);

#endif
