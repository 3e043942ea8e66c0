/* SPDX-License-Identifier: BSD-3-Clause */
/* Times and counts of the creation of a context, on this rank. */
#ifndef NCOLL_LIB_BASE_STARTUP_H
#define NCOLL_LIB_BASE_STARTUP_H

#include <stdint.h>

/* The stages of creation. Every moment of the creation belongs to one of them. */
enum startup_stage {
    STAGE_BOOTSTRAP, /* finding the other ranks */
    STAGE_DEVICES,   /* finding the node and cores of this rank, and opening the transport */
    STAGE_EXCHANGE,  /* telling all ranks about this one, and learning of them */
    STAGE_WIRING,    /* the world group, its connections, and the first barrier over them */
    STARTUP_STAGES
};

struct startup_costs {
    uint64_t ns[STARTUP_STAGES];
    /* Traffic of the connections of the bootstrap: the most that were open at once, and the frames
     * and bytes that were sent and received. All 0 if it has no connections, or does not count. */
    uint64_t sockets, frames_sent, frames_received, bytes_sent, bytes_received;
    /* Operations of a bootstrap that has a server (PMIx). bytes_sent are then those of puts,
     * bytes_received those of gets. */
    uint64_t puts, gets, fences;
};

#endif
