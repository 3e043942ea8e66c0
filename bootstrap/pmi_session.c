/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmi_session.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/launcher.h"
#include "bootstrap/pmi_wire.h"
#include "transport/because.h"

#define LOOK_NS     UINT64_C(20000000)
#define GOODBYE_NS  UINT64_C(2000000000) /* longest wait for the last answer at exit */
#define SHOWN_MOST  80                   /* characters of an answer in an error */
#define REMEDY_DEAD "see what the launcher has printed; start the job again"

struct pmi_session {
    struct pmi_wire wire;
    const struct pmi_dialect *dialect; /* NULL: not connected */
    struct pmi_identity self;
    enum pmi_request awaited; /* the request whose answer has not come */
    enum pmi_request queued;  /* sent when the awaited answer, no longer wanted, has come */
    char queued_text[PMI_REQUEST_MOST];
    pid_t pid;    /* the process that has connected to the server */
    dev_t device; /* of the socket, to recognise it: its descriptor may have been reused */
    ino_t inode;
    unsigned contexts;
    bool held;     /* a context uses the session */
    char why[200]; /* why the session has failed; "": it has not */
};

static struct pmi_session the_session = {.wire = {.fd = -1}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const names[PMI_REQUESTS] = {
    [PMI_NOTHING] = "nothing", [PMI_HELLO] = "its version",  [PMI_ENTER] = "its limits",
    [PMI_NAME] = "its name",   [PMI_NODES] = "the nodes",    [PMI_PUT] = "a value put",
    [PMI_FENCE] = "a fence",   [PMI_GET] = "a value wanted", [PMI_FINALIZE] = "the goodbye",
};

/* ------------------------------------------------------------------ failures ------------------ */

static int report(const struct pmi_session *s, const struct bootstrap_events *events)
{
    return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, LAUNCHER_FAILED), -1, REMEDY_DEAD,
                        "%s", s->why);
}

/* Fails since the server has closed the connection. All later requests fail, too. */
static int fail_closed(struct pmi_session *s, const struct bootstrap_events *events)
{
    snprintf(s->why, sizeof s->why,
             "the PMI server of the launcher has closed the connection (PMI_FD=%d%s%s): the "
             "launcher is gone, or this process has finalized PMI before",
             s->wire.fd, s->wire.error != 0 ? ": " : "",
             s->wire.error != 0 ? strerror(s->wire.error) : "");
    return report(s, events);
}

/* Fails because of an answer that is not the expected one. The error shows its first characters,
 * with '?' for those that cannot be printed. */
static int fail_answer(struct pmi_session *s, const struct bootstrap_events *events,
                       enum pmi_request what, const char *answer)
{
    char shown[SHOWN_MOST + 1];
    size_t n = 0;

    for (; n < SHOWN_MOST && answer[n] != '\0'; n++)
        shown[n] = answer[n] >= ' ' && answer[n] <= '~' ? answer[n] : '?';
    shown[n] = '\0';
    snprintf(s->why, sizeof s->why, "the PMI server of the launcher (%s) answers to %s: \"%s%s\"",
             s->dialect->name, names[what], shown, answer[n] != '\0' ? ".." : "");
    return report(s, events);
}

static int no_memory(const struct bootstrap_events *events)
{
    return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for PMI");
}

/* ------------------------------------------------------------------ requests ------------------ */

int ncoll__pmi_request(struct pmi_session *s, const struct bootstrap_events *events,
                       enum pmi_request what, const char *key, const char *value)
{
    char text[PMI_REQUEST_MOST];

    if (s->why[0] != '\0')
        return report(s, events);
    size_t len = s->dialect->write(&s->self, what, key, value, text, sizeof text);
    if (len >= sizeof text)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, LAUNCHER_FAILED), -1,
                            "use another bootstrap",
                            "the PMI server of the launcher gives the job a name of %zu characters",
                            strlen(s->self.name));
    if (s->awaited != PMI_NOTHING) {
        memcpy(s->queued_text, text, len + 1);
        s->queued = what;
        return NCOLL_OK;
    }
    if (!ncoll__pmi_wire_send(&s->wire, text))
        return no_memory(events);
    s->awaited = what;
    return NCOLL_OK;
}

/* Returns true if this is an answer to the request, and the request has succeeded. An rc other than
 * 0 is accepted where the caller checks it: it may mean that there is no such value, or no such
 * version. */
static bool fits(const struct pmi_session *s, enum pmi_request what, const char *answer)
{
    static const struct pmi_dialect lines = {.separator = ' '};
    const struct pmi_dialect *d = what == PMI_HELLO ? &lines : s->dialect;
    long rc = 0;

    if (!ncoll__pmi_is(d, answer, "cmd", s->dialect->answers[what]))
        return false;
    ncoll__pmi_number(d, answer, "rc", &rc);
    return rc == 0 || what == PMI_GET || what == PMI_NODES || what == PMI_HELLO;
}

/* Receives the answer to the latest request that was sent, even if no caller wants it any more. */
static int receive(struct pmi_session *s, const struct bootstrap_events *events)
{
    enum pmi_request what = s->awaited;

    switch (ncoll__pmi_wire_receive(&s->wire)) {
    case PMI_NOT_YET:
        return NCOLL_TIMEOUT;
    case PMI_CLOSED:
        return fail_closed(s, events);
    case PMI_NO_MEMORY:
        return no_memory(events);
    case PMI_NONSENSE:
        return fail_answer(s, events, what, "a message without an end");
    default:
        break;
    }
    s->awaited = PMI_NOTHING;
    return fits(s, what, s->wire.in) ? NCOLL_OK : fail_answer(s, events, what, s->wire.in);
}

int ncoll__pmi_answer(struct pmi_session *s, const struct bootstrap_events *events,
                      const char **answer)
{
    int rc;

    if (s->why[0] != '\0')
        return report(s, events);
    while ((rc = receive(s, events)) == NCOLL_OK && s->queued != PMI_NOTHING) {
        if (!ncoll__pmi_wire_send(&s->wire, s->queued_text))
            return no_memory(events);
        s->awaited = s->queued;
        s->queued = PMI_NOTHING;
    }
    if (rc == NCOLL_OK)
        *answer = s->wire.in;
    return rc;
}

/* Waits for the answer to the latest request until the deadline. */
static int await(struct pmi_session *s, const struct bootstrap_events *events, uint64_t deadline_ns,
                 const char **answer)
{
    int rc;

    while ((rc = ncoll__pmi_answer(s, events, answer)) == NCOLL_TIMEOUT) {
        uint64_t now_ns = events->now_ns(events->arg);
        if (now_ns >= deadline_ns)
            return events->fail(
                events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, LAUNCHER_FAILED), -1,
                "see what the launcher has printed, or raise NCOLL_BOOTSTRAP_TIMEOUT",
                "the PMI server of the launcher (%s, PMI_FD=%d) did not answer in time to %s",
                s->dialect->name, s->wire.fd, names[s->awaited]);
        uint64_t left_ns = deadline_ns - now_ns;
        ncoll__pmi_wire_wait(&s->wire, left_ns < LOOK_NS ? left_ns : LOOK_NS);
    }
    return rc;
}

int ncoll__pmi_call(struct pmi_session *s, const struct bootstrap_events *events,
                    enum pmi_request what, uint64_t deadline_ns, const char **answer)
{
    int rc = ncoll__pmi_request(s, events, what, "", "");

    return rc == NCOLL_OK ? await(s, events, deadline_ns, answer) : rc;
}

void ncoll__pmi_session_wait(const struct pmi_session *s, uint64_t ns)
{
    ncoll__pmi_wire_wait(&s->wire, ns);
}

/* ------------------------------------------------------------------ beginning and end --------- */

/* Agrees with the server on the version, and learns what it tells of this job. *refused becomes
 * true if the server does not speak the version. */
static int introduce(struct pmi_session *s, const struct bootstrap_events *events,
                     uint64_t deadline_ns, bool *refused)
{
    static const struct pmi_dialect lines = {.separator = ' '};
    const char *answer;
    long rc = 0;

    int status = ncoll__pmi_call(s, events, PMI_HELLO, deadline_ns, &answer);
    if (status != NCOLL_OK)
        return status;
    if (ncoll__pmi_number(&lines, answer, "rc", &rc) && rc != 0) {
        *refused = true;
        return fail_answer(s, events, PMI_HELLO, answer);
    }
    s->wire.framed = s->dialect->framed;
    for (enum pmi_request what = PMI_ENTER; status == NCOLL_OK && what <= PMI_NAME; what++) {
        if (s->dialect->answers[what] == NULL)
            continue;
        status = ncoll__pmi_call(s, events, what, deadline_ns, &answer);
        if (status == NCOLL_OK && !s->dialect->learn(&s->self, what, answer))
            status = fail_answer(s, events, what, answer);
    }
    return status;
}

static int connect_session(struct pmi_session *s, const struct bootstrap_events *events,
                           const struct pmi_dialect *dialect, uint64_t deadline_ns, bool *refused)
{
    struct pmi_task task;
    struct stat file;

    if (!ncoll__pmi_launched(&task) || fstat(task.fd, &file) != 0)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
                            "use mpiexec of MPICH, srun --mpi=pmi2 or flux run, or set "
                            "NCOLL_BOOTSTRAP",
                            "not started by a launcher with PMI: PMI_FD is no socket, or PMI_RANK "
                            "or PMI_SIZE is not set");
    ncoll__pmi_wire_free(&s->wire);
    s->wire.fd = task.fd;
    s->dialect = dialect;
    s->self = (struct pmi_identity){.rank = task.rank, .ranks = task.ranks};
    s->awaited = s->queued = PMI_NOTHING;
    s->pid = getpid();
    s->device = file.st_dev;
    s->inode = file.st_ino;
    s->why[0] = '\0';
    int rc = introduce(s, events, deadline_ns, refused);
    if (rc != NCOLL_OK && *refused) { /* the caller may try another version */
        ncoll__pmi_wire_free(&s->wire);
        s->dialect = NULL;
        s->why[0] = '\0';
    }
    return rc;
}

/* Takes the session for a context. Waits until the deadline while another context of this process
 * has it. Returns false if the deadline has passed. */
static bool hold(struct pmi_session *s, const struct bootstrap_events *events, uint64_t deadline_ns)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        bool free_now = !s->held;
        s->held = true;
        pthread_mutex_unlock(&lock);
        if (free_now || events->now_ns(events->arg) >= deadline_ns)
            return free_now;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void ncoll__pmi_session_leave(struct pmi_session *s)
{
    pthread_mutex_lock(&lock);
    s->held = false;
    pthread_mutex_unlock(&lock);
}

int ncoll__pmi_session_enter(const struct bootstrap_config *config,
                             const struct pmi_dialect *dialect, struct pmi_session **out,
                             bool *refused)
{
    const struct bootstrap_events *events = &config->events;
    uint64_t deadline_ns = events->now_ns(events->arg) + (uint64_t)config->timeout_ns;
    struct pmi_session *s = &the_session;
    int rc = NCOLL_OK;

    *refused = false;
    if (!hold(s, events, deadline_ns))
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, CALL_UNFINISHED), -1,
                            "create the contexts of a process one after the other",
                            "another context of this process has been joining for %g s",
                            (double)config->timeout_ns / 1e9);
    if (s->dialect != NULL && s->pid != getpid())
        rc = events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, FORKED), -1,
                          "create the context in the process that the launcher has started",
                          "this process was forked by one that uses PMI, and cannot use it itself");
    else if (s->dialect == NULL)
        rc = connect_session(s, events, dialect, deadline_ns, refused);
    if (rc == NCOLL_OK && s->why[0] != '\0')
        rc = report(s, events);
    if (rc == NCOLL_OK)
        *out = s;
    else
        ncoll__pmi_session_leave(s);
    return rc;
}

const struct pmi_dialect *ncoll__pmi_session_dialect(const struct pmi_session *s)
{
    return s->dialect;
}

const struct pmi_identity *ncoll__pmi_session_self(const struct pmi_session *s)
{
    return &s->self;
}

unsigned ncoll__pmi_session_count(struct pmi_session *s)
{
    return s->contexts++;
}

static uint64_t real_ns(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

__attribute__((format(printf, 5, 6))) static int ignore(void *arg, ncoll_status status, int peer,
                                                        const char *remedy, const char *cause, ...)
{
    (void)arg;
    (void)peer;
    (void)remedy;
    (void)cause;
    return status;
}

void ncoll__pmi_session_forget(void)
{
    ncoll__pmi_wire_free(&the_session.wire);
    the_session = (struct pmi_session){.wire = {.fd = -1}};
}

/* Sends PMI_FINALIZE at exit, or when the library is unloaded. It is not sent if this rank has
 * given up waiting for a fence, whose end may never come; the launcher then ends the job. It is not
 * sent either by a forked child, or if MPI in this process has finalized PMI and closed the
 * socket. */
__attribute__((destructor)) static void finalize(void)
{
    const struct bootstrap_events quiet = {NULL, ignore, NULL, real_ns};
    struct pmi_session *s = &the_session;
    struct stat file;
    const char *answer;

    if (s->dialect != NULL && s->pid == getpid() && s->why[0] == '\0' && s->awaited != PMI_FENCE &&
        fstat(s->wire.fd, &file) == 0 && file.st_dev == s->device && file.st_ino == s->inode)
        (void)ncoll__pmi_call(s, &quiet, PMI_FINALIZE, real_ns(NULL) + GOODBYE_NS, &answer);
    ncoll__pmi_session_forget();
}
