/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of the simulated transport. */
#ifndef NCOLL_TRANSPORT_SIM_TRANSPORT_H
#define NCOLL_TRANSPORT_SIM_TRANSPORT_H

#include "algos/schedule.h"
#include "transport/sim/engine.h"

/* The memory of slots is given back in groups of this many slots. */
#define SLOT_GROUP  16u
#define SLOT_GROUPS (SLOTS_MAX / SLOT_GROUP)

struct sim_window {
    struct window window;
    uint64_t unique;
    unsigned on_way;      /* this rank's messages of the group that have not arrived yet */
    unsigned long_on_way; /* the long messages among them, whose sources have not been read yet */
    size_t bytes;
    void *base;
    unsigned session;
    struct window_extent extent; /* the part that plans use, from extend() */
    struct sim_window *next;     /* the next one in the list sim.buried */
    bool viewed;                 /* neighbours may read the window */
    /* For give_back.c: the epoch up to which scratch was given back; the latest epoch that has used
     * each set of bulk memory. */
    uint64_t scratch_back, bulk_epochs[EPOCHS];
    size_t bulk_used[EPOCHS], scratch_used[EPOCHS]; /* bytes used and not given back, of each set */
    uint64_t slots_used[SLOT_GROUPS]; /* the latest epoch of a message to each group of slots */
    unsigned slot_groups;             /* number of groups up to the last one that is in use */
};

struct sim_memory {
    struct memory memory;
    uint64_t unique;
    struct sim_memory *next;
};

/* A connection to a peer. */
struct link {
    struct endpoint endpoint;
    bool met, gone, left;
    struct farewell *farewell; /* of a peer that has left; NULL: none */
    bool telling;              /* the peer has not read the last position yet */
    uint64_t ready_at_ns;      /* if `met`: the time from which messages may be sent */
    uint64_t last_ns;          /* the time at which the latest message arrives */
    uint64_t slow_ns;
    unsigned on_way;
    unsigned n_views;
    struct view {
        struct window_name name; /* name.unique 0: no window */
        const struct window *window;
        struct window_extent admitted; /* the part into which this rank may put */
    } * views;                         /* by this rank's number of the window */
};

struct sim_transport {
    struct transport transport;
    struct transport_config config;
    struct sim_rank *owner;
    unsigned session;
    struct link **links; /* [n_places] open hash table by rank; NULL: a free place */
    unsigned n_links, n_places;
    struct sim_window **windows; /* by number */
    unsigned n_windows;
    struct sim_memory *memories;
    unsigned on_way, long_on_way, users_on_way, farewells_on_way;
    bool has_left;
    struct sim_message *mail, **mail_end, *positions, **positions_end;
    bool told_end; /* the library has been told that this rank was killed */
    bool retries;  /* a message was refused at random, or not admitted: it will be sent again */
    uint64_t sleeps;
    size_t memory_bytes, scratch_bytes;
};

static inline struct sim_transport *sim_of(struct transport *t)
{
    return (struct sim_transport *)t;
}

struct link *ncoll__sim_link(const struct sim_transport *t, int rank);
struct sim_window *ncoll__sim_window(const struct sim_transport *t, struct window_name name);

/* True if this rank was killed. The first call that returns true also reports it to the library. */
bool ncoll__sim_is_dead(struct sim_transport *t);

/* windows.c */
int ncoll__sim_extend(struct transport *t, struct window *w, const struct window_extent *need);
void ncoll__sim_admit(struct transport *t, struct window *w, int peer);

/* data.c */
int ncoll__sim_put(struct transport *t, const struct put *put);
int ncoll__sim_credit(struct transport *t, struct endpoint *to, const struct window *w,
                      uint64_t epoch);
int ncoll__sim_advertise(struct transport *t, struct endpoint *to, const struct window *w,
                         unsigned box, const struct memory *m, const void *out,
                         struct advertisement *advertisement);
bool ncoll__sim_drained(struct transport *t, bool users_only);
bool ncoll__sim_arrived(struct transport *t, struct window *w);
struct sim_message *ncoll__sim_message(struct sim_transport *t, const struct link *link,
                                       enum message_kind kind, const void *payload, size_t bytes);
void ncoll__sim_send(struct sim_transport *t, struct link *link, struct sim_message *m);

/* give_back.c: gives back memory of epochs that are finished. */
void ncoll__sim_give_back(struct sim_window *w);
/* These functions note that memory of an epoch is used: bulk memory up to `end`; a slot; the source
 * of a message in scratch. */
void ncoll__sim_use_bulk(struct sim_window *w, uint64_t epoch, size_t end);
void ncoll__sim_use_slot(struct sim_window *w, uint64_t epoch, unsigned slot);
void ncoll__sim_use_scratch(struct sim_window *w, uint64_t epoch, const void *src, size_t bytes);

/* watch.c */
void ncoll__sim_progress(struct transport *t);
bool ncoll__sim_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                     unsigned n, unsigned round, int64_t timeout_ns);
void ncoll__sim_check(struct transport *t, int suspect);
void ncoll__sim_control(struct transport *t, struct endpoint *to, const struct control *message);
bool ncoll__sim_tell(struct transport *t, struct endpoint *to, const struct position *position);
void ncoll__sim_mail(struct sim_transport *t, struct sim_message *m);
void ncoll__sim_mail_free(struct sim_transport *t);
void ncoll__sim_leave(struct transport *t, farewell_fn say, void *arg);
bool ncoll__sim_farewell(struct transport *t, const struct endpoint *from, struct farewell *out);

#endif
