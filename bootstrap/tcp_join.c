/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 collects its leaves: it listens (tcp_listen.c), learns from each connection which rank it
 * is (tcp_strangers.c), and stops listening when all have come. If a rank is missing or has failed,
 * rank 0 tells the reason to all ranks that have come. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/tcp_root.h"

/* After a failure rank 0 goes on listening for this time, in nanoseconds, to tell ranks that come
 * late. */
#define LINGER_NS UINT64_C(1000000000)

static uint64_t now_ns(const struct root *root)
{
    return root->tcp.events.now_ns(root->tcp.events.arg);
}

static void progress(struct root *root, int wait_ms)
{
    ncoll__tcp_resume_listening(root);
    ncoll__tcp_root_progress(root, wait_ms);
}

/* ------------------------------------------------------------------ joining ------------------ */

/* Writes the number of missing ranks besides the lowest one, as in " and 3 more"; "" if only one is
 * missing. */
static void name_more(int count, char more[48])
{
    more[0] = '\0';
    if (count > 1)
        snprintf(more, 48, " and %d more", count - 1);
}

/* Refuses the job since ranks are missing. The cause also tells what is known of processes that
 * came in their place. */
static void refuse_for_missing(struct root *root, const char *when, ...)
    __attribute__((format(printf, 2, 3)));
static void refuse_for_missing(struct root *root, const char *when, ...)
{
    int count, missing = ncoll__tcp_root_lowest_missing(root, &count);
    const char *note = root->join.note;
    char more[48], text[128];
    va_list args;

    name_more(count, more);
    va_start(args, when);
    vsnprintf(text, sizeof text, when, args);
    va_end(args);
    ncoll__tcp_refuse(root, BECAUSE(NCOLL_ERR_BOOTSTRAP, PEER_MISSING), missing, "rank %d%s %s%s%s",
                      missing, more, text, note[0] != '\0' ? "; " : "", note);
}

/* The callback root.leaf_gives_up. */
static void answer_leaf(struct root *root, int rank, uint64_t timeout_ns)
{
    if (!root->complete) /* if it is complete, the rank is about to hear that all have come */
        refuse_for_missing(root, "did not come within %g s, when rank %d gave up waiting",
                           (double)timeout_ns / 1e9, rank);
}

/* Checks for reasons why the job cannot start: a rank has gone, or time is up. */
static void look_for_hindrance(struct root *root)
{
    const char *note = root->join.note;

    if (root->tcp.departed.count > 0) {
        const struct tcp_departure *d = &root->tcp.departed.list[0];
        if (d->left)
            refuse_for_missing(root, "had not come when rank %d gave up waiting", d->rank);
        else
            ncoll__tcp_refuse(root, NCOLL_ERR_BOOTSTRAP, d->rank,
                              "rank %d failed before all ranks had come%s%s", d->rank,
                              note[0] != '\0' ? "; " : "", note);
    } else if (ncoll__tcp_tick_ms(&root->tcp) == 0) {
        refuse_for_missing(root, "did not come within %g s", root->tcp.timeout_s);
    }
}

static void remind(struct root *root)
{
    struct tcp *tcp = &root->tcp;
    int count, missing = ncoll__tcp_root_lowest_missing(root, &count);
    char more[48];

    if (!ncoll__reminder_due(&tcp->reminder, now_ns(root), tcp->stall_warn_ns))
        return;
    name_more(count, more);
    tcp->events.log(tcp->events.arg, NCOLL_LOG_WARN,
                    "rank %d%s did not come within %.1f s; the ranks that have come wait for %g s "
                    "(NCOLL_BOOTSTRAP_TIMEOUT)",
                    missing, more, (double)tcp->reminder.after_ns / 1e9, tcp->timeout_s);
}

/* Refuses the ranks that have come and, for a while, those that come later. Returns the error of
 * the job. */
static int refuse_all(struct root *root)
{
    int what = BECAUSE_OF(root->join.refusal.status, root->join.refusal.reason);
    const struct bootstrap_events *events = &root->tcp.events;
    uint64_t end = now_ns(root) + LINGER_NS;
    int tick_ms;

    for (int r = 1; r < root->tcp.base.ranks; r++)
        if (root->leaves[r] != NULL)
            ncoll__tcp_send_refusal(&root->leaves[r]->link, what, root->join.refusal.rank,
                                    root->join.refusal.cause);
    while (now_ns(root) < end && (tick_ms = ncoll__tcp_tick_ms(&root->tcp)) > 0)
        progress(root, tick_ms);
    return events->fail(events->arg, what, root->join.refusal.rank, TCP_REMEDY_REFUSED, "%s",
                        root->join.refusal.cause);
}

static bool make_entries(struct root *root)
{
    int leaves = root->tcp.base.ranks - 1;
    int n = (leaves < STRANGERS_MOST ? leaves : STRANGERS_MOST) + STRANGERS_FOREIGN;

    root->join.strangers = calloc((size_t)n, sizeof *root->join.strangers);
    if (root->join.strangers == NULL)
        return false;
    root->join.n_strangers = n;
    for (int i = 0; i < n; i++)
        root->join.strangers[i].link.fd = -1;
    return true;
}

int ncoll__tcp_join(struct root *root)
{
    int ranks = root->tcp.base.ranks, rc;

    root->at_door = ncoll__tcp_stranger_event;
    root->leaf_gives_up = answer_leaf;
    root->complete = ranks == 1;
    if (root->complete)
        return NCOLL_OK;
    if (!make_entries(root))
        return ncoll__tcp_fail_memory(&root->tcp.events, ranks);
    rc = ncoll__tcp_listen(root);
    if (rc != NCOLL_OK)
        goto free_entries;
    while (!root->complete && root->join.refusal.status == 0) {
        progress(root, ncoll__tcp_tick_ms(&root->tcp));
        ncoll__tcp_root_note_missing(root);
        if (root->complete)
            break;
        look_for_hindrance(root);
        remind(root);
    }
    if (root->join.refusal.status != 0)
        rc = refuse_all(root);
    ncoll__tcp_drop_strangers(root);
    ncoll__tcp_stop_listening(root);

free_entries:
    free(root->join.strangers);
    root->join.strangers = NULL;
    root->join.n_strangers = 0;
    return rc;
}
