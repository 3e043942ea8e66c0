/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "tools/plot/plot.h"

const char *const format_endings[] = {"svg", "png"};

/* Colours that colour-blind people tell apart (Okabe and Ito 2008). */
static const struct {
    const char *subject, *colour;
} colours[] = {
    {"ncoll", "#0072B2"}, {"persistent", "#56B4E9"}, {"mpi", "#D55E00"},  {"openmpi", "#D55E00"},
    {"mpich", "#009E73"}, {"ucc", "#CC79A7"},        {"gpi2", "#E69F00"}, {"raw", "#555555"},
    {"flags", "#999999"}, {"copy", "#A98B5D"},       {"pull", "#7F8FB5"}, {"combine", "#7FA07F"},
};
static const char *const others[COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                            "#E69F00", "#56B4E9", "#000000", "#8B4513"};

/* In single quotes gnuplot takes every byte as it is, but for the quote. */
static void print_text(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            putc('\'', out);
        putc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    putc('\'', out);
}

static void print_setting(FILE *out, const char *setting, const char *text)
{
    fprintf(out, "set %s ", setting);
    print_text(out, text);
    putc('\n', out);
}

/* By its subject, unless several lines with equal points have that. Limits differ by their dashes
 * as well, and stay grey. */
static const char *colour_of(const struct chart *chart, unsigned number)
{
    const struct line *line = &chart->lines[number];
    unsigned same = line->kind == LINE_LIMIT;

    for (unsigned i = 0; i < chart->n_lines && line->kind != LINE_LIMIT; i++)
        same += strcmp(chart->lines[i].subject, line->subject) == 0 &&
                chart->lines[i].look == line->look;
    for (size_t i = 0; same == 1 && i < sizeof colours / sizeof colours[0]; i++)
        if (strcmp(colours[i].subject, line->subject) == 0)
            return colours[i].colour;
    return others[number % COLOURS];
}

#define DASHES 4 /* that gnuplot has, besides none */

struct range {
    double low, high;
};

static void include(struct range *range, double value)
{
    if (isnan(value))
        return;
    range->low = isnan(range->low) || value < range->low ? value : range->low;
    range->high = isnan(range->high) || value > range->high ? value : range->high;
}

static void print_data(FILE *out, const struct chart *chart, struct range *x, struct range *y)
{
    for (unsigned l = 0; l < chart->n_lines; l++) {
        const struct line *line = &chart->lines[l];
        fprintf(out, "$line%u << END\n", l);
        for (unsigned i = 0; i < line->n_points; i++) {
            const struct point *p = &line->points[i];
            bool has_interval = !isnan(p->low) && !isnan(p->high);
            include(x, p->x);
            include(y, p->y);
            include(y, p->low);
            include(y, p->high);
            fprintf(out, "%.9g %.9g %.9g %.9g\n", p->x, p->y, has_interval ? p->low : p->y,
                    has_interval ? p->high : p->y);
        }
        fprintf(out, "END\n");
    }
}

/* A logarithmic axis with some room at both ends, and ticks above `without`, if that is none. */
static void print_axis(FILE *out, const char *axis, enum unit unit, struct range r, double without)
{
    double room = pow(r.high / r.low, 0.04);

    room = room > 1.08 ? room : 1.08;
    if (unit == UNIT_RANKS)
        room = 1.15;
    fprintf(out, "set logscale %s\nset %srange [%.9g:%.9g]\n", axis, axis, r.low / room,
            r.high * room);
    if (unit == UNIT_RANKS) /* none that nobody measured */
        axis_print_ticks(out, axis, unit, r.low, r.high);
    else
        axis_print_ticks(out, axis, unit, isnan(without) ? r.low / room : without * 3.5,
                         r.high * room);
}

static void print_axes(FILE *out, const struct chart *chart, struct range x, struct range y)
{
    print_setting(out, "xlabel", chart->x_label);
    print_setting(out, "ylabel", chart->y_label);
    print_axis(out, "x", chart->x, x, chart->no_size);
    if (!isnan(chart->no_size))
        fprintf(out, "set xtics add ('none' %.9g)\n", chart->no_size);
    if (chart->y == UNIT_SHARE) {
        /* gnuplot takes these for formats: hence two of each %. */
        fprintf(out,
                "set yrange [0:%.9g]\n"
                "set ytics ('0 %%%%' 0, '50 %%%%' 0.30103, '90 %%%%' 1, '99 %%%%' 2, "
                "'99.9 %%%%' 3, '99.99 %%%%' 4, '99.999 %%%%' 5)\n",
                y.high * 1.02);
        return;
    }
    include(&y, chart->mark);
    print_axis(out, "y", chart->y, y, NAN);
}

static void print_head(FILE *out, const struct chart *chart, enum format format,
                       const char *picture)
{
    unsigned height = 560;

    if (format == FORMAT_SVG)
        fprintf(out,
                "set terminal svg noenhanced size 1000,%u font 'sans-serif,14' background "
                "'#ffffff'\n",
                height);
    else
        fprintf(out,
                "set terminal pngcairo noenhanced size 1500,%u font 'DejaVu Sans,16' "
                "background '#ffffff' linewidth 1.4\n",
                height * 3 / 2);
    print_setting(out, "output", picture);
    fprintf(out, "set encoding utf8\n"
                 "set border 3 linecolor '#666666'\n"
                 "set tics nomirror textcolor '#333333'\n"
                 "set grid linecolor '#dddddd' linetype 1 linewidth 0.7\n"
                 /* Beside the axes: it covers nothing, however many lines there are. */
                 "set key outside right top vertical Left reverse samplen 4 spacing 1.25 width 1\n"
                 "set label 1 ");
    print_text(out, chart->below);
    fprintf(out,
            " at screen 0.012,0.025 textcolor '#777777' font ',%d'\n"
            "set bmargin 5\n",
            format == FORMAT_SVG ? 11 : 13);
    print_setting(out, "title", chart->title);
}

static bool has_intervals(const struct line *line)
{
    for (unsigned i = 0; i < line->n_points; i++)
        if (!isnan(line->points[i].low) && !isnan(line->points[i].high))
            return true;
    return false;
}

static void print_line(FILE *out, const struct chart *chart, unsigned l, unsigned limit)
{
    static const unsigned points[] = {7, 5, 9, 11, 13};
    const struct line *line = &chart->lines[l];
    const char *colour = colour_of(chart, l);
    double beside = chart->dodge ? pow(1.05, (double)l - (chart->n_lines - 1) / 2.0) : 1;

    if (line->kind == LINE_LIMIT && line->n_points == 1) {
        fprintf(out, "$line%u using 1:2 with points pointtype 2 linecolor '%s'", l, colour);
    } else if (line->kind == LINE_LIMIT) {
        fprintf(out, "$line%u using 1:2 with %s dashtype %u linecolor '%s' linewidth 2", l,
                chart->y == UNIT_SHARE ? "steps" : "lines", 2 + limit % DASHES, colour);
    } else if (line->kind == LINE_STEPS) {
        fprintf(out, "$line%u using 1:2 with steps linecolor '%s' linewidth 2", l, colour);
    } else {
        if (has_intervals(line))
            fprintf(
                out,
                "$line%u using ($1*%.6g):2:3:4 with yerrorbars notitle pointtype 0 linecolor '%s' "
                "linewidth 1.6, \\\n     ",
                l, beside, colour);
        fprintf(out,
                "$line%u using ($1*%.6g):2 with linespoints pointtype %u pointsize 0.8 "
                "linecolor '%s' linewidth 2 dashtype %u",
                l, beside, points[line->look % 5], colour, 1 + line->look);
    }
    fprintf(out, " title ");
    print_text(out, line->name);
}

void script_print(const struct chart *chart, enum format format, const char *picture, FILE *out)
{
    struct range x = {NAN, NAN}, y = {NAN, NAN};
    unsigned limit = 0;

    print_head(out, chart, format, picture);
    print_data(out, chart, &x, &y);
    print_axes(out, chart, x, y);
    fprintf(out, "plot ");
    if (!isnan(chart->mark))
        fprintf(out, "%.9g with lines linecolor '#444444' linewidth 1.2 notitle, \\\n     ",
                chart->mark);
    for (unsigned l = 0; l < chart->n_lines; l++) {
        print_line(out, chart, l, limit);
        limit += chart->lines[l].kind == LINE_LIMIT;
        fprintf(out, l + 1 < chart->n_lines ? ", \\\n     " : "\n");
    }
}
