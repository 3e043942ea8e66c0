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
    /* CONTROL_MISMATCH only: low bits of the epoch of the run that the failure breaks */
    uint32_t epoch;
    uint64_t group; /* CONTROL_MISMATCH only: name of the group in which the calls differ */
    char why[256];
    ncoll_error own; /* the error if this rank has failed; status NCOLL_OK: another rank has */
};

/* A peer that is gone, perhaps because another rank failed first: see lib/watch/root_cause.c. */
struct suspect {
    bool pending;
    int rank;
    enum control_kind how;
    uint64_t since_ns;
    char why[256];
};

/* A context's record of a rank. The struct is small, as there is one for each rank of the job. */
struct peer {
    /* number of the rank's node; nodes are numbered in the order of their first ranks */
    uint32_t node : 31;
    uint32_t left : 1;
};

/* The user's memory regions that the transport knows, sorted by address; no two overlap. */
struct memory_table {
    struct memory **all;
    unsigned count, capacity;
    size_t bytes, huge_bytes;
};

#define KEPT_ARRAYS 64u /* number of hash lists in `arrays` */

#define PASSED_ON      64u /* number of questions in `passed_on` */
#define QUESTIONS_HELD 4u  /* number of questions in `held`, each for another peer */
#define HEARD          16u /* number of ranks in `heard` */

/* The last position that another rank has sent to this one: the call in which that rank waits. */
struct heard {
    int rank;
    uint64_t ns; /* when it came; 0: the entry is free */
    struct position position;
};

#define FOUND_MAX 8u /* number of trial results that are kept */

/* Number of reasons for which a call is refused: see entry.c. */
#define REFUSALS 3u
struct entry;
struct gate;

/* How a rank waits: see lib/run/waiting.h. */
struct waiting_mode {
    bool spins;       /* the rank spins between two looks at a flag; false: it yields its core */
    bool blocks;      /* the rank blocks soon, as others compute on its core */
    bool adapts;      /* `blocks` may change; false: NCOLL_SPIN or a clock of the user's is set */
    bool is_crowded;  /* the rank always blocks, as very many ranks share its core */
    unsigned yields;  /* number of yields in a wait before the rank blocks */
    unsigned looks;   /* number of looks of a call at its flags before it does anything else */
    unsigned passes;  /* number of passes between two readings of the clock */
    uint64_t spin_ns; /* time for which a wait spins before it yields or blocks */
    unsigned untimed; /* number of yields until the next one whose duration is measured */
    unsigned times;   /* number of times that the rank has begun to block */
    uint64_t suspects_ns; /* time since which the rank measures each absence; 0: it does not */
    uint64_t lost_ns;     /* sum of the long absences since suspects_ns */
    /* time for which other ranks of the node have used this rank's processor since suspects_ns */
    uint64_t siblings_ns;
    uint64_t away_ns;  /* the absence after which the rank began to block */
    uint64_t hold_ns;  /* time for which the rank blocks before it tries its usual way again */
    uint64_t until_ns; /* time at which the rank will try its usual way again */
    uint64_t tried_ns; /* time at which the rank last tried its usual way; 0: never */
};

/* The file descriptor on which the program sleeps: see lib/run/descriptor.c. */
struct descriptor {
    bool open;
    int set, timer;   /* the epoll set, and a timer in it */
    uint64_t tick_ns; /* interval of the timer; 0: it is off */
    uint64_t ended;   /* ncoll_context.ended when the program last armed the descriptor */
};

struct ncoll_context {
    uint64_t magic;
    ncoll_params settings; /* after the environment was applied; the context owns the strings */
    ncoll_error error;
    struct bootstrap *bootstrap;
    /* the last exchange has ended, and all ranks will take part in another one */
    bool may_exchange;
    unsigned exchanges; /* number of exchanges of the bootstrap begun so far */
    /* number of additional exchanges in which each rank gets the blobs of all others */
    unsigned exchanges_for_all;
    struct transport *transport;
    struct trace *trace; /* NULL: none; see trace.h */
    struct waiting_mode waiting;
    const struct watch_callbacks *watch;
    const struct wiring_callbacks *wiring;
    pid_t pid;           /* process that made the context; differs in a forked child */
    struct gate *gate;   /* keeps track of the thread inside a call: see entry.h */
    bool has_membarrier; /* the kernel has membarrier(), for the gate */
    struct entry *entries;
    /* reason of the latest refused call: enum refusal + 1; 0: none was refused */
    _Atomic unsigned refused;
    /* thread of the latest refused call; 0: none, or a later error was recorded */
    _Atomic uintptr_t refused_thread;
    ncoll_error refusals[REFUSALS];
    int rank, ranks;
    struct startup_costs startup;
    /* stage of the creation, since stage_since_ns (0: no stage has begun) */
    enum startup_stage stage;
    uint64_t stage_since_ns;
    struct places places;
    uint64_t machine; /* see struct node */
    bool one_machine; /* all ranks are on one machine */
    /* The rules that the user has written, the same on all ranks. Rank 0 reads them; rule_texts are
     * their texts, on rank 0 only, until they are sent to the other ranks. */
    struct rules rules;
    struct blob rule_texts;
    /* the entries of the tuning table for this machine, as rank 0 sent them; the same on all
     * ranks */
    struct tune_table tuning;
    bool costs_measured;                /* the transport's costs come from the tuning table */
    struct tune_found found[FOUND_MAX]; /* results of trials; on rank 0 only */
    unsigned n_found;
    struct peer *peers;
    /* [ranks] the domains of each rank, as in struct node; NULL: they are not needed, as in a job
     * on several nodes */
    uint32_t (*domains)[NODE_LEVELS];
    struct addresses addresses;
    unsigned peers_most; /* connections that every rank has room for; 0: there is no limit */
    struct op_table ops;
    struct type_table types;
    struct memory_table memories;
    struct failure failure;
    bool failure_spread;
    struct suspect suspect;
    /* The number of obstacles to the short path of a call: in all groups, calls that have not
     * ended, blocking calls that have timed out, and groups that are being made or freed; in
     * addition 1 for a failure of the job, and 1 for hooks. 0: a call may begin at once. */
    unsigned pending;
    struct hook_state hooks;
    /* `groups` lists all living groups; the world is the last one */
    struct ncoll_group *world, *groups;
    struct ncoll_group *busy;
    struct ncoll_stale *stales; /* all objects of lib/stale */
    unsigned withheld;          /* messages and credits of `stales` that could not be sent yet */
    bool *id_used;              /* [WINDOWS_MAX] ids of windows that are in use */
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
    struct ncoll_compressor *compressors; /* list of all compressors */
    struct descriptor descriptor;
    uint64_t ended; /* counts calls that have ended other than on the short path */
    uint64_t moved; /* counts runs that have advanced in ncoll__advance() */
    uint64_t puts, put_bytes, landed_bytes, shown_bytes, lent_bytes, exchanged_bytes;
    uint64_t next_check_ns; /* next time to look after the peers */
    uint64_t next_tell_ns;  /* next time to tell the peers the position of this rank */
    unsigned tells;
    unsigned looks; /* number of groups searched so far for messages of other calls */
    /* Questions that are not to be passed on again before until_ns: see deadlock.c. */
    struct passed_on {
        uint64_t question, until_ns;
    } passed_on[PASSED_ON];
    /* Questions that could not be passed on yet, at most one for each peer. Until its question is
     * passed on, a peer is told no position of this rank. */
    struct held_question {
        bool any;
        int teller, to; /* world ranks */
        struct position position;
    } held[QUESTIONS_HELD];
    struct heard heard[HEARD];
    /* The blocking call in which this rank waits, and its group; set only while this rank looks
     * after its peers. */
    struct ncoll_group *blocked_in;
    struct call *blocked_call;
    /* arrays of counts that plans use: see lib/plan/arrays.c */
    struct kept_array *arrays[KEPT_ARRAYS];
};

#endif
