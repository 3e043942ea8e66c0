/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* An active request of a collective must not be freed (MPI 4.0, 6.12), but an ended or inactive one may be waited for
 * again and again; a null request is done. */
PROGRAM(requests_free, "null requests, and requests that have ended, are done")
{
    MPI_Request request, list[2];
    MPI_Status status;
    int flag = 0, index;

    for (int i = 0; i < 20; i++) {
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, &status));
        CHECK(request == MPI_REQUEST_NULL, "an ended request is there");
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test(&request, &flag, &status));
        CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG,
              "an empty status");
        list[0] = list[1] = MPI_REQUEST_NULL;
        OK(MPI_Waitany(2, list, &index, &status));
        CHECK(index == MPI_UNDEFINED, "none of two null requests: %d", index);
    }
}
