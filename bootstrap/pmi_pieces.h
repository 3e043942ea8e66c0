/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes as values of PMI, which are short texts: letters, digits, '-' and '_', six bits each, in as
 * many pieces as needed. The first piece begins with the number of bytes and a dot.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_PIECES_H
#define NCOLL_BOOTSTRAP_PMI_PIECES_H

#include <stdbool.h>
#include <stddef.h>

/* More bytes than any rank publishes. A larger number did not come from a rank. */
#define PMI_BYTES_MOST ((size_t)1 << 30)

/* Writes piece `i`, and its end; text has room for most + 1 characters. Returns false if the pieces
 * before it have everything. */
bool ncoll__pmi_piece_write(const unsigned char *bytes, size_t len, size_t i, size_t most,
                            char *text);

/* Bytes that come in pieces. A zeroed structure is empty. */
struct pmi_pieces {
    unsigned char *bytes;
    size_t len, at; /* at: how many have come */
    unsigned n;     /* pieces so far */
};

enum pmi_piece { PMI_PIECE_MORE, PMI_PIECE_LAST, PMI_PIECE_WRONG, PMI_PIECE_NO_MEMORY };

/* Adds the next piece. */
enum pmi_piece ncoll__pmi_piece_add(struct pmi_pieces *pieces, const char *text, size_t len);
void ncoll__pmi_pieces_free(struct pmi_pieces *pieces);

#endif
