/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session of this process with its PMI server. All contexts of the process share one
 * connection, which lasts until the process exits: a client that has finalized cannot come back,
 * and one that ends without finalizing is taken to have crashed, so that the launcher ends the job.
 *
 * The server knows nothing of contexts: a fence is one of the whole job. So only one context uses
 * the session at a time, from open() until it needs no further exchange. Contexts are created in
 * the same order on all ranks, so the fences match.
 *
 * Only one request is under way at a time. If its answer is not wanted any more, the next request
 * is sent as soon as that answer has come.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_SESSION_H
#define NCOLL_BOOTSTRAP_PMI_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/pmi_dialect.h"

struct pmi_session;

/* Takes the session for a context, and connects it first if it is not connected. Waits for other
 * contexts and for the server, for at most config->timeout_ns. dialect: the version to speak; a
 * session that is connected keeps its version. *refused becomes true if the server does not speak
 * this version. Returns NCOLL_OK or an error. */
int ncoll__pmi_session_enter(const struct bootstrap_config *config,
                             const struct pmi_dialect *dialect, struct pmi_session **out,
                             bool *refused);
void ncoll__pmi_session_leave(struct pmi_session *session);

const struct pmi_dialect *ncoll__pmi_session_dialect(const struct pmi_session *session);
const struct pmi_identity *ncoll__pmi_session_self(const struct pmi_session *session);
/* Returns the number of the next context, from 0; it is the same on all ranks. */
unsigned ncoll__pmi_session_count(struct pmi_session *session);

/* Sends a request. Returns NCOLL_OK or an error. */
int ncoll__pmi_request(struct pmi_session *session, const struct bootstrap_events *events,
                       enum pmi_request what, const char *key, const char *value);
/* Receives the answer to the latest request, which is valid until the next request. NCOLL_TIMEOUT:
 * it has not come. */
int ncoll__pmi_answer(struct pmi_session *session, const struct bootstrap_events *events,
                      const char **answer);
/* Sends a request, and waits for its answer until the deadline. */
int ncoll__pmi_call(struct pmi_session *session, const struct bootstrap_events *events,
                    enum pmi_request what, uint64_t deadline_ns, const char **answer);
/* Sleeps until there may be an answer, but at most for ns nanoseconds. */
void ncoll__pmi_session_wait(const struct pmi_session *session, uint64_t ns);

/* Forgets the session, so that the process can open another one (tests). */
void ncoll__pmi_session_forget(void);

#endif
