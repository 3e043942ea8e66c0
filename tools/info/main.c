/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-info: prints what this build of ncoll can do here, and its settings.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/cg/support.h"
#include "algos/schedule.h"
#include "ncoll.h"
#include "tools/arguments.h"
#include "tools/bench/names.h"
#include "tools/devices.h"
#include "tools/info/info.h"
#include "tools/json.h"

static const struct {
    const char *name;
    json_t *(*make)(void);
} sections[] = {
    {"build", info_build},       {"devices", devices_list},       {"limits", info_limits},
    {"topology", info_topology}, {"waiting", info_waiting},       {"settings", info_settings},
    {"rules", info_rules},       {"algorithms", info_algorithms},
};
#define SECTIONS (sizeof sections / sizeof sections[0])

struct options {
    bool json;
    unsigned wanted; /* bits of the sections; 0: all */
    bool choices, fabric, selftest;
    struct info_choices_wish wish;
    uint64_t given; /* see tools/arguments.h */
};

#define AT(member) offsetof(struct options, member)

static const struct argument table[] = {
    {"json", NULL, "print JSON", 'j', ARGUMENT_FLAG, AT(json)},
    {"choices", NULL,
     "print which algorithm runs for each collective, or for those named after it, and why", 0,
     ARGUMENT_FLAG, AT(choices)},
    {"fabric", NULL, "in a job: print which nodes reach each other, over which ports, and how fast",
     0, ARGUMENT_FLAG, AT(fabric)},
    {"selftest", NULL,
     "the same, and whether results are right, with all that a report to the makers needs", 0,
     ARGUMENT_FLAG, AT(selftest)},
    {"ranks", "RANKS",
     "with --choices, --fabric or --selftest: fork this many ranks (default 4, or 2 of a fabric, "
     "unless a launcher made them)",
     'n', ARGUMENT_COUNT, AT(wish.ranks), 1, RANKS_MAX, "the number of ranks"},
    {"transport", "NAME", "with --choices, --fabric or --selftest: shm, verbs or shm+verbs", 't',
     ARGUMENT_TRANSPORT, AT(wish.transport)},
    {"type", "TYPE", "with --choices: element type (default int64)", 0, ARGUMENT_NAME,
     AT(wish.type), .what = "type", .names = names_of_types},
    {"wide", NULL, "with --choices: print all columns (default: 80 characters)", 0, ARGUMENT_FLAG,
     AT(wish.wide)},
    {0},
};

static error_t take_word(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;

    if (options->choices)
        return arguments_bits(state, "collective", text, names_of_collectives, COLLECTIVES,
                              &options->wish.collectives);
    for (size_t i = 0; i < SECTIONS; i++)
        if (strcmp(sections[i].name, text) == 0) {
            options->wanted |= 1u << i;
            return 0;
        }
    return arguments_mistake(state,
                             "unknown section '%s'; there are: build, devices, limits, topology, "
                             "waiting, settings, rules, algorithms",
                             text);
}

static error_t finish(struct argp_state *state, void *arg)
{
    const struct options *options = arg;

    if (options->choices + options->fabric + options->selftest > 1)
        return arguments_mistake(state, "--choices, --fabric and --selftest do not go together");
    if ((options->fabric || options->selftest) && (options->json || options->wanted != 0))
        return arguments_mistake(state, "--fabric and --selftest print one report, as text: leave "
                                        "out --json and the names of sections");
    for (unsigned i = 4; table[i].help != NULL && !options->choices; i++) {
        bool is_of_job =
            strcmp(table[i].name, "ranks") == 0 || strcmp(table[i].name, "transport") == 0;
        if (is_of_job && (options->fabric || options->selftest))
            continue;
        if (arguments_given(table, options->given, table[i].name))
            return arguments_mistake(state, "--%s is for --choices: add --choices, or leave it out",
                                     table[i].name);
    }
    return 0;
}

static int print_all(const struct options *options)
{
    json_t *tree = json_object();
    int status = 0;

    for (size_t i = 0; i < SECTIONS; i++)
        if (options->wanted == 0 || options->wanted & 1u << i)
            json_object_set_new(tree, sections[i].name, sections[i].make());
    bool good = json_object_get(json_object_get(tree, "rules"), "error") == NULL;
    if (options->json) {
        status = json_dump(tree, stdout);
    } else {
        const char *title;
        json_t *section;
        json_object_foreach(tree, title, section) status |= info_print(title, section, stdout);
    }
    json_decref(tree);
    return good ? status : -1;
}

int main(int argc, char **argv)
{
    static const struct arguments arguments = {
        table,
        "[SECTION]...\n--choices [COLLECTIVE]...\n--fabric\n--selftest",
        "Prints what ncoll finds on this machine and how it is set: build, devices, limits, "
        "topology, waiting, settings (NCOLL_ variables), rules, algorithms.",
        take_word,
        finish,
        AT(given),
    };
    struct options options = {.wish.type = NCOLL_INT64};

    output_open();
    arguments_parse(&arguments, argc, argv, false, &options);
    if (options.choices) {
        options.wish.json = options.json;
        return info_choices(&options.wish);
    }
    if (options.fabric || options.selftest) {
        options.wish.checks = options.selftest;
        return info_fabric(&options.wish);
    }
    int status = print_all(&options);
    return output_written(stdout) && status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
