/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks over a device made of memory, whose limits and failures the tests choose. All of them are
 * in this process and take turns, and time is what a test says it is.
 */
#ifndef NCOLL_TEST_UNIT_SOFT_RANKS_H
#define NCOLL_TEST_UNIT_SOFT_RANKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test/support/soft_device.h"
#include "transport/verbs/verbs.h"

#define SLOTS    64u
#define DEPTH    (3 * EPOCHS)
#define MS       UINT64_C(1000000)
#define AN_ERROR 200

struct side {
    int rank, ranks;
    struct transport *t;
    const struct transport_ops *ops;
    struct window *window; /* that it has made last */
    char error[AN_ERROR], warning[AN_ERROR];
    unsigned warnings;
    int gone; /* rank, -1: none */
    char why[AN_ERROR];
};

extern uint64_t clock_ns;

/* Opens a rank of a job of so many, over verbs; or on these nodes, over shm and verbs. */
int open_side(struct side *s, int rank, int ranks);
int open_side_on(struct side *s, int rank, int ranks, const uint64_t *nodes);
int make_window(struct side *s, unsigned id);
void close_side(struct side *s);

int offer(struct side *s, int peer, unsigned depth, struct offer *out);
void accept_from(struct side *s, struct side *peer, const struct offer *from);
/* Connects the windows that the two have made last. */
void connect_sides(struct side *a, struct side *b, unsigned depth);
/* Returns the rank's connection to a peer; NULL: it is not ready. */
struct connection *connection(const struct side *s, int peer);
/* Lets them put to each other's windows, in all of them. */
void admit_sides(struct side *a, struct side *b);
/* Two of so many ranks, connected and admitted. */
void pair(struct side sides[2], int ranks, unsigned depth);
/* The scratch of an epoch, which send_one() sends from. */
unsigned char *scratch_of(const struct side *s, uint64_t epoch);
int send_one(struct side *s, int peer, unsigned number, size_t len);
void expect_no_overrun(void);
/* The queues of a rank, which has the device for itself, have what its connections may need. */
void expect_receives(const struct side *s);
/* Waits in vain for a second: mostly asleep. */
void expect_sleep(struct side *s);

/* Set-up and tear-down: a new device; all that was made has been given back. */
int fresh(void **state);
int nothing_left(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, nothing_left)

#endif
