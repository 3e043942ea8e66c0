/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool option_number(const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0';
}

bool option_ranks(const char *list, unsigned max, bool wanted[])
{
    char *end;

    memset(wanted, 0, sizeof *wanted * (max + 1));
    for (;; list = end + 1) {
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (first < 1 || last > max || first > last)
            return false;
        for (; first <= last; first++)
            wanted[first] = true;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
    }
}
