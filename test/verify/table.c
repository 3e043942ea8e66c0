/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-explain reproduces Table I of End et al. 2015, and the tuple of its figure 1; the
 * dissemination of Al Ahad et al. 2018 for 7 and 11 ranks (their figures 4 and 5); the rings of the
 * GASPI-SHAN allreduce for 15 nodes (its figures 1 and 2); the binomial tree of Iakymchuk et al.
 * 2022 for 8 (their figure 3).
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The next line without the blanks at its end. */
static bool next_line(FILE *in, char *line, size_t size)
{
    if (fgets(line, (int)size, in) == NULL)
        return false;
    line[strcspn(line, "\n")] = '\0';
    for (size_t len = strlen(line); len > 0 && line[len - 1] == ' ';)
        line[--len] = '\0';
    return true;
}

static FILE *explain(const char *program, const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof command, "'%s' %s", program, arguments);
    return popen(command, "r");
}

static bool expect(FILE *in, const char *expected)
{
    char line[256] = "";
    if (next_line(in, line, sizeof line) && strcmp(line, expected) == 0)
        return true;
    printf("expected '%s'\n     got '%s'\n", expected, line);
    return false;
}

static bool check_table(const char *program, unsigned P)
{
    char text[256];
    snprintf(text, sizeof text, "schedule -a dissemination -P %u -n 2", P);
    FILE *in = explain(program, text);
    bool right = in != NULL && expect(in, "rank | round 0  | round 1             | round 2");

    for (unsigned p = 0; right && p < P; p++) {
        snprintf(text, sizeof text,
                 "%4u | x%u       | S%u_1 = x%u o x%u o x%u | S%u_2 = S%u_1 o S%u_1 o S%u_1", p, p,
                 p, p, (p + P - 1) % P, (p + P - 2) % P, p, p, (p + P - 3) % P, (p + P - 6) % P);
        right = expect(in, text);
    }
    return in != NULL && pclose(in) == 0 && right;
}

/* Writes what rank p of P has in a round, from 1 on. */
typedef void cell_writer(char *text, size_t size, unsigned P, unsigned p, unsigned r);

/* The next cell of a row, without the blanks around it. */
static const char *next_cell(char **row)
{
    char *cell = strsep(row, "|");

    if (cell == NULL)
        return "";
    cell += strspn(cell, " ");
    for (size_t len = strlen(cell); len > 0 && cell[len - 1] == ' ';)
        cell[--len] = '\0';
    return cell;
}

static bool check_row(char *row, unsigned P, unsigned p, unsigned rounds, cell_writer *write_cell)
{
    char expected[256];

    next_cell(&row); /* rank */
    next_cell(&row); /* round 0 */
    for (unsigned r = 1; r <= rounds; r++) {
        const char *cell = next_cell(&row);
        write_cell(expected, sizeof expected, P, p, r);
        if (strcmp(cell, expected) != 0) {
            printf("P = %u, rank %u, round %u: expected '%s', got '%s'\n", P, p, r, expected, cell);
            return false;
        }
    }
    return row == NULL;
}

static bool check_rows(const char *program, const char *algorithm, unsigned P, unsigned rounds,
                       cell_writer *write_cell)
{
    char row[4096];
    snprintf(row, sizeof row, "schedule -P %u -n 1 -a %s", P, algorithm);
    FILE *in = explain(program, row);
    bool right = in != NULL && next_line(in, row, sizeof row);

    for (unsigned p = 0; right && p < P; p++)
        right = next_line(in, row, sizeof row) && check_row(row, P, p, rounds, write_cell);
    return in != NULL && pclose(in) == 0 && right;
}

/* The partial result of step k. */
static const char *partial(char text[32], unsigned p, unsigned k)
{
    if (k == 0)
        snprintf(text, 32, "x%u", p);
    else
        snprintf(text, 32, "S%u_%u", p, k);
    return text;
}

/* 7 = 4 + 2 + 1 and 11 = 8 + 2 + 1: after the steps for 4 or 8 what was sent ahead of steps 1 and 0
 * comes from 4 and 4 + 2, or from 8 and 8 + 2, to the left. */
static void al_ahad(char *text, size_t size, unsigned P, unsigned p, unsigned r)
{
    unsigned l = P == 7 ? 2 : 3, big = 1u << l;
    char own[32], other[32], last[32];

    if (r <= l)
        snprintf(text, size, "S%u_%u = %s o %s", p, r, partial(own, p, r - 1),
                 partial(other, (p + P - (1u << (r - 1))) % P, r - 1));
    else
        snprintf(text, size, "S%u_%u = %s o %s o %s", p, r, partial(own, p, l),
                 partial(other, (p + P - big) % P, 1), partial(last, (p + P - big - 2) % P, 0));
}

/* A chunk goes once round the ring, combined on the way, and then once more to be known to all. */
static void ring(char *text, size_t size, unsigned P, unsigned p, unsigned r)
{
    unsigned from = (p + P - 1) % P, chunk = (p + 2 * P - 1 - r) % P;
    char came[32];

    if (r < P)
        snprintf(text, size, "S%u_%u[%u] = %s[%u] o x%u[%u]", p, r, chunk,
                 partial(came, from, r - 1), chunk, p, chunk);
    else
        snprintf(text, size, "gets S%u_%u[%u] from %u", chunk, P - 1, chunk, from);
}

/* Their tree: the children of p are p + 2^i for the i from its bits on, in this order. Here the
 * bits of a rank come in the opposite order, so that the ranks below one are neighbours. */
static unsigned reversed(unsigned p)
{
    return (p & 1) << 2 | (p & 2) | p >> 2;
}

static unsigned bits(unsigned p)
{
    unsigned n = 0;

    while (p >> n > 0)
        n++;
    return n;
}

static void binomial_bcast(char *text, size_t size, unsigned P, unsigned p, unsigned r)
{
    unsigned theirs = reversed(p);

    (void)P;
    (void)r;
    if (p == 0)
        snprintf(text, size, "-");
    else
        snprintf(text, size, "gets x0 from %u", reversed(theirs - (1u << (bits(theirs) - 1))));
}

/* The other way round: a rank combines what its children have, the last one first. */
static void binomial_reduce(char *text, size_t size, unsigned P, unsigned p, unsigned r)
{
    unsigned theirs = reversed(p), first = bits(theirs);
    int n = snprintf(text, size, first < 3 ? "S%u_1 = x%u" : "-", p, p);
    char part[32];

    (void)P;
    (void)r;
    for (unsigned i = 3; i-- > first;) {
        unsigned child = theirs + (1u << i);
        n += snprintf(text + n, size - (size_t)n, " o %s",
                      partial(part, reversed(child), bits(child) < 3));
    }
}

/* Message i of a rank is for the child that the figure marks with the next stage. */
static bool check_stages(const char *program)
{
    char text[256];
    bool right = true;

    for (unsigned p = 0; right && p < 8; p++) {
        unsigned stage = bits(p), put, slot;
        snprintf(text, sizeof text, "schedule -a knomial -P 8 -n 1 --collective bcast -r %u",
                 reversed(p));
        FILE *in = explain(program, text);
        while (right && in != NULL && next_line(in, text, sizeof text)) {
            char *to = strstr(text, "to rank ");
            if (strstr(text, "  put ") != text || to == NULL)
                continue;
            right = sscanf(to, "to rank %u, slot %u", &put, &slot) == 2 && stage < 3 &&
                    put == reversed(p + (1u << stage++));
        }
        right = in != NULL && pclose(in) == 0 && right && stage == 3;
        if (!right)
            printf("rank %u: has other children than the figure's %u, up to stage %u\n",
                   reversed(p), p, stage);
    }
    return right;
}

static bool check_tuple(const char *program, const char *arguments, const char *expected)
{
    char rest[256];
    FILE *in = explain(program, arguments);
    bool right = in != NULL && expect(in, expected);

    while (in != NULL && next_line(in, rest, sizeof rest))
        continue;
    return in != NULL && pclose(in) == 0 && right;
}

int main(int argc, char **argv)
{
    bool right = argc == 2;

    if (!right)
        printf("usage: table PATH-OF-NCOLL-EXPLAIN\n");
    right = right && check_table(argv[1], 9) && check_table(argv[1], 8);
    right = right && check_rows(argv[1], "early", 7, 3, al_ahad);
    right = right && check_rows(argv[1], "early", 11, 4, al_ahad);
    right = right && check_rows(argv[1], "ring", 15, 28, ring);
    right = right && check_rows(argv[1], "knomial --collective bcast", 8, 1, binomial_bcast);
    right = right && check_rows(argv[1], "knomial --collective reduce", 8, 1, binomial_reduce);
    right = right && check_stages(argv[1]);
    right = right && check_tuple(argv[1], "tuple -P 8 -n 2",
                                 "(s, l_snd, l_rcv, j_snd, j_rcv) = (2, 1, 0, 2, 0)");
    right = right && check_tuple(argv[1], "tuple -P 9 -n 2",
                                 "exact: P = 3^2, the algorithm needs no adaption");
    right = right && check_tuple(argv[1], "tuple -P 13 -n 1", "none");
    right = right && check_tuple(argv[1], "tuple --count 100 -n 2", "84");
    return right ? 0 : 1;
}
