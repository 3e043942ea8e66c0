/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slots of the shm transport, and how its ranks sleep and wake (transport/shm/put.c, sleep.c), on
 * processors that store late: N ranks run a barrier EPOCHS times, by dissemination in ROUNDS rounds, or with -DTREE (and
 * ROUNDS = N - 1 slots) up to rank 0 and down again. When slots may be used again is in reuse.pml.
 *
 *     spin -a flag.pml && cc -O2 -o pan pan.c && ./pan
 *
 * searches all interleavings. It finds, if there is one,
 *   a lost wake-up           a rank sleeps for ever: invalid end state;
 *   a message read too early the flag is raised and the payload is not there: assertion in await;
 *   a slot reused too early  assertion in put.
 * The file `check` beside it runs it for all variants: -DFENCED is the sender that cannot rely on membarrier;
 * -DSLEEPERS=M lets only the ranks of a mask sleep, and the others spin; the -DBUG_... ones must fail, which shows that
 * the search can see such faults.
 *
 * Memory is x86's: each rank's stores enter a queue of its own and reach memory later, in order; its
 * loads come from memory at once. A locked instruction waits until the rank's own queue is empty.
 * membarrier passes a moment at which each other rank's queue is empty; here it waits for that of the sender only, so
 * that the sleeper may go on sooner than it really can: what holds then holds all the more.
 */
#ifndef N
#define N      2
#define ROUNDS 1
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
/* Ranks that sleep, as bits; the others spin. */
#ifndef SLEEPERS
#define SLEEPERS 255
#endif
#define LINES (2 * ROUNDS) /* slots in both parities */
#ifdef BUG_ONE_PARITY
#define FIRST_LINE 0
#else
#define FIRST_LINE ((epoch % 2) * ROUNDS)
#endif

#define QUEUE 3 /* stores on their way */

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
chan queue[N] = [QUEUE] of { mtype, byte, byte, byte }; /* what, whose, line, value */

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
    /* In one step, as nobody sees what enters a queue. */
    atomic {
        len(queue[me]) + 2 <= QUEUE;
        assert(mem[to].consumed[at] == mem[to].sent[at]);
        mem[to].sent[at] = epoch;
#ifdef BUG_FLAG_FIRST
        queue[me] ! FLAG, to, at, epoch;
        queue[me] ! PAYLOAD, to, at, epoch
#else
        queue[me] ! PAYLOAD, to, at, epoch;
        queue[me] ! FLAG, to, at, epoch
#endif
    }
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

#if defined(FENCED) || defined(BUG_NO_MEMBARRIER)
#define MEMBARRIER(q) true
#else
#define MEMBARRIER(q) empty(q)
#endif

inline block(from, at, epoch)
{
    atomic { empty(queue[me]); mem[me].sleeps_for = 1 + at } /* locked */
    /* Where the fence has passed and nothing had come then, it goes to sleep; it may as well find
     * what comes later. */
    if
    :: mem[me].flag[at] == epoch
    :: atomic {
           MEMBARRIER(queue[from]) && mem[me].flag[at] != epoch -> skip
       } ->
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

inline await(from, at, epoch)
{
    do
    :: atomic {
           mem[me].flag[at] == epoch ->
               assert(mem[me].payload[at] == epoch);
               mem[me].consumed[at] = epoch;
               break
       }
    :: SLEEPERS & (1 << me) && mem[me].flag[at] != epoch -> block(from, at, epoch)
    od
}

inline barrier_by_dissemination()
{
    round = 0;
    do
    :: round < ROUNDS ->
           put((me + (1 << round)) % N, FIRST_LINE + round, epoch);
           await((me + N - (1 << round)) % N, FIRST_LINE + round, epoch);
           round++
    :: else -> break
    od
}

/* To rank 0 and back, as the ranks of a node do in hierarchical schedules. */
inline barrier_up_and_down()
{
    round = 0;
    do
    :: me == 0 && round < N - 1 -> await(round + 1, FIRST_LINE + round, epoch); round++
    :: else -> break
    od;
    if
    :: me != 0 ->
           put(0, FIRST_LINE + me - 1, epoch);
           await(0, FIRST_LINE, epoch)
    :: else ->
           round = 1;
           do
           :: round < N -> put(round, FIRST_LINE, epoch); round++
           :: else -> break
           od
    fi
}

proctype rank(byte me)
{
    byte epoch = 1, round, seen;

    do
    :: epoch <= EPOCHS ->
#ifdef TREE
           barrier_up_and_down();
#else
           barrier_by_dissemination();
#endif
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
