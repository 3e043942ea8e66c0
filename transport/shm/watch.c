/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks after the peers: reads their control words and positions, and checks that they still run.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "transport/shm/shm.h"

/* The kernel is asked about the processes of peers at this interval, each time about LOOKS of them.
 * On a large node where all ranks are connected, asking about all would take all the time. */
#define LOOK_NS UINT64_C(5000000)
#define LOOKS   16u
/* The interval at which the awaited peer is checked for a call of exec(). This check takes eight
 * times as long as that of its process, and exec() is rare. */
#define PROGRAM_NS UINT64_C(100000000)

#define BITS 64 /* number of bits of board.mail and board.positions */

/* Returns the bit in board.mail and board.positions for the mailbox of a sender. */
static uint64_t bit_of(int rank)
{
    return UINT64_C(1) << rank % BITS;
}

void ncoll__shm_wake_up(struct shm_peer *peer)
{
    uint32_t sleeps_for = atomic_load(&peer->board->sleeps_for);

    if (sleeps_for != 0 && sleeps_for != AWAKE_FENCED)
        ncoll__shm_wake(peer, sleeps_for);
}

/* Publishes a control word on the board of this rank, as the last one. A rank that is killed in the
 * middle has published nothing: peers read the word when this process has ended, or after `state`
 * is set. */
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
 * Sends a control word. If the mailbox is full the word is dropped: the word in it has not been
 * read yet, and only the first failure counts.
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
    atomic_fetch_or(&board->mail, bit_of(s->config.rank));
    ncoll__shm_wake_up((struct shm_peer *)to);
}

static void read_word(struct shm *s, int rank)
{
    struct mailbox *box = &s->board->boxes[rank];

    if (!atomic_load_explicit(&box->full, memory_order_acquire))
        return;
    struct control word = box->word;
    atomic_store_explicit(&box->full, 0, memory_order_release);
    s->config.events.control(s->config.events.arg, rank, &word);
}

/* Reads the mailboxes whose bits are set, also those of ranks that are not connected to this one:
 * they may have connected first. With hundreds of ranks a look at all mailboxes takes long. */
static void read_boxes(struct shm *s, _Atomic uint64_t *bits, void (*read)(struct shm *s, int rank))
{
    if (atomic_load_explicit(bits, memory_order_relaxed) == 0)
        return;
    for (uint64_t left = atomic_exchange(bits, 0); left != 0; left &= left - 1)
        for (int rank = __builtin_ctzll(left); rank < s->config.ranks; rank += BITS)
            read(s, rank);
}

static void read_mail(struct shm *s)
{
    read_boxes(s, &s->board->mail, read_word);
}

/* Leaves a position in the mailbox like a control word, but wakes nobody. */
bool ncoll__shm_tell(struct transport *t, struct endpoint *to, const struct position *position)
{
    struct shm *s = (struct shm *)t;
    struct board *board = ((struct shm_peer *)to)->board;
    struct mailbox *box = &board->boxes[s->config.rank];

    if (atomic_load_explicit(&box->has_position, memory_order_acquire))
        return false;
    box->position = *position;
    atomic_store_explicit(&box->has_position, 1, memory_order_release);
    atomic_fetch_or(&board->positions, bit_of(s->config.rank));
    return true;
}

static void read_position(struct shm *s, int rank)
{
    struct mailbox *box = &s->board->boxes[rank];

    if (!atomic_load_explicit(&box->has_position, memory_order_acquire))
        return;
    struct position position = box->position;
    atomic_store_explicit(&box->has_position, 0, memory_order_release);
    s->config.events.position(s->config.events.arg, rank, &position);
}

static bool has_left(const struct shm_peer *peer)
{
    /* Acquire: all messages that the peer sent before it left are visible after this load. */
    return atomic_load_explicit(&peer->board->state, memory_order_acquire) == BOARD_LEFT;
}

static void report(struct shm *s, struct shm_peer *peer, enum control_kind how, const char *why)
{
    peer->gone = true;
    s->config.events.peer_gone(s->config.events.arg, peer->endpoint.rank, how, why);
}

/* Hands over the last control word of a peer that has left or ended: it may name the root cause.
 * The peer may have had no connection to this rank by which to send the word. */
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

/* True if the process of a peer has called exec(), which closes the descriptor of the board but
 * keeps the process. Three other cases look similar. A process may have closed its descriptors
 * itself; then the board's nonce is still at its address. A process that is ending loses its memory
 * and its program before its descriptors. If the first thread of a process has ended, /proc shows
 * neither descriptors nor program, while other threads may go on. So the program is checked last.
 * If the kernel forbids reading the nonce, the result is false, and exec() is noticed only when the
 * new program ends. This check takes longer than that of the process, so it is made only for the
 * peer that this rank waits for, and more rarely. */
static bool runs_another_program(const struct shm_peer *peer)
{
    return ncoll__segment_is_closed(&peer->board_name) && ncoll__shm_identify(peer) == -ESRCH &&
           ncoll__process_has_program(peer->process.pid);
}

/* Checks a peer's process. If the peer has left in order, the end of its process does not matter
 * here; check() handles the case that this rank waits for it. The process is checked before the
 * board, whose state the peer might set in between, and before the mail: the peer may have ended
 * because of another rank, and have reported this. */
void ncoll__shm_look_at(struct shm *s, struct shm_peer *peer, bool also_program)
{
    char why[64];

    if (peer->gone || peer->process.pid == 0)
        return;
    bool ended = ncoll__process_ended(&peer->process);
    if ((!ended && !(also_program && runs_another_program(peer))) || has_left(peer))
        return;
    read_mail(s);
    tell_last_word(s, peer);
    snprintf(why, sizeof why, ended ? "process %d ended" : "process %d runs another program (exec)",
             (int)peer->process.pid);
    report(s, peer, CONTROL_PEER_FAILED, why);
}

/* Checks the processes of the next LOOKS peers: those with a pidfd by one system call. */
static void look_at_next(struct shm *s)
{
    struct shm_peer *peers[LOOKS], *peer = s->next_look != NULL ? s->next_look : s->connected;
    struct pollfd polled[LOOKS];
    unsigned n = 0;

    for (unsigned looks = 0; looks < LOOKS && peer != NULL; looks++, peer = peer->next) {
        if (peer->gone || peer->process.pid == 0)
            continue;
        if (peer->process.fd < 0) {
            ncoll__shm_look_at(s, peer, false);
            continue;
        }
        peers[n] = peer;
        polled[n++] = (struct pollfd){.fd = peer->process.fd, .events = POLLIN};
    }
    s->next_look = peer; /* NULL: from the first again */
    if (n == 0 || poll(polled, n, 0) <= 0)
        return;
    for (unsigned i = 0; i < n; i++)
        if (polled[i].revents != 0)
            ncoll__shm_look_at(s, peers[i], false);
}

void ncoll__shm_check(struct transport *t, int suspect)
{
    struct shm *s = (struct shm *)t;
    struct shm_peer *waited_for = suspect < 0 ? NULL : s->by_rank[suspect];
    bool left = waited_for != NULL && !waited_for->gone && has_left(waited_for);

    /* read after the state of the board, so that all words sent before the peer left are read */
    read_mail(s);
    read_boxes(s, &s->board->positions, read_position);
    if (left)
        report_left(s, waited_for);

    uint64_t now_ns = s->config.events.now_ns(s->config.events.arg);
    if (now_ns < s->next_look_ns)
        return;
    s->next_look_ns = now_ns + LOOK_NS;
    if (waited_for != NULL) {
        bool also_program = now_ns >= s->next_program_ns;
        if (also_program)
            s->next_program_ns = now_ns + PROGRAM_NS;
        ncoll__shm_look_at(s, waited_for, also_program);
    }
    look_at_next(s);
}
