/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/hmac.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64 /* bytes that SHA-256 processes at once */

/* ------------------------------------------------------------------ SHA-256 ------------------ */

/* The names are those of FIPS 180-4, sections 4.1.2, 5.3.3 and 6.2. */
struct sha256 {
    uint32_t h[8];
    unsigned char block[BLOCK];
    uint64_t len; /* number of bytes so far */
};

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void compress(uint32_t h[8], const unsigned char block[BLOCK])
{
    uint32_t w[64], v[8];

    for (unsigned t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (unsigned t = 16; t < 64; t++) {
        uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    memcpy(v, h, sizeof v);
    for (unsigned t = 0; t < 64; t++) {
        uint32_t a = v[0], e = v[4];
        uint32_t t1 = v[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
                      K[t] + w[t];
        uint32_t t2 =
            (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        h[i] += v[i];
}

static void sha256_begin(struct sha256 *s)
{
    *s = (struct sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                               0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static void sha256_add(struct sha256 *s, const void *message, size_t len)
{
    const unsigned char *bytes = message;

    for (size_t i = 0; i < len; i++) {
        s->block[s->len++ % BLOCK] = bytes[i];
        if (s->len % BLOCK == 0)
            compress(s->h, s->block);
    }
}

static void sha256_end(struct sha256 *s, unsigned char digest[TAG_BYTES])
{
    uint64_t bits = 8 * s->len;
    unsigned char length[8];

    for (unsigned i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, "\x80", 1);
    while (s->len % BLOCK != BLOCK - sizeof length)
        sha256_add(s, "", 1);
    sha256_add(s, length, sizeof length);
    for (unsigned i = 0; i < TAG_BYTES; i++)
        digest[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* ------------------------------------------------------------------ HMAC --------------------- */

/* Computes H((K ^ pad), message), the inner or the outer half of RFC 2104, section 2. */
static void half(const unsigned char key[BLOCK], unsigned char pad, const void *message, size_t len,
                 unsigned char out[TAG_BYTES])
{
    unsigned char padded[BLOCK];
    struct sha256 s;

    for (unsigned i = 0; i < BLOCK; i++)
        padded[i] = key[i] ^ pad;
    sha256_begin(&s);
    sha256_add(&s, padded, BLOCK);
    sha256_add(&s, message, len);
    sha256_end(&s, out);
}

void ncoll__hmac(const void *key, size_t key_len, const void *message, size_t len,
                 unsigned char tag[TAG_BYTES])
{
    unsigned char block[BLOCK] = {0}, inner[TAG_BYTES];
    struct sha256 s;

    if (key_len > BLOCK) {
        sha256_begin(&s);
        sha256_add(&s, key, key_len);
        sha256_end(&s, block);
    } else if (key_len > 0) {
        memcpy(block, key, key_len);
    }
    half(block, 0x36, message, len, inner);
    half(block, 0x5c, inner, sizeof inner, tag);
}

bool ncoll__tags_are_equal(const unsigned char a[TAG_BYTES], const unsigned char b[TAG_BYTES])
{
    volatile unsigned char difference = 0;

    for (unsigned i = 0; i < TAG_BYTES; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}
