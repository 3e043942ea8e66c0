/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a table from text. The text may hold any bytes: every line is checked, and a text with a
 * wrong line is refused as a whole. */
#include <stdio.h>
#include <string.h>

#include "lib/base/signature.h"
#include "lib/choose/tune_words.h"
#include "lib/choose/tune_table.h"

#define LINE_MAX_BYTES 512
#define WORDS          9

struct parser {
    const char *at, *end;
    unsigned line;
    char text[LINE_MAX_BYTES]; /* text of the current line */
    char *words[WORDS];
    unsigned n_words;
    struct tune_table *out;
    struct tune_section *section; /* the section that is being read; NULL: none */
    unsigned seen;                /* bits of enum seen: the lines of the section read so far */
};

void ncoll__tune_room(const char *text, size_t len, unsigned *sections, unsigned *rules)
{
    *sections = *rules = 0;
    for (size_t at = 0; at < len;) {
        const char *line = text + at, *newline = memchr(line, '\n', len - at);
        size_t bytes = newline != NULL ? (size_t)(newline - line) : len - at;
        *sections += bytes >= 8 && memcmp(line, "section ", 8) == 0;
        *rules += bytes >= 4 && memcmp(line, "use ", 4) == 0;
        at += bytes + 1;
    }
}

/* ------------------------------------------------------------------ lines and words ----------- */

/* Reads the next line without its end. Returns false if there is none, if it is too long, or if it
 * contains a control character. */
static bool next_line(struct parser *p)
{
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    size_t bytes = newline != NULL ? (size_t)(newline - p->at) : 0;

    p->line++;
    if (newline == NULL || bytes >= sizeof p->text)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)p->at[i] < ' ' || p->at[i] == 0x7f)
            return false;
    memcpy(p->text, p->at, bytes);
    p->text[bytes] = '\0';
    p->at = newline + 1;
    return true;
}

/* Splits the line at its blanks. Returns false if it is empty, has too many words, or has a blank
 * that does not separate two words. */
static bool split(struct parser *p)
{
    char *word = p->text;

    p->n_words = 0;
    while (*word != '\0') {
        char *blank = strchr(word, ' ');
        if (p->n_words == WORDS || blank == word || (blank != NULL && blank[1] == '\0'))
            return false;
        p->words[p->n_words++] = word;
        if (blank == NULL)
            break;
        *blank = '\0';
        word = blank + 1;
    }
    return p->n_words > 0;
}

/* Reads a word that consists of decimal digits only. Returns false if it does not, or if the number
 * is not in min..max. */
static bool number(const char *word, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;

    if (*word == '\0' || strlen(word) > 18)
        return false;
    for (; *word != '\0'; word++) {
        if (*word < '0' || *word > '9')
            return false;
        value = value * 10 + (uint64_t)(*word - '0');
    }
    *out = value;
    return value >= min && value <= max;
}

/* ------------------------------------------------------------------ kinds of lines ------------ */

enum seen {
    SEEN_MACHINE = 1,
    SEEN_TRANSPORT = 2,
    SEEN_DEVICE = 4,
    SEEN_RANKS_PER_CORE = 8,
    SEEN_RANKS = 16
};
#define SEEN_PLACE (SEEN_MACHINE | SEEN_TRANSPORT | SEEN_DEVICE | SEEN_RANKS_PER_CORE)

static bool take_text(struct parser *p, const char *text, char out[TUNE_WORD], unsigned what)
{
    size_t len = strlen(text);

    if (p->seen & what || len == 0 || len >= TUNE_WORD)
        return false;
    memcpy(out, text, len + 1);
    p->seen |= what;
    return true;
}

static bool begin_section(struct parser *p, const char *version)
{
    struct tune_table *t = p->out;

    if (p->section != NULL || t->n_sections == t->sections_max || t->n_sections == TUNE_SECTIONS)
        return false;
    p->section = &t->sections[t->n_sections];
    *p->section = (struct tune_section){.first = t->n_rules};
    p->seen = 0;
    return take_text(p, version, p->section->key.version, 0);
}

static bool take_costs(struct parser *p)
{
    struct tune_section *s = p->section;
    uint64_t v[3];

    for (unsigned i = 0; i < 3; i++)
        if (p->n_words != 4 || !number(p->words[i + 1], i < 2, TUNE_COST_MAX, &v[i]))
            return false;
    if (s->has_costs)
        return false;
    s->has_costs = true;
    s->cost = (struct transport_cost){(double)v[0] / 1e3, (double)v[1] / 1e3, (double)v[2] / 1e6};
    return true;
}

/* Reads the name of a collective: "allreduce", or "allreduce/same-bits". */
static bool take_collective(char *name, struct tune_rule *out)
{
    char *slash = strchr(name, '/');

    if (slash != NULL) {
        if (strcmp(slash, TUNE_SAME_BITS) != 0)
            return false;
        *slash = '\0';
        out->same_bits = true;
    }
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        if (strcmp(ncoll__collective_name((enum collective)c), name) == 0)
            out->collective = (enum collective)c;
    return out->collective != 0;
}

/* True if two rules are in order, by collective and size, and do not overlap. */
static bool in_order(const struct tune_rule *a, const struct tune_rule *b)
{
    if (a->collective != b->collective)
        return a->collective < b->collective;
    return a->same_bits != b->same_bits ? b->same_bits : a->to_bytes < b->from_bytes;
}

/* Reads the line "use COLLECTIVE FROM TO ALGORITHM RADIX SEGMENT LANES NS". */
static bool take_rule(struct parser *p)
{
    struct tune_table *t = p->out;
    struct tune_rule rule = {0},
                     *last = t->n_rules > p->section->first ? &t->rules[t->n_rules - 1] : NULL;
    uint64_t lanes;

    if (p->n_words != 9 || t->n_rules == t->rules_max || !(p->seen & SEEN_RANKS))
        return false;
    rule.algorithm = ncoll__algorithm_find(p->words[4]);
    rule.radix = ncoll__radix_parse(p->words[5]);
    if (!take_collective(p->words[1], &rule) || rule.algorithm == NULL || rule.radix == 0 ||
        !(rule.algorithm->collectives & 1u << rule.collective) ||
        (radix_is_list(rule.radix) && !(rule.algorithm->properties & TAKES_LIST)))
        return false;
    if (!number(p->words[2], 0, TUNE_BYTES_MAX, &rule.from_bytes) ||
        !number(p->words[3], rule.from_bytes, TUNE_BYTES_MAX, &rule.to_bytes) ||
        !number(p->words[6], 0, TUNE_BYTES_MAX, &rule.segment_bytes) ||
        !number(p->words[7], 1, TUNE_LANES_MAX, &lanes) ||
        !number(p->words[8], 0, TUNE_COST_MAX, &rule.ns))
        return false;
    if (last != NULL && !in_order(last, &rule))
        return false;
    rule.lanes = (unsigned)lanes;
    t->rules[t->n_rules++] = rule;
    p->section->count++;
    return true;
}

static bool end_section(struct parser *p)
{
    struct tune_table *t = p->out;

    if ((p->seen & SEEN_PLACE) != SEEN_PLACE)
        return false;
    for (unsigned i = 0; i < t->n_sections; i++)
        if (ncoll__tune_same_key(&t->sections[i].key, &p->section->key))
            return false;
    t->n_sections++;
    p->section = NULL;
    return true;
}

static bool take_ranks(struct parser *p)
{
    struct tune_key *key = &p->section->key;

    if (p->seen & SEEN_RANKS || p->n_words != 3 ||
        !number(p->words[1], 1, INT32_MAX, &key->ranks) ||
        !number(p->words[2], 1, key->ranks, &key->node_ranks))
        return false;
    p->seen |= SEEN_RANKS;
    return true;
}

/* Reads one line: the first of a section, or one inside it. */
static bool take_line(struct parser *p)
{
    struct tune_section *s = p->section;

    if (strncmp(p->text, "section ", 8) == 0)
        return begin_section(p, p->text + 8);
    if (s == NULL)
        return false;
    if (strncmp(p->text, "machine ", 8) == 0)
        return take_text(p, p->text + 8, s->key.machine, SEEN_MACHINE);
    if (strncmp(p->text, "transport ", 10) == 0)
        return take_text(p, p->text + 10, s->key.transport, SEEN_TRANSPORT);
    if (strncmp(p->text, "device ", 7) == 0)
        return take_text(p, p->text + 7, s->key.device, SEEN_DEVICE);
    if (strcmp(p->text, "end") == 0)
        return end_section(p);
    if (!split(p))
        return false;
    if (strcmp(p->words[0], "crowd") == 0 && p->n_words == 2 && !(p->seen & SEEN_RANKS_PER_CORE)) {
        p->seen |= SEEN_RANKS_PER_CORE;
        return number(p->words[1], 1000, INT32_MAX, &s->key.ranks_per_core_milli);
    }
    if (strcmp(p->words[0], "ranks") == 0)
        return take_ranks(p);
    if (strcmp(p->words[0], "costs") == 0)
        return take_costs(p);
    return strcmp(p->words[0], "use") == 0 && take_rule(p);
}

/* ------------------------------------------------------------------ whole text ---------------- */

static const char head[] = TUNE_HEAD;

/* Returns the start of the last line if this is the checksum of all lines before it; else NULL. */
static const char *find_sum(const char *text, size_t len)
{
    char line[TUNE_SUM_LINE + 1];

    if (len < TUNE_SUM_LINE)
        return NULL;
    size_t before = len - TUNE_SUM_LINE;
    ncoll__tune_sum(text, before, line);
    return memcmp(text + before, line, TUNE_SUM_LINE) == 0 ? text + before : NULL;
}

enum tune_fault ncoll__tune_parse(const char *text, size_t len, struct tune_table *out,
                                  char why[TUNE_WHY])
{
    struct parser p = {.at = text, .out = out};
    uint64_t format = 0;

    out->n_sections = out->n_rules = 0;
    if (len < sizeof head || memcmp(text, head, sizeof head - 1) != 0) {
        snprintf(why, TUNE_WHY, "it does not begin with \"%s%u\"", head, TUNE_FORMAT);
        return TUNE_FOREIGN;
    }
    p.end = text + len;
    bool has_head = next_line(&p) && number(p.text + sizeof head - 1, 0, UINT32_MAX, &format);
    if (has_head && format != TUNE_FORMAT) {
        snprintf(why, TUNE_WHY, "its format is %llu, that of this library %u",
                 (unsigned long long)format, TUNE_FORMAT);
        return TUNE_FOREIGN;
    }
    p.end = find_sum(text, len);
    if (!has_head || p.end == NULL || p.end < p.at) {
        snprintf(why, TUNE_WHY, "its checksum is not that of its text");
        return TUNE_DAMAGED;
    }
    bool good = true;
    while (good && p.at < p.end)
        good = next_line(&p) && take_line(&p);
    if (good && p.section == NULL)
        return TUNE_FINE;
    out->n_sections = out->n_rules = 0;
    snprintf(why, TUNE_WHY, "line %u is not valid", p.line);
    return TUNE_DAMAGED;
}
