/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slots of the shm transport, and how its ranks sleep and wake (transport/shm/put.c, sleep.c), on
 * processors that store late: N ranks run a dissemination barrier of ROUNDS rounds EPOCHS times.
 *
 *     spin -a flag.pml && cc -O2 -o pan pan.c && ./pan
 *
 * searches all interleavings. It finds, if there is one,
 *   a lost wake-up           a rank sleeps for ever: invalid end state;
 *   a message read too early the flag is raised and the payload is not there: assertion in await;
 *   a slot reused too early  assertion in put.
 * The file `check` beside it runs it for all variants: -DFENCED is the sender that cannot rely on membarrier; the
 * -DBUG_... ones must fail, which shows that the search can see such faults.
 *
 * Memory is x86's: each rank's stores enter a queue of its own and reach memory later, in order; its
 * loads come from memory at once. A locked instruction waits until the rank's own queue is empty.
 * membarrier passes a moment at which each other rank's queue is empty.
 */
#ifndef N
#define N      2
#define ROUNDS 1
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
#define LINES (2 * ROUNDS) /* slots in both parities */

mtype = { FLAG, PAYLOAD, SLEEPS_FOR };

typedef memory {
    byte flag[LINES];
    byte payload[LINES];
    byte sleeps_for; /* 1 + line, 0: awake */
    bool asleep;     /* in the kernel */
    /* For assertions only: epoch of the last message put there, and of the last one read. */
    byte sent[LINES];
    byte consumed[LINES];
};

memory mem[N];
chan queue[N] = [3] of { mtype, byte, byte, byte }; /* what, whose, line, value */

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
           :: what == PAYLOAD -> mem[whose].payload[line] = value
           :: what == SLEEPS_FOR -> mem[whose].sleeps_for = value
           fi;
           what = 0; whose = 0; line = 0; value = 0
       }
    od
}

inline put(to, at, epoch)
{
    assert(mem[to].consumed[at] == mem[to].sent[at]);
    mem[to].sent[at] = epoch;
#ifdef BUG_FLAG_FIRST
    queue[me] ! FLAG, to, at, epoch;
    queue[me] ! PAYLOAD, to, at, epoch;
#else
    queue[me] ! PAYLOAD, to, at, epoch;
    queue[me] ! FLAG, to, at, epoch;
#endif
#ifdef FENCED
    empty(queue[me]);
#endif
    /* Only a sleeper that waits for this very slot is woken. */
    seen = mem[to].sleeps_for;
    if
    :: seen == 1 + at ->
           /* compare and exchange, locked */
           atomic {
               empty(queue[me]);
               if
               :: mem[to].sleeps_for == seen -> mem[to].sleeps_for = 0
               :: else -> seen = 0
               fi
           }
           if
           :: seen != 0 -> mem[to].asleep = false /* FUTEX_WAKE */
           :: else
           fi
    :: else
    fi;
    seen = 0
}

inline block(at, epoch)
{
    atomic { empty(queue[me]); mem[me].sleeps_for = 1 + at } /* locked */
#if !defined(FENCED) && !defined(BUG_NO_MEMBARRIER)
    other = 0;
    do
    :: other < N -> empty(queue[other]); other++
    :: else -> break
    od;
    other = 0;
#endif
    if
    :: mem[me].flag[at] == epoch
    :: else ->
           /* FUTEX_WAIT: the kernel compares and goes to sleep in one step */
           atomic {
               if
               :: mem[me].sleeps_for == 1 + at -> mem[me].asleep = true
               :: else
               fi
           }
           !mem[me].asleep
    fi;
    queue[me] ! SLEEPS_FOR, me, 0, 0
}

inline await(at, epoch)
{
    do
    :: mem[me].flag[at] == epoch -> break
    :: else -> block(at, epoch)
    od;
    assert(mem[me].payload[at] == epoch);
    mem[me].consumed[at] = epoch
}

proctype rank(byte me)
{
    byte epoch = 1, round, seen, other;

    do
    :: epoch <= EPOCHS ->
           round = 0;
           do
           :: round < ROUNDS ->
#ifdef BUG_ONE_PARITY
                  put((me + (1 << round)) % N, round, epoch);
                  await(round, epoch);
#else
                  put((me + (1 << round)) % N, (epoch % 2) * ROUNDS + round, epoch);
                  await((epoch % 2) * ROUNDS + round, epoch);
#endif
                  round++
           :: else -> break
           od;
           epoch++
    :: else -> break
    od
}

init
{
    byte i = 0;

    atomic {
        do
        :: i < N -> run drain(i); run rank(i); i++
        :: else -> break
        od
    }
}
