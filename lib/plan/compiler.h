/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions that the files of the compiler share. */
#ifndef NCOLL_LIB_COMPILER_H
#define NCOLL_LIB_COMPILER_H

#include "lib/plan/compile.h"
#include "lib/plan/placed.h"

#define LINE 64

/* The lengths and places of the messages of a run. */
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

/* Elements first..end-1 of IN or OUT; `at` is their place in scratch. */
struct stretch {
    enum buffer buffer;
    size_t first, end, at;
};

/* The user's data that is sent from a copy in scratch. `wholes`: everything that is put, without
 * overlaps. `copied`: what earlier instructions have copied. */
struct staging {
    struct stretch *wholes, *copied;
    unsigned n_wholes, n_copied;
    unsigned n_puts; /* that are sent from copies */
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
    size_t *arrived_at_neighbour;    /* [NEIGHBOURS_MAX][slots] the same for neighbours */
    unsigned *routes_of;             /* [slots] routes of the wait for it: enum routes */
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
/* Makes room for so many instructions. */
void ncoll__compiler_reserve(struct compiler *c, unsigned capacity);
/* Gives back the room that is not needed, at the end. */
void ncoll__compiler_trim(struct compiler *c);
struct operand ncoll__compiler_operand(const struct compiler *c, struct ref ref);

/* program.c */
/* Compiles the program of the segments that have the shape's counts. */
int ncoll__compile_program(struct compiler *c);

/* neighbours.c */
/* Returns the rank's index among the plan's neighbours; the next free index if it is new. */
unsigned ncoll__neighbour(const struct compiler *c, unsigned rank);
/* Finds the place of the slot that a step looks at, and adds the rank to the neighbours. */
struct operand ncoll__compile_look(struct compiler *c, const struct step *s);

/* sources.c */
/* True if the transport can send to a rank of the group from any memory. */
bool ncoll__sends_any(const struct ncoll_group *g, unsigned rank);
/* Returns the routes that a long put may take. */
unsigned ncoll__put_routes(const struct compiler *c, const struct step *put);
/* Returns the routes by which the message of a wait may come; 0: slot or bulk memory only. */
unsigned ncoll__wait_routes(const struct compiler *c, const struct step *wait);
/* True if a put is sent from a copy in scratch, unless the device knows the memory of its
 * source. */
bool ncoll__is_staged(const struct compiler *c, const struct step *put);
/* Determines the stretches of the user's memory that the program's puts send. */
void ncoll__plan_staging(struct compiler *c, const struct step *steps, unsigned count);
/* Adds the copies to scratch that a staged put needs: see ncoll__is_staged(). Returns the place of
 * its source in scratch. */
struct ref ncoll__stage_put(struct compiler *c, const struct step *put);

#endif
