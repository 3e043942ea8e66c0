/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/mpi_said.h"

#include <limits.h>
#include <mpi.h>

#include "tools/bench/failure.h"

int mpi_said(int mpi_error)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (mpi_error == MPI_SUCCESS)
        return NCOLL_OK;
    MPI_Error_string(mpi_error, text, &len);
    failure_say(NCOLL_ERR_SYSTEM, text);
    return NCOLL_ERR_SYSTEM;
}

int mpi_can_count(size_t elements)
{
    if (elements <= INT_MAX)
        return NCOLL_OK;
    failure_say(NCOLL_ERR_UNSUPPORTED, "MPI takes no more than 2^31 - 1 elements");
    return NCOLL_ERR_UNSUPPORTED;
}
