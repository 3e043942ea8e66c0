/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/device_table.h"

#include <string.h>

/* The table as bytes: this head, then the rows of each kind in their order. */
struct head {
    uint32_t devices_bytes, ports_bytes, gids_bytes, masks_bytes;
};
_Static_assert(sizeof(struct device_row) == 92 && sizeof(struct port_row) == 296 &&
                   sizeof(struct gid_row) == 48,
               "no gaps, of which the bytes would not be defined");

void ncoll__table_add_device(struct device_table *t, struct device_row row, const char *cores)
{
    row.first_port = (uint32_t)(t->ports.len / sizeof(struct port_row));
    row.n_ports = 0;
    row.cores_at = (uint32_t)t->masks.len;
    ncoll__blob_add(&t->masks, cores, strlen(cores) + 1);
    ncoll__blob_add(&t->devices, &row, sizeof row);
}

void ncoll__table_add_port(struct device_table *t, struct port_row row)
{
    row.first_gid = (uint32_t)(t->gids.len / sizeof(struct gid_row));
    row.n_gids = 0;
    ncoll__blob_add(&t->ports, &row, sizeof row);
    if (!ncoll__table_failed(t))
        ((struct device_row *)(void *)t->devices.bytes)[table_n_devices(t) - 1].n_ports++;
}

void ncoll__table_add_gid(struct device_table *t, struct gid_row row)
{
    size_t n_ports = t->ports.len / sizeof(struct port_row);

    ncoll__blob_add(&t->gids, &row, sizeof row);
    if (!ncoll__table_failed(t))
        ((struct port_row *)(void *)t->ports.bytes)[n_ports - 1].n_gids++;
}

bool ncoll__table_failed(const struct device_table *t)
{
    return t->devices.failed || t->ports.failed || t->gids.failed || t->masks.failed;
}

void ncoll__table_free(struct device_table *t)
{
    ncoll__blob_free(&t->devices);
    ncoll__blob_free(&t->ports);
    ncoll__blob_free(&t->gids);
    ncoll__blob_free(&t->masks);
}

int ncoll__table_find(const struct device_table *t, const char *name)
{
    for (unsigned i = 0; i < table_n_devices(t); i++)
        if (strcmp(table_device(t, i)->name, name) == 0)
            return (int)i;
    return -1;
}

/* ------------------------------------------------------------------ as bytes ------------------ */

void ncoll__table_write(const struct device_table *t, struct blob *out)
{
    struct head head = {(uint32_t)t->devices.len, (uint32_t)t->ports.len, (uint32_t)t->gids.len,
                        (uint32_t)t->masks.len};

    ncoll__blob_add(out, &head, sizeof head);
    ncoll__blob_add(out, t->devices.bytes, t->devices.len);
    ncoll__blob_add(out, t->ports.bytes, t->ports.len);
    ncoll__blob_add(out, t->gids.bytes, t->gids.len);
    ncoll__blob_add(out, t->masks.bytes, t->masks.len);
}

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static bool is_range(uint32_t first, uint32_t n, size_t of)
{
    return first <= of && n <= of - first;
}

/* True if the table is valid: its texts end, and each row refers to existing rows. */
static bool is_whole(const struct device_table *t)
{
    size_t ports = t->ports.len / sizeof(struct port_row);
    size_t gids = t->gids.len / sizeof(struct gid_row);

    for (unsigned i = 0; i < table_n_devices(t); i++) {
        const struct device_row *d = table_device(t, i);
        if (!is_text(d->name, sizeof d->name) || d->lacks > LACKS_RC ||
            !is_range(d->first_port, d->n_ports, ports) || d->cores_at >= t->masks.len)
            return false;
    }
    for (unsigned i = 0; i < ports; i++)
        if (table_port(t, i)->n_pkeys > PKEYS_MOST ||
            !is_range(table_port(t, i)->first_gid, table_port(t, i)->n_gids, gids))
            return false;
    for (unsigned i = 0; i < gids; i++)
        if (!is_text(table_gid(t, i)->interface, IF_NAMESIZE) || table_gid(t, i)->kind > GID_NONE)
            return false;
    return t->masks.len == 0 || t->masks.bytes[t->masks.len - 1] == '\0';
}

bool ncoll__table_read(struct device_table *t, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    struct head head;

    *t = (struct device_table){0};
    if (len < sizeof head)
        return false;
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    if ((uint64_t)head.devices_bytes + head.ports_bytes + head.gids_bytes + head.masks_bytes !=
            len - sizeof head ||
        head.devices_bytes % sizeof(struct device_row) != 0 ||
        head.ports_bytes % sizeof(struct port_row) != 0 ||
        head.gids_bytes % sizeof(struct gid_row) != 0)
        return false;
    ncoll__blob_add(&t->devices, at, head.devices_bytes);
    ncoll__blob_add(&t->ports, at += head.devices_bytes, head.ports_bytes);
    ncoll__blob_add(&t->gids, at += head.ports_bytes, head.gids_bytes);
    ncoll__blob_add(&t->masks, at + head.gids_bytes, head.masks_bytes);
    if (!ncoll__table_failed(t) && is_whole(t))
        return true;
    ncoll__table_free(t);
    return false;
}
