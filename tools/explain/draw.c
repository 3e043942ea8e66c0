/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules as pictures in SVG.
 *
 * The picture of rounds has a column for each rank and a line for the end of each round, with an
 * arrow for each message (as figures 4 and 5 of Al Ahad et al., PAW-ATM 2018).
 *
 * The picture of data has a panel for each round, in which row p shows what rank p has: a cell for
 * each rank whose data it has, and a box around the cells of each message that it has got in this
 * round. The sides of the boxes are the data boundaries of figure 1 of End et al., INFOCOMP 2015.
 */
#include <stdlib.h>

#include "tools/explain/explain.h"
#include "tools/explain/messages.h"
#include "tools/inside.h"

#define MARGIN   60
#define TOP      110 /* below title and legend */
#define WIDTH    720 /* at least, for title and legend */
#define CELL     14
#define PANELS   4 /* beside each other */
#define HEAD     34
#define BOX_EDGE 2

static const struct {
    const char *name, *colour, *meaning;
} kinds[CARRIES] = {
    [CARRIES_NOTHING] = {"none", "#888888", "no data"},
    [CARRIES_OWN] = {"own", "#0072b2", "the sender's own data"},
    [CARRIES_OTHERS] = {"others", "#d55e00", "data of other ranks as well"},
    [CARRIES_COMBINED] = {"combined", "#009e73", "combined data"},
};

static void begin(FILE *out, const struct algorithm *a, const struct shape *g, unsigned width,
                  unsigned height)
{
    char radix[RADIX_TEXT];

    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<text x=\"%d\" y=\"30\" font-size=\"17\">%s, %s, %u rank%s",
            width, height, width, height, MARGIN, a->name, ncoll__collective_name(g->collective),
            g->size, g->size == 1 ? "" : "s");
    if (a->properties & USES_RADIX)
        fprintf(out, ", n = %s", ncoll__radix_text(g->radix, radix));
    if (is_rooted(g->collective))
        fprintf(out, ", root %u", g->root);
    fprintf(out, "</text>\n");
}

/* "ranks 0, 2-5", for a title. */
static void write_ranks(FILE *out, uint32_t ranks)
{
    const char *before = (ranks & (ranks - 1)) != 0 ? "ranks " : "rank ";

    for (unsigned p = 0; p < PICTURE_RANKS; p++) {
        unsigned last = p;
        if (!(ranks >> p & 1))
            continue;
        while (last + 1 < PICTURE_RANKS && ranks >> (last + 1) & 1)
            last++;
        fprintf(out, last > p ? "%s%u-%u" : "%s%u", before, p, last);
        before = ", ";
        p = last;
    }
}

/* Writes the text that a viewer shows when the pointer is over a message. */
static void write_title(FILE *out, const struct message *m)
{
    fprintf(out, "<title>round %u: rank %u to rank %u", m->put_round, m->from, m->to);
    if (m->looked_at)
        fprintf(out, ", in the window of a neighbour");
    if (m->count > 0) {
        fprintf(out, ": %zu element%s, data of ", m->count, m->count == 1 ? "" : "s");
        write_ranks(out, m->data);
    }
    fprintf(out, "</title>");
}

static unsigned at_least(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* ------------------------------------------------------------------ rounds -------------------- */

/* The places of ranks and rounds. */
struct grid {
    unsigned column, row;
};

static unsigned x_of(const struct grid *grid, unsigned rank)
{
    return MARGIN + 40 + rank * grid->column;
}

static unsigned y_of(const struct grid *grid, unsigned round)
{
    return TOP + 30 + round * grid->row;
}

static void draw_legend(FILE *out, const struct messages *list)
{
    bool used[CARRIES] = {false};
    unsigned x = MARGIN;

    for (unsigned i = 0; i < list->n; i++)
        used[list->all[i].carries] = true;
    fprintf(out, "<defs>\n");
    for (unsigned k = 0; k < CARRIES; k++)
        fprintf(out,
                "<marker id=\"%s\" viewBox=\"0 0 10 10\" refX=\"13\" refY=\"5\" markerWidth=\"7\" "
                "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 1 L10 5 L0 9 z\" "
                "fill=\"%s\"/></marker>\n",
                kinds[k].name, kinds[k].colour);
    fprintf(out, "</defs>\n<text x=\"%u\" y=\"58\">a message carries:</text>\n", x);
    x += 130;
    for (unsigned k = 0; k < CARRIES; k++) {
        if (!used[k])
            continue;
        fprintf(out,
                "<line x1=\"%u\" y1=\"54\" x2=\"%u\" y2=\"54\" stroke=\"%s\" stroke-width=\"3\"/>"
                "<text x=\"%u\" y=\"58\">%s</text>\n",
                x, x + 24, kinds[k].colour, x + 30, kinds[k].meaning);
        x += 190;
    }
    fprintf(out,
            "<text x=\"%d\" y=\"80\" fill=\"#666666\">%u message%s in %u round%s; time goes "
            "down</text>\n",
            MARGIN, list->n, list->n == 1 ? "" : "s", list->rounds, list->rounds == 1 ? "" : "s");
}

static void draw_grid(FILE *out, const struct grid *grid, unsigned ranks, unsigned rounds)
{
    for (unsigned p = 0; p < ranks; p++)
        fprintf(out,
                "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%u</text>"
                "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"#dddddd\"/>\n",
                x_of(grid, p), y_of(grid, 0) - 14, p, x_of(grid, p), y_of(grid, 0), x_of(grid, p),
                y_of(grid, rounds));
    fprintf(out, "<text x=\"%d\" y=\"%u\">rank</text>\n", 20, y_of(grid, 0) - 14);
    for (unsigned r = 1; r <= rounds; r++)
        fprintf(out, "<text x=\"%d\" y=\"%u\" fill=\"#666666\">round %u</text>\n", 20,
                (y_of(grid, r - 1) + y_of(grid, r)) / 2 + 4, r);
    for (unsigned r = 0; r <= rounds; r++)
        for (unsigned p = 0; p < ranks; p++)
            fprintf(out, "<circle cx=\"%u\" cy=\"%u\" r=\"3.5\" fill=\"#333333\"/>\n",
                    x_of(grid, p), y_of(grid, r));
}

void draw_rounds(const struct algorithm *a, const struct shape *g, FILE *out)
{
    struct messages list;

    messages_list(&list, a, g);
    struct grid grid = {g->size <= 12 ? 70 : 40, list.rounds <= 8 ? 80 : 50};
    begin(out, a, g, at_least(x_of(&grid, g->size - 1) + MARGIN, WIDTH),
          y_of(&grid, list.rounds) + 30);
    draw_legend(out, &list);
    draw_grid(out, &grid, g->size, list.rounds);
    for (unsigned i = 0; i < list.n; i++) {
        const struct message *m = &list.all[i];
        const char *dashes = m->looked_at                    ? " stroke-dasharray=\"2 3\""
                             : m->carries == CARRIES_NOTHING ? " stroke-dasharray=\"6 3\""
                                                             : "";
        fprintf(out,
                "<line class=\"message\" x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"%s\" "
                "stroke-width=\"1.6\"%s marker-end=\"url(#%s)\">",
                x_of(&grid, m->from), y_of(&grid, m->put_round - 1), x_of(&grid, m->to),
                y_of(&grid, m->seen_round), kinds[m->carries].colour, dashes,
                kinds[m->carries].name);
        write_title(out, m);
        fprintf(out, "</line>\n");
    }
    fprintf(out, "</svg>\n");
}

/* ------------------------------------------------------------------ data ---------------------- */

/* The cells that a rank has, in one row: filled darker if it had them before the round. */
static void draw_cells(FILE *out, unsigned x, unsigned y, unsigned ranks, unsigned own,
                       uint32_t before, uint32_t after)
{
    for (unsigned q = 0; q < ranks; q++)
        fprintf(out,
                "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"%s\" "
                "stroke=\"#dddddd\"/>\n",
                x + q * CELL, y, CELL, CELL,
                q == own && before >> q & 1 ? "#0072b2"
                : before >> q & 1           ? "#999999"
                : after >> q & 1            ? "#f0e442"
                                            : "#ffffff");
}

/* Boxes around the data of a message: one for each range of ranks. */
static void draw_boxes(FILE *out, unsigned x, unsigned y, unsigned ranks, const struct message *m,
                       unsigned inset)
{
    for (unsigned q = 0; q < ranks; q++) {
        unsigned last = q;
        if (!(m->data >> q & 1))
            continue;
        while (last + 1 < ranks && m->data >> (last + 1) & 1)
            last++;
        fprintf(out,
                "<rect class=\"message\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
                "fill=\"none\" pointer-events=\"all\" stroke=\"#000000\" stroke-width=\"1.3\">",
                x + q * CELL + inset, y + inset, (last - q + 1) * CELL - 2 * inset,
                CELL - 2 * inset);
        write_title(out, m);
        fprintf(out, "</rect>\n");
        q = last;
    }
}

/* Draws what all ranks have by the end of a round; have[] is updated. */
static void draw_panel(FILE *out, const struct messages *list, unsigned ranks, unsigned round,
                       uint32_t have[PICTURE_RANKS])
{
    unsigned width = ranks * CELL + MARGIN, height = ranks * CELL + HEAD + 20;
    unsigned x = MARGIN + round % PANELS * width, y = TOP + round / PANELS * height + HEAD;

    fprintf(out, "<text x=\"%u\" y=\"%u\">%s %u</text>\n", x, y - 8,
            round == 0 ? "at first, round" : "after round", round);
    for (unsigned p = 0; p < ranks; p++) {
        unsigned row = y + p * CELL, n = 0;
        uint32_t after = have[p];
        for (unsigned i = 0; i < list->n; i++)
            if (list->all[i].to == p && list->all[i].seen_round == round)
                after |= list->all[i].data;
        fprintf(out, "<text x=\"%u\" y=\"%u\" font-size=\"10\" text-anchor=\"end\">%u</text>\n",
                x - 5, row + CELL - 3, p);
        draw_cells(out, x, row, ranks, p, have[p], after);
        for (unsigned i = 0; i < list->n; i++)
            if (list->all[i].to == p && list->all[i].seen_round == round)
                draw_boxes(out, x, row, ranks, &list->all[i], 1 + n++ % 2 * BOX_EDGE);
        have[p] = after;
    }
}

void draw_data(const struct algorithm *a, const struct shape *g, FILE *out)
{
    struct messages list;

    messages_list(&list, a, g);
    unsigned panels = list.rounds + 1, beside = panels < PANELS ? panels : PANELS;
    unsigned width = MARGIN + beside * (g->size * CELL + MARGIN);
    unsigned height = TOP + (panels + PANELS - 1) / PANELS * (g->size * CELL + HEAD + 20) + 10;

    begin(out, a, g, at_least(width, WIDTH), height);
    fprintf(
        out,
        "<text x=\"%d\" y=\"56\">row: a rank; column: whose data it has. Blue: its own; grey: "
        "from earlier rounds; yellow: new.</text>\n"
        "<text x=\"%d\" y=\"76\">A box has what one message of the round carried; its sides are "
        "the data boundaries.</text>\n",
        MARGIN, MARGIN);
    for (unsigned r = 0; r < panels; r++)
        draw_panel(out, &list, g->size, r, list.own);
    fprintf(out, "</svg>\n");
}
