/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h; and the main() of a program, or of several of them. */
#include "check.h"
#include "../support/hang.h"
#include "own.h"

#include <signal.h>
#include <stdarg.h>
#include <strings.h>
#include <time.h>

#define PROGRAMS_MAX 128
#define SAID_MAX     4 /* mistakes of a program that a rank describes */
#define GUARD        64
#define GUARD_BYTE   0xa5
#define FILL_BYTE    0x5c

int me, ranks;
const int counts[] = {0, 1, 2, 3, 8, 61, 1000, 4099, -1};

static const struct program *programs[PROGRAMS_MAX], *running;
static int program_count, mistakes, failed_programs;
static const char *why_not_run;
static uint64_t seed, shared_state, own_state;
static int generation;

/* ---------------------------------------------------------------- programs */

/* By name, so that they run in one order wherever they were linked. */
void add_program(const struct program *program)
{
    int at = program_count++;

    if (program_count > PROGRAMS_MAX)
        abort();
    for (; at > 0 && strcmp(programs[at - 1]->name, program->name) > 0; at--)
        programs[at] = programs[at - 1];
    programs[at] = program;
}

void not_run(const char *why)
{
    why_not_run = why;
}

static void describe(const char *file, int line, const char *text)
{
    const char *name = strrchr(file, '/');

    if (++mistakes <= SAID_MAX)
        fprintf(stderr, "%s: rank %d of %d: %s:%d: %s\n", running != NULL ? running->name : "check",
                me, ranks, name != NULL ? name + 1 : file, line, text);
}

bool check(bool holds, const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list arguments;

    if (holds)
        return true;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    describe(file, line, text);
    return false;
}

void wrong_element(const char *file, int line, int i, double is, double expected,
                   const char *format, ...)
{
    char what[256], text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof text, "%s: element %d is %g, not %g", what, i, is, expected);
    describe(file, line, text);
}

/* ---------------------------------------------------------------- buffers and values */

void *take(size_t bytes)
{
    unsigned char *room = malloc(sizeof bytes + GUARD + bytes + GUARD);

    if (room == NULL)
        abort();
    memcpy(room, &bytes, sizeof bytes);
    room += sizeof bytes;
    memset(room, GUARD_BYTE, GUARD);
    memset(room + GUARD, FILL_BYTE, bytes);
    memset(room + GUARD + bytes, GUARD_BYTE, GUARD);
    return room + GUARD;
}

void give(void *buffer)
{
    unsigned char *room = (unsigned char *)buffer - GUARD;
    size_t bytes;

    memcpy(&bytes, room - sizeof bytes, sizeof bytes);
    for (int i = 0; i < GUARD; i++) {
        CHECK(room[i] == GUARD_BYTE, "byte %d before a buffer of %zu bytes was written to",
              GUARD - i, bytes);
        CHECK(room[GUARD + bytes + i] == GUARD_BYTE,
              "byte %d past a buffer of %zu bytes was written to", i, bytes);
    }
    free(room - sizeof bytes);
}

int value(int rank, int i)
{
    uint32_t x =
        (uint32_t)rank * 2654435761u + (uint32_t)i * 40503u + (uint32_t)generation * 97u + 12345u;

    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (int)(x % 100);
}

void next_values(void)
{
    generation++;
}

int *take_values(int rank, int count)
{
    int *values = take((size_t)count * sizeof *values);

    for (int i = 0; i < count; i++)
        values[i] = value(rank, i);
    return values;
}

int sum_of_values(int first, int last, int i)
{
    int sum = 0;

    for (int rank = first; rank < last; rank++)
        sum += value(rank, i);
    return sum;
}

/* ---------------------------------------------------------------- random numbers: splitmix64 */

static unsigned draw(uint64_t *state, unsigned below)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((x ^ (x >> 31)) % below);
}

unsigned shared(unsigned below)
{
    return draw(&shared_state, below);
}

unsigned own(unsigned below)
{
    return draw(&own_state, below);
}

/* Each program begins with the same numbers, whatever ran before it. */
static void begin_random(void)
{
    shared_state = seed;
    own_state = seed ^ ((uint64_t)(me + 1) << 32);
}

/* ---------------------------------------------------------------- communicators, time */

static MPI_Comm reversed = MPI_COMM_NULL, half = MPI_COMM_NULL;

/* The programs of a job have them in common: making them takes longer than most programs do. */
void each_comm(void (*test)(MPI_Comm comm, int me, int ranks))
{
    if (reversed == MPI_COMM_NULL) {
        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &reversed));
        OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half));
    }
    MPI_Comm comms[4] = {MPI_COMM_WORLD, reversed, half, MPI_COMM_SELF};

    for (int i = 0; i < 4; i++) {
        int rank, size;

        MPI_Comm_rank(comms[i], &rank);
        MPI_Comm_size(comms[i], &size);
        next_values();
        test(comms[i], rank, size);
    }
}

static void free_comms(void)
{
    if (reversed == MPI_COMM_NULL)
        return;
    OK(MPI_Comm_free(&reversed));
    OK(MPI_Comm_free(&half));
}

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool on_one_node(void)
{
    MPI_Comm node;
    int size;

    OWN(Comm_split_type)(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    PMPI_Comm_size(node, &size);
    OWN(Comm_free)(&node);
    return size == ranks;
}

void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* ---------------------------------------------------------------- main */

static const char help[] =
    "usage: mpirun -n N PROGRAM [OPTION...] [NAME...]\n\n"
    "Runs the programs of these names one after the other; none: all that can share a job.\n\n"
    "  --list           their names, and what they are about\n"
    "  --except NAME    all but this one; may be repeated\n"
    "  --seed N         of random choices; it is printed (default: from the time)\n"
    "  --rounds N       of random programs (default: 1)\n"
    "  --threads        ask for MPI_THREAD_MULTIPLE in all programs\n"
    "  --limit S        a program that takes ten times S seconds hangs (default: 12)\n\n"
    "The status is 0 if all results are right on all ranks.\n";

static struct {
    const char *names[PROGRAMS_MAX], *excepted[PROGRAMS_MAX];
    int name_count, excepted_count, limit;
    bool threads, has_seed;
} options = {.limit = 12};
int rounds = 1;

static bool among(const char *name, const char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static const struct program *find(const char *name)
{
    for (int i = 0; i < program_count; i++)
        if (strcmp(programs[i]->name, name) == 0)
            return programs[i];
    fprintf(stderr, "no program '%s': see --list\n", name);
    exit(2);
}

static bool chosen(const struct program *program)
{
    if (among(program->name, options.excepted, options.excepted_count))
        return false;
    if (options.name_count > 0)
        return among(program->name, options.names, options.name_count);
    return !program->alone || program_count == 1;
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(word, "--list") == 0) {
            for (int j = 0; j < program_count; j++)
                printf("%-24s %s%s\n", programs[j]->name, programs[j]->about,
                       programs[j]->alone ? " (alone)" : "");
            exit(0);
        } else if (strcmp(word, "--help") == 0) {
            fputs(help, stdout);
            exit(0);
        } else if (strcmp(word, "--threads") == 0) {
            options.threads = true;
            continue;
        } else if (strcmp(word, "--except") == 0) {
            options.excepted[options.excepted_count++] = find(next)->name;
        } else if (strcmp(word, "--seed") == 0) {
            seed = strtoull(next, NULL, 0);
            options.has_seed = true;
        } else if (strcmp(word, "--rounds") == 0) {
            rounds = atoi(next);
        } else if (strcmp(word, "--limit") == 0) {
            options.limit = atoi(next);
        } else if (word[0] == '-') {
            fprintf(stderr, "unknown option '%s'\n%s", word, help);
            exit(2);
        } else {
            options.names[options.name_count++] = find(word)->name;
            continue;
        }
        i++;
    }
}

/* Not through MPI, which may be what hangs: launchers end the others. */
static void hang(int signal)
{
    char text[256];
    int length =
        snprintf(text, sizeof text, "%s: rank %d of %d hangs: no end after %d s (--limit)\n",
                 running != NULL ? running->name : "start", me, ranks, HANG_FACTOR * options.limit);

    (void)signal;
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(4);
    _exit(3);
}

static void run(const struct program *program)
{
    double begin = now();
    int total = 0;

    if (ranks < program->ranks) {
        if (me == 0)
            printf("not run: %s: it takes %d ranks\n", program->name, program->ranks);
        return;
    }
    running = program;
    mistakes = 0;
    why_not_run = NULL;
    begin_random();
    hang_after((unsigned)options.limit);
    program->run();
    if (mistakes > SAID_MAX)
        fprintf(stderr, "%s: rank %d: %d mistakes\n", program->name, me, mistakes);
    failed_programs += mistakes > 0;
    total = mistakes;
    if (!program->ends)
        OWN(Allreduce)(&mistakes, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0 && total == 0 && why_not_run != NULL) {
        printf("not run: %s: %s\n", program->name, why_not_run);
    } else if (me == 0) {
        printf("%s %s (%.0f ms)\n", total == 0 ? "ok" : "not ok", program->name,
               1e3 * (now() - begin));
        fflush(stdout);
    }
    hang_after(0);
}

int main(int argc, char **argv)
{
    int threads = MPI_THREAD_SINGLE, provided, finalized;

    setvbuf(stdout, NULL, _IOLBF, 0);
    parse(argc, argv);
    for (int i = 0; i < program_count; i++)
        if (chosen(programs[i]) && programs[i]->threads > threads)
            threads = programs[i]->threads;
    if (options.threads)
        threads = MPI_THREAD_MULTIPLE;
    signal(SIGALRM, hang);
    hang_after((unsigned)options.limit);
    if (threads == MPI_THREAD_SINGLE)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, threads, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!options.has_seed)
        seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    OWN(Bcast)(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < program_count; i++)
        if (chosen(programs[i]))
            run(programs[i]);
    MPI_Finalized(&finalized);
    hang_after((unsigned)options.limit);
    if (!finalized) {
        free_comms();
        MPI_Finalize();
    }
    if (me == 0 && failed_programs == 0)
        printf(" No Errors\n");
    return failed_programs > 0;
}
