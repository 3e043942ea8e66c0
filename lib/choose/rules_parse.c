/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads rules from text, which may hold any bytes. A rule is a list of words. In a file, blanks
 * separate words, and line ends separate rules. In a variable, ':' and '@' stand for blanks, and
 * ',' and ';' end a rule; but digits after "n=3," continue that list.
 */
#include "lib/choose/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/names.h"
#include "lib/base/nearest.h"

struct reader {
    const struct rule_source *source;
    struct rule_error *error;
    size_t at, line_start;
    unsigned line;
    char word[RULE_WORD]; /* the word that is being read */
    size_t word_at;
    struct rule rule;
    unsigned given; /* bits 1u << enum what: the words that the current rule has had */
    bool begun;     /* the current rule has at least one word */
};

/* The kinds of words in a rule. Values below RULE_NUMBERS are those of enum rule_number. */
enum what {
    WHAT_BITS = RULE_NUMBERS,
    WHAT_TRANSPORT,
    WHAT_DEVICE,
    WHAT_N,
    WHAT_SEGMENT,
    WHAT_LANES,
    WHATS_WITH_KEY,
    WHAT_BYTES = WHATS_WITH_KEY,
    WHAT_ALGORITHM,
    WHAT_COLLECTIVE
};

static const char *key_of(unsigned what)
{
    static const char *const keys[] = {"bits", "transport", "device", "n", "segment", "lanes"};

    return what < RULE_NUMBERS ? ncoll__rule_number_key((enum rule_number)what)
                               : keys[what - RULE_NUMBERS];
}

/* ------------------------------------------------------------------ faults -------------------- */

static bool is_file(const struct reader *r)
{
    return r->source->collective == 0;
}

/* Writes where byte `at` of the text is: file, line and column, or variable and character. A long
 * path is shortened to its end. */
static void put_where(const struct reader *r, size_t at, char where[RULE_WHERE])
{
    const char *name = r->source->name;
    size_t len = strlen(name), most = RULE_WHERE - 28;
    const char *dots = len > most ? ".." : "";

    name += len > most ? len - most + 2 : 0;
    if (is_file(r))
        snprintf(where, RULE_WHERE, "%s%s:%u:%zu", dots, name, r->line, at - r->line_start + 1);
    else
        snprintf(where, RULE_WHERE, "%s%s, character %zu", dots, name, at + 1);
}

/* Records that the current word is wrong, and returns false. The cause is a text of three parts:
 * `before`, the word, `after`. */
static bool wrong(struct reader *r, const char *before, const char *after, const char *remedy)
{
    put_where(r, r->word_at, r->error->where);
    snprintf(r->error->cause, sizeof r->error->cause, "%s\"%s\"%s", before, r->word, after);
    snprintf(r->error->remedy, sizeof r->error->remedy, "%s", remedy);
    return false;
}

/* The names that would have been valid in place of a word, and the most similar one of them; NULL:
 * none is similar. */
struct names {
    char list[200];
    size_t len;
    const char *nearest;
    unsigned distance;
};

static struct names names_for(const char *word)
{
    return (struct names){.distance = ncoll__distance_too_large((unsigned)strlen(word))};
}

static void offer(struct names *names, const char *word, const char *name)
{
    unsigned d = ncoll__distance(word, name);

    if (d < names->distance) {
        names->distance = d;
        names->nearest = name;
    }
    if (names->len < sizeof names->list)
        names->len += (size_t)snprintf(names->list + names->len, sizeof names->list - names->len,
                                       "%s%s", names->len > 0 ? ", " : "", name);
}

static bool wrong_name(struct reader *r, const struct names *names, const char *before,
                       const char *after)
{
    char remedy[sizeof r->error->remedy];

    if (names->nearest != NULL)
        snprintf(remedy, sizeof remedy, "did you mean %s?", names->nearest);
    else
        snprintf(remedy, sizeof remedy, "use one of %s", names->list);
    return wrong(r, before, after, remedy);
}

/* ------------------------------------------------------------------ words --------------------- */

static bool take_collective(struct reader *r)
{
    struct names names = names_for(r->word);

    r->rule.collective = ncoll__rule_collective(r->word);
    if (r->rule.collective != 0)
        return true;
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        offer(&names, r->word, ncoll__collective_name((enum collective)c));
    return wrong_name(r, &names, "there is no collective ", "");
}

/* True if a rule for this collective may name the algorithm. Algorithms for calls of a part of the
 * ranks are excluded: each such call has only one, so rules do not apply to it. */
static bool is_of(const struct algorithm *a, enum collective collective)
{
    return a->collectives & 1u << collective && !(a->properties & TAKES_PLACES);
}

static bool take_algorithm(struct reader *r)
{
    const struct algorithm *a = ncoll__algorithm_find(r->word);
    struct names names = names_for(r->word);
    char before[64];

    r->rule.algorithm = a;
    if (a != NULL && is_of(a, r->rule.collective))
        return true;
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        if (is_of(ncoll__algorithms[i], r->rule.collective))
            offer(&names, r->word, ncoll__algorithms[i]->name);
    snprintf(before, sizeof before, "there is no %s algorithm ",
             ncoll__collective_name(r->rule.collective));
    if (a != NULL)
        names.nearest = NULL;
    return wrong_name(r, &names, before, a != NULL ? "; it is one of other collectives" : "");
}

/* Reads "0-4k", "4k-" or "-4k". The upper end does not belong to the range. */
static bool take_bytes(struct reader *r)
{
    char first[RULE_WORD];
    const char *dash = strchr(r->word, '-'), *last = dash != NULL ? dash + 1 : "";
    uint64_t from = 0, to = 0;

    snprintf(first, sizeof first, "%.*s", (int)strcspn(r->word, "-"), r->word);
    if (dash == NULL)
        return wrong(r, "", " is no range of sizes", "give the first size and the end, as 0-4k");
    if ((*first != '\0' && !ncoll__rule_bytes(first, &from)) ||
        (*last != '\0' && !ncoll__rule_bytes(last, &to)) || strcmp(r->word, "-") == 0)
        return wrong(r, "", " is no range of sizes",
                     "give whole numbers up to 1024T, with k, M, G or T for 1024 bytes and so on, "
                     "as 0-4k or 4k-");
    if (*last != '\0' && to < from)
        return wrong(r, "the range ", " is reversed", "give the smaller size first");
    if (*last != '\0' && to == from)
        return wrong(r, "the range ", " is empty",
                     "its end is not a part of it: 8-9 is 8 bytes alone");
    if (r->rule.collective == COLL_BARRIER && from > 0)
        return wrong(r, "the range ", " never applies", "leave it out: a barrier has no bytes");
    if (r->rule.collective != COLL_BARRIER)
        r->rule.bytes = (struct rule_range){from, *last != '\0' ? to - 1 : RULE_NO_END};
    return true;
}

static bool take_number(struct reader *r, enum rule_number number, const char *value)
{
    struct rule_range range;

    if (!ncoll__rule_numbers(value, ncoll__rule_unit(number), &range))
        return wrong(
            r, "", " is no valid condition",
            number == RULE_PER_CORE
                ? "give a number or a range, as 4, 1.5-8 or 8-, with at most three decimals"
                : "give a whole number or a range, as 4, 2-8 or 8-");
    if (range.to < range.from)
        return wrong(r, "the range in ", " is reversed", "give the smaller number first");
    if (range.to == 0)
        return wrong(r, "", " is never true", "the numbers of a group begin at 1");
    r->rule.numbers[number] = range;
    return true;
}

static bool take_name(struct reader *r, const char *value, char out[RULE_WORD])
{
    if (*value == '\0')
        return wrong(r, "", " names nothing", "give a name after the =");
    snprintf(out, RULE_WORD, "%s", value);
    return true;
}

static bool take_value(struct reader *r, unsigned what, const char *value)
{
    struct rule *rule = &r->rule;

    switch (what) {
    case WHAT_BITS:
        rule->same_bits = strcmp(value, "same") == 0 && rule->collective == COLL_ALLREDUCE;
        return rule->same_bits ||
               wrong(r, "", " is no valid condition", "bits=same is the only one, of an allreduce");
    case WHAT_TRANSPORT:
        return take_name(r, value, rule->transport) &&
               (strcmp(value, "shm") == 0 || strcmp(value, "verbs") == 0 ||
                strcmp(value, "shm+verbs") == 0 ||
                wrong(r, "", " names no transport", "use shm, verbs or shm+verbs"));
    case WHAT_DEVICE:
        return take_name(r, value, rule->device);
    case WHAT_N:
        rule->radix = ncoll__radix_parse(value);
        return rule->radix != 0 ||
               wrong(r, "", " is no valid n", "n is 1 to 16, or a list of at most 7, as 3,2,2");
    case WHAT_SEGMENT:
        rule->has_segment = true;
        return strcmp(value, "whole") == 0 || ncoll__rule_bytes(value, &rule->segment_bytes) ||
               wrong(r, "", " is no valid length of segments",
                     "give bytes, as 64k, or whole: as long as the window allows");
    case WHAT_LANES:
        rule->lanes = value[0] != '\0' && value[1] == '\0' ? (unsigned)(value[0] - '0') : 0;
        return (rule->lanes >= 1 && rule->lanes <= RULE_LANES_MAX) ||
               wrong(r, "", " is no valid number of lanes", "give 1 to 4");
    default:
        return take_number(r, (enum rule_number)what, value);
    }
}

static bool note(struct reader *r, unsigned what)
{
    if (r->given & 1u << what)
        return wrong(r, "", " is one too many", "a rule says each thing once");
    r->given |= 1u << what;
    return true;
}

static bool take_pair(struct reader *r, const char *equals)
{
    char key[RULE_WORD];
    struct names names;

    snprintf(key, sizeof key, "%.*s", (int)(equals - r->word), r->word);
    for (unsigned what = 0; what < WHATS_WITH_KEY; what++)
        if (strcmp(key_of(what), key) == 0)
            return note(r, what) && take_value(r, what, equals + 1);
    names = names_for(key);
    for (unsigned what = 0; what < WHATS_WITH_KEY; what++)
        offer(&names, key, key_of(what));
    return wrong_name(r, &names, "nothing is known of ", "");
}

static bool begin_rule(struct reader *r)
{
    r->rule = (struct rule){.collective = r->source->collective, .bytes = {0, RULE_NO_END}};
    for (unsigned i = 0; i < RULE_NUMBERS; i++)
        r->rule.numbers[i] = (struct rule_range){0, RULE_NO_END};
    put_where(r, r->word_at, r->rule.where);
    r->given = 0;
    r->begun = true;
    return !is_file(r) || take_collective(r);
}

static bool take_word(struct reader *r)
{
    const char *equals = strchr(r->word, '=');

    if (!r->begun) {
        bool named = is_file(r);
        if (!begin_rule(r))
            return false;
        if (named)
            return true;
    }
    if (equals != NULL)
        return take_pair(r, equals);
    if (strchr("-0123456789", *r->word) != NULL)
        return note(r, WHAT_BYTES) && take_bytes(r);
    return note(r, WHAT_ALGORITHM) && take_algorithm(r);
}

/* ------------------------------------------------------------------ rules --------------------- */

/* Checks that the rule's algorithm takes the radix that the rule gives. If not, records an error
 * and returns false. */
static bool check_radix(struct reader *r)
{
    const struct algorithm *a = r->rule.algorithm;
    char radix[RADIX_TEXT];

    if (r->rule.radix == 0)
        return true;
    if (!(a->properties & USES_RADIX)) {
        snprintf(r->word, sizeof r->word, "%s", a->name);
        return wrong(r, "algorithm ", " has no n", "leave n= out of its rule");
    }
    if (!radix_is_list(r->rule.radix) || a->properties & TAKES_LIST)
        return true;
    snprintf(r->word, sizeof r->word, "%s", ncoll__radix_text(r->rule.radix, radix));
    return wrong(r, "the algorithm takes one n, not the list ", "",
                 "give one number; `ncoll-explain list` says which take a list");
}

static bool end_rule(struct reader *r, struct rules *out)
{
    if (!r->begun)
        return true;
    r->begun = false;
    if (r->rule.algorithm == NULL) {
        memcpy(r->error->where, r->rule.where, sizeof r->error->where);
        snprintf(r->error->cause, sizeof r->error->cause, "the rule names no algorithm");
        snprintf(r->error->remedy, sizeof r->error->remedy,
                 "add one; `ncoll-explain list` has those of %s",
                 ncoll__collective_name(r->rule.collective));
        return false;
    }
    if (!check_radix(r))
        return false;
    if (out->n == out->max || out->n == RULES_MAX)
        return wrong(r, "the rule that ends with ", " is one too many", "use fewer rules");
    out->all[out->n++] = r->rule;
    return true;
}

/* True if the character ends a word. */
static bool ends_word(const struct reader *r, char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' ||
           (!is_file(r) && (c == ':' || c == '@' || c == ',' || c == ';'));
}

static bool ends_rule(const struct reader *r, char c)
{
    return c == '\n' || (!is_file(r) && (c == ',' || c == ';'));
}

/* True if the comma at r->at belongs to a list such as "n=3,2,2" of a variable, and does not end
 * the rule: only digits follow, and no rule consists of digits alone. begin: start of the word. */
static bool is_in_list(const struct reader *r, size_t begin)
{
    const char *text = r->source->text;
    size_t at = r->at + 1, digits = 0;

    if (is_file(r) || text[r->at] != ',' || r->at - begin < 3 || memcmp(&text[begin], "n=", 2) != 0)
        return false;
    for (; at < r->source->len && text[at] >= '0' && text[at] <= '9'; at++)
        digits++;
    return digits > 0 && (at == r->source->len || ends_word(r, text[at]));
}

/* Reads the word that begins at r->at into r->word. */
static bool read_word(struct reader *r)
{
    const struct rule_source *s = r->source;

    r->word_at = r->at;
    while (r->at < s->len && (!ends_word(r, s->text[r->at]) || is_in_list(r, r->word_at)))
        r->at++;
    size_t len = r->at - r->word_at, kept = len < RULE_WORD ? len : RULE_WORD - 1;
    memcpy(r->word, s->text + r->word_at, kept);
    r->word[kept] = '\0';
    for (size_t i = 0; i < kept; i++)
        if ((unsigned char)r->word[i] < ' ' || r->word[i] == 0x7f) {
            r->word[i] = '\0';
            return wrong(r, "after ", " there is something that is no text", "remove it");
        }
    return len == kept || wrong(r, "the word that begins with ", " is too long",
                                "names and numbers in rules are shorter than 96 characters");
}

size_t ncoll__rules_room(const struct rule_source *source)
{
    size_t room = 1;

    for (size_t i = 0; i < source->len; i++)
        room += source->text[i] == '\n' || source->text[i] == ',' || source->text[i] == ';';
    return room < RULES_MAX ? room : RULES_MAX;
}

bool ncoll__rules_parse(const struct rule_source *source, struct rules *out,
                        struct rule_error *error)
{
    struct reader r = {.source = source, .error = error, .line = 1};

    while (r.at < source->len) {
        char c = source->text[r.at];
        if (ends_rule(&r, c) && !end_rule(&r, out))
            return false;
        if (c == '\n' && is_file(&r)) {
            r.line++;
            r.line_start = r.at + 1;
        }
        if (ends_word(&r, c)) {
            r.at++;
        } else if (c == '#' && is_file(&r)) {
            while (r.at < source->len && source->text[r.at] != '\n')
                r.at++;
        } else if (!read_word(&r) || !take_word(&r)) {
            return false;
        }
    }
    return end_rule(&r, out);
}
