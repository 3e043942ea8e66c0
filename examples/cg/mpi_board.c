/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_board.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* The head of an entry. It is followed by the key with its NUL and the value, and then by the next
 * entry. */
struct entry {
    size_t key_len, value_len;
};

struct bytes {
    unsigned char *of;
    size_t len;
};

struct mpi_board {
    int ranks;
    struct bytes pending; /* entries that this rank has put since the last fence */
    struct bytes *known;  /* entries of each rank that have come with fences */
    int *lens, *offsets;  /* per rank, for the fence that is going on */
};

static int append(struct bytes *to, const void *from, size_t len)
{
    unsigned char *more = realloc(to->of, to->len + len + 1);

    if (more == NULL)
        return -1;
    if (len > 0)
        memcpy(more + to->len, from, len);
    *to = (struct bytes){more, to->len + len};
    return 0;
}

static int put(void *arg, const char *key, const void *value, size_t len)
{
    struct mpi_board *b = arg;
    struct entry head = {strlen(key) + 1, len};

    return append(&b->pending, &head, sizeof head) | append(&b->pending, key, head.key_len) |
           append(&b->pending, value, len);
}

/* Computes lens[] and offsets[] of the pending bytes of all ranks. Returns their sum; -1: it is too
 * large. */
static int agree_on_layout(struct mpi_board *b)
{
    int mine = (int)b->pending.len, total = 0;

    MPI_Allgather(&mine, 1, MPI_INT, b->lens, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < b->ranks; r++) {
        if (b->lens[r] > INT_MAX - total)
            return -1;
        b->offsets[r] = total;
        total += b->lens[r];
    }
    return total;
}

static int fence(void *arg, int64_t timeout_ns)
{
    struct mpi_board *b = arg;
    int total = agree_on_layout(b);

    (void)timeout_ns; /* the launcher has started all ranks, so each of them comes */
    if (total < 0)
        return -1;
    unsigned char *all = malloc((size_t)total + 1);
    if (all == NULL)
        return -1;
    MPI_Allgatherv(b->pending.of, (int)b->pending.len, MPI_BYTE, all, b->lens, b->offsets, MPI_BYTE,
                   MPI_COMM_WORLD);
    int failed = 0;
    for (int r = 0; r < b->ranks; r++)
        failed |= append(&b->known[r], all + b->offsets[r], (size_t)b->lens[r]);
    b->pending.len = 0;
    free(all);
    return failed;
}

static int get(void *arg, int rank, const char *key, void *value, size_t *len)
{
    struct mpi_board *b = arg;
    const struct bytes *known = &b->known[rank];

    for (size_t at = 0; at < known->len;) {
        struct entry head;
        memcpy(&head, known->of + at, sizeof head);
        const char *its_key = (const char *)known->of + at + sizeof head;
        at += sizeof head + head.key_len + head.value_len;
        if (strcmp(its_key, key) != 0)
            continue;
        memcpy(value, its_key + head.key_len, head.value_len < *len ? head.value_len : *len);
        *len = head.value_len;
        return 0;
    }
    return -1;
}

struct mpi_board *mpi_board_open(void)
{
    struct mpi_board *b = calloc(1, sizeof *b);

    if (b == NULL)
        return NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &b->ranks);
    b->known = calloc((size_t)b->ranks, sizeof *b->known);
    b->lens = calloc((size_t)b->ranks, sizeof *b->lens);
    b->offsets = calloc((size_t)b->ranks, sizeof *b->offsets);
    if (b->known != NULL && b->lens != NULL && b->offsets != NULL)
        return b;
    mpi_board_close(b);
    return NULL;
}

void mpi_board_params(struct mpi_board *b, ncoll_params *out)
{
    ncoll_params_init(out, sizeof *out);
    out->bootstrap = NCOLL_BOOTSTRAP_USER;
    out->callbacks = (ncoll_bootstrap_callbacks){.put = put, .fence = fence, .get = get, .arg = b};
    MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
    out->ranks = b->ranks;
}

void mpi_board_close(struct mpi_board *b)
{
    for (int r = 0; b->known != NULL && r < b->ranks; r++)
        free(b->known[r].of);
    free(b->pending.of);
    free(b->offsets);
    free(b->lens);
    free(b->known);
    free(b);
}

int mpi_said(int mpi_error)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (mpi_error == MPI_SUCCESS)
        return NCOLL_OK;
    MPI_Error_string(mpi_error, text, &len);
    return failure_say(NCOLL_ERR_SYSTEM, "%s", text);
}
