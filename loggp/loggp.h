/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulator of schedules: all ranks of one call, each with a clock of its own, under LogGP.
 *
 * A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman: LogGP, JPDC 44(1), 1997; a write directly
 * after another costs less than the first: T. Hoefler, T. Mehlan, F. Mietke, W. Rehm: LogfP - a
 * model for small messages in InfiniBand, IPDPS 2006; noise as detours of the processor: T.
 * Hoefler, T. Schneider, A. Lumsdaine: Characterizing the Influence of System Noise on Large-Scale
 * Applications by Simulation, SC 2010.
 *
 * Rules, for a message of b bytes:
 *   - a put takes its sender o, or `next_ns` if it follows directly on another put;
 *   - the bytes take b G. In shared memory the sender copies them (`copies`); otherwise the network
 *     card sends one message after the other, each in max(g, b G), while the sender goes on;
 *   - the message arrives L after its last byte has left, and `hop_ns` later for each switch that
 *     it passes beyond the first;
 *   - the receiver's wait ends when the message has arrived, and then takes `receive_ns` more, and
 *     `read_byte_ns` for each byte, since in shared memory the bytes are in the sender's cache. A
 *     message of more than `beside_bytes` does not lie beside its flag; to read its first byte
 *     takes L;
 *   - in shared memory a message of `stay_bytes` or more that is put from scratch is not copied,
 *     and neither is one that follows on a put of the same data to another rank: receivers read it
 *     where it is (lib/deliver/peer_read.c);
 *   - in addition, a call takes each rank `call_ns`;
 *   - a local step takes `step_ns`, and `local_byte_ns` for each byte of each operand.
 * With contention, each link of the network carries one message at a time, in the order in which
 * messages leave their senders.
 *
 * Without contention, the time of a schedule does not depend on the order in which the simulator
 * goes through the steps, so no queue of events is needed. With contention, or several segments at
 * once, events are taken in the order of their times. Where both ways apply, both give the same
 * times.
 *
 * Not simulated: ranks that share a core; messages that are placed in the receiver's OUT; credits,
 * which may make a call wait for the calls before it.
 *
 * The simulator uses nothing of the library's runtime, no file, no clock, and no random numbers but
 * those that follow from the seed: a run is a function of its arguments.
 */
#ifndef NCOLL_LOGGP_LOGGP_H
#define NCOLL_LOGGP_LOGGP_H

#include "algos/choice.h"

#define LOGGP_RANKS_MAX    ((unsigned)1 << 20)
#define LOGGP_SEGMENTS_MAX ((unsigned)1 << 30)
#define LOGGP_LANES_MAX    16

struct loggp_cost {
    struct message_cost message;        /* L, o, G */
    double next_ns, receive_ns, gap_ns; /* gap_ns: g */
    bool copies;                        /* the sender copies the bytes itself */
    double read_byte_ns;
    double beside_bytes; /* 0: all messages lie beside their flags */
    double stay_bytes;   /* 0: all messages are copied */
};

/* Returns the costs by which the library predicts times: each message takes o at the sender and
 * half of that at the receiver, and the sender copies the bytes. */
static inline struct loggp_cost loggp_cost_of(struct message_cost m)
{
    return (struct loggp_cost){
        .message = m, .next_ns = m.message_ns, .receive_ns = m.message_ns / 2, .copies = true};
}

struct loggp_costs {
    struct loggp_cost far, near; /* between nodes, and within one */
    double step_ns, local_byte_ns;
    double call_ns; /* what the library does in a call besides messages and steps */
};

enum loggp_topology {
    LOGGP_SWITCH,    /* all nodes at one switch */
    LOGGP_FAT_TREE,  /* sizes: nodes at a leaf switch, uplinks of a leaf switch */
    LOGGP_DRAGONFLY, /* sizes: nodes at a router, routers in a group */
    LOGGP_TORUS,     /* sizes: nodes along x, y and z */
};

struct loggp_network {
    enum loggp_topology topology;
    unsigned sizes[3];
    double hop_ns;
    bool contention;
};

/* A detour: a time during which the processor does not work for its rank. */
struct loggp_detour {
    double start_ns, length_ns;
};

enum loggp_noise_kind {
    LOGGP_NO_NOISE,
    LOGGP_FIXED,       /* a detour of length_ns every interval_ns; ranks are not synchronous */
    LOGGP_EXPONENTIAL, /* lengths and intervals are exponentially distributed, with these means */
    LOGGP_TRACE,       /* a trace, repeated; each rank begins at a random place in it */
};

struct loggp_noise {
    enum loggp_noise_kind kind;
    double interval_ns, length_ns;
    const struct loggp_detour *trace; /* ascending, without overlap */
    size_t n_trace;
    double period_ns; /* length of the trace, at least up to the end of the last detour */
    /* Numbers of ranks that are drawn at random: `late` ranks enter the call late_ns after the
     * others, and `stalled` ranks stop at stall_at_ns for stall_ns. */
    unsigned late, stalled;
    double late_ns, stall_at_ns, stall_ns;
};

enum loggp_step_kind { LOGGP_PUT, LOGGP_WAIT, LOGGP_LOOK, LOGGP_WORK };

/* A step that a rank has carried out; consecutive local steps count as one. */
struct loggp_step {
    enum loggp_step_kind kind;
    unsigned rank, lane, round;
    uint64_t run; /* number of the run; if the call is not done in parts: of the segment */
    /* not for work: the other rank; and the receiver and its slot, which identify the message */
    unsigned peer, receiver, slot;
    double bytes, begin_ns, end_ns;
};

struct loggp_job {
    const struct algorithm *algorithm;
    struct shape shape; /* its rank is not used */
    double element_bytes;
    size_t segment; /* elements of a vector or block that a run of the schedule handles; 0: all */
    unsigned lanes; /* number of segments, or parts, that run at the same time; 0 counts as 1 */
    struct loggp_costs costs;
    struct loggp_network network;
    struct loggp_noise noise;
    uint64_t seed;
    bool ordered; /* take events in the order of their times, even if that is not necessary */
    /* Called from time to time with the fraction of the work that is done; NULL: not called. */
    void (*progress)(void *arg, double done);
    void *progress_arg;
    /* Called whenever a rank has ended a round of a run; rounds count from 0. NULL: not called. */
    void (*round_ended)(void *arg, unsigned round, double at_ns);
    void *round_arg;
    /* Called after each step: steps of a rank and lane in their order, a put before the wait for
     * it; NULL: not called. A wait begins at the rank's time when the lane tries it for the last
     * time: until then other lanes of the rank may go on. */
    void (*step_ended)(void *arg, const struct loggp_step *step);
    void *step_arg;
};

struct loggp_result {
    double entry_ns;                   /* when the last rank enters */
    double first_ns, mean_ns, last_ns; /* when ranks end: the first one, the mean, the last one */
    uint64_t events;                   /* number of puts, waits and local steps */
    uint64_t messages;
    double bytes; /* sum over all messages */
};

enum loggp_status {
    LOGGP_OK,
    LOGGP_NO_MEMORY,
    LOGGP_STUCK, /* ranks wait for messages that nobody sends */
};

/* Returns an estimate of the memory in bytes that a run of the job takes at most: for ranks and
 * segments, and for the messages and actions of the first round, which is the longest one in most
 * algorithms. */
double loggp_memory(const struct loggp_job *job);

/* Runs the schedule, which has to exist for the shape, on all ranks. Sets *out on LOGGP_OK only. */
enum loggp_status loggp_run(const struct loggp_job *job, struct loggp_result *out);

/* Returns the number of nodes that the topology has room for; 0: there is no limit. */
static inline uint64_t loggp_room(const struct loggp_network *n)
{
    return n->topology == LOGGP_TORUS ? (uint64_t)n->sizes[0] * n->sizes[1] * n->sizes[2] : 0;
}

#endif
