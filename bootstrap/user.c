/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap by callbacks of the program (put, fence, get). Exchange k, from 1, consists of a
 * put of "ncoll.<k>", a fence, and a get for each rank whose blob is asked for. The keys are the
 * same in every context, so each context needs callbacks (with their arg) that have a key space of
 * their own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"

/* The longest time, in nanoseconds, that a fence waits before this library checks its own time-out
 * and its peers. */
#define FENCE_NS INT64_C(1000000)

#define FIRST_GUESS 4096 /* bytes; the first attempt gets blobs up to this length */

struct user {
    struct bootstrap base;
    struct bootstrap_events events;
    ncoll_bootstrap_callbacks callbacks;
    uint64_t k;
    bool fenced;
    char key[32];
    struct keep keep;
};

static struct user *user_of(struct bootstrap *b)
{
    return (struct user *)b;
}

static int check(const struct bootstrap_config *config)
{
    const struct bootstrap_events *events = &config->events;
    const ncoll_bootstrap_callbacks *callbacks = &config->callbacks;

    if (callbacks->put == NULL || callbacks->fence == NULL || callbacks->get == NULL)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "set callbacks.put, callbacks.fence and callbacks.get in "
                            "ncoll_params, or allgather in their place",
                            "the user bootstrap lacks a callback");
    if (config->rank < 0 || config->ranks < 1 || config->rank >= config->ranks)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "set rank (from 0) and ranks in ncoll_params",
                            "rank %d of %d for the user bootstrap", config->rank, config->ranks);
    return NCOLL_OK;
}

static int user_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;

    int rc = check(config);
    if (rc != NCOLL_OK)
        return rc;
    struct user *user = calloc(1, sizeof *user);
    if (user == NULL)
        goto no_memory;
    if (!ncoll__keep_init(&user->keep, config->ranks))
        goto free_user;
    user->base = (struct bootstrap){&ncoll__bootstrap_user, config->rank, config->ranks};
    user->events = *events;
    user->callbacks = config->callbacks;
    *out = &user->base;
    return NCOLL_OK;

free_user:
    free(user);
no_memory:
    return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks",
                        config->ranks);
}

static int fail_callback(struct user *user, int peer, const char *callback, int returned)
{
    return user->events.fail(user->events.arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, CALLBACK_FAILED), peer,
                             "see ncoll_bootstrap_callbacks in ncoll.h",
                             "the %s callback returned %d for key %s", callback, returned,
                             user->key);
}

static int user_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct user *user = user_of(b);

    ncoll__keep_clear(&user->keep);
    user->fenced = false;
    snprintf(user->key, sizeof user->key, "ncoll.%" PRIu64, ++user->k);
    int rc = user->callbacks.put(user->callbacks.arg, user->key, blob, len);
    return rc == 0 ? NCOLL_OK : fail_callback(user, -1, "put", rc);
}

static int user_exchange_test(struct bootstrap *b)
{
    struct user *user = user_of(b);

    if (user->fenced) /* a fence that has ended must not be entered again */
        return NCOLL_OK;
    int rc = user->callbacks.fence(user->callbacks.arg, FENCE_NS);
    if (rc == NCOLL_TIMEOUT)
        return rc;
    if (rc != 0)
        return fail_callback(user, -1, "fence", rc);
    user->fenced = true;
    return NCOLL_OK;
}

/* Gets a blob into memory of the right size. The first attempt may only find out the size. */
static int fetch(struct user *user, int rank)
{
    size_t capacity = FIRST_GUESS;

    for (;;) {
        size_t len = capacity;
        unsigned char *bytes = ncoll__keep_allocate(capacity);
        if (bytes == NULL)
            return user->events.fail(user->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                                     "no memory for %zu bytes of rank %d", capacity, rank);
        int rc = user->callbacks.get(user->callbacks.arg, rank, user->key, bytes, &len);
        if (rc == 0 && len <= capacity) {
            ncoll__keep_adopt(&user->keep, rank, bytes, len);
            return NCOLL_OK;
        }
        free(bytes);
        if (rc != 0)
            return fail_callback(user, rank, "get", rc);
        capacity = len;
    }
}

static int user_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    struct user *user = user_of(b);
    const struct kept *kept = &user->keep.blobs[rank];

    if (kept->bytes == NULL) {
        int rc = fetch(user, rank);
        if (rc != NCOLL_OK)
            return rc;
    }
    *blob = kept->bytes;
    *len = kept->len;
    return NCOLL_OK;
}

static void user_close(struct bootstrap *b)
{
    struct user *user = user_of(b);

    ncoll__keep_free(&user->keep);
    free(user);
}

const struct bootstrap_ops ncoll__bootstrap_user = {
    .name = "user",
    .open = user_open,
    .exchange_start = user_exchange_start,
    .exchange_test = user_exchange_test,
    .get = user_get,
    .close = user_close,
};
