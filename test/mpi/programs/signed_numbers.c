/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <limits.h>
#include <math.h>

/* Extreme values: a maximum of negative numbers, of unsigned ones above INT_MAX, of infinities. */
PROGRAM(signed_numbers, "maxima and minima of negative, very large and infinite numbers")
{
    int i = -5 - me, i_out;
    unsigned u = UINT_MAX - (unsigned)me, u_out;
    int64_t l = INT64_MIN + me, l_out;
    uint64_t ul = UINT64_MAX - (uint64_t)me, ul_out;
    double d = me == 0 ? -INFINITY : -1e300 * (me + 1) / ranks, d_out;
    signed char c = (signed char)(-100 + me), c_out;

    OK(MPI_Allreduce(&i, &i_out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(i_out == -5, "%d, not -5", i_out);
    OK(MPI_Allreduce(&u, &u_out, 1, MPI_UNSIGNED, MPI_MIN, MPI_COMM_WORLD));
    CHECK(u_out == UINT_MAX - (unsigned)(ranks - 1), "%u", u_out);
    OK(MPI_Allreduce(&l, &l_out, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    CHECK(l_out == INT64_MIN, "%lld", (long long)l_out);
    OK(MPI_Allreduce(&ul, &ul_out, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
    CHECK(ul_out == UINT64_MAX, "%llu", (unsigned long long)ul_out);
    OK(MPI_Allreduce(&d, &d_out, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
    CHECK(isinf(d_out) && d_out < 0, "%g", d_out);
    OK(MPI_Allreduce(&d, &d_out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(isinf(d_out) && d_out < 0, "%g", d_out);
    OK(MPI_Allreduce(&c, &c_out, 1, MPI_SIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD));
    CHECK(c_out == -100 + ranks - 1, "%d", c_out);
}
