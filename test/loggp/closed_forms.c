/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/loggp/closed_forms.h"

double least(double a, double b)
{
    return a < b ? a : b;
}

double greatest(double a, double b)
{
    return a > b ? a : b;
}

size_t to_the(size_t base, unsigned k)
{
    return k == 0 ? 1 : base * to_the(base, k - 1);
}

unsigned log_up(unsigned P, unsigned f)
{
    unsigned k = 0;

    while (to_the(f, k) < P)
        k++;
    return k;
}

/* ------------------------------------------------------------------ all ranks alike ----------- */

void symmetric_round(struct symmetric *t, unsigned m, const double *bytes)
{
    double there[P_MAX];

    for (unsigned i = 0; i < m; i++) {
        double span = bytes[i] * t->c->message.byte_ns;
        t->now += i == 0 ? t->c->message.message_ns : t->c->next_ns;
        if (t->c->copies) {
            t->now += span;
            there[i] = t->now + t->c->message.latency_ns;
            continue;
        }
        double start = greatest(t->now, t->card);
        t->card = start + greatest(span, t->c->gap_ns);
        there[i] = start + span + t->c->message.latency_ns;
    }
    for (unsigned i = 0; i < m; i++)
        t->now = greatest(t->now, there[i]) + t->c->receive_ns + bytes[i] * t->c->read_byte_ns;
}

void equal_round(struct symmetric *t, unsigned m, double bytes)
{
    double each[P_MAX];

    for (unsigned i = 0; i < m; i++)
        each[i] = bytes;
    symmetric_round(t, m, each);
}

double rounds_of(unsigned k, unsigned n, unsigned last, double bytes, const struct loggp_cost *c)
{
    struct symmetric t = {.c = c};

    for (unsigned l = 1; l < k; l++)
        equal_round(&t, n, bytes);
    equal_round(&t, last, bytes);
    return t.now;
}

double dissemination(unsigned P, unsigned n, double bytes, const struct loggp_cost *c)
{
    unsigned k = log_up(P, n + 1);
    size_t w = to_the(n + 1, k - 1);

    return rounds_of(k, n, (unsigned)((P + w - 1) / w - 1), bytes, c);
}

/* ------------------------------------------------------------------ trees --------------------- */

size_t knomial_begin(unsigned n, size_t m, unsigned i)
{
    return (size_t)least((double)m, (double)(1 + i % n) * (double)to_the(n + 1, i / n));
}

size_t fork_begin(unsigned n, size_t m, unsigned i)
{
    return (size_t)least((double)m, (double)to_the(n + 1, i));
}

size_t kary_begin(unsigned n, size_t m, unsigned i)
{
    size_t children = n < m - 1 ? n : m - 1;

    return i < children ? 1 + i * (m - 1) / children : m;
}

struct tree tree_of(child_begin *begin, unsigned n, double bytes, const struct loggp_cost *c)
{
    struct tree t = {begin,
                     n,
                     c->message.message_ns + bytes * c->message.byte_ns,
                     c->next_ns + bytes * c->message.byte_ns,
                     c->message.latency_ns,
                     c->receive_ns + bytes * c->read_byte_ns,
                     {0}};

    for (unsigned m = 0; m <= P_MAX; m++)
        t.known[m] = -1;
    return t;
}

static unsigned children(const struct tree *t, size_t m)
{
    unsigned i = 0;

    while (t->begin(t->n, m, i) < m)
        i++;
    return i;
}

static size_t size_of_child(const struct tree *t, size_t m, unsigned i)
{
    return t->begin(t->n, m, i + 1) - t->begin(t->n, m, i);
}

double down(struct tree *t, size_t m)
{
    double sent = 0, end = 0;

    if (t->known[m] >= 0)
        return t->known[m];
    for (unsigned i = children(t, m); i-- > 0;) {
        sent += sent == 0 ? t->s : t->s_next;
        end = greatest(end, sent + t->L + t->r + down(t, size_of_child(t, m, i)));
    }
    return t->known[m] = greatest(end, sent);
}

double up(struct tree *t, size_t m)
{
    double now = 0;

    if (t->known[m] >= 0)
        return t->known[m];
    for (unsigned i = 0; i < children(t, m); i++)
        now = greatest(now, up(t, size_of_child(t, m, i)) + t->s + t->L) + t->r;
    return t->known[m] = now;
}
