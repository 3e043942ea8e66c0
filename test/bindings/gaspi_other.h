/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GASPI_OTHER_H
#define GASPI_OTHER_H

#include <ncoll_gaspi.h>

/* Uses a group that another file has made. */
gaspi_return_t other_file(gaspi_group_t group, gaspi_rank_t rank);

#endif
