/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/names.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"
#include "ncoll.h"
#include "tools/bench/measure/distribution.h"
#include "tools/bench/options.h"

const struct name names_of_types[] = {
    {"int8", NCOLL_INT8},
    {"int16", NCOLL_INT16},
    {"int32", NCOLL_INT32},
    {"int64", NCOLL_INT64},
    {"uint8", NCOLL_UINT8},
    {"uint16", NCOLL_UINT16},
    {"uint32", NCOLL_UINT32},
    {"uint64", NCOLL_UINT64},
    {"float", NCOLL_FLOAT},
    {"double", NCOLL_DOUBLE},
    {"long-double", NCOLL_LONG_DOUBLE},
    {"half", NCOLL_HALF},
    {"bfloat16", NCOLL_BFLOAT16},
    {NULL, 0},
};

const struct name names_of_ops[] = {
    {"sum", NCOLL_SUM},
    {"prod", NCOLL_PROD},
    {"min", NCOLL_MIN},
    {"max", NCOLL_MAX},
    {"land", NCOLL_LAND},
    {"lor", NCOLL_LOR},
    {"lxor", NCOLL_LXOR},
    {"band", NCOLL_BAND},
    {"bor", NCOLL_BOR},
    {"bxor", NCOLL_BXOR},
    {NULL, 0},
};

const struct name names_of_collectives[] = {
    {"barrier", COLL_BARRIER},
    {"allreduce", COLL_ALLREDUCE},
    {"bcast", COLL_BCAST},
    {"reduce", COLL_REDUCE},
    {"gather", COLL_GATHER},
    {"scatter", COLL_SCATTER},
    {"allgather", COLL_ALLGATHER},
    {"alltoall", COLL_ALLTOALL},
    {"reduce_scatter", COLL_REDUCE_SCATTER},
    {"scan", COLL_SCAN},
    {"exscan", COLL_EXSCAN},
    {"gatherv", COLL_GATHER + WITH_COUNTS},
    {"scatterv", COLL_SCATTER + WITH_COUNTS},
    {"allgatherv", COLL_ALLGATHER + WITH_COUNTS},
    {"all", NAME_ALL},
    {NULL, 0},
};
static_assert(COLLECTIVES <= WITH_COUNTS, "codes are told apart");

const struct name names_of_distributions[] = {
    {"regular", DISTRIBUTION_REGULAR},
    {"decreasing", DISTRIBUTION_DECREASING},
    {"broadcast", DISTRIBUTION_BROADCAST},
    {"all", NAME_ALL},
    {NULL, 0},
};

const struct name names_of_companions[] = {
    {"openmpi", COMPANION_OPENMPI},
    {"mpich", COMPANION_MPICH},
    {"ucc", COMPANION_UCC},
    {"gpi2", COMPANION_GPI2},
    {NULL, 0},
};

const struct name names_of_memory[] = {
    {"malloc", MEMORY_MALLOC},
    {"alloc", MEMORY_ALLOC},
    {"registered", MEMORY_REGISTERED},
    {NULL, 0},
};

const struct name names_of_starts[] = {
    {"follow", START_FOLLOW}, {"barrier", START_BARRIER}, {"window", START_WINDOW}, {NULL, 0}};

const struct name names_of_interference[] = {{"busy", 0}, {"bursts", 1}, {NULL, 0}};
const struct name names_of_skews[] = {{"one", SKEW_ONE}, {"all", SKEW_ALL}, {NULL, 0}};

int name_code(const struct name *table, const char *text)
{
    for (; table->text != NULL; table++)
        if (strcmp(table->text, text) == 0)
            return table->code;
    return -1;
}

const char *name_text(const struct name *table, int code)
{
    for (; table->text != NULL; table++)
        if (table->code == code)
            return table->text;
    return "?";
}

void name_append(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

const char *collectives_text(unsigned collectives, char *text, size_t size)
{
    text[0] = '\0';
    for (const struct name *n = names_of_collectives; n->code < COLLECTIVES; n++)
        if (collectives & 1u << n->code)
            name_append(text, size, n->text);
    return text;
}

size_t parse_bytes(const char *text)
{
    static const char suffixes[] = "KMG";
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0)
        return 0;
    unsigned shift = 0;
    if (*end != '\0') {
        const char *suffix = strchr(suffixes, toupper((unsigned char)*end));
        if (suffix == NULL || end[1] != '\0')
            return 0;
        shift = 10 * (unsigned)(suffix - suffixes + 1);
    }
    return value > (SIZE_MAX >> shift) ? 0 : (size_t)value << shift;
}
