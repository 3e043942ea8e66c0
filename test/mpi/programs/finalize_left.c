/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

static int on_exit_called, late_in, late_out;
static MPI_Request late;

static int at_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    int sum = -1;

    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    /* The first thing that MPI_Finalize() does is to free the attributes of MPI_COMM_SELF: MPI is usable here. */
    on_exit_called = 1;
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == ranks * (ranks - 1) / 2, "in MPI_Finalize() the sum is %d", sum);
    OK(MPI_Wait(&late, MPI_STATUS_IGNORE));
    CHECK(late_out == ranks, "a call from before MPI_Finalize() gives %d", late_out);
    return MPI_SUCCESS;
}

/* Communicators, types and operations that were not freed; ranks end at different times. */
PROGRAM(finalize_left, "MPI_Finalize() with things left", .alone = true, .ends = true)
{
    MPI_Comm left[5];
    MPI_Datatype type;
    int key, sum, finalized;

    for (int i = 0; i < 5; i++) {
        OK(MPI_Comm_split(MPI_COMM_WORLD, me % (i + 1), me, &left[i]));
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, left[i]));
    }
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    late_in = 1;
    OK(MPI_Iallreduce(&late_in, &late_out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &late));
    sleep_ms(me * 3);
    OK(MPI_Finalize());
    CHECK(on_exit_called, "the attribute of MPI_COMM_SELF was not deleted");
    MPI_Finalized(&finalized);
    CHECK(finalized, "not finalized");
}
