/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leaf and root of the tcp bootstrap prove to each other that they belong to one job.
 *
 *     leaf                                    root
 *     HELLO      rank, size, protocol   --->
 *                                       <---  CHALLENGE  16 random bytes
 *     PROOF      16 random bytes, tag,
 *                address of the root,
 *                name of the job        --->
 *                                       <---  ACCEPTED   tag
 *
 * A tag is the HMAC-SHA-256, with the key of the job, of both random strings and of the leaf's
 * claim. The two sides put different words in front, so that neither can send back a tag that it
 * has received. The root believes nothing before the leaf has proved itself, and the leaf believes
 * nothing before the root has. Without a key the tags are made with an empty one. They then prove
 * only that both sides use this protocol; the claims are compared in any case.
 *
 * An attacker who can read the packets between the hosts can test guesses of the key against a tag,
 * without any limit, so keys should be long and random. An attacker who can change packets can take
 * over a connection after the proof, since later frames are neither encrypted nor signed.
 */
#ifndef NCOLL_BOOTSTRAP_TCP_PROOF_H
#define NCOLL_BOOTSTRAP_TCP_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/hmac.h"

#define NONCE_BYTES 16
#define JOB_BYTES   64
#define ROOT_BYTES  280
#define PROOF_BYTES (NONCE_BYTES + TAG_BYTES + ROOT_BYTES + JOB_BYTES) /* the longest body */

/* The claim of a leaf: its rank, size and job. */
struct tcp_claim {
    int rank;
    uint64_t ranks;
    char root[ROOT_BYTES]; /* NCOLL_ROOT of the leaf */
    char job[JOB_BYTES];   /* name of the job in the batch system or launcher; "": not known */
};

enum tcp_side { TCP_LEAF, TCP_ROOT };

/* Finds the name of the job in the environment: of PMIx, Slurm, PBS, LSF or Grid Engine. */
void ncoll__tcp_job_name(char job[JOB_BYTES]);

/* Makes random bytes. Returns false if the system has none. */
bool ncoll__tcp_nonce(unsigned char nonce[NONCE_BYTES]);

/* Computes the tag of one side. key NULL: there is no key. roots, leafs: the random bytes of root
 * and leaf. */
void ncoll__tcp_tag(enum tcp_side side, const char *key, const unsigned char roots[NONCE_BYTES],
                    const unsigned char leafs[NONCE_BYTES], const struct tcp_claim *claim,
                    unsigned char tag[TAG_BYTES]);

/* Writes the body of a PROOF. Returns its length. */
size_t ncoll__tcp_proof_pack(const unsigned char leafs[NONCE_BYTES],
                             const unsigned char tag[TAG_BYTES], const struct tcp_claim *claim,
                             unsigned char body[PROOF_BYTES]);
/* Reads the body of a PROOF; the claim already has the rank and ranks of the HELLO. Returns false
 * if it is not valid. */
bool ncoll__tcp_proof_unpack(const unsigned char *body, size_t len,
                             unsigned char leafs[NONCE_BYTES], unsigned char tag[TAG_BYTES],
                             struct tcp_claim *claim);

#endif
