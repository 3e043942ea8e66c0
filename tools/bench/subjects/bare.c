/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flags: each rank stores to a line of its own, and looks at those of all others until they have
 * come as far. No barrier in shared memory does less, where no rank is asked to wait for another
 * that shares its core. Ranks that share cores yield after each look in vain: what is left is the
 * change from rank to rank.
 *
 * futex: a barrier of one counter, at which all but the last rank sleep until the last one wakes
 * them: what the kernel alone makes of ranks that give up their cores at once (--interfere).
 *
 * copy: all ranks copy IN to OUT with memcpy() at the same time. A collective that leaves a vector
 * in the OUT of every rank has to write as much, and to read as much from somewhere.
 *
 * combine: all ranks combine two vectors into a third at the same time, by the operation of the
 * run: in an allreduce each rank has to do so with some part, and one that has all of it with all.
 *
 * pull: each of two ranks, alone on its core, writes a buffer in shared memory, and copies that of
 * the other to OUT when both have. What another rank has just written has to come from its core:
 * in an allreduce each of two ranks has to hear as much of the other as the vector is long.
 *
 * push, take: the same with messages as the transport moves them. Each of two ranks copies IN to
 * memory of the other (push), and when both have, each copies what has come to OUT (take). The
 * memory is used as windows use it: as many sets as there are epochs, in turn.
 */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bootstrap/futex.h"
#include "examples/cg/support.h"
#include "tools/bench/bench.h"
#include "tools/inside.h"
#include "transport/push.h"
#include "transport/relax.h"

#define LOOKS_PER_YIELD  1000 /* for a rank that has a core for itself */
#define YIELDS_PER_CLOCK 1000
#define PATIENCE_NS      10000000000u
#define PAGE_BYTES       4096
#define LINE_BYTES       64
#define SETS             8 /* as many as EPOCHS of transport/window.h */

struct flag {
    _Alignas(128) _Atomic uint64_t epoch; /* neighbouring lines are fetched in pairs */
};

/* Memory that all ranks have mapped: the futex, the flags of all ranks, then for each rank a buffer, and sets
 * to which the other rank writes. */
struct bare_flags {
    _Alignas(128) _Atomic uint32_t here; /* ranks that are in the futex barrier */
    _Atomic uint32_t opened;             /* times that it has opened: ranks sleep on this word */
    struct flag of_rank[1];
};

/* The file of rank 0's memory, which the other ranks map. */
struct flags_memory {
    int64_t pid, fd;
};

static size_t in_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* Returns the offset of a rank's buffer in the memory; for rank P the size of the memory. */
static size_t buffer_offset(const struct job *job, int rank)
{
    return in_pages(sizeof(struct bare_flags) + (size_t)job->ranks * sizeof(struct flag)) +
           (size_t)rank * (in_pages(job->options->max_bytes) + SETS * PUSH_BYTES_MAX);
}

static unsigned char *set_of(const struct job *job, int rank, unsigned call)
{
    return (unsigned char *)job->flags + buffer_offset(job, rank) +
           in_pages(job->options->max_bytes) + call % SETS * PUSH_BYTES_MAX;
}

static void *map_flags(size_t bytes, int fd)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

static int open_made(size_t bytes)
{
    int fd = memfd_create("ncoll-bench", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_theirs(const struct flags_memory *place)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)place->pid, (long long)place->fd);
    return place->fd >= 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

int bare_flags_open(struct job *job)
{
    struct ncoll_stats stats = {.size = sizeof stats};
    struct flags_memory place = {.pid = getpid(), .fd = -1};
    size_t bytes = buffer_offset(job, job->ranks);
    int fd = -1, status = ncoll_context_stats(job->ctx, &stats);

    if (status != NCOLL_OK || stats.nodes != 1 || strcmp(stats.transport, "shm") != 0)
        return status;
    if (job->rank == 0)
        place.fd = fd = open_made(bytes);
    status = ncoll_bcast(job->world, &place, 2, NCOLL_INT64, 0, NCOLL_BLOCK);
    if (status == NCOLL_OK && job->rank != 0)
        fd = open_theirs(&place);
    job->flags = fd >= 0 ? map_flags(bytes, fd) : NULL;
    int32_t shared = job->flags != NULL;
    if (status == NCOLL_OK)
        status =
            ncoll_allreduce(job->world, &shared, &shared, 1, NCOLL_INT32, NCOLL_MIN, NCOLL_BLOCK);
    if (fd >= 0)
        close(fd);
    if (status == NCOLL_OK && !shared) {
        bare_flags_close(job);
        if (job->rank == 0)
            warnx("the ranks cannot open each other's memory in /proc, so the exchange of flags "
                  "alone is not measured");
    }
    return status;
}

void bare_flags_close(struct job *job)
{
    if (job->flags != NULL)
        munmap(job->flags, buffer_offset(job, job->ranks));
    job->flags = NULL;
}

/* Waits for a rank, but not for ever if that rank has ended. */
static int wait_for(const struct job *job, int rank)
{
    const _Atomic uint64_t *epoch = &job->flags->of_rank[rank].epoch;
    uint64_t since = 0;
    unsigned looks = 0, yields = 0;

    while (atomic_load_explicit(epoch, memory_order_acquire) < job->flags_epoch) {
        if (!job->oversubscribed && ++looks % LOOKS_PER_YIELD != 0) {
            ncoll__relax();
            continue;
        }
        sched_yield();
        if (++yields % YIELDS_PER_CLOCK != 0)
            continue;
        uint64_t now = now_ns();
        since = since == 0 ? now : since;
        if (now - since > PATIENCE_NS)
            return failure_say(NCOLL_ERR_SYSTEM,
                               "a rank did not enter the barrier of bare flags within 10 s");
    }
    return NCOLL_OK;
}

static int meet(struct job *job)
{
    int status = NCOLL_OK;

    job->flags_epoch++;
    atomic_store_explicit(&job->flags->of_rank[job->rank].epoch, job->flags_epoch,
                          memory_order_release);
    for (int rank = 0; status == NCOLL_OK && rank < job->ranks; rank++)
        status = wait_for(job, rank);
    return status;
}

/* Waits for all ranks as meet() does, but asleep on a futex. */
static int meet_asleep(struct job *job)
{
    struct bare_flags *f = job->flags;
    uint32_t opened = atomic_load(&f->opened);

    if (atomic_fetch_add(&f->here, 1) == (uint32_t)job->ranks - 1) {
        atomic_store(&f->here, 0);
        atomic_store(&f->opened, opened + 1);
        ncoll__futex_wake(&f->opened);
        return NCOLL_OK;
    }
    uint64_t since = now_ns();
    while (atomic_load(&f->opened) == opened) {
        ncoll__futex_wait(&f->opened, opened, PATIENCE_NS);
        if (atomic_load(&f->opened) == opened && now_ns() - since > PATIENCE_NS)
            return failure_say(NCOLL_ERR_SYSTEM,
                               "a rank did not enter the futex barrier within 10 s");
    }
    return NCOLL_OK;
}

static int barriers(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    int (*once)(struct job *) = row->subject == &subject_futex ? meet_asleep : meet;
    uint64_t at = now_ns();

    for (unsigned i = 0; i < calls; i++) {
        int status = once(job);
        if (status != NCOLL_OK)
            return status;
        uint64_t end = now_ns();
        samples_ns[i] = end - at;
        at = end;
    }
    return NCOLL_OK;
}

static void copy_once(const struct job *job, const struct row *row)
{
    memcpy(job->out, job->in, row->bytes);
}

/* Combines the same operands each time: growing sums might reach numbers that take longer. */
static void combine_once(const struct job *job, const struct row *row)
{
    const struct options *o = job->options;
    struct op op;

    if (ncoll__op_builtin(o->op, o->type, &op)) /* else there are no such rows */
        op.combine(job->out, job->in, job->expected, row->count, o->type, op.arg);
}

/* Times all calls as a whole, with a barrier at the end: ranks that share a core work one after the
 * other, so only the end of the last rank's calls says how long they took. */
static int on_all_cores(struct job *job, const struct row *row, unsigned calls,
                        uint64_t *samples_ns)
{
    void (*once)(const struct job *, const struct row *) =
        row->subject == &subject_copy ? copy_once : combine_once;
    uint64_t start = now_ns();

    for (unsigned i = 0; i < calls; i++) {
        once(job, row);
        __asm__ volatile("" ::: "memory"); /* keeps the compiler from leaving calls out */
    }
    int status = meet(job);
    uint64_t each = (now_ns() - start) / calls;
    for (unsigned i = 0; i < calls; i++)
        samples_ns[i] = each;
    return status;
}

/* Makes a barrier, so that no rank starts its clock after another one has already copied. */
static int start_together(struct job *job, const struct row *row)
{
    (void)row;
    return meet(job);
}

static int pulls(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    unsigned char *shared = (unsigned char *)job->flags;
    volatile unsigned char *own = shared + buffer_offset(job, job->rank);
    const unsigned char *theirs = shared + buffer_offset(job, (job->rank + 1) % job->ranks);
    int status = NCOLL_OK;

    for (unsigned i = 0; status == NCOLL_OK && i < calls; i++) {
        for (size_t at = 0; at < row->bytes; at += LINE_BYTES)
            own[at]++;
        status = meet(job);
        uint64_t start = now_ns();
        memcpy(job->out, theirs, row->bytes);
        samples_ns[i] = now_ns() - start;
        if (status == NCOLL_OK)
            status = meet(job); /* wait before the other rank writes again */
    }
    return status;
}

SUBJECT_LIMIT(flags, .batch = barriers, .what = "barrier");
SUBJECT_LIMIT(futex, .batch = barriers, .what = "barrier");
SUBJECT_LIMIT(copy, .batch = on_all_cores, .begin = start_together, .what = "buffer");
SUBJECT_LIMIT(combine, .batch = on_all_cores, .begin = start_together, .what = "buffer");
SUBJECT_LIMIT(pull, .batch = pulls, .apart = true, .what = "buffer");

static int passes(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    static struct pushes pushes;
    bool moves_strings = ncoll__moves_strings();
    int peer = (job->rank + 1) % job->ranks, status = NCOLL_OK;

    for (unsigned i = 0; status == NCOLL_OK && i < calls; i++) {
        unsigned char *theirs = set_of(job, peer, i), *own = set_of(job, job->rank, i);
        status = meet(job);
        uint64_t start = now_ns();
        if (row->bytes >= STRING_BYTES)
            ncoll__push(&pushes, moves_strings, theirs, job->in, row->bytes);
        else
            memcpy(theirs, job->in, row->bytes);
        uint64_t pushed = now_ns();
        if (status == NCOLL_OK)
            status = meet(job);
        uint64_t begin = now_ns();
        memcpy(job->out, own, row->bytes);
        uint64_t taken = now_ns();
        samples_ns[i] = row->subject == &subject_push ? pushed - start : taken - begin;
    }
    return status == NCOLL_OK ? meet(job) : status;
}

SUBJECT_LIMIT(push, .batch = passes, .apart = true, .what = "buffer", .is_parameter = true);
SUBJECT_LIMIT(take, .batch = passes, .apart = true, .what = "buffer", .is_parameter = true);
