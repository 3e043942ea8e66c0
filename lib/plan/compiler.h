/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the compiler share. */
#ifndef NCOLL_LIB_COMPILER_H
#define NCOLL_LIB_COMPILER_H

#include "lib/plan/compile.h"
#include "lib/plan/landing.h"

#define LINE 64

/* How long the messages of a run are, and where they lie. */
struct layout {
    struct footprint footprint;
    size_t stride; /* bytes of the bulk area per slot */
};

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t whole_lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* Elements first..end-1 of IN or OUT; `at` is where they go in scratch. */
struct stretch {
    enum buffer buffer;
    size_t first, end, at;
};

/* What is copied to scratch to be sent from there: all that is put, each place once, and what of it
 * has been copied by now. */
struct staging {
    struct stretch *wholes, *copied;
    unsigned n_wholes, n_copied;
    bool *shared; /* [steps]: a put of what others send to ranks of this node, too */
};

/* One run's schedule being turned into a program. */
struct compiler {
    struct ncoll_group *g;
    struct plan *plan;
    struct shape shape;
    struct layout layout;
    struct landing_places places;
    const struct step *steps;
    size_t *landed;                    /* [slots] elements of the message on each slot; */
    size_t *landed_near;               /* [NEIGHBOURS_MAX][slots] the same of neighbours */
    unsigned *landed_from;             /* [slots] by whom */
    const struct landing **landing_of; /* [slots] NULL: it does not land in OUT */
    struct staging staging;
    struct program *out;
    bool failed;
};

/* segment.c */
struct layout ncoll__layout(const struct algorithm *algorithm, const struct shape *shape,
                            size_t element);

/* program.c */
/* The program of the segments that have the shape's counts. */
int ncoll__compile_program(struct compiler *c);
void ncoll__compiler_add(struct compiler *c, struct instruction instruction);
struct operand ncoll__compiler_operand(const struct compiler *c, struct ref ref);

/* neighbours.c */
/* The rank's number among the plan's neighbours; the next one if it is none yet. */
unsigned ncoll__neighbour(const struct compiler *c, unsigned rank);
/* Where the slot is that is looked at, which is noted. */
struct operand ncoll__compile_look(struct compiler *c, const struct step *s);

/* sources.c */
/* Whether the transport sends to a rank of the group from any memory. */
bool ncoll__sends_any(const struct ncoll_group *g, unsigned rank);
/* From where a put may be shown: enum shows. */
unsigned char ncoll__shows(const struct compiler *c, const struct step *put);
/* Whether a put is sent from a copy in scratch, if its source is nothing that the device knows. */
bool ncoll__is_staged(const struct compiler *c, const struct step *put);
/* Finds out what of the user's memory the program's puts send. */
void ncoll__plan_staging(struct compiler *c, const struct step *steps, unsigned count);
/* Adds the copies that such a put needs; returns where in scratch it finds its source. */
struct ref ncoll__stage_put(struct compiler *c, const struct step *put);

#endif
