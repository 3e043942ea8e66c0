/* SPDX-License-Identifier: BSD-3-Clause */
/* All that was measured, for programs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/failure/card.h"
#include "tools/tune/tune.h"

/* 0: not known. */
static json_t *us_or_null(double us)
{
    return us > 0 ? json_real(us) : json_null();
}

/* Those that count. */
static json_t *sweeps_of(const struct point *p, const struct candidate *c)
{
    json_t *times = json_array();

    for (unsigned s = 0; c->left && s < p->sweeps; s++)
        json_array_append_new(times, json_real(c->sweep_us[s]));
    return times;
}

static json_t *candidate_of(const struct point *p, unsigned i)
{
    const struct candidate *c = &p->candidates[i];
    bool own = c->algorithm == NULL;
    const struct algorithm *a = own ? p->own.algorithm : c->algorithm;
    char radix[RADIX_TEXT];
    json_t *row = json_object();

    json_object_set_new(row, "algorithm", json_string(a->name));
    json_object_set_new(row, "n",
                        a->properties & USES_RADIX
                            ? json_string(ncoll__radix_text(own ? p->own.radix : c->radix, radix))
                            : json_null());
    json_object_set_new(row, "segment_bytes", json_integer((json_int_t)c->segment_bytes));
    json_object_set_new(row, "lanes", json_integer(own ? p->own.lanes : c->lanes));
    json_object_set_new(row, "predicted_us", us_or_null(c->predicted_ns / 1e3));
    json_object_set_new(row, "us", us_or_null(candidate_us(p, i)));
    json_object_set_new(row, "sweep_us", sweeps_of(p, c));
    json_object_set_new(row, "final", json_boolean(c->left));
    return row;
}

static json_t *point_of(const struct point *p)
{
    json_t *candidates = json_array();

    for (unsigned i = 0; i < p->n; i++)
        json_array_append_new(candidates, candidate_of(p, i));
    return json_pack("{s:s, s:I, s:i, s:i, s:f, s:f, s:o}", "collective",
                     ncoll__collective_name(p->collective), "bytes", (json_int_t)p->bytes, "listed",
                     p->listed, "untuned", p->untuned, "ratio", point_ratio(p, 0), "untuned_ratio",
                     point_ratio(p, p->untuned), "candidates", candidates);
}

FILE *json_words_to(const char *json)
{
    return json != NULL && strcmp(json, "-") == 0 ? stderr : stdout;
}

int json_write(json_t *tree, const char *json)
{
    int status = 0;

    if (json != NULL && strcmp(json, "-") == 0) {
        json_dumpf(tree, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        fputc('\n', stdout);
    } else if (json != NULL) {
        status = json_dump_file(tree, json, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    }
    if (status != 0)
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name, json,
                strerror(errno));
    json_decref(tree);
    return status;
}

int report_json(const struct point *points, unsigned n, const char *json)
{
    json_t *rows = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(rows, point_of(&points[i]));
    return json_write(json_pack("{s:s, s:o}", "version", ncoll_version(), "points", rows), json);
}
