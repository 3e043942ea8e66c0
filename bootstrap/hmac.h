/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HMAC-SHA-256: a tag for a message, which can be made and checked only with the key. Sources: FIPS
 * 180-4 (SHA-256), RFC 2104 and FIPS 198-1 (HMAC).
 */
#ifndef NCOLL_BOOTSTRAP_HMAC_H
#define NCOLL_BOOTSTRAP_HMAC_H

#include <stdbool.h>
#include <stddef.h>

#define TAG_BYTES 32

/* Computes the tag of a message. The key may have any length, also 0. */
void ncoll__hmac(const void *key, size_t key_len, const void *message, size_t len,
                 unsigned char tag[TAG_BYTES]);

/* Compares two tags. The time does not depend on where they differ, so that a tag cannot be guessed
 * byte by byte. */
bool ncoll__tags_are_equal(const unsigned char a[TAG_BYTES], const unsigned char b[TAG_BYTES]);

#endif
