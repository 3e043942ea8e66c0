/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-info: what this build of ncoll can do here, and what steers it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"
#include "ncoll.h"
#include "tools/arguments.h"
#include "tools/bench/names.h"
#include "tools/devices.h"
#include "tools/info/info.h"
#include "tools/output.h"

#define RANKS_MAX 65536L

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
    bool choices;
    const char *of_choices; /* an option that is theirs; NULL: none */
    struct info_choices_wish wish;
};

enum { KEY_CHOICES = 256, KEY_TYPE };

static error_t parse_choices(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    struct info_choices_wish *wish = &options->wish;
    unsigned ranks;
    int code;

    switch (key) {
    case KEY_CHOICES:
        options->choices = true;
        return 0;
    case 'n':
        options->of_choices = "-n";
        if (arguments_number(state, "the number of ranks", arg, 1, RANKS_MAX, &ranks) != 0)
            return EINVAL;
        wish->ranks = (int)ranks;
        return 0;
    case 't':
        options->of_choices = "-t";
        wish->transport = arg;
        return arguments_transport(state, arg);
    default: /* KEY_TYPE */
        options->of_choices = "--type";
        code = name_code(names_of_types, arg);
        if (code < 0)
            return arguments_unknown(state, "type", arg, names_of_types);
        wish->type = (ncoll_type)code;
        return 0;
    }
}

static error_t parse_collective(char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    char list[256];
    int code = name_code(names_of_collectives, arg);

    if (code < COLL_BARRIER || code >= COLLECTIVES)
        argp_error(state, "unknown collective '%s'; there are: %s", arg,
                   name_list(names_of_collectives, COLLECTIVES, list, sizeof list));
    else
        options->wish.collectives |= 1u << code;
    return 0;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'j':
        options->json = true;
        return 0;
    case KEY_CHOICES:
    case KEY_TYPE:
    case 'n':
    case 't':
        return parse_choices(key, arg, state);
    case ARGP_KEY_ARG:
        if (options->choices)
            return parse_collective(arg, state);
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
    case ARGP_KEY_END:
        if (options->of_choices != NULL && !options->choices)
            argp_error(state, "%s says of what --choices are printed: add that, or leave it out",
                       options->of_choices);
        return 0;
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
        {"choices", KEY_CHOICES, NULL, 0,
         "print what runs for calls of each collective, or of those named after it, and why", 0},
        {"ranks", 'n', "RANKS", 0,
         "of --choices: fork this many ranks (default 4, unless a launcher made them)", 0},
        {"transport", 't', "NAME", 0, "of --choices: shm, verbs or shm+verbs", 0},
        {"type", KEY_TYPE, "TYPE", 0, "of --choices: element type (default int64)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_one,
        .args_doc = "[SECTION]...\n--choices [COLLECTIVE]...",
        .doc = "Prints what ncoll finds here and what steers it: build, devices, limits, topology, "
               "settings (NCOLL_ variables), algorithms.",
    };
    struct options options = {.wish.type = NCOLL_INT64};

    output_open();
    arguments_open();
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.choices) {
        options.wish.json = options.json;
        return info_choices(&options.wish);
    }
    int status = print_all(&options);
    return output_written(stdout) && status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
