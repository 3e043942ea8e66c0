/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, units and keys in rules, for both the reader and the writer. */
#include "lib/choose/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/names.h"

enum collective ncoll__rule_collective(const char *name)
{
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        if (strcmp(ncoll__collective_name((enum collective)c), name) == 0)
            return (enum collective)c;
    return (enum collective)0;
}

const char *ncoll__rule_number_key(enum rule_number number)
{
    static const char *const keys[RULE_NUMBERS] = {"ranks", "nodes", "node-ranks", "per-core"};

    return keys[number];
}

uint64_t ncoll__rule_unit(enum rule_number number)
{
    return number == RULE_PER_CORE ? 1000 : 1;
}

/* ------------------------------------------------------------------ numbers ------------------- */

/* Reads digits. Returns the end of the number; NULL if there are no digits, or the number is too
 * large. */
static const char *scan_digits(const char *text, uint64_t *out)
{
    const char *at = text;

    for (*out = 0; *at >= '0' && *at <= '9'; at++) {
        *out = *out * 10 + (uint64_t)(*at - '0');
        if (*out > RULE_NUMBER_MAX)
            return NULL;
    }
    return at > text ? at : NULL;
}

/* Reads a unit such as k, M, Gi or KiB, and sets *shift to its power of 2; 0: there is none.
 * Returns the end of the unit. */
static const char *scan_unit(const char *text, unsigned *shift)
{
    static const char units[] = "kmgt";
    const char *unit = *text != '\0' ? strchr(units, *text | 0x20) : NULL;

    *shift = 0;
    if (unit != NULL) {
        *shift = 10 * (unsigned)(unit - units + 1);
        text++;
        text += *text == 'i';
    }
    return text + (*text == 'B');
}

bool ncoll__rule_bytes(const char *word, uint64_t *out)
{
    unsigned shift;
    uint64_t value;
    const char *at = scan_digits(word, &value);

    if (at == NULL || *scan_unit(at, &shift) != '\0' || value > RULE_NUMBER_MAX >> shift)
        return false;
    *out = value << shift;
    return true;
}

/* Reads a number with at most as many decimals as `unit` has zeroes, and multiplies it by `unit`.
 * Returns the end of the number; NULL if there is none, or it is too large. */
static const char *scan_decimal(const char *text, uint64_t unit, uint64_t *out)
{
    const char *at = scan_digits(text, out);

    if (at == NULL || *out > RULE_NUMBER_MAX / unit)
        return NULL;
    *out *= unit;
    if (*at != '.' || unit == 1)
        return at;
    for (at++; unit > 1 && *at >= '0' && *at <= '9'; at++)
        *out += (uint64_t)(*at - '0') * (unit /= 10);
    return at;
}

bool ncoll__rule_numbers(const char *word, uint64_t unit, struct rule_range *out)
{
    const char *at = word;
    struct rule_range range = {0, RULE_NO_END};

    if (*at != '-' && (at = scan_decimal(at, unit, &range.from)) == NULL)
        return false;
    if (*at == '\0') {
        *out = (struct rule_range){range.from, range.from};
        return true;
    }
    if (*at++ != '-')
        return false;
    if (*at != '\0' && (at = scan_decimal(at, unit, &range.to)) == NULL)
        return false;
    *out = range;
    return *at == '\0' && strcmp(word, "-") != 0;
}

const char *ncoll__rule_bytes_text(uint64_t bytes, char text[RULE_BYTES_TEXT])
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    unsigned i = 0;

    for (; i < 4 && bytes > 0 && bytes % 1024 == 0; i++)
        bytes /= 1024;
    snprintf(text, RULE_BYTES_TEXT, "%" PRIu64 "%s", bytes, units[i]);
    return text;
}
