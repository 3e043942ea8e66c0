/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment says that no setting hears: see settings.c for those. */
#ifndef NCOLL_LIB_ENVIRONMENT_H
#define NCOLL_LIB_ENVIRONMENT_H

#include <stdbool.h>

#define VARIABLE_BYTES 64

struct unknown_variable {
    char name[VARIABLE_BYTES]; /* cut if it is longer */
    const char *nearest;       /* the setting that it may stand for; NULL: it is like none */
};

/* The index-th variable of the environment that begins with NCOLL_ and is no setting; false past
 * the last. Those of the project's own scripts and tests are left out. */
bool ncoll__unknown_variable(unsigned index, struct unknown_variable *out);

/* Whether a variable is set, and not to nothing. */
bool ncoll__environment_has(const char *variable);

#endif
