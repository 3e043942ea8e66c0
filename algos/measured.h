/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measured properties of machines that decide between algorithms; all of them are in this file.
 * They were measured on x86-64. Lengths are in bytes of the vector or of the longest block. The
 * cost of messages is not here: it is a property of the transport (struct transport_cost), or
 * measured by ncoll-tune.
 */
#ifndef NCOLL_ALGOS_MEASURED_H
#define NCOLL_ALGOS_MEASURED_H

/* ------------------------------------------------------------------ steps --------------------- */

/* The time of a context switch from one rank to another on the same core. */
#define SWITCH_NS 1500.0
/* A message in shared memory costs its receiver this much in addition if ranks share a core: the
 * cache line comes from another core, and the receiver does nothing else in the meantime. */
#define LINE_NS 100.0
/* The cost of each byte of a long block that is copied between ranks. */
#define COPY_BYTE_NS 0.1
/* The cost of each byte that is copied or combined in a rank's own caches, and of each such step
 * beyond its bytes. */
#define LOCAL_BYTE_NS 0.06
#define LOCAL_STEP_NS 3.0
/* The cost of a short block that is copied to be sent with others. */
#define PACK_NS 10.0
/* The time that a message takes its receiver, without its bytes, as a fraction of the time that it
 * takes its sender. */
#define RECEIVE 0.5

/* ------------------------------------------------------------------ a core for each rank ------ */

/* The ranks share the sending of a bcast, or the combining of a reduce, from this length on. */
#define LONG_BCAST_BYTES  ((size_t)32 << 10)
#define LONG_REDUCE_BYTES ((size_t)64 << 10)
/* From this length on, the algorithm that sends the fewest bytes is fastest for an allreduce. */
#define LONG_VECTOR_BYTES ((size_t)256 << 10)
/* An allreduce may send every rank's vector to all ranks if all vectors together have at most this
 * many bytes. */
#define GATHER_ALL_BYTES ((size_t)32 << 10)
/* From this length on, the blocks of a gather or scatter go directly to or from the root. */
#define FLAT_BLOCK_BYTES ((size_t)2 << 10)
/* From this length on a ring may be chosen for an allgather. */
#define RING_BYTES ((size_t)4 << 10)
/* From this length on a ring may be chosen for a reduce-scatter. A ring moves as many bytes as
 * other algorithms, in more rounds. It is faster only because data stays in caches. */
#define SCATTER_BYTES ((size_t)8 << 10)

/* A ring of more ranks than this is chosen only if it is worth its rounds, in each of which a rank
 * waits for a message. With fewer ranks the lengths above decide. */
#define RING_RANKS 256u

/* From this number of ranks on an alltoall may take two or three hops over a grid. With fewer ranks
 * this has not been measured. */
#define GRID_RANKS 256u

/* ------------------------------------------------------------------ ranks share cores --------- */

/* From this length on a ring may be chosen for a reduce-scatter of ranks that share cores. With
 * shorter data context switches outweigh the gain. */
#define SHARED_SCATTER_BYTES ((size_t)1 << 20)
/* Slices divide the sending of a broadcast, or the combining of a reduction, among all ranks, which
 * gains nothing if ranks share cores. With this many bytes for each rank, a chain keeps all ranks
 * busy instead. */
#define CHAIN_BYTES ((size_t)64 << 10)
/* CHAIN_BYTES for ranks that read each other's memory: with fewer bytes for each rank it is faster
 * to let one rank combine everything. */
#define READ_CHAIN_BYTES ((size_t)128 << 10)

/* ------------------------------------------------------------------ peer reads ---------------- */

/* From this length on, the data of a bcast is copied once, and then read by all ranks at once. */
#define READ_FLAT_BYTES ((size_t)64 << 10)
/* Each rank combines one slice, and reads the others, if vectors have at least READ_SLICES_BYTES
 * and slices at least READ_SLICE_BYTES. */
#define READ_SLICES_BYTES ((size_t)64 << 10)
#define READ_SLICE_BYTES  ((size_t)4 << 10)
/* Up to this length one rank may combine everything, if that is less work. With longer vectors the
 * waiting ranks lose more time than a context switch takes, while slices are read as soon as they
 * are done. */
#define READ_ROOT_BYTES ((size_t)256 << 10)
/* From this length on each of two ranks combines one half, and reads the other. */
#define READ_PAIR_BYTES ((size_t)32 << 10)
/* If several ranks read a vector, the time of its bytes is neglected below this length: it is
 * copied once for all of them. With longer vectors reading takes most of the time. */
#define READ_ONCE_BYTES ((size_t)256 << 10)

#endif
