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
 * -DSLEEPERS=M lets only the ranks of a mask sleep, and the others spin; with -DBLOCKS=M the ranks of a mask say at any
 * time that they block, or do not any more, so that they sleep without membarrier in between; with -DALL (and -DTREE)
 * rank 0 sleeps until the messages of all others have come; with -DBELL each sleep may as well be one on the bell
 * (transport/shm/loop.c), for any message; the -DBUG_... ones must fail, which shows that the search can
 * see such faults.
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
/* Ranks that may block, as bits. */
#ifndef BLOCKS
#define BLOCKS 0
#endif
#define LINES (2 * ROUNDS) /* slots in both parities */
#ifdef BUG_ONE_PARITY
#define FIRST_LINE 0
#else
#define FIRST_LINE ((epoch % 2) * ROUNDS)
#endif

#define QUEUE 3 /* stores on their way */

#define FOR_ALL(epoch) (250 + (epoch) % 2)
#define AWAKE_FENCED   255
#define ON_BELL        254
/* What a waker leaves. */
#ifdef BELL
#define WOKEN AWAKE_FENCED
#else
#define WOKEN (BLOCKS != 0 -> AWAKE_FENCED : 0)
#endif

mtype = { FLAG, PAYLOAD, SLEEPS_FOR };

typedef memory {
    byte flag[LINES];
    byte payload[LINES];
    byte sleeps_for; /* 1 + line, FOR_ALL; 0 or AWAKE_FENCED: awake */
    byte lacks;      /* the messages that FOR_ALL is for, as bits: of rank 1 + i */
    bool asleep;     /* in the kernel */
    bool bell;       /* can be read */
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
    seen = mem[to].sleeps_for;
#if (BLOCKS != 0 || defined(BELL)) && !defined(BUG_NO_SECOND_LOOK)
    /* A fence, and a second look. */
    if
    :: seen != 0 ->
           empty(queue[me]);
           seen = mem[to].sleeps_for
    :: else
    fi;
#endif
    /* Only a sleeper that waits for this very slot is woken, or for this one as the last of several. */
#ifdef ALL
    if
    :: to == 0 && seen == FOR_ALL(epoch) ->
           /* fetch and clear, locked */
           atomic {
               empty(queue[me]);
               if
#ifdef BUG_ONLY_OWN_BIT
               :: mem[to].lacks == 1 << (me - 1) -> mem[to].lacks = 0
               :: else -> mem[to].lacks = mem[to].lacks & (255 - (1 << (me - 1))); seen = 0
#else
               :: (mem[to].lacks & (255 - (1 << (me - 1)))) == 0 -> mem[to].lacks = 0
               :: else -> mem[to].lacks = mem[to].lacks & (255 - (1 << (me - 1))); seen = 0
#endif
               fi
           }
    :: else
    fi;
#endif
    if
    :: seen == 1 + at || seen == FOR_ALL(epoch) || seen == ON_BELL ->
           /* compare and exchange, locked */
           atomic {
               empty(queue[me]);
               if
               :: mem[to].sleeps_for == seen -> mem[to].sleeps_for = WOKEN
               :: else -> seen = 0
               fi
           }
           if
           :: seen == ON_BELL -> mem[to].bell = true
           :: seen != 0 && seen != ON_BELL -> mem[to].asleep = false /* FUTEX_WAKE */
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
/* What a rank that blocks relies on later as well, for messages of any rank. */
#if N == 2
#define FENCED_FROM(from) (fenced || MEMBARRIER(queue[from]))
#else
#define FENCED_FROM(from)                                                                          \
    (fenced || (!blocks && MEMBARRIER(queue[from])) ||                                             \
     (blocks && MEMBARRIER(queue[(me + 1) % N]) && MEMBARRIER(queue[(me + N - 1) % N])))
#endif

/* Says that the rank blocks, or does not any more, which only it does, and when it is awake. */
inline change_mode()
{
    if
    :: !blocks -> blocks = true
    :: blocks ->
           blocks = false;
           /* compare and exchange, locked */
           atomic {
               empty(queue[me]);
               if
               :: mem[me].sleeps_for == AWAKE_FENCED -> mem[me].sleeps_for = 0
               :: else
               fi
           };
           fenced = false
    fi
}

/* Stores what it is when awake. `fenced` is what it finds there the next time. */
inline wake_up()
{
    if
    :: blocks -> queue[me] ! SLEEPS_FOR, me, 0, AWAKE_FENCED
    :: else -> queue[me] ! SLEEPS_FOR, me, 0, 0
    fi;
    fenced = blocks
}

/* FUTEX_WAIT: the kernel compares and goes to sleep in one step */
inline sleep(value)
{
    atomic {
        if
        :: mem[me].sleeps_for == value -> mem[me].asleep = true
        :: else
        fi
    }
    !mem[me].asleep
}

inline block(from, at, epoch)
{
    atomic { empty(queue[me]); mem[me].sleeps_for = 1 + at } /* locked */
    /* Where the fence has passed and nothing had come then, it goes to sleep; it may as well find
     * what comes later. */
    if
    :: (!blocks || FENCED_FROM(from)) && mem[me].flag[at] == epoch
    :: atomic {
           FENCED_FROM(from) && mem[me].flag[at] != epoch -> skip
       } ->
           sleep(1 + at)
    fi;
    wake_up()
}

#ifdef BELL
#if N == 2
#define FENCED_FROM_ALL FENCED_FROM(1 - me)
#else
#define FENCED_FROM_ALL                                                                            \
    (fenced || (MEMBARRIER(queue[(me + 1) % N]) && MEMBARRIER(queue[(me + N - 1) % N])))
#endif
/* Sleeps on the bell. sleeps_for stays as it is then, so later sleeps need no membarrier: every sender sees that it is not
 * 0. */
inline block_on_bell(at, epoch)
{
#ifndef BUG_EMPTIED_LATE
    mem[me].bell = false;
#endif
    atomic { empty(queue[me]); mem[me].sleeps_for = ON_BELL } /* locked */
#ifdef BUG_NO_LOOK
    FENCED_FROM_ALL;
    mem[me].bell;
#else
    if
    :: FENCED_FROM_ALL && mem[me].flag[at] == epoch
    :: atomic {
           FENCED_FROM_ALL && mem[me].flag[at] != epoch -> skip
       } ->
#ifdef BUG_EMPTIED_LATE
           mem[me].bell = false;
#endif
           mem[me].bell
    fi;
#endif
    fenced = true
}
#endif

#ifdef ALL
/* Rank 0 sleeps until the messages of all others have come that have not come yet. */
inline block_for_all(epoch)
{
    /* what it lacks as far as it knows, and what it finds later */
    atomic {
        mem[me].lacks = 0;
        round = 0;
        do
        :: round < N - 1 ->
               if
               :: mem[me].flag[FIRST_LINE + round] != epoch ->
                      mem[me].lacks = mem[me].lacks | (1 << round)
               :: else
               fi;
               round++
        :: else -> break
        od;
        missing = mem[me].lacks;
        round = 0
    }
    atomic { empty(queue[me]); mem[me].sleeps_for = FOR_ALL(epoch) } /* locked */
    (fenced || (MEMBARRIER(queue[1]) && MEMBARRIER(queue[N - 1])));
    come = 0;
    do
    :: round < N - 1 ->
           if
           :: (missing & (1 << round)) != 0 && mem[me].flag[FIRST_LINE + round] == epoch ->
                  come = come | (1 << round)
           :: else
           fi;
           round++
    :: else -> break
    od;
    round = 0;
    /* fetch and clear, locked */
    atomic {
        empty(queue[me]);
        mem[me].lacks = mem[me].lacks & (255 - come);
        come = (mem[me].lacks == 0 -> 1 : 0)
    }
    if
    :: come == 0 -> sleep(FOR_ALL(epoch))
    :: else
    fi;
    come = 0;
    missing = 0;
    wake_up()
}

inline await_all(epoch)
{
    do
    :: atomic {
           round = 0;
           do
           :: round < N - 1 && mem[me].flag[FIRST_LINE + round] == epoch -> round++
           :: else -> break
           od;
           if
           :: round == N - 1 ->
                  round = 0;
                  do
                  :: round < N - 1 ->
                         assert(mem[me].payload[FIRST_LINE + round] == epoch);
                         mem[me].consumed[FIRST_LINE + round] = epoch;
                         round++
                  :: else -> break
                  od;
                  break
           :: else -> round = 0
           fi
       }
       if
       :: BLOCKS & (1 << me) -> change_mode()
       :: true
       fi;
       block_for_all(epoch)
    od
}
#endif

inline await(from, at, epoch)
{
    do
    :: atomic {
           mem[me].flag[at] == epoch ->
               assert(mem[me].payload[at] == epoch);
               mem[me].consumed[at] = epoch;
               break
       }
    :: SLEEPERS & (1 << me) && mem[me].flag[at] != epoch ->
           if
           :: BLOCKS & (1 << me) -> change_mode()
           :: true
           fi;
#ifdef BELL
           if
           :: block_on_bell(at, epoch)
           :: block(from, at, epoch)
           fi
#else
           block(from, at, epoch)
#endif
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
#ifdef ALL
    if
    :: me == 0 -> await_all(epoch)
    :: else
    fi;
#else
    do
    :: me == 0 && round < N - 1 -> await(round + 1, FIRST_LINE + round, epoch); round++
    :: else -> break
    od;
#endif
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
    bool blocks, fenced;
#ifdef ALL
    byte come, missing;
#endif

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
