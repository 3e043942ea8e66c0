/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of test programs: there is always enough, or the program ends. */
#ifndef NCOLL_TEST_VERIFY_MEMORY_H
#define NCOLL_TEST_VERIFY_MEMORY_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static inline void *or_die(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

/* Zeroed. */
static inline void *allocate(size_t count, size_t size)
{
    return or_die(calloc(count + 1, size));
}

static inline void *reallocate(void *memory, size_t count, size_t size)
{
    return or_die(reallocarray(memory, count + 1, size));
}

#endif
