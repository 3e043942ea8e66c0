/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to a PMI server and its answers, in the two versions of the protocol: messages are lines
 * of words (pmi1.c), or lists with their length in front (pmi2.c). Both consist of name=value, and
 * each request has one answer. Sources: the wire protocol in the documentation of MPICH (simple
 * PMI) and of Flux (RFC 13, Simple Process Manager Interface v1).
 */
#ifndef NCOLL_BOOTSTRAP_PMI_DIALECT_H
#define NCOLL_BOOTSTRAP_PMI_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

#define PMI_KEY_MOST     64u /* characters of a key, with the 0; all servers take that many */
#define PMI_NAME_MOST    256u
#define PMI_REQUEST_MOST 1024u /* characters of a request; Slurm's server reads no more */

enum pmi_request {
    PMI_NOTHING,
    PMI_HELLO,    /* proposes the version; it is a line in both versions */
    PMI_ENTER,    /* announces this rank (PMI-2), or asks for the limits of values (PMI-1) */
    PMI_NAME,     /* asks for the name of the space of the job's keys */
    PMI_NODES,    /* asks which ranks are on which node */
    PMI_PUT,      /* publishes a value of this rank */
    PMI_FENCE,    /* waits for all ranks; values put before it can be got after it */
    PMI_GET,      /* gets a value of any rank */
    PMI_FINALIZE, /* this rank needs the server no more */
    PMI_REQUESTS
};

struct pmi_identity {
    int rank, ranks;
    char name[PMI_NAME_MOST]; /* name of the space of the job's keys (version 1) */
    size_t value_most;        /* the most characters of a value */
};

/* A version of the PMI protocol. The answer to any request may have a field `rc`; 0 means
 * success. */
struct pmi_dialect {
    const char *name; /* name of the bootstrap */
    char separator;   /* between two fields name=value */
    bool framed;
    /* a fence may end before all ranks have entered it; then a get of a key that no rank puts waits
     * for them */
    bool lazy_fence;
    const char *answers[PMI_REQUESTS]; /* `cmd` of each answer; NULL: there is no such request */
    /* Writes a request. Returns its length, or size and more if it does not fit. */
    size_t (*write)(const struct pmi_identity *self, enum pmi_request what, const char *key,
                    const char *value, char *text, size_t size);
    /* Fills in `self` from the answer to PMI_ENTER or PMI_NAME. Returns false if the answer is not
     * valid. */
    bool (*learn)(struct pmi_identity *self, enum pmi_request what, const char *answer);
    /* Finds the value in the answer to PMI_GET or PMI_NODES. Returns false if there is none. */
    bool (*value)(const char *answer, const char **value, size_t *len);
};

extern const struct pmi_dialect ncoll__pmi1, ncoll__pmi2;

/* Finds the value of a name in a message. Returns false if the message does not have it. */
bool ncoll__pmi_field(const struct pmi_dialect *dialect, const char *message, const char *name,
                      const char **value, size_t *len);
/* Finds a number by its name. Returns false if the message does not have it, or if it is no
 * number. */
bool ncoll__pmi_number(const struct pmi_dialect *dialect, const char *message, const char *name,
                       long *number);
/* Returns true if the value of a name is this text. */
bool ncoll__pmi_is(const struct pmi_dialect *dialect, const char *message, const char *name,
                   const char *text);

#endif
