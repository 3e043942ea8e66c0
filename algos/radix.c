/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"

unsigned ncoll__radix_list(const unsigned *n, unsigned k)
{
    unsigned radix = 0;

    while (k > 1 && n[k - 1] == n[k - 2])
        k--;
    if (k == 0 || k > RADICES_MAX)
        return 0;
    for (unsigned l = 0; l < k; l++) {
        if (n[l] < 1 || n[l] > RADIX_MAX)
            return 0;
        radix |= (n[l] - 1) << 4 * l;
    }
    return k == 1 ? n[0] : radix | k << 28;
}

bool ncoll__radix_is_valid(unsigned radix)
{
    unsigned n[RADICES_MAX], k = radix_length(radix);

    if (!radix_is_list(radix))
        return radix >= 1 && radix <= RADIX_MAX;
    for (unsigned l = 1; l <= k && k <= RADICES_MAX; l++)
        n[l - 1] = radix_of_round(radix, l);
    return k <= RADICES_MAX && ncoll__radix_list(n, k) == radix;
}

const char *ncoll__radix_text(unsigned radix, char text[RADIX_TEXT])
{
    int used = 0;

    for (unsigned l = 1; l <= radix_length(radix) && used < RADIX_TEXT; l++)
        used += snprintf(text + used, RADIX_TEXT - (size_t)used, l > 1 ? ",%u" : "%u",
                         radix_of_round(radix, l));
    return text;
}

unsigned ncoll__radix_parse(const char *text)
{
    unsigned n[4 * RADICES_MAX], k = 0;

    for (; k < sizeof n / sizeof n[0]; text++) {
        size_t digits = strspn(text, "0123456789");
        if (digits < 1 || digits > 2)
            return 0;
        n[k++] = (unsigned)strtoul(text, NULL, 10);
        text += digits;
        if (*text != ',')
            return *text == '\0' ? ncoll__radix_list(n, k) : 0;
    }
    return 0;
}
