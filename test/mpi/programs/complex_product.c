/* SPDX-License-Identifier: BSD-3-Clause */
#include <complex.h>

#include "check.h"

/* A product of complex numbers: i to the power of the number of ranks, times 2 of the first one. */
PROGRAM(complex_product, "MPI_PROD of complex numbers")
{
    float complex f[2] = {me == 0 ? 2 * I : I, 1 + I}, f_out[2];
    double complex d[2] = {me == 0 ? 2 * I : I, 1 + I}, d_out[2], power = 2, sum = 1;

    for (int r = 0; r < ranks; r++) {
        power *= I;
        sum *= 1 + I;
    }
    OK(MPI_Allreduce(f, f_out, 2, MPI_C_FLOAT_COMPLEX, MPI_PROD, MPI_COMM_WORLD));
    OK(MPI_Allreduce(d, d_out, 2, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD));
    CHECK(d_out[0] == power && d_out[1] == sum, "%g + %g i, not %g + %g i", creal(d_out[0]),
          cimag(d_out[0]), creal(power), cimag(power));
    CHECK(f_out[0] == (float complex)power && f_out[1] == (float complex)sum,
          "%g + %g i, not %g + %g i", (double)crealf(f_out[0]), (double)cimagf(f_out[0]),
          creal(power), cimag(power));
}
