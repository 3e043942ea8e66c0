/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a node find their board under PMI. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bootstrap/pmi.h"

/* Makes a board, and fills in its tables of nodes. shared: for all ranks of the node; otherwise for
 * this rank alone. Returns 0 or -errno. */
static int make_board(struct pmi *p, bool shared)
{
    uint64_t nonce = 0;

    if (shared && getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        return -EAGAIN;
    int rc = ncoll__node_board_create(&p->board, p->base.ranks, p->nodes.n,
                                      shared ? p->nodes.n_mates : 1, nonce, shared);
    if (rc != 0)
        return rc;
    memcpy(p->board.node_of, p->nodes.of, (size_t)p->base.ranks * sizeof *p->nodes.of);
    memcpy(p->board.leader, p->nodes.leader, (size_t)p->nodes.n * sizeof *p->nodes.leader);
    p->shares = shared;
    return 0;
}

static int make_own_board(struct pmi *p)
{
    int rc = make_board(p, false);

    return rc == 0 ? NCOLL_OK
                   : p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                                    "no memory for %d ranks", p->base.ranks);
}

int ncoll__pmi_invite(struct pmi *p)
{
    struct segment_name name = {0}; /* name.bytes 0: each mate makes a board of its own */

    if (p->nodes.own != 0)
        return NCOLL_OK;
    if (p->nodes.n_mates == 1)
        return make_own_board(p);
    if (make_board(p, true) == 0)
        name = ncoll__segment_name(&p->board.segment);
    p->bytes = malloc(sizeof name);
    if (p->bytes == NULL)
        return ncoll__pmi_no_memory(p, sizeof name);
    memcpy(p->bytes, &name, sizeof name);
    p->len = sizeof name;
    return p->shares ? NCOLL_OK : make_own_board(p);
}

/* Maps the board that the leader has named. Returns false if there is none, or if it was made for
 * other numbers of ranks and nodes. */
static bool attach(struct pmi *p)
{
    struct segment_name name;

    if (p->invitation.len != sizeof name)
        return false;
    memcpy(&name, p->invitation.bytes, sizeof name);
    if (name.bytes == 0 || ncoll__node_board_attach(&p->board, &name) != 0)
        return false;
    const struct board_memory *m = p->board.memory;
    p->shares =
        m->ranks == p->base.ranks && m->nodes == p->nodes.n && m->members == p->nodes.n_mates;
    if (!p->shares)
        ncoll__node_board_release(&p->board);
    return p->shares;
}

/* Takes the next piece of the board's name. Returns false if further pieces are to be asked for. */
static bool take_name(struct pmi *p, const char *answer)
{
    const char *value;
    size_t len;

    p->traffic.gets++;
    if (!ncoll__pmi_session_dialect(p->session)->value(answer, &value, &len)) {
        ncoll__pmi_pieces_free(&p->invitation); /* there is no board */
        return true;
    }
    p->traffic.bytes_received += len;
    return ncoll__pmi_piece_add(&p->invitation, value, len) != PMI_PIECE_MORE;
}

int ncoll__pmi_meet(struct pmi *p)
{
    char key[PMI_KEY_MOST];
    const char *answer;

    if (p->board.memory != NULL) /* this rank has made the board */
        return NCOLL_OK;
    for (;;) {
        if (p->flight.asked) {
            int rc = ncoll__pmi_answer(p->session, &p->events, &answer);
            if (rc != NCOLL_OK)
                return rc;
            p->flight.asked = false;
            if (take_name(p, answer))
                return attach(p) ? NCOLL_OK : make_own_board(p);
        }
        ncoll__pmi_key(p, p->nodes.mates[0], p->invitation.n, key);
        int rc = ncoll__pmi_request(p->session, &p->events, PMI_GET, key, "");
        if (rc != NCOLL_OK)
            return rc;
        p->flight.asked = true;
    }
}

void ncoll__pmi_count_mates(struct pmi *p)
{
    for (int i = 0; pmi_leads(p) && i < p->nodes.n_mates; i++)
        if (atomic_load_explicit(&p->board.started[i], memory_order_acquire) < PMI_MEETING)
            ncoll__node_board_set_apart(&p->board, i);
}
