/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the rules of a job from the file and the variables that its settings name. Rank 0 sends
 * their texts to the other ranks as a series of sources: a byte for the collective, the name, and
 * the text, the last two with a terminating 0. The name of rank 0's device goes before them: ranks
 * may have different devices, and a rule for rank 0's device applies to the whole job. */
#include "lib/choose/ruled.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/base/settings.h"
#include "lib/choose/tune_file.h"
#include "lib/inspect.h"
#include "transport/because.h"

/* Writes the name of a collective's variable, such as "NCOLL_REDUCE_SCATTER_RULES". */
static void name_variable(enum collective collective, char name[RULE_WORD])
{
    snprintf(name, RULE_WORD, "NCOLL_%s_RULES", ncoll__collective_name(collective));
    for (char *at = name; *at != '\0'; at++)
        *at -= *at >= 'a' && *at <= 'z' ? 'a' - 'A' : 0;
}

uint32_t ncoll__rules_mark(const ncoll_params *settings)
{
    ncoll_params *s = (ncoll_params *)(uintptr_t)settings;
    uint32_t mark = 0;

    for (int c = 0; c < COLLECTIVES; c++) {
        const char *text = c == 0 ? s->rules_file : *ncoll__rules_setting(s, (enum collective)c);
        uint32_t hash = 0x811c9dc5u; /* FNV-1a */
        for (; text != NULL && *text != '\0'; text++)
            hash = (hash ^ (unsigned char)*text) * 0x01000193u;
        if (text != NULL)
            mark = mark * 31 + hash + (uint32_t)c;
    }
    return mark;
}

/* ------------------------------------------------------------------ texts --------------------- */

static int fail(struct ncoll_context *ctx, const struct rule_error *e)
{
    return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, e->remedy, "%s: %s", e->where, e->cause);
}

static void add_source(struct blob *texts, enum collective collective, const char *name,
                       const char *text, size_t len)
{
    unsigned char number = (unsigned char)collective;

    ncoll__blob_add(texts, &number, 1);
    ncoll__blob_add(texts, name, strlen(name) + 1);
    ncoll__blob_add(texts, text, len);
    ncoll__blob_add(texts, "", 1);
}

static int add_file(struct ncoll_context *ctx, struct blob *texts)
{
    const char *path = ctx->settings.rules_file;
    char why[TUNE_WHY];
    size_t len = 0;

    char *text = ncoll__tune_read(ctx, path, &len, why);
    if (text == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "name an existing file of rules, as ncoll-rules(5) describes, or unset "
                           "NCOLL_RULES",
                           "the rules in %.160s (NCOLL_RULES) cannot be used: %s", path,
                           *why != '\0' ? why : "there is no such file");
    const char *zero = memchr(text, '\0', len);
    int rc = zero == NULL
                 ? NCOLL_OK
                 : ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "name a file of text",
                               "the rules in %.160s (NCOLL_RULES) cannot be used: byte %zu is 0",
                               path, (size_t)(zero - text) + 1);
    if (rc == NCOLL_OK)
        add_source(texts, (enum collective)0, path, text, len);
    ncoll__release(ctx, text);
    return rc;
}

/* Collects the texts of all rules: first the file, then the variables. */
static int collect(struct ncoll_context *ctx, struct blob *texts)
{
    const char *path = ctx->settings.rules_file;
    char name[RULE_WORD];
    int rc = path != NULL && *path != '\0' ? add_file(ctx, texts) : NCOLL_OK;

    for (int c = COLL_BARRIER; c < COLLECTIVES && rc == NCOLL_OK; c++) {
        const char *text = *ncoll__rules_setting(&ctx->settings, (enum collective)c);
        if (text == NULL || *text == '\0')
            continue;
        name_variable((enum collective)c, name);
        add_source(texts, (enum collective)c, name, text, strlen(text));
    }
    if (rc == NCOLL_OK && texts->failed)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for rules");
    return rc;
}

/* Reads the source that begins at *at, and moves *at behind it. Returns false if no complete source
 * is there. */
static bool next_source(const char *texts, size_t len, size_t *at, struct rule_source *out)
{
    const char *name = texts + *at + 1, *end = texts + len;

    if (*at >= len || texts[*at] < 0 || texts[*at] >= COLLECTIVES)
        return false;
    const char *name_end = memchr(name, '\0', (size_t)(end - name));
    if (name_end == NULL)
        return false;
    const char *text = name_end + 1, *text_end = memchr(text, '\0', (size_t)(end - text));
    if (text_end == NULL)
        return false;
    *out = (struct rule_source){name, (enum collective)texts[*at], text, (size_t)(text_end - text)};
    *at = (size_t)(text_end - texts) + 1;
    return true;
}

/* ------------------------------------------------------------------ rules --------------------- */

/* Removes the rules that the file has for a collective: those of the collective's variable replace
 * them. */
static void drop(struct rules *rules, enum collective collective)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < rules->n; i++)
        if (rules->all[i].collective != collective)
            rules->all[kept++] = rules->all[i];
    rules->n = kept;
}

static int parse(struct ncoll_context *ctx, const struct rule_source *source)
{
    struct rule_error error;

    if (source->collective != 0)
        drop(&ctx->rules, source->collective);
    if (source->collective != 0 && strcmp(source->text, "none") == 0)
        return NCOLL_OK;
    return ncoll__rules_parse(source, &ctx->rules, &error) ? NCOLL_OK : fail(ctx, &error);
}

/* Reads the rules of all sources in `texts` into ctx->rules. */
static int load(struct ncoll_context *ctx, const char *texts, size_t len)
{
    struct rule_source source;
    size_t room = 0, at = 0;
    int rc = NCOLL_OK;

    while (next_source(texts, len, &at, &source))
        room += ncoll__rules_room(&source);
    if (at != len)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), 0,
                           "use the same library on all ranks",
                           "the rules that rank 0 has sent end in the middle");
    if (room == 0)
        return NCOLL_OK;
    ctx->rules.all = ncoll__allocate(ctx, room * sizeof *ctx->rules.all);
    if (ctx->rules.all == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %zu rules", room);
    ctx->rules.max = (unsigned)room;
    for (at = 0; rc == NCOLL_OK && next_source(texts, len, &at, &source);)
        rc = parse(ctx, &source);
    return rc;
}

int ncoll__rules_read(struct ncoll_context *ctx)
{
    struct blob *texts = &ctx->rule_texts;
    struct rule_error error;
    int rc = collect(ctx, texts);

    if (rc == NCOLL_OK && texts->len > 0)
        rc = load(ctx, (const char *)texts->bytes, texts->len);
    if (rc == NCOLL_OK && !ncoll__rules_check(&ctx->rules, &error))
        rc = fail(ctx, &error);
    return rc;
}

/* Drops the rules for other devices than that of rank 0. */
static void keep_for_device(struct rules *rules, const char *device)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < rules->n; i++)
        if (*rules->all[i].device == '\0' || strcmp(rules->all[i].device, device) == 0)
            rules->all[kept++] = rules->all[i];
    rules->n = kept;
}

void ncoll__rules_tell(struct ncoll_context *ctx, struct blob *blob)
{
    const char *device = ctx->transport->device + strspn(ctx->transport->device, " ");
    char name[RULE_WORD];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(device, " "), device);
    keep_for_device(&ctx->rules, name);
    if (ctx->rule_texts.len > 0) {
        ncoll__blob_add(blob, name, strlen(name) + 1);
        ncoll__blob_add(blob, ctx->rule_texts.bytes, ctx->rule_texts.len);
    }
    ncoll__blob_free(&ctx->rule_texts);
}

int ncoll__rules_adopt(struct ncoll_context *ctx, const char *texts, size_t len)
{
    const char *device = texts, *end = len > 0 ? memchr(device, '\0', len) : NULL;

    if (end == NULL)
        return NCOLL_OK;
    texts = end + 1;
    int rc = load(ctx, texts, len - (size_t)(texts - device));
    keep_for_device(&ctx->rules, device);
    /* The texts were valid on rank 0. If they are not valid here, this rank has other
     * algorithms. */
    return rc != NCOLL_ERR_ARGUMENT
               ? rc
               : ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), 0,
                             "use the same library on all ranks",
                             "rank %d cannot use the rules of rank 0", ctx->rank);
}

void ncoll__rules_forget(struct ncoll_context *ctx)
{
    ncoll__blob_free(&ctx->rule_texts);
    ncoll__release(ctx, ctx->rules.all);
    ctx->rules = (struct rules){0};
}

int ncoll__rules_view(void (*each)(void *arg, const char *where, const char *text), void *arg,
                      ncoll_error *error)
{
    struct ncoll_context ctx = {.rank = -1};
    struct setting_error wrong;
    char text[RULE_TEXT];
    int rc = ncoll__settings_resolve(NULL, &ctx.settings, &wrong);

    ctx.settings.log_level = NCOLL_LOG_NONE; /* the caller gets the error in *error */
    rc = rc != NCOLL_OK ? ncoll__fail(&ctx, NCOLL_ERR_ARGUMENT, -1, wrong.remedy, "%s", wrong.cause)
                        : ncoll__rules_read(&ctx);
    for (unsigned i = 0; i < ctx.rules.n && rc == NCOLL_OK; i++)
        each(arg, ctx.rules.all[i].where, ncoll__rule_text(&ctx.rules.all[i], text));
    *error = ctx.error;
    ncoll__rules_forget(&ctx);
    return rc;
}
