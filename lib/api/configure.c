/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of a context: copies its strings, and checks that settings fit together. */
#include <stdio.h>
#include <string.h>

#include "lib/base/signature.h"
#include "lib/base/group.h"
#include "lib/api/configure.h"
#include "lib/base/settings.h"

static char *own_text(struct ncoll_context *ctx, const char *text)
{
    size_t len = strlen(text) + 1;
    char *copy = ncoll__allocate(ctx, len);
    return copy != NULL ? memcpy(copy, text, len) : NULL;
}

/* Lists the settings that are strings. They are copied, and freed with the context. */
#define TEXTS (9 + 2 * (COLLECTIVES - 1))
static void list_texts(struct ncoll_context *ctx, const char **texts[TEXTS])
{
    ncoll_params *s = &ctx->settings;
    const char **others[] = {&s->root,      &s->transport, &s->wiring, &s->device,    &s->nodes,
                             &s->tune_file, &s->key,       &s->trace,  &s->rules_file};

    for (int c = COLL_BARRIER; c < COLLECTIVES; c++) {
        *texts++ = ncoll__algorithm_setting(s, (enum collective)c);
        *texts++ = ncoll__rules_setting(s, (enum collective)c);
    }
    memcpy(texts, others, sizeof others);
}

static int own_texts(struct ncoll_context *ctx)
{
    const char **texts[TEXTS];
    bool failed = false;

    list_texts(ctx, texts);
    for (unsigned i = 0; i < TEXTS; i++)
        if (*texts[i] != NULL && (*texts[i] = own_text(ctx, *texts[i])) == NULL)
            failed = true;
    return failed ? ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the settings")
                  : NCOLL_OK;
}

static int check_algorithm(struct ncoll_context *ctx, const char *name, enum collective collective)
{
    char known[256] = "";
    size_t n = 0;

    if (name == NULL)
        return NCOLL_OK;
    const struct algorithm *a = ncoll__algorithm_find(name);
    if (a != NULL && a->collectives & 1u << collective)
        return NCOLL_OK;
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        if (ncoll__algorithms[i]->collectives & 1u << collective && n < sizeof known)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n > 0 ? ", " : "",
                                  ncoll__algorithms[i]->name);
    char remedy[288];
    snprintf(remedy, sizeof remedy, "use one of %s", known);
    return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, remedy, "there is no %s algorithm \"%s\"",
                       ncoll__collective_name(collective), name);
}

/* Checks a setting against the list of allowed words, which ends with NULL. */
static int check_word(struct ncoll_context *ctx, const char *what, const char *value,
                      const char *const *words, const char *remedy)
{
    while (*words != NULL && value != NULL && strcmp(value, *words) != 0)
        words++;
    if (*words != NULL)
        return NCOLL_OK;
    return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, remedy, "there is no %s \"%s\"", what, value);
}

/* True for numbers of up to nine digits with commas between them. */
static bool is_node_list(const char *list)
{
    size_t digits;

    do {
        digits = strspn(list, "0123456789");
        list += digits;
    } while (digits > 0 && digits < 10 && *list++ == ',');
    return digits > 0 && digits < 10 && list[-1] == '\0';
}

static int check_names(struct ncoll_context *ctx)
{
    static const char *const transports[] = {"shm", "verbs", "shm+verbs", NULL};
    static const char *const wirings[] = {"direct", "rdmacm", NULL};
    ncoll_params *s = &ctx->settings;
    int rc = NCOLL_OK;

    for (int c = COLL_BARRIER; c < COLLECTIVES && rc == NCOLL_OK; c++)
        rc = check_algorithm(ctx, *ncoll__algorithm_setting(s, (enum collective)c),
                             (enum collective)c);
    if (rc != NCOLL_OK ||
        (rc = check_word(ctx, "transport", s->transport, transports,
                         "use shm, verbs or shm+verbs")) != NCOLL_OK ||
        (rc = check_word(ctx, "wiring", s->wiring, wirings, "use direct or rdmacm")) != NCOLL_OK)
        return rc;
    if (s->nodes != NULL && !is_node_list(s->nodes))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "give each rank a number of up to nine digits, as 0,0,1,1",
                           "\"%s\" is not a list of nodes", s->nodes);
    if (s->transport != NULL && ncoll__transport_find(s->transport) == NULL)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_BUILT), -1,
                           "install libibverbs' headers and rebuild",
                           "this ncoll was built without the %s transport", s->transport);
    return NCOLL_OK;
}

/* Returns an error if the program gives both callbacks and an allgather for the user bootstrap. */
static int check_ways(struct ncoll_context *ctx)
{
    const ncoll_bootstrap_callbacks *c = &ctx->settings.callbacks;

    if (ctx->settings.allgather == NULL || (c->put == NULL && c->fence == NULL && c->get == NULL))
        return NCOLL_OK;
    return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                       "leave either callbacks or allgather in ncoll_params NULL",
                       "both callbacks and an allgather are given for the user bootstrap");
}

int ncoll__configure_early(struct ncoll_context *ctx, const ncoll_params *params)
{
    struct setting_error error;
    ncoll_params resolved;

    int rc = ncoll__settings_resolve(params, &resolved, &error);
    if (rc != NCOLL_OK)
        return ncoll__fail(ctx, BECAUSE(rc, BAD_ARGUMENT), -1, error.remedy, "%s", error.cause);
    ctx->settings = resolved;
    return NCOLL_OK;
}

int ncoll__configure(struct ncoll_context *ctx)
{
    int rc = own_texts(ctx);

    if (rc == NCOLL_OK)
        rc = check_names(ctx);
    return rc != NCOLL_OK ? rc : check_ways(ctx);
}

void ncoll__configure_free(struct ncoll_context *ctx)
{
    const char **texts[TEXTS];

    list_texts(ctx, texts);
    for (unsigned i = 0; i < TEXTS; i++)
        ncoll__release(ctx, (void *)(uintptr_t)*texts[i]);
}
