/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two mailboxes from one sender (lib/stale/mailbox.c), as on a ring of three ranks. Each makes CALLS calls. In each it
 * sends its contribution to the next rank, into mailbox OWN. When it has the contribution of the rank before, it
 * forwards it into mailbox FORWARDED, and waits for what that rank has forwarded. Then it uses both contributions. A
 * contribution may be SLACK calls old.
 *
 *     spin -a credit.pml && cc -O2 -DCOLLAPSE -o pan pan.c && ./pan
 *
 * searches all interleavings. It finds, if there is one,
 *   a torn read       a message changes, or is dropped, before its reader has used it: assertion in rank and take;
 *   disorder          a message is taken twice, or an older one after it: assertion in take;
 *   stale data        a contribution is used that is older than allowed: assertion in rank;
 *   a deadlock        a rank waits for a message that is never sent: invalid end state.
 *
 * A mailbox has K places: so few that messages may have to be withheld. The messages of both mailboxes are numbered
 * together. A credit c says that no message before number c will be read again, whatever its mailbox is. So the mailbox
 * whose message is older holds the credit back, and with it what the sender withholds from the other mailbox. Therefore
 * a rank that waits for one mailbox takes what has come in both, and copies what its call still uses.
 *
 * How the bytes of one message are stored and seen is the matter of mailbox.pml. Here a message is written in one step.
 * What a rank does without waiting is one step, too: the message of another rank, or its credit, that comes in between
 * might as well have come before, since neither depends on what the step has done so far.
 *
 * The -DBUG_... ones must fail: see `check`.
 *   ONE_TAKEN   a rank that waits takes what has come in the mailbox for which it waits, and no more;
 *   NOT_COPIED  what is still used is not copied;
 *   NEWER       a credit is that of the mailbox with the newer message.
 */
#define N 3
#ifndef CALLS
#define CALLS 4
#endif
#ifndef SLACK
#define SLACK 2
#endif
#ifndef K
#define K 2
#endif

#define OWN       0
#define FORWARDED 1
#define CELL(b, place) ((b) * K + (place))
#define NEXT      ((me + 1) % N)
#define PREVIOUS  ((me + N - 1) % N)
/* What a message says: its clock, below 8, and its number. The place of the next message is the other one. */
#define STORED(clock, number) ((number) * 8 + (clock))
#define CLOCK_OF(stored)  ((stored) % 8)
#define NUMBER_OF(stored) ((stored) / 8)

/* The mailboxes of a rank, and the credit that it has from the next rank. */
typedef memory {
    bit flag[2 * K];
    byte message[2 * K];
    byte credit;
};

memory mem[N];
byte done;

#define MAY_SEND(b) (withheld[b] > 0 && (last[CELL(b, at[b])] == 0 || last[CELL(b, at[b])] < mem[me].credit))

inline flush(b)
{
    if
    :: MAY_SEND(b) ->
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

#define CAME(b) (mem[me].flag[CELL(b, next[b])])
#ifdef BUG_NEWER
#define CREDIT (held[OWN] > held[FORWARDED] -> held[OWN] : held[FORWARDED])
#else
#define CREDIT (held[OWN] < held[FORWARDED] -> held[OWN] : held[FORWARDED])
#endif

/* Takes the newest message, if there is a new one, drops those before it, and gives a credit. */
inline take(b)
{
    assert(held[b] == 0 || NUMBER_OF(mem[me].message[CELL(b, where[b])]) == held[b]);
    do
    :: CAME(b) ->
           if
           :: held[b] > 0 ->
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
    od;
    mem[PREVIOUS].credit = CREDIT
}

/* What the call uses of mailbox OWN must still be there. */
#define USED_IS_THERE (copied || NUMBER_OF(mem[me].message[used_cell]) == used)

/* Takes the other mailbox's messages as well. If the call uses one of mailbox OWN, it keeps a copy. */
inline take_ahead(b)
{
#ifdef BUG_ONE_TAKEN
    skip
#else
    if
    :: b == FORWARDED && CAME(OWN) ->
           assert(USED_IS_THERE);
#ifndef BUG_NOT_COPIED
           copied = 1
#endif
    :: else
    fi;
    take(1 - b)
#endif
}

#define MUST_WAIT(b) (held[b] == 0 || age[b] + SLACK < clock)
#ifdef BUG_ONE_TAKEN
#define SOME_CAME(b) CAME(b)
#else
#define SOME_CAME(b) (CAME(OWN) || CAME(FORWARDED))
#endif
#define CAN_STEP(b) (!MUST_WAIT(b) || SOME_CAME(b) || MAY_SEND(OWN) || MAY_SEND(FORWARDED))

/* Looks for a contribution that is recent enough. If there is none, does what others may wait for. */
inline look(b)
{
    take(b);
    if
    :: MUST_WAIT(b) ->
           take_ahead(b);
           flush(OWN);
           flush(FORWARDED)
    :: else
    fi
}

/* The three parts of a call. */
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
    assert(USED_IS_THERE);
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
    :: atomic {
           CAN_STEP(OWN) ->
           look(OWN);
           if
           :: !MUST_WAIT(OWN) -> forward(); break
           :: else
           fi
       }
    od;
    do
    :: atomic {
           CAN_STEP(FORWARDED) ->
           look(FORWARDED);
           if
           :: !MUST_WAIT(FORWARDED) ->
                  use();
                  if
                  :: clock < CALLS -> begin(); goto call
                  :: else -> done++; break
                  fi
           :: else
           fi
       }
    od;
    /* the mailboxes are freed when all have made their calls */
    do
    :: atomic { MAY_SEND(OWN) -> flush(OWN) }
    :: atomic { MAY_SEND(FORWARDED) -> flush(FORWARDED) }
    :: done == N -> break
    od
}

init
{
    atomic {
        run rank(0);
        run rank(1);
        run rank(2)
    }
}
