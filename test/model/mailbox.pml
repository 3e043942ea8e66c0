/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mailboxes of stale-synchronous collectives (lib/stale/), on processors that store late: each of N ranks makes CALLS
 * calls, and in each sends its contribution to all others. The clock of a contribution is the number of the call. The
 * messages of a sender to a receiver have numbers as well. A mailbox has K = 2 places, in place of 8; message n goes to
 * place n % K. Its reader takes the newest message, and keeps it until there is a newer one. A call waits for
 * contributions that are more than SLACK calls old.
 *
 *     spin -a mailbox.pml && cc -O2 -DCOLLAPSE -o pan pan.c && ./pan
 *
 * searches all interleavings. It finds, if there is one,
 *   a torn read       a message changes while its reader takes it, or while the reader keeps it: assertion in read;
 *   stale data        a contribution is used that is older than allowed: assertion in rank;
 *   a lost message    a withheld contribution is not sent later, and its reader waits for ever: invalid end state.
 *
 * A sender writes to a place only if the reader's credit says that the message there, and all older ones, will not be
 * read again. Otherwise it withholds its contribution, until a credit comes or a newer contribution takes its place.
 * Memory is that of flag.pml. A rank that has made its calls goes on sending what it has withheld, as the call that
 * frees the mailboxes does. With -DRING a rank sends to the next one only, and with -DWHOLE a message reaches memory at
 * once. The -DBUG_... ones must fail: see `check`. One of them, PLACE_BY_CLOCK, was a first draft of the protocol: if
 * the clock chooses the place, the place of a withheld contribution may be the one that its reader keeps.
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
#define K 2
#ifdef RING
#define SENDS(from, to) ((to) == ((from) + 1) % N)
#else
#define SENDS(from, to) ((to) != (from))
#endif
#define PLACE(from, number) ((from) * K + (number) % K)

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

mtype = { FLAG, PAYLOAD, CREDIT };

typedef memory {
    byte flag[N * K];
    byte payload[N * K]; /* clock of the contribution */
    byte credit[N];      /* of each rank: it reads no message of this rank before the one of this number */
};

memory mem[N];
chan queue[N] = [2] of { mtype, byte, byte, byte }; /* what, whose, place, value */
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
           :: what == FLAG -> mem[whose].flag[place] = value
           :: what == PAYLOAD -> mem[whose].payload[place] = value
           :: else -> mem[whose].credit[place] = value
           fi;
           what = 0; whose = 0; place = 0; value = 0
       }
    od
}

/* Messages to a rank have numbers, from 1. In the place of message n is message n - K. */
#ifdef BUG_NO_CREDIT
#define MAY_SEND(to) true
#else
#define MAY_SEND(to) (sent[to] < K || mem[me].credit[to] + K > sent[to] + 1)
#endif
#ifdef BUG_PLACE_BY_CLOCK
#define NUMBER(to) withheld[to]
#undef MAY_SEND
#define MAY_SEND(to) (withheld[to] <= K || mem[me].credit[to] + K > withheld[to])
#else
#define NUMBER(to) sent[to]
#endif

/* Sends what is withheld, if it may. In one step, as nobody sees what enters a queue. */
inline flush(to)
{
    atomic {
        if
        :: withheld[to] > 0 && MAY_SEND(to) ->
               sent[to]++;
#ifdef WHOLE
               mem[to].payload[PLACE(me, NUMBER(to))] = withheld[to];
               mem[to].flag[PLACE(me, NUMBER(to))] = NUMBER(to);
#else
               empty(queue[me]);
#ifdef BUG_FLAG_FIRST
               queue[me] ! FLAG, to, PLACE(me, NUMBER(to)), NUMBER(to);
               queue[me] ! PAYLOAD, to, PLACE(me, NUMBER(to)), withheld[to];
#else
               queue[me] ! PAYLOAD, to, PLACE(me, NUMBER(to)), withheld[to];
               queue[me] ! FLAG, to, PLACE(me, NUMBER(to)), NUMBER(to);
#endif
#endif
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
    atomic { assert(mem[me].payload[PLACE(from, held[from])] == age[from]) }
}

/* Takes the newest message of the mailbox: looks at its places one after the other. */
inline take(from)
{
    newest = held[from];
    old = age[from];
    place = 0;
    do
    :: place < K ->
           atomic {
               if
               :: mem[me].flag[from * K + place] > newest -> newest = mem[me].flag[from * K + place]
               :: else
               fi;
               place++
           }
    :: else -> break
    od;
    atomic {
        if
        :: newest > held[from] ->
               held[from] = newest;
               age[from] = mem[me].payload[PLACE(from, newest)];
               assert(age[from] > old);
#ifdef WHOLE
               mem[from].credit[me] = GIVEN_FOR(newest)
#else
               nfull(queue[me]);
               queue[me] ! CREDIT, from, me, GIVEN_FOR(newest)
#endif
        :: else
        fi;
        newest = 0;
        old = 0;
        place = 0
    }
}

/* True if a newer message than the one that is kept has come. */
#define CAME(from) (mem[me].flag[(from) * K] > held[from] || mem[me].flag[(from) * K + 1] > held[from])

proctype rank(byte me)
{
    byte clock, other, from, newest, old, place, i;
    byte held[N];     /* number of the message that it keeps; 0: none */
    byte age[N];      /* its clock */
    byte sent[N];     /* messages sent to each */
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
