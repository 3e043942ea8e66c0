/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to a PMI server and its answers, in the two versions of the protocol: lines of
 * words (pmi1.c), or framed lists (pmi2.c). Both consist of name=value, and each request has one
 * answer. Sources: the wire protocol in the documentation of MPICH (simple PMI) and of Flux (RFC 13,
 * Simple Process Manager Interface v1).
 */
#ifndef NCOLL_BOOTSTRAP_PMI_DIALECT_H
#define NCOLL_BOOTSTRAP_PMI_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

#define PMI_KEY_MOST     64u /* characters of a key, with its end; all servers take that many */
#define PMI_NAME_MOST    256u
#define PMI_REQUEST_MOST 1024u /* of a request; servers read no more (Slurm) */

enum pmi_request {
    PMI_NOTHING,
    PMI_HELLO,    /* which version is spoken; always a line */
    PMI_ENTER,    /* this rank is there */
    PMI_NAME,     /* of the space of the job's keys */
    PMI_NODES,    /* which ranks are on which node */
    PMI_PUT,      /* a value of this rank */
    PMI_FENCE,    /* all ranks have come; the values before it are there after it */
    PMI_GET,      /* a value of any rank */
    PMI_FINALIZE, /* this rank needs the server no more */
    PMI_REQUESTS
};

struct pmi_identity {
    int rank, ranks;
    char name[PMI_NAME_MOST]; /* of the space of keys */
    size_t value_most;        /* characters of a value */
};

/* Answers to all requests have `rc`, or may have it. */
struct pmi_dialect {
    const char *name; /* of the bootstrap */
    char separator;   /* between name=value and name=value */
    bool framed;
    bool
        lazy_fence; /* a fence may end at once; then it is a get of what nobody has put that waits */
    const char *answers[PMI_REQUESTS]; /* the `cmd` of each answer; NULL: it has no such request */
    /* Writes a request. Returns its length, or size and more if it does not fit. */
    size_t (*write)(const struct pmi_identity *self, enum pmi_request what, const char *key,
                    const char *value, char *text, size_t size);
    /* Learns from the answer to PMI_ENTER or PMI_NAME. Returns false if it says nothing sensible. */
    bool (*learn)(struct pmi_identity *self, enum pmi_request what, const char *answer);
    /* Finds the value in the answer to PMI_GET or PMI_NODES. Returns false if there is none. */
    bool (*value)(const char *answer, const char **value, size_t *len);
};

extern const struct pmi_dialect ncoll__pmi1, ncoll__pmi2;

/* Finds the value of a name in a message. Returns false if the message does not have it. */
bool ncoll__pmi_field(const struct pmi_dialect *dialect, const char *message, const char *name,
                      const char **value, size_t *len);
/* Finds a number by its name. Returns false if the message does not have it, or if it is no number. */
bool ncoll__pmi_number(const struct pmi_dialect *dialect, const char *message, const char *name,
                       long *number);
/* True if the value of a name is this text. */
bool ncoll__pmi_is(const struct pmi_dialect *dialect, const char *message, const char *name,
                   const char *text);

#endif
