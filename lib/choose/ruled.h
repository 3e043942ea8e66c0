/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of a job. Rank 0 reads them when it joins, and sends their texts to all other ranks,
 * which parse the same texts. So all ranks choose alike, whatever files and variables they have.
 */
#ifndef NCOLL_LIB_RULED_H
#define NCOLL_LIB_RULED_H

#include "lib/choose/rules.h"
#include "ncoll.h"
#include "transport/transport.h"

struct call_args;
struct candidacy;
struct choice;
struct ncoll_context;
struct ncoll_group;
struct op;

/* Reads the rules that the settings name into ctx->rules, and their texts into ctx->rule_texts.
 * Returns NCOLL_OK or an error, which is recorded: NCOLL_ERR_ARGUMENT says which rule is wrong. */
int ncoll__rules_read(struct ncoll_context *ctx);
/* On rank 0: appends the name of its device and the texts of the rules, if there are any, to what
 * it sends to all ranks, and frees the texts. Drops the rules for other devices. */
void ncoll__rules_tell(struct ncoll_context *ctx, struct blob *blob);
/* On other ranks: reads the rules from the texts that rank 0 has sent. Returns NCOLL_OK or an
 * error, which is recorded. */
int ncoll__rules_adopt(struct ncoll_context *ctx, const char *texts, size_t len);
void ncoll__rules_forget(struct ncoll_context *ctx);

/* Returns a hash of the settings that name rules, by which ranks notice that theirs differ; 0: no
 * setting names rules. */
uint32_t ncoll__rules_mark(const ncoll_params *settings);

/* Returns the rule that applies to a call with blocks of `bytes` bytes; NULL: there is none, or the
 * user, a tool or the library itself asks for an algorithm. */
struct rule *ncoll__rule_for(const struct ncoll_group *g, const struct call_args *args,
                             const struct op *op, size_t bytes);
/* Chooses by the rule that applies to the call, sets *segment_bytes (0: as long as the window
 * allows), and returns true. Returns false if no rule applies or if it cannot be followed, which is
 * logged. */
bool ncoll__choose_ruled(const struct candidacy *c, struct choice *out, size_t *segment_bytes);

#endif
