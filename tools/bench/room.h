/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_BENCH_ROOM_H
#define NCOLL_TOOLS_BENCH_ROOM_H

#include "tools/bench/bench.h"

/* Whether the memory of this node has room for the buffers of its ranks: `buffers` for each, of
 * `blocks` blocks of so many bytes. If not, says what they need: where memory is promised but not
 * there, the kernel would end some rank. */
bool room_for_buffers(const struct ncoll_stats *stats, unsigned buffers, size_t blocks,
                      size_t bytes);

#endif
