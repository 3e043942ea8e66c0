/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings. The environment takes precedence over the parameters, and the parameters over the
 * defaults. The table in settings.c has every NCOLL_ variable; ncoll-info prints it.
 */
#ifndef NCOLL_LIB_SETTINGS_H
#define NCOLL_LIB_SETTINGS_H

#include "algos/schedule.h"
#include "ncoll.h"

/* The text of an error; there is no context yet that could hold it. */
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

/* Returns a pointer to the setting that forces an algorithm for the collective. */
const char **ncoll__algorithm_setting(ncoll_params *params, enum collective collective);
/* Returns a pointer to the setting that has rules for the collective. */
const char **ncoll__rules_setting(ncoll_params *params, enum collective collective);

#endif
