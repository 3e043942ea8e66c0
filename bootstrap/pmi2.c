/* SPDX-License-Identifier: BSD-3-Clause */
/* PMI-2: messages are lists, with their length in front. The server tells rank and size. Nothing
 * that this library sends has a semicolon, so none needs to be escaped. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "bootstrap/pmi_dialect.h"

#define VALUE_MOST 1023u /* PMI2_MAX_VALLEN is 1024 everywhere, with the terminating 0 */

static size_t write_request(const struct pmi_identity *self, enum pmi_request what, const char *key,
                            const char *value, char *text, size_t size)
{
    /* mpiexec of MPICH sets no PMI_JOBID, and that of MPICH 4.2 refuses an empty job id. */
    const char *job = getenv("PMI_JOBID");
    bool has_job = job != NULL && *job != '\0';
    int len = 0;

    switch (what) {
    case PMI_HELLO:
        len = snprintf(text, size, "cmd=init pmi_version=2 pmi_subversion=0");
        break;
    case PMI_ENTER:
        len = snprintf(text, size, "cmd=fullinit;%s%s%spmirank=%d;threaded=FALSE;",
                       has_job ? "pmijobid=" : "", has_job ? job : "", has_job ? ";" : "",
                       self->rank);
        break;
    case PMI_NODES:
        len = snprintf(text, size, "cmd=info-getjobattr;key=PMI_process_mapping;");
        break;
    case PMI_PUT:
        len = snprintf(text, size, "cmd=kvs-put;key=%s;value=%s;", key, value);
        break;
    case PMI_FENCE:
        len = snprintf(text, size, "cmd=kvs-fence;");
        break;
    case PMI_GET:
        /* without jobid the server takes the job of this rank; srcid -1: it is not known which rank
         * has put the value */
        len = snprintf(text, size, "cmd=kvs-get;%s%s%ssrcid=-1;key=%s;", has_job ? "jobid=" : "",
                       has_job ? job : "", has_job ? ";" : "", key);
        break;
    default:
        len = snprintf(text, size, "cmd=finalize;");
    }
    return len > 0 ? (size_t)len : size;
}

static bool learn(struct pmi_identity *self, enum pmi_request what, const char *answer)
{
    long rank, ranks;

    if (what != PMI_ENTER || !ncoll__pmi_number(&ncoll__pmi2, answer, "rank", &rank) ||
        !ncoll__pmi_number(&ncoll__pmi2, answer, "size", &ranks) || ranks < 1 || ranks > INT_MAX ||
        rank < 0 || rank >= ranks)
        return false;
    self->rank = (int)rank;
    self->ranks = (int)ranks;
    self->value_most = VALUE_MOST;
    return true;
}

static bool value_of(const char *answer, const char **value, size_t *len)
{
    return !ncoll__pmi_is(&ncoll__pmi2, answer, "found", "FALSE") &&
           ncoll__pmi_field(&ncoll__pmi2, answer, "value", value, len);
}

const struct pmi_dialect ncoll__pmi2 = {
    .name = "pmi2",
    .separator = ';',
    .framed = true,
    .lazy_fence = true, /* with mpiexec of MPICH; the fence of srun waits */
    .answers = {[PMI_HELLO] = "response_to_init",
                [PMI_ENTER] = "fullinit-response",
                [PMI_NODES] = "info-getjobattr-response",
                [PMI_PUT] = "kvs-put-response",
                [PMI_FENCE] = "kvs-fence-response",
                [PMI_GET] = "kvs-get-response",
                [PMI_FINALIZE] = "finalize-response"},
    .write = write_request,
    .learn = learn,
    .value = value_of,
};
