/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process as a client of PMI. There is one connection for all contexts of the process, and it
 * lasts until the process exits: a client that has finalized cannot come back, and one that ends
 * without it is taken to have crashed, so that the launcher ends the job.
 *
 * A server knows no contexts: a fence is one of the job. So one context uses the session at a time,
 * from open() until it needs no further exchange. Contexts are created in the same order on all
 * ranks, so the fences match.
 *
 * There is one request at a time. If the answer to one is not wanted any more, the next request is
 * sent as soon as it has come.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_SESSION_H
#define NCOLL_BOOTSTRAP_PMI_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/pmi_dialect.h"

struct pmi_session;

/* Takes the session for a context, and connects it first if it is not connected. Waits until the
 * deadline. dialect: the version that is spoken; if the session speaks another one already, that
 * stays. *refused: the server does not speak this version. Returns NCOLL_OK or an error. */
int ncoll__pmi_session_enter(const struct bootstrap_config *config,
                             const struct pmi_dialect *dialect, struct pmi_session **out,
                             bool *refused);
void ncoll__pmi_session_leave(struct pmi_session *session);

const struct pmi_dialect *ncoll__pmi_session_dialect(const struct pmi_session *session);
const struct pmi_identity *ncoll__pmi_session_self(const struct pmi_session *session);
/* Returns the number of the next context. */
unsigned ncoll__pmi_session_count(struct pmi_session *session);

/* Sends a request. Returns NCOLL_OK or an error. */
int ncoll__pmi_request(struct pmi_session *session, const struct bootstrap_events *events,
                       enum pmi_request what, const char *key, const char *value);
/* Looks for its answer, which is valid until the next request. NCOLL_TIMEOUT: it has not come. */
int ncoll__pmi_answer(struct pmi_session *session, const struct bootstrap_events *events,
                      const char **answer);
/* Sends a request, and waits for its answer until the deadline. */
int ncoll__pmi_call(struct pmi_session *session, const struct bootstrap_events *events,
                    enum pmi_request what, uint64_t deadline_ns, const char **answer);
/* Sleeps until there may be an answer, but at most for ns nanoseconds. */
void ncoll__pmi_session_wait(const struct pmi_session *session, uint64_t ns);

/* Forgets the session, in a process that has several, one after the other (tests). */
void ncoll__pmi_session_forget(void);

#endif
