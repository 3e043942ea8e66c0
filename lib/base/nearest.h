/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares a mistyped name with the names that a user may have meant. */
#ifndef NCOLL_LIB_NEAREST_H
#define NCOLL_LIB_NEAREST_H

#define NEAREST_BYTES 64 /* longer names are compared up to this length */

/* Returns the number of letters to be changed, left out, inserted, or swapped with the next one, to
 * turn a into b (Damerau's distance; no letter is touched twice). */
unsigned ncoll__distance(const char *a, const char *b);

/* Returns the first distance that is too large for a mistyped name of so many letters: a mistyped
 * name differs in one letter, or in a third of all letters. */
unsigned ncoll__distance_too_large(unsigned letters);

#endif
