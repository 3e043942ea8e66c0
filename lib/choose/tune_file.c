/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/choose/tune_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/group.h"
#include "lib/choose/tune_words.h"

#define LOCK_TRIES  1000
#define LOCK_FEW    10
#define LOCK_NAP_NS 10000000 /* 10 ms */

bool ncoll__tune_path(const char *asked, char path[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;

    /* Relative paths in XDG_CACHE_HOME are ignored, as its specification says. */
    if (asked != NULL && *asked != '\0')
        n = snprintf(path, PATH_MAX, "%s", asked);
    else if (cache != NULL && *cache == '/')
        n = snprintf(path, PATH_MAX, "%s/ncoll/tuning", cache);
    else if (home != NULL && *home == '/')
        n = snprintf(path, PATH_MAX, "%s/.cache/ncoll/tuning", home);
    return n > 0 && n < PATH_MAX;
}

/* ------------------------------------------------------------------ reading ------------------- */

static char *read_all(struct ncoll_context *ctx, int fd, size_t bytes, size_t *len,
                      char why[TUNE_WHY])
{
    char *text = ncoll__allocate(ctx, bytes + 1);

    *len = 0;
    while (text != NULL && *len < bytes) {
        ssize_t n = read(fd, text + *len, bytes - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            snprintf(why, TUNE_WHY, "it cannot be read: %s", strerror(errno));
            ncoll__release(ctx, text);
            return NULL;
        }
        if (n == 0)
            break;
        *len += (size_t)n;
    }
    if (text == NULL)
        snprintf(why, TUNE_WHY, "there is no memory for it");
    return text;
}

char *ncoll__tune_read(struct ncoll_context *ctx, const char *path, size_t *len, char why[TUNE_WHY])
{
    /* Opening a pipe without a writer, or a terminal, must not block. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    char *text = NULL;

    *why = '\0';
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            snprintf(why, TUNE_WHY, "it cannot be opened: %s", strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        snprintf(why, TUNE_WHY, "it is no regular file");
    else if ((uint64_t)st.st_size > TUNE_TEXT_MAX)
        snprintf(why, TUNE_WHY, "it is longer than %zu bytes", TUNE_TEXT_MAX);
    else
        text = read_all(ctx, fd, (size_t)st.st_size, len, why);
    close(fd);
    return text;
}

static bool make_room(struct ncoll_context *ctx, struct tune_table *out, unsigned sections,
                      unsigned rules)
{
    *out = (struct tune_table){
        .sections = ncoll__allocate(ctx, sections * sizeof *out->sections),
        .rules = ncoll__allocate(ctx, rules * sizeof *out->rules),
        .sections_max = sections,
        .rules_max = rules,
    };
    if (out->sections != NULL && out->rules != NULL)
        return true;
    ncoll__tune_free(ctx, out);
    return false;
}

void ncoll__tune_free(struct ncoll_context *ctx, struct tune_table *table)
{
    ncoll__release(ctx, table->sections);
    ncoll__release(ctx, table->rules);
    *table = (struct tune_table){0};
}

enum tune_fault ncoll__tune_load(struct ncoll_context *ctx, const char *text, size_t len,
                                 struct tune_table *out, char why[TUNE_WHY])
{
    unsigned sections, rules;

    ncoll__tune_room(text, len, &sections, &rules);
    if (!make_room(ctx, out, sections, rules)) {
        snprintf(why, TUNE_WHY, "there is no memory for it");
        return TUNE_DAMAGED;
    }
    enum tune_fault fault = ncoll__tune_parse(text, len, out, why);
    if (fault != TUNE_FINE)
        ncoll__tune_free(ctx, out);
    return fault;
}

/* ------------------------------------------------------------------ writing ------------------- */

bool ncoll__tune_make_directories(const char *path, char why[TUNE_WHY])
{
    char part[PATH_MAX];

    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST) {
            snprintf(why, TUNE_WHY, "%.80s cannot be made: %s", part, strerror(errno));
            return false;
        }
        *slash = '/';
    }
    return true;
}

/* Writes that the directory of the path does not exist. */
static void say_no_directory(const char *path, char why[TUNE_WHY])
{
    const char *slash = strrchr(path, '/');

    snprintf(why, TUNE_WHY, "there is no directory %.*s", slash != NULL ? (int)(slash - path) : 1,
             slash != NULL ? path : ".");
}

/* Locks the file PATH.lock, trying again up to `tries` times. It is a separate file since the
 * table's file is replaced. Returns its descriptor; -1: it cannot be locked, and *why says why. */
static int lock(const char *path, unsigned tries, char why[TUNE_WHY])
{
    const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
    char name[PATH_MAX + 8];

    snprintf(name, sizeof name, "%s.lock", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        say_no_directory(path, why);
        return -1;
    }
    if (fd < 0) {
        snprintf(why, TUNE_WHY, "its lock cannot be opened: %s", strerror(errno));
        return -1;
    }
    for (unsigned i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || i == tries) {
            snprintf(why, TUNE_WHY, "it cannot be locked: %s", strerror(errno));
            close(fd);
            return -1;
        }
        nanosleep(&nap, NULL);
    }
    return fd;
}

static bool write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

/* Replaces the file by a new one. Readers find a whole file at any time, also after a crash. */
static bool replace(const char *path, const char *text, size_t len, char why[TUNE_WHY])
{
    char name[PATH_MAX + 8];
    struct stat st;

    snprintf(name, sizeof name, "%s.XXXXXX", path);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, TUNE_WHY, "no file can be made beside it: %s", strerror(errno));
        return false;
    }
    bool ok = (stat(path, &st) != 0 || fchmod(fd, st.st_mode & 0777) == 0) &&
              write_all(fd, text, len) && fsync(fd) == 0;
    int error = errno;
    if (close(fd) != 0 && ok) {
        error = errno;
        ok = false;
    }
    if (ok && rename(name, path) != 0) {
        error = errno;
        ok = false;
    }
    if (!ok) {
        unlink(name);
        snprintf(why, TUNE_WHY, "it cannot be written: %s", strerror(error));
    }
    return ok;
}

/* Reads the file that exists, if any. Returns false if it cannot be read, or is not a tuning table,
 * and so must not be overwritten. */
static bool load_old(struct ncoll_context *ctx, const char *path, struct tune_table *old,
                     char why[TUNE_WHY])
{
    char fault[TUNE_WHY];
    size_t len;

    *old = (struct tune_table){0};
    char *text = ncoll__tune_read(ctx, path, &len, why);
    if (text == NULL)
        return *why == '\0';
    bool ours =
        len == 0 || (len >= strlen(TUNE_HEAD) && memcmp(text, TUNE_HEAD, strlen(TUNE_HEAD)) == 0);
    if (ours)
        ncoll__tune_load(ctx, text, len, old, fault);
    else
        snprintf(why, TUNE_WHY, "the file is no tuning table, and is left as it is");
    ncoll__release(ctx, text);
    return ours;
}

/* An addition to a table: another table, or, if `table` is NULL, one rule with its key. */
struct news {
    const struct tune_table *table;
    const struct tune_key *key;
    const struct tune_rule *rule;
};

static bool merge_and_write(struct ncoll_context *ctx, const char *path,
                            const struct tune_table *old, const struct news *news,
                            char why[TUNE_WHY])
{
    const struct tune_table *fresh = news->table;
    unsigned sections = fresh != NULL ? fresh->n_sections : 1;
    char *text = ncoll__allocate(ctx, TUNE_TEXT_MAX);
    struct tune_table both;
    bool ok = false;

    if (text == NULL || !make_room(ctx, &both, old->n_sections + sections,
                                   old->n_rules + (fresh != NULL ? fresh->n_rules : 1))) {
        ncoll__release(ctx, text);
        snprintf(why, TUNE_WHY, "there is no memory to write it");
        return false;
    }
    if (fresh != NULL)
        ncoll__tune_merge(old, fresh, &both);
    else
        ncoll__tune_fill(old, news->key, *news->rule, &both);
    size_t len = 0;
    if (both.n_sections <= TUNE_SECTIONS)
        len = ncoll__tune_print(&both, text, TUNE_TEXT_MAX);
    /* the merged table is too long for a file: keep the new table only */
    if (len == 0 && fresh != NULL)
        len = ncoll__tune_print(fresh, text, TUNE_TEXT_MAX);
    if (len > 0)
        ok = replace(path, text, len, why);
    else
        snprintf(why, TUNE_WHY, "it would be longer than %zu bytes", TUNE_TEXT_MAX);
    ncoll__tune_free(ctx, &both);
    ncoll__release(ctx, text);
    return ok;
}

/* Writes to `real` the path of the file to be written: the file that `path` leads to or, if that
 * does not exist, the target of the link `path`. Without a link this is the path itself. */
static void follow(const char *path, char real[PATH_MAX])
{
    char target[PATH_MAX], *slash;
    ssize_t n = readlink(path, target, sizeof target - 1);

    if (realpath(path, real) != NULL)
        return;
    snprintf(real, PATH_MAX, "%s", path);
    if (n <= 0)
        return;
    target[n] = '\0';
    slash = strrchr(real, '/');
    if (*target == '/' || slash == NULL)
        snprintf(real, PATH_MAX, "%s", target);
    else if ((size_t)(slash - real) + 1 + (size_t)n < PATH_MAX)
        memcpy(slash + 1, target, (size_t)n + 1);
}

/* Finds the file to write, following links. Returns false if the file at `path` may not be
 * replaced. */
static bool find_place(struct ncoll_context *ctx, const char *path, char real[PATH_MAX],
                       char why[TUNE_WHY])
{
    struct tune_table old;

    if (!load_old(ctx, path, &old, why))
        return false;
    ncoll__tune_free(ctx, &old);
    follow(path, real);
    return true;
}

bool ncoll__tune_can_write(struct ncoll_context *ctx, const char *path, char why[TUNE_WHY])
{
    char real[PATH_MAX], directory[PATH_MAX] = ".";

    if (!find_place(ctx, path, real, why))
        return false;
    const char *slash = strrchr(real, '/');
    if (slash != NULL)
        snprintf(directory, sizeof directory, "%.*s", slash > real ? (int)(slash - real) : 1, real);
    if (access(directory, W_OK | X_OK) == 0)
        return true;
    if (errno == ENOENT || errno == ENOTDIR)
        say_no_directory(real, why);
    else
        snprintf(why, TUNE_WHY, "nothing can be written to %.80s: %s", directory, strerror(errno));
    return false;
}

static bool write_news(struct ncoll_context *ctx, const char *path, const struct news *news,
                       unsigned tries, char why[TUNE_WHY])
{
    char real[PATH_MAX];
    struct tune_table old;
    bool ok = false;

    /* Check this first, so that no lock file appears beside a file that is not a table. */
    if (!find_place(ctx, path, real, why))
        return false;
    int fd = lock(real, tries, why);
    if (fd < 0)
        return false;
    if (load_old(ctx, real, &old, why)) {
        ok = merge_and_write(ctx, real, &old, news, why);
        ncoll__tune_free(ctx, &old);
    }
    close(fd); /* unlocks */
    return ok;
}

bool ncoll__tune_write(struct ncoll_context *ctx, const char *path, const struct tune_table *fresh,
                       char why[TUNE_WHY])
{
    return write_news(ctx, path, &(struct news){.table = fresh}, LOCK_TRIES, why);
}

bool ncoll__tune_write_found(struct ncoll_context *ctx, const char *path,
                             const struct tune_key *key, const struct tune_rule *rule,
                             char why[TUNE_WHY])
{
    return write_news(ctx, path, &(struct news){.key = key, .rule = rule}, LOCK_FEW, why);
}
