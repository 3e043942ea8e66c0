/* SPDX-License-Identifier: BSD-3-Clause */
/* PMI-1: messages are lines of words. The launcher tells rank and size by environment variables. */
#include <stdio.h>
#include <string.h>

#include "bootstrap/pmi_dialect.h"

static size_t write_request(const struct pmi_identity *self, enum pmi_request what, const char *key,
                            const char *value, char *text, size_t size)
{
    int len = 0;

    switch (what) {
    case PMI_HELLO:
        len = snprintf(text, size, "cmd=init pmi_version=1 pmi_subversion=1");
        break;
    case PMI_ENTER:
        len = snprintf(text, size, "cmd=get_maxes");
        break;
    case PMI_NAME:
        len = snprintf(text, size, "cmd=get_my_kvsname");
        break;
    case PMI_NODES:
        len = snprintf(text, size, "cmd=get kvsname=%s key=PMI_process_mapping", self->name);
        break;
    case PMI_PUT:
        len = snprintf(text, size, "cmd=put kvsname=%s key=%s value=%s", self->name, key, value);
        break;
    case PMI_FENCE:
        len = snprintf(text, size, "cmd=barrier_in");
        break;
    case PMI_GET:
        len = snprintf(text, size, "cmd=get kvsname=%s key=%s", self->name, key);
        break;
    default:
        len = snprintf(text, size, "cmd=finalize");
    }
    return len > 0 ? (size_t)len : size;
}

static bool learn(struct pmi_identity *self, enum pmi_request what, const char *answer)
{
    long keys, values;
    const char *name;
    size_t len;

    if (what == PMI_ENTER) {
        if (!ncoll__pmi_number(&ncoll__pmi1, answer, "keylen_max", &keys) ||
            !ncoll__pmi_number(&ncoll__pmi1, answer, "vallen_max", &values) ||
            keys < (long)PMI_KEY_MOST || values < 64)
            return false;
        self->value_most = (size_t)values - 1; /* some servers count the terminating 0 */
        return true;
    }
    if (!ncoll__pmi_field(&ncoll__pmi1, answer, "kvsname", &name, &len) || len == 0 ||
        len >= sizeof self->name)
        return false;
    memcpy(self->name, name, len);
    self->name[len] = '\0';
    return true;
}

/* Finds the value in an answer: it is the last word. If there is no value, the answer has an rc
 * other than 0. */
static bool value_of(const char *answer, const char **value, size_t *len)
{
    long rc = 0;

    return (!ncoll__pmi_number(&ncoll__pmi1, answer, "rc", &rc) || rc == 0) &&
           ncoll__pmi_field(&ncoll__pmi1, answer, "value", value, len);
}

const struct pmi_dialect ncoll__pmi1 = {
    .name = "pmi1",
    .separator = ' ',
    .answers = {[PMI_HELLO] = "response_to_init",
                [PMI_ENTER] = "maxes",
                [PMI_NAME] = "my_kvsname",
                [PMI_NODES] = "get_result",
                [PMI_PUT] = "put_result",
                [PMI_FENCE] = "barrier_out",
                [PMI_GET] = "get_result",
                [PMI_FINALIZE] = "finalize_ack"},
    .write = write_request,
    .learn = learn,
    .value = value_of,
};
