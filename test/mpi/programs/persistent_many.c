/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define AT_ONCE 250
#define MANY    33000 /* more than there are tags that every MPI has */

/* Many requests come and go while one lives. It is started, and other ranks are late; then one of those that came later is
 * started, and ends. */
PROGRAM(persistent_many, "many persistent calls come and go while one lives", .alone = true,
        .ranks = 2)
{
    MPI_Request lives, requests[AT_ONCE];
    struct call call, own[AT_ONCE];
    int flag = 0;

    call_make(&call, ALLREDUCE, MPI_COMM_WORLD, 3, 0, 1);
    if (!call_init(&call, &lives))
        return;
    if (me == 0)
        OK(MPI_Start(&lives));
    for (int time = 0; me == 0 && time < MANY; time += AT_ONCE) {
        MPI_Comm comm;

        OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
        for (int i = 0; i < AT_ONCE; i++) {
            call_make(&own[i], BARRIER, comm, 1, 0, i);
            call_init(&own[i], &requests[i]);
        }
        OK(MPI_Startall(AT_ONCE, requests));
        OK(MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Test(&lives, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "a call has ended that other ranks have not begun");
        for (int i = 0; i < AT_ONCE; i++) {
            OK(MPI_Request_free(&requests[i]));
            call_free(&own[i]);
        }
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me != 0)
        OK(MPI_Start(&lives));
    OK(MPI_Wait(&lives, MPI_STATUS_IGNORE));
    call_check(&call);
    OK(MPI_Request_free(&lives));
    call_free(&call);
}
