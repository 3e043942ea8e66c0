/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in memory. */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_ROOM_H
#define NCOLL_TOOLS_BENCH_MEASURE_ROOM_H

#include <stdbool.h>

#include "ncoll.h"

/* Returns the bytes that this process can have without swapping; 0: not known. */
double room_available(void);

/* True if the memory of this node has room for the buffers of its ranks: `buffers` for each rank,
 * with `blocks` blocks of so many bytes. Otherwise prints what they need. If the system promises
 * memory that it does not have, it would later kill a rank. */
bool room_for_buffers(const struct ncoll_stats *stats, unsigned buffers, size_t blocks,
                      size_t bytes);

#endif
