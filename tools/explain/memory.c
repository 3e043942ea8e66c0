/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/memory.h"

#include <stdio.h>
#include <stdlib.h>

static struct block {
    struct block *next;
    max_align_t memory[];
} * blocks;

void *or_die(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "ncoll-explain: out of memory\n");
        exit(1);
    }
    return memory;
}

void *allocate(size_t count, size_t size)
{
    struct block *block = or_die(calloc(1, sizeof *block + count * size));
    block->next = blocks;
    blocks = block;
    return block->memory;
}

void forget_all(void)
{
    while (blocks != NULL) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}
