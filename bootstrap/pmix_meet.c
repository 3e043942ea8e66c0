/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a node find their board under PMIx. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bootstrap/pmix.h"

#define ASK_AGAIN_NS UINT64_C(2000000)
/* A mate that is apart publishes its first blob, instead of leaving it on the board. After this
 * time, in nanoseconds, the leader looks for such blobs (strays). */
#define STRAY_NS UINT64_C(1000000000)

static void key_of_board(const struct pmix *p, char key[64])
{
    snprintf(key, 64, "ncoll.%u.node", p->context);
}

/* Makes a board, and fills in its tables of nodes. shared: for all ranks of the node; otherwise for
 * this rank alone. Returns 0, -errno, or 1: there can be no shared board, since the nodes are not
 * known or there are no random bytes. */
static int make_board(struct pmix *p, bool shared)
{
    struct pmix_nodes nodes;
    uint64_t nonce = 0;

    if (!ncoll__pmix_find_nodes(&nodes, &p->self, p->base.ranks, &p->mates))
        return -ENOMEM;
    bool is_node = nodes.of[p->mates.ranks[0]] == nodes.of[p->mates.ranks[p->mates.n - 1]];
    int rc = shared && (!is_node || getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
                 ? 1
                 : ncoll__node_board_create(&p->board, p->base.ranks, nodes.n,
                                            shared ? p->mates.n : 1, nonce, shared);
    if (rc == 0) {
        memcpy(p->board.node_of, nodes.of, (size_t)p->base.ranks * sizeof *nodes.of);
        memcpy(p->board.leader, nodes.leader, (size_t)nodes.n * sizeof *nodes.leader);
        p->shares = shared;
    }
    ncoll__pmix_nodes_free(&nodes);
    return rc;
}

static int make_own_board(struct pmix *p)
{
    if (make_board(p, false) == 0)
        return NCOLL_OK;
    return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks",
                          p->base.ranks);
}

int ncoll__pmix_invite(struct pmix *p)
{
    struct segment_name name = {0}; /* name.bytes 0: each mate makes a board of its own */
    char key[64];

    if (p->mates.own != 0)
        return NCOLL_OK;
    if (p->mates.n == 1)
        return make_own_board(p);
    if (make_board(p, true) == 0)
        name = ncoll__segment_name(&p->board.segment);
    key_of_board(p, key);
    int rc = ncoll__pmix_put(p, PMIX_LOCAL, key, &name, sizeof name);
    return rc == NCOLL_OK && !p->shares ? make_own_board(p) : rc;
}

/* Maps the board that the leader has named. Returns false if there is none, or if it was made for
 * other numbers of ranks. */
static bool attach(struct pmix *p, const unsigned char *bytes, size_t len)
{
    struct segment_name name;

    if (len != sizeof name)
        return false;
    memcpy(&name, bytes, sizeof name);
    if (name.bytes == 0 || ncoll__node_board_attach(&p->board, &name) != 0)
        return false;
    p->shares = p->board.memory->ranks == p->base.ranks && p->board.memory->members == p->mates.n;
    if (!p->shares)
        ncoll__node_board_release(&p->board);
    return p->shares;
}

/* The server delays the answer until the leader has published the board's name, but not for ever;
 * after a failure this rank asks again. */
int ncoll__pmix_meet(struct pmix *p)
{
    uint64_t now_ns = pmix_now(p);
    pmix_status_t status;
    unsigned char *bytes;
    char key[64];
    size_t len;

    if (p->board.memory != NULL)
        return NCOLL_OK;
    if (p->invitation == NULL) {
        if (now_ns < p->ask_again_ns)
            return NCOLL_TIMEOUT;
        key_of_board(p, key);
        p->traffic.gets++;
        p->invitation = ncoll__pmix_fetch_start(&p->self, p->mates.ranks[0], key);
        if (p->invitation == NULL)
            return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                                  "no memory to find the other ranks of this node");
    }
    if (!ncoll__pmix_fetch_test(p->invitation, &status, &bytes, &len))
        return NCOLL_TIMEOUT;
    ncoll__pmix_stop_meeting(p);
    if (status != PMIX_SUCCESS) {
        p->ask_again_ns = now_ns + ASK_AGAIN_NS;
        return NCOLL_TIMEOUT;
    }
    p->traffic.bytes_received += len;
    bool shares = attach(p, bytes, len);
    free(bytes);
    return shares ? NCOLL_OK : make_own_board(p);
}

void ncoll__pmix_look_for_strays(struct pmix *p)
{
    pmix_status_t status;
    unsigned char *bytes = NULL;
    size_t len;

    if (p->k != 1 || pmix_now(p) - p->since_ns < STRAY_NS)
        return;
    if (p->strays == NULL)
        p->strays = calloc((size_t)p->mates.n, sizeof(struct pmix_fetch *));
    for (int i = 1; p->strays != NULL && i < p->mates.n; i++) {
        bool absent = atomic_load_explicit(&p->board.started[i], memory_order_acquire) == 0;
        if (absent && p->strays[i] == NULL)
            p->strays[i] = ncoll__pmix_fetch_start(&p->self, p->mates.ranks[i], p->key);
        if (!absent || p->strays[i] == NULL ||
            !ncoll__pmix_fetch_test(p->strays[i], &status, &bytes, &len))
            continue;
        ncoll__pmix_fetch_end(p->strays[i]);
        p->strays[i] = NULL;
        if (status != PMIX_SUCCESS) /* the mate is only late, and is asked again */
            continue;
        free(bytes);
        ncoll__node_board_set_apart(&p->board, i);
    }
}

void ncoll__pmix_stop_meeting(struct pmix *p)
{
    if (p->invitation != NULL)
        ncoll__pmix_fetch_end(p->invitation);
    p->invitation = NULL;
    for (int i = 0; p->strays != NULL && i < p->mates.n; i++)
        if (p->strays[i] != NULL)
            ncoll__pmix_fetch_end(p->strays[i]);
    free(p->strays);
    p->strays = NULL;
}
