/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/seed.h"

#define FLAGS_MAX  8
#define FIRST_FLAG 1000 /* values of long options without a letter */

bool option_number(const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 0);
    return errno == 0 && end != text && *end == '\0';
}

bool option_ranks(const char *list, unsigned max, bool wanted[])
{
    char *end;

    memset(wanted, 0, sizeof *wanted * (max + 1));
    for (;; list = end + 1) {
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (first < 1 || last > max || first > last)
            return false;
        for (; first <= last; first++)
            wanted[first] = true;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
    }
}

static bool set_flag(const struct flag *flags, int c)
{
    for (unsigned i = 0; flags[i].name != NULL; i++) {
        bool is_letter = flags[i].name[1] == '\0';
        if (is_letter ? c != flags[i].name[0] : c != FIRST_FLAG + (int)i)
            continue;
        *flags[i].is_set = true;
        return true;
    }
    return false;
}

static bool take(struct jobs *out, const struct flag *flags, int c)
{
    switch (c) {
    case 't':
        out->transport = optarg;
        return true;
    case 'P':
        out->list = optarg;
        return true;
    case 'n':
        return option_number(optarg, &out->count);
    case 'o':
        return option_number(optarg, &out->only);
    case 'S':
        return option_number(optarg, &out->seed);
    default:
        return set_flag(flags, c);
    }
}

bool option_jobs(int argc, char **argv, const char *word, const struct flag *flags,
                 struct jobs *out)
{
    struct option longs[FLAGS_MAX + 4] = {{word, required_argument, NULL, 'n'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"only", required_argument, NULL, 'o'}};
    char letters[FLAGS_MAX + 5] = "t:P:";
    int c;

    for (unsigned i = 0, n = 3; flags[i].name != NULL; i++) {
        if (flags[i].name[1] == '\0')
            strcat(letters, flags[i].name);
        else
            longs[n++] = (struct option){flags[i].name, no_argument, NULL, FIRST_FLAG + (int)i};
    }
    out->only = UINT64_MAX;
    while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1)
        if (!take(out, flags, c))
            return false;
    if (optind != argc)
        return false;
    if (out->seed == 0)
        out->seed = test_seed();
    return true;
}
