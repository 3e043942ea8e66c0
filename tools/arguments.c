/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/arguments.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"
#include "ncoll.h"
#include "tools/bench/names.h"
#include "transport/transport.h"

#define OPTIONS_MAX 64
#define LONG_KEY    256 /* keys from here on: options without a letter */

struct parse {
    const struct arguments *a;
    void *options;
};

error_t arguments_mistake(const struct argp_state *state, const char *format, ...)
{
    char text[1280];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    argp_error(state, "%s", text);
    return EINVAL;
}

int arguments_name(const struct argp_state *state, const char *what, const char *text,
                   const struct name *table, int end)
{
    char list[256] = "";
    int code = name_code(table, text);

    if (code >= 0 && code < end)
        return code;
    for (; table->text != NULL; table++)
        if (table->code < end)
            name_append(list, sizeof list, table->text);
    arguments_mistake(state, "unknown %s '%s'; there are: %s", what, text, list);
    return -1;
}

static error_t take_count(const struct argp_state *state, const struct argument *a,
                          const char *text, unsigned *out)
{
    long value = parse_number(text, (long)a->low, (long)a->high);

    if (value < 0)
        return arguments_mistake(state, "%s must be a number in %.0f..%.0f, not '%s'", a->what,
                                 a->low, a->high, text);
    *out = (unsigned)value;
    return 0;
}

static error_t take_real(const struct argp_state *state, const struct argument *a, const char *text,
                         double *out)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value > a->low && value <= a->high))
        return arguments_mistake(state, "--%s must be a number above %g, up to %g, not '%s'",
                                 a->name, a->low, a->high, text);
    *out = value;
    return 0;
}

error_t arguments_bits(const struct argp_state *state, const char *what, const char *text,
                       const struct name *table, int end, unsigned *out)
{
    int code = arguments_name(state, what, text, table, end);

    for (const struct name *n = table; n->text != NULL; n++)
        if (n->code != NAME_ALL && (code == n->code || code == NAME_ALL))
            *out |= 1u << n->code;
    return code < 0 ? EINVAL : 0;
}

static error_t take_transport(const struct argp_state *state, const char *text, const char **out)
{
    char list[128] = "";

    *out = text;
    if (ncoll__transport_find(text) != NULL)
        return 0;
    for (unsigned i = 0; ncoll__transports[i] != NULL; i++)
        name_append(list, sizeof list, ncoll__transports[i]->name);
    return arguments_mistake(state, "unknown transport '%s'; this build has: %s", text, list);
}

static error_t take_algorithm(const struct argp_state *state, const char *text,
                              const struct algorithm **out)
{
    char list[1024] = "";

    *out = ncoll__algorithm_find(text);
    if (*out != NULL)
        return 0;
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        name_append(list, sizeof list, ncoll__algorithms[i]->name);
    return arguments_mistake(state, "unknown algorithm '%s'; there are: %s", text, list);
}

static error_t take_radix(const struct argp_state *state, const char *text, unsigned *out)
{
    *out = ncoll__radix_parse(text);
    if (*out != 0)
        return 0;
    return arguments_mistake(
        state, "the radix must be a number in 1..%u, or a list of up to %u, as in 3,2,2, not '%s'",
        RADIX_MAX, RADICES_MAX, text);
}

static error_t take(struct argp_state *state, const struct argument *a, char *text, void *options)
{
    void *at = (char *)options + a->at;
    int code;

    switch (a->kind) {
    case ARGUMENT_FLAG:
        *(bool *)at = true;
        return 0;
    case ARGUMENT_SET:
        *(int *)at = (int)a->low;
        return 0;
    case ARGUMENT_COUNT:
        return take_count(state, a, text, at);
    case ARGUMENT_REAL:
        return take_real(state, a, text, at);
    case ARGUMENT_TEXT:
        *(const char **)at = text;
        return 0;
    case ARGUMENT_NAME:
        code = arguments_name(state, a->what, text, a->names, INT_MAX);
        if (code >= 0)
            *(int *)at = code;
        return code < 0 ? EINVAL : 0;
    case ARGUMENT_BITS:
        return arguments_bits(state, a->what, text, a->names, INT_MAX, at);
    case ARGUMENT_TRANSPORT:
        return take_transport(state, text, at);
    case ARGUMENT_ALGORITHM:
        return take_algorithm(state, text, at);
    case ARGUMENT_RADIX:
        return take_radix(state, text, at);
    case ARGUMENT_OWN:
        return a->take(state, text, options);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int key_of(const struct argument *table, unsigned i)
{
    return table[i].key != 0 ? table[i].key : LONG_KEY + (int)i;
}

static error_t parse_one(int key, char *text, struct argp_state *state)
{
    const struct parse *p = state->input;
    const struct arguments *a = p->a;

    if (key == ARGP_KEY_ARG && a->positional != NULL)
        return a->positional(state, text, p->options);
    if (key == ARGP_KEY_END && a->finish != NULL)
        return a->finish(state, p->options);
    for (unsigned i = 0; a->table[i].help != NULL; i++) {
        struct argument one = a->table[i];
        char what[64];
        if (one.kind == ARGUMENT_HEADER || key != key_of(a->table, i))
            continue;
        snprintf(what, sizeof what, "--%s", one.name);
        one.what = one.what != NULL ? one.what : what;
        *(uint64_t *)((char *)p->options + a->given_at) |= UINT64_C(1) << i;
        return take(state, &one, text, p->options);
    }
    return ARGP_ERR_UNKNOWN;
}

bool arguments_given(const struct argument *table, uint64_t given, const char *name)
{
    for (unsigned i = 0; table[i].help != NULL; i++)
        if (table[i].name != NULL && strcmp(table[i].name, name) == 0)
            return (given & UINT64_C(1) << i) != 0;
    return false;
}

void arguments_parse(const struct arguments *a, int argc, char **argv, bool quiet, void *options)
{
    static char version[64];
    struct argp_option list[OPTIONS_MAX + 1] = {{0}};
    struct argp argp = {list, parse_one, a->args_doc, a->doc, NULL, NULL, NULL};
    struct parse parse = {a, options};
    int group = 0;

    for (unsigned i = 0; i < OPTIONS_MAX && a->table[i].help != NULL; i++) {
        const struct argument *one = &a->table[i];
        group += one->kind == ARGUMENT_HEADER;
        list[i] = (struct argp_option){
            one->name,
            one->kind == ARGUMENT_HEADER ? 0 : key_of(a->table, i),
            one->value,
            (one->is_hidden ? OPTION_HIDDEN : 0) | (one->may_lack_value ? OPTION_ARG_OPTIONAL : 0),
            one->help,
            group};
    }
    snprintf(version, sizeof version, "ncoll %s", ncoll_version());
    argp_program_version = version;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, quiet ? ARGP_NO_ERRS : 0, NULL, &parse) != 0)
        exit(EXIT_USAGE);
}
