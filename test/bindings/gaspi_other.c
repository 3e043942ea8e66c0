/* SPDX-License-Identifier: BSD-3-Clause */
#include "gaspi_other.h"

gaspi_return_t other_file(gaspi_group_t group, gaspi_rank_t rank)
{
    gaspi_rank_t same = (gaspi_rank_t)(rank + 1);

    if (gaspi_proc_rank(&same) != GASPI_SUCCESS || same != rank)
        return GASPI_ERROR;
    return gaspi_barrier(group, GASPI_BLOCK);
}
