/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mailboxes of stale-synchronous collectives (lib/stale/), on processors that store late: each of N ranks makes CALLS
 * calls, and in each sends its contribution to all others. The clock of a contribution is the number of the call. The
 * messages of a sender to a receiver have numbers as well. A mailbox has K places, 2 or 3 in place of 8. The first
 * message goes to place 0, and each says where the next one goes: to any place that is free, or, if none is, to the one
 * with the oldest message. (The library takes one of the free ones by a rule, which does not matter here.) The reader
 * takes the newest message, and keeps it until there is a newer one. A call waits for contributions that are more than
 * SLACK calls old.
 *
 *     spin -a mailbox.pml && cc -O2 -DCOLLAPSE -o pan pan.c && ./pan
 *
 * searches all interleavings. It finds, if there is one,
 *   a torn read       a message changes while its reader takes it, or while the reader keeps it: assertion in read;
 *   disorder          a message is passed over, or taken twice: assertion in take;
 *   stale data        a contribution is used that is older than allowed: assertion in rank;
 *   a lost message    a withheld contribution is not sent later, and its reader waits for ever: invalid end state.
 *
 * A sender writes to a place only if the reader's credit says that the message there, and all older ones, will not be
 * read again. The reader lowers the flags of those before it gives the credit. Otherwise the sender withholds its contribution, until a credit comes or a newer contribution takes its place.
 * Memory is that of flag.pml. A rank that has made its calls goes on sending what it has withheld, as the call that
 * frees the mailboxes does. With -DRING a rank sends to the next one only, and with -DWHOLE a message reaches memory at
 * once. The -DBUG_... ones must fail: see `check`. In one of them, NEWEST_PLACE, the next message goes to the place of the
 * newest one, which the reader keeps until there is a newer one: so both wait for ever.
 */
#ifndef N
#define N 3
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef SLACK
#define SLACK 1
#endif
#ifndef K
#define K 2
#endif
#ifndef QUEUE
#define QUEUE 2
#endif
#ifdef RING
#define SENDS(from, to) ((to) == ((from) + 1) % N)
#else
#define SENDS(from, to) ((to) != (from))
#endif
#define CELL(from, place) ((from) * K + (place))
/* What a message says: its clock, below 8, the place of the next message, and its number, below 8. */
#define STORED(clock, next, number) ((number) * 32 + (next) * 8 + (clock))
#define CLOCK_OF(stored) ((stored) % 8)
#define NEXT_OF(stored) ((stored) / 8 % 4)
#define NUMBER_OF(stored) ((stored) / 32)

#ifdef BUG_CREDIT_TOO_MUCH
#define GIVEN_FOR(number) ((number) + 1)
#else
#define GIVEN_FOR(number) (number)
#endif
#ifdef BUG_TOO_OLD
#define OLDEST_BY (SLACK + 1)
#else
#define OLDEST_BY SLACK
#endif

mtype = { FLAG, PAYLOAD, LOWER, CREDIT };

typedef memory {
    bit flag[N * K];
    bit lowered[N * K];  /* the owner has lowered the flag, and this has not reached memory yet: it sees its own store */
    byte payload[N * K];
    byte credit[N];      /* of each rank: it reads no message of this rank before the one of this number */
};

memory mem[N];
chan queue[N] = [QUEUE] of { mtype, byte, byte, byte }; /* what, whose, place, value */
byte done;

/* Brings the stores of one rank to memory, one at a time and whenever it likes. */
proctype drain(byte me)
{
    mtype what;
    byte whose, place, value;

end:
    do
    :: atomic {
           queue[me] ? what, whose, place, value;
           if
           :: what == FLAG -> mem[whose].flag[place] = 1
           :: what == LOWER ->
                  mem[me].flag[place] = 0;
                  mem[me].lowered[place] = 0
           :: what == PAYLOAD -> mem[whose].payload[place] = value
           :: else -> mem[whose].credit[place] = value
           fi;
           what = 0; whose = 0; place = 0; value = 0
       }
    od
}

/* Messages to a rank have numbers, from 1; last[] has the number of the message that was put last into a place. */
#define LAST(to, place) last[CELL(to, place)]
#define IS_FREE(to, place) (LAST(to, place) == 0 || LAST(to, place) < mem[me].credit[to])
#ifdef BUG_NO_CREDIT
#define MAY_SEND(to) true
#else
#define MAY_SEND(to) IS_FREE(to, at[to])
#endif

/* Chooses the place of the message after the next one. */
inline choose(to)
{
#ifdef BUG_NEWEST_PLACE
    after = at[to];
#else
    after = (at[to] + 1) % K;
#if K == 3
    other_place = (at[to] + 2) % K;
    if
    :: IS_FREE(to, other_place) -> after = other_place
    :: IS_FREE(to, after) -> skip
    :: !IS_FREE(to, other_place) && !IS_FREE(to, after) && LAST(to, other_place) < LAST(to, after) -> after = other_place
    :: !IS_FREE(to, other_place) && !IS_FREE(to, after) && LAST(to, other_place) >= LAST(to, after) -> skip
    fi;
    other_place = 0
#endif
#endif
}

/* Sends what is withheld, if it may. In one step, as nobody sees what enters a queue. */
inline flush(to)
{
    atomic {
        if
        :: withheld[to] > 0 && MAY_SEND(to) ->
               sent[to]++;
               choose(to);
#ifdef WHOLE
               mem[to].payload[CELL(me, at[to])] = STORED(withheld[to], after, sent[to]);
               mem[to].flag[CELL(me, at[to])] = 1;
#else
               empty(queue[me]);
#ifdef BUG_FLAG_FIRST
               queue[me] ! FLAG, to, CELL(me, at[to]), 1;
               queue[me] ! PAYLOAD, to, CELL(me, at[to]), STORED(withheld[to], after, sent[to]);
#else
               queue[me] ! PAYLOAD, to, CELL(me, at[to]), STORED(withheld[to], after, sent[to]);
               queue[me] ! FLAG, to, CELL(me, at[to]), 1;
#endif
#endif
               LAST(to, at[to]) = sent[to];
               at[to] = after;
               after = 0;
               withheld[to] = 0
        :: else
        fi
    }
}

#define TOO_OLD(from) (held[from] == 0 || age[from] + OLDEST_BY < clock)
/* Some contribution is withheld that may be sent now. */
#define CAN_FLUSH_TO(to) (withheld[to] > 0 && MAY_SEND(to))
#define CAN_FLUSH (CAN_FLUSH_TO(0) || CAN_FLUSH_TO(1) || N > 2 && CAN_FLUSH_TO(N - 1))

inline flush_all()
{
    atomic {
        i = 0;
        do
        :: i < N ->
               if
               :: CAN_FLUSH_TO(i) -> break
               :: else -> i++
               fi
        :: else -> break
        od
    }
    if
    :: i < N -> flush(i)
    :: else
    fi;
    i = 0
}

inline read(from)
{
    atomic { assert(CLOCK_OF(mem[me].payload[CELL(from, where[from])]) == age[from]) }
}

/* True if a newer message than the one that is kept has come. */
#define CAME(from) (mem[me].flag[CELL(from, next[from])] && !mem[me].lowered[CELL(from, next[from])])

/* Lowers the flag of the message that it keeps. */
inline drop(from)
{
#ifdef BUG_NOT_LOWERED
    skip
#else
#ifdef WHOLE
    mem[me].flag[CELL(from, where[from])] = 0
#else
    nfull(queue[me]);
    mem[me].lowered[CELL(from, where[from])] = 1;
    queue[me] ! LOWER, me, CELL(from, where[from]), 0
#endif
#endif
}

/* Takes the newest message of the mailbox: follows the messages from place to place. */
inline take(from)
{
    old = age[from];
    do
    :: atomic {
           CAME(from) ->
           if
           :: held[from] > 0 -> drop(from)
           :: else
           fi;
           held[from]++;
           where[from] = next[from];
           next[from] = NEXT_OF(mem[me].payload[CELL(from, where[from])]);
           age[from] = CLOCK_OF(mem[me].payload[CELL(from, where[from])]);
           assert(NUMBER_OF(mem[me].payload[CELL(from, where[from])]) == held[from])
       }
    :: atomic { !CAME(from) -> break }
    od;
    atomic {
        if
        :: age[from] != old ->
               assert(age[from] > old);
#ifdef WHOLE
               mem[from].credit[me] = GIVEN_FOR(held[from])
#else
               nfull(queue[me]);
               queue[me] ! CREDIT, from, me, GIVEN_FOR(held[from])
#endif
        :: else
        fi;
        old = 0
    }
}

proctype rank(byte me)
{
    byte clock, other, from, old, after, i;
#if K == 3
    byte other_place;
#endif
    byte held[N];     /* number of the message that it keeps; 0: none */
    byte age[N];      /* its clock */
    byte where[N];    /* its place */
    byte next[N];     /* the place of the message after it */
    byte sent[N];     /* messages sent to each */
    byte at[N];       /* the place of the next message to each */
    byte last[N * K]; /* the number of the last message in each place */
    byte withheld[N]; /* clock of the contribution that it has not sent to each; 0: none */

    do
    :: clock < CALLS ->
           clock++;
           other = 0;
           do
           :: other < N ->
                  if
                  :: SENDS(me, other) ->
                         withheld[other] = clock;
                         flush(other);
#ifdef BUG_LOST
                         withheld[other] = 0
#endif
                  :: else
                  fi;
                  other++
           :: else -> break
           od;
           other = 0;
           from = 0;
           do
           :: from < N ->
                  if
                  :: SENDS(from, me) ->
                         take(from);
                         do
                         :: TOO_OLD(from) && CAME(from) -> take(from)
                         :: TOO_OLD(from) && CAN_FLUSH -> flush_all()
                         :: !TOO_OLD(from) -> break
                         od;
                         assert(age[from] > 0 && age[from] + SLACK >= clock);
                         read(from)
                  :: else
                  fi;
                  from++
           :: else -> break
           od;
           from = 0
    :: else -> break
    od;
    done++;
    /* the mailboxes are freed when all have made their calls */
    do
    :: done == N -> break
    :: done < N && CAN_FLUSH -> flush_all()
    od
}

init
{
    byte i;

    atomic {
        do
        :: i < N ->
#ifndef WHOLE
               run drain(i);
#endif
               run rank(i);
               i++
        :: else -> break
        od
    }
}
