/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* MPI defines no sum of characters, but MPIs have one, and benchmarks use it. */
PROGRAM(characters, "characters are summed as integers")
{
    char in[3] = {(char)(me + 1), 1, (char)-me}, out[3];

    OK(MPI_Allreduce(in, out, 3, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD));
    CHECK(out[0] == (char)(ranks * (ranks + 1) / 2) && out[1] == (char)ranks, "%d, %d", out[0],
          out[1]);
    OK(MPI_Allreduce(in, out, 3, MPI_CHAR, MPI_MIN, MPI_COMM_WORLD));
    CHECK(out[0] == 1 && out[1] == 1 && out[2] == (char)-(ranks - 1), "%d, %d, %d", out[0], out[1],
          out[2]);
}
