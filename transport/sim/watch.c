/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling and waiting: for messages, control words and positions, and for peers that are gone. */
#include <stdlib.h>
#include <string.h>

#include "transport/sim/sim_transport.h"

/* ------------------------------------------------------------------ mail ---------------------- */

void ncoll__sim_mail(struct sim_transport *t, struct sim_message *m)
{
    struct sim_message ***end = m->kind == MESSAGE_POSITION ? &t->positions_end : &t->mail_end;

    m->next = NULL;
    **end = m;
    *end = &m->next;
    if (m->kind != MESSAGE_POSITION)
        ncoll__sim_wake(t->owner, ncoll__sim->now_ns);
}

static struct sim_message *take(struct sim_message **first, struct sim_message ***end)
{
    struct sim_message *m = *first;

    if (m != NULL && (*first = m->next) == NULL)
        *end = first;
    return m;
}

void ncoll__sim_mail_free(struct sim_transport *t)
{
    struct sim_message *m;

    while ((m = take(&t->mail, &t->mail_end)) != NULL)
        free(m);
    while ((m = take(&t->positions, &t->positions_end)) != NULL)
        free(m);
}

/* Handles the message of a leaving peer. The link keeps only the farewell in it, to save memory
 * when thousands of ranks leave at the same time. */
static void take_farewell(struct sim_transport *t, struct sim_message *m)
{
    const struct transport_events *e = &t->config.events;
    const struct control goodbye = {.kind = CONTROL_PEER_LEFT, .rank = {m->from, -1}};
    struct link *link = ncoll__sim_link(t, m->from);

    e->control(e->arg, m->from, &goodbye);
    if (link != NULL && !link->left) {
        link->left = true;
        link->farewell = malloc(sizeof *link->farewell);
        if (link->farewell == NULL)
            abort();
        memcpy(link->farewell, m->payload, sizeof *link->farewell);
    }
    free(m);
}

static void take_news(struct sim_transport *t, struct sim_message *m)
{
    const struct transport_events *e = &t->config.events;
    struct link *link = ncoll__sim_link(t, m->from);
    struct control word;
    int from = m->from;

    bool gone = m->kind == MESSAGE_GONE;
    if (!gone)
        memcpy(&word, m->payload, sizeof word);
    free(m);
    if (!gone) {
        e->control(e->arg, from, &word);
        return;
    }
    if (link != NULL)
        link->gone = true;
    e->peer_gone(e->arg, from, CONTROL_PEER_FAILED, "its process was killed");
}

static void read_mail(struct sim_transport *t)
{
    struct sim_message *m;

    while ((m = take(&t->mail, &t->mail_end)) != NULL)
        if (m->kind == MESSAGE_FAREWELL)
            take_farewell(t, m);
        else
            take_news(t, m);
}

static void read_positions(struct sim_transport *t)
{
    const struct transport_events *e = &t->config.events;
    struct position position;
    struct sim_message *m;

    while ((m = take(&t->positions, &t->positions_end)) != NULL) {
        int from = m->from;
        struct sim_transport *teller = sim_rank_of(from)->transport;
        memcpy(&position, m->payload, sizeof position);
        if (teller != NULL && teller->session == m->session)
            ncoll__sim_link(teller, t->config.rank)->telling = false;
        free(m);
        e->position(e->arg, from, &position);
    }
}

/* ------------------------------------------------------------------ looking ------------------- */

bool ncoll__sim_is_dead(struct sim_transport *t)
{
    const struct transport_events *e = &t->config.events;

    if (!t->owner->killed)
        return false;
    if (!t->told_end) {
        t->told_end = true;
        e->peer_gone(e->arg, t->config.rank, CONTROL_PEER_FAILED, "this rank was killed");
    }
    return true;
}

void ncoll__sim_progress(struct transport *transport)
{
    struct sim_transport *t = sim_of(transport);
    struct sim_rank *r = t->owner;
    const struct sim_config *c = &ncoll__sim->config;

    r->now_ns += POLL_NS;
    if (sim_one_in(&r->random, c->pause_one_in))
        r->now_ns += sim_random_to(&r->random, c->pause_ns);
    ncoll__sim_sync(r);
    if (!ncoll__sim_is_dead(t))
        read_mail(t);
}

bool ncoll__sim_wait(struct transport *transport, struct window *w, const struct awaited *awaited,
                     unsigned n, unsigned round, int64_t timeout_ns)
{
    struct sim_transport *t = sim_of(transport);
    struct sim_rank *r = t->owner;
    uint64_t ns = (uint64_t)timeout_ns;

    (void)round;
    r->now_ns += POLL_NS;
    if (ncoll__sim_is_dead(t)) {
        ncoll__sim_sync(r);
        return true;
    }
    ncoll__sim_give_back((struct sim_window *)w);
    bool soon = t->retries; /* also for a word in a neighbour's window: it wakes nobody */
    for (unsigned i = 0; i < n; i++) {
        if (awaited_raised(w, &awaited[i]))
            return true;
        soon |= awaited[i].word != NULL;
    }
    if (soon && ns > RETRY_NS)
        ns = RETRY_NS;
    t->retries = false;
    t->sleeps++;
    r->window = w;
    r->awaited = awaited;
    r->n_awaited = n;
    ncoll__sim_block(r, ns);
    return true;
}

void ncoll__sim_check(struct transport *transport, int suspect)
{
    struct sim_transport *t = sim_of(transport);

    (void)suspect;
    t->owner->now_ns += POLL_NS;
    if (ncoll__sim_is_dead(t))
        return;
    read_mail(t);
    read_positions(t);
}

/* ------------------------------------------------------------------ telling ------------------- */

void ncoll__sim_control(struct transport *transport, struct endpoint *to,
                        const struct control *message)
{
    struct sim_transport *t = sim_of(transport);
    struct link *link = (struct link *)to;

    if (t->owner->killed || link->gone)
        return;
    ncoll__sim_send(t, link,
                    ncoll__sim_message(t, link, MESSAGE_CONTROL, message, sizeof *message));
}

bool ncoll__sim_tell(struct transport *transport, struct endpoint *to,
                     const struct position *position)
{
    struct sim_transport *t = sim_of(transport);
    struct link *link = (struct link *)to;

    if (t->owner->killed || link->gone || link->left || link->telling)
        return false;
    link->telling = true;
    ncoll__sim_send(t, link,
                    ncoll__sim_message(t, link, MESSAGE_POSITION, position, sizeof *position));
    return true;
}

static void say_farewell(struct sim_transport *t, struct link *link, farewell_fn say, void *arg)
{
    struct farewell farewell = {0};

    if (say != NULL)
        say(arg, link->endpoint.rank, &farewell);
    t->farewells_on_way++;
    ncoll__sim_send(t, link,
                    ncoll__sim_message(t, link, MESSAGE_FAREWELL, &farewell, sizeof farewell));
}

/* Reads the mail once more after all farewells of this rank have arrived: of two ranks that leave
 * at the same time, at least one finds the farewell of the other there. */
void ncoll__sim_leave(struct transport *transport, farewell_fn say, void *arg)
{
    struct sim_transport *t = sim_of(transport);

    if (t->has_left)
        return;
    t->has_left = true;
    for (unsigned i = 0; i < t->n_places && !t->owner->killed; i++)
        if (t->links[i] != NULL && !t->links[i]->gone)
            say_farewell(t, t->links[i], say, arg);
    while ((t->on_way > 0 || t->farewells_on_way > 0) && !t->owner->killed)
        ncoll__sim_block(t->owner, RETRY_NS);
    if (!ncoll__sim_is_dead(t))
        read_mail(t);
}

bool ncoll__sim_farewell(struct transport *transport, const struct endpoint *from,
                         struct farewell *out)
{
    const struct link *link = (const struct link *)from;

    (void)transport;
    if (link->farewell != NULL)
        *out = *link->farewell;
    return link->farewell != NULL;
}

void ncoll__sim_notice(int from, int to)
{
    struct sim *s = ncoll__sim;
    struct sim_rank *r = sim_rank_of(to);
    struct sim_transport *t = r->transport;
    struct link *link = t != NULL && from != to ? ncoll__sim_link(t, from) : NULL;

    if (link == NULL)
        return;
    struct sim_message *m = ncoll__sim_message(t, link, MESSAGE_GONE, NULL, 0);
    m->event.rank = to;
    m->from = from;
    ncoll__sim_push(&s->queue, &m->event,
                    (r->now_ns > s->now_ns ? r->now_ns : s->now_ns) + 1 +
                        sim_random_to(&s->random, s->config.notice_ns));
}
