/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* One rank is late in each call, another one each time; the others wait in all ways. */
PROGRAM(late_ranks, "ranks that come late")
{
    for (int i = 0; i < 2 * COLLECTIVES; i++) {
        struct call call;

        call_make(&call, i % COLLECTIVES, MPI_COMM_WORLD, i < COLLECTIVES ? 4 : 9000 / ranks,
                  i % ranks, i);
        if (me == (i * 7 + 1) % ranks)
            sleep_ms(2);
        if (i % 2) {
            call_block(&call);
        } else {
            MPI_Request request;

            call_start(&call, &request);
            if (me == (i + 2) % ranks)
                sleep_ms(2);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        call_check(&call);
        call_free(&call);
    }
}
