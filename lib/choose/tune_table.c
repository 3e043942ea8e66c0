/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a table as text, merges two tables, and looks up calls. */
#include "lib/choose/tune_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/signature.h"
#include "lib/choose/tune_words.h"

void ncoll__tune_sum(const char *text, size_t len, char line[TUNE_SUM_LINE + 1])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++) /* FNV-1a */
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    snprintf(line, TUNE_SUM_LINE + 1, "sum %016" PRIx64 "\n", hash);
}

/* ------------------------------------------------------------------ printing ------------------ */

struct printer {
    char *text;
    size_t len, size;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void add(struct printer *p, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(p->text + p->len, p->size - p->len, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= p->size - p->len)
        p->full = true;
    else
        p->len += (size_t)n;
}

static uint64_t in_units(double value, double units)
{
    double scaled = value * units + 0.5;

    return scaled > 0 && scaled < (double)TUNE_COST_MAX + 1 ? (uint64_t)scaled : 0;
}

static void add_section(struct printer *p, const struct tune_table *t, const struct tune_section *s)
{
    const struct tune_key *k = &s->key;
    char radix[RADIX_TEXT];

    add(p, "section %s\nmachine %s\ntransport %s\ndevice %s\ncrowd %" PRIu64 "\n", k->version,
        k->machine, k->transport, k->device, k->ranks_per_core_milli);
    if (k->ranks > 0)
        add(p, "ranks %" PRIu64 " %" PRIu64 "\n", k->ranks, k->node_ranks);
    if (s->has_costs)
        add(p, "costs %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", in_units(s->cost.latency_ns, 1e3),
            in_units(s->cost.message_ns, 1e3), in_units(s->cost.byte_ns, 1e6));
    for (unsigned i = s->first; i < s->first + s->count; i++) {
        const struct tune_rule *r = &t->rules[i];
        add(p, "use %s%s %" PRIu64 " %" PRIu64 " %s %s %" PRIu64 " %u %" PRIu64 "\n",
            ncoll__collective_name(r->collective), r->same_bits ? TUNE_SAME_BITS : "",
            r->from_bytes, r->to_bytes, r->algorithm->name, ncoll__radix_text(r->radix, radix),
            r->segment_bytes, r->lanes, r->ns);
    }
    add(p, "end\n");
}

size_t ncoll__tune_print(const struct tune_table *table, char *text, size_t size)
{
    struct printer p = {.text = text, .size = size};
    char sum[TUNE_SUM_LINE + 1];

    if (size == 0)
        return 0;
    add(&p, TUNE_HEAD "%u\n", TUNE_FORMAT);
    for (unsigned i = 0; i < table->n_sections && !p.full; i++)
        add_section(&p, table, &table->sections[i]);
    ncoll__tune_sum(text, p.len, sum);
    add(&p, "%s", sum);
    return p.full ? 0 : p.len;
}

/* ------------------------------------------------------------------ keys, merging ------------- */

bool ncoll__tune_same_place(const struct tune_key *a, const struct tune_key *b)
{
    return strcmp(a->version, b->version) == 0 && strcmp(a->machine, b->machine) == 0 &&
           strcmp(a->transport, b->transport) == 0 && strcmp(a->device, b->device) == 0 &&
           a->ranks_per_core_milli == b->ranks_per_core_milli;
}

bool ncoll__tune_same_key(const struct tune_key *a, const struct tune_key *b)
{
    return ncoll__tune_same_place(a, b) && a->ranks == b->ranks && a->node_ranks == b->node_ranks;
}

/* The name of a device is its first word; its model and firmware follow. */
static bool same_device_name(const char *a, const char *b)
{
    size_t len = strcspn(a, " ");

    return len == strcspn(b, " ") && memcmp(a, b, len) == 0;
}

/* True if both keys are for the same hardware, whatever the library's version and the device's
 * firmware. */
static bool same_hardware(const struct tune_key *a, const struct tune_key *b)
{
    return strcmp(a->machine, b->machine) == 0 && strcmp(a->transport, b->transport) == 0 &&
           same_device_name(a->device, b->device);
}

bool ncoll__tune_is_stale(const struct tune_key *key, const struct tune_key *here)
{
    return same_hardware(key, here) &&
           (strcmp(key->version, here->version) != 0 || strcmp(key->device, here->device) != 0);
}

bool ncoll__tune_add(struct tune_table *t, const struct tune_table *from, unsigned section)
{
    const struct tune_section *s = &from->sections[section];

    if (t->n_sections == t->sections_max || s->count > t->rules_max - t->n_rules)
        return false;
    t->sections[t->n_sections] = *s;
    t->sections[t->n_sections++].first = t->n_rules;
    for (unsigned i = 0; i < s->count; i++)
        t->rules[t->n_rules++] = from->rules[s->first + i];
    return true;
}

static bool has_rules_for(const struct tune_table *t, const struct tune_section *s,
                          enum collective collective)
{
    for (unsigned i = s->first; i < s->first + s->count; i++)
        if (t->rules[i].collective == collective)
            return true;
    return false;
}

/* Adds section s of `fresh`. Costs, and rules for a collective, that it lacks are taken from
 * `before`, the section of `old` with the same key (NULL: none). Rules stay sorted by
 * collective. */
static bool add_both(struct tune_table *out, const struct tune_table *old,
                     const struct tune_section *before, const struct tune_table *fresh,
                     const struct tune_section *s)
{
    if (out->n_sections == out->sections_max)
        return false;
    struct tune_section *both = &out->sections[out->n_sections++];
    *both = *s;
    both->first = out->n_rules;
    both->count = 0;
    if (!s->has_costs && before != NULL) {
        both->has_costs = before->has_costs;
        both->cost = before->cost;
    }
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++) {
        bool newer = before == NULL || has_rules_for(fresh, s, (enum collective)c);
        const struct tune_table *t = newer ? fresh : old;
        const struct tune_section *from = newer ? s : before;
        for (unsigned i = from->first; i < from->first + from->count; i++) {
            if (t->rules[i].collective != (enum collective)c)
                continue;
            if (out->n_rules == out->rules_max)
                return false;
            out->rules[out->n_rules++] = t->rules[i];
            both->count++;
        }
    }
    return true;
}

/* Returns the index of the last section that has the hardware and the version of a key. */
static unsigned last_of_version(const struct tune_table *t, const struct tune_key *key)
{
    unsigned last = 0;

    for (unsigned i = 0; i < t->n_sections; i++)
        if (same_hardware(&t->sections[i].key, key) &&
            strcmp(t->sections[i].key.version, key->version) == 0)
            last = i;
    return last;
}

/* True if `old` has sections of TUNE_VERSIONS versions that were written after the last one of the
 * version of `key`. The version of `fresh` does not count. Later sections have higher indices,
 * since new ones are written at the end. */
static bool is_long_past(const struct tune_table *old, const struct tune_key *key,
                         const struct tune_key *fresh)
{
    unsigned later = 0;

    for (unsigned i = last_of_version(old, key) + 1; i < old->n_sections && later < TUNE_VERSIONS;
         i++) {
        const struct tune_key *other = &old->sections[i].key;
        later += same_hardware(other, key) && strcmp(other->version, fresh->version) != 0 &&
                 last_of_version(old, other) == i;
    }
    return later == TUNE_VERSIONS;
}

static bool is_replaced(const struct tune_table *old, const struct tune_key *key,
                        const struct tune_key *fresh)
{
    if (!ncoll__tune_is_stale(key, fresh))
        return ncoll__tune_same_key(key, fresh);
    return strcmp(key->version, fresh->version) == 0 || is_long_past(old, key, fresh);
}

bool ncoll__tune_merge(const struct tune_table *old, const struct tune_table *fresh,
                       struct tune_table *out)
{
    bool ok = true;

    out->n_sections = out->n_rules = 0;
    for (unsigned i = 0; i < old->n_sections && ok; i++) {
        bool replaced = false;
        for (unsigned j = 0; j < fresh->n_sections; j++)
            replaced |= is_replaced(old, &old->sections[i].key, &fresh->sections[j].key);
        if (!replaced)
            ok = ncoll__tune_add(out, old, i);
    }
    for (unsigned j = 0; j < fresh->n_sections && ok; j++) {
        const struct tune_section *before = NULL;
        for (unsigned i = 0; i < old->n_sections; i++)
            if (ncoll__tune_same_key(&old->sections[i].key, &fresh->sections[j].key))
                before = &old->sections[i];
        ok = add_both(out, old, before, fresh, &fresh->sections[j]);
    }
    return ok;
}

static bool same_calls(const struct tune_rule *a, const struct tune_rule *b)
{
    return a->collective == b->collective && a->same_bits == b->same_bits;
}

/* Restricts `rule` to sizes for which the section has no rule. Returns false if the section has a
 * rule for the middle size. */
static bool shrink(const struct tune_table *t, const struct tune_section *s, struct tune_rule *rule)
{
    uint64_t middle = rule->from_bytes + (rule->to_bytes - rule->from_bytes) / 2;

    for (unsigned i = s->first; i < s->first + s->count; i++) {
        const struct tune_rule *r = &t->rules[i];
        if (!same_calls(r, rule))
            continue;
        if (r->to_bytes < middle)
            rule->from_bytes = rule->from_bytes > r->to_bytes ? rule->from_bytes : r->to_bytes + 1;
        else if (r->from_bytes > middle)
            rule->to_bytes = rule->to_bytes < r->from_bytes ? rule->to_bytes : r->from_bytes - 1;
        else
            return false;
    }
    return true;
}

/* True if rule a comes before rule b in a section: by collective, then by size. */
static bool comes_before(const struct tune_rule *a, const struct tune_rule *b)
{
    if (a->collective != b->collective)
        return a->collective < b->collective;
    return a->same_bits != b->same_bits ? b->same_bits : a->from_bytes < b->from_bytes;
}

/* Inserts a rule into the section that was added last. Returns false if there is no room. */
static bool insert(struct tune_table *t, struct tune_rule rule)
{
    struct tune_section *s = &t->sections[t->n_sections - 1];
    unsigned at = s->first;

    if (t->n_rules == t->rules_max)
        return false;
    while (at < t->n_rules && comes_before(&t->rules[at], &rule))
        at++;
    memmove(&t->rules[at + 1], &t->rules[at], (t->n_rules - at) * sizeof *t->rules);
    t->rules[at] = rule;
    t->n_rules++;
    s->count++;
    return true;
}

bool ncoll__tune_fill(const struct tune_table *old, const struct tune_key *key,
                      struct tune_rule rule, struct tune_table *out)
{
    bool known = false;

    out->n_sections = out->n_rules = 0;
    for (unsigned i = 0; i < old->n_sections; i++) {
        if (!ncoll__tune_add(out, old, i))
            return false;
        if (!ncoll__tune_same_key(&old->sections[i].key, key))
            continue;
        known = true;
        if (shrink(out, &out->sections[i], &rule) && !insert(out, rule))
            return false;
    }
    if (known)
        return true;
    if (out->n_sections == out->sections_max)
        return false;
    out->sections[out->n_sections++] = (struct tune_section){.key = *key, .first = out->n_rules};
    return insert(out, rule);
}

/* ------------------------------------------------------------------ looking up ---------------- */

const struct tune_section *ncoll__tune_section(const struct tune_table *t, unsigned ranks,
                                               unsigned node_ranks)
{
    for (unsigned i = 0; i < t->n_sections; i++)
        if (t->sections[i].key.ranks == ranks && t->sections[i].key.node_ranks == node_ranks)
            return &t->sections[i];
    return NULL;
}

const struct tune_rule *ncoll__tune_rule(const struct tune_table *t,
                                         const struct tune_section *section,
                                         enum collective collective, bool same_bits, uint64_t bytes)
{
    for (unsigned i = section->first; i < section->first + section->count; i++) {
        const struct tune_rule *r = &t->rules[i];
        if (r->collective == collective && r->same_bits == same_bits && bytes >= r->from_bytes &&
            bytes <= r->to_bytes)
            return r;
    }
    return NULL;
}
