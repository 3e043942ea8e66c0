/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context's tuning: rank 0 reads the table when the context is created, and what there is for
 * this place goes to all ranks with its description. So all choose alike, whatever files they have.
 */
#ifndef NCOLL_LIB_TUNE_TUNE_H
#define NCOLL_LIB_TUNE_TUNE_H

#include "lib/tune/file.h"

struct call_args;
struct choice;
struct ncoll_group;
struct op;

/* "2 x Intel(R) Xeon(R) Processor": processors and their model, whatever may be used of them. */
void ncoll__tune_machine(char machine[TUNE_WORD]);

/* Fills in the place of the context, whose transport is open; the key is of no group. */
void ncoll__tune_here(const struct ncoll_context *ctx, struct tune_key *out);

/* On rank 0: appends what the file has for this place, as text; nothing if there is nothing. What
 * is wrong with the file is logged. */
void ncoll__tune_recall(struct ncoll_context *ctx, struct blob *blob);

/* Takes what rank 0 has told. NCOLL_OK or an error, recorded. */
int ncoll__tune_adopt(struct ncoll_context *ctx, const char *text, size_t len);
void ncoll__tune_forget(struct ncoll_context *ctx);

/* Notes what a trial of the call with its radix took; and writes what was noted, on rank 0, to the
 * file that is named. What goes wrong is logged. */
void ncoll__tune_found(struct ncoll_group *g, const struct call_args *args, double ns);
void ncoll__tune_keep(struct ncoll_context *ctx);

/* Most ranks of a group that share a node, as keys have it. */
unsigned ncoll__tune_node_ranks(const struct ncoll_group *g);

/* The rule that the table has for a call, of blocks of so many bytes, and that serves it. NULL:
 * none; or the table has no say. */
const struct tune_rule *ncoll__tuned(const struct ncoll_group *g, const struct call_args *args,
                                     const struct op *op, size_t bytes);

#endif
