/* SPDX-License-Identifier: BSD-3-Clause */
/* A PMI server in a process of its own, for ranks that the test forks; and ways in which servers go
 * wrong. It is no thread: a process with threads must not fork ranks that then allocate memory. */
#ifndef NCOLL_TEST_PMI_SERVER_H
#define NCOLL_TEST_PMI_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#define SERVED_MOST 9

enum pmi_fault {
    PMI_GOOD,
    PMI_CLOSES,   /* closes the connection in place of an answer */
    PMI_SILENT,   /* does not answer */
    PMI_REFUSES,  /* answers with rc=-1 */
    PMI_BABBLES,  /* answers with other words */
    PMI_ENDLESS,  /* answers with a message without end */
    PMI_DAMAGES,  /* answers with a value that is no value of a rank */
    PMI_NO_VALUE, /* has no such value */
};

struct pmi_server {
    /* set by the test */
    int ranks;
    const char *mapping;  /* NULL: none */
    bool dribbles;        /* sends a few bytes at a time */
    bool lazy;            /* fences of version 2 end at once, as those of mpiexec of MPICH */
    bool only_2;          /* speaks version 2 alone */
    enum pmi_fault fault; /* at the first request that begins with `at` */
    const char *at;
    /* its own */
    int theirs[SERVED_MOST], ours[SERVED_MOST];
    pid_t process;
    struct pmi_client {
        bool framed, fenced, waits;
        int epoch;
        char in[4096];
        int len;
        char wanted[128]; /* a get that waits for a fence of others */
    } clients[SERVED_MOST];
    struct {
        char key[64], *value;
    } * values;
    int n_values;
};

void pmi_server_start(struct pmi_server *server);
/* Waits until all ranks have gone. */
void pmi_server_stop(struct pmi_server *server);
/* In a forked rank: sets the variables, and closes what belongs to others. */
void pmi_server_enter(struct pmi_server *server, int rank);

#endif
