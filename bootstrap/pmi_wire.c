/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmi_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FRAME      6u /* characters of the length before a message */
#define ROOM_FIRST 2048u

void ncoll__pmi_wire_free(struct pmi_wire *wire)
{
    free(wire->in);
    free(wire->out);
    *wire = (struct pmi_wire){.fd = -1};
}

bool ncoll__pmi_wire_send(struct pmi_wire *wire, const char *text)
{
    size_t room = FRAME + strlen(text) + 2;
    char *out = realloc(wire->out, room);

    if (out == NULL)
        return false;
    wire->out = out;
    wire->out_at = 0;
    wire->out_len = (size_t)(wire->framed ? snprintf(out, room, "%6zu%s", strlen(text), text)
                                          : snprintf(out, room, "%s\n", text));
    return true;
}

/* Sends what is left of the message. Returns true if all was sent. */
static bool flush(struct pmi_wire *wire)
{
    while (wire->out_at < wire->out_len) {
        ssize_t n = send(wire->fd, wire->out + wire->out_at, wire->out_len - wire->out_at,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            wire->error = errno;
        if (n < 0)
            return false;
        wire->out_at += (size_t)n;
    }
    return true;
}

static bool make_room(struct pmi_wire *wire, size_t more)
{
    size_t room = wire->in_room > 0 ? wire->in_room : ROOM_FIRST;

    while (room < wire->in_len + more + 1)
        room *= 2;
    if (room == wire->in_room)
        return true;
    char *in = realloc(wire->in, room);
    if (in == NULL)
        return false;
    wire->in = in;
    wire->in_room = room;
    return true;
}

/* Returns how many bytes of a framed message are missing, 0 if it is whole. */
static size_t framed_left(struct pmi_wire *wire)
{
    char text[FRAME + 1], *end;

    if (wire->in_len < FRAME)
        return FRAME - wire->in_len;
    if (wire->in_need == 0) {
        memcpy(text, wire->in, FRAME);
        text[FRAME] = '\0';
        long len = strtol(text, &end, 10);
        while (*end == ' ')
            end++;
        wire->in_need = FRAME + (*end == '\0' && len > 0 ? (size_t)len : PMI_MESSAGE_MOST + 1);
    }
    return wire->in_need - wire->in_len;
}

/* Ends the receipt of a message: removes its length (version 2) or its newline. */
static enum pmi_received finish(struct pmi_wire *wire)
{
    if (wire->framed) {
        memmove(wire->in, wire->in + FRAME, wire->in_len - FRAME);
        wire->in[wire->in_len - FRAME] = '\0';
    } else {
        wire->in[wire->in_len - 1] = '\0';
    }
    wire->in_len = wire->in_need = 0;
    return PMI_MESSAGE;
}

/* Returns how many bytes to take from the socket: not more than belong to this message. *n becomes
 * the result of recv(). */
static size_t peek(struct pmi_wire *wire, ssize_t *n)
{
    size_t want = wire->framed ? framed_left(wire) : wire->in_room - wire->in_len - 1;

    *n = recv(wire->fd, wire->in + wire->in_len, want, MSG_DONTWAIT | MSG_PEEK);
    if (*n <= 0)
        return 0;
    const char *end = wire->framed ? NULL : memchr(wire->in + wire->in_len, '\n', (size_t)*n);
    return end != NULL ? (size_t)(end - (wire->in + wire->in_len)) + 1 : (size_t)*n;
}

enum pmi_received ncoll__pmi_wire_receive(struct pmi_wire *wire)
{
    ssize_t n;

    if (!flush(wire))
        return wire->error != 0 ? PMI_CLOSED : PMI_NOT_YET;
    for (;;) {
        size_t left = wire->framed ? framed_left(wire) : 1;
        if (left == 0 || (!wire->framed && wire->in_len > 0 && wire->in[wire->in_len - 1] == '\n'))
            return finish(wire);
        if (wire->in_len + left > FRAME + PMI_MESSAGE_MOST)
            return PMI_NONSENSE;
        if (!make_room(wire, left))
            return PMI_NO_MEMORY;
        size_t take = peek(wire, &n);
        if (take > 0)
            n = recv(wire->fd, wire->in + wire->in_len, take, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return PMI_NOT_YET;
        if (n <= 0) {
            wire->error = n < 0 ? errno : 0;
            return PMI_CLOSED;
        }
        wire->in_len += (size_t)n;
    }
}

void ncoll__pmi_wire_wait(const struct pmi_wire *wire, uint64_t ns)
{
    short out = wire->out_at < wire->out_len ? POLLOUT : 0;
    uint64_t ms = ns / 1000000 + (ns % 1000000 > 0);

    poll(&(struct pollfd){.fd = wire->fd, .events = (short)(POLLIN | out)}, 1,
         ms < 1000 ? (int)ms : 1000);
}
