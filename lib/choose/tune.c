/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/choose/tune.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/topology/levels.h"
#include "lib/base/group.h"
#include "lib/plan/compile.h"
#include "lib/plan/arguments.h"
#include "lib/choose/select.h"
#include "lib/choose/fit.h"

/* ------------------------------------------------------------------ this machine -------------- */

/* Makes a text fit for a line of the table: printable characters, with single blanks. */
static void tidy(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        bool blank = (unsigned char)*from <= ' ' || *from == 0x7f;
        if (!blank)
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    }
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
}

/* Finds the first line of /proc/cpuinfo that begins with `kind`, and copies its value to `model`.
 * Returns false if there is none, or its value is empty. */
static bool find_model(FILE *f, const char *kind, char model[TUNE_WORD])
{
    char line[512];

    rewind(f);
    while (fgets(line, sizeof line, f) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, kind, strlen(kind)) != 0 || colon == NULL)
            continue;
        tidy(colon + 1);
        snprintf(model, TUNE_WORD, "%.80s", colon + 1);
        return *model != '\0';
    }
    return false;
}

static void read_machine(char machine[TUNE_WORD])
{
    static const char *const kinds[] = {"model name", "CPU part", "cpu"}; /* x86, Arm, Power */
    char model[TUNE_WORD];
    struct utsname name;
    bool found = false;

    FILE *f = fopen("/proc/cpuinfo", "re");
    for (unsigned i = 0; f != NULL && i < sizeof kinds / sizeof kinds[0] && !found; i++)
        found = find_model(f, kinds[i], model);
    if (f != NULL)
        fclose(f);
    if (!found)
        snprintf(model, sizeof model, "%.60s", uname(&name) == 0 ? name.machine : "processor");
    snprintf(machine, TUNE_WORD, "%ld x %.80s", sysconf(_SC_NPROCESSORS_CONF), model);
}

/* The text is read once and kept: it does not change, and /proc/cpuinfo is long on a machine with
 * many processors. */
void ncoll__tune_machine(char machine[TUNE_WORD])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char known[TUNE_WORD];

    /* Another thread holds the lock, or held it when this process was forked. */
    if (pthread_mutex_trylock(&lock) != 0) {
        read_machine(machine);
        return;
    }
    if (*known == '\0')
        read_machine(known);
    memcpy(machine, known, sizeof known);
    pthread_mutex_unlock(&lock);
}

void ncoll__tune_here(const struct ncoll_context *ctx, struct tune_key *out)
{
    const char *device = ctx->transport->device;

    *out = (struct tune_key){.ranks_per_core_milli =
                                 (uint64_t)(ctx->places.ranks_per_core * 1000 + 0.5)};
    snprintf(out->version, sizeof out->version, "%s", ncoll_version());
    snprintf(out->transport, sizeof out->transport, "%s", ctx->transport->ops->name);
    snprintf(out->device, sizeof out->device, "%.*s", TUNE_WORD - 1, device);
    tidy(out->device);
    if (*out->device == '\0')
        snprintf(out->device, sizeof out->device, "-");
    ncoll__tune_machine(out->machine);
}

/* ------------------------------------------------------------------ costs --------------------- */

/* True if the costs in a section with this key apply to this job. Costs are those of two ranks with
 * a core each, over one transport. If shm and verbs are both in use, each has a section of its
 * own. */
static bool are_costs_here(const struct tune_key *key, const struct tune_key *here)
{
    bool both = strcmp(here->transport, "shm+verbs") == 0,
         near = strcmp(key->transport, "shm") == 0;

    return key->ranks == 0 && key->ranks_per_core_milli == 1000 &&
           strcmp(key->version, here->version) == 0 && strcmp(key->machine, here->machine) == 0 &&
           (strcmp(key->transport, here->transport) == 0 ||
            (both && (near || strcmp(key->transport, "verbs") == 0))) &&
           ((both && near) || strcmp(key->device, here->device) == 0);
}

static void adopt_costs(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;

    for (unsigned i = 0; i < ctx->tuning.n_sections; i++) {
        const struct tune_section *s = &ctx->tuning.sections[i];
        if (!s->has_costs || s->key.ranks != 0)
            continue;
        if (t->near_cost.latency_ns > 0 && strcmp(s->key.transport, "shm") == 0)
            t->near_cost = s->cost;
        else
            t->cost = s->cost;
        ctx->costs_measured = true;
    }
}

/* ------------------------------------------------------------------ sending the table --------- */

static void say_stale(struct ncoll_context *ctx, const char *path, const struct tune_table *table,
                      const struct tune_key *here)
{
    for (unsigned i = 0; i < table->n_sections; i++) {
        const struct tune_key *key = &table->sections[i].key;
        if (!ncoll__tune_is_stale(key, here))
            continue;
        ncoll__log(ctx, NCOLL_LOG_WARN,
                   "the tuning in %s is out of date (ncoll %s, device %s; here ncoll %s, device "
                   "%s) and ignored; run ncoll-tune",
                   path, key->version, key->device, here->version, here->device);
        return;
    }
    ncoll__log(ctx, NCOLL_LOG_INFO, "%s has no tuning for %s over %s", path, here->machine,
               here->transport);
}

static void add_for_here(struct ncoll_context *ctx, const char *path,
                         const struct tune_table *table, struct blob *blob)
{
    struct tune_table some = {.sections_max = table->n_sections, .rules_max = table->n_rules};
    struct tune_table read = {0};
    char why[TUNE_WHY];
    struct tune_key here;
    char *text = ncoll__allocate(ctx, TUNE_TEXT_MAX);

    ncoll__tune_here(ctx, &here);
    some.sections = ncoll__allocate(ctx, some.sections_max * sizeof *some.sections);
    some.rules = ncoll__allocate(ctx, some.rules_max * sizeof *some.rules);
    for (unsigned i = 0; some.sections != NULL && some.rules != NULL && i < table->n_sections;
         i++) {
        const struct tune_key *key = &table->sections[i].key;
        if (are_costs_here(key, &here) || (key->ranks > 0 && key->ranks <= (uint64_t)ctx->ranks &&
                                           ncoll__tune_same_place(key, &here)))
            ncoll__tune_add(&some, table, i);
    }
    size_t len =
        text != NULL && some.n_sections > 0 ? ncoll__tune_print(&some, text, TUNE_TEXT_MAX) : 0;
    /* The text is parsed before it is sent. Other ranks would refuse a damaged text, which would
     * end the job; but a table is only advice. */
    if (len > 0 && ncoll__tune_load(ctx, text, len, &read, why) != TUNE_FINE)
        ncoll__log(ctx, NCOLL_LOG_WARN, "the tuning in %s is ignored: %s", path, why);
    else if (len > 0)
        ncoll__blob_add(blob, text, len);
    else
        say_stale(ctx, path, table, &here);
    ncoll__tune_free(ctx, &read);
    ncoll__tune_free(ctx, &some);
    ncoll__release(ctx, text);
}

/* True if the user named a file from which algorithms are to be chosen (NCOLL_TUNE=table), so that
 * a missing file deserves a warning. A trial creates the file, and for costs alone
 * (NCOLL_TUNE=model) it need not exist yet. */
static bool is_wanted(const struct ncoll_context *ctx)
{
    const char *named = ctx->settings.tune_file;

    return named != NULL && *named != '\0' && ctx->settings.tune == NCOLL_TUNE_TABLE;
}

void ncoll__tune_recall(struct ncoll_context *ctx, struct blob *blob)
{
    static const char *const faults[] = {"", "damaged", "no tuning table of this ncoll"};
    char path[PATH_MAX], why[TUNE_WHY];
    struct tune_table table;
    size_t len = 0;

    if (ctx->settings.tune == NCOLL_TUNE_OFF || !ncoll__tune_path(ctx->settings.tune_file, path))
        return;
    char *text = ncoll__tune_read(ctx, path, &len, why);
    if (text == NULL && *why != '\0')
        ncoll__log(ctx, NCOLL_LOG_WARN, "the tuning in %s is ignored: %s", path, why);
    else if (text == NULL && is_wanted(ctx))
        ncoll__log(ctx, NCOLL_LOG_WARN, "there is no tuning table %s; run ncoll-tune", path);
    if (text == NULL || len == 0) {
        ncoll__release(ctx, text);
        return;
    }
    enum tune_fault fault = ncoll__tune_load(ctx, text, len, &table, why);
    if (fault == TUNE_FINE) {
        add_for_here(ctx, path, &table, blob);
        ncoll__tune_free(ctx, &table);
    } else {
        ncoll__log(ctx, NCOLL_LOG_WARN, "%s is %s, and ignored: %s; run ncoll-tune", path,
                   faults[fault], why);
    }
    ncoll__release(ctx, text);
}

int ncoll__tune_adopt(struct ncoll_context *ctx, const char *text, size_t len)
{
    char why[TUNE_WHY];

    if (ctx->settings.tune == NCOLL_TUNE_OFF || len == 0)
        return NCOLL_OK;
    /* The text was valid on rank 0. If it cannot be read here, this rank has no memory, or other
     * algorithms. */
    if (ncoll__tune_load(ctx, text, len, &ctx->tuning, why) != TUNE_FINE)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), 0,
                           "use the same library on all ranks, or set NCOLL_TUNE=off",
                           "rank %d cannot use the tuning of rank 0: %s", ctx->rank, why);
    adopt_costs(ctx);
    return NCOLL_OK;
}

void ncoll__tune_forget(struct ncoll_context *ctx)
{
    ncoll__tune_free(ctx, &ctx->tuning);
}

/* ------------------------------------------------------------------ looking up ---------------- */

unsigned ncoll__tune_node_ranks(const struct ncoll_group *g)
{
    return g->level == NO_LEVEL ? g->nodes.most : (unsigned)g->size;
}

static bool serves(const struct ncoll_group *g, const struct call_args *args, const struct op *op,
                   bool same_bits, size_t bytes, const struct tune_rule *rule)
{
    struct shape shape = ncoll__shape(g, args, rule->radix, op->inverse != NULL);

    return ncoll__serves(rule->algorithm, args, op) && algorithm_exists(rule->algorithm, &shape) &&
           (!same_bits || rule->algorithm->properties & GIVES_SAME_BITS) &&
           ncoll__fits_window(g, args, rule->algorithm, &shape, bytes);
}

const struct tune_rule *ncoll__tuned(const struct ncoll_group *g, const struct call_args *args,
                                     const struct op *op, size_t bytes)
{
    const struct ncoll_context *ctx = g->ctx;
    bool same_bits = ncoll__needs_same_bits(g, args, op);

    if (ctx->settings.tune == NCOLL_TUNE_OFF || ctx->settings.tune == NCOLL_TUNE_MODEL ||
        args->internal || args->own_op != NULL || args->radix != 0)
        return NULL;
    const struct tune_section *section =
        ncoll__tune_section(&ctx->tuning, (unsigned)g->size, ncoll__tune_node_ranks(g));
    if (section == NULL)
        return NULL;
    const struct tune_rule *rule =
        ncoll__tune_rule(&ctx->tuning, section, args->collective, same_bits, bytes);
    if (rule == NULL && same_bits)
        rule = ncoll__tune_rule(&ctx->tuning, section, args->collective, false, bytes);
    return rule != NULL && serves(g, args, op, same_bits, bytes, rule) ? rule : NULL;
}
