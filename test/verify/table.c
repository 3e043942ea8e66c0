/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-explain reproduces Table I of End et al. 2015, and the tuple of its figure 1.
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
    right = right && check_tuple(argv[1], "tuple -P 8 -n 2",
                                 "(s, l_snd, l_rcv, j_snd, j_rcv) = (2, 1, 0, 2, 0)");
    right = right && check_tuple(argv[1], "tuple -P 9 -n 2",
                                 "exact: P = 3^2, the algorithm needs no adaption");
    right = right && check_tuple(argv[1], "tuple -P 13 -n 1", "none");
    right = right && check_tuple(argv[1], "tuple --count 100 -n 2", "84");
    return right ? 0 : 1;
}
