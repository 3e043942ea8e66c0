/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap_visitor.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tcp_address.h"
#include "bootstrap/tcp_proof.h"
#include "test/support/hang.h"

int visitor_connect(const struct side *side)
{
    struct tcp_address address;
    struct addrinfo *found;
    int fd = -1;

    ncoll__tcp_address_parse(side->meeting->root, &address);
    if (getaddrinfo("127.0.0.1", address.port, NULL, &found) != 0)
        return -1;
    for (int i = 0; i < HANG_FACTOR * 500; i++) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, found->ai_addr, found->ai_addrlen) == 0)
            break;
        close(fd);
        side_pause(10000);
    }
    freeaddrinfo(found);
    return fd;
}

bool visitor_hears(struct tcp_link *link, struct tcp_frame *frame, unsigned char **body)
{
    double end = side_now_s() + HANG_FACTOR * 10;
    enum tcp_receipt receipt;

    while ((receipt = ncoll__tcp_link_receive(link, frame, body)) == TCP_NOTHING &&
           side_now_s() < end)
        side_pause(500);
    return receipt == TCP_FRAME;
}

static void send_frame(struct side *side, struct tcp_link *link, struct tcp_frame frame,
                       unsigned char *body, visitor_spoil spoil)
{
    if (spoil != NULL)
        spoil(side, &frame, body);
    ncoll__tcp_link_send(link, &frame, body);
    ncoll__tcp_link_flush(link);
}

bool visitor_joins(struct side *side, struct tcp_link *link, visitor_spoil spoil)
{
    struct tcp_claim claim = {.rank = side->rank, .ranks = (uint64_t)side->ranks};
    unsigned char nonce[NONCE_BYTES] = {1, 2, 3}, tag[TAG_BYTES], proof[PROOF_BYTES + 1], *body;
    struct tcp_frame frame = {.type = TCP_HELLO,
                              .how = TCP_PROTOCOL,
                              .rank = side->rank,
                              .number = (uint64_t)side->ranks};

    snprintf(claim.root, sizeof claim.root, "%s", side->meeting->root);
    send_frame(side, link, frame, proof, spoil);
    if (!visitor_hears(link, &frame, &body))
        return false;
    bool challenged = frame.type == TCP_CHALLENGE && frame.len == NONCE_BYTES;
    if (challenged)
        ncoll__tcp_tag(TCP_LEAF, side->key, body, nonce, &claim, tag);
    free(body);
    if (!challenged)
        return false;
    frame = (struct tcp_frame){.type = TCP_PROOF};
    frame.len = (uint32_t)ncoll__tcp_proof_pack(nonce, tag, &claim, proof);
    send_frame(side, link, frame, proof, spoil);
    if (!visitor_hears(link, &frame, &body))
        return false;
    free(body);
    return frame.type == TCP_ACCEPTED;
}
