/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static MPI_Comm told;
static int class_told;

static void handler(MPI_Comm *comm, int *code, ...)
{
    told = *comm;
    MPI_Error_class(*code, &class_told);
}

/* Returns true if this MPI sees that the ranks of a blocking call disagree about the operation. */
static bool is_seen(void)
{
    int one = 1, out;
    MPI_Comm comm;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int rc = MPI_Allreduce(&one, &out, 1, MPI_INT, me == 0 ? MPI_MAX : MPI_SUM, comm);
    OK(MPI_Comm_free(&comm));
    return rc != MPI_SUCCESS;
}

/* The ranks disagree in a non-blocking call. If that is seen, the handler of the communicator hears of it, and the
 * program from the call that ends the request. */
static void disagree(int time, bool seen)
{
    MPI_Errhandler own;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Comm comm;
    int one = 1, out, rc, class = MPI_SUCCESS;

    told = MPI_COMM_NULL;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(handler, &own));
    OK(MPI_Comm_set_errhandler(comm, time % 2 ? own : MPI_ERRORS_RETURN));
    rc = MPI_Iallreduce(&one, &out, 1, MPI_INT, me == 0 ? MPI_MAX : MPI_SUM, comm, &requests[0]);
    OK(MPI_Ibarrier(MPI_COMM_SELF, &requests[1]));
    if (time < 2) {
        int ended = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        rc = rc != MPI_SUCCESS ? rc : ended;
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    } else if (MPI_Waitall(2, requests, statuses) != MPI_SUCCESS) {
        rc = statuses[0].MPI_ERROR;
        CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS, "the other request: %d", statuses[1].MPI_ERROR);
    }
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "requests are left");
    MPI_Error_class(rc, &class);
    CHECK((class != MPI_SUCCESS) == seen, "time %d: class %d", time, class);
    if (time % 2 && class != MPI_SUCCESS)
        CHECK(told == comm && class_told == class, "the handler heard of class %d, not %d",
              class_told, class);
    OK(MPI_Errhandler_free(&own));
    OK(MPI_Comm_free(&comm));
}

PROGRAM(errors_later, "errors of calls that have begun", .alone = true, .ranks = 2)
{
    bool seen = is_seen();

    for (int time = 0; time < 4; time++)
        disagree(time, seen);
}
