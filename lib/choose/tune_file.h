/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a tuning table. Readers see a whole table or none, since a new file replaces the old
 * one. Writers lock a file beside it, and merge their table into the present one. */
#ifndef NCOLL_LIB_TUNE_FILE_H
#define NCOLL_LIB_TUNE_FILE_H

#include <limits.h>

#include "lib/choose/tune_table.h"

struct ncoll_context;

/*
 * Finds the path of the file: the one asked for (unless that is NULL or ""), else
 * $XDG_CACHE_HOME/ncoll/tuning, or $HOME/.cache/ncoll/tuning. Returns false if there is no home
 * directory, or the path is too long.
 */
bool ncoll__tune_path(const char *asked, char path[PATH_MAX]);

/* Reads the whole file; the caller releases the text. Returns NULL if there is no file (*why is
 * then "") or it cannot be read. The call never blocks, even on a pipe or a terminal. The context
 * provides the allocator. */
char *ncoll__tune_read(struct ncoll_context *ctx, const char *path, size_t *len,
                       char why[TUNE_WHY]);

/* Reads a table from text into memory that it allocates. After a fault the table is empty and has
 * no memory. Lack of memory counts as TUNE_DAMAGED, and *why says so. */
enum tune_fault ncoll__tune_load(struct ncoll_context *ctx, const char *text, size_t len,
                                 struct tune_table *out, char why[TUNE_WHY]);
void ncoll__tune_free(struct ncoll_context *ctx, struct tune_table *table);

/* Makes the directories of the path that do not exist. Returns false, and why, if it cannot. */
bool ncoll__tune_make_directories(const char *path, char why[TUNE_WHY]);

/* Returns true if ncoll__tune_write() could write the file; else false, and why. Creates
 * nothing. */
bool ncoll__tune_can_write(struct ncoll_context *ctx, const char *path, char why[TUNE_WHY]);

/*
 * Merges a table into the file, whose directory must exist. If the path is a link, the file that it
 * leads to is written, and the lock lies beside that file. An existing file keeps its permissions.
 * A table that is damaged, or of another format, is replaced. A file that is not a table is left
 * alone and gets no lock. Waits at most 10 s for other writers. Returns false, and why, if nothing
 * was written.
 */
bool ncoll__tune_write(struct ncoll_context *ctx, const char *path, const struct tune_table *fresh,
                       char why[TUNE_WHY]);
/* Adds one rule to the file, for sizes that have no rule there: see ncoll__tune_fill(). Waits at
 * most 0.1 s for other writers. */
bool ncoll__tune_write_found(struct ncoll_context *ctx, const char *path,
                             const struct tune_key *key, const struct tune_rule *rule,
                             char why[TUNE_WHY]);

#endif
