/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that all processes of a fabric share. It is a file, of which only what is touched takes
 * room. */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x6e636f6c6c666162u

struct fabric fabric;

static bool failed(const char *what, const char *path)
{
    fprintf(stderr, "fabric: cannot %s %s: %s\n", what, path, strerror(errno));
    return false;
}

uint64_t fabric_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ------------------------------------------------------------------ locks --------------------- */

void fabric_lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

void fabric_lock(pthread_mutex_t *lock)
{
    if (pthread_mutex_lock(lock) == EOWNERDEAD)
        pthread_mutex_consistent(lock);
}

void fabric_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
}

static pthread_mutex_t threads = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void fabric_enter(void)
{
    pthread_mutex_lock(&threads);
}

void fabric_leave(void)
{
    pthread_mutex_unlock(&threads);
}

/* The lock is that of a thread of the parent. */
void fabric_only_thread(void)
{
    threads = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

/* ------------------------------------------------------------------ processes ----------------- */

/* Returns the time when a process has started, in ticks; 0: there is none, or it has ended. */
static uint64_t start_of(int32_t pid)
{
    char path[32], line[1024];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    char *at = fgets(line, sizeof line, f) != NULL ? strrchr(line, ')') : NULL;
    fclose(f);
    if (at == NULL || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) + 1 : 0;
}

uint32_t fabric_process(void)
{
    if (fabric.process != 0)
        return fabric.process;
    struct state *s = fabric.state;
    fabric_lock(&s->lock);
    if (s->processes + 1 < PROCESSES_MOST) {
        struct shared_process *p = &s->process[++s->processes];
        p->start = start_of(getpid());
        p->node = fabric.node;
        atomic_store(&p->pid, getpid());
        fabric.process = s->processes;
    }
    fabric_unlock(&s->lock);
    if (fabric.process == 0) {
        fprintf(stderr, "fabric: more than %u processes\n", PROCESSES_MOST - 1);
        abort();
    }
    return fabric.process;
}

bool fabric_lives(uint32_t process)
{
    const struct shared_process *p = &fabric.state->process[process];
    uint64_t start = start_of(atomic_load(&p->pid));

    return start != 0 && start == p->start;
}

/* ------------------------------------------------------------------ memory -------------------- */

/* Memory is taken in powers of two, from 64 bytes. */
static unsigned class_of(size_t bytes)
{
    unsigned class = 6;

    while ((size_t)1 << class < bytes)
        class ++;
    return class;
}

void *fabric_take(size_t bytes)
{
    struct state *s = fabric.state;
    unsigned class = class_of(bytes);
    uint64_t at;

    fabric_lock(&s->lock);
    if ((at = s->free_list[class]) != 0) {
        memcpy(&s->free_list[class], fabric_at(at), sizeof at);
    } else if (s->end + ((uint64_t)1 << class) <= STATE_BYTES) {
        at = s->end;
        s->end += (uint64_t)1 << class;
    }
    fabric_unlock(&s->lock);
    if (at == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return memset(fabric_at(at), 0, bytes);
}

void fabric_give(void *memory, size_t bytes)
{
    struct state *s = fabric.state;
    unsigned class = class_of(bytes);
    uint64_t at = fabric_offset(memory);

    fabric_lock(&s->lock);
    memcpy(memory, &s->free_list[class], sizeof at);
    s->free_list[class] = at;
    fabric_unlock(&s->lock);
}

/* ------------------------------------------------------------------ joining ------------------- */

static bool map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return failed("open", path);
    flock(fd, LOCK_EX); /* the first one sets it up */
    void *at = MAP_FAILED;
    if (ftruncate(fd, (off_t)STATE_BYTES) == 0)
        at = mmap(NULL, STATE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED) {
        failed("map", path);
        close(fd);
        return false;
    }
    struct state *s = at;
    if (atomic_load(&s->magic) != MAGIC) {
        fabric_lock_init(&s->lock);
        s->end = (sizeof *s + 4095) / 4096 * 4096;
        atomic_store(&s->magic, MAGIC);
    }
    flock(fd, LOCK_UN); /* the mapping would keep it */
    close(fd);
    fabric.state = s;
    return true;
}

bool fabric_join(void)
{
    const char *path = getenv("FABRIC_STATE"), *node = getenv("FABRIC_NODE");

    if (fabric.state != NULL)
        return true;
    if (getenv("FABRIC") == NULL || path == NULL) {
        fputs("fabric: FABRIC and FABRIC_STATE name a personality and a file for what "
              "processes share\n",
              stderr);
        return false;
    }
    fabric.node = node != NULL ? (uint32_t)strtoul(node, NULL, 10) : 0;
    return map(path);
}

/* ------------------------------------------------------------------ objects ------------------- */

atomic_int fabric_held;

int fabric_objects(void)
{
    return atomic_load(&fabric_held);
}
