/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning of a context. Rank 0 reads the table when the context is created, and sends its
 * entries for this machine to all ranks. So all ranks choose alike, whatever files they have.
 */
#ifndef NCOLL_LIB_TUNE_H
#define NCOLL_LIB_TUNE_H

#include "lib/choose/tune_file.h"

struct call_args;
struct choice;
struct ncoll_group;
struct op;

/* Writes the number of processors of the machine and their model, such as "2 x Intel(R) Xeon(R)
 * Processor". It includes processors that this process may not use. */
void ncoll__tune_machine(char machine[TUNE_WORD]);

/* Fills in the key for this machine and the transport of the context, which is open; the key is not
 * for a group. */
void ncoll__tune_here(const struct ncoll_context *ctx, struct tune_key *out);

/* On rank 0: appends the sections of the file for this machine as text, or nothing if there are
 * none. Errors in the file are logged. */
void ncoll__tune_recall(struct ncoll_context *ctx, struct blob *blob);

/* Takes over what rank 0 has sent. Returns NCOLL_OK or an error, which is recorded. */
int ncoll__tune_adopt(struct ncoll_context *ctx, const char *text, size_t len);
void ncoll__tune_forget(struct ncoll_context *ctx);

/* Notes the result of a trial: the time of the call with its radix. The second function writes the
 * notes to the named file, on rank 0. Errors are logged. */
void ncoll__tune_found(struct ncoll_group *g, const struct call_args *args, double ns);
void ncoll__tune_keep(struct ncoll_context *ctx);

/* Returns the largest number of ranks of the group on one node, as keys have it. */
unsigned ncoll__tune_node_ranks(const struct ncoll_group *g);

/* Returns the table's rule for a call with blocks of so many bytes, if its algorithm can serve the
 * call; NULL: there is none, or the table is not used. */
const struct tune_rule *ncoll__tuned(const struct ncoll_group *g, const struct call_args *args,
                                     const struct op *op, size_t bytes);

#endif
