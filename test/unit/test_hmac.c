/* SPDX-License-Identifier: BSD-3-Clause */
/* HMAC-SHA-256 by the vectors of RFC 4231, section 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bootstrap/hmac.h"

struct vector {
    int key_byte; /* the key is so many of these; 0: it is a text, or 1, 2, 3, .. */
    size_t key_len;
    const char *key;
    int byte; /* the message, likewise */
    size_t len;
    const char *message;
    const char *tag;
};

static const struct vector vectors[] = {
    {.key_byte = 0x0b,
     .key_len = 20,
     .message = "Hi There",
     .tag = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {.key = "Jefe",
     .message = "what do ya want for nothing?",
     .tag = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {.key_byte = 0xaa,
     .key_len = 20,
     .byte = 0xdd,
     .len = 50,
     .tag = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {.key_len = 25,
     .byte = 0xcd,
     .len = 50,
     .tag = "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {.key_byte = 0xaa,
     .key_len = 131,
     .message = "Test Using Larger Than Block-Size Key - Hash Key First",
     .tag = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
    {.key_byte = 0xaa,
     .key_len = 131,
     .message = "This is a test using a larger than block-size key and a larger than block-size "
                "data. The key needs to be hashed before being used by the HMAC algorithm.",
     .tag = "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
};

static void test_vectors(void **state)
{
    unsigned char key[131], message[50], tag[TAG_BYTES];
    char text[2 * TAG_BYTES + 1];

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const struct vector *v = &vectors[i];
        for (size_t b = 0; b < sizeof key; b++)
            key[b] = (unsigned char)(v->key_byte != 0 ? v->key_byte : (int)b + 1);
        memset(message, v->byte, sizeof message);
        ncoll__hmac(v->key != NULL ? (const void *)v->key : key,
                    v->key != NULL ? strlen(v->key) : v->key_len,
                    v->message != NULL ? (const void *)v->message : message,
                    v->message != NULL ? strlen(v->message) : v->len, tag);
        for (size_t b = 0; b < TAG_BYTES; b++)
            snprintf(text + 2 * b, 3, "%02x", tag[b]);
        assert_string_equal(text, v->tag);
    }
}

static void test_without_key(void **state)
{
    unsigned char none[TAG_BYTES], empty[TAG_BYTES], other[TAG_BYTES];

    (void)state;
    ncoll__hmac(NULL, 0, "", 0, none);
    ncoll__hmac("", 0, "", 0, empty);
    ncoll__hmac("k", 1, "", 0, other);
    assert_true(ncoll__tags_are_equal(none, empty));
    assert_false(ncoll__tags_are_equal(none, other));
    other[0] = none[0];
    memcpy(other, none, sizeof other);
    other[TAG_BYTES - 1] ^= 1;
    assert_false(ncoll__tags_are_equal(none, other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_without_key),
    };
    return cmocka_run_group_tests_name("hmac", tests, NULL, NULL);
}
