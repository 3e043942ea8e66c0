/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection to the PMI server of a launcher: messages of text over a socket that the launcher
 * has opened before it started this process. In version 1 a message is a line. In version 2 its
 * length goes before it, in six characters.
 *
 * The socket stays as the launcher made it, since an MPI in this process may use it, too: nothing
 * is read beyond the message that is awaited, and no flag is changed.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_WIRE_H
#define NCOLL_BOOTSTRAP_PMI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More bytes than a message of any server has: a longer message is refused. */
#define PMI_MESSAGE_MOST 65536u

enum pmi_received {
    PMI_MESSAGE, /* a whole message is in wire.in */
    PMI_NOT_YET,
    PMI_CLOSED, /* the server has closed the socket, or it cannot be used: see wire.error */
    PMI_NONSENSE,
    PMI_NO_MEMORY,
};

struct pmi_wire {
    int fd;
    bool framed; /* lengths go before messages (version 2) */
    char *in;    /* what has come of the next message; a whole one ends with a 0 */
    /* in_need: the bytes of a framed message with its length; 0: not known yet */
    size_t in_len, in_room, in_need;
    char *out;
    size_t out_len, out_at;
    int error; /* errno; 0: the server has closed the socket */
};

void ncoll__pmi_wire_free(struct pmi_wire *wire);

/* Begins to send a message. text: the message without its length or newline. No other message may
 * be under way. Returns false if there is no memory. */
bool ncoll__pmi_wire_send(struct pmi_wire *wire, const char *text);

/* Sends what is left of the message, and receives the next one, which stays in wire.in until the
 * next call. Never blocks. */
enum pmi_received ncoll__pmi_wire_receive(struct pmi_wire *wire);

/* Sleeps until there may be something to send or receive, but at most for ns nanoseconds. */
void ncoll__pmi_wire_wait(const struct pmi_wire *wire, uint64_t ns);

#endif
