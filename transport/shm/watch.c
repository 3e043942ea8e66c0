/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking after the peers: control words and positions from them, and whether they are still there.
 */
#include <stdio.h>

#include "transport/shm/shm.h"

/* How often to ask the kernel about the processes of peers, and of how many at once: where all
 * ranks of a large node are connected to all, asking for each of them would take all their time. */
#define LOOK_NS UINT64_C(5000000)
#define LOOKS   16u

static void wake(struct shm_peer *peer)
{
    uint32_t sleeps_for = atomic_load(&peer->board->sleeps_for);

    if (sleeps_for != 0)
        ncoll__shm_wake(peer, sleeps_for);
}

/* Who is killed in the middle of it has told nothing. It is read when this process has ended, or
 * after `state` has been. */
static void tell_all(struct control *told, const struct control *message)
{
    struct control word = *message;

    word.kind = CONTROL_NONE;
    told->kind = CONTROL_NONE;
    atomic_signal_fence(memory_order_seq_cst);
    *told = word;
    atomic_signal_fence(memory_order_seq_cst);
    told->kind = message->kind;
}

/*
 * A word that finds its box full is dropped: the one that lies there has not been read yet, and of
 * failures the first one is what counts.
 */
void ncoll__shm_control(struct transport *t, struct endpoint *to, const struct control *message)
{
    struct shm *s = (struct shm *)t;
    struct board *board = ((struct shm_peer *)to)->board;
    struct mailbox *box = &board->boxes[s->config.rank];

    tell_all(&s->board->told, message);
    if (atomic_load_explicit(&box->full, memory_order_acquire))
        return;
    box->word = *message;
    atomic_store_explicit(&box->full, 1, memory_order_release);
    /* Exchanged, not stored: the owner's exchange then sees the boxes of all senders before. */
    atomic_exchange(&board->mail, 1);
    wake((struct shm_peer *)to);
}

static void read_box(struct shm *s, int rank)
{
    struct mailbox *box = &s->board->boxes[rank];

    if (!atomic_load_explicit(&box->full, memory_order_acquire))
        return;
    struct control word = box->word;
    atomic_store_explicit(&box->full, 0, memory_order_release);
    s->config.events.control(s->config.events.arg, rank, &word);
}

/* Boxes of ranks that are not connected here are looked at, too: they may have connected first. */
static void read_mail(struct shm *s)
{
    if (atomic_load_explicit(&s->board->mail, memory_order_relaxed) == 0)
        return;
    atomic_exchange(&s->board->mail, 0);
    for (int rank = 0; rank < s->config.ranks; rank++)
        read_box(s, rank);
}

/* Like a control word, but for that nobody is woken. */
bool ncoll__shm_tell(struct transport *t, struct endpoint *to, const struct position *position)
{
    struct shm *s = (struct shm *)t;
    struct board *board = ((struct shm_peer *)to)->board;
    struct mailbox *box = &board->boxes[s->config.rank];

    if (atomic_load_explicit(&box->has_position, memory_order_acquire))
        return false;
    box->position = *position;
    atomic_store_explicit(&box->has_position, 1, memory_order_release);
    atomic_exchange(&board->positions, 1);
    return true;
}

static void read_positions(struct shm *s)
{
    if (atomic_load_explicit(&s->board->positions, memory_order_relaxed) == 0)
        return;
    atomic_exchange(&s->board->positions, 0);
    for (int rank = 0; rank < s->config.ranks; rank++) {
        struct mailbox *box = &s->board->boxes[rank];
        if (!atomic_load_explicit(&box->has_position, memory_order_acquire))
            continue;
        struct position position = box->position;
        atomic_store_explicit(&box->has_position, 0, memory_order_release);
        s->config.events.position(s->config.events.arg, rank, &position);
    }
}

static bool has_left(const struct shm_peer *peer)
{
    /* Acquire: the messages that it sent before it left are seen from here on. */
    return atomic_load_explicit(&peer->board->state, memory_order_acquire) == BOARD_LEFT;
}

static void report(struct shm *s, struct shm_peer *peer, enum control_kind how, const char *why)
{
    peer->gone = true;
    s->config.events.peer_gone(s->config.events.arg, peer->endpoint.rank, how, why);
}

/* Not all who miss it need have been connected to it, or to somebody who knows. */
static void tell_last_word(struct shm *s, struct shm_peer *peer)
{
    struct control told = peer->board->told;

    if (told.kind != CONTROL_NONE)
        s->config.events.control(s->config.events.arg, peer->endpoint.rank, &told);
}

static void report_left(struct shm *s, struct shm_peer *peer)
{
    tell_last_word(s, peer);
    report(s, peer, CONTROL_PEER_LEFT, "destroyed its context");
}

/* One that has left first may end as it likes, and is missed by nobody but a rank that waits for
 * it. The process is asked before the board, which it might set in between, and before the mail: it
 * may have ended because of another one, and have said so. */
static void look_at(struct shm *s, struct shm_peer *peer)
{
    char why[48];

    if (peer->gone || peer->process.pid == 0 || !ncoll__process_ended(&peer->process) ||
        has_left(peer))
        return;
    read_mail(s);
    tell_last_word(s, peer);
    snprintf(why, sizeof why, "process %d ended", (int)peer->process.pid);
    report(s, peer, CONTROL_PEER_FAILED, why);
}

void ncoll__shm_check(struct transport *t, int suspect)
{
    struct shm *s = (struct shm *)t;
    struct shm_peer *waited_for = suspect < 0 ? NULL : s->by_rank[suspect];
    bool left = waited_for != NULL && !waited_for->gone && has_left(waited_for);

    read_mail(s); /* after the look at the board: with what it had to say before it left */
    read_positions(s);
    if (left)
        report_left(s, waited_for);

    uint64_t now_ns = s->config.events.now_ns(s->config.events.arg);
    if (now_ns < s->next_look_ns)
        return;
    s->next_look_ns = now_ns + LOOK_NS;
    if (waited_for != NULL)
        look_at(s, waited_for);
    for (unsigned looks = 0; looks < LOOKS; looks++) {
        if (s->next_look == NULL && (s->next_look = s->connected) == NULL)
            return;
        look_at(s, s->next_look);
        s->next_look = s->next_look->next;
        if (s->next_look == NULL)
            return; /* few of them are not asked twice */
    }
}

/* Those that sleep are woken to notice; one that is just falling asleep notices when it wakes. */
void ncoll__shm_leave(struct shm *s)
{
    atomic_store(&s->board->state, BOARD_LEFT);
    for (struct shm_peer *peer = s->connected; peer != NULL; peer = peer->next)
        wake(peer);
}
