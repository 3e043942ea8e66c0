/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/blackboard.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct note {
    struct note *next;
    int rank;
    char key[64];
    size_t len;
    unsigned char bytes[];
};

/* One rank's place at the board. */
struct seat {
    struct blackboard *board;
    int rank;
    bool fencing;        /* has entered a fence that has not ended yet */
    unsigned long fence; /* the fence it is in */
};

struct blackboard {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct note *notes;
    int ranks, fencing;   /* ranks in the current fence */
    unsigned long fences; /* that have ended */
    struct seat seats[];
};

static int put(void *arg, const char *key, const void *value, size_t len)
{
    struct seat *seat = arg;
    struct blackboard *board = seat->board;
    struct note *note = malloc(sizeof *note + len);

    if (note == NULL || strlen(key) >= sizeof note->key)
        abort();
    note->rank = seat->rank;
    strcpy(note->key, key);
    note->len = len;
    if (len > 0)
        memcpy(note->bytes, value, len);
    pthread_mutex_lock(&board->lock);
    note->next = board->notes;
    board->notes = note;
    pthread_mutex_unlock(&board->lock);
    return 0;
}

static struct timespec deadline(int64_t timeout_ns)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ns / 1000000000;
    at.tv_nsec += timeout_ns % 1000000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static int fence(void *arg, int64_t timeout_ns)
{
    struct seat *seat = arg;
    struct blackboard *board = seat->board;
    struct timespec until = deadline(timeout_ns);
    int rc = 0;

    pthread_mutex_lock(&board->lock);
    if (!seat->fencing) {
        seat->fencing = true;
        seat->fence = board->fences;
        if (++board->fencing == board->ranks) {
            board->fencing = 0;
            board->fences++;
            pthread_cond_broadcast(&board->changed);
        }
    }
    while (board->fences == seat->fence && rc == 0)
        rc = pthread_cond_timedwait(&board->changed, &board->lock, &until);
    seat->fencing = board->fences == seat->fence;
    pthread_mutex_unlock(&board->lock);
    return seat->fencing ? NCOLL_TIMEOUT : 0;
}

static int get(void *arg, int rank, const char *key, void *value, size_t *len)
{
    struct blackboard *board = ((struct seat *)arg)->board;
    const struct note *note;

    pthread_mutex_lock(&board->lock);
    note = board->notes;
    while (note != NULL && (note->rank != rank || strcmp(note->key, key) != 0))
        note = note->next;
    if (note != NULL) {
        if (note->len > 0)
            memcpy(value, note->bytes, note->len < *len ? note->len : *len);
        *len = note->len;
    }
    pthread_mutex_unlock(&board->lock);
    return note != NULL ? 0 : -1;
}

struct blackboard *blackboard_create(int ranks)
{
    struct blackboard *board = calloc(1, sizeof *board + (size_t)ranks * sizeof board->seats[0]);
    pthread_condattr_t attributes;

    if (board == NULL)
        abort();
    board->ranks = ranks;
    pthread_mutex_init(&board->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&board->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    for (int r = 0; r < ranks; r++)
        board->seats[r] = (struct seat){.board = board, .rank = r};
    return board;
}

void blackboard_destroy(struct blackboard *board)
{
    while (board->notes != NULL) {
        struct note *next = board->notes->next;
        free(board->notes);
        board->notes = next;
    }
    pthread_cond_destroy(&board->changed);
    pthread_mutex_destroy(&board->lock);
    free(board);
}

void blackboard_join(struct blackboard *board, int rank, ncoll_params *params)
{
    params->bootstrap = NCOLL_BOOTSTRAP_USER;
    params->callbacks = (ncoll_bootstrap_callbacks){put, fence, get, &board->seats[rank]};
    params->rank = rank;
    params->ranks = board->ranks;
}
