/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/fork_board.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/futex.h"
#include "transport/file_limit.h"

/* Rounds up to whole pages. Rows, long blobs and channels begin at page boundaries, so that they can
 * be mapped, and their memory given back. */
static uint64_t whole_pages(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static size_t header_bytes(int ranks)
{
    return sizeof(struct board_header) + (size_t)ranks * sizeof(struct end);
}

static size_t channel_bytes(int ranks)
{
    return whole_pages(sizeof(struct channel) + (size_t)ranks * sizeof(struct channel_rank));
}

int ncoll__board_create(int ranks, struct ncoll_fork_board *board)
{
    int error;

    *board = (struct ncoll_fork_board){.rank = -1, .ranks = ranks};
    board->header =
        mmap(NULL, header_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board->header == MAP_FAILED)
        return errno;
    atomic_init(&board->header->blobs_end, whole_pages(1)); /* 0 stands for: no row yet */
    board->channels_fd = memfd_create("ncoll-channels", MFD_CLOEXEC);
    if (board->channels_fd < 0) {
        error = errno;
        goto unmap_header;
    }
    board->blobs_fd = memfd_create("ncoll-blobs", MFD_CLOEXEC);
    if (board->blobs_fd < 0) {
        error = errno;
        goto close_channels;
    }
    fchmod(board->channels_fd, 0600); /* without this, every user could open the memfd */
    fchmod(board->blobs_fd, 0600);
    return 0;

close_channels:
    close(board->channels_fd);
unmap_header:
    munmap(board->header, header_bytes(ranks));
    return error;
}

void ncoll__board_destroy(struct ncoll_fork_board *board)
{
    close(board->blobs_fd);
    close(board->channels_fd);
    munmap(board->header, header_bytes(board->ranks));
}

/* Wakes the ranks that wait on the board. To be called after a change that they wait for. */
static void raise_news(struct ncoll_fork_board *board)
{
    atomic_fetch_add(&board->header->news, 1);
    ncoll__futex_wake(&board->header->news);
}

void ncoll__board_wait(struct ncoll_fork_board *board, uint32_t seen, uint64_t ns)
{
    ncoll__futex_wait(&board->header->news, seen, ns);
}

void ncoll__board_note_end(struct ncoll_fork_board *board, struct end end)
{
    struct board_header *header = board->header;
    int n = atomic_load_explicit(&header->n_ends, memory_order_relaxed);

    header->ends[n] = end;
    atomic_store_explicit(&header->n_ends, n + 1, memory_order_release);
    raise_news(board);
}

bool ncoll__board_has_end(const struct ncoll_fork_board *board, int rank)
{
    const struct board_header *header = board->header;
    int n = atomic_load_explicit(&header->n_ends, memory_order_acquire);

    for (int i = 0; i < n; i++)
        if (header->ends[i].rank == rank)
            return true;
    return false;
}

/* Maps a channel. Returns NULL with errno if that fails. */
static struct channel *map_channel(struct ncoll_fork_board *board, off_t at, size_t bytes)
{
    if (board->shared != NULL)
        return ncoll__channels_take(board->shared, board->channels_fd, at, bytes);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, board->channels_fd, at);
    return memory != MAP_FAILED ? memory : NULL;
}

static void unmap_channel(struct ncoll_fork_board *board, struct channel *channel)
{
    if (board->shared != NULL)
        ncoll__channels_drop(board->shared, channel, channel_bytes(board->ranks));
    else
        munmap(channel, channel_bytes(board->ranks));
}

static int open_channel(struct ncoll_fork_board *board, unsigned number, struct channel **channel)
{
    size_t bytes = channel_bytes(board->ranks);
    off_t at = (off_t)(number * bytes);

    if (ncoll__file_is_too_long((uint64_t)at + bytes))
        return EFBIG;
    /* Every rank extends the file as far as it needs; fallocate() neither shrinks nor clears it. */
    if (fallocate(board->channels_fd, 0, at, (off_t)bytes) != 0)
        return errno;
    *channel = map_channel(board, at, bytes);
    return *channel != NULL ? 0 : errno;
}

int ncoll__channel_open(struct ncoll_fork_board *board, struct channel **channel)
{
    int error = open_channel(board, atomic_fetch_add(&board->contexts, 1), channel);

    if (error != 0 && board->threads != NULL) /* ncoll__thread_board_miss() counts this context */
        atomic_fetch_sub(&board->contexts, 1);
    return error;
}

static uint64_t row_bytes(const struct ncoll_fork_board *board)
{
    return whole_pages((uint64_t)board->ranks * SHORT_BLOB);
}

/* Takes bytes of the blobs file that nobody uses. Returns where they begin. */
static uint64_t take(struct ncoll_fork_board *board, uint64_t bytes)
{
    return atomic_fetch_add(&board->header->blobs_end, bytes);
}

/* Returns where a row begins. The first rank that asks takes a place for it; if two ranks do so at
 * the same time, one of the places is not used, which costs no memory. */
static uint64_t row_at(struct ncoll_fork_board *board, _Atomic uint64_t *row)
{
    uint64_t at = atomic_load(row), mine;

    if (at != 0)
        return at;
    mine = take(board, row_bytes(board));
    return atomic_compare_exchange_strong(row, &at, mine) ? mine : at;
}

static void give_back(struct ncoll_fork_board *board, uint64_t offset, uint64_t bytes)
{
    if (bytes > 0)
        (void)fallocate(board->blobs_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                        (off_t)bytes);
}

/* Gives the memory of all blobs of a channel back. */
static void give_blobs_back(struct ncoll_fork_board *board, struct channel *channel)
{
    for (int odd = 0; odd < 2; odd++) {
        uint64_t row = atomic_load(&channel->rows[odd]);
        give_back(board, row, row != 0 ? row_bytes(board) : 0);
        for (int r = 0; r < board->ranks; r++)
            give_back(board, channel->ranks[r].blob[odd].offset,
                      channel->ranks[r].blob[odd].capacity);
    }
}

void ncoll__channel_close(struct ncoll_fork_board *board, struct channel *channel)
{
    atomic_store_explicit(&channel->ranks[board->rank].closed, 1, memory_order_release);
    int closed = 1 + atomic_fetch_add_explicit(&channel->closed, 1, memory_order_acq_rel);

    raise_news(board);
    if (closed == board->ranks) {
        give_blobs_back(board, channel);
        madvise(channel, channel_bytes(board->ranks), MADV_REMOVE);
    }
    unmap_channel(board, channel);
}

static int write_all(int fd, const char *bytes, size_t len, off_t at)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, bytes, len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        bytes += n;
        len -= (size_t)n;
        at += n;
    }
    return 0;
}

int ncoll__channel_publish(struct ncoll_fork_board *board, struct channel *channel, uint64_t k,
                           const void *blob, size_t len)
{
    struct channel_rank *own = &channel->ranks[board->rank];
    struct extent *extent = &own->blob[k % 2];

    if (extent->capacity == 0 && len <= SHORT_BLOB) {
        extent->offset = row_at(board, &channel->rows[k % 2]) + (uint64_t)board->rank * SHORT_BLOB;
    } else if (len > extent->capacity) {
        give_back(board, extent->offset, extent->capacity);
        extent->capacity = whole_pages(len);
        extent->offset = take(board, extent->capacity);
    }
    extent->len = len;
    if (ncoll__file_is_too_long(extent->offset + len))
        return EFBIG;
    int error = write_all(board->blobs_fd, blob, len, (off_t)extent->offset);
    if (error != 0)
        return error;
    atomic_store_explicit(&own->started, k, memory_order_release);
    uint64_t arrived = 1 + atomic_fetch_add_explicit(&channel->arrived, 1, memory_order_acq_rel);
    if (arrived == k * (uint64_t)board->ranks)
        raise_news(board);
    return 0;
}

int ncoll__blobs_map(struct ncoll_fork_board *board, const struct channel *channel, uint64_t k,
                     struct blobs *blobs)
{
    uint64_t begin = UINT64_MAX, end = 0;

    for (int r = 0; r < board->ranks; r++) {
        const struct extent *extent = &channel->ranks[r].blob[k % 2];
        if (extent->len == 0)
            continue;
        if (extent->offset < begin)
            begin = extent->offset;
        if (extent->offset + extent->len > end)
            end = extent->offset + extent->len;
    }
    *blobs = (struct blobs){0};
    if (end == 0)
        return 0; /* all blobs are empty */
    begin -= begin % (uint64_t)sysconf(_SC_PAGESIZE);
    void *base = mmap(NULL, end - begin, PROT_READ, MAP_SHARED, board->blobs_fd, (off_t)begin);
    if (base == MAP_FAILED)
        return errno;
    *blobs = (struct blobs){base, begin, end - begin};
    return 0;
}

void ncoll__blobs_unmap(struct blobs *blobs)
{
    if (blobs->base != NULL)
        munmap((void *)(uintptr_t)blobs->base, blobs->bytes);
    *blobs = (struct blobs){0};
}
