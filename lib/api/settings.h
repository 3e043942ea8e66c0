/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings: environment over parameters over defaults. One table (settings.c) names every NCOLL_
 * variable; ncoll-info prints it.
 */
#ifndef NCOLL_LIB_SETTINGS_H
#define NCOLL_LIB_SETTINGS_H

#include "algos/schedule.h"
#include "ncoll.h"

/* Errors are reported before there is a context: into this text. */
struct setting_error {
    char cause[256];
    char remedy[256];
};

/*
 * Resolves params (NULL: defaults) and the environment into *out. Strings in *out point into the
 * environment or the caller's params: copy what must live on. ERRORS: NCOLL_ERR_ARGUMENT.
 */
int ncoll__settings_resolve(const ncoll_params *params, ncoll_params *out,
                            struct setting_error *error);

/* Where the algorithm that is asked for is kept. */
const char **ncoll__algorithm_setting(ncoll_params *params, enum collective collective);

#endif
