/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static int probed;

static int probe(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag = 0;

    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    for (int i = 0; i < 2; i++)
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    probed = 1;
    return MPI_SUCCESS;
}

/* MPI forbids it to leave a call unfinished, but all MPIs bear it. */
PROGRAM(finalize_unfinished, "MPI_Finalize() with a call unfinished", .alone = true, .ends = true,
        .ranks = 2)
{
    MPI_Request request;
    int key;

    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, probe, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL));
    if (me == 0)
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    OK(MPI_Finalize());
    CHECK(probed, "the attribute of MPI_COMM_WORLD was not deleted");
}
