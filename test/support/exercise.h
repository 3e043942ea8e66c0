/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exercise: one call of one collective with everything around it. What it is follows from a few
 * words that are the same on all ranks; each rank makes its own buffers of them, and knows what the
 * others bring, so that it can tell serially what has to come out.
 *
 * Around the buffers, between irregular blocks and in buffers that a rank has no use for lie bytes
 * that the call has to leave alone.
 */
#ifndef NCOLL_TEST_EXERCISE_H
#define NCOLL_TEST_EXERCISE_H

#include "algos/schedule.h"
#include "ncoll_eventual.h"
#include "test/support/compressed.h"
#include "test/support/repertoire.h"

#define EXERCISE_RANKS 32

/* An exercise, alike on all ranks. */
struct exercise_spec {
    enum collective collective;
    const struct piece *piece; /* type, and operation if the collective has one */
    size_t count;              /* of a vector or block; of irregular blocks about as many */
    bool irregular;            /* with counts */
    bool gaps;                 /* with displs, another order of the blocks on each rank */
    bool in_place;
    unsigned codec; /* of an allreduce or bcast: 1..; 0: it is not compressed */
    unsigned stale; /* of an allreduce: 1..: with slack, or partial; 0: neither */
    /* of a bcast or a reduce: 0: it has no threshold; the fraction; of ranks: by weight */
    ncoll_threshold_of of;
    double fraction;
    bool weighted;
    int root;               /* of collectives that have one */
    uint64_t shape_stream;  /* of counts and displs */
    uint64_t values_stream; /* of what is in the buffers, and where they start */
    /*
     * For an allreduce this is shared memory where each rank writes the reference of its part of
     * the elements before the call, and finds that of all of them behind it, since by its end all
     * ranks have begun it (else what is there is wrong, and so is the result). The call after it
     * needs another one, for the same reason the next but one may have this. NULL: each rank finds
     * all of it by itself.
     */
    void *board;
};

/* Draws all but the collective and the operation. No rank has a buffer of much more than
 * bytes_max. */
void exercise_draw(struct exercise_spec *spec, struct random *random, int ranks, size_t bytes_max);

/* Makes it an exercise of a compressed call: before exercise_draw(). */
void exercise_compress(struct exercise_spec *spec, const struct repertoire *repertoire,
                       enum collective collective, struct random *random);

/* Makes it an exercise of a stale-synchronous or partial allreduce: before exercise_draw(). */
void exercise_let_stale(struct exercise_spec *spec, const struct repertoire *repertoire,
                        struct random *random);
/* True if all ranks are to get the same bits. */
bool exercise_is_synchronous(const struct exercise_spec *spec);

/* The ways in which the library may know the memory. */
enum area_kind { AREA_UNKNOWN, AREA_REGISTERED, AREA_ALLOCATED };

struct area {
    enum area_kind kind;
    unsigned char *memory, *image; /* what is there, and what is to be there after the call */
    size_t bytes;
};

/* A buffer: blocks, or a vector, which is one block. */
struct side {
    bool used; /* by this rank */
    bool null; /* passed as NULL: nothing is needed of it */
    unsigned n;
    size_t counts[EXERCISE_RANKS], displs[EXERCISE_RANKS]; /* elements */
    struct area *area;
    size_t at; /* where it starts in the area, bytes */
};

struct exercise {
    struct exercise_spec spec;
    ncoll_context *ctx; /* NULL: no memory is known to the library */
    uint64_t seed;
    int rank, ranks;
    size_t element;
    struct side in, out;
    struct area areas[2];
    struct compressed_reference compressed; /* of compressed calls */
    ncoll_compressor *compressor;           /* made before the first call */
    ncoll_stale *stale;                     /* made before the first call */
    ncoll_stale_result stale_result;
    /* With a threshold: weights of elements, or of ranks, and what is in. */
    ncoll_threshold threshold;
    ncoll_threshold_status status;
    double *weights;
    uint8_t *element_in;
    bool rank_in[EXERCISE_RANKS];
    size_t elements;           /* that are in; the reference is of these */
    struct reference expected; /* of collectives that reduce, where this rank has an OUT */
    struct handed {            /* the arrays that the library gets */
        size_t counts[EXERCISE_RANKS], displs[EXERCISE_RANKS];
    } handed_in, handed_out;
};

void exercise_open(struct exercise *x, const struct exercise_spec *spec, uint64_t seed,
                   ncoll_context *ctx, int rank, int ranks);
void exercise_close(struct exercise *x);

/* Without memory the test ends. */
void *exercise_allocate(size_t bytes);

/* Other values in the same buffers, for a call that is made again. */
void exercise_refill(struct exercise *x, uint64_t values_stream);

/* exercise_compressed.c: makes the compressor, if there is none yet. Returns a ncoll_status. */
int exercise_compressor(struct exercise *x, ncoll_group *group);
/* Makes the values that rank `from` has in a block: `count` elements from `first` on. */
typedef void exercise_values(const struct exercise *x, int from, int block, void *to, size_t first,
                             size_t count);
/* Writes what has to come out to `out`. */
void exercise_expect_compressed(struct exercise *x, exercise_values *values, void *out);
void exercise_close_compressed(struct exercise *x);

/* exercise_stale.c: makes the object, if there is none yet, and makes or starts its call. Returns a
 * ncoll_status. */
int exercise_call_stale(struct exercise *x, ncoll_group *group, const void *in, void *out,
                        int64_t timeout_ns, ncoll_request **request);
/* After the call: NULL, or what is wrong with the clocks, written into text. */
const char *exercise_stale_wrong(const struct exercise *x, char *text, size_t size);
/* "partial ", or "". */
const char *exercise_stale_text(const struct exercise_spec *spec);
void exercise_close_stale(struct exercise *x);

/* exercise_threshold.c: gives every other bcast or reduce a threshold. Of ranks the operation has to
 * commute. */
void exercise_draw_threshold(struct exercise_spec *spec, struct random *random);
/* Draws weights, and finds out what is to be in. */
void exercise_set_threshold(struct exercise *x, struct random random);
/* Moves the elements that are in to the front. */
void exercise_pack(const struct exercise *x, void *vector);
/* Writes what has to come out of a bcast to `out`. */
void exercise_expect_threshold(struct exercise *x, exercise_values *values, unsigned char *out);
/* After the call: NULL, or what is wrong with the status, written into text. */
const char *exercise_threshold_wrong(const struct exercise *x, char *text, size_t size);
/* ", 0.25 of the data", or "". */
const char *exercise_threshold_text(const struct exercise_spec *spec, char *text, size_t size);
void exercise_close_threshold(struct exercise *x);

enum exercise_form {
    EXERCISE_CALL,  /* with a time-out; sets no request */
    EXERCISE_START, /* a request */
    EXERCISE_INIT,  /* a persistent request */
};

/* Makes the call. The arrays that it was given are destroyed behind the start of a request. */
int exercise_call(struct exercise *x, ncoll_group *group, enum exercise_form form,
                  int64_t timeout_ns, ncoll_request **request);

/* After the call: NULL, or what is wrong, written into text. */
const char *exercise_wrong(struct exercise *x, char *text, size_t size);

/* Returns a hash of the bits of the result. */
uint64_t exercise_hash(const struct exercise *x);

/* "allgatherv of about 255 uint32, in place, ..." into text. Returns text. */
const char *exercise_text(const struct exercise *x, char *text, size_t size);

#endif
