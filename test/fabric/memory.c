/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered memory. A device reads and writes it without its owner, so here it has to be memory that
 * other processes map. Pages that are anonymous are moved to a file in memory, at the same address,
 * when they are registered; pages of such a file already, as shared memory has them, are found there.
 * Other memory, as the heap and the stack, is copied by the kernel (process_vm_writev).
 */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define PAGE 4096u

struct mr {
    struct ibv_mr verbs;
    struct mr *next;
    int own_fd; /* of a file that was made for this memory; -1: none */
};

/* ------------------------------------------------------------------ the pages ----------------- */

/* A mapping of this process. */
struct area {
    uintptr_t begin, end;
    uint64_t offset, inode;
    bool shared, named, moved; /* moved: by move() below */
};

/* Finds the mapping that contains all of these bytes. */
static bool find_area(uintptr_t at, size_t length, struct area *out)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512], flags[8];
    bool found = false;

    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        int end = 0;
        unsigned major, minor;
        *out = (struct area){0};
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
                   &out->begin, &out->end, flags, &out->offset, &major, &minor, &out->inode,
                   &end) < 7)
            continue;
        out->shared = flags[3] == 's';
        out->named = line[end] == '[';
        out->moved = strncmp(line + end, "/memfd:fabric", 13) == 0;
        found = at >= out->begin && at + length <= out->end;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

/* Returns a descriptor of this process for the file of a mapping; -1: there is none. */
static int find_fd(const struct area *a)
{
    for (int fd = 3; fd < 1024; fd++) {
        struct stat st;
        if (fstat(fd, &st) == 0 && st.st_ino == a->inode && S_ISREG(st.st_mode))
            return fd;
    }
    return -1;
}

/* Moves pages to a file; children that are forked do not get them any more. Nobody else may use them
 * meanwhile. Returns a descriptor of it, or -1. */
static int move(uintptr_t begin, size_t bytes)
{
    int fd = memfd_create("fabric", MFD_CLOEXEC);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)bytes) != 0 ||
        pwrite(fd, (void *)begin, bytes, 0) != (ssize_t)bytes || // NOLINT
        mmap((void *)begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED) {
        close(fd);
        return -1;
    }
    madvise((void *)begin, bytes, MADV_DONTFORK);
    return fd;
}

/* Finds or makes the file in which the memory lies. */
static void place(struct shared_mr *s, struct mr *m, uintptr_t at, size_t length)
{
    uintptr_t begin = at / PAGE * PAGE, end = (at + length + PAGE - 1) / PAGE * PAGE;
    struct area a;

    s->fd = -1;
    if (length == 0 || !find_area(at, length, &a))
        return;
    if (a.shared && a.inode != 0 && (s->fd = find_fd(&a)) >= 0) {
        s->offset = a.offset + (at - a.begin);
        return;
    }
    /* pages that were moved, and whose file was closed since, are moved again */
    if (((a.shared || a.inode != 0) && !a.moved) || a.named || end > a.end)
        return;
    s->fd = m->own_fd = move(begin, end - begin);
    s->offset = at - begin;
}

/* ------------------------------------------------------------------ keys ---------------------- */

/* A key is the place in the table, and a generation, so that an old key is not found again. */
static struct shared_mr *mr_of(uint32_t key)
{
    struct shared_mr *m = &fabric.state->mrs[key % MRS_MOST];

    return atomic_load_explicit(&m->key, memory_order_acquire) == key ? m : NULL;
}

static uint32_t new_key(void)
{
    struct state *s = fabric.state;
    uint32_t key = 0;

    for (uint32_t i = 0; i < MRS_MOST && key == 0; i++) {
        uint32_t at = s->next_mr++ % MRS_MOST;
        s->mr_generation += at == 0;
        if (at != 0 && atomic_load(&s->mrs[at].key) == 0)
            key = (s->mr_generation % 4096 << 18) + MRS_MOST * (s->mr_generation % 4096 == 0) + at;
    }
    return key;
}

/* Says whether forked children get these pages, after ibv_fork_init(). After the end of one of two registrations that
 * share pages children get these pages again. */
static void fork_with(uintptr_t at, size_t length, int advice)
{
    uintptr_t begin = at / PAGE * PAGE;

    if (fabric.fork_safe && madvise((void *)begin, at + length - begin, advice) != 0)
        perror("fabric: cannot say what is forked");
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    if (fabric_fault_call("reg_mr") != 0)
        return NULL;
    const struct fabric_device *d = fabric_device_of(pd->context);
    struct shared_mr s = {.process = fabric_process(),
                          .pd = ((struct pd *)pd)->number,
                          .access = access,
                          .addr = (uintptr_t)addr,
                          .length = length,
                          .iova = iova};
    struct mr *m;

    if (length > d->max_mr_size) {
        errno = EINVAL;
        return NULL;
    }
    if ((m = fabric_new(sizeof *m)) == NULL)
        return NULL;
    m->own_fd = -1;
    place(&s, m, (uintptr_t)addr, length);
    fabric.used = true;
    fabric_lock(&fabric.state->lock);
    uint32_t key = new_key();
    if (key != 0) {
        struct shared_mr *slot = &fabric.state->mrs[key % MRS_MOST];
        s.key = 0;
        memcpy((char *)slot + sizeof s.key, (char *)&s + sizeof s.key, sizeof s - sizeof s.key);
        atomic_store_explicit(&slot->key, key, memory_order_release);
    }
    fabric_unlock(&fabric.state->lock);
    if (key == 0) {
        if (m->own_fd >= 0)
            close(m->own_fd);
        free(m);
        errno = ENOMEM;
        return NULL;
    }
    fork_with((uintptr_t)addr, length, MADV_DONTFORK);
    fabric_made();
    m->verbs = (struct ibv_mr){
        .context = pd->context, .pd = pd, .addr = addr, .length = length, .lkey = key, .rkey = key};
    return &m->verbs;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               int access)
{
    return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    int fault = fabric_fault_call("dereg_mr");
    if (fault != 0)
        return fault;
    struct mr *m = (struct mr *)mr;
    struct shared_mr *s = mr_of(mr->lkey);

    if (s != NULL) {
        fork_with(s->addr, s->length, MADV_DOFORK);
        atomic_store(&s->key, 0);
    }
    if (m->own_fd >= 0)
        close(m->own_fd); /* the pages stay as they are */
    free(m);
    fabric_gone();
    return 0;
}

/* ------------------------------------------------------------------ other processes ----------- */

/* Memory of other processes that this one has mapped, by key. */
struct mapped {
    uint32_t key;
    int32_t pid; /* of its owner, if it could not be mapped and the kernel has to copy; else 0 */
    unsigned char *at;
    void *base;
    size_t bytes;
};
#define MAPPED_MOST 4096u
static struct mapped mapped[MAPPED_MOST];

static void map(struct mapped *m, const struct shared_mr *s, uint32_t key)
{
    int32_t pid = atomic_load(&fabric.state->process[s->process].pid);
    uint64_t begin = s->offset / PAGE * PAGE;
    char path[64];
    int fd = -1;

    if (m->base != NULL)
        munmap(m->base, m->bytes);
    *m = (struct mapped){.key = key, .pid = pid};
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)s->fd);
    if (s->fd < 0 || (fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
        return;
    size_t bytes = (s->offset - begin + s->length + PAGE - 1) / PAGE * PAGE;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)begin);
    close(fd);
    if (base == MAP_FAILED)
        return;
    m->base = base;
    m->bytes = bytes;
    m->at = (unsigned char *)base + (s->offset - begin);
    m->pid = 0;
}

void fabric_unmap_all(void)
{
    for (size_t i = 0; i < MAPPED_MOST; i++)
        if (mapped[i].base != NULL)
            munmap(mapped[i].base, mapped[i].bytes);
    memset(mapped, 0, sizeof mapped);
}

bool fabric_reach(uint32_t pd, uint32_t key, uint64_t addr, size_t length, unsigned access,
                  struct remote *out)
{
    const struct shared_mr *s = mr_of(key);

    if (s == NULL || s->pd != pd || (s->access & access) != access || addr < s->iova ||
        addr - s->iova > s->length || length > s->length - (addr - s->iova))
        return false;
    uint64_t at = addr - s->iova;
    if (s->process == fabric_process()) {
        *out = (struct remote){(unsigned char *)(uintptr_t)s->addr + at, 0};
        return true;
    }
    struct mapped *m = &mapped[key % MAPPED_MOST];
    if (m->key != key)
        map(m, s, key);
    *out = m->pid == 0 ? (struct remote){m->at + at, 0}
                       : (struct remote){(unsigned char *)(uintptr_t)s->addr + at, m->pid};
    return true;
}

bool fabric_write(struct remote to, const void *from, size_t length)
{
    if (to.pid == 0) {
        memcpy(to.at, from, length);
        return true;
    }
    struct iovec own = {(void *)(uintptr_t)from, length}, theirs = {to.at, length};
    return process_vm_writev(to.pid, &own, 1, &theirs, 1, 0) == (ssize_t)length;
}

bool fabric_read(struct remote from, void *to, size_t length)
{
    if (from.pid == 0) {
        memcpy(to, from.at, length);
        return true;
    }
    struct iovec own = {to, length}, theirs = {from.at, length};
    return process_vm_readv(from.pid, &own, 1, &theirs, 1, 0) == (ssize_t)length;
}
