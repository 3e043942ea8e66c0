/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmi_dialect.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool ncoll__pmi_field(const struct pmi_dialect *dialect, const char *message, const char *name,
                      const char **value, size_t *len)
{
    const char separators[] = {dialect->separator, '\n', '\0'};
    size_t name_len = strlen(name);

    while (*message != '\0') {
        size_t word = strcspn(message, separators);
        if (word > name_len && message[name_len] == '=' && strncmp(message, name, name_len) == 0) {
            *value = message + name_len + 1;
            *len = word - name_len - 1;
            return true;
        }
        message += word;
        message += strspn(message, separators);
    }
    return false;
}

bool ncoll__pmi_number(const struct pmi_dialect *dialect, const char *message, const char *name,
                       long *number)
{
    const char *value;
    char text[24], *end;
    size_t len;

    if (!ncoll__pmi_field(dialect, message, name, &value, &len) || len == 0 || len >= sizeof text)
        return false;
    memcpy(text, value, len);
    text[len] = '\0';
    errno = 0;
    long found = strtol(text, &end, 10);
    if (*end != '\0' || errno != 0)
        return false;
    *number = found;
    return true;
}

bool ncoll__pmi_is(const struct pmi_dialect *dialect, const char *message, const char *name,
                   const char *text)
{
    const char *value;
    size_t len;

    return ncoll__pmi_field(dialect, message, name, &value, &len) && len == strlen(text) &&
           strncmp(value, text, len) == 0;
}
