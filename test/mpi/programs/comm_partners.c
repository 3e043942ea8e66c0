/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#include <dirent.h>

#define TIMES     6
#define AT_A_TIME 5

static int open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    while (folder != NULL && readdir(folder) != NULL)
        n++;
    if (folder != NULL)
        closedir(folder);
    return n;
}

/* Rank 0 has communicators with each other rank alone, a few at a time: what they take on it does not grow. */
PROGRAM(comm_partners, "communicators with one partner after the other", .alone = true, .ranks = 2)
{
    int after_first = 0;

    for (int time = 0; time < TIMES; time++) {
        for (int partner = 1; partner < ranks; partner++) {
            MPI_Comm comms[AT_A_TIME];
            bool in = me == 0 || me == partner;

            for (int i = 0; i < AT_A_TIME; i++) {
                int sum = 0;

                OK(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, me, &comms[i]));
                if (!in)
                    continue;
                OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comms[i]));
                CHECK(sum == partner, "with rank %d: %d", partner, sum);
            }
            for (int i = 0; in && i < AT_A_TIME; i++)
                OK(MPI_Comm_free(&comms[i]));
        }
        if (time == 1)
            after_first = open_descriptors();
    }
    int now = open_descriptors();
    CHECK(now <= after_first + 60, "%d file descriptors, %d after the second time", now,
          after_first);
}
