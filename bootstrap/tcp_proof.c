/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_proof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void ncoll__tcp_job_name(char job[JOB_BYTES])
{
    static const char *const names[][2] = {{"PMIX_NAMESPACE", NULL},
                                           {"SLURM_JOB_ID", "SLURM_STEP_ID"},
                                           {"PBS_JOBID", NULL},
                                           {"LSB_JOBID", NULL},
                                           {"JOB_ID", NULL}};

    job[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0] && job[0] == '\0'; i++) {
        const char *name = getenv(names[i][0]);
        const char *part = names[i][1] != NULL ? getenv(names[i][1]) : NULL;
        if (name != NULL)
            snprintf(job, JOB_BYTES, "%s%s%s", name, part != NULL ? "." : "",
                     part != NULL ? part : "");
    }
}

bool ncoll__tcp_nonce(unsigned char nonce[NONCE_BYTES])
{
    ssize_t n;

    do
        n = getrandom(nonce, NONCE_BYTES, 0);
    while (n < 0 && errno == EINTR);
    return n == NONCE_BYTES;
}

static size_t add(unsigned char *bytes, size_t at, const void *part, size_t len)
{
    memcpy(bytes + at, part, len);
    return at + len;
}

/* Appends a number in little-endian order. */
static size_t add_number(unsigned char *bytes, size_t at, uint64_t number)
{
    for (unsigned i = 0; i < sizeof number; i++)
        bytes[at++] = (unsigned char)(number >> 8 * i);
    return at;
}

void ncoll__tcp_tag(enum tcp_side side, const char *key, const unsigned char roots[NONCE_BYTES],
                    const unsigned char leafs[NONCE_BYTES], const struct tcp_claim *claim,
                    unsigned char tag[TAG_BYTES])
{
    static const char words[2][16] = {"ncoll tcp 3 leaf", "ncoll tcp 3 root"};
    unsigned char said[sizeof words[0] + 2 * NONCE_BYTES + 16 + ROOT_BYTES + JOB_BYTES];
    size_t len = add(said, 0, words[side], sizeof words[side]);

    len = add(said, len, roots, NONCE_BYTES);
    len = add(said, len, leafs, NONCE_BYTES);
    len = add_number(said, len, (uint64_t)(int64_t)claim->rank);
    len = add_number(said, len, claim->ranks);
    len = add(said, len, claim->root, strlen(claim->root) + 1);
    len = add(said, len, claim->job, strlen(claim->job) + 1);
    ncoll__hmac(key, key != NULL ? strlen(key) : 0, said, len, tag);
}

size_t ncoll__tcp_proof_pack(const unsigned char leafs[NONCE_BYTES],
                             const unsigned char tag[TAG_BYTES], const struct tcp_claim *claim,
                             unsigned char body[PROOF_BYTES])
{
    size_t len = add(body, 0, leafs, NONCE_BYTES);

    len = add(body, len, tag, TAG_BYTES);
    len = add(body, len, claim->root, strlen(claim->root) + 1);
    return add(body, len, claim->job, strlen(claim->job) + 1);
}

/* Reads a text that has a terminating 0 within size bytes. Returns the offset after it; 0: there is
 * none. */
static size_t take_text(const unsigned char *body, size_t len, size_t at, char *text, size_t size)
{
    const unsigned char *end = memchr(body + at, '\0', len - at);
    size_t bytes = end != NULL ? (size_t)(end - (body + at)) + 1 : 0;

    if (bytes == 0 || bytes > size)
        return 0;
    memcpy(text, body + at, bytes);
    return at + bytes;
}

bool ncoll__tcp_proof_unpack(const unsigned char *body, size_t len,
                             unsigned char leafs[NONCE_BYTES], unsigned char tag[TAG_BYTES],
                             struct tcp_claim *claim)
{
    size_t at = NONCE_BYTES + TAG_BYTES;

    if (len < at)
        return false;
    memcpy(leafs, body, NONCE_BYTES);
    memcpy(tag, body + NONCE_BYTES, TAG_BYTES);
    at = take_text(body, len, at, claim->root, sizeof claim->root);
    return at > 0 && take_text(body, len, at, claim->job, sizeof claim->job) == len;
}
