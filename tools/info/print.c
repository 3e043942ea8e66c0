/* SPDX-License-Identifier: BSD-3-Clause */
#include <libsmartcols/libsmartcols.h>
#include <string.h>

#include "tools/info/info.h"

#define TEXT_BYTES 512

static const char *spoken_key(const char *key, char *text)
{
    snprintf(text, TEXT_BYTES, "%s", key);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    return text;
}

static const char *spoken_value(const json_t *value, char *text)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        snprintf(text, TEXT_BYTES, "%s", json_string_value(value));
        break;
    case JSON_INTEGER:
        snprintf(text, TEXT_BYTES, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(text, TEXT_BYTES, "%.2f", json_real_value(value));
        break;
    case JSON_TRUE:
        return "yes";
    case JSON_FALSE:
        return "no";
    default:
        return "-";
    }
    return text;
}

static int print_object(const json_t *object, FILE *out)
{
    const char *key;
    json_t *value;
    char key_text[TEXT_BYTES], value_text[TEXT_BYTES];

    json_object_foreach((json_t *)object, key, value)
        fprintf(out, "  %-22s %s\n", spoken_key(key, key_text), spoken_value(value, value_text));
    return ferror(out) ? -1 : 0;
}

/* The first row's keys are the columns of all. */
static int fill_table(struct libscols_table *table, const json_t *rows)
{
    char text[TEXT_BYTES];
    const char *key;
    json_t *row, *value;
    size_t i;

    scols_table_new_column(table, "", 1, 0); /* indents */
    json_object_foreach(json_array_get(rows, 0), key, value) scols_table_new_column(
        table, spoken_key(key, text), 0, json_is_number(value) ? SCOLS_FL_RIGHT : 0);
    json_array_foreach(rows, i, row)
    {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        size_t column = 1;
        if (line == NULL)
            return -1;
        json_object_foreach(
            row, key, value) if (scols_line_set_data(line, column++, spoken_value(value, text)) !=
                                 0) return -1;
    }
    return 0;
}

static int print_table(const json_t *rows, FILE *out)
{
    struct libscols_table *table = scols_new_table();

    if (table == NULL)
        return -1;
    scols_table_set_stream(table, out);
    int status = fill_table(table, rows);
    if (status == 0)
        status = scols_print_table(table);
    scols_unref_table(table);
    return status;
}

int info_print(const char *title, const json_t *section, FILE *out)
{
    char text[TEXT_BYTES];
    int status = 0;

    fprintf(out, "%s\n", spoken_key(title, text));
    if (json_is_object(section))
        status = print_object(section, out);
    else if (json_array_size(section) > 0)
        status = print_table(section, out);
    else
        fputs("  none\n", out);
    fputc('\n', out);
    return status;
}
