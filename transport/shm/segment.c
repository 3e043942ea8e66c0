/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "transport/file_limit.h"
#include "transport/process.h"
#include "transport/shm/limit.h"

#define MAGIC UINT64_C(0x6e636f6c6c73686d)

/* The shortest segment for which transparent huge pages are requested. */
#define HUGE_FROM_BYTES ((size_t)2 << 20)

/* The shortest segment that is compared with the memory that the process can have. */
#define LIMITED_FROM_BYTES ((size_t)64 << 20)

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

static int create_memfd(unsigned flags)
{
    int fd = memfd_create("ncoll", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | flags);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("ncoll", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
    return fd;
}

/* Makes a segment from an empty file; closes the file on failure. Returns 0 or -errno. */
static int create_in(int fd, struct segment *s, size_t bytes, uint64_t nonce, bool huge)
{
    void *base;

    /* fallocate() allocates the huge pages now, or fails. A reservation alone may turn out too
     * small later. */
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, (off_t)bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        (huge && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0))
        goto close_fd;
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        goto close_fd;

    *s = (struct segment){
        .base = base, .bytes = bytes, .nonce = nonce, .fd = fd, .local = true, .huge = huge};
    s->base->magic = MAGIC;
    s->base->nonce = nonce;
    s->base->owner_base = base;
    atomic_store(&s->base->local_users, 1);
    return 0;

close_fd:;
    int error = errno;
    close(fd);
    return -error;
}

int ncoll__segment_create(struct segment *s, size_t bytes, uint64_t nonce)
{
    if (ncoll__file_is_too_long(bytes))
        return -EFBIG;
    int fd = create_memfd(0);
    return fd < 0 ? -errno : create_in(fd, s, bytes, nonce, false);
}

/* Makes a segment in huge pages. Returns 0 or -errno; on failure the caller uses usual pages. */
static int create_huge(struct segment *s, size_t bytes, uint64_t nonce)
{
    struct stat stat;
    int fd = create_memfd(MFD_HUGETLB);

    if (fd < 0)
        return -errno;
    size_t page = fstat(fd, &stat) == 0 ? (size_t)stat.st_blksize : 0;
    size_t whole = page > 0 ? (bytes + page - 1) / page * page : 0;
    if (whole < bytes || whole - bytes > bytes / 4 || ncoll__file_is_too_long(whole)) {
        close(fd);
        return -ENOMEM;
    }
    return create_in(fd, s, whole, nonce, true);
}

void ncoll__segment_touch(void *base, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)base / page * page, end = (uintptr_t)base + bytes;
    struct sysinfo machine;

    /* Older kernels, and machines that are short of memory, allocate pages at their first use. */
    if (sysinfo(&machine) == 0 && bytes / machine.mem_unit < machine.freeram / 2)
        madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}

int ncoll__segment_create_for_user(struct segment *s, size_t bytes, uint64_t nonce, bool huge_pages)
{
    if (bytes >= LIMITED_FROM_BYTES && bytes > ncoll__memory_limit())
        return -E2BIG;
    int rc = huge_pages ? create_huge(s, bytes, nonce) : -ENOMEM;

    if (rc != 0 && (rc = ncoll__segment_create(s, bytes, nonce)) != 0)
        return rc;
    if (huge_pages && !s->huge && bytes >= HUGE_FROM_BYTES)
        /* ask for transparent huge pages, which some systems give only on request */
        madvise(s->base, s->bytes, MADV_HUGEPAGE);
    ncoll__segment_touch(s->base, s->bytes);
    return 0;
}

int ncoll__segment_failed(const struct transport_events *e, const char *what, size_t bytes,
                          int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS), -1,
                       "raise the limit: ulimit -n 4096",
                       "no file descriptor left for shared memory: %s", strerror(error));
    case EFBIG:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, FILE_SIZE), -1,
                       "raise the limit: ulimit -f unlimited",
                       "%zu bytes of %s are more than the limit of file sizes (RLIMIT_FSIZE), "
                       "which holds for shared memory as well",
                       bytes, what);
    case E2BIG:
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1,
                       "ask for less, or give the machine or the control group of the process "
                       "(memory.max) more",
                       "%zu bytes of %s are more than the %llu bytes of memory and swap space that "
                       "this process can ever have",
                       bytes, what, (unsigned long long)ncoll__memory_limit());
    case EPERM:
    case EACCES:
    case ENOSYS:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_REFUSED), -1,
                       "allow memfd_create where system calls are filtered (seccomp profile of the "
                       "container), or set NCOLL_TRANSPORT=verbs",
                       "cannot make shared memory here, for %zu bytes of %s: %s", bytes, what,
                       strerror(error));
    case ENOMEM:
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %zu bytes of %s", bytes,
                       what);
    default:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_CALL), -1, NULL,
                       "cannot make %zu bytes of %s: %s", bytes, what, strerror(error));
    }
}

struct segment_name ncoll__segment_name(const struct segment *s)
{
    return (struct segment_name){getpid(), s->fd, s->bytes, s->nonce};
}

/* Writes "/proc/<pid>/fd/<fd>". */
static void path_of(const struct segment_name *name, char *path, size_t size)
{
    snprintf(path, size, "/proc/%d/fd/%d", (int)name->pid, (int)name->fd);
}

/* Returns 0 if a link in /proc leads to a segment of ncoll, or -errno. */
static int look_at(const char *path)
{
    static const char wanted[] = "/memfd:ncoll";
    char link[sizeof wanted] = "";

    if (readlink(path, link, sizeof link - 1) < 0)
        return -errno;
    return strcmp(link, wanted) == 0 ? 0 : -ESTALE;
}

bool ncoll__segment_is_visible(const struct segment *s)
{
    struct segment_name name = ncoll__segment_name(s);
    char path[64];

    path_of(&name, path, sizeof path);
    return look_at(path) == 0;
}

bool ncoll__segment_is_closed(const struct segment_name *name)
{
    char path[64];

    path_of(name, path, sizeof path);
    int rc = look_at(path);
    return rc == -ESTALE || (rc == -ENOENT && !ncoll__process_is_hidden(name->pid));
}

/*
 * Opens a segment by its name. Returns the descriptor, or -errno. The link in /proc is checked
 * first: in another pid namespace the same path may be a file of some other program, which must not
 * be touched.
 */
static int open_named(const struct segment_name *name, int access)
{
    char path[64];
    struct stat stat;

    path_of(name, path, sizeof path);
    int rc = look_at(path);
    if (rc != 0)
        return rc;
    int fd = open(path, access | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int seals = fcntl(fd, F_GET_SEALS);
    if (fstat(fd, &stat) != 0 || (uint64_t)stat.st_size != name->bytes || seals < 0 ||
        !(seals & F_SEAL_SHRINK)) {
        close(fd);
        return -ESTALE;
    }
    return fd;
}

/* Counts one more user of the owner's mapping, unless the owner is unmapping it. */
static bool join_local(struct segment_header *header)
{
    uint32_t users = atomic_load(&header->local_users);

    while (users != 0)
        if (atomic_compare_exchange_weak(&header->local_users, &users, users + 1))
            return true;
    return false;
}

int ncoll__segment_attach(struct segment *s, const struct segment_name *name)
{
    int rc = 0, fd = open_named(name, O_RDWR);

    if (fd < 0)
        return fd;
    struct segment_header *base =
        name->bytes < sizeof *base
            ? MAP_FAILED
            : mmap(NULL, name->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    close(fd);
    if (base == MAP_FAILED)
        return name->bytes < sizeof *base ? -ESTALE : -error;
    if (base->magic != MAGIC || base->nonce != name->nonce) {
        rc = -ESTALE;
        goto unmap;
    }
    *s = (struct segment){.base = base, .bytes = name->bytes, .nonce = name->nonce, .fd = -1};
    if (name->pid != getpid())
        return 0;
    if (!join_local(base)) {
        *s = (struct segment){0};
        rc = -ESRCH;
        goto unmap;
    }
    s->base = base->owner_base;
    s->local = true;

unmap:
    munmap(base, name->bytes);
    return rc;
}

int ncoll__segment_stand_in(struct segment *s, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED)
        return -errno;
    *s = (struct segment){.base = base, .bytes = bytes, .fd = -1};
    return 0;
}

/* Reads all bytes. Returns 0 or -errno. */
static int read_all(int fd, void *to, size_t bytes, uint64_t at)
{
    while (bytes > 0) {
        ssize_t n = pread(fd, to, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ESTALE;
        to = (char *)to + n;
        bytes -= (size_t)n;
        at += (size_t)n;
    }
    return 0;
}

int ncoll__segment_read(const struct segment_name *name, uint64_t at, void *to, size_t bytes)
{
    struct {
        uint64_t magic, nonce;
    } head;
    _Static_assert(offsetof(struct segment_header, nonce) == sizeof head.magic, "as in the header");
    int rc, fd = open_named(name, O_RDONLY);

    if (fd < 0)
        return fd;
    rc = read_all(fd, &head, sizeof head, 0);
    if (rc == 0 && (head.magic != MAGIC || head.nonce != name->nonce))
        rc = -ESTALE;
    if (rc == 0)
        rc = read_all(fd, to, bytes, at);
    close(fd);
    return rc;
}

void ncoll__segment_revoke(struct segment *s, size_t keep)
{
    if (s->base == NULL)
        return;
    atomic_store(&s->base->revoked, 1);
    /* Huge pages are not given back here, but freed with the last mapping. If they were given back
     * and no other ones were left, a rank that still writes there would get a SIGBUS. */
    if (s->huge)
        return;
    (void)!fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)keep,
                     (off_t)(s->bytes - keep));
}

void ncoll__segment_release(struct segment *s)
{
    if (s->base == NULL)
        return;
    if (s->fd >= 0)
        close(s->fd);
    if (!s->local || atomic_fetch_sub(&s->base->local_users, 1) == 1)
        munmap(s->base, s->bytes);
    *s = (struct segment){0};
}
