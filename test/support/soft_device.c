/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/soft_device.h"
#include "test/support/soft_inside.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_query_port

struct soft_device soft;
_Thread_local enum soft_fault soft_fault;
static struct ibv_device devices[SOFT_DEVICES];
static struct ibv_context *opened;
static struct ibv_async_event reported;
static _Atomic unsigned *opens; /* shared with forked processes */

/* ------------------------------------------------------------------ threads ------------------- */

static pthread_mutex_t big = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t buried = PTHREAD_COND_INITIALIZER;
static bool may_bury;

pthread_mutex_t *soft_lock(void)
{
    pthread_mutex_lock(&big);
    return &big;
}

void soft_unlock(pthread_mutex_t **mutex)
{
    pthread_mutex_unlock(*mutex);
}

void soft_bury(void)
{
    SOFT_ENTER;
    may_bury = true;
    pthread_cond_broadcast(&buried);
}

void soft_await_burial(void)
{
    while (!may_bury)
        pthread_cond_wait(&buried, &big);
}

void soft_reset(void)
{
    may_bury = false;
    for (unsigned i = 0; i < SOFT_DEVICES; i++) {
        devices[i].node_type = IBV_NODE_CA;
        snprintf(devices[i].name, sizeof devices[i].name, "soft%u", i);
    }
    if (opens == NULL)
        opens =
            mmap(NULL, sizeof *opens, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (opens == MAP_FAILED)
        abort();
    *opens = 0;
    soft = (struct soft_device){.devices = 1,
                                .max_cqe = 1 << 22,
                                .max_srq = 1 << 10,
                                .max_srq_wr = 1 << 15,
                                .max_qp = SOFT_QPS - 1,
                                .max_mr_size = UINT64_MAX,
                                .max_inline = 256,
                                .port = IBV_PORT_ACTIVE};
}

unsigned soft_opens(void)
{
    return *opens;
}

/* Allocates for the device, or fails; errno says why. */
void *soft_make(size_t bytes)
{
    SOFT_ENTER;
    void *object = NULL;

    if (++soft.made == soft.fail_at)
        errno = ENOMEM;
    else
        object = calloc(1, bytes);
    soft.objects += object != NULL;
    return object;
}

int soft_unmake(void *object)
{
    SOFT_ENTER;
    free(object);
    soft.objects--;
    return 0;
}

/* ------------------------------------------------------------------ device -------------------- */

struct ibv_device **ibv_get_device_list(int *n)
{
    struct ibv_device **list = calloc(SOFT_DEVICES + 1, sizeof(struct ibv_device *));

    *n = 0;
    for (unsigned i = 0; i < soft.devices; i++)
        if (!(soft.hidden >> i & 1))
            list[(*n)++] = &devices[i];
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

/* Its memory is that of the process. */
enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

const char *ibv_get_device_name(struct ibv_device *d)
{
    return d->name;
}

/* Sleeps for the time that the driver of a device may take. */
static void work(uint64_t ns)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    uint64_t now = 0, end = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + ns;
    while (ns > 0 && now < end) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
    SOFT_ENTER;
    struct ibv_context *c = NULL;

    atomic_fetch_add(opens, 1);
    if (soft_fault == SOFT_KILLED)
        raise(SIGKILL);
    work(soft.open_ns);
    if (soft.locked >> (d - devices) & 1)
        errno = EACCES;
    else if (soft_fault != SOFT_NO_CONTEXT)
        c = soft_make(sizeof *c);
    if (c == NULL)
        return NULL;
    *c = (struct ibv_context){.device = d,
                              .ops = {.poll_cq = soft_poll_cq,
                                      .req_notify_cq = soft_req_notify_cq,
                                      .post_srq_recv = soft_post_srq_recv,
                                      .post_send = soft_post_send},
                              .async_fd = eventfd(0, EFD_NONBLOCK)};
    opened = c;
    return c;
}

int ibv_close_device(struct ibv_context *c)
{
    close(c->async_fd);
    return soft_unmake(c);
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
    (void)c;
    *attr = (struct ibv_device_attr){.phys_port_cnt = 1,
                                     .max_cqe = soft.max_cqe,
                                     .max_srq = soft.max_srq,
                                     .max_srq_wr =
                                         soft_fault == SOFT_NARROW ? SOFT_SHORT : soft.max_srq_wr,
                                     .max_qp = soft.max_qp,
                                     .max_mr_size = soft.max_mr_size};
    return 0;
}

static unsigned number_of(const struct ibv_context *c)
{
    return (unsigned)(c->device - devices);
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *compat)
{
    struct ibv_port_attr *attr = (struct ibv_port_attr *)(void *)compat;

    (void)port;
    attr->state = soft.down >> number_of(c) & 1 ? IBV_PORT_DOWN : soft.port;
    attr->active_mtu = IBV_MTU_1024;
    attr->max_msg_sz = 1u << 30;
    attr->pkey_tbl_len = 1;
    attr->link_layer = IBV_LINK_LAYER_ETHERNET;
    attr->active_width = 2;  /* four lanes */
    attr->active_speed = 32; /* of 25 Gbit/s */
    return 0;
}

static union ibv_gid gid_of(const struct ibv_context *c)
{
    return (union ibv_gid){.raw = {[10] = 0xff, 0xff, 10, 0, 0, (unsigned char)(number_of(c) + 1)}};
}

ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries, size_t max,
                             uint32_t flags, size_t entry_size)
{
    (void)max, (void)flags, (void)entry_size;
    entries[0] = (struct ibv_gid_entry){.gid = gid_of(c), .port_num = 1, .gid_type = 2};
    return 1;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
    (void)port;
    *gid = gid_of(c);
    return index == 0 ? 0 : -1;
}

int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
    (void)c, (void)port;
    *pkey = 0xffff;
    return index == 0 ? 0 : -1;
}

void soft_report(enum ibv_event_type type)
{
    uint64_t one = 1;

    reported = (struct ibv_async_event){.event_type = type, .element.port_num = 1};
    (void)!write(opened->async_fd, &one, sizeof one);
}

int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *event)
{
    uint64_t n;

    *event = reported;
    return read(c->async_fd, &n, sizeof n) == sizeof n ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

/* ------------------------------------------------------------------ objects ------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    struct ibv_pd *pd = soft_make(sizeof *pd);

    if (pd != NULL)
        pd->context = c;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    return soft_unmake(pd);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    (void)pd, (void)attr;
    return soft_make(sizeof(struct ibv_ah));
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    return soft_unmake(ah);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
    struct ibv_comp_channel *channel = soft_make(sizeof *channel);

    if (channel != NULL)
        *channel = (struct ibv_comp_channel){.context = c, .fd = eventfd(0, EFD_SEMAPHORE)};
    return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    return soft_unmake(channel);
}
