/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/json.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/cg/support.h"

typedef int (*dump_fn)(const void *what, FILE *out);

json_t *json_text(const char *bytes)
{
    json_t *out = json_string(bytes);
    char *copy = out == NULL ? strdup(bytes) : NULL;

    if (copy == NULL)
        return out;
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    out = json_string(copy);
    free(copy);
    return out;
}

json_t *json_real_or_null(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

void json_add(json_t *out, json_t *more)
{
    json_object_update(out, more);
    json_decref(more);
}

json_t *json_line_of(const char *file, const char *key)
{
    char line[512];
    json_t *out = NULL;
    FILE *in = fopen(file, "re");

    while (in != NULL && out == NULL && fgets(line, sizeof line, in) != NULL) {
        const char *value = key == NULL ? line : strchr(line, ':');
        line[strcspn(line, "\n")] = '\0';
        if (key != NULL && (value == NULL || strncmp(line, key, strlen(key)) != 0))
            continue;
        value += key != NULL ? 1 + strspn(value + 1, " \t") : 0;
        out = *value != '\0' ? json_string(value) : json_null();
    }
    if (in != NULL)
        fclose(in);
    return out != NULL ? out : json_null();
}

int json_dump(const void *tree, FILE *out)
{
    int status = json_dumpf(tree, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));

    fputc('\n', out);
    return status != 0 || fflush(out) != 0 || ferror(out) ? -1 : 0;
}

/* Writes into an existing file that is not a regular one: a device, a pipe or a link. */
static int dump_into(const char *file, dump_fn dump, const void *what)
{
    FILE *out = fopen(file, "we");

    if (out == NULL)
        return -1;
    int status = dump(what, out);
    return fclose(out) != 0 ? -1 : status;
}

/* Writes a temporary file in the same folder and renames it, so that readers never see a part of
 * the file. */
static int dump_to_file(const char *file, dump_fn dump, const void *what)
{
    struct stat there;
    char *beside;

    if (lstat(file, &there) == 0 && !S_ISREG(there.st_mode))
        return dump_into(file, dump, what);

    if (asprintf(&beside, "%s.%ld", file, (long)getpid()) < 0)
        return -1;
    int status = -1;
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out != NULL) {
        status = dump(what, out);
        if (fclose(out) != 0 || status != 0 || rename(beside, file) != 0) {
            status = -1;
            int reason = errno;
            unlink(beside);
            errno = reason;
        }
    }
    free(beside);
    return status;
}

/* False: errno says why not. */
static bool can_write(const char *file)
{
    struct stat there = {.st_mode = S_IFREG};

    if ((stat(file, &there) != 0 && errno != ENOENT) || file[0] == '\0')
        return false;
    errno = EISDIR;
    if (!S_ISREG(there.st_mode)) /* a device, or a pipe */
        return !S_ISDIR(there.st_mode) && access(file, W_OK) == 0;
    char *copy = strdup(file);
    bool can = copy != NULL && access(dirname(copy), W_OK | X_OK) == 0;
    free(copy);
    return can;
}

void json_require(const char *file)
{
    if (file != NULL && strcmp(file, "-") != 0 && !can_write(file))
        err(EXIT_FAILURE, "cannot write '%s'", file);
}

int json_write(const char *file, dump_fn dump, const void *what)
{
    if (strcmp(file, "-") == 0) {
        int dumped = dump(what, stdout);
        return output_written(stdout) ? dumped : -1;
    }
    int status = dump_to_file(file, dump, what);

    if (status != 0)
        warn("cannot write '%s'", file);
    return status;
}
