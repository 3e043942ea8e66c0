/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/printable.h"

#include <stddef.h>

/* Returns the length, 2 to 4, of the UTF-8 character that text begins with; 0: it begins with
 * ASCII, or with nothing that may be printed. Only the form is checked: terminals replace
 * well-formed bytes that are no character. */
static size_t length_of_wide(const unsigned char *text)
{
    size_t len = text[0] >= 0xf0 && text[0] <= 0xf4  ? 4
                 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                                                     : 0;

    for (size_t i = 1; i < len; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return len == 2 && text[0] == 0xc2 && text[1] < 0xa0 ? 0 : len;
}

void ncoll__make_printable(char *text)
{
    unsigned char *at = (unsigned char *)text;

    while (*at != '\0') {
        size_t wide = length_of_wide(at);
        if (wide == 0 && (*at < ' ' || *at >= 0x7f))
            *at = '?';
        at += wide > 0 ? wide : 1;
    }
}
