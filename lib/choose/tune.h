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
 * Processor". The number includes processors that this process may not use. */
void ncoll__tune_machine(char machine[TUNE_WORD]);

/* Fills in the key for this machine, this version, and the transport of the context, which must be
 * open. The fields for a group (ranks, node_ranks) are 0. */
void ncoll__tune_here(const struct ncoll_context *ctx, struct tune_key *out);

/* On rank 0: appends the sections of the file for this machine as text, or nothing if there are
 * none. Errors in the file are logged. */
void ncoll__tune_recall(struct ncoll_context *ctx, struct blob *blob);

/* Reads the table that rank 0 has sent, and takes over its costs. Returns NCOLL_OK or an error,
 * which is recorded. */
int ncoll__tune_adopt(struct ncoll_context *ctx, const char *text, size_t len);
void ncoll__tune_forget(struct ncoll_context *ctx);

/* Both act only on rank 0, with NCOLL_TUNE=trial and a file named by the user. ncoll__tune_found()
 * notes the result of a trial: the choice for this call, which took `ns` nanoseconds.
 * ncoll__tune_keep() writes the notes to the file. Errors are logged. */
void ncoll__tune_found(struct ncoll_group *g, const struct call_args *args, double ns);
void ncoll__tune_keep(struct ncoll_context *ctx);

/* Returns the largest number of ranks of the group on one node, as in struct tune_key. */
unsigned ncoll__tune_node_ranks(const struct ncoll_group *g);

/* Returns the table's rule for a call with blocks of `bytes` bytes, if its algorithm can serve the
 * call; NULL: there is none, or the table is not used. */
const struct tune_rule *ncoll__tuned(const struct ncoll_group *g, const struct call_args *args,
                                     const struct op *op, size_t bytes);

#endif
