/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges under PMIx: ranks leave their blobs on the board of their node, the leader of each node
 * publishes one parcel, and a fence follows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/futex.h"
#include "bootstrap/node_parcel.h"
#include "bootstrap/pmix.h"
#include "bootstrap/pmix_missing.h"
#include "bootstrap/pmix_session.h"

/* The longest sleep of a leader that waits for its mates, in nanoseconds: then it looks again,
 * though none has woken it. */
#define LOOK_NS UINT64_C(20000000)
/* The leader of a node tells other nodes which of its mates are late after this time, in
 * nanoseconds. */
#define LATE_NS UINT64_C(100000000)

/* The most nodes to all of which the fence brings all blobs, if each rank needs only few of them;
 * see docs/scale.md for the measurement. */
#define COLLECT_NODES 64

struct fence {
    _Atomic int holders;
    _Atomic bool ended; /* set with release order after status */
    pmix_status_t status;
};

/* The first late rank of a node and the number of its late ranks, as its leader publishes them. */
struct late {
    int32_t rank, count;
};

/* ------------------------------------------------------------------ publishing ---------------- */

static int no_memory(struct pmix *p, size_t bytes)
{
    return p->events.fail(p->events.arg, NCOLL_ERR_MEMORY, -1, NULL,
                          "no memory to exchange %zu bytes with the other ranks", bytes);
}

/* Adds a blob to a parcel: that of this rank, or that of a mate, if it is on the board. */
static void add_blob(struct pmix *p, struct blob *parcel, struct last_blob *last, int rank)
{
    const struct kept *own = &p->keep.blobs[p->base.rank];
    size_t len = own->len;
    const void *bytes =
        rank == p->base.rank ? own->bytes : ncoll__node_board_get(&p->board, p->k, rank, &len);

    if (bytes != NULL)
        ncoll__node_parcel_add(parcel, last, rank, bytes, len);
}

/* Publishes a parcel: the blobs of this rank's node (of_node), or its own blob alone. */
static int put_parcel(struct pmix *p, bool of_node, pmix_scope_t scope)
{
    struct last_blob last = {0};
    struct blob parcel = {0};

    for (int i = 0; of_node && i < p->mates.n; i++)
        add_blob(p, &parcel, &last, p->mates.ranks[i]);
    if (!of_node)
        add_blob(p, &parcel, &last, p->base.rank);
    int rc = parcel.failed ? no_memory(p, p->keep.blobs[p->base.rank].len)
                           : ncoll__pmix_put(p, scope, p->key, parcel.bytes, parcel.len);
    ncoll__last_blob_free(&last);
    ncoll__blob_free(&parcel);
    return rc;
}

/* ------------------------------------------------------------------ the fence ----------------- */

static void let_go(struct fence *fence)
{
    if (atomic_fetch_sub_explicit(&fence->holders, 1, memory_order_acq_rel) == 1)
        free(fence);
}

/* Called by PMIx, on its own thread, when the fence has ended. */
static void on_fence(pmix_status_t status, void *arg)
{
    struct fence *fence = arg;

    fence->status = status;
    atomic_store_explicit(&fence->ended, true, memory_order_release);
    let_go(fence);
    ncoll__pmix_raise_news();
}

/*
 * Returns true if the fence is to bring all parcels to all nodes. All ranks decide alike. In a job
 * on one node there are no parcels. If each rank needs all blobs, each node would otherwise have to
 * ask every other node. If each rank needs few blobs, a node asks only for some of the parcels; on
 * many nodes that is less work.
 */
static bool collects(const struct pmix *p)
{
    int nodes = p->board.memory->nodes;

    return nodes > 1 && (!p->base.for_few || nodes <= COLLECT_NODES);
}

static int begin_fence(struct pmix *p)
{
    struct fence *fence = calloc(1, sizeof *fence);
    bool collect = collects(p);
    pmix_info_t info;

    if (fence == NULL)
        return no_memory(p, p->keep.blobs[p->base.rank].len);
    fence->holders = 2;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    /* The fence copies its arguments before it returns. */
    pmix_status_t status = PMIx_Fence_nb(NULL, 0, &info, 1, on_fence, fence);
    if (status == PMIX_OPERATION_SUCCEEDED) { /* it has ended at once; there will be no callback */
        on_fence(PMIX_SUCCESS, fence);
        status = PMIX_SUCCESS;
    }
    if (status != PMIX_SUCCESS) {
        free(fence);
        return ncoll__pmix_fail(&p->events, "PMIx_Fence_nb", status);
    }
    p->traffic.fences++;
    p->fence = fence;
    p->step = STEP_FENCE;
    return NCOLL_TIMEOUT;
}

/* Reports a fence that failed since a rank is gone. The fence does not tell which one. */
static int fail_fence(struct pmix *p, pmix_status_t status)
{
    int count, gone = ncoll__pmix_exchange_missing(&p->base, &count);

    if (gone < 0)
        return ncoll__pmix_fail(&p->events, "PMIx_Fence", status);
    return p->events.fail(p->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), gone,
                          "see what that rank has printed",
                          "rank %d is gone while the others wait for it (PMIx_Fence: %s)", gone,
                          PMIx_Error_string(status));
}

static int end_fence(struct pmix *p)
{
    if (!atomic_load_explicit(&p->fence->ended, memory_order_acquire))
        return NCOLL_TIMEOUT;
    pmix_status_t status = p->fence->status;
    let_go(p->fence);
    p->fence = NULL;
    int rc = status == PMIX_SUCCESS ? NCOLL_OK : fail_fence(p, status);
    p->step = STEP_ENDED;
    /* from now on this rank sees what others left on the board before they entered the fence */
    (void)atomic_load_explicit(&p->board.memory->arrived, memory_order_acquire);
    return rc;
}

/* ------------------------------------------------------------------ the exchange -------------- */

/* Leaves this rank's blob on the board. Returns NCOLL_TIMEOUT, or an error. */
static int leave_blob(struct pmix *p)
{
    const struct kept *own = &p->keep.blobs[p->base.rank];
    bool fits = ncoll__node_board_put(&p->board, p->k, p->base.rank, own->bytes, own->len);
    int rc = NCOLL_OK;

    p->next_node = p->shares ? p->mates.own : 0;
    /* A leader publishes its blob in the parcel of its node. */
    if (!pmix_leads(p) && p->base.ranks > 1 && (!p->shares || !fits))
        rc = put_parcel(p, false, PMIX_GLOBAL);
    if (rc != NCOLL_OK)
        return rc;
    ncoll__node_board_arrive(&p->board, p->shares ? p->mates.own : 0, p->k);
    if (!pmix_leads(p))
        return begin_fence(p);
    p->step = STEP_GATHER;
    return NCOLL_TIMEOUT;
}

/* On the leader: tells the ranks of other nodes which of its mates are late, first after LATE_NS,
 * then at ever longer intervals. */
static int name_late(struct pmix *p, int member, int count)
{
    struct late late = {p->mates.ranks[member], count};
    uint64_t waited_ns = pmix_now(p) - p->since_ns;
    char key[80];

    if (p->board.memory->nodes == 1 || waited_ns < LATE_NS || waited_ns < 4 * p->late_ns)
        return NCOLL_OK;
    p->late_ns = waited_ns;
    snprintf(key, sizeof key, "%s.late", p->key);
    return ncoll__pmix_put(p, PMIX_REMOTE, key, &late, sizeof late);
}

/* On the leader: waits for its mates, and publishes the parcel of the node. Ranks that are not on
 * the board need it even if all ranks are on this node. */
static int gather(struct pmix *p)
{
    const struct board_memory *m = p->board.memory;
    size_t len;
    int count, first = ncoll__node_board_absent(&p->board, p->k, &count), rc = NCOLL_OK;

    if (first >= 0) {
        ncoll__pmix_look_for_strays(p);
        rc = name_late(p, first, count);
        return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
    }
    ncoll__pmix_stop_meeting(p);
    bool all_here = atomic_load(&m->mates) == (uint32_t)m->members &&
                    ncoll__node_board_get(&p->board, p->k, p->base.rank, &len) != NULL;
    if (m->nodes > 1 || !all_here)
        rc = put_parcel(p, true, all_here ? PMIX_REMOTE : PMIX_GLOBAL);
    return rc == NCOLL_OK ? begin_fence(p) : rc;
}

int ncoll__pmix_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct pmix *p = pmix_of(b);

    ncoll__pmix_forget(p);
    snprintf(p->key, sizeof p->key, "ncoll.%u.%" PRIu64, p->context, ++p->k);
    p->since_ns = pmix_now(p);
    p->late_ns = 0;
    if (!ncoll__keep_copy(&p->keep, b->rank, blob, len))
        return no_memory(p, len);
    p->step = STEP_MEET;
    int rc = ncoll__pmix_exchange_test(b);
    return rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
}

int ncoll__pmix_exchange_test(struct bootstrap *b)
{
    struct pmix *p = pmix_of(b);
    int rc = NCOLL_OK;

    p->news = atomic_load(&ncoll__pmix_news);
    if (p->board.memory != NULL)
        p->board_news = atomic_load(&p->board.memory->news);
    if (p->step == STEP_MEET) {
        rc = ncoll__pmix_meet(p);
        if (rc == NCOLL_OK)
            rc = leave_blob(p);
    } else if (p->step == STEP_GATHER) {
        rc = gather(p);
    } else if (p->step == STEP_FENCE) {
        rc = end_fence(p);
    }
    return rc;
}

/* Sleeps until PMIx has called back or, on a leader that gathers blobs, until its mates have come;
 * but at most for ns nanoseconds. */
void ncoll__pmix_wait(struct bootstrap *b, uint64_t ns)
{
    struct pmix *p = pmix_of(b);
    uint64_t most_ns = ns < LOOK_NS ? ns : LOOK_NS;

    if (p->step == STEP_GATHER)
        ncoll__futex_wait(&p->board.memory->news, p->board_news, most_ns);
    else
        ncoll__futex_wait(&ncoll__pmix_news, p->news, p->step == STEP_MEET ? most_ns : ns);
}

void ncoll__pmix_exchange_drop(struct pmix *p)
{
    if (p->fence != NULL)
        let_go(p->fence);
    p->fence = NULL;
}

/* ------------------------------------------------------------------ who is missing ------------ */

/* Gets what a leader has published of late ranks of its node. If it has published nothing, the
 * leader itself is late. */
static struct late late_of(struct pmix *p, int leader)
{
    struct late late = {leader, 1};
    bool missing;
    unsigned char *bytes = NULL;
    pmix_status_t status;
    char key[80];
    size_t len;

    snprintf(key, sizeof key, "%s.late", p->key);
    if (ncoll__pmix_missing(&p->self, &leader, 1, key, &missing) != 0)
        return late;
    struct pmix_fetch *fetch = ncoll__pmix_fetch_start(&p->self, leader, key);
    /* ncoll__pmix_missing() has got the value, so the answer comes at once. */
    for (int i = 0; fetch != NULL && i < 100; i++) {
        uint32_t news = atomic_load(&ncoll__pmix_news);
        if (ncoll__pmix_fetch_test(fetch, &status, &bytes, &len)) {
            if (status == PMIX_SUCCESS && len == sizeof late)
                memcpy(&late, bytes, sizeof late);
            free(bytes);
            break;
        }
        ncoll__futex_wait(&ncoll__pmix_news, news, 1000000);
    }
    if (fetch != NULL)
        ncoll__pmix_fetch_end(fetch);
    return late.rank >= 0 && late.rank < p->base.ranks ? late : (struct late){leader, 1};
}

/* Adds the number of late ranks of other nodes to *count. Only leaders publish something, so they
 * are asked. lowest: the lowest late rank of this node. Returns the lowest of all nodes. */
static int missing_elsewhere(struct pmix *p, int lowest, int *count)
{
    const struct node_board *board = &p->board;
    int nodes = board->memory->nodes, own = board->node_of[p->base.rank], n = 0;
    int *leaders = malloc((size_t)nodes * sizeof *leaders);
    bool *missing = calloc((size_t)nodes, sizeof *missing);

    for (int i = 0; leaders != NULL && i < nodes; i++)
        if (board->leader[i] != p->base.rank && (i != own || !p->shares))
            leaders[n++] = board->leader[i];
    if (n > 0 && missing != NULL && ncoll__pmix_missing(&p->self, leaders, n, p->key, missing) > 0)
        for (int i = 0; i < n; i++) {
            if (!missing[i])
                continue;
            struct late late = late_of(p, leaders[i]);
            *count += late.count;
            lowest = lowest < 0 || late.rank < lowest ? late.rank : lowest;
        }
    free(missing);
    free(leaders);
    return lowest;
}

int ncoll__pmix_exchange_missing(struct bootstrap *b, int *count)
{
    struct pmix *p = pmix_of(b);
    int lowest = -1;

    *count = 0;
    if (p->step == STEP_ENDED)
        return -1;
    if (p->step == STEP_MEET) { /* the leader has not made the board */
        *count = 1;
        return p->mates.ranks[0];
    }
    if (p->shares) {
        int member = ncoll__node_board_absent(&p->board, p->k, count);
        lowest = member >= 0 ? p->mates.ranks[member] : -1;
    }
    return p->board.memory->nodes > 1 ? missing_elsewhere(p, lowest, count) : lowest;
}
