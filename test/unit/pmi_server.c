/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi_server.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void send_bytes(struct pmi_server *s, int rank, const char *bytes, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        n = s->dribbles ? (size_t)(1 + rand() % 400) : len;
        n = n < len - at ? n : len - at;
        if (send(s->ours[rank], bytes + at, n, MSG_NOSIGNAL) < 0)
            return;
        if (s->dribbles && rand() % 8 == 0)
            usleep(20);
    }
}

__attribute__((format(printf, 3, 4))) static void answer(struct pmi_server *s, int rank,
                                                         const char *format, ...)
{
    char text[4096], whole[4200];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* Slurm fills the length up on the right, MPICH on the left */
    int len = snprintf(whole, sizeof whole,
                       !s->clients[rank].framed ? "%.0d%s\n"
                       : rank % 2 == 0          ? "%6d%s"
                                                : "%-6d%s",
                       s->clients[rank].framed ? (int)strlen(text) : 0, text);
    send_bytes(s, rank, whole, (size_t)len);
}

static void hang_up(struct pmi_server *s, int rank)
{
    close(s->ours[rank]);
    s->ours[rank] = -1;
}

/* Makes the fault in place of the answer. */
static void go_wrong(struct pmi_server *s, int rank, const char *request)
{
    static char endless[100000];
    bool framed = s->clients[rank].framed;
    char cmd[64] = "";

    sscanf(request, "cmd=%63[^ ;]", cmd);
    switch (s->fault) {
    case PMI_CLOSES:
        hang_up(s, rank);
        break;
    case PMI_REFUSES:
        answer(s, rank, framed ? "cmd=%s-response;rc=-1;errmsg=no;" : "cmd=%s_result rc=-1 msg=no",
               cmd);
        break;
    case PMI_BABBLES:
        answer(s, rank, "\x01here is another protocol");
        break;
    case PMI_ENDLESS:
        memset(endless, 'x', sizeof endless);
        send_bytes(s, rank, endless, sizeof endless);
        break;
    case PMI_DAMAGES:
        answer(s, rank,
               framed ? "cmd=kvs-get-response;found=TRUE;value=7.!!;rc=0;"
                      : "cmd=get_result rc=0 value=7.!!");
        break;
    case PMI_NO_VALUE:
        answer(s, rank,
               framed ? "cmd=kvs-get-response;found=FALSE;rc=0;"
                      : "cmd=get_result rc=-1 msg=none value=unknown");
        break;
    default:
        break;
    }
}

static const char *find(struct pmi_server *s, const char *key)
{
    if (strcmp(key, "PMI_process_mapping") == 0)
        return s->mapping;
    for (int i = 0; i < s->n_values; i++)
        if (strcmp(s->values[i].key, key) == 0)
            return s->values[i].value;
    return NULL;
}

static bool all_reached(const struct pmi_server *s, int epoch)
{
    for (int r = 0; r < s->ranks; r++)
        if (s->clients[r].epoch < epoch)
            return false;
    return true;
}

/* Answers a get, unless it has to wait. */
static void get(struct pmi_server *s, int rank, const char *key, bool job)
{
    struct pmi_client *c = &s->clients[rank];
    const char *value = find(s, key), *cmd = job ? "info-getjobattr" : "kvs-get";

    c->waits = value == NULL && !job && c->framed && !all_reached(s, c->epoch);
    if (c->waits)
        snprintf(c->wanted, sizeof c->wanted, "%s", key);
    else if (c->framed && value != NULL)
        answer(s, rank, "cmd=%s-response;found=TRUE;value=%s;rc=0;", cmd, value);
    else if (c->framed)
        answer(s, rank, "cmd=%s-response;found=FALSE;rc=0;", cmd);
    else if (value != NULL)
        answer(s, rank, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        answer(s, rank, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown", key);
}

static void fence(struct pmi_server *s, int rank)
{
    struct pmi_client *c = &s->clients[rank];

    c->epoch++;
    c->fenced = true;
    if (c->framed && s->lazy) {
        c->fenced = false;
        answer(s, rank, "cmd=kvs-fence-response;rc=0;");
    }
    if (!all_reached(s, c->epoch))
        return;
    for (int r = 0; r < s->ranks; r++) {
        struct pmi_client *other = &s->clients[r];
        if (other->fenced)
            answer(s, r, other->framed ? "cmd=kvs-fence-response;rc=0;" : "cmd=barrier_out");
        other->fenced = false;
        if (other->waits)
            get(s, r, other->wanted, false);
    }
}

static void put(struct pmi_server *s, const char *key, const char *value)
{
    s->values = realloc(s->values, (size_t)(s->n_values + 1) * sizeof *s->values);
    snprintf(s->values[s->n_values].key, sizeof s->values[0].key, "%s", key);
    s->values[s->n_values++].value = strdup(value);
}

static void serve(struct pmi_server *s, int rank, const char *request)
{
    struct pmi_client *c = &s->clients[rank];
    char key[128] = "", value[2048] = "";
    const char *at = strstr(request, "key=");

    if (at != NULL)
        sscanf(at, "key=%127[^ ;]%*[ ;]value=%2047[^ ;]", key, value);
    if (s->fault != PMI_GOOD && strncmp(request, s->at, strlen(s->at)) == 0) {
        go_wrong(s, rank, request);
    } else if (strncmp(request, "cmd=init ", 9) == 0) {
        bool is_2 = strstr(request, "pmi_version=2") != NULL, ok = is_2 || !s->only_2;
        answer(s, rank, "cmd=response_to_init pmi_version=%d pmi_subversion=%d rc=%d", is_2 ? 2 : 1,
               !is_2, ok ? 0 : -1);
        c->framed = is_2 && ok;
    } else if (strcmp(request, "cmd=get_maxes") == 0) {
        answer(s, rank, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
    } else if (strcmp(request, "cmd=get_my_kvsname") == 0) {
        answer(s, rank, "cmd=my_kvsname kvsname=kvs_1");
    } else if (strncmp(request, "cmd=fullinit;", 13) == 0) {
        answer(s, rank,
               "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=%d;size=%d;appnum=0;"
               "debugged=FALSE;pmiverbose=FALSE;rc=0;",
               rank, s->ranks);
    } else if (strncmp(request, "cmd=put ", 8) == 0 || strncmp(request, "cmd=kvs-put;", 12) == 0) {
        put(s, key, value);
        answer(s, rank,
               c->framed ? "cmd=kvs-put-response;rc=0;" : "cmd=put_result rc=0 msg=success");
    } else if (strncmp(request, "cmd=get ", 8) == 0 || strncmp(request, "cmd=kvs-get;", 12) == 0) {
        get(s, rank, key, false);
    } else if (strncmp(request, "cmd=info-getjobattr;", 20) == 0) {
        get(s, rank, key, true);
    } else if (strcmp(request, "cmd=barrier_in") == 0 || strcmp(request, "cmd=kvs-fence;") == 0) {
        fence(s, rank);
    } else {
        answer(s, rank, c->framed ? "cmd=finalize-response;rc=0;" : "cmd=finalize_ack");
    }
}

/* Takes a whole request out of what has come. As servers do, it reads one request at a time, and none
 * of more than 1,024 bytes. */
static bool take(struct pmi_server *s, int rank)
{
    struct pmi_client *c = &s->clients[rank];
    char request[1100];
    int skip = c->framed ? 6 : 0, len = -1;

    if (c->framed && c->len >= 6)
        len = atoi(strncpy(request, c->in, 6));
    for (int i = 0; !c->framed && len < 0 && i < c->len; i++)
        len = c->in[i] == '\n' ? i : -1;
    if (len < 0 || c->len < skip + len || len > 1024)
        return false;
    memcpy(request, c->in + skip, (size_t)len);
    request[len] = '\0';
    int whole = skip + len + !c->framed;
    memmove(c->in, c->in + whole, (size_t)(c->len - whole));
    c->len -= whole;
    serve(s, rank, request);
    return true;
}

static void run(struct pmi_server *s)
{
    int left = s->ranks;

    while (left > 0) {
        struct pollfd fds[SERVED_MOST];
        for (int r = 0; r < s->ranks; r++)
            fds[r] = (struct pollfd){.fd = s->ours[r], .events = POLLIN};
        poll(fds, (nfds_t)s->ranks, 1000);
        left = 0;
        for (int r = 0; r < s->ranks; r++) {
            struct pmi_client *c = &s->clients[r];
            if (s->ours[r] >= 0 && fds[r].revents != 0) {
                ssize_t n =
                    recv(s->ours[r], c->in + c->len, sizeof c->in - (size_t)c->len, MSG_DONTWAIT);
                c->len += n > 0 ? (int)n : 0;
                if (n <= 0)
                    hang_up(s, r);
                while (s->ours[r] >= 0 && take(s, r))
                    ;
            }
            left += s->ours[r] >= 0;
        }
    }
}

void pmi_server_start(struct pmi_server *s)
{
    for (int r = 0; r < s->ranks; r++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
            abort();
        s->theirs[r] = pair[0];
        s->ours[r] = pair[1];
    }
    s->process = fork();
    if (s->process < 0)
        abort();
    for (int r = 0; r < s->ranks; r++)
        close(s->process == 0 ? s->theirs[r] : s->ours[r]);
    if (s->process > 0)
        return;
    run(s);
    _exit(0);
}

void pmi_server_stop(struct pmi_server *s)
{
    for (int r = 0; r < s->ranks; r++)
        close(s->theirs[r]);
    waitpid(s->process, NULL, 0);
}

void pmi_server_enter(struct pmi_server *s, int rank)
{
    char text[16];

    for (int r = 0; r < s->ranks; r++)
        if (r != rank)
            close(s->theirs[r]);
    snprintf(text, sizeof text, "%d", s->theirs[rank]);
    setenv("PMI_FD", text, 1);
    snprintf(text, sizeof text, "%d", rank);
    setenv("PMI_RANK", text, 1);
    snprintf(text, sizeof text, "%d", s->ranks);
    setenv("PMI_SIZE", text, 1);
}
