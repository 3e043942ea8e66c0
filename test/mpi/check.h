/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI programs of this folder share a main(), checks that say what is wrong, buffers with guarded ends,
 * communicators of several shapes, and random numbers from a seed that is printed.
 *
 * A program is a file with a PROGRAM() in it. Linked with check.c it runs alone; all files linked
 * together run one after the other, or those that the command line names. Programs are written from
 * what the MPI standard says: they know nothing of who carries a call out. */
#ifndef MPI_TEST_CHECK_H
#define MPI_TEST_CHECK_H

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct program {
    const char *name, *about;
    void (*run)(void);
    int threads; /* the level that it needs: MPI_THREAD_.. */
    bool alone;  /* it cannot share a job with others: run only if named, or linked alone */
    bool ends;   /* it calls MPI_Finalize() itself */
    int ranks;   /* the fewest it can do with; 0: one */
};

/* PROGRAM(bcast, "every root", .ranks = 2) { .. } */
#define PROGRAM(word, ...)                                                                         \
    static void run_##word(void);                                                                  \
    __attribute__((constructor)) static void list_##word(void)                                     \
    {                                                                                              \
        static const struct program program = {#word, ABOUT(__VA_ARGS__), .run = run_##word};      \
        add_program(&program);                                                                     \
    }                                                                                              \
    static void run_##word(void)
#define ABOUT(...) __VA_ARGS__

void add_program(const struct program *program);

extern int me, ranks; /* in MPI_COMM_WORLD */

/* To be called by all ranks of a program that this MPI cannot run: it counts as neither passed nor failed. */
void not_run(const char *why);

/* Says what is wrong if the condition does not hold, with rank and line, and goes on: the program fails at its end.
 * Gives back the condition. */
#define CHECK(condition, ...) check((condition), __FILE__, __LINE__, __VA_ARGS__)
#define OK(call)              CHECK((call) == MPI_SUCCESS, "%s has failed", #call)
__attribute__((format(printf, 4, 5))) bool check(bool holds, const char *file, int line,
                                                 const char *format, ...);

/* A buffer whose both ends are guarded, filled with what no test expects; give() checks the guards and frees it. */
void *take(size_t bytes);
void give(void *buffer);

/* A small number, from 0 to 99, for element `i` of a rank: other in each call of the programs' (next_values()). */
int value(int rank, int i);
void next_values(void);
int *take_values(int rank, int count); /* take(), filled with them */

/* value(rank, i) summed over the ranks first .. last - 1. */
int sum_of_values(int first, int last, int i);

/* Whether got[0 .. count - 1] are what the expression in i says; the words that follow say what they belong to. */
#define CHECK_EACH(i, count, got, expected, ...)                                                   \
    do {                                                                                           \
        for (int i = 0; i < (count); i++)                                                          \
            if ((got)[i] != (expected)) {                                                          \
                wrong_element(__FILE__, __LINE__, i, (double)(got)[i], (double)(expected),         \
                              __VA_ARGS__);                                                        \
                break;                                                                             \
            }                                                                                      \
    } while (0)
__attribute__((format(printf, 6, 7))) void wrong_element(const char *file, int line, int i,
                                                         double is, double expected,
                                                         const char *format, ...);

/* Runs a test on the world, on its ranks in reverse order, on those with even or odd numbers, and on each alone. */
void each_comm(void (*test)(MPI_Comm comm, int me, int ranks));

/* Random numbers: shared() is the same on all ranks if all call it alike; own() is each rank's own. */
unsigned shared(unsigned below);
unsigned own(unsigned below);

/* Clock of this node, in seconds. */
double now(void);
/* Whether all ranks are on one node, so that their clocks can be compared. */
bool on_one_node(void);
void sleep_ms(int ms);

extern const int counts[]; /* 0, 1, .., ends with -1 */
extern int rounds;         /* --rounds */

#endif
