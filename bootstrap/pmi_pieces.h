/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes bytes as values of PMI, which are short texts. Each character (a letter, a digit, '-' or
 * '_') stands for six bits. There are as many pieces as needed; the first one begins with the
 * number of bytes and a dot.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_PIECES_H
#define NCOLL_BOOTSTRAP_PMI_PIECES_H

#include <stdbool.h>
#include <stddef.h>

/* More bytes than any rank publishes: a larger number is refused. */
#define PMI_BYTES_MOST ((size_t)1 << 30)

/* Writes piece `i`, with a terminating 0; text has room for most + 1 characters. Returns false if
 * there is no such piece: those before it have all bytes. */
bool ncoll__pmi_piece_write(const unsigned char *bytes, size_t len, size_t i, size_t most,
                            char *text);

/* Bytes that come in pieces. A zeroed structure is empty. */
struct pmi_pieces {
    unsigned char *bytes;
    size_t len, at; /* len: all bytes; at: those that have come */
    unsigned n;     /* number of pieces so far */
};

enum pmi_piece { PMI_PIECE_MORE, PMI_PIECE_LAST, PMI_PIECE_WRONG, PMI_PIECE_NO_MEMORY };

/* Adds the next piece. PMI_PIECE_LAST: it was the last one; PMI_PIECE_MORE: further ones follow. */
enum pmi_piece ncoll__pmi_piece_add(struct pmi_pieces *pieces, const char *text, size_t len);
void ncoll__pmi_pieces_free(struct pmi_pieces *pieces);

#endif
