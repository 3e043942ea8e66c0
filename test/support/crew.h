/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A crew: the ranks of a test, each with a context of its own. They are forked processes, or
 * threads of this process (for TSan) that meet over the user bootstrap.
 */
#ifndef NCOLL_TEST_CREW_H
#define NCOLL_TEST_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ncoll.h"
#include "test/support/seed.h"

enum crew_kind { CREW_PROCESSES, CREW_THREADS };

struct rank {
    ncoll_context *ctx;
    ncoll_group *world;
    int rank, ranks;
    void *shared;         /* as given to crew_run() */
    struct random own;    /* differs from rank to rank */
    struct random common; /* gives every rank the same numbers */
    ncoll_params params;  /* the context was created from */
};

/* In a rank's function: says what does not hold, and ends the rank with a failure. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__, r->rank, r->ranks,   \
                    #condition);                                                                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* Checks what an ncoll function returned. */
#define CHECK_STATUS(call, expected)                                                               \
    do {                                                                                           \
        int status_ = (call);                                                                      \
        if (status_ != (expected)) {                                                               \
            fprintf(stderr, "%s:%d: rank %d of %d: %s gave \"%s\" (%s)\n", __FILE__, __LINE__,     \
                    r->rank, r->ranks, #call, ncoll_status_text(status_),                          \
                    ncoll_last_error(r->ctx)->text);                                               \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

typedef int (*crew_body)(struct rank *r);

/*
 * Runs body on `ranks` ranks, whose contexts are created from base (NULL: defaults) before it and
 * destroyed after it, unless body did that and set r->ctx to NULL. Returns how many did not return
 * 0. A crew that is not done after limit_s is ended by SIGALRM, which counts as a failure (of the
 * whole program where ranks are threads).
 */
int crew_run(enum crew_kind kind, int ranks, const ncoll_params *base, unsigned limit_s,
             crew_body body, void *shared);

/* Zeroed memory that forked processes share; given back with crew_unshare(). */
void *crew_share(size_t bytes);
void crew_unshare(void *memory, size_t bytes);

uint64_t crew_now_ns(void);
/* Processor time that this process has used, all its threads. */
uint64_t crew_cpu_us(void);

#endif
