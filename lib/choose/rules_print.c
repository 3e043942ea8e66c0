/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/names.h"
#include "lib/choose/rules.h"

struct line {
    char *text;
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line->text + line->len, RULE_TEXT - line->len, format, args);
    va_end(args);
    line->len += n > 0 && (size_t)n < RULE_TEXT - line->len ? (size_t)n : 0;
}

/* Adds the range of bytes. In the text the upper end does not belong to the range, in the rule it
 * does. */
static void add_bytes(struct line *line, const struct rule *rule)
{
    char text[RULE_BYTES_TEXT];

    if (rule->collective == COLL_BARRIER)
        return;
    add(line, " %s-", ncoll__rule_bytes_text(rule->bytes.from, text));
    if (rule->bytes.to != RULE_NO_END)
        add(line, "%s", ncoll__rule_bytes_text(rule->bytes.to + 1, text));
}

static void add_decimal(struct line *line, uint64_t value, uint64_t unit)
{
    add(line, "%" PRIu64, value / unit);
    if (value % unit == 0)
        return;
    add(line, ".");
    for (value %= unit; value > 0; value %= unit) {
        unit /= 10;
        add(line, "%" PRIu64, value / unit);
    }
}

static void add_number(struct line *line, enum rule_number number, struct rule_range range)
{
    uint64_t unit = ncoll__rule_unit(number);

    if (range.from == 0 && range.to == RULE_NO_END)
        return;
    add(line, " %s=", ncoll__rule_number_key(number));
    add_decimal(line, range.from, unit);
    if (range.to == range.from)
        return;
    add(line, "-");
    if (range.to != RULE_NO_END)
        add_decimal(line, range.to, unit);
}

const char *ncoll__rule_text(const struct rule *rule, char text[RULE_TEXT])
{
    struct line line = {.text = text};
    char radix[RADIX_TEXT], bytes[RULE_BYTES_TEXT];

    add(&line, "%s", ncoll__collective_name(rule->collective));
    add_bytes(&line, rule);
    if (rule->same_bits)
        add(&line, " bits=same");
    for (unsigned i = 0; i < RULE_NUMBERS; i++)
        add_number(&line, (enum rule_number)i, rule->numbers[i]);
    if (*rule->transport != '\0')
        add(&line, " transport=%s", rule->transport);
    if (*rule->device != '\0')
        add(&line, " device=%s", rule->device);
    add(&line, " %s", rule->algorithm->name);
    if (rule->radix != 0)
        add(&line, " n=%s", ncoll__radix_text(rule->radix, radix));
    if (rule->has_segment)
        add(&line, " segment=%s",
            rule->segment_bytes > 0 ? ncoll__rule_bytes_text(rule->segment_bytes, bytes) : "whole");
    if (rule->lanes > 0)
        add(&line, " lanes=%u", rule->lanes);
    return text;
}
