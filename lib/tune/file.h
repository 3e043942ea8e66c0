/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a tuning table is kept. Whoever reads sees a whole one or none, since it is replaced by a
 * new file; whoever writes has a lock beside it, and what others wrote before is merged in.
 */
#ifndef NCOLL_LIB_TUNE_FILE_H
#define NCOLL_LIB_TUNE_FILE_H

#include <limits.h>

#include "lib/tune/table.h"

struct ncoll_context;

/*
 * The file: what is asked for (NULL or "": not), $XDG_CACHE_HOME/ncoll/tuning, or
 * $HOME/.cache/ncoll/tuning. False: there is no home, or the name is too long.
 */
bool ncoll__tune_path(const char *asked, char path[PATH_MAX]);

/* The whole file, to be released; NULL: there is none, *why being "", or it cannot be read. Never
 * waits, whatever the name stands for. The context lends its allocator. */
char *ncoll__tune_read(struct ncoll_context *ctx, const char *path, size_t *len,
                       char why[TUNE_WHY]);

/* Room for what the text has, and the table in it. Of a fault the table is empty, and has no room.
 * TUNE_DAMAGED, in words, if there is no memory as well. */
enum tune_fault ncoll__tune_load(struct ncoll_context *ctx, const char *text, size_t len,
                                 struct tune_table *out, char why[TUNE_WHY]);
void ncoll__tune_free(struct ncoll_context *ctx, struct tune_table *table);

/* Makes the directories of the path that are not there. False, and why: it cannot be. */
bool ncoll__tune_make_directories(const char *path, char why[TUNE_WHY]);

/* Whether ncoll__tune_write() would have a place for it; makes nothing. False, and why. */
bool ncoll__tune_can_write(struct ncoll_context *ctx, const char *path, char why[TUNE_WHY]);

/*
 * Merges a table into the file, whose directory has to be there. A link stays, and the file that it
 * leads to, with its lock, is written; a file that is there keeps its permissions. A table that is
 * damaged, or of another format, is replaced; a file that is no table is left as it is, and gets no
 * lock. False, and why: not written. Waits for other writers, 10 s at most.
 */
bool ncoll__tune_write(struct ncoll_context *ctx, const char *path, const struct tune_table *fresh,
                       char why[TUNE_WHY]);
/* The same for one rule, where the table has none: ncoll__tune_fill(). Waits 0.1 s at most. */
bool ncoll__tune_write_found(struct ncoll_context *ctx, const char *path,
                             const struct tune_key *key, const struct tune_rule *rule,
                             char why[TUNE_WHY]);

#endif
