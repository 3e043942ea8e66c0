/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the tuning table as rules, which a person can read and change: see ncoll-rules(5). */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/inside.h"
#include "tools/bench/bench.h"
#include "tools/tune/tune.h"

struct printed {
    const struct tune_options *options;
    const struct tune_key *key; /* of the section that was printed last */
    unsigned rules;
};

/* Says what the rules of a section are for. */
static void print_head(const struct tune_key *key)
{
    printf("\n# %llu ranks, at most %llu on a node, %g on a core, over %s",
           (unsigned long long)key->ranks, (unsigned long long)key->node_ranks,
           (double)key->ranks_per_core_milli / 1000, key->transport);
    if (strcmp(key->device, "-") != 0)
        printf(", device %s", key->device);
    putchar('\n');
}

static bool is_wanted(const struct tune_options *o, const struct tune_key *key, const char *text)
{
    char name[RULE_WORD];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
    return o->collectives & 1u << ncoll__rule_collective(name) &&
           (o->transport == NULL || strcmp(o->transport, key->transport) == 0);
}

static void print_rule(void *arg, const struct tune_key *key, const char *text)
{
    struct printed *p = arg;

    if (!is_wanted(p->options, key, text))
        return;
    if (p->key == NULL)
        printf("# Rules that make the choices of the tuning table on this machine: see "
               "ncoll-rules(5).\n# %s, ncoll %s\n",
               key->machine, key->version);
    if (p->key != key)
        print_head(key);
    p->key = key;
    p->rules++;
    puts(text);
}

int rules_print(const struct tune_options *o)
{
    struct printed printed = {.options = o};
    char path[PATH_MAX] = "the table", why[TUNE_WHY] = "there is no home directory; give --file";
    unsigned left_out = 0;

    if (!ncoll__tune_path(o->file, path)) {
        warnx("%s cannot be read: %s", path, why);
        return EXIT_FAILURE;
    }
    if (!ncoll__rules_of_file(path, (uint64_t)o->ranks, print_rule, &printed, &left_out, why)) {
        warnx("the table %s cannot be used: %s", path, why);
        return EXIT_FAILURE;
    }
    if (left_out > 0 && printed.rules > 0)
        printf("\n# Left out: %u section%s for other machines or versions of ncoll.\n", left_out,
               left_out == 1 ? "" : "s");
    if (printed.rules == 0)
        warnx("the table %s has nothing of this kind for this machine; run ncoll-tune without "
              "--rules first",
              path);
    return output_written(stdout) && printed.rules > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
