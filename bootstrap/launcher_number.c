/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "bootstrap/launcher.h"

long ncoll__launcher_number(const char *variable, long fallback)
{
    const char *text = variable != NULL ? getenv(variable) : NULL;
    char *end;

    if (text == NULL || *text == '\0')
        return fallback;
    errno = 0;
    long value = strtol(text, &end, 10);
    return *end == '\0' && errno == 0 ? value : fallback;
}
