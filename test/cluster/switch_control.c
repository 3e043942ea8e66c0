/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DIRECTORY/control.sock takes commands, a line each, and answers each by one line, "ok",
 * "error: ..." or JSON. SCOPE is "roce" (RoCEv2 frames only: TCP stays up) or "all", the default:
 *
 *     loss PERCENT [SCOPE]         duplicate PERCENT [SCOPE]    corrupt PERCENT [SCOPE]
 *     delay MILLISECONDS [SCOPE]   cut PORT [SCOPE]             clear
 *     stats: {"ports": [{"port", "frames_in", "frames_out", "roce_in", "roce_out"}...],
 *             "roce", "roce_tagged", "roce_ipv6", "lost", "duplicated", "corrupted", "delayed", "cut", "overflowed"}
 */
#include "switch.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static enum scope parse_scope(const char *text)
{
    if (strcmp(text, "roce") == 0)
        return SCOPE_ROCE;
    return strcmp(text, "all") == 0 ? SCOPE_ALL : SCOPE_NONE;
}

static void clear_faults(void)
{
    sw.loss.scope = sw.duplicate.scope = sw.corrupt.scope = sw.delay.scope = SCOPE_NONE;
    for (unsigned i = 0; i < sw.ports; i++)
        sw.port[i].cut = SCOPE_NONE;
}

static const char *set_fault(struct fault *fault, double probability, enum scope scope)
{
    if (!(probability >= 0 && probability <= 1))
        return "error: not a percentage\n";
    fault->probability = probability;
    fault->scope = scope;
    return "ok\n";
}

static const char *command(const char *line)
{
    char verb[16] = "", scope_text[8] = "all";
    double value = -1;
    int words = sscanf(line, "%15s %lf %7s", verb, &value, scope_text);
    enum scope scope = parse_scope(scope_text);

    if (strcmp(verb, "clear") == 0) {
        clear_faults();
        return "ok\n";
    }
    if (words < 2 || scope == SCOPE_NONE || !(value >= 0))
        return "error: not a command\n";
    if (strcmp(verb, "loss") == 0)
        return set_fault(&sw.loss, value / 100, scope);
    if (strcmp(verb, "duplicate") == 0)
        return set_fault(&sw.duplicate, value / 100, scope);
    if (strcmp(verb, "corrupt") == 0)
        return set_fault(&sw.corrupt, value / 100, scope);
    if (strcmp(verb, "delay") == 0 && value <= 60e3) {
        sw.delay_ns = (uint64_t)(value * 1e6);
        return set_fault(&sw.delay, 1, scope);
    }
    if (strcmp(verb, "cut") == 0 && value < sw.ports) {
        sw.port[(unsigned)value].cut = scope;
        return "ok\n";
    }
    return "error: not a command\n";
}

static void print_stats(FILE *out)
{
    uint64_t roce = 0;

    fprintf(out, "{\"ports\": [");
    for (unsigned i = 0; i < sw.ports; i++) {
        const struct port *p = &sw.port[i];
        fprintf(out,
                "%s{\"port\": %u, \"frames_in\": %" PRIu64 ", \"frames_out\": %" PRIu64
                ", \"roce_in\": %" PRIu64 ", \"roce_out\": %" PRIu64 "}",
                i == 0 ? "" : ", ", i, p->frames_in, p->frames_out, p->roce_in, p->roce_out);
        roce += p->roce_in;
    }
    fprintf(out,
            "], \"roce\": %" PRIu64 ", \"roce_tagged\": %" PRIu64 ", \"roce_ipv6\": %" PRIu64
            ", \"lost\": %" PRIu64 ", \"duplicated\": %" PRIu64 ", \"corrupted\": %" PRIu64
            ", \"delayed\": %" PRIu64 ", \"cut\": %" PRIu64 ", \"overflowed\": %" PRIu64 "}\n",
            roce, sw.roce_tagged, sw.roce_ipv6, sw.loss.struck, sw.duplicate.struck,
            sw.corrupt.struck, sw.delay.struck, sw.cut, sw.overflowed);
}

static void answer(const struct client *c, const char *line)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        err(1, "answer");
    if (strcmp(line, "stats") == 0)
        print_stats(out);
    else
        fputs(command(line), out);
    fclose(out);
    /* A client that does not read its answers loses them. */
    (void)!send(c->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    free(text);
}

void client_receive(struct client *c)
{
    ssize_t got = recv(c->fd, c->line + c->len, sizeof c->line - 1 - c->len, MSG_DONTWAIT);

    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) { /* also when a line is longer than any command */
        close(c->fd);
        c->fd = -1;
        return;
    }
    c->len += (size_t)got;
    char *end;
    while ((end = memchr(c->line, '\n', c->len)) != NULL) {
        *end = '\0';
        answer(c, c->line);
        c->len -= (size_t)(end + 1 - c->line);
        memmove(c->line, end + 1, c->len);
    }
}

void client_accept(void)
{
    int fd = accept4(sw.listener, NULL, NULL, SOCK_CLOEXEC);

    for (unsigned i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
        if (sw.client[i].fd < 0) {
            sw.client[i] = (struct client){.fd = fd};
            return;
        }
    }
    if (fd >= 0)
        close(fd);
}

void control_open(const char *directory)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (snprintf(a.sun_path, sizeof a.sun_path, "%s/control.sock", directory) >=
        (int)sizeof a.sun_path)
        errx(1, "%s: path too long for a socket", directory);
    sw.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sw.listener < 0 || bind(sw.listener, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(sw.listener, CLIENTS_MAX) != 0)
        err(1, "%s", a.sun_path);
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        sw.client[i].fd = -1;
}
