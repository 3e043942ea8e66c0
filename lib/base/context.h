/* SPDX-License-Identifier: BSD-3-Clause */
/* A context: it owns a bootstrap, a transport and its groups. */
#ifndef NCOLL_LIB_BASE_CONTEXT_H
#define NCOLL_LIB_BASE_CONTEXT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "bootstrap/bootstrap.h"
#include "lib/base/addresses.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/hooks.h"
#include "lib/base/startup.h"
#include "lib/base/system.h"
#include "lib/base/definition.h"
#include "lib/base/type.h"
#include "lib/choose/rules.h"
#include "lib/choose/tune_table.h"
#include "lib/topology/places.h"
#include "ncoll.h"
#include "transport/transport.h"

#define CONTEXT_MAGIC UINT64_C(0x6e636f6c6c637478)
#define CONTEXT_NEW   UINT64_C(0x6e636f6c6c6e6577) /* magic while it is being created */

struct call;
struct kept_array;
struct ncoll_compressor;
struct trace;

/* The failure that broke the job for this rank. The first failure stays. */
struct failure {
    enum control_kind kind;
    int rank[2]; /* world ranks; see struct control */
    struct signature signature[2];
    uint32_t epoch; /* low bits of the epoch of the run that it breaks; for CONTROL_MISMATCH only */
    uint64_t group; /* name of the group of the mismatch; for CONTROL_MISMATCH only */
    char why[256];
    ncoll_error own; /* the error of this rank; status NCOLL_OK if another rank failed */
};

/* A peer that is gone, perhaps because another rank failed first: see lib/watch/root_cause.c. */
struct suspect {
    bool pending;
    int rank;
    enum control_kind how;
    uint64_t since_ns;
    char why[256];
};

/* There is one for each rank of the job, so it is small. */
struct peer {
    uint32_t node : 31; /* number of its node, in the order of their first ranks */
    uint32_t left : 1;
};

/* The user's memory regions that the transport knows, sorted by address; no two overlap. */
struct memory_table {
    struct memory **all;
    unsigned count, capacity;
    size_t bytes, huge_bytes;
};

#define KEPT_ARRAYS 64u /* lists of them, by their hash */

#define PASSED_ON      64u /* questions that are remembered */
#define QUESTIONS_HELD 4u  /* peers for which a question is kept */
#define HEARD          16u /* ranks whose last position is remembered */

/* The last position that another rank has sent to this one: the call in which that rank waits. */
struct heard {
    int rank;
    uint64_t ns; /* when it came; 0: the entry is free */
    struct position position;
};

#define FOUND_MAX 8u /* trial results that are kept */

/* See entry.h. */
#define REFUSALS 3u
struct entry;
struct gate;

/* How a rank waits: see lib/run/waiting.h. */
struct waiting_mode {
    bool spins;           /* between two looks; false: it yields its core */
    bool blocks;          /* soon, as its core is not its own alone */
    bool adapts;          /* false: NCOLL_SPIN was given, or a clock, and it never blocks so */
    bool is_crowded;      /* so many ranks share its core that it always blocks */
    unsigned yields;      /* of a wait, before it blocks */
    unsigned looks;       /* of a call at its flags before it does anything else */
    unsigned passes;      /* between two readings of the clock */
    uint64_t spin_ns;     /* spins for so long before it yields or blocks */
    unsigned untimed;     /* yields between looks until the next one that is timed */
    unsigned times;       /* times that it began to block */
    uint64_t suspects_ns; /* since when it measures each absence; 0: it does not */
    uint64_t lost_ns;     /* what it was away for since then */
    uint64_t siblings_ns; /* what other ranks of the node have used of its processor since then */
    uint64_t away_ns;     /* what the rank was away for when it began to block */
    uint64_t hold_ns;     /* for how long it blocks */
    uint64_t until_ns;    /* when it tries its usual way again */
    uint64_t tried_ns;    /* when it last did so; 0: never */
};

/* The descriptor on which the program sleeps: see lib/run/descriptor.c. */
struct descriptor {
    bool open;
    int set, timer;   /* the epoll set, and a timer in it */
    uint64_t tick_ns; /* its interval; 0: it is off */
    uint64_t ended;   /* calls that had ended when the program last armed it */
};

struct ncoll_context {
    uint64_t magic;
    ncoll_params settings; /* after the environment was applied; the context owns the strings */
    ncoll_error error;
    struct bootstrap *bootstrap;
    /* the last exchange has ended, and all ranks will take part in another one */
    bool may_exchange;
    unsigned exchanges;         /* of the bootstrap, begun so far */
    unsigned exchanges_for_all; /* further ones in which each rank gets the blobs of all others */
    struct transport *transport;
    struct trace *trace; /* NULL: none; see trace.h */
    struct waiting_mode waiting;
    const struct watch_callbacks *watch;
    const struct wiring_callbacks *wiring;
    pid_t pid;           /* process that made the context; differs in a forked child */
    struct gate *gate;   /* keeps track of the thread inside a call: see entry.h */
    bool has_membarrier; /* the kernel has membarrier(), for the gate */
    struct entry *entries;
    /* latest refused call: enum refusal + 1; 0: there is a later error */
    _Atomic unsigned refused;
    _Atomic uintptr_t refused_thread; /* thread of the latest refused call */
    ncoll_error refusals[REFUSALS];
    int rank, ranks;
    struct startup_costs startup;
    enum startup_stage stage; /* of creation, since stage_since_ns; 0 before the first one */
    uint64_t stage_since_ns;
    struct places places;
    uint64_t machine; /* see struct node */
    bool one_machine; /* all ranks are on one machine */
    /* rules that a person wrote, as rank 0 has read them; the same on all ranks; and on rank 0,
     * until it has sent them, the texts from which it has read them */
    struct rules rules;
    struct blob rule_texts;
    /* the entries of the tuning table for this machine, as rank 0 sent them; the same on all
     * ranks */
    struct tune_table tuning;
    bool costs_measured;                /* the transport's costs come from the tuning table */
    struct tune_found found[FOUND_MAX]; /* results of trials; on rank 0 only */
    unsigned n_found;
    struct peer *peers;
    /* the domains of each rank: see struct node; NULL: the job has several nodes */
    uint32_t (*domains)[NODE_LEVELS];
    struct addresses addresses;
    unsigned peers_most; /* connections that every rank has room for; 0: there is no limit */
    struct op_table ops;
    struct type_table types;
    struct memory_table memories;
    struct failure failure;
    bool failure_spread;
    struct suspect suspect;
    /* Counts in all groups: calls that have not ended, blocking calls that have timed out, groups
     * that are being made or freed; the failure of the job; and hooks. 0: a call may begin at once. */
    unsigned pending;
    struct hook_state hooks;
    struct ncoll_group *world, *groups; /* `groups` lists all that live; the world is its last */
    struct ncoll_group *busy;
    struct ncoll_stale *stales; /* all objects of lib/stale */
    unsigned withheld;          /* their messages and credits that could not be sent yet */
    bool *id_used;              /* [WINDOWS_MAX] */
    struct ncoll_group *spare;  /* handles of freed groups, the oldest first */
    struct ncoll_group *spare_last;
    unsigned n_spare;
    /* number of groups that this rank has taken part in making */
    uint64_t created;
    /* list of all requests, which are freed with the context */
    struct ncoll_request *requests;
    /* finished requests whose memory may be used again: see request.c */
    struct ncoll_request *oldest_idle, *latest_idle;
    unsigned n_idle;
    struct ncoll_compressor *compressors; /* list of all */
    struct descriptor descriptor;
    uint64_t ended; /* counts calls that have ended other than on the short path */
    uint64_t moved; /* counts runs that have advanced in ncoll__advance() */
    uint64_t puts, put_bytes, landed_bytes, shown_bytes, lent_bytes, exchanged_bytes;
    uint64_t next_check_ns; /* next time to look after the peers */
    uint64_t next_tell_ns;  /* next time to tell the peers what this rank waits in */
    unsigned tells;
    unsigned looks; /* number of times that groups were searched for messages of other calls */
    /* Questions that are not to be passed on again before until_ns: see deadlock.c. */
    struct passed_on {
        uint64_t question, until_ns;
    } passed_on[PASSED_ON];
    /* Questions that could not be passed on yet, each for another peer. They come before what this rank
     * tells that peer itself. */
    struct held_question {
        bool any;
        int teller, to; /* world ranks */
        struct position position;
    } held[QUESTIONS_HELD];
    struct heard heard[HEARD];
    /* The group and the call in which this rank is blocked, set while it looks after its peers. */
    struct ncoll_group *blocked_in;
    struct call *blocked_call;
    struct kept_array *arrays[KEPT_ARRAYS]; /* the counts of plans: see lib/plan/arrays.c */
};

#endif
