/* SPDX-License-Identifier: BSD-3-Clause */
#include "ratings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LONGEST 255 /* a line of MovieLens has 40 at most */
#define LINES_MAX    UINT32_MAX

/* A rating as it stands in the file. */
struct entry {
    int32_t user, movie; /* ids */
    int32_t halves;
    uint32_t line;
};

struct reader {
    FILE *in;
    const char *name;
    char line[LINE_LONGEST + 1]; /* the latest line, without its end */
    uint32_t number;             /* of that line, from 1 */
    const char *separator;       /* NULL: not known yet */
    struct entry *entries;
    int64_t n, room;
    char *error;
    size_t size;
};

__attribute__((format(printf, 3, 4))) static bool wrong(struct reader *r, uint32_t line,
                                                        const char *format, ...)
{
    int used = snprintf(r->error, r->size, "%s:%" PRIu32 ": ", r->name, line);
    va_list list;

    va_start(list, format);
    if (used >= 0 && (size_t)used < r->size)
        vsnprintf(r->error + used, r->size - (size_t)used, format, list);
    va_end(list);
    return false;
}

/* ------------------------------------------------------------------ lines -------------------- */

/* Reads the next line into r->line. Sets *end if there is none. Returns false if it cannot be
 * read. */
static bool next_line(struct reader *r, bool *end)
{
    size_t len = 0;
    int c;

    errno = 0;
    while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
        if (c == '\0')
            return wrong(r, r->number + 1, "a byte 0: this is no text");
        if (len == LINE_LONGEST)
            return wrong(r, r->number + 1, "a line of more than %d characters: no rating",
                         LINE_LONGEST);
        r->line[len++] = (char)c;
    }
    if (ferror(r->in))
        return wrong(r, r->number + 1, "cannot be read: %s", strerror(errno));
    *end = c == EOF && len == 0;
    if (!*end && r->number == LINES_MAX)
        return wrong(r, r->number, "more than %" PRIu32 " lines", LINES_MAX);
    r->number += !*end;
    if (len > 0 && r->line[len - 1] == '\r')
        len--;
    r->line[len] = '\0';
    return true;
}

/* Takes the next field from *rest; NULL if there is none. */
static char *field(const struct reader *r, char **rest)
{
    char *start = *rest, *end = start != NULL ? strstr(start, r->separator) : NULL;

    *rest = end != NULL ? end + strlen(r->separator) : NULL;
    if (end != NULL)
        *end = '\0';
    return start;
}

/* Reads a whole number in low..high, in decimal digits. */
static bool integer(struct reader *r, const char *what, const char *text, int64_t low, int64_t high,
                    int64_t *out)
{
    if (text == NULL)
        return wrong(r, r->number, "%s is missing", what);
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return wrong(r, r->number, "%s is not a whole number: '%.40s'", what, text);
    errno = 0;
    int64_t value = strtoll(text, NULL, 10);
    if (errno != 0 || value < low || value > high)
        return wrong(r, r->number, "%s is %.40s, not in %" PRId64 "..%" PRId64, what, text, low,
                     high);
    *out = value;
    return true;
}

/* Reads 0.5, 1, 1.5, .., 5. */
static bool stars(struct reader *r, const char *text, int32_t *halves)
{
    char *end;

    if (text == NULL)
        return wrong(r, r->number, "the rating is missing");
    double value = 2 * strtod(text, &end);
    /* strtod() also accepts hexadecimal digits, infinity and nan. */
    if (*text == '\0' || *end != '\0' || text[strspn(text, ".0123456789")] != '\0')
        return wrong(r, r->number, "the rating is not a number: '%.40s'", text);
    if (!(value >= 1 && value <= HALVES_MAX) || value != (int32_t)value)
        return wrong(r, r->number, "the rating is %.40s, not in 0.5, 1, .., 5", text);
    *halves = (int32_t)value;
    return true;
}

/* ------------------------------------------------------------------ ratings ------------------ */

static bool add(struct reader *r, const struct entry *entry)
{
    if (r->n == r->room) {
        int64_t room = r->room > 0 ? 2 * r->room : 1024;
        struct entry *more = realloc(r->entries, (size_t)room * sizeof *more);
        if (more == NULL)
            return wrong(r, r->number, "out of memory");
        r->entries = more;
        r->room = room;
    }
    r->entries[r->n++] = *entry;
    return true;
}

static bool read_entry(struct reader *r)
{
    char *rest = r->line;
    struct entry e = {.line = r->number};
    int64_t user, movie, time;

    if (!integer(r, "the user", field(r, &rest), 0, INT32_MAX - 1, &user) ||
        !integer(r, "the movie", field(r, &rest), 0, INT32_MAX - 1, &movie) ||
        !stars(r, field(r, &rest), &e.halves))
        return false;
    if (rest != NULL && !integer(r, "the timestamp", field(r, &rest), 0, INT64_MAX, &time))
        return false;
    if (rest != NULL)
        return wrong(r, r->number, "more than user, movie, rating and timestamp: '%.40s'", rest);
    e.user = (int32_t)user;
    e.movie = (int32_t)movie;
    return add(r, &e);
}

/* The first line with a rating tells the format. True if this line is one. */
static bool find_format(struct reader *r)
{
    static const char *const separators[] = {"::", "\t", ","};

    for (unsigned i = 0; i < sizeof separators / sizeof separators[0]; i++)
        if (strstr(r->line, separators[i]) != NULL) {
            r->separator = separators[i];
            return true;
        }
    return wrong(r, r->number,
                 "not a rating, as in 'user,movie,rating,timestamp' with commas, tabs or '::'");
}

static bool is_header(const struct reader *r)
{
    return r->number == 1 && (isalpha((unsigned char)r->line[0]) || r->line[0] == '"');
}

static bool read_entries(struct reader *r)
{
    for (;;) {
        bool end;
        if (!next_line(r, &end))
            return false;
        if (end && r->n == 0)
            return wrong(r, r->number + 1, "the file has no rating");
        if (end)
            return true;
        if (r->line[0] == '\0' || is_header(r))
            continue;
        if ((r->separator == NULL && !find_format(r)) || !read_entry(r))
            return false;
    }
}

/* ------------------------------------------------------------------ numbers for ids ---------- */

static int by_movie(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    return (a->movie > b->movie) - (a->movie < b->movie);
}

static int by_place(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->user != b->user)
        return a->user < b->user ? -1 : 1;
    if (a->movie != b->movie)
        return a->movie < b->movie ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Puts numbers without gaps in place of the ids of sorted entries. Returns how many there are. The id
 * is at the same place in each entry as *at is in the first. */
static int32_t number(struct entry *entries, int64_t n, size_t at)
{
    int32_t next = -1, before = -1;

    for (int64_t i = 0; i < n; i++) {
        int32_t *id = (int32_t *)((char *)&entries[i] + at);
        next += i == 0 || *id != before;
        before = *id;
        *id = next;
    }
    return next + 1;
}

static bool check_twice(struct reader *r)
{
    for (int64_t i = 1; i < r->n; i++) {
        const struct entry *e = &r->entries[i];
        if (e->user == e[-1].user && e->movie == e[-1].movie)
            return wrong(r, e->line, "the same user has rated the same movie in line %" PRIu32,
                         e[-1].line);
    }
    return true;
}

static bool arrange(struct reader *r, struct ratings *out)
{
    struct ratings result = {.n = r->n};

    qsort(r->entries, (size_t)r->n, sizeof *r->entries, by_movie);
    result.movies = number(r->entries, r->n, offsetof(struct entry, movie));
    qsort(r->entries, (size_t)r->n, sizeof *r->entries, by_place);
    if (!check_twice(r))
        return false;
    result.users = number(r->entries, r->n, offsetof(struct entry, user));
    result.all = malloc((size_t)r->n * sizeof *result.all);
    if (result.all == NULL)
        return wrong(r, r->number, "out of memory");
    for (int64_t i = 0; i < r->n; i++) {
        const struct entry *e = &r->entries[i];
        result.all[i] = (struct rating){e->user, e->movie, e->halves};
    }
    *out = result;
    return true;
}

bool ratings_read(FILE *in, const char *name, struct ratings *out, char *error, size_t size)
{
    struct reader r = {.in = in, .name = name, .error = error, .size = size};
    bool ok = read_entries(&r) && arrange(&r, out);

    free(r.entries);
    return ok;
}

bool ratings_write(const struct ratings *r, FILE *out)
{
    fprintf(out, "userId,movieId,rating,timestamp\n");
    for (int64_t i = 0; i < r->n; i++)
        fprintf(out, "%" PRId32 ",%" PRId32 ",%.1f,0\n", r->all[i].user + 1, r->all[i].movie + 1,
                rating_stars(&r->all[i]));
    return fflush(out) == 0 && !ferror(out);
}

void ratings_free(struct ratings *r)
{
    free(r->all);
    *r = (struct ratings){0};
}
