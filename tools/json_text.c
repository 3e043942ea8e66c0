/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/json_text.h"

#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *bytes)
{
    json_t *out = json_string(bytes);
    char *copy = out == NULL ? strdup(bytes) : NULL;

    if (copy == NULL)
        return out;
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    out = json_string(copy);
    free(copy);
    return out;
}
