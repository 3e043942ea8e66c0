/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_parcel.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

struct entry_head {
    uint32_t rank, len;
};
_Static_assert(sizeof(struct entry_head) == TCP_ENTRY_HEAD, "wire format");

/* Finds the ranks from `rank` on whose blobs fit in one parcel, of *len bytes. Returns the rank
 * after them. */
static int fill(const struct keep *keep, int rank, size_t *len)
{
    for (*len = 0; rank < keep->ranks; rank++) {
        if (keep->blobs[rank].bytes == NULL)
            continue;
        size_t more = TCP_ENTRY_HEAD + keep->blobs[rank].len;
        if (*len > 0 && *len + more > TCP_PARCEL_MAX)
            break;
        *len += more;
    }
    return rank;
}

static void write_parcel(const struct keep *keep, int rank, int end, unsigned char *bytes)
{
    for (; rank < end; rank++) {
        const struct kept *kept = &keep->blobs[rank];
        if (kept->bytes == NULL)
            continue;
        struct entry_head head = {htole32((uint32_t)rank), htole32((uint32_t)kept->len)};
        memcpy(bytes, &head, sizeof head);
        memcpy(bytes + sizeof head, kept->bytes, kept->len);
        bytes += sizeof head + kept->len;
    }
}

bool ncoll__parcels_pack(struct parcels *parcels, const struct keep *keep)
{
    *parcels = (struct parcels){0};
    for (int rank = 0, end; rank < keep->ranks; rank = end) {
        size_t len;
        end = fill(keep, rank, &len);
        if (len == 0)
            break;
        struct parcel *list = realloc(parcels->list, (size_t)(parcels->count + 1) * sizeof *list);
        unsigned char *bytes = malloc(len);
        if (list != NULL)
            parcels->list = list;
        if (list == NULL || bytes == NULL) {
            free(bytes);
            ncoll__parcels_free(parcels);
            return false;
        }
        write_parcel(keep, rank, end, bytes);
        parcels->list[parcels->count++] = (struct parcel){bytes, len};
    }
    return true;
}

void ncoll__parcels_free(struct parcels *parcels)
{
    for (int i = 0; i < parcels->count; i++)
        free(parcels->list[i].bytes);
    free(parcels->list);
    *parcels = (struct parcels){0};
}

bool ncoll__parcel_next(const unsigned char *bytes, size_t len, size_t *at,
                        struct parcel_entry *entry)
{
    struct entry_head head;

    if (len - *at < sizeof head)
        return false;
    memcpy(&head, bytes + *at, sizeof head);
    *entry = (struct parcel_entry){le32toh(head.rank), le32toh(head.len), NULL};
    if (entry->len > len - *at - sizeof head)
        return false;
    entry->blob = bytes + *at + sizeof head;
    *at += sizeof head + entry->len;
    return true;
}
