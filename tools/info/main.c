/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-info: what this build of ncoll can do here, and what steers it.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ncoll.h"
#include "tools/devices.h"
#include "tools/info/info.h"

#define EXIT_USAGE 64 /* EX_USAGE */

static const struct {
    const char *name;
    json_t *(*make)(void);
} sections[] = {
    {"build", info_build},       {"devices", devices_list},   {"limits", info_limits},
    {"topology", info_topology}, {"settings", info_settings}, {"algorithms", info_algorithms},
};
#define SECTIONS (sizeof sections / sizeof sections[0])

struct options {
    bool json;
    bool wanted[SECTIONS]; /* none: all of them */
    bool some;
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'j':
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        for (size_t i = 0; i < SECTIONS; i++)
            if (strcmp(sections[i].name, arg) == 0) {
                options->wanted[i] = options->some = true;
                return 0;
            }
        argp_error(state,
                   "unknown section '%s'; there are: build, devices, limits, topology, settings, "
                   "algorithms",
                   arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_all(const struct options *options)
{
    json_t *tree = json_object();
    int status = 0;

    for (size_t i = 0; i < SECTIONS; i++)
        if (!options->some || options->wanted[i])
            json_object_set_new(tree, sections[i].name, sections[i].make());
    if (options->json) {
        status = json_dumpf(tree, stdout, JSON_INDENT(2));
        fputc('\n', stdout);
    } else {
        const char *title;
        json_t *section;
        json_object_foreach(tree, title, section) status |= info_print(title, section, stdout);
    }
    json_decref(tree);
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp_option option_table[] = {
        {"json", 'j', NULL, 0, "print JSON", 0},
        {0},
    };
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_one,
        .args_doc = "[SECTION]...",
        .doc = "Prints what ncoll finds here and what steers it: build, devices, limits, topology, "
               "settings (NCOLL_ variables), algorithms.",
    };
    static char version[64];
    struct options options = {0};

    snprintf(version, sizeof version, "ncoll %s", ncoll_version());
    argp_program_version = version;
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (print_all(&options) == 0 && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "%s: cannot write: %s\n", program_invocation_short_name, strerror(errno));
    return EXIT_FAILURE;
}
