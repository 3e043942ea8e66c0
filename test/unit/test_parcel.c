/* SPDX-License-Identifier: BSD-3-Clause */
/* Parcels of the tcp bootstrap: what is packed is read back; damaged ones are noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bootstrap/tcp_parcel.h"
#include "test/support/seed.h"

static void put(struct keep *keep, int rank, size_t len)
{
    unsigned char *bytes = ncoll__keep_allocate(len);

    assert_non_null(bytes);
    memset(bytes, rank + 1, len);
    ncoll__keep_adopt(keep, rank, bytes, len);
}

/* Reads all parcels back. Returns the number of blobs. */
static int read_back(const struct parcels *parcels, const struct keep *keep)
{
    struct parcel_entry entry;
    int n = 0, last = -1;

    for (int i = 0; i < parcels->count; i++) {
        const struct parcel *p = &parcels->list[i];
        size_t at = 0;
        assert_true(p->len > 0 && p->len <= TCP_PARCEL_MAX);
        for (; ncoll__parcel_next(p->bytes, p->len, &at, &entry); n++) {
            assert_true((int)entry.rank > last && (int)entry.rank < keep->ranks);
            last = (int)entry.rank;
            const struct kept *kept = &keep->blobs[last];
            assert_true(kept->bytes != NULL && kept->len == entry.len);
            assert_true(entry.len == 0 || memcmp(kept->bytes, entry.blob, entry.len) == 0);
        }
        assert_int_equal(at, p->len);
    }
    return n;
}

static void test_packs_what_is_there(void **state)
{
    struct parcels parcels;
    struct keep keep;

    (void)state;
    assert_true(ncoll__keep_init(&keep, 10));
    assert_true(ncoll__parcels_pack(&parcels, &keep));
    assert_int_equal(parcels.count, 0);
    for (int rank = 1; rank < 10; rank += 2)
        put(&keep, rank, rank == 5 ? 0 : (size_t)(1000 * rank + 1));
    assert_true(ncoll__parcels_pack(&parcels, &keep));
    assert_int_equal(parcels.count, 1);
    assert_int_equal(read_back(&parcels, &keep), 5);
    ncoll__parcels_free(&parcels);
    ncoll__keep_free(&keep);
}

/* Blobs that are too long for one parcel, and the longest blob. */
static void test_packs_long_blobs(void **state)
{
    struct parcels parcels;
    struct keep keep;

    (void)state;
    assert_true(ncoll__keep_init(&keep, 4));
    put(&keep, 0, TCP_BLOB_MAX / 2);
    put(&keep, 1, TCP_BLOB_MAX / 2);
    put(&keep, 2, TCP_BLOB_MAX);
    put(&keep, 3, 1);
    assert_true(ncoll__parcels_pack(&parcels, &keep));
    assert_int_equal(parcels.count, 4);
    assert_int_equal(read_back(&parcels, &keep), 4);
    ncoll__parcels_free(&parcels);
    ncoll__keep_free(&keep);
}

/* Any bytes may come: nothing outside them is read, and what is cut off is noticed. */
static void test_damaged(void **state)
{
    struct random dice = random_stream(test_seed(), 1);
    struct parcel_entry entry;
    struct parcels parcels;
    struct keep keep;

    (void)state;
    assert_true(ncoll__keep_init(&keep, 5));
    for (int rank = 0; rank < 5; rank++)
        put(&keep, rank, (size_t)rank * 3);
    assert_true(ncoll__parcels_pack(&parcels, &keep));
    const struct parcel *p = &parcels.list[0];
    for (size_t len = 0; len <= p->len; len++) {
        unsigned char *cut = malloc(len + 1);
        size_t at = 0, ends = 0;
        memcpy(cut, p->bytes, len);
        for (size_t rank = 0, end = 0; rank < 5 && (end += TCP_ENTRY_HEAD + rank * 3) <= len;
             rank++)
            ends = end;
        while (ncoll__parcel_next(cut, len, &at, &entry))
            ;
        assert_int_equal(at, ends);
        free(cut);
    }
    for (int i = 0; i < 10000; i++) {
        unsigned char bytes[64];
        size_t len = (size_t)random_below(&dice, sizeof bytes + 1), at = 0;
        for (size_t j = 0; j < len; j++)
            bytes[j] = (unsigned char)random_below(&dice, 4);
        while (ncoll__parcel_next(bytes, len, &at, &entry))
            assert_true(entry.blob >= bytes && entry.blob + entry.len <= bytes + len);
        assert_true(at <= len);
    }
    ncoll__parcels_free(&parcels);
    ncoll__keep_free(&keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packs_what_is_there),
        cmocka_unit_test(test_packs_long_blobs),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests_name("parcel", tests, NULL, NULL);
}
