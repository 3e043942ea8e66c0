/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_EXPLAIN_MEMORY_H
#define NCOLL_TOOLS_EXPLAIN_MEMORY_H

#include <stddef.h>

/* `memory`; without any the program ends. */
void *or_die(void *memory);

/* Memory that lives until forget_all(), zeroed. */
void *allocate(size_t count, size_t size);
void forget_all(void);

#endif
