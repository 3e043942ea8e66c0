/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of the environment that are not settings; settings.c has those that are. */
#ifndef NCOLL_LIB_ENVIRONMENT_H
#define NCOLL_LIB_ENVIRONMENT_H

#include <stdbool.h>

#define VARIABLE_BYTES 64

struct unknown_variable {
    char name[VARIABLE_BYTES]; /* cut off if it is longer */
    const char *nearest;       /* the setting that the user may have meant; NULL: none is similar */
};

/* Gets the index-th variable of the environment that begins with NCOLL_ and is no setting; returns
 * false past the last. Variables of the project's own scripts and tests are left out. */
bool ncoll__unknown_variable(unsigned index, struct unknown_variable *out);

/* Returns true if a variable is set and not empty. */
bool ncoll__environment_has(const char *variable);

#endif
