/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a tuning table as rules, which make the same choices. */
#include "lib/choose/rules_table.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/choose/tune.h"

/* Returns an entry of the table as a rule. The conditions of the rule restrict it to the kind of
 * group that the entry's section is for. */
static struct rule rule_of(const struct tune_key *key, const struct tune_rule *entry)
{
    const struct algorithm *a = entry->algorithm;
    struct rule rule = {
        .collective = entry->collective,
        .bytes = {entry->from_bytes, entry->to_bytes},
        .numbers = {[RULE_RANKS] = {key->ranks, key->ranks},
                    [RULE_NODES] = {0, RULE_NO_END},
                    [RULE_NODE_RANKS] = {key->node_ranks, key->node_ranks},
                    [RULE_PER_CORE] = {key->ranks_per_core_milli, key->ranks_per_core_milli}},
        .same_bits = entry->same_bits,
        .algorithm = a,
        .radix = a->properties & USES_RADIX ? entry->radix : 0,
        .lanes = entry->lanes,
        .has_segment = true,
        .segment_bytes = entry->segment_bytes,
    };

    snprintf(rule.transport, sizeof rule.transport, "%s", key->transport);
    if (strcmp(key->device, "-") != 0)
        snprintf(rule.device, sizeof rule.device, "%.*s", (int)strcspn(key->device, " "),
                 key->device);
    return rule;
}

/* True if entry b makes the same choice as entry a, for the sizes that follow those of a. */
static bool goes_on(const struct tune_rule *a, const struct tune_rule *b)
{
    return b->collective == a->collective && b->same_bits == a->same_bits &&
           b->from_bytes == a->to_bytes + 1 && b->algorithm == a->algorithm &&
           b->radix == a->radix && b->segment_bytes == a->segment_bytes && b->lanes == a->lanes;
}

/* Calls `each` with each rule of a section for one collective, either for calls with the same bits
 * on all ranks or for other calls. */
static void each_of_kind(const struct tune_table *t, const struct tune_section *s,
                         enum collective collective, bool same_bits, rule_line *each, void *arg)
{
    const struct tune_rule *entry = &t->rules[s->first], *end = entry + s->count;
    char text[RULE_TEXT];

    for (; entry < end; entry++) {
        if (entry->collective != collective || entry->same_bits != same_bits)
            continue;
        struct rule rule = rule_of(&s->key, entry);
        for (; entry + 1 < end && goes_on(entry, entry + 1); entry++)
            rule.bytes.to = entry[1].to_bytes;
        each(arg, &s->key, ncoll__rule_text(&rule, text));
    }
}

/* Calls `each` with all rules of a section. Those for calls with the same bits on all ranks come
 * first, as exceptions from the others. */
static void each_of(const struct tune_table *t, const struct tune_section *s, rule_line *each,
                    void *arg)
{
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        for (int plain = 0; plain < 2; plain++)
            each_of_kind(t, s, (enum collective)c, plain == 0, each, arg);
}

unsigned ncoll__rules_of_table(const struct tune_table *table, uint64_t ranks, rule_line *each,
                               void *arg)
{
    char machine[TUNE_WORD];
    unsigned left_out = 0;

    ncoll__tune_machine(machine);
    for (unsigned i = 0; i < table->n_sections; i++) {
        const struct tune_section *s = &table->sections[i];
        if (strcmp(s->key.machine, machine) != 0 || strcmp(s->key.version, ncoll_version()) != 0)
            left_out += s->count > 0;
        else if (ranks == 0 || s->key.ranks == ranks)
            each_of(table, s, each, arg);
    }
    return left_out;
}

bool ncoll__rules_of_file(const char *path, uint64_t ranks, rule_line *each, void *arg,
                          unsigned *left_out, char why[TUNE_WHY])
{
    struct ncoll_context plain = {.rank = -1}; /* provides the allocator: malloc() */
    struct tune_table table;
    size_t len;
    char *text = ncoll__tune_read(&plain, path, &len, why);

    if (text == NULL) {
        if (*why == '\0')
            snprintf(why, TUNE_WHY, "there is no such file; run ncoll-tune first");
        return false;
    }
    bool ok = ncoll__tune_load(&plain, text, len, &table, why) == TUNE_FINE;
    if (ok) {
        *left_out = ncoll__rules_of_table(&table, ranks, each, arg);
        ncoll__tune_free(&plain, &table);
    }
    ncoll__release(&plain, text);
    return ok;
}
