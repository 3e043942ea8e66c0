/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/arguments.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"
#include "ncoll.h"
#include "tools/bench/names.h"
#include "transport/transport.h"

void arguments_open(void)
{
    static char version[64];

    snprintf(version, sizeof version, "ncoll %s", ncoll_version());
    argp_program_version = version;
    argp_err_exit_status = EXIT_USAGE;
}

error_t arguments_number(const struct argp_state *state, const char *what, const char *text,
                         long low, long high, unsigned *out)
{
    long value = parse_number(text, low, high);

    if (value < 0) {
        argp_error(state, "%s must be a number in %ld..%ld, not '%s'", what, low, high, text);
        return EINVAL;
    }
    *out = (unsigned)value;
    return 0;
}

error_t arguments_real(const struct argp_state *state, const char *what, const char *text,
                       double low, double high, double *out)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value > low && value <= high)) {
        argp_error(state, "%s must be a number above %g, up to %g, not '%s'", what, low, high,
                   text);
        return EINVAL;
    }
    *out = value;
    return 0;
}

error_t arguments_transport(const struct argp_state *state, const char *text)
{
    char list[128] = "";

    if (ncoll__transport_find(text) != NULL)
        return 0;
    for (unsigned i = 0; ncoll__transports[i] != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                 ncoll__transports[i]->name);
    }
    argp_error(state, "unknown transport '%s'; this build has: %s", text, list);
    return EINVAL;
}

const struct algorithm *arguments_algorithm(const struct argp_state *state, const char *text)
{
    const struct algorithm *a = ncoll__algorithm_find(text);
    char list[1024] = "";

    for (unsigned i = 0; a == NULL && ncoll__algorithms[i] != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                 ncoll__algorithms[i]->name);
    }
    if (a == NULL)
        argp_error(state, "unknown algorithm '%s'; there are: %s", text, list);
    return a;
}

error_t arguments_unknown(const struct argp_state *state, const char *what, const char *text,
                          const struct name *table)
{
    char list[256];
    bool or_all = table == names_of_collectives || table == names_of_distributions;

    argp_error(state, "unknown %s '%s'; there are: %s%s", what, text,
               name_list(table, INT_MAX, list, sizeof list), or_all ? ", all" : "");
    return EINVAL;
}
