/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks by which a layer of the library calls the layers above it, whose functions it must not
 * name. Transports and bootstraps work in the same way. The callbacks are set when the context is
 * created. */
#ifndef NCOLL_LIB_BASE_CALLBACKS_H
#define NCOLL_LIB_BASE_CALLBACKS_H

#include <stdint.h>

#include "transport/transport.h"

struct call;
struct ncoll_context;
struct ncoll_group;

/* Implemented in lib/watch, which looks after the peers. */
struct watch_callbacks {
    /* Called after a failure of the job: tells all peers of it, only once, and records it as the
     * error. Returns the status of the failure. */
    int (*failed)(struct ncoll_context *ctx);
    /* Called when a put to a rank was refused. Returns NCOLL_ERR_PEER. */
    int (*unreachable)(struct ncoll_context *ctx, int rank);
    /* Called when a rank that is needed has left. */
    void (*left)(struct ncoll_context *ctx, int rank);
    /* Called by a rank that waits: looks after peers, bootstrap and slots from time to time. */
    void (*check)(struct ncoll_group *g, uint64_t now_ns);
};
extern const struct watch_callbacks ncoll__watch;

/* Implemented in lib/group: connects the peers of a call that is about to start. */
struct wiring_callbacks {
    /* Begins to connect this rank to `peers` (ranks of the group), for messages to the window w of
     * the group: queues the necessary exchange in front of the call `before`. distances: by how
     * much the ranks of the peers are higher than this one, modulo the size of the group, if that
     * is the same on all ranks; else NULL. Returns NCOLL_OK or an error. */
    int (*start)(struct ncoll_group *g, struct window *w, struct call *before,
                 const unsigned *peers, const unsigned *distances, unsigned n_peers, unsigned depth,
                 struct signature purpose);
    /* Advances the connecting; never blocks. Returns NCOLL_OK: all peers are connected;
     * NCOLL_TIMEOUT: call again; NCOLL_ERR_UNSUPPORTED on all ranks alike: some rank has no room
     * for its connections, so no rank has connected any (ncoll__wiring_is_refused(); no error is
     * recorded); or another error, which is a failure of the job. */
    int (*test)(struct ncoll_group *g);
};
extern const struct wiring_callbacks ncoll__wiring;

#endif
