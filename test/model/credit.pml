/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two mailboxes from one sender (lib/stale/mailbox.c), as on a ring of N ranks. Each makes CALLS calls. In each it sends
 * its contribution to the next rank, into mailbox OWN. When it has the contribution of the rank before, it forwards it
 * into mailbox FORWARDED, and waits for what that rank has forwarded. Then it uses both contributions. A contribution
 * may be SLACK calls old.
 *
 *     spin -a credit.pml && cc -O2 -DCOLLAPSE -o pan pan.c && ./pan
 *
 * searches all interleavings. It finds, if there is one,
 *   a torn read       a message changes, or is dropped, before its reader has used it: assertion in use;
 *   an overwrite      a message is written to a place whose message has not been dropped: assertion in flush;
 *   disorder          a message is taken twice, or an older one after it: assertion in take;
 *   stale data        a contribution is used that is older than allowed: assertion in use;
 *   a deadlock        a rank waits for a message that is never sent: invalid end state.
 *
 * A mailbox has two places, where the library has at least four, so that messages often have to be withheld. They are
 * used in turn. The messages of both mailboxes are numbered together. A credit c says that no message before number c
 * will be read again, whatever its mailbox is. (The library sends c - 1, the last message that has been dropped.) A
 * sender writes to a place only if its last message there has a number below its credit. Otherwise it withholds its
 * contribution, until a credit comes or a newer contribution takes its place. So the mailbox whose message is older
 * holds the credit back, and with it what the sender withholds from the other mailbox. Therefore a rank that waits for
 * one mailbox takes what has come in the other one, too, and copies what its call still uses.
 *
 * Each taking, each credit and each message is a step of its own. To take a message, and to send one because of it, is
 * one step: nobody sees the first without the second, and what comes in between is seen by the next step. A withheld
 * message may leave at any time after its credit. A credit is given at the end of each call, and while a rank waits;
 * with -DLATE only while it waits. How the bytes of one message are stored and seen is the matter of mailbox.pml; here a
 * message is written in one step. Queues of the device that are full are not modelled.
 *
 * The -DBUG_... ones must fail: see `check`. So must -DREACHED_..., which show that the search gets there: to the end, and
 * to a rank that waits for mailbox OWN and takes from the other one (N = 2, CALLS = 6, SLACK = 1).
 *   ONE_TAKEN   a rank that waits takes what has come in the mailbox for which it waits, and no more;
 *   NOT_COPIED  what is still used is not copied;
 *   NEWER       a credit is that of the mailbox with the newer message;
 *   TOO_OLD     a contribution may be one call older;
 *   NONE_TAKEN  nothing is ever taken.
 */
#ifndef N
#define N 3
#endif
#ifndef CALLS
#define CALLS 4
#endif
#ifndef SLACK
#define SLACK 2
#endif
#define K 2

#define OWN       0
#define FORWARDED 1
#define CELL(b, place) ((b) * K + (place))
#define NEXT      ((me + 1) % N)
#define PREVIOUS  ((me + N - 1) % N)
/* What a message says: its clock, below 8, and its number. The place of the next message is the other one. */
#define STORED(clock, number) ((number) * 8 + (clock))
#define CLOCK_OF(stored)  ((stored) % 8)
#define NUMBER_OF(stored) ((stored) / 8)

#ifdef BUG_TOO_OLD
#define OLDEST_BY (SLACK + 1)
#else
#define OLDEST_BY SLACK
#endif

/* The mailboxes of a rank, and the credit that it has from the next rank. */
typedef memory {
    bit flag[2 * K];
    byte message[2 * K];
    byte credit;
};

memory mem[N];
byte done;

/* ------------------------------------------------------------------ sending */

#define MAY_SEND(b) (withheld[b] > 0 && (last[CELL(b, at[b])] == 0 || last[CELL(b, at[b])] < mem[me].credit))

inline flush(b)
{
    if
    :: MAY_SEND(b) ->
           assert(mem[NEXT].flag[CELL(b, at[b])] == 0);
           sent++;
           mem[NEXT].message[CELL(b, at[b])] = STORED(withheld[b], sent);
           mem[NEXT].flag[CELL(b, at[b])] = 1;
           last[CELL(b, at[b])] = sent;
           at[b] = (at[b] + 1) % K;
           withheld[b] = 0
    :: else
    fi
}

/* A newer message takes the place of one that is withheld. */
inline send(b, its_clock)
{
    withheld[b] = its_clock;
    flush(b)
}

/* ------------------------------------------------------------------ reading */

#ifdef BUG_NONE_TAKEN
#define CAME(b) false
#else
#define CAME(b) (mem[me].flag[CELL(b, next[b])])
#endif
#define IS_THERE(cell, number) (NUMBER_OF(mem[me].message[cell]) == (number))

/* Takes the newest message, if there is a new one, and drops those before it. */
inline take(b)
{
    do
    :: CAME(b) ->
           if
           :: held[b] > 0 ->
                  assert(IS_THERE(CELL(b, where[b]), held[b]));
                  mem[me].flag[CELL(b, where[b])] = 0;
                  mem[me].message[CELL(b, where[b])] = 0
           :: else
           fi;
           where[b] = next[b];
           next[b] = (next[b] + 1) % K;
           assert(NUMBER_OF(mem[me].message[CELL(b, where[b])]) > held[b]);
           assert(CLOCK_OF(mem[me].message[CELL(b, where[b])]) >= age[b]);
           held[b] = NUMBER_OF(mem[me].message[CELL(b, where[b])]);
           age[b] = CLOCK_OF(mem[me].message[CELL(b, where[b])])
    :: else -> break
    od
}

/* A rank that waits for mailbox `b` takes what has come in the other one. If the call uses a message from there, it
 * keeps a copy. */
#ifdef BUG_ONE_TAKEN
#define OTHER_CAME(b) false
#else
#define OTHER_CAME(b) CAME(1 - (b))
#endif

inline take_ahead(b)
{
    if
    :: b == FORWARDED ->
           assert(copied || IS_THERE(used_cell, used));
#ifdef BUG_NOT_COPIED
           skip
#else
           copied = 1
#endif
    :: else
#ifdef REACHED_AHEAD
           assert(false)
#endif
    fi;
    take(1 - b)
}

#ifdef BUG_NEWER
#define CREDIT (held[OWN] > held[FORWARDED] -> held[OWN] : held[FORWARDED])
#else
#define CREDIT (held[OWN] < held[FORWARDED] -> held[OWN] : held[FORWARDED])
#endif

inline give_credit()
{
    mem[PREVIOUS].credit = CREDIT
}

/* ------------------------------------------------------------------ calls */

#define MUST_WAIT(b) (held[b] == 0 || age[b] + OLDEST_BY < clock)

inline begin()
{
    clock++;
    send(OWN, clock)
}

inline forward()
{
    used = held[OWN];
    used_age = age[OWN];
    used_cell = CELL(OWN, where[OWN]);
    send(FORWARDED, used_age)
}

inline use()
{
    assert(copied || IS_THERE(used_cell, used));
    assert(IS_THERE(CELL(FORWARDED, where[FORWARDED]), held[FORWARDED]));
    assert(used_age > 0 && used_age + SLACK >= clock);
    assert(age[FORWARDED] > 0 && age[FORWARDED] + SLACK >= clock);
    used = 0;
    used_age = 0;
    used_cell = 0;
    copied = 0
}

proctype rank(byte me)
{
    byte clock;
    byte held[2], age[2];   /* the message that it keeps of each mailbox: its number, or 0, and its clock */
    byte where[2], next[2]; /* its place, and that of the next one */
    byte sent;              /* messages sent */
    byte at[2];             /* the place of the next message to each mailbox of the next rank */
    byte last[2 * K];       /* the number of the message that was put last into each of their places */
    byte withheld[2];       /* clock of what it has not sent; 0: none */
    byte used, used_age, used_cell; /* the message of mailbox OWN that the call uses: number, clock, where it was */
    bit copied;

    atomic { begin() }
call:
    do
    :: atomic { MUST_WAIT(OWN) && CAME(OWN) -> take(OWN) }
    :: atomic { MUST_WAIT(OWN) && OTHER_CAME(OWN) -> take_ahead(OWN) }
    :: atomic { MUST_WAIT(OWN) && mem[PREVIOUS].credit != CREDIT -> give_credit() }
    :: atomic { MAY_SEND(OWN) -> flush(OWN) }
    :: atomic { MAY_SEND(FORWARDED) -> flush(FORWARDED) }
    :: atomic {
           !MUST_WAIT(OWN) ->
           take(OWN);
           forward();
           break
       }
    od;
    do
    :: atomic { MUST_WAIT(FORWARDED) && CAME(FORWARDED) -> take(FORWARDED) }
    :: atomic { MUST_WAIT(FORWARDED) && OTHER_CAME(FORWARDED) -> take_ahead(FORWARDED) }
    :: atomic { MUST_WAIT(FORWARDED) && mem[PREVIOUS].credit != CREDIT -> give_credit() }
    :: atomic { MAY_SEND(OWN) -> flush(OWN) }
    :: atomic { MAY_SEND(FORWARDED) -> flush(FORWARDED) }
    :: atomic {
           !MUST_WAIT(FORWARDED) ->
           take(FORWARDED);
           use();
#ifndef LATE
           give_credit();
#endif
           if
           :: clock < CALLS -> begin(); goto call
           :: else -> done++; break
           fi
       }
    od;
    /* the mailboxes are freed when all have made their calls */
    do
    :: atomic { MAY_SEND(OWN) -> flush(OWN) }
    :: atomic { MAY_SEND(FORWARDED) -> flush(FORWARDED) }
    :: done == N -> break
    od
#ifdef REACHED_END
    assert(false)
#endif
}

init
{
    byte i;

    atomic {
        do
        :: i < N -> run rank(i); i++
        :: else -> break
        od
    }
}
