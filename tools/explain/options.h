/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_EXPLAIN_OPTIONS_H
#define NCOLL_TOOLS_EXPLAIN_OPTIONS_H

#include "tools/explain/explain.h"

enum command { COMMAND_NONE, COMMAND_SCHEDULE, COMMAND_TUPLE, COMMAND_LIST };

struct options {
    enum command command;
    const struct algorithm *algorithm;
    unsigned size, radix, count;
    long rank;                  /* -1: all */
    enum collective collective; /* 0: the algorithm's first */
    unsigned root;
    const char *nodes, *node_of; /* as given */
    bool no_inverse;
    struct costs costs;
    bool has_costs;
    uint64_t given; /* bits 1 << place in argp_options */
};

/* Reads the command line. A mistake is said on stderr, and ends the program with EXIT_USAGE. */
void options_parse(int argc, char **argv, struct options *out);

#endif
