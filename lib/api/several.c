/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for several requests: all, any, or some of them. */
#include "lib/api/calls.h"
#include "lib/api/check.h"
#include "lib/base/entry.h"
#include "lib/watch/failure.h"

/* ------------------------------------------------------------------ checks -------------------- */

/* Sets *ctx to the context of the first request; NULL: there is no request. */
static int find_context(ncoll_request *const *requests, size_t count, struct ncoll_context **ctx)
{
    *ctx = NULL;
    if (requests == NULL && count > 0)
        return NCOLL_ERR_HANDLE;
    for (size_t i = 0; i < count && *ctx == NULL; i++)
        if (is_request(requests[i]))
            *ctx = requests[i]->group->ctx;
        else if (requests[i] != NULL)
            return NCOLL_ERR_HANDLE;
    return NCOLL_OK;
}

static void unmark(ncoll_request *const *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (requests[i] != NULL)
            requests[i]->listed = false;
}

/* Checks one request, and marks it as listed if it is valid. */
static int mark(struct ncoll_context *ctx, ncoll_request *const *requests, size_t i)
{
    struct ncoll_request *r = requests[i];

    if (r == NULL)
        return NCOLL_OK;
    if (!is_request(r))
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_HANDLE, BAD_HANDLE), -1,
                           "pass NULL in place of requests that are over",
                           "entry %zu of the requests is not a request", i);
    if (r->group->ctx != ctx)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "wait for the requests of each context by a call of its own",
                           "entry %zu of the requests is of another context than those before it",
                           i);
    if (r->listed)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "list each request once",
                           "entry %zu of the requests is the same as an earlier one", i);
    r->listed = true;
    return NCOLL_OK;
}

static int check_requests(struct ncoll_context *ctx, ncoll_request *const *requests, size_t count)
{
    int rc = NCOLL_OK;
    size_t i = 0;

    while (i < count && (rc = mark(ctx, requests, i)) == NCOLL_OK)
        i++;
    unmark(requests, i);
    return rc;
}

/* Checks the arguments. has_places: the pointers to the results are not NULL. Without a request
 * there is no context (ctx is NULL), so no error is recorded. */
static int check(struct ncoll_context *ctx, ncoll_request *const *requests, size_t count,
                 int64_t timeout_ns, bool has_places)
{
    int rc;

    if (ctx == NULL)
        return timeout_ns < 0 || !has_places ? NCOLL_ERR_ARGUMENT : NCOLL_OK;
    if ((rc = ncoll__check_timeout(ctx->world, timeout_ns)) != NCOLL_OK)
        return rc;
    if (!has_places)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "pass pointers for the indices and for their number",
                           "the place for an index or a number is NULL");
    return check_requests(ctx, requests, count);
}

/* ------------------------------------------------------------------ waiting ------------------- */

static bool has_ended(const struct ncoll_request *r)
{
    return r != NULL && r->started && r->call.state == CALL_ENDED;
}

/* Waits for all of the requests, or for any. Returns NCOLL_OK or NCOLL_TIMEOUT. */
static int drive(struct several *s, int64_t timeout_ns)
{
    int rc = ncoll__several_drive(s, timeout_ns);
    size_t i = 0;

    if (rc != NCOLL_TIMEOUT)
        return rc;
    while (s->requests[i] == NULL || !s->requests[i]->started || has_ended(s->requests[i]))
        i++;
    return ncoll__timed_out(s->requests[i]->group, timeout_ns);
}

static int wait_all(ncoll_request **requests, size_t count, size_t *failed, int64_t timeout_ns)
{
    struct several s = {.requests = requests, .n = count, .all = true};
    int rc = drive(&s, timeout_ns);

    if (failed != NULL)
        *failed = rc == NCOLL_OK && s.at < count ? s.at : NCOLL_NO_INDEX;
    if (rc != NCOLL_OK)
        return rc;
    if (s.at < count)
        return ncoll__request_end(&requests[s.at]);
    for (size_t i = 0; i < count; i++)
        if (has_ended(requests[i]))
            ncoll__request_end(&requests[i]);
    return NCOLL_OK;
}

/* Waits for any of the requests, and ends at most `most` of those that have ended, up to one that
 * has failed. Sets *n to the number of these, and indices[] to their indices. */
static int wait_some(ncoll_request **requests, size_t count, size_t most, size_t *indices,
                     size_t *n, int64_t timeout_ns)
{
    struct several s = {.requests = requests, .n = count};
    int rc = drive(&s, timeout_ns);

    *n = 0;
    for (size_t i = 0; rc == NCOLL_OK && i < count && *n < most; i++)
        if (has_ended(requests[i])) {
            indices[(*n)++] = i;
            rc = ncoll__request_end(&requests[i]);
        }
    return rc;
}

enum way { ALL, ANY, SOME };

static int wait_entered(enum way way, struct ncoll_context *ctx, ncoll_request **requests,
                        size_t count, size_t *indices, size_t *n, int64_t timeout_ns)
{
    bool has_places = way == ALL || (n != NULL && (indices != NULL || (way == SOME && count == 0)));
    int rc = check(ctx, requests, count, timeout_ns, has_places);

    if (rc != NCOLL_OK)
        return rc;
    if (way == ALL)
        return wait_all(requests, count, indices, timeout_ns);
    if (way == ANY)
        *indices = NCOLL_NO_INDEX;
    return wait_some(requests, count, way == ANY ? 1 : count, indices, n, timeout_ns);
}

static int wait_for(enum way way, ncoll_request **requests, size_t count, size_t *indices,
                    size_t *n, int64_t timeout_ns)
{
    struct ncoll_context *ctx;
    int rc = find_context(requests, count, &ctx);

    if (rc != NCOLL_OK)
        return rc;
    if (ctx == NULL)
        return wait_entered(way, NULL, requests, count, indices, n, timeout_ns);
    ENTER(ctx);
    return wait_entered(way, ctx, requests, count, indices, n, timeout_ns);
}

int ncoll_wait_all(ncoll_request **requests, size_t count, size_t *failed, int64_t timeout_ns)
{
    return wait_for(ALL, requests, count, failed, NULL, timeout_ns);
}

int ncoll_wait_any(ncoll_request **requests, size_t count, size_t *index, int64_t timeout_ns)
{
    size_t n;

    return wait_for(ANY, requests, count, index, &n, timeout_ns);
}

int ncoll_wait_some(ncoll_request **requests, size_t count, size_t *indices, size_t *n,
                    int64_t timeout_ns)
{
    return wait_for(SOME, requests, count, indices, n, timeout_ns);
}
