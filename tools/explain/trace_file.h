/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files that a job has written with NCOLL_TRACE. */
#ifndef NCOLL_TOOLS_EXPLAIN_TRACE_FILE_H
#define NCOLL_TOOLS_EXPLAIN_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_WORD 32

struct trace_line {
    char kind[TRACE_WORD];
    uint64_t begin_ns, end_ns, group, epoch, bytes;
    /* call, own: */
    bool is_call;
    uint64_t number;
    char collective[TRACE_WORD], algorithm[TRACE_WORD], radix[TRACE_WORD];
    int status;
    /* the others: */
    int peer; /* -1: none */
    unsigned slot;
};

/* The trace of one rank. */
struct trace_file {
    const char *path;
    unsigned rank, ranks;
    uint64_t clock; /* the same for ranks whose times come from one clock */
    uint64_t lost;  /* events that are older than those in the file */
    struct trace_line *lines;
    size_t n_lines;
};

/* Reads a file. A mistake in it is printed, and ends the program. */
void trace_file_read(const char *path, struct trace_file *out);

#endif
