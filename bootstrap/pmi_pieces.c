/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmi_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 12u /* characters that all pieces leave free for the number of bytes in the first */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Returns the number of bytes in each piece but the last one: whole groups of 3 bytes, which make 4
 * letters each. */
static size_t bytes_of_piece(size_t most)
{
    return (most - HEAD) / 4 * 3;
}

bool ncoll__pmi_piece_write(const unsigned char *bytes, size_t len, size_t i, size_t most,
                            char *text)
{
    size_t piece = bytes_of_piece(most), at = i * piece;

    if (i > 0 && at >= len)
        return false;
    size_t end = len - at < piece ? len : at + piece;
    if (i == 0)
        text += sprintf(text, "%zu.", len);
    for (; at < end; at += 3) {
        size_t n = end - at < 3 ? end - at : 3;
        unsigned bits = (unsigned)bytes[at] << 16 | (n > 1 ? (unsigned)bytes[at + 1] << 8 : 0) |
                        (n > 2 ? (unsigned)bytes[at + 2] : 0);
        for (size_t j = 0; j <= n; j++)
            *text++ = letters[bits >> (18 - 6 * j) & 63];
    }
    *text = '\0';
    return true;
}

/* Reads the head of the first piece: the number of bytes, and a dot. */
static enum pmi_piece begin(struct pmi_pieces *pieces, const char **text, size_t *len)
{
    const char *dot = memchr(*text, '.', *len < HEAD ? *len : HEAD);
    size_t bytes = 0;

    if (dot == NULL || dot == *text)
        return PMI_PIECE_WRONG;
    for (const char *c = *text; c < dot; c++) {
        if (*c < '0' || *c > '9')
            return PMI_PIECE_WRONG;
        bytes = 10 * bytes + (size_t)(*c - '0');
    }
    if (bytes > PMI_BYTES_MOST)
        return PMI_PIECE_WRONG;
    pieces->bytes = malloc(bytes > 0 ? bytes : 1);
    if (pieces->bytes == NULL)
        return PMI_PIECE_NO_MEMORY;
    pieces->len = bytes;
    *len -= (size_t)(dot + 1 - *text);
    *text = dot + 1;
    return PMI_PIECE_MORE;
}

enum pmi_piece ncoll__pmi_piece_add(struct pmi_pieces *pieces, const char *text, size_t len)
{
    size_t at = pieces->at;
    unsigned bits = 0;

    if (pieces->n == 0) {
        enum pmi_piece head = begin(pieces, &text, &len);
        if (head != PMI_PIECE_MORE)
            return head;
    }
    if (len % 4 == 1 || len / 4 * 3 + (len % 4 > 0 ? len % 4 - 1 : 0) > pieces->len - at ||
        (len == 0 && at < pieces->len))
        return PMI_PIECE_WRONG;
    for (size_t i = 0; i < len; i++) {
        const char *letter = text[i] != '\0' ? strchr(letters, text[i]) : NULL;
        if (letter == NULL)
            return PMI_PIECE_WRONG;
        bits = bits << 6 | (unsigned)(letter - letters);
        if (i % 4 > 0) /* each of the last three letters of four completes a byte */
            pieces->bytes[at++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    pieces->at = at;
    pieces->n++;
    return at == pieces->len ? PMI_PIECE_LAST : PMI_PIECE_MORE;
}

void ncoll__pmi_pieces_free(struct pmi_pieces *pieces)
{
    free(pieces->bytes);
    *pieces = (struct pmi_pieces){0};
}
