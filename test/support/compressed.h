/* SPDX-License-Identifier: BSD-3-Clause */
/* The right results of compressed calls, found serially with the same codec; and a codec of a user's
 * own. */
#ifndef NCOLL_TEST_COMPRESSED_H
#define NCOLL_TEST_COMPRESSED_H

#include <stdbool.h>

#include "ncoll_eventual.h"

#define COMPRESSED_RANKS 32

/* All ranks of a group, each with a compressor. The type is float or double. */
struct compressed_reference {
    ncoll_codec codec;
    size_t count;
    ncoll_type type;
    int ranks;
    bool feedback;
    void *residual[COMPRESSED_RANKS]; /* NULL without feedback */
};

void compressed_open(struct compressed_reference *ref, const ncoll_codec *codec, size_t count,
                     ncoll_type type, int ranks, bool feedback);
void compressed_close(struct compressed_reference *ref);

/* Makes one call: `in` has the vectors of all ranks, one after the other; out gets the result of all. */
void compressed_allreduce(struct compressed_reference *ref, const void *in, void *out);
/* Does this for a bcast; `in` is the vector of the root. */
void compressed_bcast(struct compressed_reference *ref, int root, const void *in, void *out);

/* The failures of the user's codec, now and then on some rank; this is given as the codec's `arg`. */
struct eighths {
    enum eighths_mood {
        EIGHTHS_WELL,
        EIGHTHS_CANNOT_ENCODE,
        EIGHTHS_TOO_LONG,
        EIGHTHS_CANNOT_DECODE,
        EIGHTHS_CALLS_BACK, /* calls ncoll_barrier() of `group`, and notes what it returned */
    } mood;
    ncoll_group *group;
    int returned;
};

/*
 * A codec of a user's own for float and double: rounds down to a multiple of 8 in magnitude, and
 * writes index and value of what is not 0. So its lengths depend on the data. `arg` may be NULL.
 */
ncoll_codec eighths_codec(unsigned flags, struct eighths *arg);

#endif
