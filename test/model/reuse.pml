/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a set of slots may be written again (lib/base/credit.h, transport/shm/put.c), on processors that store
 * late: N ranks make EPOCHS calls in a row, of kinds that are drawn for each, in all ways: a barrier, which
 * synchronises, or messages that go one way, from a rank to all others or from all to one. Ranks spin; how they sleep
 * is in flag.pml.
 *
 *     spin -a reuse.pml && cc -O2 -DCOLLAPSE -o pan pan.c && ./pan
 *
 * searches all interleavings. It finds, if there is one,
 *   a set written too early   its reader has not finished the call before in it: assertion in put;
 *   a message read too early  the flag is raised and the payload is not there: assertion in await;
 *   a credit that nobody gives  ranks wait for ever: invalid end state.
 *
 * There are K = 2 sets and L = 1 call at a time, in place of 8 and 4: the third call is the first one to meet a set
 * that has been in use. Credits at the start of a call (R1) are as in credit.h; those at the end (R2), of which the
 * rule may leave out any, are not given, or with -DCREDITS_AT_END all of them. Memory is that of
 * flag.pml; with -DWHOLE a message reaches it at once, and with -DONE_ROOT all roots are rank 0, which four ranks need to be
 * searched in little memory. The -DBUG_... ones must fail: see `check`.
 */
#ifndef N
#define N 4
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
#define K 2
#define L 1
#define LINES (K * N)
#define LINE(slot) ((epoch % K) * N + (slot))

#ifdef BUG_OFF_BY_ONE
#define HEARD_OF (K + 1)
#else
#define HEARD_OF K
#endif
#ifdef BUG_SYNCED_TOO_EARLY
#define SYNCED_BY 0
#else
#define SYNCED_BY L
#endif

mtype = { FLAG, PAYLOAD, BARRIER, DOWN, UP };

typedef memory {
    byte flag[LINES];
    byte payload[LINES];
    byte credit[N]; /* of each rank */
};

typedef call {
    mtype kind;
    byte root;
};

memory mem[N];
chan queue[N] = [2] of { mtype, byte, byte, byte }; /* what, whose, line, value */
call calls[EPOCHS + 1];
byte finished[N]; /* for assertions only */

/* Brings the stores of one rank to memory, one at a time and whenever it likes. */
proctype drain(byte me)
{
    mtype what;
    byte whose, line, value;

end:
    do
    :: atomic {
           queue[me] ? what, whose, line, value;
           if
           :: what == FLAG -> mem[whose].flag[line] = value
           :: else -> mem[whose].payload[line] = value
           fi;
           what = 0; whose = 0; line = 0; value = 0
       }
    od
}

inline put(to, slot)
{
#ifdef BUG_NO_CREDIT
    true;
#else
    (epoch <= HEARD_OF + mem[me].credit[to] || epoch + SYNCED_BY <= K + synced);
#endif
    /* In one step, as nobody sees what enters a queue. */
    atomic {
        empty(queue[me]);
        assert(epoch <= K + finished[to]);
#ifdef BUG_FLAG_FIRST
        queue[me] ! FLAG, to, LINE(slot), epoch;
        queue[me] ! PAYLOAD, to, LINE(slot), epoch
#else
#ifndef WHOLE
        queue[me] ! PAYLOAD, to, LINE(slot), epoch;
#endif
        queue[me] ! FLAG, to, LINE(slot), epoch
#endif
    }
}

inline await(slot)
{
    atomic {
        mem[me].flag[LINE(slot)] == epoch;
#ifndef WHOLE
        assert(mem[me].payload[LINE(slot)] == epoch)
#endif
    }
}

/* Sequentially consistent: a locked instruction, for which the queue has to be empty. */
inline give_credit(to, number)
{
    atomic { empty(queue[me]); mem[to].credit[me] = number; told[to] = number }
}

/* Whether rank q puts to this one in the call. */
#define COMES_FROM(q)                                                                                \
    (q != me && (calls[epoch].kind == DOWN && q == calls[epoch].root ||                              \
                 calls[epoch].kind == UP && me == calls[epoch].root ||                               \
                 calls[epoch].kind == BARRIER && (q == (me + N - 1) % N || q == (me + N - 2) % N)))

/* ncoll__credit_known_at_start() */
#define KNOWN_AT_START(q) (epoch <= K + told[q] || epoch > 1 && calls[epoch - 1].kind == BARRIER)

proctype rank(byte me)
{
    byte epoch = 1, synced, other;
    byte told[N];

    do
    :: epoch <= EPOCHS ->
           /* R1 */
           other = 0;
           do
           :: other < N ->
                  if
#ifndef BUG_NO_CREDIT_AT_START
                  :: COMES_FROM(other) && !KNOWN_AT_START(other) ->
                         give_credit(other, epoch - 1)
                  :: else
#else
                  :: true
#endif
                  fi;
                  other++
           :: else -> break
           od;
           other = 0;
           if
           :: calls[epoch].kind == BARRIER -> /* by dissemination */
                  put((me + 1) % N, 0);
                  await(0);
                  put((me + 2) % N, 1);
                  await(1);
                  synced = epoch
           :: calls[epoch].kind == DOWN && me == calls[epoch].root ->
                  do
                  :: other < N && other != me -> put(other, 0); other++
                  :: other == me -> other++
                  :: other == N -> break
                  od
           :: calls[epoch].kind == DOWN && me != calls[epoch].root -> await(0)
           :: calls[epoch].kind == UP && me == calls[epoch].root ->
                  do
                  :: other < N && other != me -> await(other); other++
                  :: other == me -> other++
                  :: other == N -> break
                  od
           :: calls[epoch].kind == UP && me != calls[epoch].root -> put(calls[epoch].root, me)
           fi;
           finished[me] = epoch;
#ifdef CREDITS_AT_END
           /* R2 */
           do
           :: other < N ->
                  if
                  :: COMES_FROM(other) && told[other] < epoch -> give_credit(other, epoch)
                  :: else
                  fi;
                  other++
           :: else -> break
           od;
           other = 0;
#endif
           epoch++
    :: else -> break
    od
}

init
{
    byte i = 1;

    atomic {
        do
        :: i <= EPOCHS ->
               if
               :: calls[i].kind = BARRIER
               :: calls[i].kind = DOWN; calls[i].root = 0
#ifndef ONE_ROOT
               :: calls[i].kind = DOWN; calls[i].root = 1
#endif
               :: calls[i].kind = UP; calls[i].root = 0
               fi;
               i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < N -> run drain(i); run rank(i); i++
        :: else -> break
        od
    }
}
