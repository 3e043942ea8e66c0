/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions that the files of the compiler share. */
#ifndef NCOLL_LIB_COMPILER_H
#define NCOLL_LIB_COMPILER_H

#include "lib/plan/compile.h"
#include "lib/plan/placed.h"

#define LINE 64

/* The memory that the messages of a run need. */
struct layout {
    struct footprint footprint;
    size_t stride; /* bytes of bulk memory for each slot */
};

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t whole_lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Elements first..end-1 of IN or OUT; `at`: the element of scratch at which their copy begins. */
struct stretch {
    enum buffer buffer;
    size_t first, end, at;
};

/* The user's data that is sent from a copy in scratch. `wholes`: all data that is put in this way,
 * as stretches that do not overlap. `copied`: the stretches that earlier instructions have
 * copied. */
struct staging {
    struct stretch *wholes, *copied;
    unsigned n_wholes, n_copied;
    unsigned n_puts; /* puts that are sent from copies */
    bool *shared;    /* [steps]: several ranks of this node get the data of the put */
};

/* The state of compiling one run of a schedule into a program. */
struct compiler {
    struct ncoll_group *g;
    struct plan *plan;
    struct shape shape;
    struct layout layout;
    struct block_starts places;
    const struct step *steps;
    size_t *arrived;                 /* [slots] elements of the message in each slot */
    size_t *arrived_at_neighbour;    /* [NEIGHBOURS_MAX][slots] elements, at each neighbour */
    unsigned *routes_of;             /* [slots] routes by which the message may come: enum routes */
    const struct placed **placed_of; /* [slots] NULL: the message is not placed in OUT */
    struct staging staging;
    struct program *out;
    bool failed;
};

/* segment.c */
struct layout ncoll__layout(const struct algorithm *algorithm, const struct shape *shape,
                            size_t element);

/* compiler.c */
void ncoll__compiler_add(struct compiler *c, struct instruction instruction);
/* Makes room for `capacity` instructions. */
void ncoll__compiler_reserve(struct compiler *c, unsigned capacity);
/* Frees the room that the instructions of the finished program do not need. */
void ncoll__compiler_trim(struct compiler *c);
struct operand ncoll__compiler_operand(const struct compiler *c, struct ref ref);

/* program.c */
/* Compiles the program of the segments that have the shape's counts. */
int ncoll__compile_program(struct compiler *c);

/* neighbours.c */
/* Returns the rank's index among the plan's neighbours; the next free index if it is new. */
unsigned ncoll__neighbour(const struct compiler *c, unsigned rank);
/* Returns the place of the slot that a LOOK looks at, and adds the slot's rank to the plan's
 * neighbours if it is new. */
struct operand ncoll__compile_look(struct compiler *c, const struct step *s);

/* sources.c */
/* True if the transport can send to `rank`, a rank of the group, from any memory. */
bool ncoll__sends_any(const struct ncoll_group *g, unsigned rank);
/* Returns the routes that a long put may take: bits of enum routes. */
unsigned ncoll__put_routes(const struct compiler *c, const struct step *put);
/* Returns the routes by which the message of a wait may come; 0: slot or bulk memory only. */
unsigned ncoll__wait_routes(const struct compiler *c, const struct step *wait);
/* True if a put is sent from a copy in scratch, except in calls in which the device knows the
 * memory of its source. */
bool ncoll__is_staged(const struct compiler *c, const struct step *put);
/* Determines the stretches of IN and OUT that the program's puts send from copies. */
void ncoll__plan_staging(struct compiler *c, const struct step *steps, unsigned count);
/* Adds the instructions that copy the source of a staged put to scratch: see ncoll__is_staged().
 * Returns the place of the copy. */
struct ref ncoll__stage_put(struct compiler *c, const struct step *put);

#endif
