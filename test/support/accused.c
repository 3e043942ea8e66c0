/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/accused.h"

#include <stdio.h>
#include <string.h>

static void on_log(void *arg, ncoll_log_level level, const char *text)
{
    bool *accused = arg;

    (void)level;
    *accused |= strstr(text, "called different collectives") != NULL;
    fprintf(stderr, "%s\n", text);
}

void accused_watch(ncoll_params *params, bool *accused)
{
    *accused = false;
    params->log = on_log;
    params->log_arg = accused;
    params->log_level = NCOLL_LOG_WARN;
}
