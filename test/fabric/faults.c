/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults, at moments that the environment names.
 *
 *     FABRIC_FAULTS=FAULT,FAULT,..
 *         send:STATUS@N       the N-th request that the process posts fails with this status, as RETRY_EXC_ERR
 *         receive:STATUS@N    the N-th message that it takes from a completion queue arrives with this status
 *         event:TYPE@N        its device reports an event, as PORT_ERR, when the N-th request is posted
 *         call:NAME:ERRNO@N   the N-th call of this function, as reg_mr, fails with this error number
 *         down:MS@N           its port is down for so long from the N-th request on; 0: for ever
 *         lid@N               its port gets another LID when the N-th request is posted
 *         gid@N               its addresses become others
 *         loss:PERMILLE       so many of its requests are lost, and are sent again 1 ms later
 *         ..@N/STATE          the N-th of those moments in which fabric_fault_state(), a function of the program,
 *                             returns this number. It gets the kind of the moment: "post", "receive", or a
 *                             function's name, as above
 *     FABRIC_FAULTS_CHILD=K/N    only of one child, of each N that are forked the K-th, from 0; without it of all processes
 *     FABRIC_FAULTS_DEVICE=NAME  only requests to this device count
 *     FABRIC_FAULTS_SEED=S       for losses
 *     FABRIC_FAULTS_LOG=FILE     a line is appended for each fault that has happened
 */
#include "test/fabric/fabric.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { SEND, RECEIVE, EVENT, CALL, DOWN, LID, GID, LOSS };
static const char *const kinds[] = {"send", "receive", "event", "call",
                                    "down", "lid",     "gid",   "loss"};

#define FAULTS_MOST 16

static struct fault {
    enum kind kind;
    char name[NAME_BYTES]; /* of the function */
    unsigned value;        /* status, type, error number, milliseconds, permille */
    unsigned long at, seen;
    int state; /* -1: any */
} faults[FAULTS_MOST];
static unsigned n_faults;
static const char *device; /* NULL: any */
static uint64_t random_state;

/* ------------------------------------------------------------------ reading ------------------- */

static const char *const statuses[] = {
    "SUCCESS",          "LOC_LEN_ERR",       "LOC_QP_OP_ERR",     "LOC_EEC_OP_ERR",
    "LOC_PROT_ERR",     "WR_FLUSH_ERR",      "MW_BIND_ERR",       "BAD_RESP_ERR",
    "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",   "REM_ACCESS_ERR",    "REM_OP_ERR",
    "RETRY_EXC_ERR",    "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR",  "REM_INV_RD_REQ_ERR",
    "REM_ABORT_ERR",    "INV_EECN_ERR",      "INV_EEC_STATE_ERR", "FATAL_ERR",
    "RESP_TIMEOUT_ERR", "GENERAL_ERR",
};
static const char *const events[] = {
    "CQ_ERR",
    "QP_FATAL",
    "QP_REQ_ERR",
    "QP_ACCESS_ERR",
    "COMM_EST",
    "SQ_DRAINED",
    "PATH_MIG",
    "PATH_MIG_ERR",
    "DEVICE_FATAL",
    "PORT_ACTIVE",
    "PORT_ERR",
    "LID_CHANGE",
    "PKEY_CHANGE",
    "SM_CHANGE",
    "SRQ_ERR",
    "SRQ_LIMIT_REACHED",
    "QP_LAST_WQE_REACHED",
    "CLIENT_REREGISTER",
    "GID_CHANGE",
};

static int index_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return (int)i;
    return -1;
}

#define INDEX(word, words) index_of(word, words, sizeof(words) / sizeof(words)[0])

/* Reads one fault. Returns false if it is none. */
static bool read_fault(char *text, struct fault *f)
{
    char *moment = strchr(text, '@'), *argument = strchr(text, ':'), *second = NULL, *state = NULL;
    int kind, value = 0;

    if (moment != NULL)
        *moment++ = '\0';
    if (moment != NULL && (state = strchr(moment, '/')) != NULL)
        *state++ = '\0';
    if (argument != NULL)
        *argument++ = '\0';
    if ((kind = INDEX(text, kinds)) < 0 || (moment == NULL) != (kind == LOSS) ||
        (argument == NULL) != (kind == LID || kind == GID))
        return false;
    if (kind == CALL && (second = strchr(argument, ':')) == NULL)
        return false;
    if (second != NULL)
        *second++ = '\0';
    if (kind == SEND || kind == RECEIVE)
        value = INDEX(argument, statuses);
    else if (kind == EVENT)
        value = INDEX(argument, events);
    else if (argument != NULL)
        value = atoi(second != NULL ? second : argument);
    *f = (struct fault){.kind = (enum kind)kind,
                        .value = (unsigned)value,
                        .at = moment != NULL ? strtoul(moment, NULL, 10) : 0,
                        .state = state != NULL ? atoi(state) : -1};
    if (kind == CALL)
        snprintf(f->name, sizeof f->name, "%s", argument);
    return value >= 0;
}

/* True if this process, the n-th child of its parent from 0, or the first process, is to have the faults. */
static bool is_meant(int child)
{
    const char *which = getenv("FABRIC_FAULTS_CHILD");
    int k, n;

    return which == NULL ||
           (sscanf(which, "%d/%d", &k, &n) == 2 && n > 0 && child >= 0 && child % n == k);
}

bool fabric_faults_read(int child)
{
    const char *list = getenv("FABRIC_FAULTS"), *seed = getenv("FABRIC_FAULTS_SEED");
    char text[128];

    device = getenv("FABRIC_FAULTS_DEVICE");
    n_faults = 0;
    random_state = (seed != NULL ? strtoull(seed, NULL, 10) : 0) * 2 + 1;
    while (list != NULL && *list != '\0' && is_meant(child)) {
        size_t length = strcspn(list, ",");
        if (length >= sizeof text || n_faults == FAULTS_MOST) {
            fputs("fabric: too many faults, or too long\n", stderr);
            return false;
        }
        memcpy(text, list, length);
        text[length] = '\0';
        if (!read_fault(text, &faults[n_faults++])) {
            fprintf(stderr, "fabric: '%.*s' is no fault: see test/fabric/faults.c\n", (int)length,
                    list);
            return false;
        }
        list += length + (list[length] == ',');
    }
    return true;
}

/* ------------------------------------------------------------------ happening ----------------- */

static void note(const struct fault *f)
{
    const char *path = getenv("FABRIC_FAULTS_LOG");
    char line[96];

    if (path == NULL)
        return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int n = snprintf(line, sizeof line, "%s %s %u at %lu in process %u\n", kinds[f->kind], f->name,
                     f->value, f->at, fabric.process);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        perror("fabric: cannot note a fault");
    if (fd >= 0)
        close(fd);
}

/* Returns the state of the program at such a moment; -1: it does not say. */
static int state_at(const char *moment)
{
    static int (*ask)(const char *);
    static bool looked;

    if (!looked)
        ask = (int (*)(const char *))dlsym(RTLD_DEFAULT, "fabric_fault_state");
    looked = true;
    return ask != NULL ? ask(moment) : -1;
}

/* Counts a moment of a fault. Returns true if that is the one in which it happens. */
static bool is_the_moment(struct fault *f, int state)
{
    return (f->state < 0 || f->state == state) && ++f->seen == f->at;
}

int fabric_fault_call(const char *name)
{
    int state = n_faults > 0 ? state_at(name) : -1;

    for (unsigned i = 0; i < n_faults; i++) {
        struct fault *f = &faults[i];
        if (f->kind != CALL || strcmp(f->name, name) != 0 || !is_the_moment(f, state))
            continue;
        note(f);
        errno = (int)f->value;
        return (int)f->value;
    }
    return 0;
}

static bool is_lost(unsigned permille)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % 1000 < permille;
}

enum ibv_wc_status fabric_fault_post(struct qp *q, bool *lost)
{
    enum ibv_wc_status status = IBV_WC_SUCCESS;

    *lost = false;
    if (n_faults == 0 || (device != NULL && strcmp(device, q->device->name) != 0))
        return status;
    int state = state_at("post");
    for (unsigned i = 0; i < n_faults; i++) {
        struct fault *f = &faults[i];
        if (f->kind == LOSS && is_lost(f->value))
            *lost = true;
        if (f->kind == LOSS || f->kind == RECEIVE || f->kind == CALL || !is_the_moment(f, state))
            continue;
        note(f);
        if (f->kind == SEND)
            status = (enum ibv_wc_status)f->value;
        else if (f->kind == EVENT)
            fabric_event(q->verbs.context, (enum ibv_event_type)f->value, q->attr.port_num);
        else
            fabric_port_changes(q,
                                f->kind == DOWN  ? IBV_EVENT_PORT_ERR
                                : f->kind == LID ? IBV_EVENT_LID_CHANGE
                                                 : IBV_EVENT_GID_CHANGE,
                                f->value);
    }
    return status;
}

enum ibv_wc_status fabric_fault_receive(void)
{
    if (n_faults == 0)
        return IBV_WC_SUCCESS;
    int state = state_at("receive");
    for (unsigned i = 0; i < n_faults; i++)
        if (faults[i].kind == RECEIVE && is_the_moment(&faults[i], state)) {
            note(&faults[i]);
            return (enum ibv_wc_status)faults[i].value;
        }
    return IBV_WC_SUCCESS;
}
