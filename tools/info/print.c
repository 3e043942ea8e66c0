/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints sections for people, in 80 columns, except for words that are longer by themselves. */
#include <string.h>

#include "tools/info/info.h"
#include "tools/table.h"

#define TEXT_BYTES 512

static const char *value_text(const json_t *value, char text[TEXT_BYTES])
{
    switch (value != NULL ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        return json_string_value(value);
    case JSON_INTEGER:
        snprintf(text, TEXT_BYTES, "%lld", (long long)json_integer_value(value));
        return text;
    case JSON_REAL:
        snprintf(text, TEXT_BYTES, "%.2f", json_real_value(value));
        return text;
    case JSON_TRUE:
        return "yes";
    case JSON_FALSE:
        return "no";
    default:
        return "-";
    }
}

/* Prints a line "KEY = value". */
static void print_value(const char *key, const json_t *value, size_t indent, FILE *out)
{
    char text[TEXT_BYTES];
    int used = fprintf(out, "%*s%s = ", (int)indent, "", key);

    print_wrapped(value_text(value, text), used > 0 ? (size_t)used : 0, indent + 4, out);
}

static void print_object(const json_t *object, FILE *out)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) print_value(key, value, 2, out);
}

/* Prints a block for each row. The first value of a row is its name. */
static void print_blocks(const json_t *rows, FILE *out)
{
    const char *key;
    json_t *row, *value;
    char text[TEXT_BYTES];
    size_t i;

    json_array_foreach(rows, i, row)
    {
        bool first = true;
        json_object_foreach(row, key, value)
        {
            if (first)
                fprintf(out, "  %s\n", value_text(value, text));
            else
                print_value(key, value, 4, out);
            first = false;
        }
    }
}

static const char *member(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

/* Prints settings. Those that are set come before those at their default. */
static void print_settings(const json_t *rows, FILE *out)
{
    json_t *row;
    size_t i;

    for (int is_default = 0; is_default < 2; is_default++)
        json_array_foreach(rows, i, row)
        {
            if ((strcmp(member(row, "origin"), "default") == 0) != is_default)
                continue;
            fprintf(out, "  %s = %s", member(row, "variable"), member(row, "value"));
            if (!is_default)
                fprintf(out, " (%s)", member(row, "origin"));
            fprintf(out, "\n%6s", "");
            print_wrapped(member(row, "meaning"), 6, 6, out);
            if (member(row, "like") != NULL) {
                char like[128];
                snprintf(like, sizeof like, "(like %s)", member(row, "like"));
                fprintf(out, "%6s", "");
                print_wrapped(like, 6, 6, out);
            }
        }
}

int info_print(const char *title, const json_t *section, FILE *out)
{
    fprintf(out, "%s\n", title);
    if (json_is_object(section))
        print_object(section, out);
    else if (json_array_size(section) == 0)
        fputs("  none\n", out);
    else if (strcmp(title, "settings") == 0)
        print_settings(section, out);
    else
        print_blocks(section, out);
    fputc('\n', out);
    return ferror(out) ? -1 : 0;
}

int info_print_rows(const json_t *rows, const char *const *columns, size_t width, FILE *out)
{
    struct table table = {0};
    char text[TEXT_BYTES];
    const json_t *row;
    size_t i;

    for (unsigned c = 0; columns[c] != NULL; c++)
        table_column(&table, json_is_number(json_object_get(json_array_get(rows, 0), columns[c])),
                     columns[c]);
    json_array_foreach(rows, i, row)
    {
        for (unsigned c = 0; columns[c] != NULL; c++)
            table_cell(&table, "%s", value_text(json_object_get(row, columns[c]), text));
    }
    return table_print(&table, 2, width, out);
}
