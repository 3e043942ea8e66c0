/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Two more processes, which run this program again; calls between them and us, and on both together. */
PROGRAM(spawn, "MPI_Comm_spawn(), and calls with the new processes", .alone = true)
{
    MPI_Comm parent, inter, all;
    int sum, size, one = 1;

    OK(MPI_Comm_get_parent(&parent));
    if (parent == MPI_COMM_NULL) {
        char path[4096], *arguments[] = {"spawn", NULL};
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

        path[length > 0 ? length : 0] = '\0';
        OK(MPI_Comm_spawn(path, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                          MPI_ERRCODES_IGNORE));
    } else {
        inter = parent;
    }
    OK(MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all));
    OK(MPI_Comm_size(all, &size));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == size && sum > 2, "%d processes together, the sum is %d", size, sum);
    OK(MPI_Barrier(inter));
    OK(MPI_Comm_free(&all));
    OK(MPI_Comm_disconnect(&inter));
}
